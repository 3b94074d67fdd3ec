"""What models answer in the stages of an induction. Reasons first, as in every answer; code checks each one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..models import Model, QuestionKind
from ..models.requirement import Requirement

Priority = Literal["high", "medium", "low"]
Feasible = Literal["yes", "partly", "no"]
ArtifactType = Literal["table", "figure", "text", "code", "data"]


class GoalDraft(Model):
    """One atomic goal. instruction_evidence: passages of the instruction that it rests on, word for word."""

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,29}$")
    title: str
    requirement: str
    instruction_evidence: tuple[str, ...] = Field(max_length=6)


class GoalsAnswer(Model):
    """The goals of an instruction."""

    rationale: str
    goals: tuple[GoalDraft, ...] = Field(max_length=12)


class SamePair(Model):
    """A goal of the first list and one of the second that ask for the same."""

    first: str
    second: str


class MergeAnswer(Model):
    """Which goals of two lists, drawn independently, ask for the same."""

    rationale: str
    same: tuple[SamePair, ...] = Field(max_length=12)


class GoalQueries(Model):
    """Literature searches for one goal."""

    goal_id: str
    queries: tuple[str, ...] = Field(max_length=5)


class QueriesAnswer(Model):
    """Literature searches for all goals."""

    rationale: str
    goals: tuple[GoalQueries, ...] = Field(max_length=12)


class GoalGrounding(Model):
    """What the sources say about how one goal is met well. sources: ids of those it rests on."""

    goal_id: str
    sources: tuple[str, ...] = Field(max_length=7)
    methods: tuple[str, ...] = Field(max_length=8)
    metrics: tuple[str, ...] = Field(max_length=8)
    baselines: tuple[str, ...] = Field(max_length=8)
    controls: tuple[str, ...] = Field(max_length=8)
    robustness_checks: tuple[str, ...] = Field(max_length=8)
    evidence_forms: tuple[str, ...] = Field(max_length=8)
    open_questions: tuple[str, ...] = Field(max_length=8)


class GroundingAnswer(Model):
    """What the sources say, goal by goal."""

    rationale: str
    goals: tuple[GoalGrounding, ...] = Field(max_length=12)


class FileMeaning(Model):
    """What a data file is about, and what is peculiar in it."""

    file: str
    meaning: str
    cautions: tuple[str, ...] = Field(max_length=6)


class GoalFeasibility(Model):
    """Whether the data allow for a goal. columns: those it needs, as FILE:COLUMN."""

    goal_id: str
    feasible: Feasible
    why: str
    columns: tuple[str, ...] = Field(max_length=20)


class MeaningAnswer(Model):
    """The meaning of the data, and what they are good for."""

    rationale: str
    files: tuple[FileMeaning, ...] = Field(max_length=50)
    goals: tuple[GoalFeasibility, ...] = Field(max_length=12)


class ExpectedArtifact(Model):
    """What a run that meets a criterion leaves behind."""

    type: ArtifactType
    name: str
    must_show: str


class CriterionDraft(Model):
    """One criterion: what is asked of a finding, on which data, and the complete condition of each level.

    scope: put to each finding by a judge, or (`run`) decided once by code, by what it `requires` alone.
    sources: ids of the literature it rests on; empty where it follows from the task alone.
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{2,59}$")
    title: str
    scope: Literal["finding", "run"]
    goal_ids: tuple[str, ...] = Field(max_length=7)
    question: str
    boundary: str
    data_sources: tuple[str, ...] = Field(max_length=20)
    required_analysis: tuple[str, ...] = Field(max_length=8)
    metrics: tuple[str, ...] = Field(max_length=8)
    comparisons: tuple[str, ...] = Field(max_length=8)
    expected_artifacts: tuple[ExpectedArtifact, ...] = Field(max_length=6)
    satisfaction_condition: str
    level_1: str
    level_half: str
    level_0: str
    requires: tuple[Requirement, ...] = Field(max_length=4)
    priority: Priority
    sources: tuple[str, ...] = Field(max_length=7)


class CriteriaAnswer(Model):
    """The criteria of a rubric, and what no run should claim."""

    rationale: str
    criteria: tuple[CriterionDraft, ...] = Field(max_length=20)
    claims_to_avoid: tuple[str, ...] = Field(max_length=12)


class Gap(Model):
    """Something the instruction asks for (`quote`: its words) that no criterion tests."""

    quote: str
    missing: str


class CritiqueAnswer(Model):
    """What the criteria leave out."""

    rationale: str
    gaps: tuple[Gap, ...] = Field(max_length=8)


class AxisScore(Model):
    """A mark from 1 to 5, with its reason."""

    reason: str
    score: int = Field(ge=1, le=5)


class QualityAnswer(Model):
    """The four axes of a rubric's quality."""

    rationale: str
    operational_specificity: AxisScore
    evidence_grounding: AxisScore
    feasibility: AxisScore
    scientific_coverage: AxisScore


class Entailed(Model):
    """The criteria that entail one item of a gold checklist: a run that meets them has met the item."""

    item_id: str
    criteria: tuple[str, ...] = Field(max_length=20)


class CoverageAnswer(Model):
    """Which items of a gold checklist are entailed by which criteria."""

    rationale: str
    items: tuple[Entailed, ...] = Field(max_length=60)


ANSWERS: dict[QuestionKind, type[Model]] = {
    "goals": GoalsAnswer,
    "merge": MergeAnswer,
    "queries": QueriesAnswer,
    "grounding": GroundingAnswer,
    "meaning": MeaningAnswer,
    "criteria": CriteriaAnswer,
    "critique": CritiqueAnswer,
    "quality": QualityAnswer,
    "coverage": CoverageAnswer,
}
