"""What results store: uncertainties, results of separate runs, of changed samples, and of changed methods.

Only columns, keys, short labels and numbers are read. Cells of columns with remarks are not.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ..evidence.readers import Cell, Table
from . import columns as c
from .keys import is_finding_column
from .scope import Result, Stored
from .values import as_float, is_number

MAX_STORED = 40
MAX_SETTINGS = 30
MAX_LABELS = 50
MAX_LABELLED = 5_000
"""Rows whose cells are read as labels."""
_LABEL = re.compile(r"[A-Za-z][\w .%()/-]{0,40}")
_SHARE_ENCLOSED = 0.8
_NUMBERED = re.compile(r"(.*?)[_ =-]?(\d+(?:\.\d+)?)$")
_KINDS_OF_METHOD = c.vocabulary("method methods estimator specification variant threshold model setting transform")
_LISTS_OF_METHODS = c.vocabulary(
    "methods models estimators variants specifications settings thresholds solvers windows"
)
_POLYNOMIAL = c.vocabulary("constant linear quadratic cubic")


# ---- uncertainty


def uncertainties(result: Result) -> list[Stored]:
    """The numeric uncertainties that a result stores."""
    found: list[Stored] = []
    if result.data is not None:
        for place, node in result.objects:
            found += _uncertainties_of_object(result, place, node)
            if len(found) >= MAX_STORED:
                break
    if result.artifact.kind != "json":
        for table in result.tables:
            found += _uncertainties_of_table(result, table)
    return found[:MAX_STORED]


def _uncertainties_of_table(result: Result, table: Table) -> Iterator[Stored]:
    cells = _cells(table)
    numeric = {name: count for name, values in cells.items() if (count := sum(map(is_number, values)))}
    doubts = 0
    for name, count in numeric.items():
        kind = c.uncertainty_kind(name)
        if kind is not None:
            yield Stored(result, f"column {name}", kind, count, (name,))
    for name in c.errors_of(numeric):
        yield Stored(result, f"column {name}", "se", numeric[name], (name,))
    for low, high, certain in c.bounds(numeric):
        doubts += not certain
        if not certain and doubts > MAX_STORED:
            continue
        if certain or _encloses(cells, low, high, [n for n in numeric if n not in (low, high) and not c.is_count(n)]):
            yield Stored(result, f"columns {low} and {high}", "interval", numeric[low], (low, high))
    for row in table.rows[:MAX_LABELLED]:
        if any(map(is_number, row)):
            for cell in row:
                kind = _kind_of_label(cell)
                if kind is not None:
                    yield Stored(result, f"row {cell}", kind, 1, (str(cell),))


def _kind_of_label(cell: Cell) -> c.Uncertainty | None:
    is_label = isinstance(cell, str) and _LABEL.fullmatch(cell) is not None and len(c.words(cell)) <= 4
    return c.uncertainty_kind(str(cell)) if is_label else None


def _cells(table: Table) -> dict[str, tuple[Cell, ...]]:
    """The columns of a table by their names."""
    columns = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    return dict(zip(table.columns, columns, strict=True))


def _encloses(cells: dict[str, tuple[Cell, ...]], low: str, high: str, others: Sequence[str]) -> bool:
    """Whether some other column lies between the two in most rows: they are limits of it, and no edges of bins."""
    limits = [(at, a, b) for at, (a, b) in enumerate(zip(cells[low], cells[high], strict=True)) if _is_pair(a, b)]
    for name in others if any(a <= b for _, a, b in limits) else ():  # type: ignore[operator]
        column = cells[name]
        rows = [(a, column[at], b) for at, a, b in limits if is_number(column[at])]
        inside = sum(a <= value <= b for a, value, b in rows)  # type: ignore[operator]
        if rows and inside >= _SHARE_ENCLOSED * len(rows):
            return True
    return False


def _is_pair(low: Cell, high: Cell) -> bool:
    return is_number(low) and is_number(high)


def _uncertainties_of_object(result: Result, place: str, node: dict[str, Any]) -> Iterator[Stored]:
    numeric = {key: value for key, value in node.items() if is_number(value)}
    for key, value in node.items():
        kind = c.uncertainty_kind(key)
        values = _numbers(value)
        if is_number(value) and kind is not None:
            yield Stored(result, f"{place}/{key}", kind, 1, (f'"{key}"',))
        elif isinstance(value, list) and values and len(values) == len(value):
            if c.is_interval_list(key, values):
                yield Stored(result, f"{place}/{key}", "interval", len(values), (f'"{key}"',))
            elif kind is not None and kind != "interval":
                yield Stored(result, f"{place}/{key}", kind, len(values), (f'"{key}"',))
        elif isinstance(value, dict) and kind == "interval" and len(values) >= 2:
            yield Stored(result, f"{place}/{key}", kind, len(values), (f'"{key}"',))
    triples = [key for key, value in node.items() if _is_estimate_with_limits(value)]
    if len(triples) > 2 and all(
        _is_estimate_with_limits(v) for v in node.values() if isinstance(v, list) and len(v) == 3
    ):
        yield Stored(result, f"{place}/{triples[0]}", "interval", len(triples), (f'"{triples[0]}"',))
    for key in c.errors_of(numeric):
        yield Stored(result, f"{place}/{key}", "se", 1, (f'"{key}"',))
    others = sorted(value for key, value in numeric.items() if not c.is_count(key))
    for low, high, certain in c.bounds(numeric):
        inside = bisect_right(others, numeric[high]) - bisect_left(others, numeric[low])
        if certain or inside > (not c.is_count(low)) + (not c.is_count(high)):
            yield Stored(result, f"{place}/{low} and {high}", "interval", 2, (f'"{low}"',))


def _is_estimate_with_limits(value: Any) -> bool:
    """Whether a list is an estimate followed by its lower and upper limit."""
    return (
        isinstance(value, list)
        and len(value) == 3
        and all(map(is_number, value))
        and value[1] <= value[0] <= value[2]
        and value[1] < value[2]
    )


def _numbers(value: Any) -> list[float]:
    """The numbers directly in a list, an object or a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,)
    return [number for item in inner if (number := as_float(item)) is not None]


