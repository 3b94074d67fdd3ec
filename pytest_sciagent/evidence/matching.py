"""Numbers of a report found again among the stored values of its artifacts, at the precision they are reported with."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .json_data import json_values
from .numbers import Asserted
from .tables import Table
from .units import factor, unit_of_column

MAX_PLACES = 20
_SLACK = 1e-9
_FLOAT_ERROR = 1e-12
_PERCENT_NAMES = ("percent", "pct", "%")

How = Literal["same", "percent", "converted"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stored value rounds to the reported one.

    Attributes:
        file: the artifact's path.
        place: the cell or JSON pointer in it.
        stored: the value there.
        how: as it stands, as percent of a fraction (or the other way), or converted to another unit.
    """

    file: str
    place: str
    stored: float
    how: How = "same"


@dataclass(frozen=True, slots=True)
class Match:
    """A reported number and the places, nearest first and shared among files, that hold it; none: it is not found.

    `weak`: of one or two significant digits; most of these are found among the values of any study.
    """

    number: Asserted
    places: tuple[Place, ...]
    weak: bool


class _Stored(NamedTuple):
    """A stored value; its place is only written out when it matches. `at` is a row of `table`, or a JSON pointer."""

    value: float
    column: str
    table: Table | None
    at: int | str

    def place(self) -> str:
        return str(self.at) if self.table is None else self.table.locator(int(self.at), self.column)


class _Index:
    """The stored values of one file in one unit, sorted."""

    def __init__(self, file: str, unit: str | None, values: list[_Stored]) -> None:
        self.file = file
        self.unit = unit
        self._stored = sorted(values, key=lambda stored: stored.value)
        self._values = [stored.value for stored in self._stored]

    def within(self, value: float, half_width: float) -> list[_Stored]:
        """The values nearest to `value` that are within `half_width` of it."""
        reach = half_width * (1 + _SLACK) + abs(value) * _FLOAT_ERROR
        low, high = bisect_left(self._values, value - reach), bisect_right(self._values, value + reach)
        middle = bisect_left(self._values, value, low, high)
        near = self._stored[max(low, middle - MAX_PLACES) : min(high, middle + MAX_PLACES)]
        return sorted(near, key=lambda stored: abs(stored.value - value))[:MAX_PLACES]


def match_numbers(
    numbers: Sequence[Asserted],
    tables: Mapping[str, Sequence[Table]],
    json_docs: Mapping[str, Any],
    units: Mapping[str, str] | None = None,
) -> list[Match]:
    """Find each of `numbers` among stored values that round to it; signs always count.

    A percentage also matches the fraction it stands for, and a number a stored percentage if the column says so. A
    number with a unit also matches values in another unit, where a column's name (`mass_g`, `lag (ms)`) or `units`
    gives one.

    Args:
        tables: artifact path -> its tables.
        json_docs: artifact path -> its parsed document.
        units: column name or JSON key -> unit, ahead of what the name itself says.
    """
    indexes = list(_indexes(tables, json_docs, units or {}))
    return [Match(number, _places(number, indexes), number.weak) for number in numbers]


def _indexes(
    tables: Mapping[str, Sequence[Table]], json_docs: Mapping[str, Any], units: Mapping[str, str]
) -> Iterator[_Index]:
    for file in dict.fromkeys((*tables, *json_docs)):
        groups: dict[str | None, list[_Stored]] = {}
        for stored in _stored(tables.get(file, ()), file in json_docs, json_docs.get(file)):
            unit = units.get(stored.column) or unit_of_column(stored.column)
            groups.setdefault(unit, []).append(stored)
        for unit, values in groups.items():
            yield _Index(file, unit, values)


def _stored(tables: Sequence[Table], is_json: bool, document: Any) -> Iterator[_Stored]:
    for table in tables:
        if is_json and table.layout != "grid":
            continue  # the same values as in the document
        for position, column in enumerate(table.columns):
            for row, cells in enumerate(table.rows, 1):
                value = _number(cells[position])
                if value is not None:
                    yield _Stored(value, column, table, row)
    for pointer, cell in json_values(document) if is_json else ():
        value = _number(cell)
        if value is not None:
            yield _Stored(value, _key(pointer), None, pointer)


def _key(pointer: str) -> str:
    """The innermost key of a pointer that is a name, not a position in a list."""
    steps = [step for step in pointer.split("/") if step and not step.isdigit()]
    return steps[-1].replace("~1", "/").replace("~0", "~") if steps else ""


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    try:
        value = float(cell)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def _places(number: Asserted, indexes: Iterable[_Index]) -> tuple[Place, ...]:
    found: dict[tuple[str, str], tuple[int, float, Place]] = {}
    for index in indexes:
        for how, scale in _scales(number, index.unit):
            for rank, stored in enumerate(index.within(number.value * scale, number.half_width * scale)):
                if how == "percent" and not number.percent and not _says_percent(stored.column):
                    continue
                place = Place(index.file, stored.place(), stored.value, how)
                distance = abs(stored.value / scale - number.value)
                found.setdefault((place.file, place.place), (rank, distance, place))
    return tuple(place for _, _, place in sorted(found.values(), key=lambda item: item[:2])[:MAX_PLACES])


def _scales(number: Asserted, unit: str | None) -> Iterator[tuple[How, float]]:
    """What a number is multiplied by to be compared with values stored in `unit`."""
    yield "same", 1.0
    if number.percent:
        yield "percent", 0.01
    elif number.unit is None:
        yield "percent", 100.0
    elif unit is not None and unit != number.unit:
        converted = factor(number.unit, unit)
        if converted is not None and not math.isclose(converted, 1):
            yield "converted", converted


def _says_percent(column: str) -> bool:
    return any(name in column.lower() for name in _PERCENT_NAMES)
