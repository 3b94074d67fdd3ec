"""The baseline that a session is compared with: its runs as plain outcomes, and how they were scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import SciagentError
from ..evaluation.recorded import judge_name
from ..models import JudgeIdentity
from ..scoring.interval import Interval
from ..text import one_line
from .thresholds import verdicts_of

if TYPE_CHECKING:
    from ..models import Rubric
    from ..reporting.results import Results, RunResult

DIGEST = 12
"""Characters of a digest that are shown."""
MOST_SAID = 300
DECIMALS = 6
"""Scores are compared as results files carry them, so that a baseline read from one is the same baseline."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """One run: its score (points; None if it can't be scored) and its levels by finding (None: the run) and criterion.

    path: where the frozen run lies; None where only its results are known.
    """

    system: str
    task: str
    repeat: int
    delivered: bool
    score: Interval | None
    levels: Mapping[tuple[str | None, str], float | None]
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredBy:
    """A rubric by which runs were scored."""

    id: str
    version: str
    profile: str
    digest: str


@dataclass(frozen=True)
class Baseline:
    """What to compare with. `find_runs` gives its runs, and is called once, when they are first needed.

    allow_mixed: whether it may have been scored by another rubric or judge; every decision then says so.
    """

    name: str
    rubrics: tuple[ScoredBy, ...]
    judge: JudgeIdentity | None
    find_runs: Callable[[], Sequence[RunOutcome]]
    allow_mixed: bool = False

    @cached_property
    def runs(self) -> tuple[RunOutcome, ...]:
        """Raises SciagentError where a run can't be scored."""
        return tuple(self.find_runs())

    def check_rubrics(self, rubrics: Iterable[Rubric]) -> str:
        """What to say about a baseline that was scored by other rubrics: nothing, or a clause that begins with `;`.

        Raises:
            SciagentError: it was, and that is not allowed.
        """
        return self._told(_rubric_difference(scored_by(rubrics), self.rubrics))

    def check_judge(self, judge: JudgeIdentity | None) -> str:
        """As `check_rubrics`, for the judge."""
        mine, yours = (judge_name(j) if j is not None else "none" for j in (judge, self.judge))
        return self._told(f"judge {mine}, but {yours} in the baseline" if mine != yours else None)

    def check(self, results: Results) -> str:
        """As `check_rubrics`, for rubrics and judge of a session."""
        return self.check_rubrics(results.rubrics) + self.check_judge(results.judge)

    def _told(self, difference: str | None) -> str:
        if difference is None:
            return ""
        difference = one_line(difference, MOST_SAID)  # a results file may hold any text
        if self.allow_mixed:
            return f"; MIXED: {difference}"
        raise SciagentError(
            f"--sciagent-baseline {self.name} was scored in another way: {difference}; score it again, or allow this "
            "with --sciagent-allow-mixed"
        )


def scored_by(rubrics: Iterable[Rubric]) -> tuple[ScoredBy, ...]:
    """The rubrics by which a session scores."""
    return tuple(ScoredBy(r.id, r.version, r.profile, r.digest) for r in rubrics)


def _rubric_difference(mine: Sequence[ScoredBy], yours: Sequence[ScoredBy]) -> str | None:
    """The first thing that differs, by its name."""
    names = [", ".join(f"{r.id} {r.version}" for r in rubrics) or "none" for rubrics in (mine, yours)]
    if names[0] != names[1]:
        return f"rubric {names[0]}, but {names[1]} in the baseline"
    for one, other in zip(mine, yours, strict=True):
        if one.profile != other.profile:
            return f"rubric {one.id}: profile {one.profile}, but {other.profile} in the baseline"
        if one.digest != other.digest:
            digests = f"digest {one.digest[:DIGEST]}, but {other.digest[:DIGEST]} in the baseline"
            return f"rubric {one.id} {one.version}: {digests}"
    return None


def outcome_of(run: RunResult) -> RunOutcome:
    """The outcome of a run that was scored in this process."""
    levels = {(v.finding, v.criterion_id): v.level for v in verdicts_of(run)}
    index = run.index
    score = None
    if run.total is not None:
        score = Interval(round(run.total.low, DECIMALS), round(run.total.high, DECIMALS))
    delivered = index.state == "sound"
    return RunOutcome(index.system, index.task_id, index.repeat, delivered, score, levels, index.path)


@dataclass(frozen=True, slots=True)
class Opponents:
    """One system of the session and the system of the baseline it is compared with, with their runs that have a score.

    `baseline` is None where the baseline has no system to compare with.
    """

    new: str
    baseline: str | None
    new_runs: tuple[RunOutcome, ...]
    baseline_runs: tuple[RunOutcome, ...]


def opponents(results: Results, baseline: Baseline) -> list[Opponents]:
    """Each system of the session with its opponent: the baseline's only system, else the one of the same name.

    A system whose runs are the baseline's own is left out: nothing is compared with itself.
    """
    mine = _by_system(outcome_of(run) for run in results.runs)
    yours = _by_system(baseline.runs)
    own = {run.path for run in baseline.runs if run.path is not None}
    found = []
    for name, runs in sorted(mine.items()):
        other = next(iter(yours)) if len(yours) == 1 else name if name in yours else None
        if any(run.path not in own for run in runs):
            found.append(Opponents(name, other, tuple(runs), tuple(yours[other]) if other is not None else ()))
    return found


def _by_system(runs: Iterable[RunOutcome]) -> dict[str, list[RunOutcome]]:
    by_system: dict[str, list[RunOutcome]] = {}
    for run in runs:
        if run.score is not None:
            by_system.setdefault(run.system, []).append(run)
    return by_system