def _has_numbers(value: Any) -> bool:
    """Whether there is a number in `value`, at most two levels down."""
    if is_number(value):
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_numbers(item) for item in inner)


# ---- changed samples


def sample_changes(result: Result) -> list[Stored]:
    """Numeric results for changed samples. Kinds `weak` (drop, without, only) and `subset` need code that does it."""
    found: list[Stored] = []
    for table in result.tables:
        found += _sample_changes_of_table(result, table)
    if result.data is not None:
        for place, node in result.objects:
            for key, value in node.items():
                strength = c.sample_change(key)
                is_score = c.is_score(key) or c.is_score(place.rpartition("/")[2])
                is_cleaning = strength == "weak" and isinstance(value, int)
                if strength is not None and not is_score and not is_cleaning and _has_numbers(value):
                    found.append(
                        Stored(result, f"{place}/{key}", strength, max(len(_numbers(value)), 1), (f'"{key}"',))
                    )
    return found[:MAX_STORED]


def _sample_changes_of_table(result: Result, table: Table) -> Iterator[Stored]:
    for name in table.columns:
        values = table.column(name)
        if c.is_left_out_column(name):
            units = {v for v in values if v is not None and not isinstance(v, bool)}
            if len(units) > 1 and _has_results(table, name):
                yield Stored(result, f"column {name}", "strong", len(units), (name,))
        if c.sample_change(name) == "strong" and not c.is_score(name) and any(map(is_number, values)):
            yield Stored(result, f"column {name}", "strong", sum(map(is_number, values)), (name,))
    labels = [(i, name) for i, name in enumerate(table.columns) if not c.is_prose_column(name)]
    for row in table.rows[:MAX_LABELLED]:
        if any(map(is_number, row)):
            for index, name in labels:
                cell = row[index]
                strength = c.sample_change(cell) if isinstance(cell, str) else None
                if strength is not None and not c.is_score(str(cell)):
                    yield Stored(result, f"column {name}, {cell}", strength, 1, (str(cell),))
    yield from _subsets(result, table)


def _has_results(table: Table, *keys: str) -> bool:
    others = [n for n in table.columns if n not in keys and not c.is_count(n)]
    return any(is_number(value) for name in others for value in table.column(name))


def _subsets(result: Result, table: Table) -> Iterator[Stored]:
    """A label column with the whole sample and parts of it, which a count of cases shows to be smaller."""
    count = next((n for n in table.columns if c.is_count(n)), None)
    if count is None or not _has_results(table, count):
        return
    sizes = table.column(count)
    for name in table.columns:
        cells = table.column(name)
        whole = [n for cell, n in zip(cells, sizes, strict=True) if isinstance(cell, str) and c.is_whole(cell)]
        parts = {
            cell: n for cell, n in zip(cells, sizes, strict=True) if isinstance(cell, str) and not c.is_whole(cell)
        }
        largest = max((n for n in whole if is_number(n)), default=None)  # type: ignore[type-var]
        smaller = [cell for cell, n in parts.items() if largest is not None and is_number(n) and n < largest]  # type: ignore[operator]
        if smaller and len(smaller) == len(parts) and not is_finding_column(name):
            yield Stored(result, f"column {name}, {smaller[0]}", "subset", len(smaller), (str(smaller[0]),))


