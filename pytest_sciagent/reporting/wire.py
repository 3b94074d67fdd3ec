"""Plain, bounded data for the way between workers and controller. Nothing a verdict holds can end the session."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..text import shorten

PROPERTY = "sciagent"
MAX_TEXT = 2000
MAX_ITEMS = 200
MAX_DEPTH = 12
_MAX_INT = 2**63 - 1


def to_wire(value: Any, depth: int = 0) -> Any:
    """`value` as exact builtin types that execnet and JSON both carry: None, bool, int, float, str, list, dict.

    NaN and infinities become text, lone surrogates are replaced, text and collections are cut, anything else is shown
    by its `str`.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= _MAX_INT else str(int(value))[:MAX_TEXT]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(float(value))
    if isinstance(value, str):
        return shorten(str(value).encode("utf-8", "replace").decode("utf-8"), MAX_TEXT)
    if depth >= MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        pairs = list(value.items())[:MAX_ITEMS]
        return {to_wire(_text(k), depth + 1): to_wire(v, depth + 1) for k, v in pairs}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value)
        return [to_wire(v, depth + 1) for v in items[:MAX_ITEMS]]
    if isinstance(value, Fraction):
        return to_wire(float(value))
    return to_wire(_text(value), depth)


def _text(value: Any) -> str:
    try:
        return str(getattr(value, "value", value))
    except Exception as error:
        return f"<{type(value).__name__} without text: {type(error).__name__}>"
