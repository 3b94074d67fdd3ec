"""What a reader makes of an artifact: text, tables and facts. Every cell has a place that a citation can name."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..text import clean, one_line

MAX_BYTES = 64 * 1024 * 1024
MAX_TEXT = 2_000_000
MAX_ROWS = 2_000_000
KEPT_ROWS = 200_000
KEPT_CELLS = 2_000_000
MAX_COLUMNS = 2_000
MAX_TABLES = 50
RENDERED_ROWS = 1_000

Cell = str | float | int | bool | None
"""One value of a table; None is a missing value (blank, null, NaN), never 0."""
Kind = Literal["table", "json", "notebook", "text", "image", "pdf", "arrays"]
Layout = Literal["grid", "records", "columns"]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(\.[0-9]*)?|(\.[0-9]+))([eE][+-]?[0-9]+)?")
_WORDS: dict[str, Cell] = {
    "true": True,
    "false": False,
    "nan": None,
    "inf": math.inf,
    "+inf": math.inf,
    "-inf": -math.inf,
}


class Unreadable(Exception):
    """An artifact that is not read. `reason` says why, on one safe line."""

    def __init__(self, reason: str) -> None:
        self.reason = one_line(reason, 300)
        super().__init__(self.reason)


class Stopped(Unreadable):
    """A reader took too long or died, or the readers of a run have had their time: another time it may be read."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and named columns. Rows are counted from 1, after the header.

    Attributes:
        name: the sheet, the array, or for JSON the pointer of the list or object; "" for a CSV.
        columns: names, each once.
        rows: one cell for each column.
        raws: the cells as they were written, where the format is text.
        layout: `grid`, or how JSON holds it: `records` (a list of objects), `columns` (an object of lists).
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    raws: tuple[tuple[str, ...], ...] | None = None
    layout: Layout = "grid"

    def cell(self, row: int, column: str) -> Cell:
        """The value at `row` (from 1) and `column`.

        Raises:
            LookupError: no such row or column.
        """
        return self.rows[self._row(row)][self._column(column)]

    def column(self, name: str) -> list[Cell]:
        """All values of the column `name`, in order.

        Raises:
            LookupError: no such column.
        """
        index = self._column(name)
        return [row[index] for row in self.rows]

    def raw(self, row: int, column: str) -> str:
        """The cell as it was written in the file; for formats that are not text, as Python writes the value.

        Raises:
            LookupError: no such row or column.
        """
        if self.raws is not None:
            return self.raws[self._row(row)][self._column(column)]
        value = self.cell(row, column)
        return "" if value is None else str(value)

    def locator(self, row: int, column: str) -> str:
        """The place of a cell: `row 3, column slope` (after the table's name, if any), or a JSON pointer."""
        self._row(row)
        self._column(column)
        if self.layout == "records":
            return f"{self.name}/{row - 1}/{pointer_token(column)}"
        if self.layout == "columns":
            return f"{self.name}/{pointer_token(column)}/{row - 1}"
        return f"{self.name}: row {row}, column {column}" if self.name else f"row {row}, column {column}"

    def _row(self, row: int) -> int:
        if not 1 <= row <= len(self.rows):
            raise LookupError(f"no row {row}")
        return row - 1

    def _column(self, column: str) -> int:
        try:
            return self.columns.index(column)
        except ValueError:
            raise LookupError(f"no column {one_line(column, 80)}") from None


@dataclass(frozen=True)
class Artifact:
    """One artifact, read.

    Attributes:
        kind: what it is.
        text: a bounded rendering for people and judges, controls made visible; None for an image.
        tables: its tables, if any.
        facts: what is known about it: rows, columns, width, height, pages, encoding, whether anything was cut.
        data: the parsed document of a JSON artifact.
    """

    kind: Kind
    text: str | None = None
    tables: tuple[Table, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    data: Any = None


def pointer_token(key: str) -> str:
    """`key` as one step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def parse_cell(raw: str, decimal_comma: bool = False) -> Cell:
    """A written cell as a value: numbers and truth values are parsed, blanks and NaN are None, the rest is text."""
    text = raw.strip()
    if not text:
        return None
    number = _NUMBER.fullmatch(text.replace(",", ".") if decimal_comma else text)
    if number is None:
        lower = text.lower()
        return _WORDS.get(lower, raw)
    if number[1] is None and number[2] is None and number[3] is None and len(text) <= 40:
        return int(text)
    value = float(number[0])
    return value if math.isfinite(value) else raw


def plain_cell(value: Any) -> Cell:
    """A value of some library as a cell: NaN is None, dates are ISO text, bytes a note, anything else its text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return str(value)[:1000]
    return None if math.isnan(number) else number


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Column names, each once: a blank one becomes `column N`, a repeated one gets `.2`, `.3` ..."""
    taken: set[str] = set()
    result = []
    for position, name in enumerate(names, 1):
        base = name.strip() or f"column {position}"
        unique, count = base, 1
        while unique in taken:
            count += 1
            unique = f"{base}.{count}"
        taken.add(unique)
        result.append(unique)
    return tuple(result)


def headed(rows: Sequence[Sequence[Cell]], raws: Sequence[Sequence[str]] | None) -> tuple[list[str], int]:
    """The header of a grid and the index of its first data row: a first row of numbers alone is not a header."""
    width = max((len(row) for row in rows), default=0)
    first = rows[0] if rows else ()
    if first and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in first):
        return [""] * width, 0
    names = list(raws[0]) if raws else ["" if cell is None else str(cell) for cell in first]
    return names + [""] * (width - len(names)), 1


def kept_rows(width: int) -> int:
    """How many rows of `width` cells are kept."""
    return min(KEPT_ROWS, KEPT_CELLS // max(width, 1))


def render(tables: Iterable[Table]) -> str:
    """Tables as comma separated text, at most `RENDERED_ROWS` rows of each, `MAX_TEXT` characters in all."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for table in tables:
        if table.name:
            out.write(f"[{table.name}]\n")
        writer.writerow(table.columns)
        for row in table.rows[:RENDERED_ROWS]:
            writer.writerow(row)
            if out.tell() > MAX_TEXT:
                return bounded(out.getvalue())
        if len(table.rows) > RENDERED_ROWS:
            out.write(f"[... {len(table.rows) - RENDERED_ROWS:,} more rows]\n")
    return bounded(out.getvalue())


def bounded(text: str) -> str:
    """`text` made safe to show, in at most `MAX_TEXT` characters; a cut is marked by an ellipsis."""
    return clean(text[: MAX_TEXT + 1], MAX_TEXT)
