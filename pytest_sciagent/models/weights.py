"""What `sciagent ensemble` writes (schema sciagent-weights/1): how often judges said what people said, run by run."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..digest import sha256_json
from .base import Model, NonEmpty, Sha256
from .calibration import Day
from .examples import first_of
from .verdict import JudgeIdentity

SCHEMA = "sciagent-weights/1"
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Row = tuple[Count, Count, Count]
Confusion = tuple[Row, Row, Row]
"""Counts: a row for each level that people gave (0, 0.5, 1), in it a column for each that a judge gave."""


class WeightsFile(Model):
    """Counts from which the weights of a panel's members are worked out anew, each time, and for a run that is among
    the labelled ones without its own.

    It holds for these members (with their parameters), the words that criteria are asked in, and the rubric. runs: by
    run (its repeats counted with it) and dimension, a table for each member, in the order of `members`. measured_on:
    the day (UTC).
    """

    schema_: Literal["sciagent-weights/1"] = Field("sciagent-weights/1", alias="schema")
    plugin_version: str
    measured_on: Day | None = None
    members: tuple[JudgeIdentity, ...] = Field(min_length=1)
    templates: Sha256
    rubric: NonEmpty
    rubric_digest: Sha256
    raters: tuple[str, ...]
    labels_digest: Sha256
    runs: dict[NonEmpty, dict[NonEmpty, tuple[Confusion, ...]]]

    @model_validator(mode="after")
    def _whole(self) -> WeightsFile:
        names = [member.label for member in self.members]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"{twice} is a member twice")
        for run, dimensions in self.runs.items():
            if run != first_of(run):
                raise ValueError(f"runs: {run!r} is a repeat: it is counted with {first_of(run)!r}")
            for dimension, tables in dimensions.items():
                if len(tables) != len(names):
                    raise ValueError(f"runs: {run} {dimension}: {len(tables)} tables for {len(names)} members")
        return self

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of what weights follow from, and of nothing else."""
        about = [member.as_json() for member in self.members]
        return sha256_json([about, self.templates, self.rubric_digest, self.model_dump()["runs"]])
