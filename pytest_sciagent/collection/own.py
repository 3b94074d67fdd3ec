"""Criteria that users write as Python functions, in a conftest file or a plugin module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pytest

from ..errors import SciagentError

if TYPE_CHECKING:
    from ..models import Criterion, Verdict

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "__sciagent_criterion__"
OWN: pytest.StashKey[list[OwnSpec]] = pytest.StashKey()


@dataclass(frozen=True)
class OwnSpec:
    """A user's criterion. Its level is shown and reported beside the rubric's score, never mixed into it."""

    id: str
    function: Callable[..., Any]
    question: str
    dimension: str
    weight: float
    scope: Literal["finding", "run"]

    @property
    def criterion(self) -> Criterion:
        """The criterion as a model, as the `criterion` fixture gives it."""
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
            TypeError: anything else.
        """
        from ..models import LEVELS, Receipt, Verdict

        if isinstance(result, Verdict):
            return result.model_copy(update={"criterion_id": self.id, "finding": finding_id})
        level, reason = result if isinstance(result, tuple) and len(result) == 2 else (result, "")
        if isinstance(level, bool):
            level = float(level)
        if not isinstance(level, int | float) or float(level) not in LEVELS:
            raise TypeError(
                f"criterion {self.id!r} must return 1, 0.5 or 0, (level, reason) or a Verdict, not {result!r}"
            )
        return Verdict(
            criterion_id=self.id,
            finding=finding_id,
            status="assessed",
            level=float(level),
            reason=str(reason) or f"{self.id} returned {level:g}",
            reason_code="own_criterion",
            receipt=Receipt(source=f"criterion:{self.id}"),
        )


def criterion(
    id: str,
    *,
    question: str | None = None,
    dimension: str = "own",
    weight: float = 1,
    scope: Literal["finding", "run"] = "finding",
) -> Callable[[F], F]:
    """Register a Python function as a criterion of every finding (or of every run, with `scope="run"`).

    The function may ask for the fixtures `run`, `task`, `finding`, `artifacts`, `criterion`, `judge` and any of the
    user's own, and returns a level (1, 0.5, 0), `(level, reason)` or a `Verdict`. It must stand in a conftest file or
    a plugin module. Without `question` the first line of its docstring is the question.
    """

    def register(function: F) -> F:
        lines = (function.__doc__ or "").strip().splitlines()
        text = question or (lines[0] if lines else id)
        setattr(function, ATTRIBUTE, OwnSpec(id, function, text, dimension, weight, scope))
        return function

    return register


def find_own(plugin: object) -> list[OwnSpec]:
    """The criteria in a module that pytest has registered as a plugin, by name of the function."""
    found = [getattr(value, ATTRIBUTE, None) for _, value in sorted(getattr(plugin, "__dict__", {}).items())]
    return [spec for spec in found if isinstance(spec, OwnSpec)]


def add_own(known: list[OwnSpec], new: list[OwnSpec]) -> None:
    """Add `new` criteria to the `known` ones, each once.

    Raises:
        SciagentError: two criteria of one id, or an id that can't stand in a node id.
    """
    for spec in new:
        if spec in known:
            continue
        if any(spec.id == other.id for other in known):
            raise SciagentError(f"two own criteria are called {spec.id!r}")
        try:
            spec.criterion  # noqa: B018 - building it checks id, weight and dimension
        except ValueError as error:
            raise SciagentError(f"own criterion {spec.id!r}: {error}") from None
        known.append(spec)
