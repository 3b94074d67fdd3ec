"""Citations in their place: the lines around a quote, or the row and cells of the table in which it stands."""

from __future__ import annotations

import csv
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath

from ...evidence import QuoteIndex
from ...evidence.citations import comparable
from ...models import Citation
from ...text import shorten
from ..words import Words
from .facts import more
from .views import Grid, Line, Passage, RunView, Surroundings

MAX_PASSAGES = 6
MAX_QUOTE = 500
MAX_FILE = 5_000_000
AROUND = 2
MAX_LINES = 9
MAX_LINE = 200
MAX_CELLS = 12
MAX_CELL = 40
_TABLES = {".csv": ",", ".tsv": "\t"}


@dataclass
class Passages:
    """The citations of one run. Each cited file is read, masked and cut into lines once.

    report: the path of the report; `blocks` are the lines at which parts of it can be reached by `prefixN`.
    """

    quotes: QuoteIndex
    words: Words
    report: str | None
    prefix: str
    blocks: Sequence[int]
    _files: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, citations: Sequence[Citation]) -> tuple[tuple[Passage, ...], str]:
        """The first `MAX_PASSAGES` citations, and how many more there are."""
        shown = tuple(self._passage(citation) for citation in citations[:MAX_PASSAGES])
        return shown, more(len(citations) - MAX_PASSAGES, "more citations")

    def _passage(self, citation: Citation) -> Passage:
        quote = self.words.text(citation.quote, MAX_QUOTE)
        passage = Passage(
            self.words.line(citation.file, 200), self.words.line(citation.place or "", 80), quote, citation.verified
        )
        start = _line_of(citation.place) if citation.verified else None
        lines = self._lines(citation.file) if start is not None else ()
        if start is None or not 1 <= start <= len(lines):
            return passage
        stop = _stop(lines, start, citation.quote)
        grid = self._grid(citation, lines, start, stop)
        anchor = self._anchor(citation.file, start)
        near = () if grid is not None or anchor is not None else self._around(lines, start, stop)
        around = Surroundings(passage.file, near, grid) if near or grid is not None else None
        return Passage(passage.file, passage.place, quote, citation.verified, around, anchor)

    def _lines(self, path: str) -> tuple[str, ...]:
        if path not in self._files:
            text = self.quotes.text(path)
            usable = text is not None and len(text) <= MAX_FILE
            self._files[path] = tuple(self.words.mask(text or "").split("\n")) if usable else ()
        return self._files[path]

    def _around(self, lines: Sequence[str], start: int, stop: int) -> tuple[Line, ...]:
        first, last = max(start - AROUND, 1), min(stop + AROUND, len(lines), start + MAX_LINES)
        return tuple(
            Line(number, self.words.text(lines[number - 1], MAX_LINE), start <= number <= stop)
            for number in range(first, last + 1)
        )

    def _grid(self, citation: Citation, lines: Sequence[str], start: int, stop: int) -> Grid | None:
        """The header and the rows around the quote, if the file is a table whose lines are its rows."""
        delimiter = _TABLES.get(PurePosixPath(citation.file).suffix.lower())
        if delimiter is None:
            return None
        numbers = [
            n for n in range(max(start - 1, 2), min(stop + 1, len(lines), start + MAX_LINES) + 1) if lines[n - 1]
        ]
        head, *rows = _cells([lines[0], *(lines[n - 1] for n in numbers)], delimiter)
        if not rows or len(head) < 2 or any(len(row) != len(head) for row in rows):
            return None
        quoted = comparable(citation.quote)
        columns = _columns(len(head), rows, numbers, start, quoted)
        shown = []
        for number, row in zip(numbers, rows, strict=True):
            cited = start <= number <= stop
            marked = {n for n, c in enumerate(columns) if cited and _is_in(row[c], quoted)}
            label = f"line {number}" if not cited else f"line {number}, cited"
            shown.append((label, tuple(self.words.line(row[c], MAX_CELL) for c in columns), frozenset(marked)))
        return Grid(
            tuple(self.words.line(head[c], MAX_CELL) for c in columns),
            tuple(shown),
            more(len(head) - len(columns), "more columns"),
        )

    def _anchor(self, path: str, line: int) -> str | None:
        if path != self.report:
            return None
        position = bisect_right(self.blocks, line)
        return f"{self.prefix}{self.blocks[position - 1]}" if position else None


def shared_surroundings(runs: Iterable[RunView]) -> dict[Surroundings, str]:
    """What surrounds more than one citation of `runs`, with the anchor under which a page holds it."""
    passages = (passage for run in runs for item in run.items for passage in item.passages)
    times = Counter(passage.around for passage in passages if passage.around is not None)
    several = (around for around, number in times.items() if number > 1)
    return {around: f"place-{number}" for number, around in enumerate(several, 1)}


def _line_of(place: str | None) -> int | None:
    number = (place or "").removeprefix("line ")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else None


def _stop(lines: Sequence[str], start: int, quote: str) -> int:
    """The line on which a quote that starts at line `start` ends."""
    wanted = comparable(quote)
    seen = ""
    for number, line in enumerate(islice(lines, start - 1, start - 1 + MAX_LINES), start):
        seen = f"{seen} {comparable(shorten(line, 20_000))}"
        if wanted in seen:
            return number
    return start


def _cells(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return [next(csv.reader([line], delimiter=delimiter), []) for line in lines]
    except csv.Error:
        return [[]]


def _columns(width: int, rows: Sequence[Sequence[str]], numbers: Sequence[int], start: int, quote: str) -> list[int]:
    """The columns to show: those that are cited first, the first column always, in the table's order."""
    if width <= MAX_CELLS:
        return list(range(width))
    row = rows[numbers.index(start)] if start in numbers else rows[0]
    cited = [n for n, cell in enumerate(row) if _is_in(cell, quote)]
    return sorted([*dict.fromkeys([0, *cited, *range(width)])][:MAX_CELLS])


def _is_in(cell: str, quote: str) -> bool:
    """Whether a cell stands in the quote as a whole, between separators."""
    wanted = comparable(cell)
    if not wanted:
        return False
    at = quote.find(wanted)
    while at >= 0:
        before, after = quote[at - 1 : at] if at else "", quote[at + len(wanted) :][:1]
        if not (before.isalnum() or before in {".", "-"}) and not (after.isalnum() or after == "."):
            return True
        at = quote.find(wanted, at + 1)
    return False
