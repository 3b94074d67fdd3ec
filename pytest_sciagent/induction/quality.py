"""How good a rubric is: four axes by a model, and the coverage of a gold checklist.

Neither is part of an induction: gold checklists come from the hidden side, and no induced rubric is made with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..judging.answers import BadAnswer
from ..models import Criterion, Rubric
from ..tasks import Task
from .answers import CoverageAnswer, QualityAnswer
from .profile import profile_data, profile_text
from .task_questions import Ask, Desk

AXES = ("operational_specificity", "evidence_grounding", "feasibility", "scientific_coverage")


@dataclass(frozen=True)
class Coverage:
    """What a rubric covers of a gold checklist. entailed: criteria by gold item; share: of the gold items' weight."""

    entailed: Mapping[str, tuple[str, ...]]
    share: float

    @property
    def lost(self) -> tuple[str, ...]:
        """The gold items that nothing entails."""
        return tuple(item for item, criteria in self.entailed.items() if not criteria)


@dataclass(frozen=True)
class Measured:
    """The marks of a rubric (1 to 5) on the four axes, and what it covers of a gold checklist, where there is one."""

    marks: Mapping[str, int]
    coverage: Coverage | None


def measure(desk: Desk, task: Task, rubrics: Sequence[Rubric], gold: Rubric | None) -> list[Measured]:
    """Marks and coverage of each rubric; each is marked by itself, on what its criteria say. All is asked at once.

    Raises:
        OpenQuestions, SciagentError: as `Desk.ask`.
    """
    data = profile_text(profile_data(task))
    asks: list[Ask[Any]] = [_quality(task, data, rubric) for rubric in rubrics]
    asks += [_coverage(gold, rubric) for rubric in rubrics] if gold is not None else []
    answers = desk.ask(asks)
    marks = [{axis: getattr(answer, axis).score for axis in AXES} for answer in answers[: len(rubrics)]]
    covered = [_covered(gold, answer) for answer in answers[len(rubrics) :]] if gold is not None else []
    return [Measured(marked, covered[n] if covered else None) for n, marked in enumerate(marks)]


def _quality(task: Task, data: str, rubric: Rubric) -> Ask[QualityAnswer]:
    values = {"instruction": task.objective, "data": data, "rubric": criteria_text(rubric.criteria)}
    return Ask("quality", f"quality.{rubric.digest[:12]}", values, QualityAnswer, lambda answer: None)


def _coverage(gold: Rubric, rubric: Rubric) -> Ask[CoverageAnswer]:
    """Which items of `gold` are entailed by which criteria of `rubric`."""
    items, known = list(gold.by_id), set(rubric.by_id)

    def check(answer: CoverageAnswer) -> None:
        if sorted(item.item_id for item in answer.items) != sorted(items):
            raise BadAnswer("wrong_ids", "every item of the checklist must stand there exactly once")
        for item in answer.items:
            if wrong := sorted(set(item.criteria) - known):
                raise BadAnswer("wrong_ids", f"{item.item_id}: no such criterion: {', '.join(wrong)}")

    values = {"items": criteria_text(gold.criteria), "criteria": criteria_text(rubric.criteria)}
    return Ask("coverage", f"coverage.{rubric.digest[:12]}", values, CoverageAnswer, check)


def _covered(gold: Rubric, answer: CoverageAnswer) -> Coverage:
    entailed = {item.item_id: item.criteria for item in answer.items}
    weights = {c.id: abs(Fraction(str(c.weight))) for c in gold.criteria}
    covered = sum((weights[name] for name, criteria in entailed.items() if criteria), start=Fraction(0))
    return Coverage(entailed, float(covered / sum(weights.values())))


def criteria_text(criteria: Sequence[Criterion]) -> str:
    """Criteria as prompts show them: what a reviewer is told, without weights and origin."""
    left_out = {"weight", "dimension", "scope", "check", "judge", "required", "evidence", "provenance", "number"}
    plain = [c.model_dump(mode="json", by_alias=True, exclude=left_out, exclude_defaults=True) for c in criteria]
    return json.dumps(plain, indent=1, ensure_ascii=False)
