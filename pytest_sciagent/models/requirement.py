"""What code looks for among the artifacts of a run, beside a criterion's question: files, tables, numbers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from .base import Model

Word = Annotated[str, StringConstraints(pattern=r"^[a-z]{1,30}$")]
Words = Annotated[tuple[Word, ...], Field(min_length=1, max_length=40)]
"""Words of which one is to stand in the name of a column, a key or a row. Three letters and more may also begin one."""
AtMost = Literal["0", "0.5"]
"""The most that a criterion earns where its requirement is not met."""


class FileRequirement(Model):
    """At least `count` files of one role, with one of these suffixes (all, where none is named)."""

    kind: Literal["file"]
    role: Literal["result", "figure", "analysis_source", "notebook"]
    suffixes: tuple[Annotated[str, StringConstraints(pattern=r"^\.[a-z0-9]{1,10}$")], ...] = Field(max_length=12)
    count: int = Field(ge=1, le=100)
    at_most: AtMost


class TableRequirement(Model):
    """A stored table (or list of objects) of at least `rows` rows, with a column for each group of words."""

    kind: Literal["table"]
    columns: tuple[Words, ...] = Field(min_length=1, max_length=8)
    rows: int = Field(ge=1, le=100_000)
    at_most: AtMost


class NumberRequirement(Model):
    """At least `count` stored numbers within [low, high] (null: no such limit) under names with one of the words."""

    kind: Literal["number"]
    names: Words
    low: float | None
    high: float | None
    count: int = Field(ge=1, le=10_000)
    at_most: AtMost

    @model_validator(mode="after")
    def _range_holds_something(self) -> NumberRequirement:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"the range {self.low:g} to {self.high:g} holds no number")
        return self


Requirement = Annotated[FileRequirement | TableRequirement | NumberRequirement, Field(discriminator="kind")]
