"""Gates on what must be reached at least: the score of systems, of tasks, of dimensions, of criteria."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ..scoring.interval import Interval, mean
from ..scoring.layers import LAYERS, Layer
from .decision import Decision, exact, plain, show

if TYPE_CHECKING:
    from ..models import Verdict
    from ..reporting.results import Results, RunResult

OPEN = "what is not assessed could turn it"
UNKNOWN = Interval(Fraction(0), Fraction(1))


@dataclass(frozen=True, slots=True)
class MinScore:
    """Every system has at least `least` points (0..100)."""

    least: float

    def decide(self, results: Results) -> Decision:
        return at_least("minimum score", {system.name: system.score for system in results.systems}, self.least)


@dataclass(frozen=True, slots=True)
class MinTaskScore:
    """Every system has at least `least` points (0..100) on every task, repeats averaged."""

    least: float

    def decide(self, results: Results) -> Decision:
        scores: dict[str, list[Interval]] = {}
        for run in results.runs:
            if run.total is not None:
                scores.setdefault(f"{run.index.system}/{run.index.task_id}", []).append(run.total)
        return at_least("minimum task score", {name: mean(found) for name, found in scores.items()}, self.least)


@dataclass(frozen=True, slots=True)
class MinDimension:
    """Every system earns at least `least` percent of the points of the dimension `id`, mean over its findings."""

    id: str
    least: float

    def decide(self, results: Results) -> Decision:
        shares = {system.name: system.dimensions.get(self.id) for system in results.systems}
        return _enough(f"minimum of dimension {self.id}", shares, self.least, results)


@dataclass(frozen=True, slots=True)
class MinLayer:
    """Every system earns at least `least` percent of the points of a layer of acceptance, mean over its findings."""

    layer: Layer
    least: float

    def decide(self, results: Results) -> Decision:
        shares = {system.name: system.layers.get(self.layer) for system in results.systems}
        return _enough(f"minimum {LAYERS[self.layer]}", shares, self.least, results)


@dataclass(frozen=True, slots=True)
class MinCriterion:
    """Every system has a mean level of at least `least` (0..1) in the criterion `id`, over all its findings."""

    id: str
    least: float

    def decide(self, results: Results) -> Decision:
        levels = {}
        for system in results.systems:
            verdicts = (v for run in results.runs if run.index.system == system.name for v in verdicts_of(run))
            found = [_level(v) for v in verdicts if v.criterion_id == self.id]
            levels[system.name] = mean(found) if found else _without_finding(results, system.name)
        return at_least(f"minimum level of {self.id}", levels, self.least, digits=2)


def verdicts_of(run: RunResult) -> Iterator[Verdict]:
    """All verdicts of a run and of its findings."""
    yield from run.verdicts
    for finding in run.findings:
        yield from finding.verdicts


def _level(verdict: Verdict) -> Interval:
    return UNKNOWN if verdict.level is None else Interval.point(exact(verdict.level))


def _without_finding(results: Results, system: str) -> Interval:
    """What counts where a system has no value: 0 if it delivered no finding at all, else nothing is known."""
    delivered = any(run.findings for run in results.runs if run.index.system == system)
    return UNKNOWN if delivered else Interval.point(0)


def _enough(what: str, shares: Mapping[str, Interval | None], least: float, results: Results) -> Decision:
    """Whether each system's share of points (0..1; None where it has no value) is at least `least` percent."""
    percent = {
        system: (_without_finding(results, system) if share is None else share).scaled(Fraction(100))
        for system, share in shares.items()
    }
    return at_least(what, percent, least, unit=" %")


def at_least(what: str, values: Mapping[str, Interval], least: float, *, unit: str = "", digits: int = 1) -> Decision:
    """Whether every value is at least `least`.

    Not met as soon as one can't reach it; inconclusive where an interval leaves it open; met only if every lower end
    reaches it. The sentence names the value that decided it.
    """
    bound = exact(least)
    told = f"{what} {plain(least)}{unit}"
    if not values:
        return Decision("inconclusive", f"{told}: no system was scored")
    below = {name: value for name, value in values.items() if value.high < bound}
    if below:
        name = min(below, key=lambda name: (below[name].high, name))
        more = f", and {len(below) - 1} more below" if len(below) > 1 else ""
        return Decision("not met", f"{told}: {name} has {show(below[name], bound, digits)}{unit}{more}")
    name = min(values, key=lambda name: (values[name].low, name))
    shown = f"{show(values[name], bound, digits)}{unit}"
    if values[name].low >= bound:
        return Decision("met", f"{told}: the lowest is {name} with {shown}")
    return Decision("inconclusive", f"{told}: {name} has {shown}; {OPEN}")
