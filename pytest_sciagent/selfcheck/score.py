"""What the worthless runs earn by recorded verdicts, against their allowances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..evaluation import Sources
from ..evaluation.recorded import recorded_judge
from ..models import JudgeIdentity, Rubric
from ..reporting.results import RunResult
from ..reporting.scored_runs import open_runs, score_run
from ..reporting.validity import Calibrations, Validity
from ..scoring import Interval
from ..tasks import Task
from .allowances import ALLOWANCES, KINDS, Kind
from .build import system_name

Outcome = Literal["within", "beyond", "open"]


@dataclass(frozen=True, slots=True)
class Earned:
    """What a run of `kind` on `task` earned (points), by a judge; `open`: what is not assessed could turn it."""

    kind: Kind
    task: str
    score: Interval
    not_recorded: int

    @property
    def outcome(self) -> Outcome:
        most = ALLOWANCES[self.kind].points
        return "within" if self.score.high <= most else "beyond" if self.score.low > most else "open"


def score_runs(
    folder: Path,
    tasks: Sequence[Task],
    rubric: Rubric,
    sources: Sources,
    judge: JudgeIdentity | None,
    calibrations: Calibrations,
) -> tuple[list[Earned], Validity]:
    """Score the runs that `build_runs` made in `folder`, by what the ledger of `sources` holds; nobody is asked. What
    they earned, and how far the judge may be believed.

    judge: whose answers; None: those of the only judge that is recorded.

    Raises:
        SciagentError: answers of several judges are recorded and none is named, or the ledger can't be read.
    """
    made = [(kind, task) for kind in KINDS for task in tasks]
    opened = open_runs([folder / system_name(kind) / task.id for kind, task in made], sources, [rubric])
    ledgers = (run.case.ledger for run in opened if run.case is not None)
    whose = recorded_judge(ledgers, [judge] if judge is not None else [], "--judge KIND:MODEL")
    found = []
    for (kind, task), run in zip(made, opened, strict=True):
        result = score_run(run, rubric, whose).result
        gaps = sum(v.status == "unrecorded" for finding in result.findings for v in finding.verdicts)
        found.append(Earned(kind, task.id, _points(result, task), gaps))
    return found, calibrations.validity(whose.identity, rubric)


def _points(result: RunResult, task: Task) -> Interval:
    """The score; of a task without reference findings without the points for matching them, which stay open."""
    assert result.total is not None  # frozen a moment ago, so it is sound or undelivered
    if result.terms is None or task.cards:
        return result.total
    terms = result.terms
    return (terms.main_body + terms.yield_bonus - terms.penalty).clamped(0, 100)
