"""Notebooks as code and as results: the cells' sources, and the tables and values that their outputs show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..evidence.delimited import decode
from ..evidence.json_data import json_tables, parse_json
from ..evidence.readers import Table, Unreadable
from ..evidence.tables import parse_cell, unique_names

MAX_TABLES = 50
MAX_ROWS = 10_000
_CELL_MAGIC = re.compile(r"\s*%%(?!time|capture)")
_GAP = re.compile(r"\s{2,}|\t")


def notebook_source(data: bytes) -> str:
    """The Python of all code cells, one after the other.

    Raises:
        Unreadable: not a notebook.
    """
    cells = [_text(cell.get("source")) for cell in _cells(data) if cell.get("cell_type") == "code"]
    return "\n\n".join(cell for cell in cells if not _CELL_MAGIC.match(cell))


def notebook_results(data: bytes) -> tuple[tuple[Table, ...], list[Any]]:
    """What the outputs of executed cells show: tables as data frames print them, and printed JSON documents.

    Raises:
        Unreadable: not a notebook.
    """
    tables: list[Table] = []
    documents: list[Any] = []
    for number, cell in enumerate(_cells(data), 1):
        for text in _outputs(cell):
            document = _document(text)
            if document is None:
                tables += _printed_tables(text, f"cell {number}")
            else:
                documents.append(document)
    tables += json_tables(documents)
    return tuple(tables[:MAX_TABLES]), documents


def _cells(data: bytes) -> list[dict[str, Any]]:
    import nbformat

    plain, _ = parse_json(decode(data)[0])
    try:
        notebook = nbformat.from_dict(plain)  # type: ignore[no-untyped-call]
        if notebook.nbformat != 4:
            notebook = nbformat.convert(notebook, 4)  # type: ignore[no-untyped-call]
        return [dict(cell) for cell in notebook.cells]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, nbformat.ValidationError):
        raise Unreadable("not a Jupyter notebook") from None


def _outputs(cell: dict[str, Any]) -> Iterator[str]:
    outputs = cell.get("outputs") or []
    if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
        raise Unreadable("a cell has outputs that are no list of objects")
    for output in outputs:
        if output.get("output_type") == "stream":
            yield _text(output.get("text"))
        elif isinstance(output.get("data"), dict):
            yield _text(output["data"].get("text/plain"))


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, list):
        raise Unreadable("a cell holds something else than text")
    return "".join(map(str, value))


def _document(text: str) -> Any:
    """The JSON that `text` is, or None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return parse_json(text)[0]
    except Unreadable:
        return None


def _printed_tables(text: str, name: str) -> list[Table]:
    """Lines of equally many fields below a line of names, as a data frame prints them (with or without its index)."""
    tables: list[Table] = []
    header: list[str] = []
    rows: list[list[str]] = []
    for line in [*text.split("\n")[:MAX_ROWS], ""]:
        fields = [field for field in _GAP.split(line.strip()) if field]
        if header and len(fields) in (len(header), len(header) + 1) and any(map(_is_number, fields)):
            rows.append(fields[-len(header) :])
            continue
        if rows:
            cells = tuple(tuple(parse_cell(field) for field in row) for row in rows)
            tables.append(Table(name, unique_names(header), cells))
        header = fields if len(fields) > 1 and not any(map(_is_number, fields)) else []
        rows = []
    return tables


def _is_number(field: str) -> bool:
    return isinstance(parse_cell(field), int | float)
