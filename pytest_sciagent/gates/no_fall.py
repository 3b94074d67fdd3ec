"""Gate on single criteria: none that held at level 1 in the baseline may fall to 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .baseline import Baseline, Opponents, RunOutcome, opponents
from .decision import Decision

if TYPE_CHECKING:
    from ..reporting.results import Results

Key = tuple[str, str | None, str]
"""Task, finding (None: the run) and criterion."""


@dataclass(slots=True)
class _Count:
    """Criteria that held, and what became of them: named where they fell or may have fallen."""

    fell: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    kept: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class NoFall:
    """No criterion that held at level 1 in all of the baseline's runs of a task falls to 0 in a run of that task.

    Findings are matched by their ids. A run that delivered nothing has 0 in all of them; one that delivered other
    findings has none to compare, which is counted.
    """

    baseline: Baseline

    def decide(self, results: Results) -> Decision:
        told = f"no fall from 1 to 0 against {self.baseline.name}"
        if results.incomplete is not None:
            return Decision("inconclusive", f"{told}: not compared")
        mixed = self.baseline.check(results)
        pairs = opponents(results, self.baseline)
        alone = [pair.new for pair in pairs if not _shared(pair)]
        if not pairs or alone:
            why = f"{alone[0]} shares no task with it" if alone else "no system but the baseline itself was tested"
            return Decision("inconclusive", f"{told}: {why}{mixed}")
        count = _Count()
        for pair in pairs:
            _compare(pair, count)
        held = len(count.fell) + len(count.open) + count.kept
        lost = f"; {count.lost} in findings that are not there any more" if count.lost else ""
        details = (*(f"fell: {name}" for name in count.fell), *(f"open: {name}" for name in count.open))
        unsure = f", {len(count.open)} may have fallen" if count.open else ""
        sentence = f"{told}: of {held} that held {len(count.fell)} fell{unsure}{lost}{mixed}"
        return Decision("not met" if count.fell else "inconclusive" if count.open else "met", sentence, details)


def _shared(pair: Opponents) -> set[str]:
    return {run.task for run in pair.new_runs} & {run.task for run in pair.baseline_runs}


def _compare(pair: Opponents, count: _Count) -> None:
    held = _held(pair.baseline_runs)
    for run in sorted(pair.new_runs, key=lambda run: (run.task, run.repeat)):
        repeat = "" if run.repeat == 1 else f".r{run.repeat}"
        for (_, finding, criterion), sure in _of_task(held, run.task):
            if run.delivered and (finding, criterion) not in run.levels:
                count.lost += sure
                continue
            level = run.levels.get((finding, criterion)) if run.delivered else 0.0
            name = f"{run.system}/{run.task}{repeat} {finding or 'run'} {criterion}"
            if level == 0 and sure:
                count.fell.append(name)
            elif not level:  # level 0 of one that may have held, or no level
                count.open.append(name)
            else:
                count.kept += sure


def _held(runs: Iterable[RunOutcome]) -> Mapping[Key, bool]:
    """What held at level 1 wherever it was tested: True where that is sure, False where a level is missing."""
    held: dict[Key, bool] = {}
    fallen: set[Key] = set()
    for run in runs:
        for (finding, criterion), level in run.levels.items():
            key = (run.task, finding, criterion)
            held[key] = held.get(key, True) and level == 1
            if level is not None and level != 1:
                fallen.add(key)
    return {key: sure for key, sure in held.items() if key not in fallen}


def _of_task(held: Mapping[Key, bool], task: str) -> Iterator[tuple[Key, bool]]:
    yield from (item for item in held.items() if item[0][0] == task)
