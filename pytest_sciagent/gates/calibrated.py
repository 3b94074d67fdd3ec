"""Gate on how far the judge agrees with people, by a calibration that expires when what it is bound to changes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ..models.calibration import Measure
from ..scoring.interval import Interval
from .decision import Decision, Outcome, exact, plain, show

if TYPE_CHECKING:
    from ..reporting.results import Results
    from ..reporting.validity import Calibrations


@dataclass(frozen=True, slots=True)
class MinKappa:
    """The judge's weighted kappa with people is at least `least`, wherever in its 95 % interval it may lie."""

    calibrations: Calibrations
    least: float

    def decide(self, results: Results) -> Decision:
        from ..reporting.validity import PEOPLE

        best = self.calibrations.of(results.judge, results.rubrics[0])
        told = f"a kappa of at least {plain(self.least)} with people"
        if best is None:
            return Decision("inconclusive", f"{told}: {results.believed.sentence}")
        if best.found.against != PEOPLE:
            return Decision("inconclusive", f"{told}: {best.name} compares with {best.found.against}, not with people")
        expired = best.expired(results.judge, results.rubrics[0], self.calibrations.templates)
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
