"""Values of results: shown in bounded lists, walked through, told from what is no number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pydantic import JsonValue

from ..text import clean
from .syntax import MAX_QUOTE

MAX_LISTED = 12
MAX_KEYS = 100_000
"""Of one JSON document: what each key may mean is asked in many ways."""

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
    """Every object in `data` with the keys that lead to it, outermost first; at most `limit` objects, and `MAX_KEYS` of
    their keys, of each object the first."""
    waiting: list[tuple[str, Any]] = [("", data)] if isinstance(data, _BRANCHES) else []
    count, keys = 0, MAX_KEYS
    while waiting:
        inner: list[tuple[str, Any]] = []
        for place, node in waiting:
            if count == limit or not keys:
                return
            if isinstance(node, dict):
                node = node if len(node) <= keys else dict(islice(node.items(), keys))
                count, keys = count + 1, keys - len(node)
                yield place, node
                inner += [(f"{place}/{key}", value) for key, value in node.items() if isinstance(value, _BRANCHES)]
            else:
                inner += [(place, value) for value in node if isinstance(value, _BRANCHES)]
        waiting = inner


def is_number(value: object) -> bool:
    """Whether a cell is a number: not a truth value, not missing."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_float(value: object) -> float | None:
    """A number as a float; None for anything else, and for an integer that is too large for one."""
    try:
        return float(value) if is_number(value) else None  # type: ignore[arg-type]
    except OverflowError:
        return None
