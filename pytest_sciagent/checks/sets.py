"""The set that forms a claim and the set that checks it, as results store them, and what the two share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import PurePosixPath
from typing import Any

from ..evidence.readers import Cell, Table
from . import columns as c
from . import keys as k
from .scope import Result, Stored
from .values import as_float, is_number

_RANGE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(\d+(?:\.\d+)?)\s*")
_MAX_WORDS = 3
_MAX_LABELS = 1_000
_MAX_RANGES = 100


@dataclass(frozen=True)
class Overlap:
    """How many members two sets share, and how it is known: from `ids`, `ranges` or `flags`, or merely `stored`."""

    shared: float
    how: str
    stored: Stored
    members: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Sets:
    """Where results identify both sets (`left_out`: by the name of a left-out unit), and what is known of overlaps."""

    both: tuple[Stored, ...]
    left_out: tuple[Stored, ...]
    overlaps: tuple[Overlap, ...]


def find_sets(results: Sequence[Result]) -> Sets:
    """The two sets in `results`, of each alone and of pairs of tables."""
    both: list[Stored] = []
    left_out: list[Stored] = []
    overlaps: list[Overlap] = []
    for result in results:
        for table in result.tables:
            for item in (*_in_labels(result, table), *_in_flags(result, table), *_in_names(result, table)):
                (overlaps if isinstance(item, Overlap) else both).append(item)  # type: ignore[arg-type]
            left_out += _in_units(result, table)
        if result.data is not None:
            for item in _in_document(result):
                (overlaps if isinstance(item, Overlap) else both).append(item)  # type: ignore[arg-type]
    for item in _in_pairs(results):
        (overlaps if isinstance(item, Overlap) else both).append(item)  # type: ignore[arg-type]
    return Sets(tuple(both), tuple(left_out), tuple(overlaps))


def _role(cell: Cell) -> str | None:
    return k.set_role(cell) if isinstance(cell, str) and len(c.words(cell)) <= _MAX_WORDS else None


def _in_labels(result: Result, table: Table) -> Iterator[Stored | Overlap]:
    """A column of labels such as `train` and `test`, with the ids of the rows beside it."""
    for name in table.columns:
        values = table.column(name)
        role_of = {cell: _role(cell) for cell in set(values)} if len(set(values)) <= _MAX_LABELS else {}
        if {"form", "check"} <= set(role_of.values()) and not c.is_prose_column(name):
            stored = Stored(result, f"column {name}", "labels", len(table.rows), (name,))
            yield stored
            if k.is_split_column(name):
                yield from _shared_rows(stored, table, [role_of[cell] for cell in values])


def _shared_rows(stored: Stored, table: Table, roles: Sequence[str | None]) -> Iterator[Overlap]:
    for name in table.columns:
        certain = k.member_id(name)
        values = table.column(name)
        form = [v for v, role in zip(values, roles, strict=True) if role == "form" and v is not None]
        check = [v for v, role in zip(values, roles, strict=True) if role == "check" and v is not None]
        if certain is None or not form or not check or len(set(form)) < len(form) or len(set(check)) < len(check):
            continue
        shared = len(set(form) & set(check))
        if certain == "strict" or not shared:
            yield Overlap(shared, f"ids in column {name}", stored, (len(form), len(check)))


def _in_flags(result: Result, table: Table) -> Iterator[Stored | Overlap]:
    """A column of truth values such as `held_out`: each row belongs to one of the two sets."""
    for name in table.columns:
        values = table.column(name)
        if (
            k.set_role(name) is not None
            and values
            and all(isinstance(v, bool) for v in values)
            and len(set(values)) == 2
        ):
            stored = Stored(result, f"column {name}", "flags", len(values), (name,))
            yield stored
            keys = [n for n in table.columns if k.member_id(n) is not None]
            if any(len(set(table.column(key))) == len(values) for key in keys):
                held = sum(map(bool, values))
                yield Overlap(0, "flags, one a member", stored, (len(values) - held, held))


def _in_names(result: Result, table: Table) -> Iterator[Stored]:
    """Columns of both sets side by side: `n_train`, `n_test`."""
    roles = {k.set_role(name): name for name in table.columns if not c.is_prose_column(name)}
    if "form" in roles and "check" in roles and table.rows and table.layout == "grid":
        where = f"columns {roles['form']} and {roles['check']}"
        yield Stored(result, where, "columns", len(table.rows), (roles["form"],))


def _in_units(result: Result, table: Table) -> Iterator[Stored]:
    for name in table.columns:
        units = {v for v in table.column(name) if v is not None and not isinstance(v, bool)}
        if len(units) > 1 and c.is_left_out_column(name) and k.set_role(name) == "check":
            yield Stored(result, f"column {name}", "left-out units", len(units), (name,))


def _in_document(result: Result) -> Iterator[Stored | Overlap]:
    """Keys of both sets in a JSON document, the ids or ranges below those of one object, and stored overlaps."""
    keys: dict[str, str] = {}
    computed: list[tuple[float, str, tuple[int, int]]] = []
    shared: list[tuple[str, float]] = []
    for place, node in result.objects:
        if k.holds_members(place.rpartition("/")[2]):
            computed += _shared_by_siblings(node)
        for key, value in node.items():
            role = k.set_role(key)
            if role is not None and k.time_role(key) is None:
                keys.setdefault(role, key)
            amount = _overlap_amount(key, value) if k.is_overlap(key) else None
            if amount is not None:
                shared.append((f"{place}/{key}", amount))
    if "form" not in keys or "check" not in keys:
        return
    stored = Stored(result, f"keys {keys['form']} and {keys['check']}", "keys", 2, (f'"{keys["check"]}"',))
    yield stored
    for amount, how, sizes in computed:
        yield Overlap(amount, how, stored, sizes)
    for where, amount in shared:
        yield Overlap(amount, "stored", Stored(result, where, "overlap", 1, (f'"{where.rpartition("/")[2]}"',)))


def _shared_by_siblings(node: dict[str, Any]) -> Iterator[tuple[float, str, tuple[int, int]]]:
    """What two sets under the keys of one object, such as one fold, share: the amount, how it is known, the sizes."""
    members: dict[str, set[Any]] = {"form": set(), "check": set()}
    ranges: dict[str, list[tuple[float, float]]] = {"form": [], "check": []}
    only_ranges = True
    for key, value in node.items():
        role = k.names_set(key)
        if role is not None:
            limits, ids = _range(value), set(_ids(key, value))
            ranges[role] += [limits] if limits is not None and len(ranges[role]) < _MAX_RANGES else []
            members[role] |= ids
            only_ranges = only_ranges and (limits is not None or not ids)
    if ranges["form"] and ranges["check"] and only_ranges:
        if not any(_touch(a, b) for a, b in product(ranges["form"], ranges["check"])):
            yield 0, "ranges", (0, 0)
    elif members["form"] and members["check"]:
        yield len(members["form"] & members["check"]), "ids", (len(members["form"]), len(members["check"]))


def _range(value: Any) -> tuple[float, float] | None:
    """The limits that two ascending numbers, or a text such as `1700-1899`, give."""
    if isinstance(value, list) and len(value) == 2 and all(map(is_number, value)) and value[0] < value[1]:
        low, high = as_float(value[0]), as_float(value[1])
        return None if low is None or high is None else (low, high)
    match = _RANGE.fullmatch(value) if isinstance(value, str) and len(value) < 40 else None
    return (float(match[1]), float(match[2])) if match and float(match[1]) < float(match[2]) else None


def _touch(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _ids(key: str, value: Any) -> Iterator[Any]:
    """The members that a list names: directly below the key of a set, or below a key such as `ids` in it."""
    if isinstance(value, list):
        # Numbers with a fraction are results, no ids.
        yield from (
            item for item in value if isinstance(item, str) or (isinstance(item, int) and not isinstance(item, bool))
        )
    elif isinstance(value, dict):
        for inner, items in value.items():
            if isinstance(items, list) and k.member_id(inner) is not None:
                yield from _ids(key, items)


def _overlap_amount(key: str, value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value is False) if "disjoint" in c.words(key) else None
    if isinstance(value, list):
        return float(len(value))
    number = as_float(value)
    return None if number is None else abs(number)


def _in_pairs(results: Sequence[Result]) -> Iterator[Stored | Overlap]:
    """Two tables of the same columns, one for each set: `train_cycles.csv` and `heldout_cycles.csv`."""
    tables = [
        (role, result, table)
        for result in results
        if (role := k.set_role(PurePosixPath(result.path).stem)) is not None
        for table in result.tables[:1]
        if table.rows
    ]
    for (one, form_result, form), (other, check_result, check) in product(tables, tables):
        if one != "form" or other != "check" or form.columns != check.columns:
            continue
        if not _same_stem(form_result.path, check_result.path):
            continue
        stored = Stored(check_result, f"{form_result.path} and {check_result.path}", "tables", len(check.rows))
        yield stored
        for key in form.columns:
            certain = k.member_id(key)
            if certain is not None and _is_key(form, key) and _is_key(check, key):
                shared = len(set(form.column(key)) & set(check.column(key)))
                if certain == "strict" or not shared:
                    yield Overlap(shared, f"ids in column {key}", stored, (len(form.rows), len(check.rows)))


def _is_key(table: Table, name: str) -> bool:
    values = table.column(name)
    return None not in values and len(set(values)) == len(values)


def _same_stem(one: str, other: str) -> bool:
    """Whether two file names differ in the name of the set only."""

    def rest(path: str) -> list[str]:
        return [word for word in c.words(PurePosixPath(path).stem) if k.set_role(word) is None and word != "out"]

    return rest(one) == rest(other)
