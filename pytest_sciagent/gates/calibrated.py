"""Gate on how far the judge agrees with people, by a calibration that expires when what it is bound to changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ..documents import load_json
from ..errors import SciagentError
from ..models import JudgeIdentity, Rubric
from ..models.calibration import Calibration, Measure
from ..scoring.interval import Interval
from .decision import Decision, Outcome, exact, plain, show

if TYPE_CHECKING:
    from ..reporting.results import Results


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A calibration as a session uses it: under which name, and the digest of the words this session asks in."""

    name: str
    found: Calibration
    templates: str

    def expired(self, judge: JudgeIdentity | None, rubrics: Sequence[Rubric]) -> str | None:
        """Why it does not hold for what `judge` says under the first of `rubrics`; None where it does."""
        bound = self.found.bound
        if judge is None or bound.identity is None or judge.canonical != bound.identity.canonical:
            return f"it holds for {bound.judge}, not for {judge.label if judge is not None else 'a judge unknown'}"
        if bound.rubric_digest != rubrics[0].digest:
            return f"rubric {bound.rubric} has changed since, or is not the one that scores"
        if bound.templates != self.templates:
            return "the prompt templates have changed since"
        return None

    def note(self, judge: JudgeIdentity | None, rubrics: Sequence[Rubric]) -> str:
        """One line to stand beside every score."""
        from ..reporting.calibration_text import short

        expired = self.expired(judge, rubrics)
        return short(self.found) if expired is None else f"calibration {self.name} has expired: {expired}"


def read_calibration(path: Path, name: str, templates: str) -> Calibrated:
    """The calibration in `path`.

    Raises:
        SciagentError: no calibration, or one that is bound to nothing that a session has.
    """
    found = load_json(path, Calibration)
    if found.bound.identity is None:
        raise SciagentError(
            f"{found.bound.judge} is known by its labels only: no session can have it as its judge. "
            "Measure a recorded judge with sciagent calibrate --runs",
            path=path,
        )
    return Calibrated(name, found, templates)


@dataclass(frozen=True, slots=True)
class MinKappa:
    """The judge's weighted kappa with people is at least `least`, wherever in its 95 % interval it may lie."""

    calibration: Calibrated
    least: float

    def decide(self, results: Results) -> Decision:
        told = f"a kappa of at least {plain(self.least)} with {self.calibration.found.against}"
        expired = self.calibration.expired(results.judge, results.rubrics)
        if expired is not None:
            return Decision("inconclusive", f"{told}: calibration {self.calibration.name} has expired: {expired}")
        part = self.calibration.found.whole
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