# ---- changed methods


def method_changes(result: Result, variables: Collection[str]) -> list[Stored]:
    """Numeric results of one quantity for two or more methods or settings, with the labels of these."""
    found: list[Stored] = []
    for table in result.tables:
        cells = _cells(table)
        numeric = [name for name, values in cells.items() if any(map(is_number, values))]
        measured = [name for name in numeric if not c.is_count(name) and not c.is_setting_column(name)]
        for name in table.columns if measured else ():
            if name not in variables and not is_finding_column(name) and not c.is_prose_column(name):
                found += _settings_in_column(result, cells, name, [other for other in measured if other != name])
        found += _rows_of_methods(result, table)
    if result.data is not None:
        for place, node in result.objects:
            found += _methods_of_object(result, place, node)
            if len(found) >= MAX_STORED:
                break
    return found[:MAX_STORED]


def _settings_in_column(
    result: Result, cells: dict[str, tuple[Cell, ...]], name: str, measured: Sequence[str]
) -> Iterator[Stored]:
    values = cells[name]
    by_words = {v: w for v in set(values) if isinstance(v, str) and (w := c.method_words(v))}
    if c.is_setting_column(name):
        chosen = {v for v in values if v is not None}
        if len(chosen) > (MAX_SETTINGS if all(map(is_number, chosen)) else MAX_LABELLED):
            return
    elif len(set(by_words.values())) > 1:
        chosen = set(by_words)
    else:
        return
    for column in measured:
        with_result = {v for v, r in zip(values, cells[column], strict=True) if v in chosen and is_number(r)}
        if len(with_result) > 1:
            written = (as_float(v) if is_number(v) else str(v) for v in values if v in with_result)
            labels = tuple(label for label in written if label is not None)
            unique = tuple(dict.fromkeys(labels))[:MAX_LABELS]
            yield Stored(result, f"column {name}", "methods", len(unique), (name,), unique)
            return


def _rows_of_methods(result: Result, table: Table) -> Iterator[Stored]:
    """Rows of kind `method`, beside others: their own labels say which."""
    rows: list[tuple[str, ...]] = []
    elsewhere: set[str] = set()
    for row in table.rows[:MAX_LABELLED]:
        texts = tuple(cell for cell in row if isinstance(cell, str))
        if any(cell.strip().lower() in _KINDS_OF_METHOD for cell in texts) and any(map(is_number, row)):
            rows.append(
                tuple(cell for cell in texts if len(cell) <= c.MAX_LABEL and cell.lower() not in _KINDS_OF_METHOD)
            )
        else:
            elsewhere |= set(texts)
    if len(set(rows)) > 1:
        labels = dict.fromkeys(cell for row in rows for cell in row)
        own = tuple(cell for cell in labels if cell not in elsewhere)
        chosen = (own if len(own) > 1 else tuple(labels))[:MAX_LABELS]
        yield Stored(result, f"rows such as {chosen[0]}", "methods", len(set(rows)), chosen[:1], chosen)


def _methods_of_object(result: Result, place: str, node: dict[str, Any]) -> Iterator[Stored]:
    """Keys that differ in the method only: `ols` and `huber`, `se_naive` and `se_hac`, `window_3` and `window_5`."""
    stored = {key: value for key, value in node.items() if _has_numbers(value)}
    parent = c.words(place.rpartition("/")[2])
    alike: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
    if not _LISTS_OF_METHODS.isdisjoint(parent) or (
        parent[:1] in (("by",), ("per",)) and c.is_setting_column(parent[-1])
    ):
        alike["listed",] = list(stored)
    for key, value in stored.items():
        match = _NUMBERED.fullmatch(key)
        if match and c.is_setting_column(match[1]):
            alike["numbered", match[1]].append(key)
        elif c.method_words(key):
            alike[(is_number(value), *c.without_method(key))].append(key)
    for shape, keys in alike.items():
        named = {c.method_words(key) for key in keys}
        plain = shape[0] is True and frozenset().union(*named) <= _POLYNOMIAL and not c.is_score("_".join(parent))
        if len(keys) > 1 and not plain and (len(named) > 1 or shape[0] in ("listed", "numbered")):
            yield Stored(
                result, f"{place}: {', '.join(keys[:6])}", "methods", len(keys), (f'"{keys[0]}"',), tuple(keys)
            )
