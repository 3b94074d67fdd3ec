"""Answers to the prompts about a whole run or about its numbers: grouping, target match, recompute plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from ..models import Finding, Model
from ..models.novelty import ATOMS, NoveltyAnswer
from ..models.plan import RecomputePlan
from .answers import BadAnswer


class GroupingAnswer(Model):
    """Groups of two or more findings that state one claim."""

    rationale: str
    groups: tuple[tuple[str, ...], ...]


class StatedValue(Model):
    """A number of a finding that answers one quantity of a reference card."""

    key: str
    quote: str
    value: float
    unit: str


class TargetAnswer(Model):
    """The finding that comes closest to a reference card, and in what it agrees. Numbers are compared by code."""

    rationale: str
    finding: str | None
    object: bool
    scope: bool
    direction: bool
    values: tuple[StatedValue, ...] = Field(max_length=20)


class PlanAnswer(Model):
    """Calculations over the task's data that would confirm or refute a finding's numbers."""

    rationale: str
    plans: tuple[RecomputePlan, ...] = Field(max_length=4)


RUN_ANSWERS: dict[str, type[Model]] = {
    "grouping": GroupingAnswer,
    "target": TargetAnswer,
    "plan": PlanAnswer,
    "novelty": NoveltyAnswer,
}


def complete_groups(answer: GroupingAnswer, finding_ids: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """All findings in groups: those of the answer, and every other finding by itself.

    Raises:
        BadAnswer: an unknown id, an id in two groups, or a group of one.
    """
    seen: set[str] = set()
    for group in answer.groups:
        if len(set(group)) < 2:
            raise BadAnswer("wrong_groups", "a group needs two different findings")
        for finding in group:
            if finding not in finding_ids:
                raise BadAnswer("wrong_ids", f"{finding!r} is not a finding of this run")
            if finding in seen:
                raise BadAnswer("wrong_groups", f"{finding!r} stands in two groups")
            seen.add(finding)
    return (*answer.groups, *((f,) for f in finding_ids if f not in seen))


def check_run_answer(answer: BaseModel, findings: Sequence[Finding], publications: Sequence[str] = ()) -> None:
    """Check an answer about a run against its findings, and against the publications it was shown.

    Raises:
        BadAnswer: it names findings that are not there, groups that overlap or hold one finding, leaves a publication
            out or says two things at once of one.
    """
    ids = [f.id for f in findings]
    if isinstance(answer, GroupingAnswer):
        complete_groups(answer, ids)
    if isinstance(answer, TargetAnswer) and answer.finding is not None and answer.finding not in ids:
        raise BadAnswer("wrong_ids", f"{answer.finding!r} is not a finding of this run")
    if isinstance(answer, NoveltyAnswer):
        if sorted(c.id for c in answer.candidates) != sorted(publications):
            raise BadAnswer("wrong_ids", "each publication must be compared exactly once")
        for candidate in answer.candidates:
            atoms = candidate.atoms().values()
            if any(a.match and a.substantive_new for a in atoms):
                raise BadAnswer("contradictory", f"{candidate.id}: an atom is both shared and new")
            if all(a.match for a in atoms) and not candidate.contains:
                raise BadAnswer(
                    "contradictory", f"{candidate.id}: all {len(ATOMS)} atoms match, yet it does not contain"
                )


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of `model` in the strict form that providers ask for: all keys required, none added."""

    def strict(node: Any) -> Any:
        if isinstance(node, list):
            return [strict(n) for n in node]
        if not isinstance(node, dict):
            return node
        kept = {k: strict(v) for k, v in node.items() if k not in {"default", "title", "description", "discriminator"}}
        if "oneOf" in kept:  # the strict form knows anyOf alone; the kinds exclude each other
            kept["anyOf"] = kept.pop("oneOf")
        if kept.get("type") == "object" and "properties" in kept:
            kept["required"] = list(kept["properties"])
            kept["additionalProperties"] = False
        return kept

    schema: dict[str, Any] = strict(model.model_json_schema())
    return schema
