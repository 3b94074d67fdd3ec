"""The results verdict by verdict: each with its run, its finding, its criterion and what it takes from the score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ..models import Criterion, Rubric, Verdict
from ..scoring import Interval
from ..scoring.effects import score_effect, values_of
from .results import FindingResult, Results, RunResult


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """One verdict in its place. `criterion` and `rubric` are None for a criterion of the user's own.

    value: what the criterion is worth in points of 100; None where it does not count for the finding's score.
    """

    run: RunResult
    finding: FindingResult | None
    verdict: Verdict
    criterion: Criterion | None
    rubric: Rubric | None
    value: Fraction | None

    @property
    def effect(self) -> Interval | None:
        """Points (0 or less) that the level takes from the finding's score."""
        return score_effect(self.value, self.verdict.level) if self.value is not None else None

    @property
    def lost(self) -> Fraction:
        """Points that are surely lost."""
        effect = self.effect
        return -effect.high if effect is not None else Fraction(0)

    @property
    def place(self) -> str:
        """The item's node id."""
        finding = self.finding.id if self.finding is not None else "run"
        return f"{self.run.index.nodeid}::{finding}::{self.verdict.criterion_id}"


def verdict_records(results: Results) -> Iterator[VerdictRecord]:
    """All verdicts, run by run; first those of the run, then finding by finding, in the rubric's order."""
    known = {c.id: (c, rubric) for rubric in results.rubrics for c in rubric.criteria}
    values = values_of(results.rubrics)
    for run in results.runs:
        for finding in (None, *run.findings):
            for verdict in run.verdicts if finding is None else finding.verdicts:
                criterion, rubric = known.get(verdict.criterion_id, (None, None))
                value = values.get(verdict.criterion_id)
                yield VerdictRecord(run, finding, verdict, criterion, rubric, value)


def costliest(records: Iterable[VerdictRecord]) -> list[VerdictRecord]:
    """Those at level 0, the dearest first."""
    failing = [record for record in records if record.verdict.level == 0]
    return sorted(failing, key=lambda record: (-record.lost, record.place))
