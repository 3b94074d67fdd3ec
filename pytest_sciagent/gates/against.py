"""A session beside its baseline: the scores of systems over the tasks they share, and every level that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..scoring.interval import Interval, mean
from .baseline import Baseline, Opponents, RunOutcome, opponents

if TYPE_CHECKING:
    from ..reporting.results import Results


@dataclass(frozen=True, slots=True)
class SystemChange:
    """A system and its opponent in the baseline, each the mean over the `tasks` they share, in points."""

    system: str
    baseline: str
    tasks: int
    before: Interval
    after: Interval


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A criterion that had another level in every run of the baseline on this task. `finding` None: of the run."""

    system: str
    task: str
    repeat: int
    finding: str | None
    criterion_id: str
    before: float
    after: float

    @property
    def label(self) -> str:
        """`system/task`, as runs are called."""
        return f"{self.system}/{self.task}" + ("" if self.repeat == 1 else f".r{self.repeat}")

    @property
    def fell(self) -> bool:
        return self.after < self.before


@dataclass(frozen=True, slots=True)
class AgainstBaseline:
    """What differs from the baseline called `name`. Findings are matched by their ids."""

    name: str
    systems: tuple[SystemChange, ...]
    changes: tuple[LevelChange, ...]


def against_baseline(results: Results, baseline: Baseline) -> AgainstBaseline:
    """Put the session beside its baseline. Only levels that are known on both sides are compared.

    Raises:
        SciagentError: a run of the baseline can't be scored.
    """
    pairs = opponents(results, baseline)
    systems = tuple(change for pair in pairs if (change := _system(pair)) is not None)
    return AgainstBaseline(baseline.name, systems, tuple(change for pair in pairs for change in _levels(pair)))


def _system(pair: Opponents) -> SystemChange | None:
    shared = {run.task for run in pair.new_runs} & {run.task for run in pair.baseline_runs}
    if pair.baseline is None or not shared:
        return None
    before, after = (_mean(runs, shared) for runs in (pair.baseline_runs, pair.new_runs))
    return SystemChange(pair.new, pair.baseline, len(shared), before, after)


def _mean(runs: Iterable[RunOutcome], tasks: set[str]) -> Interval:
    scores: dict[str, list[Interval]] = {task: [] for task in sorted(tasks)}
    for run in runs:
        if run.score is not None and run.task in scores:
            scores[run.task].append(run.score)
    return mean([mean(repeats) for repeats in scores.values()])


def _levels(pair: Opponents) -> Iterator[LevelChange]:
    before: dict[tuple[str, str | None, str], set[float | None]] = {}
    for run in pair.baseline_runs:
        for (finding, criterion), level in run.levels.items():
            before.setdefault((run.task, finding, criterion), set()).add(level)
    for run in sorted(pair.new_runs, key=lambda run: (run.task, run.repeat)):
        for (task, finding, criterion), levels in before.items():
            old = next(iter(levels)) if len(levels) == 1 else None
            new = run.levels.get((finding, criterion)) if run.delivered else 0.0
            if task == run.task and old is not None and new is not None and old != new:
                yield LevelChange(run.system, run.task, run.repeat, finding, criterion, old, new)
