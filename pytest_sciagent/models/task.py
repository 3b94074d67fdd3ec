"""A task on disk: `task.yaml` and the files of its hidden half."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from .base import Date, Model, Name, NonEmpty, Sha256, Size


class Variable(Model):
    """One column of a data file."""

    unit: str
    meaning: str


class Feasibility(Model):
    """Whether a dimension or criterion can be met on this task at all."""

    feasible: bool
    why: NonEmpty


class DataFile(Model):
    """A data file of the visible half."""

    path: NonEmpty
    bytes: Size
    sha256: Sha256


class TaskManifest(Model):
    """`task.yaml` (schema sciagent-task/1). `t0`: nothing published on or after this date may be used.

    `t0` is null and `files` are empty only where the benchmark that a task comes from gives none.
    """

    schema_: Literal["sciagent-task/1"] = Field(alias="schema")
    id: Name
    title: NonEmpty
    domain: NonEmpty
    t0: Date | None = None
    analysis_unit: NonEmpty
    licence: NonEmpty
    variables: dict[str, dict[str, Variable]] = {}
    feasibility: dict[str, Feasibility] = {}
    files: tuple[DataFile, ...] = ()


class Tolerance(Model):
    """How far a value may be from the reference: absolute (in the quantity's unit) or relative (a fraction)."""

    absolute: float | None = Field(None, ge=0)
    relative: float | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _exactly_one(self) -> Tolerance:
        if (self.absolute is None) == (self.relative is None):
            raise ValueError("give exactly one of 'absolute' and 'relative'")
        return self

    def accepts(self, value: float, reference: float) -> bool:
        """Whether `value` lies within this tolerance of `reference` (same unit)."""
        width = self.absolute if self.absolute is not None else (self.relative or 0.0) * abs(reference)
        return abs(value - reference) <= width


class Quantity(Model):
    """A number of a reference card."""

    key: Name
    value: float
    unit: str
    tolerance: Tolerance
    role: Literal["core", "supporting"]


class Card(Model):
    """One hidden reference finding."""

    id: Name
    object: NonEmpty
    scope: NonEmpty
    direction: NonEmpty
    quantities: tuple[Quantity, ...] = ()


class Reference(Model):
    """`hidden/reference.yaml` (schema sciagent-reference/1)."""

    schema_: Literal["sciagent-reference/1"] = Field(alias="schema")
    cards: tuple[Card, ...] = Field(min_length=1)


class Source(Model):
    """`hidden/source.yaml` (schema sciagent-source/1): the study behind the data."""

    schema_: Literal["sciagent-source/1"] = Field(alias="schema")
    title: NonEmpty
    doi: str | None = None
    arxiv: str | None = None
    authors: tuple[str, ...] = ()
    first_public: Date
    fingerprints: tuple[str, ...] = ()


class Provenance(Model):
    """`hidden/provenance.yaml` (schema sciagent-provenance/1)."""

    schema_: Literal["sciagent-provenance/1"] = Field(alias="schema")
    origin: NonEmpty
    licence: NonEmpty
