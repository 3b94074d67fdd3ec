"""The artifacts of one run, read on first use and kept: what packages, quotes, checks and the audit look into."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Any

from ..models import FileEntry
from ..models.run import check_roles
from ..runs import Run, UnsafeFile
from ..text import clean
from .delimited import decode
from .isolation import Readers
from .readers import Artifact, Unreadable, needs_isolation
from .recent import Recent
from .tables import Stopped, Table

MAX_ARTIFACT_BYTES = 64 * 1024 * 1024
MAX_TEXT_BYTES = 20_000_000
DEFAULT_SECONDS = 300.0
MAX_RUN_BYTES = 1 << 30
KEPT_BYTES = 256 * 1024 * 1024
_CELL_BYTES = 64
"""About what a cell takes, and what a byte of JSON does as objects."""
_JSON_FACTOR = 12


@dataclass(frozen=True)
class ReadingLimits:
    """What the reading of one run may take.

    seconds: processor time of all readers of binary formats together; what is not read then is unreadable.
    run_bytes: of all files that are read as text or as artifacts, the smallest first; larger ones are unreadable.
    kept_bytes: about how much of the artifacts, and of the texts, is kept; more is read again when it is needed again.
    """

    seconds: float = DEFAULT_SECONDS
    run_bytes: int = MAX_RUN_BYTES
    kept_bytes: int = KEPT_BYTES


def parse_seconds(text: str) -> float:
    """The seconds that `text` says.

    Raises:
        ValueError: no number above 0.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"{text}: write a number above 0")
    return seconds


