"""What an item tells the controller: the verdict of a criterion, or the state of a run that can't be tested."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ..plain import to_plain
from .reports import TestReport
from .status import PROPERTY

if TYPE_CHECKING:
    from ..models import Verdict


class Told(str):
    """An outcome in the properties of a report: the run's node id to whoever reads reports as text.

    Within one process it carries the outcome as it is; between processes it is one JSON text (`to_wire`).
    """

    __slots__ = ("outcome",)
    outcome: Verdict | str

    def __new__(cls, run: str, outcome: Verdict | str) -> Told:
        told = super().__new__(cls, run)
        told.outcome = outcome
        return told

    def to_wire(self) -> str:
        """The outcome as text: what carries reports between processes can't carry every number."""
        if isinstance(self.outcome, str):
            return json.dumps({"run": str(self), "state": self.outcome})
        # Bounded, and still a verdict: each part is cut by itself.
        verdict = {name: to_plain(value) for name, value in self.outcome.as_json().items()}
        return json.dumps({"run": str(self), "verdict": verdict})

    @classmethod
    def read(cls, value: object) -> Told | None:
        """What a property holds, whichever way it came; None where it is no outcome."""
        if isinstance(value, cls) or not isinstance(value, str):
            return value if isinstance(value, cls) else None
        from ..models import Verdict

        told: dict[str, Any] = json.loads(value)
        return cls(told["run"], Verdict.model_validate(told["verdict"]) if "verdict" in told else told["state"])


def told_by(report: pytest.TestReport) -> Told | None:
    """What an item's report tells; None where it tells nothing of ours."""
    if isinstance(report, TestReport):
        return Told(report.item.run_file.nodeid, report.verdict)
    return Told.read(next((value for name, value in report.user_properties if name == PROPERTY), None))
