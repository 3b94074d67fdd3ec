"""A comparison as JSON (schema sciagent-comparison/1): the cohort's rows and every statistic, at all ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from .cohort import SCORED_BY, Row, as_rows
from .comparison_orders import show_order
from .comparison_results import Comparison, PairSummary

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "sciagent-comparison/1"


def comparison_as_json(table: pd.DataFrame, comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain data. Orders are lists of places, each a list of names."""
    rows = as_rows(table)
    return {
        "schema": SCHEMA,
        "plugin_version": version("pytest-sciagent"),
        **{name: rows[0][name] for name in SCORED_BY},
        **_plain(comparison),
        "runs": [_run(row) for row in rows],
    }


def _run(row: Row) -> dict[str, Any]:
    told = {name: value for name, value in row.items() if name not in SCORED_BY}
    lists = {name: json.loads(told[name]) for name in ("qualities_low", "qualities_high") if told[name] is not None}
    return told | lists


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return float(value)
    if is_dataclass(value) and not isinstance(value, type):
        found = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return (
            found | {"winner": value.winner, "equivalent": value.equivalent}
            if isinstance(value, PairSummary)
            else found
        )
    if isinstance(value, Mapping):
        return {_key(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value


def _key(key: Any) -> str:
    """A pair of systems, or a whole order, as one key: `a > b = c`."""
    if not isinstance(key, tuple):
        return str(key)
    return show_order(tuple(place if isinstance(place, tuple) else (place,) for place in key))
