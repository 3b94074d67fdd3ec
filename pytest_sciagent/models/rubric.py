"""A rubric on disk (schema sciagent-rubric/1): dimensions and criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from ..digest import sha256_json
from ..profile_names import ProfileName
from .base import Model, Name, NonEmpty
from .requirement import Requirement
from .run import Role

CANARY = "canary"
"""The id of the criterion that no run can meet: the program's own, never a rubric's."""
REQUIREMENTS_CHECK = "artifacts.required"
"""The check that looks for what a criterion `requires`."""


class Dimension(Model):
    """A group of criteria."""

    id: Name
    weight: float = Field(gt=0)
    title: str | None = None


class Levels(Model):
    """The condition of each level, each complete by itself."""

    full: NonEmpty = Field(alias="1")
    half: NonEmpty = Field(alias="0.5")
    zero: NonEmpty = Field(alias="0")

    @model_validator(mode="before")
    @classmethod
    def _keys_as_text(cls, value: Any) -> Any:
        """YAML reads the keys 1, 0.5 and 0 as numbers."""
        if not isinstance(value, dict):
            return value
        return {f"{k:g}" if isinstance(k, int | float) and not isinstance(k, bool) else k: v for k, v in value.items()}


class EvidenceHints(Model):
    """What a judge of this criterion should be shown: roles of files, and words that find relevant ones."""

    roles: tuple[Role, ...] = ()
    hints: tuple[str, ...] = ()


class Provenance(Model):
    """Where an induced criterion comes from."""

    kind: Literal["task-derived", "literature-supported", "curated"] = "curated"
    sources: tuple[str, ...] = ()


class Criterion(Model):
    """One test of a finding (or of the whole run): its question and the condition of each level."""

    id: Name
    number: str | None = None
    title: str | None = None
    dimension: Name
    weight: float
    scope: Literal["finding", "run"] = "finding"
    question: NonEmpty
    boundary: str = ""
    levels: Levels
    check: Name | None = None
    judge: bool = False
    requires: tuple[Requirement, ...] = Field((), max_length=6)
    required: bool = True
    evidence: EvidenceHints = EvidenceHints()
    goals: tuple[str, ...] = ()
    data_sources: tuple[str, ...] = ()
    required_analysis: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    comparisons: tuple[str, ...] = ()
    expected_artifacts: tuple[str, ...] = ()
    satisfaction_condition: str | None = None
    priority: Literal["high", "medium", "low"] | None = None
    provenance: Provenance | None = None

    @property
    def name(self) -> str:
        """What people are told of it: its number, if it has one, and its id (`1.1 evidence.data_identity`)."""
        return f"{self.number} {self.id}" if self.number else self.id

    @field_validator("weight")
    @classmethod
    def _weight_is_not_zero(cls, value: float) -> float:
        if value == 0:
            raise ValueError("weight must not be 0: leave the criterion out instead")
        return value

    @model_validator(mode="after")
    def _somebody_decides(self) -> Criterion:
        if self.check is None and not self.judge:
            raise ValueError("nothing decides this criterion: give 'check: NAME' or 'judge: true'")
        if self.requires and self.check != REQUIREMENTS_CHECK:
            raise ValueError(
                f"'requires' is what the check {REQUIREMENTS_CHECK!r} looks for: give 'check: {REQUIREMENTS_CHECK}'"
            )
        if self.check == REQUIREMENTS_CHECK and not self.requires:
            raise ValueError(f"the check {REQUIREMENTS_CHECK!r} looks for what 'requires' lists: list something")
        return self

    @cached_property
    def digest(self) -> str:
        """Digest of the text a judge decides by: the criterion without its weight and bookkeeping."""
        words = {"id", "question", "boundary", "levels", "required_analysis", "metrics", "comparisons"}
        words |= {"data_sources", "expected_artifacts", "satisfaction_condition"}
        return sha256_json(self.model_dump(mode="json", by_alias=True, include=words))


class Rubric(Model):
    """A set of criteria and how their levels add up."""

    schema_: Literal["sciagent-rubric/1"] = Field(alias="schema")
    id: Name
    version: NonEmpty
    title: str | None = None
    kind: Literal["curated", "induced"]
    task_id: Name | None = None
    frozen_at: str | None = None
    profile: ProfileName = "weighted"
    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    criteria: tuple[Criterion, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Rubric:
        for what, ids in (
            ("dimension", [d.id for d in self.dimensions]),
            ("criterion", [c.id for c in self.criteria]),
        ):
            twice = [i for i, n in Counter(ids).items() if n > 1]
            if twice:
                raise ValueError(f"duplicate {what} id {twice[0]!r}")
        if any(c.id == CANARY for c in self.criteria):
            raise ValueError(
                f"criterion id {CANARY!r} is taken by the question that tests judges (--sciagent-canary): rename yours"
            )
        known = {d.id for d in self.dimensions}
        for criterion in self.criteria:
            if criterion.dimension not in known:
                raise ValueError(
                    f"criterion {criterion.id!r} names dimension {criterion.dimension!r}, "
                    f"which is not among {', '.join(sorted(known))}"
                )
            if criterion.weight < 0 and self.profile != "weighted":
                raise ValueError(f"criterion {criterion.id!r}: a negative weight needs profile 'weighted'")
        if self.kind == "induced" and self.task_id is None:
            raise ValueError("an induced rubric names its task: give 'task_id'")
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the rubric's canonical JSON (RFC 8785)."""
        plain = self.as_json()
        for criterion in plain["criteria"]:
            if not criterion["requires"]:  # unknown to earlier versions, whose rubrics keep their digests
                del criterion["requires"]
        return sha256_json(plain)

    @cached_property
    def by_id(self) -> dict[str, Criterion]:
        """Criteria by their id."""
        return {c.id: c for c in self.criteria}


def rubrics_for(rubrics: Iterable[Rubric], task_id: str) -> tuple[Rubric, ...]:
    """Those of `rubrics` by which a run of a task is judged: those for any task, and those made for its own.

    The first of them scores the run.
    """
    return tuple(rubric for rubric in rubrics if rubric.task_id in (None, task_id))


def scoring_rubrics(rubrics: Sequence[Rubric], task_ids: Iterable[str]) -> tuple[Rubric, ...]:
    """Those of `rubrics` that score a run of one of the tasks, in their order; the first where there is no task."""
    firsts = {found[0].id for task_id in task_ids if (found := rubrics_for(rubrics, task_id))}
    return tuple(rubric for rubric in rubrics if rubric.id in firsts) or tuple(rubrics[:1])
