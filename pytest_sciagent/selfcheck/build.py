"""Worthless runs, frozen like any other: the same task gives the same files, names and times."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..models import System
from ..runs.freeze import FreezeOptions, freeze, hash_inputs
from ..tasks import Task
from .allowances import KINDS, Kind
from .attacks import files_of

TIME = 1_767_225_600
"""Seconds since 1970 of every file: the start of 2026."""
STARTED, FINISHED = "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z"


def system_name(kind: Kind) -> str:
    """The system under which runs of this kind are frozen and their verdicts recorded."""
    return f"selfcheck-{kind}"


def build_runs(tasks: Iterable[Task], folder: Path) -> None:
    """Freeze a run of each kind on each task as `folder/<system>/<task>`.

    Raises:
        SciagentError: the folder holds something, a task's data can't be read, or a place can't be written to.
    """
    for task in tasks:
        for kind in KINDS:
            _build(task, kind, folder / system_name(kind) / task.id)


def _build(task: Task, kind: Kind, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="sciagent-selfcheck-") as temporary:
        workspace = Path(temporary)
        (workspace / "output").mkdir()
        data = {f.path: (task.path / f.path).read_bytes() for f in task.manifest.files}
        for path, content in {**data, **files_of(kind, task)}.items():
            file = workspace / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
            os.utime(file, (TIME, TIME))
        options = FreezeOptions(
            task.id,
            System(name=system_name(kind)),
            exit_code=0,
            started_at=STARTED,
            finished_at=FINISHED,
            inputs_before=hash_inputs(workspace),
        )
        freeze(workspace, target, options, {})
