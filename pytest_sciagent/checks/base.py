"""What a deterministic check is given and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from ..evidence.artifacts import Artifacts
from ..findings import ParsedReport
from ..models import Citation, Finding
from ..runs import Run
from ..tasks import Task


@dataclass(frozen=True)
class CheckContext:
    """A finding (None for a criterion of the whole run) of a frozen run, with everything code may look at."""

    run: Run
    task: Task | None
    report: ParsedReport
    finding: Finding | None
    artifacts: Artifacts


@dataclass(frozen=True)
class CheckResult:
    """A check's answer.

    outcome: `decided` (the level is final), `not_assessed` (it can't be told, and `reason` says why) or `facts` (a
    judge decides within them; its level is cut at `at_most`).
    citations: where the facts stand; a decided level above 0 needs one that code finds in the frozen files.
    """

    outcome: Literal["decided", "not_assessed", "facts"]
    reason: str
    reason_code: str
    level: float | None = None
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    citations: tuple[Citation, ...] = ()
    at_most: float = 1.0


Check = Callable[[CheckContext], CheckResult]


def decided(
    level: float, reason: str, reason_code: str, facts: Mapping[str, JsonValue], citations: tuple[Citation, ...] = ()
) -> CheckResult:
    """A final level."""
    return CheckResult("decided", reason, reason_code, level, facts, citations)


def not_assessed(reason: str, reason_code: str, facts: Mapping[str, JsonValue] | None = None) -> CheckResult:
    """No level, because something outside the run is missing."""
    return CheckResult("not_assessed", reason, reason_code, facts=facts or {})
