"""Reading what other tools wrote: bounded, no link followed, nothing run; a broken document names its file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..documents import MAX_BYTES, parse_json, plain_json
from ..errors import SciagentError
from ..runs.files import MAX_FILE_BYTES, UnsafeFile, read_file, walk
from ..text import clean

MAX_FOLDERS = 50_000
MAX_DEPTH = 10
_SHOWN = 3
MAX_TOTAL = 2 * 1024**3
"""Bytes of all files of one run, or of one task's data."""
_WHOLE = frozenset({"run_receipt.json", "_meta.json", "run.json"})
"""Files that mark a folder as one run, below which nothing else is looked for."""


class Foreign(BaseModel):
    """A document of another tool: the keys we read are checked, all others are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


M = TypeVar("M", bound=Foreign)


@dataclass(frozen=True)
class Folder:
    """A folder of somebody else's, read only through here. `files`, `folders` and `links` are the names in it, sorted;
    no link is followed, wherever it leads."""

    path: Path
    files: tuple[str, ...]
    folders: tuple[str, ...]
    links: tuple[str, ...] = ()

    @classmethod
    def at(cls, path: Path) -> Folder:
        """Raises SciagentError: no folder, or one that can't be read."""
        files: list[str] = []
        folders: list[str] = []
        links: list[str] = []
        try:
            with os.scandir(path) as found:
                for entry in found:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        files.append(entry.name)
                    elif entry.is_symlink():
                        links.append(entry.name)
        except OSError as error:
            raise SciagentError(f"can't be read: {error.strerror}", path=clean(str(path))) from None
        return cls(path, tuple(sorted(files)), tuple(sorted(folders)), tuple(sorted(links)))

    def inner(self, name: str) -> Folder | None:
        """The folder `name` in this one, or None where there is none."""
        return Folder.at(self.path / name) if name in self.folders else None

    def first(self, *names: str) -> str | None:
        """The first of `names` (files of this folder, or one folder down) that is there."""
        for name in names:
            head, _, rest = name.partition("/")
            inner = self.inner(head) if rest else None
            if name in self.files or (inner is not None and rest in inner.files):
                return name
        return None

    def bytes(self, path: str, limit: int = MAX_BYTES) -> bytes:
        """Raises SciagentError: a link, no regular file, larger than `limit` bytes, or unreadable."""
        try:
            return read_file(self.path, path, limit)
        except UnsafeFile as error:
            raise SciagentError(clean(str(error)), path=clean(str(self.path / path))) from None

    def text(self, path: str) -> str:
        """The UTF-8 text of a file; raises as `bytes`, and for what is not UTF-8."""
        try:
            return self.bytes(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SciagentError(f"not UTF-8 (byte {error.start})", path=clean(str(self.path / path))) from None

    def json(self, path: str) -> Any:
        """Plain JSON; NaN and duplicate keys are refused. Raises SciagentError with file and line."""
        return plain_json(self.text(path), self.path / path)

    def document(self, path: str, model: type[M]) -> M:
        """A JSON document as `model`. Raises SciagentError with file and line."""
        return parse_json(self.text(path), model, self.path / path)


def survey(root: Path, problems: list[str]) -> Iterator[Folder]:
    """`root` and every folder below it, parents first, in the order of their names; hidden ones are left out, no link
    is followed, and nothing below a run is looked at. What is passed over is told in `problems`.

    Raises:
        SciagentError: the root can't be read, or there are more than `MAX_FOLDERS`.
    """
    waiting = [(root, 0)]
    seen = 0
    while waiting:
        path, depth = waiting.pop()
        seen += 1
        if seen > MAX_FOLDERS:
            raise SciagentError(f"more than {MAX_FOLDERS:,} folders: name the part to import", path=root)
        try:
            folder = Folder.at(path)
        except SciagentError as error:
            if path == root:
                raise
            problems.append(f"passed over: {error}")
            continue
        yield folder
        if depth == MAX_DEPTH and folder.folders:
            problems.append(f"passed over: what is in {clean(str(path))}, more than {MAX_DEPTH} folders down")
            continue
        if not is_one_run(folder):
            if folder.links:
                problems.append(f"passed over: {_links(folder)}")
            inner = [name for name in folder.folders if not name.startswith(".")]
            waiting.extend((path / name, depth + 1) for name in reversed(inner))


def _links(folder: Folder) -> str:
    """The links in a folder, the first few by name."""
    names = ", ".join(folder.links[:_SHOWN]) + f" and {len(folder.links) - _SHOWN} more" * (len(folder.links) > _SHOWN)
    return clean(f"symbolic links in {folder.path}, which are not followed: {names}")


def is_one_run(folder: Folder) -> bool:
    """Whether the folder holds one run, so that what is below belongs to it."""
    return bool(_WHOLE & set(folder.files)) or ("data.json" in folder.files and "workspace" in folder.folders)


def fault(error: ValidationError, *above: str | int) -> str:
    """The first fault of a document: where it is, below `above`, and what is wrong."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(step) for step in (*above, *first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]


def parse_list(folder: Folder, path: str, model: type[M]) -> tuple[M, ...]:
    """A JSON array of documents.

    Raises:
        SciagentError: with file, and the entry that is wrong.
    """
    data = folder.json(path)
    if not isinstance(data, list):
        raise SciagentError("the document should be an array", path=folder.path / path)
    found = []
    for index, entry in enumerate(data):
        try:
            found.append(model.model_validate(entry))
        except ValidationError as error:
            raise SciagentError(f"entry {fault(error, index)}", path=folder.path / path) from None
    return tuple(found)


def regular_files(folder: Folder, below: str = "") -> Iterator[tuple[str, bytes, float]]:
    """Every file below `folder/below`: path, bytes and time of change.

    Raises:
        SciagentError: a link, a device, a file too large to be read, or more than `MAX_TOTAL` bytes.
    """
    total = 0
    for entry in walk(folder.path, below):
        total += entry.size
        if total > MAX_TOTAL:
            raise SciagentError(f"more than {MAX_TOTAL:,} bytes of files", path=folder.path / below)
        if entry.problem is not None:
            place = clean(str(folder.path / entry.path))
            raise SciagentError(f"is {entry.problem}: a run holds regular files only", path=place)
        yield entry.path, folder.bytes(entry.path, MAX_FILE_BYTES), entry.mtime


def table(folder: Folder, name: str, delimiter: str = ",") -> list[dict[str, str]]:
    """The rows of a table with a header; empty cells are empty texts.

    Raises:
        SciagentError: a file that is no such table, or a row with more or fewer cells than the header.
    """
    lines = folder.text(name).splitlines()
    try:
        header, *rows = csv.reader(lines, delimiter=delimiter, strict=True)
    except (csv.Error, ValueError) as error:
        raise SciagentError(f"no table with a header: {error}", path=folder.path / name) from None
    for number, row in enumerate(rows, 2):
        if row and len(row) != len(header):
            raise SciagentError(f"row {number} has {len(row)} cells, the header {len(header)}", path=folder.path / name)
    return [dict(zip(header, row, strict=True)) for row in rows if row]


def number_in(row: Mapping[str, str], column: str, place: Path) -> float:
    """The number in a cell.

    Raises:
        SciagentError: there is none.
    """
    try:
        return float(row[column])
    except KeyError:
        raise SciagentError(f"there is no column {column!r}", path=place) from None
    except ValueError:
        raise SciagentError(f"column {column!r} holds {row[column][:40]!r}, not a number", path=place) from None
