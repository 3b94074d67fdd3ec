"""Parquet and XLSX. Sizes come from metadata and are checked first; rows are read in small batches."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable
from typing import Any
from zipfile import BadZipFile

from .arrays import open_zip
from .tables import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_TABLES,
    Artifact,
    Cell,
    Table,
    Unreadable,
    headed,
    kept_rows,
    plain_cell,
    render,
    unique_names,
)

BATCH = 1024
# XML parsers raise a SyntaxError, and defusedxml, which openpyxl takes where it is installed, a ValueError: both stop
# entity bombs, and are told alike.
_UNSOUND = (
    *(BadZipFile, zlib.error, SyntaxError, KeyError, ValueError),
    *(TypeError, AttributeError, IndexError, OSError, EOFError),
)


def read_parquet(data: bytes) -> Artifact:
    """A Parquet table; nested columns are named and left out.

    Raises:
        Unreadable: not Parquet, over 2,000,000 rows or 2,000 columns, text of more than 64 MB.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        rows, schema = file.metadata.num_rows, file.schema_arrow
        if rows > MAX_ROWS:
            raise Unreadable(f"{rows:,} rows, more than {MAX_ROWS:,}")
        if len(schema) > MAX_COLUMNS:
            raise Unreadable(f"{len(schema):,} columns, more than {MAX_COLUMNS:,}")
        flat = [field.name for field in schema if not pa.types.is_nested(field.type)]
        nested = [field.name for field in schema if pa.types.is_nested(field.type)]
        kept = kept_rows(len(flat))
        cells = _Cells()
        for batch in file.iter_batches(BATCH, columns=flat) if flat else ():
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if len(cells.rows) == kept:
                    break
                cells.add(row)
            if len(cells.rows) == kept:
                break
    except (pa.ArrowException, OSError, ValueError, KeyError, NotImplementedError) as error:
        raise Unreadable(f"not readable as Parquet: {error}") from None
    table = Table("", unique_names(flat), tuple(cells.rows))
    facts: dict[str, Any] = {"rows": rows, "columns": len(schema)}
    if nested:
        facts["not_read"] = nested[:MAX_TABLES]
    if len(cells.rows) < rows:
        facts["truncated"] = f"{len(cells.rows):,} of {rows:,} rows are kept"
    return Artifact("table", render([table]), (table,), facts)


class _Cells:
    """Rows gathered under a limit on their text: a dictionary can repeat one long text millions of times."""

    def __init__(self) -> None:
        self.rows: list[tuple[Cell, ...]] = []
        self._characters = 0

    def add(self, values: Iterable[Any]) -> None:
        row = tuple(plain_cell(value) for value in values)
        self._characters += sum(len(cell) for cell in row if isinstance(cell, str))
        if self._characters > MAX_BYTES:
            raise Unreadable(f"cells with more than {MAX_BYTES:,} characters of text")
        self.rows.append(row)


def read_xlsx(data: bytes) -> Artifact:
    """The sheets of an XLSX workbook, as tables: stored values, no formulas, no macros, no links to other files.

    Raises:
        Unreadable: not XLSX, a ZIP bomb, more than 2,000 columns.
    """
    from openpyxl import load_workbook

    open_zip(data).close()
    tables, facts = [], {}
    cells = _Cells()
    try:
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets[:MAX_TABLES]:
            # The stored dimensions may lie, in both directions.
            sheet.reset_dimensions()
            table, cut = _sheet(sheet, cells)
            facts[table.name] = f"{len(table.rows)} rows, {len(table.columns)} columns{cut}"
            tables.append(table)
        book.close()
    except Unreadable:
        raise
    except _UNSOUND:
        raise Unreadable("not a sound XLSX workbook") from None
    return Artifact("table", render(tables), tuple(tables), {"sheets": facts})


def _sheet(sheet: Any, cells: _Cells) -> tuple[Table, str]:
    start = len(cells.rows)
    cut, limit = "", 1
    for values in sheet.iter_rows(values_only=True):
        if len(values) > MAX_COLUMNS:
            raise Unreadable(f"the sheet {sheet.title!r} has more than {MAX_COLUMNS:,} columns")
        limit = max(limit, len(values))
        if len(cells.rows) - start > kept_rows(limit) or len(cells.rows) > kept_rows(1):
            cut = ", more rows are left out"
            break
        cells.add(values)
    rows = cells.rows[start:]
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    header, first = headed(rows, None)
    padded = tuple(row + (None,) * (len(header) - len(row)) for row in rows[first:])
    return Table(sheet.title, unique_names(header), padded), cut
