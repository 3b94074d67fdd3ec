"""The index of runs: all that collection needs, made once in the controller and handed to the workers as plain data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import SciagentError
from ..findings import RULES, registered
from ..layout import MANIFEST
from ..runs import Run, UnsafeFile
from ..text import one_line, safe_name

State = Literal["sound", "undelivered", "tampered"]
RUN_NODE = "run"
"""The name of the node that stands for a run as a whole, where a finding's id would stand."""
STATE_ITEMS: dict[State, str] = {"tampered": "integrity", "undelivered": "delivery"}
"""The one item of a run that is not sound."""


@dataclass(frozen=True, slots=True)
class RunIndex:
    """One run as collection sees it.

    state: `sound`; `undelivered` (failed, or without report or finding: counts as 0); `tampered` (not what was frozen:
    an error). problems: why, if not sound. notes: what to tell about a sound run's report.
    """

    path: str
    nodeid: str
    label: str
    system: str
    task_id: str
    repeat: int
    state: State
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """Plain data, as execnet carries it; the path as bytes, since it need not be Unicode."""
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        return plain | {"path": os.fsencode(self.path)}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> RunIndex:
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in wire.items()}
        return cls(**values | {"path": os.fsdecode(wire["path"])})


def node_path(path: Path, rootdir: Path) -> str:
    """The node id of the run at `path`: its manifest's path from the rootdir, each part made safe."""
    parts = os.path.relpath(path, rootdir).replace(os.sep, "/").split("/")
    return "/".join([*(p if p in {".", ".."} else safe_name(p) for p in parts), MANIFEST])


def label_of(path: Path) -> str:
    """How the run in `path` is named to people: by its manifest, or by its folders where that can't be read."""
    try:
        return Run.load(path).label
    except SciagentError:
        return f"{safe_name(path.parent.name)}/{safe_name(path.name)}"


def index_run(path: Path, rootdir: Path) -> RunIndex:
    """Look at the run in `path`: its manifest, every hash, its findings. Never raises for what a run contains."""
    nodeid = node_path(path, rootdir)
    try:
        run = Run.load(path)
    except SciagentError as error:
        problem = one_line(str(error), 500)
        return RunIndex(str(path), nodeid, label_of(path), "", safe_name(path.name), 1, "tampered", (problem,))
    manifest = run.manifest
    common = (str(path), nodeid, run.label, manifest.system.name, manifest.task_id, manifest.repeat)
    try:
        problems = run.problems()
    except OSError as error:
        problems = [f"can't be read: {error.strerror}"]
    if problems:
        shown = [one_line(p, 300) for p in problems[:20]]
        more = [f"and {len(problems) - 20} more"] if len(problems) > 20 else []
        return RunIndex(*common, "tampered", (*shown, *more))
    if manifest.status != "completed":
        code = "" if manifest.exit_code is None else f", exit code {manifest.exit_code}"
        return RunIndex(*common, "undelivered", (f"the run {manifest.status.replace('_', ' ')}{code}",))
    if manifest.report is None:
        return RunIndex(*common, "undelivered", ("the run delivered no report",))
    try:
        report = registered(run)
    except UnsafeFile as error:
        return RunIndex(*common, "undelivered", (f"the report can't be read: {one_line(str(error), 300)}",))
    notes = tuple(one_line(n, 300) for n in report.notes[:20])
    if not report.findings:
        return RunIndex(*common, "undelivered", (f"the report registers no finding ({RULES})", *notes))
    return RunIndex(*common, "sound", notes=notes, findings=tuple(f.id for f in report.findings))


def check_distinct(runs: Sequence[RunIndex]) -> None:
    """Two runs of one system, task and repeat can't be told apart.

    Raises:
        SciagentError: naming both.
    """
    seen: dict[str, RunIndex] = {}
    for run in runs:
        if run.state == "tampered":
            continue
        other = seen.setdefault(run.label, run)
        if other is not run:
            raise SciagentError(
                f"two runs are both {run.label}: {other.path} and {run.path}; freeze one of them with another "
                "--repeat or --system"
            )
