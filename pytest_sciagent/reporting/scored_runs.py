"""Runs opened and scored for a cohort, without a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..checks import Check, find_check
from ..collection.index import RunIndex, check_distinct, index_run
from ..errors import SciagentError
from ..evaluation import Case, Sources, open_case
from ..evaluation.recorded import all_verdicts
from ..judging.judge import Judge
from ..judging.requests import Asking
from ..models import LedgerEntry, Rubric, RunManifest, TaskManifest, Verdict
from ..models.rubric import rubrics_for
from ..rubrics.frozen import late_notes as rubric_notes
from ..runs import Run
from .cohort import CohortRun
from .results import VerdictKey, run_result

Record = Callable[[str, LedgerEntry], None]
_NAMED = 3


@dataclass(slots=True)
class OpenRun:
    """A run as found on disk; `case` is None unless it is sound, and is let go of once it is scored."""

    index: RunIndex
    case: Case | None
    manifest: RunManifest | None
    task: TaskManifest | None


def open_runs(
    paths: Iterable[Path],
    sources: Sources,
    rubrics: Sequence[Rubric],
    find_check: Callable[[str], Check] = find_check,
    record: Record | None = None,
) -> list[OpenRun]:
    """Look at every run: its manifest, every hash, its task, its ledger. Judges are asked only where their answers can
    be kept: `record` gets each, with the label of its run.

    Raises:
        SciagentError: no run can be used, two are the same run, a task or ledger that can't be read, or a run of
            another task than those that the rubrics are made for.
    """
    opened = [_open(index_run(path, sources.rootdir), sources, find_check, record) for path in paths]
    indexes = [run.index for run in opened]
    if all(index.state == "tampered" for index in indexes):
        told = "\n".join(f"{index.label}: {'; '.join(index.problems)}" for index in indexes[:5])
        raise SciagentError(f"no usable run:\n{told}")
    check_distinct(indexes)
    for index in indexes:
        if not rubrics_for(rubrics, index.task_id) and index.state != "tampered":
            made = "; ".join(f"rubric {rubric.id!r} is made for task {rubric.task_id!r}" for rubric in rubrics[:_NAMED])
            raise SciagentError(f"{made}, and {index.label} is not of it")
    return opened


def late_notes(opened: Iterable[OpenRun], rubrics: Sequence[Rubric], *, allowed: bool, option: str) -> tuple[str, ...]:
    """What to tell of induced rubrics that were not fixed before the runs that they judge began.

    allowed: whether the user takes them all the same, by `option`.

    Raises:
        SciagentError: there is one, and it is not allowed.
    """
    told: dict[str, None] = {}
    for run in opened:
        if run.case is not None:
            began, made = run.case.run.manifest.started_at, rubrics_for(rubrics, run.index.task_id)
            told |= dict.fromkeys(rubric_notes(made, run.index.label, began, allowed=allowed, option=option))
    return tuple(told)


def _open(index: RunIndex, sources: Sources, find_check: Callable[[str], Check], record: Record | None) -> OpenRun:
    path = Path(index.path)
    if index.state == "sound":
        asking: Asking = "never" if record is None else "missing"
        case = open_case(path, sources, record or _keep_nothing, find_check, asking)
        if case.task is not None:
            case.task.check()
        return OpenRun(index, case, case.run.manifest, case.task.manifest if case.task is not None else None)
    manifest = Run.load(path).manifest if index.state == "undelivered" else None
    task = sources.task(index.task_id) if index.system else None
    return OpenRun(index, None, manifest, task.manifest if task is not None else None)


def _keep_nothing(label: str, entry: LedgerEntry) -> None:
    """Nobody is asked, so there is no new answer to keep."""


def score_run(run: OpenRun, rubric: Rubric, judge: Judge, *beside: Rubric) -> CohortRun:
    """Score one run by the recorded answers of `judge`. Verdicts of the rubrics `beside` do not count for the score."""
    rubrics = (rubric, *beside)
    verdicts: dict[VerdictKey, Verdict] = {}
    if run.case is not None:
        for one in rubrics:
            verdicts |= all_verdicts(run.case, one, judge)
    facts = run.case.about_run.facts(judge) if run.case is not None else None
    result = run_result(run.index, run.case, verdicts, rubrics, facts)
    if run.case is not None:
        result = replace(result, notes=run.case.about_run.problems)
    run.case = None
    return CohortRun(result, run.manifest, run.task)