class Artifacts:
    """Frozen files of a run as tables, documents and text. Nothing is read before it is asked for, and nothing twice:
    files of the same content and type are one.

    readers: the process for binary formats, which runs may share; one of its own where none is given.
    was_stopped: whether a file was not read because a reader took too long or died: another time it may be read.
    """

    def __init__(self, run: Run, readers: Readers | None = None, limits: ReadingLimits | None = None) -> None:
        self.run = run
        self.readers = readers or Readers()
        self._limits = limits or ReadingLimits()
        self.was_stopped = False
        self._seconds_used = 0.0
        self._artifacts: Recent[tuple[str, str], Artifact] = Recent(self._limits.kept_bytes, _weight)
        self._texts: Recent[tuple[str, str], tuple[str, str]] = Recent(self._limits.kept_bytes, _text_weight)
        self._refused: dict[tuple[str, str], str] = {}
        self._textless: dict[str, str] = {}

    def get(self, path: str) -> Artifact | None:
        """The artifact at `path`, or None where it can't be read; `why_not` then tells the reason."""
        try:
            return self._artifact(path)
        except (Unreadable, UnsafeFile):
            return None

    def why_not(self, path: str) -> str | None:
        """Why `path` can't be read, or None if it can."""
        try:
            self._artifact(path)
        except (Unreadable, UnsafeFile) as error:
            return str(error)
        return None

    def text(self, path: str) -> str:
        """The readable text of `path`; empty where there is none."""
        artifact = self.get(path)
        return (artifact.text or "") if artifact is not None else ""

    def readable(self, path: str) -> str:
        """The text of a frozen file as it can be quoted: notebooks as their cells, tables of binary formats as
        separated values with the name of each sheet or array above, everything else as it stands.

        Raises:
            UnsafeFile: too large, not what was frozen, or not text.
        """
        return self._text(path)[0]

    def shown(self, path: str) -> str:
        """As `readable`, as judges are shown it: invisible characters made visible.

        Raises:
            UnsafeFile: as `readable`.
        """
        return self._text(path)[1]

    def of(self, paths: Sequence[str], *roles: str) -> list[FileEntry]:
        """Those of `paths` that are frozen files of one of `roles`, in order.

        Raises:
            ValueError: a word that is no role.
        """
        check_roles(roles)
        return [self.run.files[p] for p in paths if p in self.run.files and self.run.files[p].role in roles]

    def read(self, path: str, data: bytes) -> Artifact:
        """As `Readers.read`, within the limits of the run: for what is no frozen file.

        Raises:
            Unreadable: with the reason.
        """
        if not needs_isolation(path):
            return self.readers.read(path, data)
        with self._within_limits():
            return self.readers.read(path, data)

    def check_image(self, data: bytes, max_side: int, max_pixels: int) -> dict[str, Any]:
        """As `Readers.check_image`, within the limits of the run.

        Raises:
            Unreadable: with the reason.
        """
        with self._within_limits():
            return self.readers.check_image(data, max_side, max_pixels)

    def draw(self, data: bytes, max_side: int, max_pixels: int) -> bytes:
        """As `Readers.draw`, within the limits of the run.

        Raises:
            Unreadable: with the reason.
        """
        with self._within_limits():
            return self.readers.draw(data, max_side, max_pixels)

    # ---- reading

    def _artifact(self, path: str) -> Artifact:
        entry = self._entry(path, MAX_ARTIFACT_BYTES)
        key = (entry.sha256, _ending(path).lower())
        found = self._artifacts.get(key)
        if found is not None:
            return found
        if key in self._refused:
            raise Unreadable(self._refused[key])
        data = self.run.read_bytes(path, MAX_ARTIFACT_BYTES)
        try:
            return self._artifacts.put(key, self.read(path, data))
        except Unreadable as error:
            self._refused[key] = error.reason
            raise

    @contextmanager
    def _within_limits(self) -> Iterator[None]:
        """Count what the readers' process takes, and note where it was stopped."""
        before = self.readers.used_s
        try:
            if self._seconds_used >= self._limits.seconds:
                raise Stopped(f"the readers of this run have had their {self._limits.seconds:g} seconds")
            yield
        except Stopped:
            self.was_stopped = True
            raise
        finally:
            self._seconds_used += self.readers.used_s - before

    def _text(self, path: str) -> tuple[str, str]:
        """The text of `path` as it can be quoted, and as it is shown."""
        if path in self._textless:
            raise UnsafeFile(self._textless[path])
        try:
            entry = self._entry(path, MAX_TEXT_BYTES)
            key = (entry.sha256, _ending(path))
            found = self._texts.get(key)
            if found is not None:
                return found
            text = self._readable(path)
        except UnsafeFile as error:
            self._textless[path] = str(error)
            raise
        return self._texts.put(key, (text, clean(text)))

    def _readable(self, path: str) -> str:
        if path.endswith((".ipynb", ".pdf")) or needs_isolation(path):
            try:
                artifact = self._artifact(path)
            except Unreadable as error:
                raise UnsafeFile(f"{path!r}: {error}") from None
            return artifact.text or "".join(map(_separated, artifact.tables))
        data = self.run.read_bytes(path, MAX_TEXT_BYTES)
        try:
            if b"\0" not in data[:8192]:
                return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError:
            pass  # in another encoding, which the readers know too
        try:
            return decode(data)[0]
        except Unreadable as error:
            raise UnsafeFile(f"{path!r} is not text: {error}") from None

    def _entry(self, path: str, limit: int) -> FileEntry:
        """The entry of a file that may be read.

        Raises:
            UnsafeFile: no file of the run, too large, or beyond what is read of one run.
        """
        entry = self.run.files.get(path)
        if entry is None:
            raise UnsafeFile(f"{path!r} is not a file of this run")
        if entry.bytes > limit:
            raise UnsafeFile(f"{path!r} has {entry.bytes:,} bytes, more than {limit:,}")
        if (entry.bytes, path) > self._last:
            raise UnsafeFile(f"{path!r} is beyond the {self._limits.run_bytes:,} bytes that are read of one run")
        return entry

    @cached_property
    def _last(self) -> tuple[int, str]:
        """Size and path of the last file that is read, of all files by size: so that all together keep to the limit.
        It depends on nothing but the run, however the files come to be asked for."""
        total, last = 0, (-1, "")
        for entry in sorted((entry.bytes, entry.path) for entry in self.run.manifest.files):
            total += entry[0]
            if total > self._limits.run_bytes:
                break
            last = entry
        return last


def _ending(path: str) -> str:
    """The end of a file's name from its last full stop on, which tells its type."""
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :] if "." in name else ""


def _weight(artifact: Artifact) -> int:
    """About how many bytes an artifact takes."""
    text = sys.getsizeof(artifact.text)
    cells = sum(len(table.rows) * len(table.columns) for table in artifact.tables)
    return text + _CELL_BYTES * cells + (_JSON_FACTOR * text if artifact.data is not None else 0)


def _text_weight(texts: tuple[str, str]) -> int:
    readable, shown = texts
    return sys.getsizeof(readable) + (sys.getsizeof(shown) if shown is not readable else 0)


def _separated(table: Table) -> str:
    """`table` as a heading and lines of separated values."""
    out = StringIO()
    out.write(f"# {table.name or 'table'}: {len(table.rows)} rows\n")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(table.columns)
    rows.writerows(table.rows)
    return out.getvalue()
