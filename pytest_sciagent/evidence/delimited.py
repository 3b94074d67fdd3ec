"""Text artifacts: decoding, and tables of separated values with any delimiter, quoted newlines and blanks."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .tables import (
    KEPT_CELLS,
    MAX_COLUMNS,
    MAX_ROWS,
    Artifact,
    Table,
    Unreadable,
    bounded,
    headed,
    kept_rows,
    parse_cell,
    unique_names,
)

MAX_LINE = 1_000_000
DELIMITERS = ",\t;|"
_SAMPLE = 65_536
_SAMPLE_ROWS = 100
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROLS = 0.02
_DECIMAL_POINT = re.compile(r"\s*[+-]?[0-9]*\.[0-9]+\s*")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")


def decode(data: bytes) -> tuple[str, str]:
    """`data` as text with line ends as `\\n`, and the encoding: by its mark, else UTF-8, else Latin-1.

    Raises:
        Unreadable: binary data.
    """
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            raise Unreadable(f"not {encoding}, as its first bytes say") from None
        encoding, text = "latin-1", data.decode("latin-1")
    sample = text[:_SAMPLE]
    if "\0" in text or len(_CONTROL.findall(sample)) > _MOST_CONTROLS * len(sample):
        raise Unreadable("binary data, not text")
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def read_text(data: bytes) -> Artifact:
    """Any text: logs, source, Markdown, HTML and SVG as they are written, never run or drawn.

    Raises:
        Unreadable: binary data.
    """
    text, encoding = decode(data)
    facts = {"encoding": encoding, "lines": text.count("\n") + (not text.endswith("\n")), "characters": len(text)}
    return Artifact("text", bounded(text), facts=facts)


def read_delimited(data: bytes, preferred: str = ",") -> Artifact:
    """A table of separated values.

    Raises:
        Unreadable: binary, too many rows or columns, a line over 1 MB, an unterminated quote.
    """
    text, encoding = decode(data)
    _check_lines(text)
    delimiter = delimiter_of(text, preferred)
    rows, facts = _parse(text, delimiter)
    facts |= {"encoding": encoding, "delimiter": delimiter}
    if not rows:
        return Artifact("table", bounded(text), facts=facts)
    comma = delimiter != "," and _has_decimal_comma(rows)
    header, first = headed([[parse_cell(raw) for raw in rows[0]], *rows[1:]], rows)
    columns, width = unique_names(header), len(header)
    facts |= {"columns": width, "rows": facts["rows"] - first, "header": bool(first)}
    if comma:
        facts["decimal"] = ","
    kept = rows[first : first + kept_rows(width)]
    if len(kept) < facts["rows"]:
        facts["truncated"] = f"{len(kept):,} of {facts['rows']:,} rows are kept"
    if any(len(row) != width for row in kept):
        facts["ragged_rows"] = sum(len(row) != width for row in kept)
    raws = tuple(tuple(row) + ("",) * (width - len(row)) for row in kept)
    cells = tuple(tuple(parse_cell(raw, comma) for raw in row) for row in raws)
    return Artifact("table", bounded(text), (Table("", columns, cells, raws),), facts)


def _check_lines(text: str) -> None:
    if text.count("\n") > MAX_ROWS:
        raise Unreadable(f"more than {MAX_ROWS:,} lines")
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if end - start > MAX_LINE:
            raise Unreadable(f"a line of more than {MAX_LINE:,} characters")
        start = end + 1


def _records(text: str, delimiter: str, strict: bool) -> Iterator[list[str]]:
    """The records that are not blank."""
    for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict):
        if record:
            yield record


def delimiter_of(text: str, preferred: str) -> str:
    """The delimiter under which most of the first rows have one and the same number of fields, above one."""
    sample = text if len(text) <= _SAMPLE else text[: text.rfind("\n", 0, _SAMPLE) + 1] or text[:_SAMPLE]
    best, best_score = preferred, (0.0, 0)
    for delimiter in sorted(DELIMITERS, key=lambda d: d != preferred):
        widths: Counter[int] = Counter()
        try:
            for record in _records(sample, delimiter, strict=False):
                widths[len(record)] += 1
                if widths.total() == _SAMPLE_ROWS:
                    break
        except csv.Error:
            continue
        width, count = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        score = (count / widths.total(), width) if width > 1 else (0.0, 0)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _parse(text: str, delimiter: str) -> tuple[list[list[str]], dict[str, Any]]:
    """All records worth keeping, and the count of all. What a strict parser refuses is read leniently, as a fact."""
    facts: dict[str, Any] = {}
    try:
        rows, facts["rows"] = _collect(text, delimiter, strict=True)
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise Unreadable("an unterminated quote swallows the rest of the file") from None
        facts["repaired"] = f"not well-formed: {error}"
        try:
            rows, facts["rows"] = _collect(text, delimiter, strict=False)
        except csv.Error as still:
            raise Unreadable(f"not readable as separated values: {still}") from None
    return rows, facts


def _collect(text: str, delimiter: str, strict: bool) -> tuple[list[list[str]], int]:
    rows: list[list[str]] = []
    count = limit = cells = 0
    for record in _records(text, delimiter, strict):
        if len(record) > MAX_COLUMNS:
            raise Unreadable(f"more than {MAX_COLUMNS:,} columns")
        limit = limit or kept_rows(len(record)) + 1
        count += 1
        cells += len(record)
        if count <= limit and cells <= KEPT_CELLS:
            rows.append(record)
    return rows, count


def _has_decimal_comma(rows: list[list[str]]) -> bool:
    """Whether numbers are written with a decimal comma: some are, and none with a point."""
    cells = [cell for row in rows[1:_SAMPLE_ROWS] for cell in row]
    return any(map(_DECIMAL_COMMA.fullmatch, cells)) and not any(map(_DECIMAL_POINT.fullmatch, cells))
