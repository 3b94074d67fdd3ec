"""The report of a criterion whose verdict was kept: it refers to its item instead of copying it, tens of thousands of
times. To whoever reads or changes it, it is pytest's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from ..models import Verdict
    from .items import CriterionItem


class _Read:
    """An attribute that is made anew at each reading, until somebody sets it."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __get__(self, report: TestReport | None, owner: type[TestReport]) -> Any:
        return self if report is None else self._make(report)


class TestReport(
    pytest.TestReport
):  # named as pytest's: whoever turns reports into data writes the name of their class
    """As `pytest.TestReport`, of the call of `item`, which ended at `verdict`."""

    __slots__ = ("duration", "item", "longrepr", "outcome", "start", "stop", "verdict", "when")
    item: CriterionItem
    verdict: Verdict

    def __init__(
        self,
        item: CriterionItem,
        verdict: Verdict,
        outcome: Literal["passed", "failed", "skipped"],
        longrepr: str | tuple[str, int, str] | None,
        start: float,
        stop: float,
    ) -> None:
        self.item = item
        self.verdict = verdict
        self.outcome = outcome
        self.longrepr = longrepr
        self.when = "call"
        self.start = start
        self.stop = stop
        self.duration = stop - start

    _id: Any = _Read(lambda report: report.item._id)
    id: Any = _id
    nodeid: Any = _Read(lambda report: report.item.nodeid)
    location: Any = _Read(lambda report: report.item.location)
    # Others may change these: they are made once.
    keywords: Any = cached_property(lambda report: dict.fromkeys(report.item.keywords, 1))
    user_properties: Any = cached_property(lambda report: report.item.told_properties(report.verdict))
    sections: Any = cached_property(lambda report: [])

    def _to_json(self) -> dict[str, Any]:
        plain = pytest.TestReport(
            self.nodeid,
            self.location,
            self.keywords,
            self.outcome,
            self.longrepr,
            "call",
            self.sections,
            self.duration,
            self.start,
            self.stop,
            self.user_properties,
        )
        vars(plain).update({name: value for name, value in vars(self).items() if name not in vars(plain)})
        return plain._to_json()
