"""Files as bytes on their way between machines: halves of a task to a worker, a frozen run back."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..digest import sha256_bytes, sha256_tree
from ..errors import SciagentError
from ..runs.files import Entry, UnsafeFile, check_relative, read_file, walk
from ..tasks import Task
from ..tasks.verification import Scripts

TASK_BYTES = 256 * 1024 * 1024
RUN_BYTES = 1024 * 1024 * 1024
_VISIBLE = ("task.yaml", "objective.md", "DATA_GUIDE.md")


class TooLarge(SciagentError):
    """More bytes than are sent."""


@dataclass(frozen=True)
class Parcel:
    """Files by path, each with its time of modification (seconds since 1970) and its content."""

    files: tuple[tuple[str, float, bytes], ...]

    @property
    def digest(self) -> str:
        """Of paths and contents."""
        return sha256_tree((path, len(data), sha256_bytes(data)) for path, _, data in self.files)

    @property
    def size(self) -> int:
        """Bytes of all contents."""
        return sum(len(data) for _, _, data in self.files)

    def unpack(self, folder: Path) -> None:
        """Write the files below the folder, which must be new.

        Raises:
            SciagentError: a path that leads outside, or is there twice.
        """
        for path, mtime, data in self.files:
            try:
                place = folder / check_relative(path)
            except UnsafeFile as error:
                raise SciagentError(str(error)) from None
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                with place.open("xb") as handle:
                    handle.write(data)
            except FileExistsError:
                raise SciagentError(f"{path!r} is there twice") from None
            os.utime(place, (mtime, mtime))


def pack_task(task: Task) -> Parcel:
    """What an agent may see of a task. The hidden half stays where it is.

    Raises:
        SciagentError: a file that can't be read; more than `TASK_BYTES`.
    """
    registered = {file.path for file in task.manifest.files}
    wanted = (entry for entry in walk(task.path) if entry.path in registered or entry.path in _VISIBLE)
    return _pack(task.path, wanted, TASK_BYTES, f"the visible half of the task {task.id} has")


def pack_scripts(task: Task) -> tuple[Parcel, Parcel]:
    """A task's verification scripts, which belong to its hidden half, and its data.

    Raises:
        SciagentError: a file that can't be read; more than `TASK_BYTES`.
    """
    scripts = Scripts.of(task)
    code = (entry for entry in walk(scripts.folder) if "__pycache__" not in entry.path.split("/"))
    return (
        _pack(scripts.folder, code, TASK_BYTES, f"the verification scripts of the task {task.id} have"),
        _pack(scripts.data, walk(scripts.data), TASK_BYTES, f"the data of the task {task.id} have"),
    )


def pack_run(folder: Path) -> Parcel:
    """All files of a frozen run.

    Raises:
        TooLarge: more than `RUN_BYTES`.
        SciagentError: a file that can't be read.
    """
    return _pack(folder, walk(folder), RUN_BYTES, "the frozen run has")


def _pack(root: Path, entries: Iterable[Entry], limit: int, what: str) -> Parcel:
    files, total = [], 0
    for entry in entries:
        if entry.problem is not None:
            raise SciagentError(f"{entry.path} is {entry.problem}", path=root)
        total += entry.size
        if total > limit:
            raise TooLarge(f"{what} more than {limit // 2**20:,} MB, which is more than Dask is given to send")
        try:
            files.append((entry.path, entry.mtime, read_file(root, entry.path)))
        except UnsafeFile as error:
            raise SciagentError(str(error), path=root) from None
    return Parcel(tuple(files))
