"""JSON and JSON lines: bounded parsing, every value by its JSON pointer, and tables where the data are tabular."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from typing import Any

from .delimited import decode
from .tables import (
    KEPT_CELLS,
    KEPT_ROWS,
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_TABLES,
    Artifact,
    Cell,
    Layout,
    Table,
    Unreadable,
    bounded,
    pointer_token,
)

MAX_JSON_BYTES = 50_000_000
MAX_DEPTH = 200
MAX_VALUES = 2_000_000
MAX_KEY = 1_000


def read_json(data: bytes) -> Artifact:
    """A JSON document.

    Raises:
        Unreadable: too large, too deep, too many values, duplicate keys, not JSON.
    """
    text, encoding = _checked(data)
    document, facts = parse_json(text)
    return Artifact("json", bounded(text), json_tables(document), {"encoding": encoding, **facts}, document)


def read_json_lines(data: bytes) -> Artifact:
    """JSON lines, as a list with one value for each line that is not blank.

    Raises:
        Unreadable: as `read_json`; the line is named.
    """
    text, encoding = _checked(data)
    document: list[Any] = []
    facts: dict[str, Any] = {"encoding": encoding}
    if text.count("\n") > MAX_ROWS:
        raise Unreadable(f"more than {MAX_ROWS:,} lines")
    for number, line in enumerate(io.StringIO(text), 1):
        if not line.strip():
            continue
        if len(document) == KEPT_ROWS:
            facts["truncated"] = f"the first {KEPT_ROWS:,} values are kept"
            break
        try:
            value, more = parse_json(line)
        except Unreadable as error:
            raise Unreadable(f"line {number}: {error.reason}") from None
        document.append(value)
        facts |= more
    facts["values"] = len(document)
    return Artifact("json", bounded(text), json_tables(document), facts, document)


def parse_json(text: str) -> tuple[Any, dict[str, Any]]:
    """`text` as plain data, and facts. NaN, which JSON does not know but Python writes, is null and a fact.

    Raises:
        Unreadable: not JSON, a duplicate key, a huge number, a key over 1,000 characters, nested deeper than 200.
    """
    facts: dict[str, Any] = {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if any(len(key) > MAX_KEY for key, _ in items):
            raise Unreadable(f"a key of more than {MAX_KEY:,} characters")
        result = dict(items)
        if len(result) < len(items):
            seen: set[str] = set()
            twice = next(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise Unreadable(f"the key {twice!r} stands twice in one object")
        return result

    def constant(name: str) -> float | None:
        facts["not_json"] = "NaN or Infinity"
        return None if name == "NaN" else float(name)

    try:
        document = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg} (line {error.lineno})") from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH}") from None
    except ValueError:
        raise Unreadable("not JSON: a number with thousands of digits") from None
    _check_depth(document)
    return document, facts


def json_values(data: Any) -> Iterator[tuple[str, Cell]]:
    """Every single value of `data` with its JSON pointer, in order.

    Raises:
        Unreadable: nested deeper than 200, or more than 2,000,000 values.
    """
    count = 0
    stack: list[tuple[str, Iterator[tuple[str, Any]]]] = [("", iter([("", data)]))]
    while stack:
        prefix, children = stack[-1]
        step = next(children, None)
        if step is None:
            stack.pop()
            continue
        pointer = f"{prefix}{step[0]}"
        count += 1
        if count > MAX_VALUES:
            raise Unreadable(f"more than {MAX_VALUES:,} values")
        if isinstance(step[1], dict | list):
            if len(stack) > MAX_DEPTH:
                raise Unreadable(f"nested deeper than {MAX_DEPTH}")
            stack.append((pointer, _steps(step[1])))
        else:
            yield pointer, step[1]


def json_tables(data: Any) -> tuple[Table, ...]:
    """The lists of objects and the objects of equally long lists in `data` as tables, outermost first, at most 50."""
    tables: list[Table] = []
    level = [("", data)]
    while level and len(tables) < MAX_TABLES:
        inner: list[tuple[str, Any]] = []
        for pointer, node in level:
            table = _as_table(pointer, node)
            if table is not None:
                tables.append(table)
            inner += [
                (f"{pointer}{step}", child) for step, child in _steps(node) if child and isinstance(child, dict | list)
            ]
        level = inner
    return tuple(tables[:MAX_TABLES])


def _checked(data: bytes) -> tuple[str, str]:
    """The text of JSON that is small enough to be parsed: a value takes a comma or a bracket."""
    if len(data) > MAX_JSON_BYTES:
        raise Unreadable(f"more than {MAX_JSON_BYTES:,} bytes of JSON")
    text, encoding = decode(data)
    if text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        raise Unreadable(f"more than {MAX_VALUES:,} values")
    return text, encoding


def _check_depth(document: Any) -> None:
    level, depth = [document], 0
    while level:
        if depth > MAX_DEPTH:
            raise Unreadable(f"nested deeper than {MAX_DEPTH}")
        level = [child for node in level for _, child in _children(node) if isinstance(child, dict | list)]
        depth += 1


def _children(node: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(node, dict):
        yield from node.items()
    elif isinstance(node, list):
        yield from enumerate(node)


def _steps(node: Any) -> Iterator[tuple[str, Any]]:
    """The children of `node`, each with its step of a JSON pointer."""
    for key, child in _children(node):
        yield f"/{pointer_token(str(key))}", child


def _as_table(pointer: str, node: Any) -> Table | None:
    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
    layout: Layout
    if isinstance(node, list) and node and all(isinstance(item, dict) for item in node):
        columns = tuple(dict.fromkeys(key for item in node for key in item))
        rows = (tuple(item.get(column) for column in columns) for item in node)
        height, layout = len(node), "records"
    elif isinstance(node, dict) and node and all(isinstance(item, list) and item for item in node.values()):
        height, layout, columns = max(map(len, node.values())), "columns", tuple(node)
        if any(len(item) != height for item in node.values()):
            return None
        rows = zip(*node.values(), strict=True)
    else:
        return None
    if not 1 <= len(columns) <= MAX_COLUMNS or len(columns) * height > KEPT_CELLS:
        return None
    return Table(pointer, columns, tuple(tuple(_cell(value) for value in row) for row in rows), layout=layout)


def _cell(value: Any) -> Cell:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, float) and math.isnan(value):
        return None
    cell: Cell = value
    return cell
