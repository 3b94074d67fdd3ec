"""What changed since the baseline: for each criterion of a run, its level there and whether it rose or fell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...gates.baseline import Opponents, RunOutcome, opponents
from .facts import outcome_of
from .views import SIGNS, Change

if TYPE_CHECKING:
    from ...gates.baseline import Baseline
    from ..results import Results

Key = tuple[str | None, str]
"""Finding (None: the run) and criterion."""


@dataclass(frozen=True, slots=True)
class RunChanges:
    """The levels that the baseline's runs of the same task have. Findings are matched by their ids, as gates do."""

    before: Mapping[Key, tuple[float | None, ...]]

    def of(self, finding: str | None, criterion: str, level: float | None) -> tuple[Change, str]:
        """Whether the criterion rose or fell, and what it was: below or above every level of the baseline."""
        levels = self.before.get((finding, criterion))
        if levels is None:
            return "new", ""
        known = [one for one in levels if one is not None]
        was = "/".join(SIGNS[outcome_of(one, False)] for one in sorted(set(known))) or SIGNS["open"]
        if level is None or not known:
            return "unknown", was
        return ("fallen" if level < min(known) else "raised" if level > max(known) else "same"), was

    def gone(self, present: Iterable[Key]) -> int:
        """How many criteria of the baseline the run does not have any more."""
        return len(self.before.keys() - set(present))


def changes_by_run(results: Results, baseline: Baseline) -> dict[str, RunChanges]:
    """For the path of each run that is compared with the baseline, what that has of the same task.

    A run of the baseline itself, or of a system that has no opponent there, is compared with nothing.

    Raises:
        SciagentError: the baseline can't be scored.
    """
    found: dict[str, RunChanges] = {}
    for pair in opponents(results, baseline):
        before = _by_task(pair)
        own = {run.path for run in pair.baseline_runs}
        for run in pair.new_runs:
            if run.path is not None and run.path not in own and pair.baseline is not None:
                found[run.path] = RunChanges(before.get(run.task, {}))
    return found


def _by_task(pair: Opponents) -> dict[str, dict[Key, tuple[float | None, ...]]]:
    by_task: dict[str, dict[Key, tuple[float | None, ...]]] = {}
    for run in pair.baseline_runs:
        mine = by_task.setdefault(run.task, {})
        for key, level in _levels(run):
            mine[key] = (*mine.get(key, ()), level)
    return by_task


def _levels(run: RunOutcome) -> Iterable[tuple[Key, float | None]]:
    return run.levels.items()
