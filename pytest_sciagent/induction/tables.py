"""What code finds in one table of a task's data: types, ranges, keys, order, columns that are not what they seem."""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ..extras import need
from ..models import Variable
from ..text import one_line
from .states import Column, ColumnKind, TableProfile

if TYPE_CHECKING:
    import pandas

MOST_ROWS = 200_000
MOST_COLUMNS = 200
MOST_VALUES = 12
MOST_KEY_COLUMNS = 12
_SCIENCE = {"parquet": "pyarrow", "xlsx": "openpyxl"}
"""The modules by which pandas reads tables of these suffixes."""


def read_table(path: str, data: bytes) -> pandas.DataFrame | None:
    """The table in a file, its first 200,000 rows; None where the format is none that is read here.

    Raises:
        ValueError: it has the name of a table, and is none.
        SciagentError: the package that reads it is not installed.
    """
    import pandas

    suffix = path.rsplit(".", 1)[-1].lower()
    source = io.BytesIO(data)
    if suffix in {"csv", "tsv", "tab"}:
        mark = "," if suffix == "csv" else "\t"
        return pandas.read_csv(source, sep=mark, nrows=MOST_ROWS + 1, low_memory=False)
    if suffix in {"jsonl", "ndjson"}:
        return pandas.read_json(source, lines=True, nrows=MOST_ROWS + 1)
    if suffix in _SCIENCE:
        need("science", f"reading {path}", _SCIENCE[suffix])
    if suffix == "parquet":
        return pandas.read_parquet(source).head(MOST_ROWS + 1)
    if suffix == "xlsx":
        return pandas.read_excel(source, nrows=MOST_ROWS + 1)
    return None


def profile_table(frame: pandas.DataFrame, variables: Mapping[str, Variable]) -> TableProfile:
    """The profile of a table; `variables` is what the task says about its columns."""
    cut = len(frame) > MOST_ROWS
    frame = frame.head(MOST_ROWS)
    names = list(frame.columns)[:MOST_COLUMNS]
    columns = tuple(_column(frame[name], variables.get(str(name))) for name in names)
    by_name = {column.name: column for column in columns}
    return TableProfile(
        rows=len(frame),
        columns=columns,
        keys=_keys(frame, columns),
        groups=tuple(c.name for c in columns if _is_group(c, len(frame))),
        order=next(
            (str(n) for n in names if by_name[str(n)].kind in {"date", "integer"} and _in_order(frame[n])), None
        ),
        duplicate_rows=int(frame.astype(str).duplicated().sum()),
        cut=cut,
    )


def _column(values: pandas.Series[Any], variable: Variable | None) -> Column:
    present = values.dropna()
    kind = _kind(present)
    numbers = kind in {"integer", "number"}
    texts = sorted({one_line(str(value), 40) for value in present.unique()[: MOST_VALUES + 1]})
    distinct = int(present.astype(str).nunique())
    low: float | str | None = None
    high: float | str | None = None
    if numbers and len(present):
        low, high = float(present.min()), float(present.max())
    elif kind == "date":
        low, high = str(present.astype(str).min()), str(present.astype(str).max())
    return Column(
        name=one_line(str(values.name), 120),
        kind=kind,
        unit=variable.unit if variable else None,
        meaning=variable.meaning if variable else None,
        missing=int(values.isna().sum()),
        distinct=distinct,
        low=low,
        high=high,
        values=tuple(texts) if distinct <= MOST_VALUES and not (numbers and distinct > 6) else (),
        suspicious=_suspicious(present, kind, distinct),
    )


def _kind(present: pandas.Series[Any]) -> ColumnKind:
    from pandas.api import types

    if not len(present):
        return "empty"
    if types.is_bool_dtype(present):
        return "truth"
    if types.is_numeric_dtype(present):
        finite = present.abs() < 2.0**53
        return "integer" if bool(finite.all()) and bool((present == present.round()).all()) else "number"
    texts = present.astype(str)
    return "date" if bool(texts.str.fullmatch(r"\d{4}-\d{2}(-\d{2})?([T ][0-9:.+Z-]+)?").all()) else "text"


def _suspicious(present: pandas.Series[Any], kind: str, distinct: int) -> str | None:
    if kind == "empty":
        return "empty"
    if distinct == 1:
        return "the same value in every row"
    name = str(present.name).casefold()
    if (
        kind == "integer"
        and len(present) > 2
        and bool((present.diff().dropna() == 1).all())
        and float(present.iloc[0]) in {0, 1}
    ):
        return "counts the rows"
    if name.startswith("unnamed") or name in {"index", "row", "row_id", "rownum"}:
        return "has the name of a row index"
    return None


def _keys(frame: pandas.DataFrame, columns: tuple[Column, ...]) -> tuple[str, ...]:
    """Columns that tell all rows apart; where none does, pairs of columns that do. Measured numbers are no keys."""
    usable = [c.name for c in columns if c.kind in {"integer", "text", "date"} and not c.missing]
    usable = [name for name in usable if name in frame.columns][:MOST_KEY_COLUMNS]
    if len(frame) < 2:
        return ()
    single = [name for name in usable if frame[name].is_unique]
    if single:
        return tuple(single)
    pairs = [pair for pair in combinations(usable, 2) if not frame.duplicated(list(pair)).any()]
    return tuple("+".join(pair) for pair in pairs[:3])


def _is_group(column: Column, rows: int) -> bool:
    """Whether a column sorts rows into a few groups. Whole numbers do so only where there are very few of them."""
    most = {"text": 50, "truth": 2, "integer": MOST_VALUES}.get(column.kind, 0)
    return 2 <= column.distinct <= min(most, max(2, rows // 4))


def _in_order(values: pandas.Series[Any]) -> bool:
    present = values.dropna()
    return len(present) > 2 and present.nunique() > 2 and bool(present.is_monotonic_increasing)
