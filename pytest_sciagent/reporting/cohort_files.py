"""Cohort tables on disk, CSV and Parquet, and several of them put together: only where all runs were scored alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SciagentError
from ..extras import need
from ..ledger.store import write_atomically
from ..text import one_line
from .cohort import SCORED_BY, Row, as_rows, as_table, column_types

if TYPE_CHECKING:
    import pandas as pd

    from ..models import Rubric

SUFFIXES = (".csv", ".parquet")
STATES = ("sound", "undelivered", "tampered", "missing")


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV: UTF-8, numbers with all their digits, empty where there is nothing.

    Raises:
        SciagentError: the place can't be written to.
    """
    write_atomically(path, table.to_csv(index=False, lineterminator="\n"))


def write_parquet(path: Path, table: pd.DataFrame) -> None:
    """Write a table as Parquet; raises as `write_csv`."""
    need("science", "a table in Parquet", "pyarrow")
    buffer = BytesIO()
    table.to_parquet(buffer, index=False)
    write_atomically(path, buffer.getvalue())


def read_table(path: Path, rubric: Rubric) -> pd.DataFrame:
    """A table that `write_csv` or `write_parquet` wrote (told apart by the file's suffix), scored by `rubric`.

    Raises:
        SciagentError: not such a table, or its runs were scored in another way; the difference is named.
    """
    table = _read(path)
    if missing := [name for name in (*SCORED_BY, "system", "task", "state") if name not in table.columns]:
        raise SciagentError(f"is not a cohort table: it has no column {missing[0]!r}", path=path)
    rows = as_rows(table)
    expected = {"rubric": f"{rubric.id} {rubric.version}", "rubric_digest": rubric.digest, "profile": rubric.profile}
    for row in rows:
        if difference := _difference(row, {**expected, "judge": row["judge"]}):
            raise SciagentError(
                f"these runs were scored in another way: {difference} asked for; "
                "name the rubric and profile of the table, or compare the frozen runs themselves",
                path=path,
            )
    types = column_types(rubric)
    for name in types:
        if name not in table.columns:
            raise SciagentError(f"is not a cohort table of this version: it has no column {name!r}", path=path)
    try:
        table = table[list(types)].astype(types)
    except (TypeError, ValueError) as error:
        raise SciagentError(f"a cell can't be read: {one_line(str(error), 200)}", path=path) from None
    for number, row in enumerate(as_rows(table), start=1):
        if problem := _row_problem(row):
            raise SciagentError(f"row {number}: {problem}", path=path)
    return table


def combine(parts: Sequence[tuple[str, pd.DataFrame]], rubric: Rubric) -> pd.DataFrame:
    """Several tables as one; each comes with a name for messages.

    Raises:
        SciagentError: two were not scored alike (the difference is named), or they hold one run twice.
    """
    rows: list[Row] = []
    first: tuple[str, Row] | None = None
    for name, table in parts:
        for row in as_rows(table):
            first = first or (name, row)
            if difference := _difference(row, first[1]):
                raise SciagentError(
                    f"runs that were scored in different ways are not compared: {name} has {difference} in {first[0]}"
                )
            rows.append(row)
    return as_table(rows, rubric)


def _difference(row: Row, other: Row) -> str | None:
    """The first of profile, rubric, its digest and judge that differs: `profile weighted, but truthinsight`."""
    for name in ("profile", "rubric", "rubric_digest", "judge"):
        mine, yours = (one_line(str("none" if r[name] is None else r[name]), 80) for r in (row, other))
        if mine != yours:
            return f"{name.replace('_', ' ')} {mine}, but {yours} is"
    return None


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    if path.suffix != ".csv":
        need("science", "a table in Parquet", "pyarrow")
    try:
        if path.suffix == ".csv":
            return pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""], encoding="utf-8")
        return pd.read_parquet(path)
    except OSError as error:
        raise SciagentError(f"can't be read: {error.strerror or one_line(str(error), 200)}", path=path) from None
    except (ValueError, TypeError, NotImplementedError) as error:  # of the parsers, and of text that is not UTF-8
        raise SciagentError(f"can't be read: {one_line(str(error), 200)}", path=path) from None


def _row_problem(row: Row) -> str | None:
    if row["state"] not in STATES or row["task"] is None or row["repeat"] is None or row["repeat"] < 1:
        return "it needs a task, a repeat from 1 on, and a state of " + ", ".join(STATES)
    if (row["score_low"] is None) != (row["state"] in {"tampered", "missing"}):
        return f"a run of state {row['state']} {'needs a' if row['score_low'] is None else 'has no'} score"
    if row["system"] is None and row["state"] != "tampered":
        return "it has no system"
    for name in row:
        stem, _, end = name.rpartition("_")
        if end != "low" or stem in {"qualities", "distinct"}:
            continue
        low, high, most = row[name], row[f"{stem}_high"], 1 if "." in stem else 100
        if (low is None) != (high is None):
            return f"{stem} has one end only"
        # What a dimension adds to the main body may fall while the score rises: another finding is then the best.
        if low is not None and not (0 <= low <= most and 0 <= high <= most and (low <= high or stem[:5] == "body.")):
            return f"{stem} from {low} to {high} is no interval within 0..{most}"
    if row["score_low"] is not None and not all(_is_qualities(row[f"qualities_{end}"]) for end in ("low", "high")):
        return "the qualities are no JSON list of points"
    return None


def _is_qualities(text: str | None) -> bool:
    try:
        values = json.loads(text or "")
    except ValueError:
        return False
    return isinstance(values, list) and all(isinstance(v, int | float) and 0 <= v <= 100 for v in values)
