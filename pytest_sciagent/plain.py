"""Any value as plain, bounded data: what JSON, the way between processes and canonical digests all carry."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import islice
from typing import Any

from .text import shorten

MAX_TEXT = 2000
MAX_ITEMS = 200
MAX_DEPTH = 12
MAX_NODES = 5000
MAX_INT = 2**53 - 1
"""The largest integer that every reader of JSON takes as it is."""


def to_plain(value: Any) -> Any:
    """`value` as exact builtin types: None, bool, int, float, str, list and dict with text keys.

    Containers stay containers: what is too long, too wide or nested too deeply is left out inside them. NaN, infinities
    and large integers become text, lone surrogates question marks; anything else is shown by its `str`.
    """
    return _Plain().of(value, 0)


class _Plain:
    """One conversion: counts what it makes, so that a value that holds itself many times ends, too."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def of(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if value is None or value is True or value is False:
            return value
        if type(value) is str and len(value) <= MAX_TEXT and value.isascii():  # most of what there is
            return value
        try:
            if isinstance(value, Enum):
                return self.of(value.value, depth)
            if isinstance(value, str):
                return _text(value)
            if isinstance(value, numbers.Integral):
                return _integer(int(value))
            if isinstance(value, numbers.Real):
                return _real(float(value))
            if isinstance(value, Mapping):
                return self._mapping(value, depth) if depth < MAX_DEPTH else {}
            if isinstance(value, set | frozenset):
                value = sorted(value, key=repr)
            if isinstance(value, list | tuple):
                return self._list(value, depth) if depth < MAX_DEPTH else []
            return _text(str(value))
        except Exception as error:  # a value may do anything when it is looked at; its name is told then
            return f"<{type(value).__name__}: {type(error).__name__}>"

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        pairs = islice(value.items(), MAX_ITEMS)
        return {str(self.of(k, depth + 1)): self.of(v, depth + 1) for k, v in self._while_left(pairs)}

    def _list(self, value: Iterable[Any], depth: int) -> list[Any]:
        return [self.of(v, depth + 1) for v in self._while_left(islice(value, MAX_ITEMS))]

    def _while_left(self, items: Iterable[Any]) -> Iterable[Any]:
        for item in items:
            if self._left <= 0:
                return
            yield item


def _text(value: str) -> str:
    # str.__str__: the text itself, also where a subclass shows something else.
    return shorten(str.__str__(value).encode("utf-8", "replace").decode("utf-8"), MAX_TEXT)


def _integer(value: int) -> int | str:
    if abs(value) <= MAX_INT:
        return value
    # Beyond this many digits, Python refuses to write an integer in decimals.
    return str(value) if value.bit_length() < 14_000 else f"an integer of {value.bit_length()} bits"


def _real(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)
