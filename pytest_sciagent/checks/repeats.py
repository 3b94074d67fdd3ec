"""Results of separate seeds or pipeline runs, as results store them: by a column, by keys, or by a file for each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from ..evidence.readers import Table
from . import columns as c
from .scope import Result, Stored
from .values import as_float, is_number

_RUN_KEY = re.compile(r"(?:.*[_ -])?(seed|run)[_= -]?(\d{1,12})", re.IGNORECASE)
_RUN_PATH = re.compile(r"(?<![A-Za-z])(seed|run)[_=-]?(\d{1,12})(?=[/_.-]|$)", re.IGNORECASE)
_Signature = tuple[tuple[str, float], ...]
"""The numbers of one run by their places. What else differs between runs, such as a path, is no result."""


class RunResults:
    """Results by seed or run, in groups that store the same quantities."""

    def __init__(self, variables: Collection[str]) -> None:
        self._variables = variables
        self.groups: dict[tuple[str, object], dict[str, tuple[_Signature, Stored]]] = defaultdict(dict)

    def add(self, result: Result) -> None:
        """Take in the results of separate seeds or runs that `result` stores."""
        for table in result.tables:
            self._add_table(result, table)
        if result.data is not None:
            for place, node in result.objects[:5_000]:
                self._add_object(result, place, node)
        match = _RUN_PATH.search(result.path.removeprefix("output/"))
        if match and not c.is_draw(result.path):
            pattern = _RUN_PATH.sub(r"\1*", result.path)
            self._note(
                "seed" if match[1].lower() == "seed" else "run",
                pattern,
                match[2],
                _content(result),
                result,
                result.path,
            )

    def distinct(self) -> dict[str, Stored]:
        """The runs of the largest group, by their ids, without those that only repeat another one's numbers."""
        best: dict[str, Stored] = {}
        for ids in self.groups.values():
            counted = _counted(ids)
            seen: dict[_Signature, str] = {}
            for run, (signature, _) in ids.items():
                kept = tuple((place, number) for place, number in signature if place not in counted)
                if kept:
                    seen.setdefault(kept, run)
            if len(seen) > len(best):
                best = {run: ids[run][1] for run in seen.values()}
        return best

    def _note(
        self, kind: str, shape: object, run: str, signature: _Signature, result: Result, where: str, *needles: str
    ) -> None:
        if signature:
            self.groups[kind, shape].setdefault(run, (signature, Stored(result, where, kind, 1, needles)))

    def _add_table(self, result: Result, table: Table) -> None:
        name = next((n for n in table.columns if c.is_run_id(n) and n not in self._variables), None)
        if name is None or any(c.is_draw(n) and len(c.words(n)) == 1 for n in table.columns):
            return
        at = table.columns.index(name)
        shape = tuple(n for n in table.columns if n != name)
        rows: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
        lengths: defaultdict[str, int] = defaultdict(int)
        places = [(i, n) for i, n in _result_columns(table) if i != at]
        for row in table.rows:
            if row[at] is not None:
                run = str(row[at])
                numbers = ((f"{lengths[run]}/{n}", as_float(row[i])) for i, n in places)
                rows[run] += [(place, number) for place, number in numbers if number is not None]
                lengths[run] += 1
        for run, numbers_of_run in rows.items():
            self._note(_run_kind(name), shape, run, tuple(numbers_of_run), result, f"column {name}", name)

    def _add_object(self, result: Result, place: str, node: dict[str, Any]) -> None:
        if c.is_draw(place):
            return
        for key, value in node.items():
            if not c.is_run_id(key) or key in self._variables:
                by_run = isinstance(value, dict) and not {"seed", "seeds", "run", "runs"}.isdisjoint(c.words(key))
                if by_run and all(re.fullmatch(r"(?:seed|run)?[_ -]?\d{1,12}", k, re.IGNORECASE) for k in value):
                    self._add_keyed(result, f"{place}/{key}", value)
                continue
            if isinstance(value, list):
                columns = {
                    k: v
                    for k, v in node.items()
                    if k != key and isinstance(v, list) and len(v) == len(value) and not c.is_bookkeeping(k)
                }
                for index, run in enumerate(value):
                    cells = tuple(pair for k, v in columns.items() for pair in _signature(v[index], k))
                    where = f"{place}/{key}"
                    self._note(_run_kind(key), tuple(columns), str(run), cells, result, where, f'"{key}"')
            elif isinstance(value, dict):
                self._add_keyed(result, f"{place}/{key}", value)
            elif value is not None:
                others = {k: v for k, v in node.items() if k != key}
                signature = _signature(others)
                shape = tuple(step for step, _ in signature)
                self._note(_run_kind(key), shape, str(value), signature, result, f"{place}/{key}", f'"{key}"')
        keyed = {k: v for k, v in node.items() if _RUN_KEY.fullmatch(k) and not c.is_draw(k)}
        if len(keyed) > 1:
            self._add_keyed(result, place, keyed)

    def _add_keyed(self, result: Result, place: str, node: dict[str, Any]) -> None:
        for key, value in node.items():
            signature = _signature(value)
            self._note("seed", (place, tuple(p for p, _ in signature)), key, signature, result, place, f'"{key}"')


def _run_kind(name: str) -> str:
    return "seed" if {"seed", "seeds"} & set(c.words(name)) else "run"


def _signature(value: Any, place: str = "", depth: int = 0) -> _Signature:
    """The numbers in `value` by their places, without times and indices."""
    number = as_float(value)
    if number is not None:
        return ((place, number),)
    if depth > 6:
        return ()
    steps: Any = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        steps = ((key, inner) for key, inner in value.items() if not c.is_bookkeeping(key))
    return tuple(pair for step, inner in steps for pair in _signature(inner, f"{place}/{step}", depth + 1))[:500]


def _content(result: Result) -> _Signature:
    if result.data is not None:
        return _signature(result.data)
    return tuple(
        (f"{table.name}/{at}/{name}", number)
        for table in result.tables
        for index, name in _result_columns(table)
        for at, row in enumerate(table.rows)
        if (number := as_float(row[index])) is not None
    )


def _result_columns(table: Table) -> list[tuple[int, str]]:
    """The columns that may hold results, with their positions: no times, no indices, no numbers of the rows."""
    named = [name for name in table.columns if not c.is_bookkeeping(name)]
    return [
        (index, name)
        for index, name in enumerate(table.columns)
        if (name in named or not named) and not _counts_up([row[index] for row in table.rows])
    ]


def _counts_up(values: Sequence[object]) -> bool:
    """Whether values only number the rows: 0, 1, 2 ... or 1, 2, 3 ..."""
    if len(values) < 2 or not is_number(values[0]) or values[0] not in (0, 1):
        return False
    return all(is_number(value) and value == at for at, value in enumerate(values, int(values[0])))


def _counted(runs: dict[str, tuple[_Signature, Stored]]) -> set[str]:
    """The places whose numbers only number the runs, or repeat the numbers in their ids."""
    by_place: defaultdict[str, list[float]] = defaultdict(list)
    for signature, _ in runs.values():
        for place, number in signature:
            by_place[place].append(number)
    ids = [float(found[0]) if (found := re.findall(r"\d{1,12}", run)) else None for run in runs]
    return {place for place, n in by_place.items() if len(n) > 1 and (_counts_up(n) or n == ids)}
