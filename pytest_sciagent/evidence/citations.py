"""Citations checked by code: the quote must stand in the frozen file, whole and in one piece."""

from __future__ import annotations

import csv
import re
from functools import cached_property
from io import StringIO

from ..models import Citation
from ..runs import Run, UnsafeFile
from ..text import clean, normalise_quote
from .delimited import decode
from .readers import needs_isolation
from .tables import Table, Unreadable

MIN_QUOTE = 12
MIN_NUMERIC_QUOTE = 3
MAX_TEXT_BYTES = 20_000_000
_DIGIT = re.compile(r"\d")


class QuoteIndex:
    """Finds quotes in the text files of one run. Each file is read and normalised once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._texts: dict[str, _Comparable | None] = {}

    def verify(self, citation: Citation) -> Citation:
        """`citation` with `verified` set and, where found, its file's full path and its line as `place`."""
        path = self._path(citation.file)
        text = self._text(path) if path is not None else None
        quote = comparable(citation.quote)
        if path is None or text is None or not _says_something(quote, citation.quote):
            return citation.model_copy(update={"verified": False, "place": None})
        line = text.line_of(quote)
        place = None if line is None else f"line {line}"
        return citation.model_copy(update={"file": path, "verified": line is not None, "place": place})

    def text(self, path: str) -> str | None:
        """The readable text of the frozen file `path`; None where it is no file of the run, or has no text."""
        found = self._text(path) if path in self._run.files else None
        return None if found is None else found.raw

    def _path(self, name: str) -> str | None:
        candidates = (name, f"output/{name}", name.removeprefix("./"))
        return next((c for c in candidates if c in self._run.files), None)

    def _text(self, path: str) -> _Comparable | None:
        if path not in self._texts:
            try:
                self._texts[path] = _Comparable(readable_text(self._run, path))
            except UnsafeFile:
                self._texts[path] = None
        return self._texts[path]


def readable_text(run: Run, path: str) -> str:
    """The text of a frozen file as judges are shown it: notebooks as their cells, tables of binary formats as separated
    values with the name of each sheet or array above, everything else as it stands.

    Raises:
        UnsafeFile: too large, not what was frozen, or not text.
    """
    data = run.read_bytes(path, MAX_TEXT_BYTES)
    if path.endswith((".ipynb", ".pdf")) or needs_isolation(path):
        from .isolation import read_isolated

        try:
            artifact = read_isolated(path, data)
        except Unreadable as error:
            raise UnsafeFile(f"{path!r}: {error}") from None
        return artifact.text or "".join(map(_separated, artifact.tables))
    try:
        if b"\0" not in data[:8192]:
            return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        pass  # in another encoding, which the readers know too
    try:
        return decode(data)[0]
    except Unreadable as error:
        raise UnsafeFile(f"{path!r} is not text: {error}") from None


def _separated(table: Table) -> str:
    """`table` as a heading and lines of separated values."""
    out = StringIO()
    out.write(f"# {table.name or 'table'}: {len(table.rows)} rows\n")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(table.columns)
    rows.writerows(table.rows)
    return out.getvalue()


def comparable(text: str) -> str:
    """`text` as quotes are compared: invisible characters shown, Unicode and white space normalised."""
    return normalise_quote(clean(text))


class _Comparable:
    """A normalised text that still knows the lines it came from."""

    def __init__(self, text: str) -> None:
        self.raw = text

    @cached_property
    def _lines(self) -> tuple[str, list[int]]:
        """The normalised text, and the offset in it at which each source line starts."""
        offsets, parts, at = [], [], 0
        for line in self.raw.split("\n"):
            normal = comparable(line)
            offsets.append(at)
            if normal:
                parts.append(normal)
                at += len(normal) + 1
        return " ".join(parts), offsets

    def line_of(self, quote: str) -> int | None:
        """The line (from 1) on which `quote` starts, or None."""
        from bisect import bisect_right

        text, offsets = self._lines
        found = text.find(quote)
        if found < 0:
            return None
        return bisect_right(offsets, found)


def _says_something(quote: str, written: str) -> bool:
    """Whether a quote is long enough to be evidence: 12 characters, or 3 where it holds a digit.

    quote: `comparable`; written: as it was cited.
    """
    return len(quote) >= (MIN_NUMERIC_QUOTE if _DIGIT.search(written) else MIN_QUOTE)
