"""What a deterministic check is given and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from ..evidence.artifacts import Artifacts
from ..findings import ParsedReport
from ..models import LEVELS, Citation, Finding
from ..models.novelty import NoveltyAnswer
from ..models.requirement import Requirement
from ..runs import Run
from ..tasks import Task
from .recompute import Recomputation


@dataclass(frozen=True)
class CheckContext:
    """A finding (None for a criterion of the whole run) of a frozen run, with everything code may look at.

    recomputation: what the task's data say about the finding's numbers; None where the task is not known.
    novelty: the recorded comparison of the finding with earlier publications; None where there is none.
    requires: what the criterion requires among the artifacts; judged: whether a judge is asked within the facts.
    """

    run: Run
    task: Task | None
    report: ParsedReport
    finding: Finding | None
    artifacts: Artifacts
    recomputation: Recomputation | None = None
    novelty: NoveltyAnswer | None = None
    requires: tuple[Requirement, ...] = ()
    judged: bool = False


@dataclass(frozen=True)
class CheckResult:
    """A check's answer.

    outcome: `decided` (the level is final); `not_assessed` (it can't be told, and `reason` says why); `waiting` (as
    long as an answer about the run is not recorded); `facts` (a judge decides within them; its level is cut at
    `at_most`).
    citations: where the facts stand; a decided level above 0 needs one that code finds in the frozen files.
    """

    outcome: Literal["decided", "not_assessed", "waiting", "facts"]
    reason: str
    reason_code: str
    level: float | None = None
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    citations: tuple[Citation, ...] = ()
    at_most: float = 1.0

    def __post_init__(self) -> None:
        if self.outcome not in {"decided", "not_assessed", "waiting", "facts"}:
            raise ValueError(f"a check has no outcome {self.outcome!r}")
        if self.level not in (LEVELS if self.outcome == "decided" else (None,)):
            raise ValueError(f"a check with outcome {self.outcome!r} can't have level {self.level!r}")
        if not all(isinstance(citation, Citation) for citation in self.citations):
            raise ValueError("the citations of a check are of the type Citation")


Check = Callable[[CheckContext], CheckResult]


def decided(
    level: float, reason: str, reason_code: str, facts: Mapping[str, JsonValue], citations: tuple[Citation, ...] = ()
) -> CheckResult:
    """A final level."""
    return CheckResult("decided", reason, reason_code, level, facts, citations)


NOT_RECALCULATED = (
    "waits for the answers about numbers of this run (its plan and target questions); its own question comes after them"
)


def waiting(reason: str) -> CheckResult:
    """No level yet: an answer that the facts need is not recorded."""
    return CheckResult("waiting", reason, "unrecorded")


def not_assessed(reason: str, reason_code: str, facts: Mapping[str, JsonValue] | None = None) -> CheckResult:
    """No level, because something outside the run is missing."""
    return CheckResult("not_assessed", reason, reason_code, facts=facts or {})
