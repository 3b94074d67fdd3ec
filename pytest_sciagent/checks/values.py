"""Values of results: shown in bounded lists, walked through, told from what is no number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pydantic import JsonValue

from ..text import clean
from .syntax import MAX_QUOTE

MAX_LISTED = 12
MAX_KEYS, MAX_NAMES = 200_000, 20_000
"""Of one JSON document, and how many different ones: what each may mean is asked in many ways."""

_BRANCHES = (dict, list)


def listed(items: Iterable[str]) -> list[JsonValue]:
    """The first items, bounded in number and length, for a receipt."""
    shown: list[JsonValue] = []
    for count, item in enumerate(items):
        if count == MAX_LISTED:
            shown.append("and more")
            break
        shown.append(clean(item, MAX_QUOTE))
    return shown


def json_objects(data: Any, limit: int = 50_000) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in `data` with the keys that lead to it, outermost first: at most `limit` objects, with
    `MAX_KEYS` keys in all, of `MAX_NAMES` names."""
    waiting: list[tuple[str, Any]] = [("", data)] if isinstance(data, _BRANCHES) else []
    count, keys = 0, MAX_KEYS
    names: set[str] = set()
    while waiting:
        inner: list[tuple[str, Any]] = []
        for place, node in waiting:
            if count == limit or not keys:
                return
            if isinstance(node, dict):
                node = _first_keys(node, keys, names)
                count, keys = count + 1, keys - len(node)
                yield place, node
                inner += [(f"{place}/{key}", value) for key, value in node.items() if isinstance(value, _BRANCHES)]
            else:
                inner += [(place, value) for value in node if isinstance(value, _BRANCHES)]
        waiting = inner


def _first_keys(node: dict[str, Any], keys: int, names: set[str]) -> dict[str, Any]:
    """`node` with its first `keys` keys, without those that are one name too many; their names go to `names`."""
    first = list(islice(node, keys))
    names.update(islice((key for key in first if key not in names), MAX_NAMES - len(names)))
    return node if len(first) == len(node) and names.issuperset(first) else {k: node[k] for k in first if k in names}


def is_number(value: object) -> bool:
    """Whether a cell is a number: not a truth value, not missing."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_float(value: object) -> float | None:
    """A number as a float; None for anything else, and for an integer that is too large for one."""
    try:
        return float(value) if is_number(value) else None  # type: ignore[arg-type]
    except OverflowError:
        return None
