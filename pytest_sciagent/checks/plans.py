"""Recompute plans, carried out over the task's data with pandas: a closed list of operations, nothing evaluated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models.plan import PAIRED, TWO_GROUPS, Filter, RecomputePlan

if TYPE_CHECKING:
    import pandas as pd

DAYS_PER_YEAR = 365.25
_WITHIN = PAIRED | TWO_GROUPS | {"sd", "quantile"}


class PlanFailed(Exception):
    """A plan that can't be carried out, with the reason."""


def run_plan(plan: RecomputePlan, data_dir: Path, files: Sequence[str]) -> tuple[float, int]:
    """The value of `plan` over one file of the task's data, and the number of rows it used.

    Blank cells are missing, never 0; a row with a blank in a column used is dropped. A column of ISO dates counts as
    decimal years. Correlation is Pearson's, sd has n - 1 in its denominator, quantiles are interpolated linearly.

    Raises:
        PlanFailed: unknown file or column, no row left, or a value that is not a finite number.
    """
    if plan.within and plan.operation not in _WITHIN:
        raise PlanFailed(f"'within' takes group means off, which leaves nothing of a {plan.operation}")
    frame = _filtered(_read(plan.file, data_dir, files), plan.filters)
    if plan.filters and not len(frame):
        raise PlanFailed("no row is left by the filters")
    if plan.operation == "count":
        return float(len(frame)), len(frame)
    if plan.operation == "proportion":
        column = _column(frame, plan.value).dropna()
        if not _equals(_column(_read(plan.file, data_dir, files), plan.value), plan.success).any():
            raise PlanFailed(f"no row of the data has the value {plan.success!r}")
        return _finite(float(_equals(column, plan.success).mean())), len(column)
    columns = [plan.x, plan.y] if plan.operation in PAIRED else [plan.value]
    numbers = {str(name): _numeric(_column(frame, name), str(name)) for name in columns}
    numbers = _centred(frame, numbers, plan.within)
    used = _frame(numbers)
    if plan.operation in TWO_GROUPS:
        groups = _column(frame, plan.group_by).loc[used.index]
        a, b = (used.loc[_equals(groups, g), str(plan.value)] for g in (plan.group_a, plan.group_b))
        if not len(a) or not len(b):
            raise PlanFailed("one of the two groups has no rows")
        value = a.mean() - b.mean() if plan.operation == "difference_of_means" else _ratio(a.mean(), b.mean())
        return _finite(float(value)), len(a) + len(b)
    if not len(used):
        raise PlanFailed("no row is left")
    return _finite(_value(plan, used)), len(used)


def _value(plan: RecomputePlan, used: pd.DataFrame) -> float:
    if plan.operation in PAIRED:
        x, y = used[str(plan.x)], used[str(plan.y)]
        if len(used) < 3 or x.std() == 0:
            raise PlanFailed("too few rows, or x does not vary")
        return float(x.corr(y)) if plan.operation == "correlation" else float(x.cov(y) / x.var())
    values = used[str(plan.value)]
    if plan.operation == "quantile":
        return float(values.quantile(plan.quantile or 0.0))
    name = {"sd": "std"}.get(plan.operation, plan.operation)
    return float(getattr(values, name)())


def _ratio(a: float, b: float) -> float:
    if b == 0:
        raise PlanFailed("the mean of group_b is 0")
    return a / b


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise PlanFailed("the result is not a finite number")
    return value


def _read(name: str, data_dir: Path, files: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    known = {path.removeprefix("data/"): path for path in files}
    wanted = name.removeprefix("data/")
    if wanted not in known:
        raise PlanFailed(f"{name!r} is not a file of the task's data")
    path = data_dir / wanted
    if path.suffix not in {".csv", ".tsv", ".txt"}:
        raise PlanFailed(f"{name!r} is not a table of text")
    with path.open("rb") as handle:
        # No value but a blank is missing: a group called NA stays a group.
        return pd.read_csv(
            handle, sep="\t" if path.suffix == ".tsv" else ",", keep_default_na=False, na_values=[""], compression=None
        )


def _column(frame: pd.DataFrame, name: str | None) -> pd.Series[Any]:
    if name is None or name not in frame.columns:
        raise PlanFailed(f"there is no column {name!r}")
    return frame[name]


def _numeric(column: pd.Series[Any], name: str) -> pd.Series[Any]:
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().sum() == column.notna().sum():
        return numbers
    dates = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True)
    if dates.notna().sum() == column.notna().sum():
        days = (dates - pd.Timestamp("2000-01-01", tz="UTC")) / pd.Timedelta(days=1)
        return 2000.0 + days / DAYS_PER_YEAR
    raise PlanFailed(f"column {name!r} holds values that are neither numbers nor ISO dates")


def _frame(numbers: dict[str, pd.Series[Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(numbers).dropna()


def _centred(
    frame: pd.DataFrame, numbers: dict[str, pd.Series[Any]], within: Sequence[str]
) -> dict[str, pd.Series[Any]]:
    """The numbers with their means in the groups of `within` taken off, over the rows that are complete."""
    if not within:
        return numbers
    keys = [_column(frame, name) for name in within]
    complete = _frame(numbers).index.intersection(frame[list(within)].dropna().index)
    keys = [key.loc[complete] for key in keys]
    return {
        name: column.loc[complete] - column.loc[complete].groupby(keys).transform("mean")
        for name, column in numbers.items()
    }


def _filtered(frame: pd.DataFrame, filters: Sequence[Filter]) -> pd.DataFrame:
    for condition in filters:
        column = _column(frame, condition.column)
        frame = frame.loc[_holds(column, condition)]
    return frame


def _holds(column: pd.Series[Any], condition: Filter) -> pd.Series[Any]:
    if condition.comparison == "not_blank":
        return column.notna()
    if condition.comparison == "in":
        values = condition.value if isinstance(condition.value, list) else [condition.value]
        found = column.isna() & False
        for value in values:
            found |= _equals(column, value)
        return found
    if condition.value is None or isinstance(condition.value, list):
        raise PlanFailed(f"the filter on {condition.column!r} needs one value")
    if condition.comparison in {"eq", "ne"}:
        equal = _equals(column, condition.value)
        return equal if condition.comparison == "eq" else ~equal & column.notna()
    left: pd.Series[Any] = column
    right: Any = condition.value
    if _is_number(right):
        left, right = _numeric(column, condition.column), float(right)
    else:
        left, right = column.astype("string"), str(right)
    compare = {"lt": left.lt, "le": left.le, "gt": left.gt, "ge": left.ge}[condition.comparison]
    return compare(right).fillna(False).astype(bool)


def _equals(column: pd.Series[Any], value: str | float | None) -> pd.Series[Any]:
    """Equal as numbers where both are numbers, else as text."""
    import pandas as pd

    if value is not None and _is_number(value):
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().any():
            return numbers == float(value)
    return column.astype("string").eq(str(value)).fillna(False).astype(bool)


def _is_number(value: str | float) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False
