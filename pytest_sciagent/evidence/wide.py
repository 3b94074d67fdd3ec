"""Tables with endless rows: the same columns of each row, those that speak of the finding, and every gap marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Protocol

from ..text import counted
from .delimited import delimiter_of

WIDE = 2_000
"""Characters of a row from which on a table that does not fit is cut by columns."""
MAX_CELL = 200
_MARK = 25
"""Characters that the mark of a gap takes, about."""
MAX_LOOKUPS = 2_000_000
"""Headers or cells of one table, times the names and numbers that are looked up in each."""


class Cues(Protocol):
    """What tells how much a text speaks of the finding (`excerpt.Cues`)."""

    @property
    def numbers(self) -> frozenset[str]: ...

    @property
    def names(self) -> frozenset[str]: ...

    def score(self, block: str) -> int: ...


def narrowed(path: str, text: str, room: int, cues: Cues) -> str | None:
    """`text`, a table, with a part of its columns and the beginning of its long cells; None where that gains nothing.

    A text may hold several tables, each after lines that begin with `#`. The first column stays, then come those whose
    header or cells hold names and numbers of the finding, then the first ones. A gap in a row is marked by how many
    columns it leaves out; between two marks it is as it stands in the file, so that it can be quoted.

    Args:
        room: characters that are there for the whole; a row gets an eighth of it.
    """
    lines = text.splitlines()
    if max(map(len, lines), default=0) <= WIDE:
        return None
    delimiter = delimiter_of(text, "\t" if path.endswith(".tsv") else ",")
    rows: list[str] = []
    for is_heading, group in groupby(lines, lambda line: line.startswith("#")):
        table = list(group)
        rows += table if is_heading else _narrow(table, delimiter, min(WIDE, max(room // 8, 150)), cues)
    shown = "\n".join(rows) + "\n"
    return shown if len(shown) < len(text) else None


def _narrow(lines: Sequence[str], delimiter: str, room: int, cues: Cues) -> Iterable[str]:
    if max(map(len, lines)) <= WIDE:
        return lines
    longest = min(MAX_CELL, room // 2)
    shown = _columns(lines, delimiter, room, longest, cues)
    return (delimiter.join(_row(_fields(line, delimiter), shown, longest)) for line in lines)


def _columns(lines: Sequence[str], delimiter: str, room: int, longest: int, cues: Cues) -> set[int]:
    """The columns to show: as many of the best as fit into `room` characters of a row."""
    head, first = (_fields(line, delimiter) for line in (lines[0], lines[min(1, len(lines) - 1)]))
    compared = MAX_LOOKUPS // (len(cues.numbers) + len(cues.names) + 1)
    scores = [cues.score(name) for name in head[:compared]] + [0] * len(head[compared:])
    lookups = 0
    for line in lines:
        found = [number for number in cues.numbers if number in line]
        row = _fields(line, delimiter)[: len(head)] if found else []
        lookups += len(found) * len(row) + len(cues.numbers)
        if lookups > MAX_LOOKUPS:
            break
        for column, cell in enumerate(row):
            scores[column] += sum(number in cell for number in found)
    order = sorted(range(1, len(head)), key=lambda column: -scores[column])
    chosen: set[int] = set()
    used = 0
    for column in [0, *order]:
        widest = max(len(row[column]) if column < len(row) else 0 for row in (head, first))
        used += min(widest, longest + _MARK) + (1 if column - 1 in chosen else _MARK)
        if used > room and chosen:
            break
        chosen.add(column)
    return chosen


def _row(row: Sequence[str], shown: set[int], longest: int) -> Iterator[str]:
    for is_shown, group in groupby(enumerate(row), lambda cell: cell[0] in shown):
        cells = [cell for _, cell in group]
        if is_shown:
            yield from (_short(cell, longest) for cell in cells)
        else:
            yield f" [... {counted(len(cells), 'column')} ...] "


def _short(cell: str, longest: int) -> str:
    left = len(cell) - longest
    return cell if left <= 0 else f"{cell[:longest]} [... {left:,} characters ...] "


def _fields(line: str, delimiter: str) -> list[str]:
    """The cells of a row as they are written, with their quotation marks."""
    if '"' not in line:
        return line.split(delimiter)
    cells: list[list[str]] = []
    is_open = False
    for part in line.split(delimiter):
        if is_open:
            cells[-1].append(part)
        else:
            cells.append([part])
        is_open ^= part.count('"') % 2 == 1
    return [delimiter.join(cell) for cell in cells]
