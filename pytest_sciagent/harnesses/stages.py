"""Two stages: the hold-out of a task is handed out only against a frozen first stage, and both times are recorded.

The record lies beside the run (`RUN.release.json`) and is written before anything is handed out. The second stage is
frozen beside the first (`RUN.stage2`) as a run of the system `NAME-stage2`: it had more than a run of one stage, and
the two are never mixed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..digest import sha256_bytes
from ..documents import load_json
from ..errors import SciagentError
from ..layout import MANIFEST
from ..ledger.store import write_atomically
from ..models import Stage
from ..models.run import Release
from ..models.system import SystemFile
from ..runs import Run
from ..runs.files import read_file, walk
from ..runs.freeze import FreezeOptions, Frozen, freeze
from ..tasks import Task
from ..tasks.check import shared_rows
from ..tasks.workspace import HOLDOUT, Workspace, assemble_second
from .agent import Job, Tell, now
from .session import run_job
from .suite import move_away

SUFFIX = "stage2"


def record_path(run: Path) -> Path:
    """Where the release of a run is recorded."""
    return run.parent / f"{run.name}.release.json"


def second_path(run: Path) -> Path:
    """Where the second stage of a run is frozen."""
    return run.parent / f"{run.name}.{SUFFIX}"


def release(run: Run, task: Task) -> Stage:
    """Record that the hold-out of `task` is handed out for `run` now; where it was before, that time stays.

    Raises:
        SciagentError: the run is not sound, not complete, a second stage itself, or another than was recorded; the task
            is not the run's, or has no hold-out.
    """
    manifest = run.manifest
    if manifest.stage is not None:
        raise SciagentError("is a second stage already", path=run.path)
    if manifest.task_id != task.id:
        raise SciagentError(f"worked on the task {manifest.task_id}, not {task.id}", path=run.path)
    if manifest.status != "completed" or manifest.report is None:
        raise SciagentError("did not complete: only a complete first stage is followed by a second", path=run.path)
    if not task.holdout_dir.is_dir():
        raise SciagentError(f"the task {task.id} has no second stage (no hidden/holdout)", path=task.path)
    problems = run.problems()
    if problems:
        raise SciagentError(f"is not what was frozen: {problems[0]}", path=run.path)
    holdout = {entry.path: sha256_bytes(read_file(task.holdout_dir, entry.path)) for entry in walk(task.holdout_dir)}
    path = record_path(run.path)
    if path.exists():
        return _recorded(path, run, holdout)
    first = {file.path: file.sha256 for file in manifest.files if file.path.startswith("output/")}
    checked_at = now()
    time.sleep(0.005)  # so that the two times differ at the precision they are written with
    stage = Stage(
        first_tree_sha256=manifest.tree_sha256,
        first=first,
        checked_at=checked_at,
        released_at=now(),
        holdout=holdout,
        shared_rows=sum(count or 0 for count in shared_rows(task).values()),
    )
    text = json.dumps(Release(run=run.label, stage=stage).as_json(), indent=2, ensure_ascii=False)
    write_atomically(path, text + "\n")
    return stage


def _recorded(path: Path, run: Run, holdout: Mapping[str, str]) -> Stage:
    stage = load_json(path, Release).stage
    if stage.first_tree_sha256 != run.manifest.tree_sha256:
        raise SciagentError("the hold-out was handed out for another run than the one that lies here", path=path)
    if stage.holdout != holdout:
        raise SciagentError("the task's hold-out has changed since it was handed out", path=path)
    return stage


def run_second(run: Run, task: Task, system: SystemFile, environ: Mapping[str, str], tell: Tell) -> Frozen:
    """Hand the hold-out out to a new session of the same system, and freeze what comes of it.

    A second stage that did not complete is moved to `.replaced/` and run anew.

    Raises:
        SciagentError: as `release`; the system file is that of another system; a second stage is complete already.
    """
    if system.name != run.manifest.system.name:
        raise SciagentError(f"the run is one of {run.manifest.system.name}, the system file of {system.name}")
    stage = release(run, task)
    if (second_path(run.path) / MANIFEST).is_file():
        before = Run.load(second_path(run.path))
        if before.manifest.status == "completed":
            raise SciagentError("is frozen already; there is one second stage of a run", path=before.path)
        tell(f"the second stage that did not complete is moved to {move_away(before)}")
    job = Job(
        task,
        system,
        second_path(run.path),
        run.manifest.repeat,
        stage=stage,
        system_name=f"{system.name}-{SUFFIX}",
        started_at=run.manifest.started_at,
        make=partial(_second_workspace, run),
    )
    return run_job(job, environ, tell)


def _second_workspace(run: Run, task: Task, folder: Path) -> Workspace:
    return assemble_second(task, folder, run.path)


def hand_out(run: Run, task: Task, folder: Path) -> Workspace:
    """Record the release, and make the workspace of the second stage in `folder`.

    Raises:
        SciagentError: as `release` and `assemble_second`.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SciagentError("exists and is not empty: choose another, or remove it first", path=folder)
    release(run, task)
    return assemble_second(task, folder, run.path)


def take_in(run: Run, task: Task, folder: Path, environ: Mapping[str, str]) -> Frozen:
    """Freeze what an agent left in the second-stage workspace `folder`, beside `run`.

    Raises:
        SciagentError: nothing was handed out, the hold-out in `folder` was changed, or it can't be frozen.
    """
    if not record_path(run.path).exists():
        raise SciagentError("no hold-out was handed out for this run (sciagent release RUN --to DIR)", path=run.path)
    stage = release(run, task)
    present = {entry.path: sha256_bytes(read_file(folder / HOLDOUT, entry.path)) for entry in walk(folder / HOLDOUT)}
    if present != stage.holdout:
        raise SciagentError("holdout/ is not what was handed out", path=folder)
    first = run.manifest
    options = FreezeOptions(
        task_id=task.id,
        system=first.system.model_copy(update={"name": f"{first.system.name}-{SUFFIX}"}),
        repeat=first.repeat,
        started_at=first.started_at,
        finished_at=now(),
        inputs_before={file.path: file.sha256 for file in task.manifest.files},
        stage=stage,
    )
    frozen = freeze(folder, second_path(run.path), options, environ)
    gap = () if first.started_at is not None else ("the start of the first stage is not known: 4.2 is not assessed",)
    return replace(frozen, warnings=(*frozen.warnings, *gap))
