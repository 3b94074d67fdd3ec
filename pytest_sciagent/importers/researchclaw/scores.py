"""Scores of ResearchClawBench: added up again, its judge's failures told apart from zeros, and taken as labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from ...errors import SciagentError
from ...models import Criterion, Label, Levels, Rater
from ...scoring import Interval, score_checklist
from ...text import counted
from ..foreign import Folder, Foreign, fault
from ..gathering import Gathering
from .tasks import criterion_id

DATASET = "researchclawbench"
HISTORY = "score_history.json"
DIGITS = 2
FAILURES = ("Failed to parse scoring response.", "Scoring failed.")
"""What stands for a reason where the judge gave no answer; the score beside it is a stock 0."""
_LEVELS = Levels(full="parity", half="below", zero="absent")


class Entry(Foreign):
    """The score of one criterion."""

    index: int = Field(ge=0)
    weight: float = Field(1.0, gt=0)
    score: float = Field(ge=0, le=100)
    reasoning: str = ""

    @property
    def failed(self) -> bool:
        """Whether the judge gave no answer, so that the 0 is none of its own."""
        return self.score == 0 and self.reasoning.strip() in FAILURES


class Scores(Foreign):
    """`_score.json`, or the score in an exported run."""

    items: tuple[Entry, ...] = Field(min_length=1)
    total_score: float

    def published(self) -> float:
        """The total by the benchmark's own rule: failures count as 0, binary sums, two decimals."""
        points = weights = 0.0
        for entry in self.items:
            points += entry.score * entry.weight
            weights += entry.weight
        return round(points / weights, DIGITS)

    def honest(self) -> Interval:
        """The total as what it is, exactly: where the judge failed, every score is possible."""
        return score_checklist(
            (
                Criterion(id=f"c{n}", dimension="any", weight=entry.weight, question="any", levels=_LEVELS, judge=True),
                None if entry.failed else entry.score,
            )
            for n, entry in enumerate(self.items)
        )


@dataclass(frozen=True)
class Scored:
    """The scores of a run: `label` is its name here, `file` where they stand."""

    label: str
    task_id: str
    scores: Scores
    file: Path


def write_scores(scored: Sequence[Scored], into: Gathering) -> None:
    """Add every run's scores up again, write the account, and take them as labels of the benchmark's judge."""
    labels: list[Label] = []
    failed = 0
    for run in scored:
        with into.attempt("result", run.label, run.file):
            failures = sum(entry.failed for entry in run.scores.items)
            failed += failures
            told, again = run.scores.total_score, run.scores.published()
            if told != again:
                raise SciagentError(f"its total is {told:g}, and its items give {again:g}")
            honest = run.scores.honest()
            account = {
                "run": run.label,
                "published": told,
                "again": again,
                "judge_failures": failures,
                "without_failures_as_zero": {"low": float(honest.low), "high": float(honest.high)},
            }
            note = f"total {told:g}, the same from its items"
            if failures:
                note += f"; {failures} judge failures were counted as 0: {honest.show(2)} without them"
            into.write_json(
                "result", run.label, ("results", *run.label.split("/")[:-1], _leaf(run.label)), account, note
            )
        # The judge of a score is not told; what is known is whose scores they are.
        labels += _labels(run.label, run.task_id, run.scores.items, "ResearchClawBench")
    notes = [f"{failed} judge failures left out"] if failed else []
    into.write_labels(DATASET, labels, *notes)


def _leaf(label: str) -> str:
    return label.rsplit("/", 1)[-1] + ".json"


def _labels(run: str, task_id: str, entries: Sequence[Entry], rater: str) -> Iterator[Label]:
    for entry in entries:
        if not entry.failed:
            yield Label(
                dataset=DATASET,
                run=run,
                criterion=criterion_id(task_id, entry.index),
                rater=Rater(kind="judge", name=rater),
                score=entry.score,
                scale=(0, 100),
                text=entry.reasoning or None,
            )


class _Version(Scores):
    commit: str


_History = TypeAdapter(dict[str, list[_Version]])


def import_history(folder: Folder, into: Gathering) -> None:
    """Scores of one frozen run by different versions of the prompts: a rater for each version.

    Raises:
        SciagentError: a history that can't be read, or a total that its items don't give.
    """
    path = folder.path / HISTORY
    try:
        history = _History.validate_python(folder.json(HISTORY))
    except ValidationError as error:
        raise SciagentError(fault(error), path=path) from None
    labels: list[Label] = []
    versions = failed = 0
    for run_id, scores in history.items():
        for version in scores:
            name = f"{run_id} at {version.commit[:7]}"
            with into.attempt("result", name, path):
                told, again = version.total_score, version.published()
                if told != again:
                    raise SciagentError(f"its total is {told:g}, and its items give {again:g}")
                versions += 1
                failed += sum(entry.failed for entry in version.items)
                task_id = run_id.rsplit("_", 2)[0]
                labels += _labels(run_id, task_id, version.items, f"ResearchClawBench at {version.commit[:7]}")
    notes = [f"{counted(versions, 'scoring')} of {counted(len(history), 'run')}, each total the same from its items"]
    notes += [f"{failed} judge failures left out"] if failed else []
    into.write_labels(DATASET, labels, *notes, name=f"{DATASET}-history")
