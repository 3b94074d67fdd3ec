"""Gates on what there may be at most: criteria without a level, errors of the judge, the cost of judging a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ..scoring.interval import Interval
from ..text import counted
from .decision import Decision, exact, plain, show
from .thresholds import verdicts_of

if TYPE_CHECKING:
    from ..models import Verdict
    from ..reporting.results import Results


@dataclass(frozen=True, slots=True)
class MaxNotAssessed:
    """At most `most` percent of the criteria of every system have no level: not assessed, or in error."""

    most: float

    def decide(self, results: Results) -> Decision:
        told = f"at most {plain(self.most)} % not assessed"
        by_system: dict[str, list[Verdict]] = {system.name: [] for system in results.systems}
        for run in results.runs:
            by_system.setdefault(run.index.system, []).extend(verdicts_of(run))
        if not by_system:
            return Decision("inconclusive", f"{told}: nothing was tested")
        shares = {name: _percent([v.level is None for v in verdicts]) for name, verdicts in by_system.items()}
        name = max(shares, key=lambda name: (shares[name], name))
        verdicts, bound = by_system[name], exact(self.most)
        errors = sum(v.is_error for v in verdicts)
        gaps = sum(v.level is None for v in verdicts) - errors
        parts = f"{gaps} not assessed and {errors} in error of {counted(len(verdicts), 'criterion', 'criteria')}"
        sentence = f"{told}: {name} has {show(Interval.point(shares[name]), bound)} % ({parts})"
        return Decision("met" if shares[name] <= bound else "not met", sentence)


@dataclass(frozen=True, slots=True)
class MaxJudgeErrors:
    """Judging failed for at most `most` percent of the criteria that a judge was asked about."""

    most: float

    def decide(self, results: Results) -> Decision:
        told = f"at most {plain(self.most)} % judge errors"
        judged = [v for run in results.runs for v in verdicts_of(run) if v.judge is not None]
        if not judged:
            return Decision("inconclusive", f"{told}: no criterion was judged")
        share, bound = _percent([v.is_error for v in judged]), exact(self.most)
        counts = f"{sum(v.is_error for v in judged)} of {counted(len(judged), 'criterion', 'criteria')} judged"
        sentence = f"{told}: {show(Interval.point(share), bound)} % ({counts})"
        return Decision("met" if share <= bound else "not met", sentence)


@dataclass(frozen=True, slots=True)
class MaxRunCost:
    """The recorded answers that judged a run cost at most `most` US dollars, for every run."""

    most: float

    def decide(self, results: Results) -> Decision:
        told = f"at most {plain(self.most)} USD to judge a run"
        if not results.runs:
            return Decision("inconclusive", f"{told}: no run was tested")
        bound = exact(self.most)
        known = {run.index.label: _sum(run.costs) for run in results.runs}
        label = max(known, key=lambda label: (known[label], label))
        dearest = f"{label} cost {show(Interval.point(known[label]), bound, 2)}"
        if known[label] > bound:
            return Decision("not met", f"{told}: {dearest}")
        costs = [cost for run in results.runs for cost in run.costs]
        if unknown := costs.count(None):
            return Decision(
                "inconclusive",
                f"{told}: the cost of {unknown} of {counted(len(costs), 'answer')} is not recorded; {dearest}",
            )
        return Decision("met", f"{told}: {dearest}, the most of {counted(len(known), 'run')}")


def _percent(flags: Sequence[bool]) -> Fraction:
    return Fraction(100 * sum(flags), len(flags)) if flags else Fraction(0)


def _sum(costs: Sequence[float | None]) -> Fraction:
    return sum((exact(cost) for cost in costs if cost is not None), start=Fraction(0))
