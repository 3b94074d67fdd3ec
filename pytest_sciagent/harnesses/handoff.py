"""The hand-off: a workspace is written out for a person or a program outside, and taken in when a file says it is done.

Beside the workspace lies `done.json` then: {} at least; it may name the model and what the work used (`Done`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..documents import load_json
from ..models import Model, Session, System, Usage
from ..runs.freeze import FreezeOptions, Frozen, freeze, hash_inputs
from ..tasks.delivery import problems
from ..tasks.workspace import open_workspace
from ..text import one_line
from .agent import Job, now
from .session import has_no_report

WORKSPACE, DONE = "workspace", "done.json"
ADAPTER = "handoff"


class Done(Model):
    """What whoever did the work says of it. `note`: anything worth keeping, such as who it was."""

    model: str | None = None
    harness_version: str | None = None
    usage: Usage = Usage()
    note: str = ""


def hand_out(job: Job, folder: Path) -> Path:
    """Make the workspace of `job` at `folder/workspace`, unless it is there; where it is.

    Raises:
        SciagentError: bad input, as for `run_job`.
    """
    place = folder / WORKSPACE
    if not (place / "receipt.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        job.make(job.task, place)
    return place


def is_done(folder: Path) -> bool:
    """Whether the work in `folder` is said to be done."""
    return (folder / DONE).is_file()


def take_in(job: Job, folder: Path, environ: Mapping[str, str]) -> Frozen:
    """Freeze what was left in `folder/workspace`. The workspace stays; who called may remove it.

    Raises:
        SciagentError: `done.json` or the receipt can't be read, or nothing can be frozen.
    """
    done = load_json(folder / DONE, Done)
    workspace = open_workspace(folder / WORKSPACE)
    before = {path: digest for path, digest in workspace.files.items() if path.startswith("data/")}
    if job.take is not None:
        job.take(workspace.path)
    told = problems(workspace.output)
    problem = "the run delivered no report" if has_no_report(workspace) else None
    if hash_inputs(workspace.path) != before:
        problem = "files of data/ were changed"
    session = Session(
        adapter=ADAPTER,
        problem=problem,
        delivery=tuple(one_line(problem, 300) for problem in told[:16]),
        strays=tuple(one_line(stray, 300) for stray in workspace.strays()[:200]),
        environment={"note": one_line(done.note, 500)} if done.note else {},
        system_file=job.system_file,
    )
    options = FreezeOptions(
        task_id=job.task.id,
        system=System(
            name=job.system_name or job.system.name,
            harness=ADAPTER,
            harness_version=done.harness_version or job.system.harness_version,
            model=done.model or job.system.model,
            prompts=workspace.prompts,
        ),
        repeat=job.repeat,
        status="completed" if problem is None else "failed",
        started_at=job.started_at,
        finished_at=now(),
        usage=done.usage,
        inputs_before=before,
        session=session,
    )
    return freeze(workspace.path, job.target, options, environ)
