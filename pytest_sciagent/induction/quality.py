"""How good a rubric is: four axes by a model, and the coverage of a gold checklist.

Neither is part of an induction: gold checklists come from the hidden side, and no induced rubric is made with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..judging.answers import BadAnswer
from ..models import Criterion, Rubric
from ..tasks import Task
from .answers import CoverageAnswer, QualityAnswer
from .asking import Ask, Desk
from .profile import profile_data, profile_text

AXES = ("operational_specificity", "evidence_grounding", "feasibility", "scientific_coverage")


def measure_quality(desk: Desk, task: Task, rubrics: Sequence[Rubric]) -> list[dict[str, int]]:
    """The marks (1 to 5) of each rubric on the four axes; each is marked by itself, on what its criteria say.

    Raises:
        OpenQuestions, SciagentError: as `Desk.ask`.
    """
    data = profile_text(profile_data(task))
    asks = [
        Ask(
            "quality",
            f"quality.{rubric.digest[:12]}",
            {"instruction": task.objective, "data": data, "rubric": criteria_text(rubric.criteria)},
            QualityAnswer,
            lambda answer: None,
        )
        for rubric in rubrics
    ]
    return [{axis: getattr(answer, axis).score for axis in AXES} for answer in desk.ask(asks)]


@dataclass(frozen=True)
class Coverage:
    """What a rubric covers of a gold checklist. entailed: criteria by gold item; share: of the gold items' weight."""

    entailed: Mapping[str, tuple[str, ...]]
    share: float

    @property
    def lost(self) -> tuple[str, ...]:
        """The gold items that nothing entails."""
        return tuple(item for item, criteria in self.entailed.items() if not criteria)


def measure_coverage(desk: Desk, gold: Rubric, rubric: Rubric) -> Coverage:
    """Which items of `gold` are entailed by which criteria of `rubric`.

    Raises:
        OpenQuestions, SciagentError: as `Desk.ask`.
    """
    items, known = list(gold.by_id), set(rubric.by_id)

    def check(answer: CoverageAnswer) -> None:
        if sorted(item.item_id for item in answer.items) != sorted(items):
            raise BadAnswer("wrong_ids", "every item of the checklist must stand there exactly once")
        for item in answer.items:
            if wrong := sorted(set(item.criteria) - known):
                raise BadAnswer("wrong_ids", f"{item.item_id}: no such criterion: {', '.join(wrong)}")

    values = {"items": criteria_text(gold.criteria), "criteria": criteria_text(rubric.criteria)}
    answer = desk.one(Ask("coverage", f"coverage.{rubric.digest[:12]}", values, CoverageAnswer, check))
    entailed = {item.item_id: item.criteria for item in answer.items}
    weights = {c.id: abs(Fraction(str(c.weight))) for c in gold.criteria}
    covered = sum((weights[name] for name, criteria in entailed.items() if criteria), start=Fraction(0))
    return Coverage(entailed, float(covered / sum(weights.values())))


def criteria_text(criteria: Sequence[Criterion]) -> str:
    """Criteria as prompts show them: what a reviewer is told, without weights and origin."""
    left_out = {"weight", "dimension", "scope", "check", "judge", "required", "evidence", "provenance", "number"}
    plain = [c.model_dump(mode="json", by_alias=True, exclude=left_out, exclude_defaults=True) for c in criteria]
    return json.dumps(plain, indent=1, ensure_ascii=False)
