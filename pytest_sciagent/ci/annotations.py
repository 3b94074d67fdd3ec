"""Annotations: what GitHub shows in a diff beside the line of a rubric or of a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..models import Rubric
from ..models.results import CriterionResult, ResultsFile
from ..reporting.places import Places
from ..reporting.words import Words
from ..scoring.effects import values_of
from ..scoring.profiles import exact

MOST = 10
"""GitHub shows ten of each kind for a step, and drops the rest."""
MAX_MESSAGE = 500
Key = tuple[str, str | None, str]
"""Run, finding (None: the run) and criterion."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One command to the runner. `place`: path from the root of the repository and line."""

    kind: str
    place: tuple[str, int] | None
    title: str
    message: str

    def __str__(self) -> str:
        where = [f"file={_property(self.place[0])}", f"line={self.place[1]}"] if self.place is not None else []
        return f"::{self.kind} {','.join([*where, f'title={_property(self.title)}'])}::{_data(self.message)}"


def annotate(
    results: ResultsFile, rubrics: Sequence[Rubric], places: Places, prompts: Sequence[str], words: Words
) -> Iterator[Annotation]:
    """The costliest criteria that fell since the baseline, as errors; without a baseline the costliest that fail, as
    warnings. They are shown at the first changed prompt, else at the criterion in its rubric."""
    values = values_of(rubrics)
    found = sorted(_entries(results, values), key=lambda entry: (-entry[0], entry[1]))
    now = _verdicts(results)
    for _, (run, finding, criterion), told in found[:MOST]:
        place = (prompts[0], 1) if prompts else places.of(criterion)
        verdict = now.get((run, finding, criterion))
        reason = f": {verdict.reason}" if verdict is not None else ": nothing was delivered"
        message = words.line(f"{run} {finding or 'run'} {told}{reason}", MAX_MESSAGE)
        kind = "error" if results.baseline is not None else "warning"
        yield Annotation(kind, place, f"sciagent {criterion}", message)
    if len(found) > MOST:
        yield Annotation("notice", None, "sciagent", f"{len(found) - MOST} more: see the summary of this job")


def _entries(
    results: ResultsFile, values: Mapping[str, Fraction]
) -> Iterator[tuple[Fraction, tuple[str, str, str], str]]:
    """Cost in points, place (the run as finding ''), and what happened."""
    if results.baseline is not None:
        for change in results.baseline.changes:
            if change.after < change.before:
                run = f"{change.system}/{change.task_id}" + ("" if change.repeat == 1 else f".r{change.repeat}")
                cost = values.get(change.criterion_id, Fraction(0)) * (exact(change.before) - exact(change.after))
                told = f"fell from {change.before:g} to {change.after:g}"
                yield cost, (run, change.finding or "", change.criterion_id), told
        return
    for (run, finding, criterion), verdict in _verdicts(results).items():
        if verdict.level == 0:
            yield values.get(criterion, Fraction(0)), (run, finding or "", criterion), "is at level 0"


def _verdicts(results: ResultsFile) -> dict[Key, CriterionResult]:
    found: dict[Key, CriterionResult] = {}
    for run in results.runs:
        found |= {(run.label, None, verdict.criterion_id): verdict for verdict in run.criteria}
        for finding in run.findings:
            found |= {(run.label, finding.id, verdict.criterion_id): verdict for verdict in finding.criteria}
    return found


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
