"""Criteria that users write as Python functions, in a conftest file or a plugin module."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pytest

from ..errors import nearby
from ..text import clean, one_line

if TYPE_CHECKING:
    from ..models import Criterion, Verdict

F = TypeVar("F", bound=Callable[..., Any])
Scope = Literal["finding", "run"]
ATTRIBUTE = "__sciagent_criterion__"
MAX_REASON = 2000


@dataclass(frozen=True)
class OwnSpec:
    """A user's criterion. Its level is shown and reported beside the rubric's score, never mixed into it."""

    id: str
    function: Callable[..., Any]
    question: str
    dimension: str
    weight: float
    scope: Scope

    @property
    def place(self) -> str:
        """Where its function begins: file and line."""
        code = self.function.__code__
        return f"{nearby(Path(code.co_filename))}:{code.co_firstlineno}"

    @cached_property
    def criterion(self) -> Criterion:
        """The criterion as a model, as the `criterion` fixture gives it.

        Raises:
            pydantic.ValidationError: an id, dimension or weight that no criterion can have.
        """
        from ..models import Criterion

        condition = f"decided by {self.function.__module__}.{self.function.__qualname__}"
        return Criterion.model_validate(
            {
                "id": self.id,
                "dimension": self.dimension,
                "weight": self.weight,
                "scope": self.scope,
                "question": self.question,
                "levels": dict.fromkeys(("1", "0.5", "0"), condition),
                "check": self.id,
            }
        )

    def verdict(self, result: object, finding_id: str | None) -> Verdict:
        """The verdict that the function's return value stands for: a level, (level, reason), or a verdict.

        Raises:
            TypeError: anything else, or a verdict that can't be one.
        """
        from ..models import LEVELS, Verdict

        if isinstance(result, Verdict):
            return self._checked(result, finding_id)
        level, reason = result if isinstance(result, tuple) and len(result) == 2 else (result, "")
        if isinstance(level, bool):
            level = float(level)
        if not isinstance(level, int | float) or level not in LEVELS:
            raise TypeError(
                f"criterion {self.id!r} ({self.place}) must return 1, 0.5 or 0, (level, reason) or a Verdict, "
                f"not {one_line(repr(result), 200)}"
            )
        return self.make("assessed", float(level), str(reason) or f"{self.id} returned {level:g}", finding_id)

    def make(self, status: Any, level: float | None, reason: str, finding_id: str | None) -> Verdict:
        """A verdict of this criterion."""
        from ..models import Receipt, Verdict

        return Verdict(
            criterion_id=self.id,
            finding=finding_id,
            status=status,
            level=level,
            reason=clean(reason, MAX_REASON),
            reason_code="own_criterion",
            receipt=Receipt(source=f"criterion:{self.id}"),
        )

    def _checked(self, verdict: Verdict, finding_id: str | None) -> Verdict:
        from pydantic import ValidationError

        from ..models import Verdict

        # A user may have built it without validation; what can't be a verdict must not reach a report.
        values = dict(verdict) | {"criterion_id": self.id, "finding": finding_id}
        try:
            return Verdict.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(step) for step in first["loc"])
            told = f"criterion {self.id!r} ({self.place}) returned a broken Verdict"
            raise TypeError(f"{told}: {place}: {first['msg']}") from None


def criterion(
    id: str,
    *,
    question: str | None = None,
    dimension: str = "own",
    weight: float = 1,
    scope: Scope = "finding",
) -> Callable[[F], F]:
    """Register a Python function as a criterion of every finding (or of every run, with `scope="run"`).

    The function may ask for the fixtures `run`, `task`, `finding`, `artifacts`, `criterion`, `judge` and any of the
    user's own, and returns a level (1, 0.5, 0), `(level, reason)` or a `Verdict`. A failed assertion is level 0,
    `pytest.skip` leaves the criterion not assessed, any other exception is an error. It must stand in a conftest file
    or a plugin module. Without `question` the first line of its docstring is the question.
    """

    def register(function: F) -> F:
        lines = (function.__doc__ or "").strip().splitlines()
        text = question or (lines[0] if lines else id)
        setattr(function, ATTRIBUTE, OwnSpec(id, function, text, dimension, weight, scope))
        return function

    return register


class OwnCriteria:
    """The users' criteria in one session. Registered as a plugin, so that pytest shows it every module it loads."""

    def __init__(self) -> None:
        self._specs: dict[str, OwnSpec] = {}
        self._problems: list[str] = []

    @property
    def all(self) -> list[OwnSpec]:
        """All of them, by id: in the same order in every process."""
        return [self._specs[id] for id in sorted(self._specs)]

    def of(self, scope: Scope) -> list[OwnSpec]:
        """Those of findings or of runs, by id."""
        return [spec for spec in self.all if spec.scope == scope]

    def pytest_plugin_registered(self, plugin: object) -> None:
        """Take in the criteria of a module. What is wrong with one is told by `check`: an error here would be one of
        collecting the folder, and its message would be lost among pytest's.
        """
        for value in list(getattr(plugin, "__dict__", {}).values()):
            # Functions only: a module may hold proxies that do anything when an attribute is asked for.
            spec = getattr(value, ATTRIBUTE, None) if type(value) is FunctionType else None
            if isinstance(spec, OwnSpec) and self._specs.get(spec.id) is not spec:
                self._add(spec)

    def pytest_collection_modifyitems(self, config: pytest.Config) -> None:
        """Tell what is wrong with criteria of conftest files that were found while collecting."""
        from .state import STATE

        state = config.stash[STATE]
        if not state.is_worker:  # there it is an error of collecting, which reaches the controller: see `RunFile`
            state.check_own()

    def check(self, taken: Collection[str]) -> None:
        """Say what is wrong with a criterion.

        Raises:
            pytest.UsageError: two criteria of one id, one with an id that is `taken` by a rubric, or one whose id,
                dimension, weight or scope can't be used.
        """
        named = [spec for spec in self.all if spec.id in taken]
        twice = [f"your criterion {s.id!r} ({s.place}) has the id of a rubric's criterion: rename it" for s in named]
        for problem in (*self._problems, *twice):
            raise pytest.UsageError(problem)

    def _add(self, spec: OwnSpec) -> None:
        from pydantic import ValidationError

        if spec.id in self._specs:
            places = f"in {self._specs[spec.id].place} and in {spec.place}"
            self._problems.append(f"two criteria of your own are called {spec.id!r}, {places}: rename one")
            return
        try:
            spec.criterion  # noqa: B018 - building it checks what was given
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(step) for step in first["loc"])
            self._problems.append(f"your criterion {spec.id!r} ({spec.place}): {place}: {first['msg']}")
            return
        self._specs[spec.id] = spec
