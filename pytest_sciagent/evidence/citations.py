"""Citations checked by code: the quote must stand in the frozen file, whole and in one piece."""

from __future__ import annotations

import re
from functools import cached_property

from ..models import Citation
from ..runs import UnsafeFile
from ..text import clean, normalise_quote
from .artifacts import KEPT_BYTES, Artifacts
from .recent import Recent

MIN_QUOTE = 12
MIN_NUMERIC_QUOTE = 3
QUOTE_RULE = (
    "a quote counts where it stands in the file word for word and in one piece, "
    f"{MIN_QUOTE} characters or more, or {MIN_NUMERIC_QUOTE} with a digit among them"
)
"""What `QuoteIndex` asks of a quote, in words."""
_DIGIT = re.compile(r"\d")
_ELLIPSIS = re.compile(r"\.\.\.|\u2026")


class QuoteIndex:
    """Finds quotes in the text files of one run. Each file is read and normalised once."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts
        self._files = artifacts.run.files
        self._texts: Recent[str, _Comparable] = Recent(KEPT_BYTES, lambda text: 3 * len(text.raw))

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

    def problem(self, citation: Citation) -> str | None:
        """Why a quote does not count; None for one that does."""
        if self.verify(citation).verified:
            return None
        path = self._path(citation.file)
        if path is None:
            return "the run has no such file"
        if self._text(path) is None:
            return "the file has no text that can be read"
        quote = comparable(citation.quote)
        if not _says_something(quote, citation.quote):
            return f"{len(quote)} characters are too short"
        if _ELLIPSIS.search(citation.quote):
            return "nothing may be left out of a quote"
        return "these words do not stand there"

    def text(self, path: str) -> str | None:
        """The readable text of the frozen file `path`; None where it is no file of the run, or has no text."""
        found = self._text(path) if path in self._files else None
        return None if found is None else found.raw

    def _path(self, name: str) -> str | None:
        candidates = (name, f"output/{name}", name.removeprefix("./"))
        return next((c for c in candidates if c in self._files), None)

    def _text(self, path: str) -> _Comparable | None:
        try:
            return self._texts.get(path) or self._texts.put(path, _Comparable(self._artifacts.readable(path)))
        except UnsafeFile:
            return None


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
