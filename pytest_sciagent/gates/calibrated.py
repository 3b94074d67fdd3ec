"""Gate on how far the judge agrees with people, by a calibration that expires when what it is bound to changes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ..models.calibration import Measure
from ..models.rubric import scoring_rubrics
from ..scoring.interval import Interval
from .decision import WORST_FIRST, Decision, Outcome, exact, plain, show

if TYPE_CHECKING:
    from ..models import Rubric
    from ..reporting.results import Results
    from ..reporting.validity import Calibrations


@dataclass(frozen=True, slots=True)
class MinKappa:
    """The judge's weighted kappa with people is at least `least`, wherever in its 95 % interval it may lie, under each
    rubric that scores."""

    calibrations: Calibrations
    least: float

    def decide(self, results: Results) -> Decision:
        judged = (run.index.task_id for run in results.runs if run.facts is not None)
        scoring = scoring_rubrics(results.rubrics, judged)
        found = [self._decide(results, rubric, f" (rubric {rubric.id})" * (len(scoring) > 1)) for rubric in scoring]
        return min(found, key=lambda decision: WORST_FIRST.index(decision.outcome))

    def _decide(self, results: Results, rubric: Rubric, under: str) -> Decision:
        from ..reporting.validity import PEOPLE

        best = self.calibrations.of(results.judge, rubric)
        told = f"a kappa of at least {plain(self.least)} with people{under}"
        if best is None:
            return Decision("inconclusive", f"{told}: {self.calibrations.validity(results.judge, rubric).sentence}")
        if best.found.against != PEOPLE:
            return Decision("inconclusive", f"{told}: {best.name} compares with {best.found.against}, not with people")
        expired = best.expired(results.judge, rubric, self.calibrations.templates)
        if expired is not None:
            return Decision("inconclusive", f"{told}: calibration {best.name} has expired: {expired}")
        part = best.found.whole
        kappa, bound = part.agreement.kappa, exact(self.least)
        over = f"over {part.agreement.n} labels of {part.agreement.runs} runs"
        if kappa.value is None:
            return Decision("inconclusive", f"{told}: it is not known {over}")
        value = show(Interval.point(exact(kappa.value)), bound, 2)
        if kappa.low is None or kappa.high is None:
            return Decision("inconclusive", f"{told}: {value} {over}, which are too few for an interval")
        ends = show(Interval(exact(kappa.low), exact(kappa.high)), bound, 2)
        return Decision(_outcome(kappa, bound), f"{told}: {value} ({ends}) {over}")


def _outcome(kappa: Measure, bound: Fraction) -> Outcome:
    assert kappa.low is not None
    assert kappa.high is not None
    if exact(kappa.low) >= bound:
        return "met"
    return "not met" if exact(kappa.high) < bound else "inconclusive"
