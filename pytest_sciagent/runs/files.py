"""Reading files of a run, which are hostile: no links followed, regular files only, nothing outside, bounded."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_FILES = 200_000
MAX_DEPTH = 64
_NO_PARTS = frozenset({"", ".", ".."})


class UnsafeFile(Exception):
    """A file of a run that is not read, with the reason."""


def check_relative(path: str) -> PurePosixPath:
    """`path` as a relative path that stays inside.

    Raises:
        UnsafeFile: absolute, empty, with `..`, a backslash or a NUL.
    """
    return PurePosixPath(*_parts(path))


def _parts(path: str) -> list[str]:
    """The components of a path as `check_relative` wants it; without `pathlib`, for runs of very many files."""
    parts = path.split("/")
    if not _NO_PARTS.isdisjoint(parts) or "\0" in path or "\\" in path:
        raise UnsafeFile(f"{path!r} is not a plain relative path inside the run")
    return parts


def read_file(root: Path, path: str, limit: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of `path` below `root`; no component may be a symbolic link.

    Raises:
        UnsafeFile: a link, not a regular file, larger than `limit` bytes, or unreadable.
    """
    parts = _parts(path)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        descriptor = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        raise UnsafeFile(f"{path!r} can't be opened: {error.strerror}") from None
    finally:
        os.close(folder)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise UnsafeFile(f"{path!r} is not a regular file")
    with os.fdopen(descriptor, "rb") as handle:
        if status.st_size > limit:
            raise UnsafeFile(f"{path!r} has {status.st_size:,} bytes, more than {limit:,}")
        data = handle.read(limit + 1)
    if len(data) > limit:
        raise UnsafeFile(f"{path!r} grew past {limit:,} bytes while it was read")
    return data


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing found below a folder: a regular file, or `problem` says why it is refused.

    inode: device and number of the file; `names` is how many names (hard links) it has, wherever they are.
    """

    path: str
    size: int = 0
    mtime: float = 0.0
    problem: str | None = None
    inode: tuple[int, int] = (0, 0)
    names: int = 1


def walk(root: Path, below: str = "") -> Iterator[Entry]:
    """Every file below `root/below`, sorted within each folder; what can't be read comes as a problem."""
    count = 0
    folders = [(below, 0)]
    while folders:
        folder, depth = folders.pop()
        if depth > MAX_DEPTH:
            yield Entry(folder, problem=f"nested deeper than {MAX_DEPTH} folders")
            continue
        try:
            with os.scandir(root / folder) as found:
                entries = sorted(found, key=lambda e: e.name)
        except OSError as error:
            yield Entry(folder, problem=f"unreadable ({error.strerror})")
            continue
        inner: list[tuple[str, int]] = []
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            count += 1
            if count > MAX_FILES:
                yield Entry(path, problem=f"more than {MAX_FILES:,} files")
                return
            if entry.is_symlink():
                yield Entry(path, problem="a symbolic link")
            elif entry.is_dir(follow_symlinks=False):
                inner.append((path, depth + 1))
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                inode = (status.st_dev, status.st_ino)
                yield Entry(path, status.st_size, status.st_mtime, inode=inode, names=status.st_nlink)
            else:
                yield Entry(path, problem="not a regular file")
        folders.extend(reversed(inner))
