"""Many runs of one system, one after the other: what is frozen already is kept, what is not is run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from ..errors import SciagentError
from ..layout import MANIFEST
from ..models.system import SystemFile
from ..runs import Run
from ..tasks import Task
from .adapters import adapter_of
from .agent import Job, Tell
from .session import run_job

REPLACED = ".replaced"
State = Literal["done", "kept"]


@dataclass(frozen=True)
class Result:
    """One run of a suite: its frozen run, and whether it was run now or kept from before."""

    run: Run
    state: State
    warnings: tuple[str, ...] = ()

    @property
    def problem(self) -> str | None:
        """Why the run did not complete; None where it did."""
        manifest = self.run.manifest
        if manifest.status == "completed":
            return None
        session = manifest.session
        return (session.problem if session is not None else None) or manifest.status


def jobs(
    tasks: Sequence[Task], system: SystemFile, folder: Path, repeats: int, system_file: str | None = None
) -> list[Job]:
    """A job for each task and repeat, at `folder/TASK` and `folder/TASK.rN`."""
    return [
        Job(task, system, folder / (task.id if n == 1 else f"{task.id}.r{n}"), n, system_file)
        for task in tasks
        for n in range(1, repeats + 1)
    ]


def run_suite(
    wanted: Sequence[Job], environ: Mapping[str, str], tell: Tell, *, again: bool = False, work: Path | None = None
) -> Iterator[Result]:
    """Run the jobs in order.

    A job whose run is frozen is kept, unless its harness never started, or it failed and `again` is set: then the old
    run is moved to `.replaced/` beside it. Everything that can be wrong in the input is looked at before the first.

    Raises:
        SciagentError: bad input, or a frozen run of another system in the place of a job.
    """
    check_jobs(wanted, environ, again)
    for number, job in enumerate(wanted, 1):
        label = f"[{number}/{len(wanted)}] {job.target.name}"
        kept = kept_run(job, again)
        if kept is not None and not is_to_repeat(kept, again):
            tell(f"{label}: kept, {kept.manifest.status}")
            yield Result(kept, "kept")
            continue
        if kept is not None:
            tell(f"{label}: the failed run is moved to {move_away(kept)}")
        tell(f"{label}: started")
        began = time.monotonic()
        frozen = run_job(job, environ, lambda text, label=label: tell(f"{label}: {text}"), work)  # type: ignore[misc]
        result = Result(frozen.run, "done", frozen.warnings)
        how = "completed" if result.problem is None else f"{frozen.run.manifest.status}: {result.problem}"
        tell(f"{label}: {how} ({time.monotonic() - began:.0f} s)")
        yield result


def check_jobs(wanted: Sequence[Job], environ: Mapping[str, str], again: bool) -> None:
    """Look at everything that can be wrong in the input, and make the folders that runs are frozen in.

    Raises:
        SciagentError: see `run_suite`.
    """
    for job in wanted:
        job.task.check()
        adapter_of(job.system, environ).check()
        kept_run(job, again)
    for folder in dict.fromkeys(job.target.parent for job in wanted):
        _make_place(folder)


def kept_run(job: Job, again: bool) -> Run | None:
    """The run that is frozen in the place of a job; None where there is none."""
    if job.target.is_symlink() or (job.target.exists() and not job.target.is_dir()):
        raise SciagentError("is no folder: choose another place with -o", path=job.target)
    if not (job.target / MANIFEST).is_file():
        if job.target.is_dir() and any(job.target.iterdir()):
            raise SciagentError("holds something that is no frozen run: choose another, or remove it", path=job.target)
        return None
    run = Run.load(job.target)
    about = run.manifest
    name = job.system_name or job.system.name
    if (about.task_id, about.repeat, about.system.name) != (job.task.id, job.repeat, name):
        raise SciagentError(f"holds another run, {run.label}: choose another place with -o", path=job.target)
    before = about.session.system_file if about.session is not None and not is_to_repeat(run, again) else None
    if before is not None and job.system_file is not None and before != job.system_file:
        raise SciagentError(
            "was run with another system file: give the new one another name, and another place with -o",
            path=job.target,
        )
    return run


def _make_place(folder: Path) -> None:
    """Make sure that runs can be frozen in `folder`, before anything is spent on them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SciagentError(f"runs can't be frozen here: {error.strerror}", path=folder) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SciagentError("runs can't be frozen here: no permission to write", path=folder)


def is_to_repeat(run: Run, again: bool) -> bool:
    """Whether a frozen run is made anew: its harness never started, or it failed and `again` is set."""
    if run.manifest.status == "completed":
        return False
    session = run.manifest.session
    return again or (session is not None and not session.started)


def move_away(run: Run) -> Path:
    """Move a run to `.replaced/` beside it, to make place for another; where it lies now."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    place = run.path.parent / REPLACED / f"{run.path.name}-{stamp}"
    place.parent.mkdir(parents=True, exist_ok=True)
    run.path.rename(place)
    return place
