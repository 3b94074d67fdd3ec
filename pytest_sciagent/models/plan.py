"""Recompute plans: which calculation over the task's data would confirm or refute a stated number."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from .base import Model, NonEmpty

Operation = Literal[
    "count",
    "sum",
    "mean",
    "median",
    "sd",
    "min",
    "max",
    "quantile",
    "proportion",
    "difference_of_means",
    "ratio_of_means",
    "slope",
    "correlation",
]
PAIRED = frozenset({"slope", "correlation"})
TWO_GROUPS = frozenset({"difference_of_means", "ratio_of_means"})


class Filter(Model):
    """Keep the rows for which `column comparison value` holds."""

    column: NonEmpty
    comparison: Literal["eq", "ne", "lt", "le", "gt", "ge", "in", "not_blank"]
    value: str | float | list[str | float] | None = None


class RecomputePlan(Model):
    """One calculation from the closed list, over one file of the task's data, for one number that a finding states.

    `quote` stands word for word in the finding's section and contains `asserted`, the number as written. `core` numbers
    decide the finding's direction; `supporting` ones say how large, over what range or where the boundary lies.
    """

    role: Literal["core", "supporting"]
    quote: NonEmpty
    asserted: NonEmpty
    comparison: Literal["equals", "positive", "negative", "greater_than", "less_than"] = "equals"
    file: NonEmpty
    operation: Operation
    value: str | None = None
    x: str | None = None
    y: str | None = None
    quantile: float | None = Field(None, ge=0, le=1)
    success: str | float | None = None
    filters: tuple[Filter, ...] = Field((), max_length=8)
    group_by: str | None = None
    group_a: str | float | None = None
    group_b: str | float | None = None
    within: tuple[str, ...] = Field((), max_length=4)

    @model_validator(mode="after")
    def _complete(self) -> RecomputePlan:
        needed: list[str] = []
        if self.operation in PAIRED:
            needed = ["x", "y"]
        elif self.operation != "count":
            needed = ["value"]
        if self.operation in TWO_GROUPS:
            needed += ["group_by", "group_a", "group_b"]
        if self.operation == "quantile":
            needed.append("quantile")
        if self.operation == "proportion":
            needed.append("success")
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            raise ValueError(f"operation {self.operation!r} needs {', '.join(missing)}")
        return self
