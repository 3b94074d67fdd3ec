"""Stage 4: criteria from goals, data and literature, each tied to what is there; and a rubric made of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from ..checks.requirements import told
from ..judging.answers import BadAnswer
from ..models import Criterion, Dimension, Levels, Rubric
from ..models.rubric import REQUIREMENTS_CHECK, Provenance
from ..tasks import Task
from ..text import one_line
from .aims import about_a_finding, about_no_finding, met_by_inputs
from .answers import CriteriaAnswer, CriterionDraft, CritiqueAnswer, GoalDraft
from .profile import profile_text
from .skeleton import goals_text, stands_in
from .states import Criteria, DataProfile, Literature, Skeleton
from .task_questions import Ask, Desk

FEWEST, MOST = 6, 15
WEIGHTS = {"high": 3.0, "medium": 2.0, "low": 1.0}
DRAFT_VERSION = "0"
"""The version of a rubric that is not frozen."""


def induce_criteria(
    desk: Desk,
    task: Task,
    skeleton: Skeleton,
    profile: DataProfile | None,
    literature: Literature | None,
    inputs: str,
    *,
    critique: bool,
) -> Criteria:
    """The criteria; without `profile` or `literature` these are not shown. With `critique`, a model looks for what a
    first set leaves out, and where there is something, a second set is written with that in view.

    inputs: the digest of all that they are made from.

    Raises:
        OpenQuestions, SciagentError: as `Desk.ask`.
    """
    values = {
        "instruction": task.objective,
        "goals": goals_text(skeleton.goals),
        "data": data_text(profile) if profile is not None else "",
        "literature": literature_text(literature) if literature is not None else "",
        "gaps": "",
    }
    check = check_criteria(skeleton.goals, profile, literature)
    found = desk.one(Ask("criteria", "criteria", values, CriteriaAnswer, check))
    gaps: tuple[str, ...] = ()
    if critique:
        gaps = _gaps(desk, task.objective, found)
        if gaps:
            again = values | {"gaps": "\n".join(gaps)}
            found = desk.one(Ask("criteria", "criteria.after-critique", again, CriteriaAnswer, check))
    return Criteria(
        task_id=task.id,
        inputs=inputs,
        answers=desk.spent(),
        criteria=found.criteria,
        claims_to_avoid=found.claims_to_avoid,
        gaps=gaps,
    )


def _gaps(desk: Desk, instruction: str, found: CriteriaAnswer) -> tuple[str, ...]:
    def check(answer: CritiqueAnswer) -> None:
        for gap in answer.gaps:
            if not stands_in(gap.quote, instruction):
                raise BadAnswer("not_in_instruction", f"the instruction has no passage {one_line(gap.quote, 120)!r}")

    values = {"instruction": instruction, "criteria": drafts_text(found.criteria)}
    answer = desk.one(Ask("critique", "critique", values, CritiqueAnswer, check))
    return tuple(f"{one_line(gap.quote, 200)}: {one_line(gap.missing, 400)}" for gap in answer.gaps)


def drafts_text(drafts: Sequence[CriterionDraft]) -> str:
    """Criteria as prompts show them."""
    return json.dumps([draft.as_json() for draft in drafts], indent=1, ensure_ascii=False)


def data_text(profile: DataProfile) -> str:
    """The data as the synthesis sees them: what code found, what it means, what is feasible."""
    said = {
        "meaning": [m.as_json() for m in profile.meaning],
        "feasibility": [f.as_json() for f in profile.feasibility],
    }
    return f"{profile_text(profile)}\n{json.dumps(said, indent=1, ensure_ascii=False)}"


def literature_text(literature: Literature) -> str:
    """What the grounding says, without titles and authors: ids only. Empty where nothing was found."""
    if not literature.goals:
        return ""
    return json.dumps([goal.as_json() for goal in literature.goals], indent=1, ensure_ascii=False)


def check_criteria(
    goals: Sequence[GoalDraft], profile: DataProfile | None, literature: Literature | None
) -> Callable[[CriteriaAnswer], None]:
    """A check of criteria against the goals, the data and the sources they may name; it raises `BadAnswer`."""
    known = {goal.id for goal in goals}
    names = profile.names if profile is not None else None
    sources = {source.id for source in literature.sources} if literature is not None else set()

    def check(answer: CriteriaAnswer) -> None:
        if not FEWEST <= len(answer.criteria) <= MOST:
            raise BadAnswer("wrong_number", f"{len(answer.criteria)} criteria: give {FEWEST} to {MOST}")
        ids = [draft.id for draft in answer.criteria]
        if len(set(ids)) < len(ids):
            raise BadAnswer("duplicate_id", "two criteria have one id")
        for draft in answer.criteria:
            _check_draft(draft, known, names, sources)
        served = {goal for draft in answer.criteria if draft.scope == "finding" for goal in draft.goal_ids}
        if lacking := sorted(known - served):
            raise BadAnswer("goal_without_criterion", f"no criterion of a finding serves {', '.join(lacking)}")

    return check


def _check_draft(draft: CriterionDraft, goals: set[str], names: set[str] | None, sources: set[str]) -> None:
    if not draft.goal_ids or not set(draft.goal_ids) <= goals:
        raise BadAnswer("wrong_ids", f"{draft.id}: goal_ids must name goals: {', '.join(sorted(goals))}")
    if names is not None and (wrong := sorted(set(draft.data_sources) - names)):
        raise BadAnswer("wrong_data", f"{draft.id}: no such file or FILE:COLUMN: {', '.join(wrong)}")
    if wrong := sorted(set(draft.sources) - sources):
        raise BadAnswer("wrong_ids", f"{draft.id}: no such source: {', '.join(wrong)}")
    texts = (draft.question, draft.level_1, draft.level_half, draft.level_0, draft.satisfaction_condition)
    if not all(text.strip() for text in texts) or not draft.required_analysis:
        raise BadAnswer("wrong_shape", f"{draft.id}: question, levels, condition and required_analysis can't be empty")
    if len({text.strip() for text in texts[1:4]}) < 3:
        raise BadAnswer("wrong_shape", f"{draft.id}: two levels have one condition")
    _check_aim(draft)
    for requirement in draft.requires:
        if why := met_by_inputs(requirement, names or ()):
            raise BadAnswer("met_by_inputs", f"{draft.id} requires {told(requirement)}, but {why}: ask for a result")


def _check_aim(draft: CriterionDraft) -> None:
    """Whether a criterion of a finding speaks of it, and one of the whole run can be decided by code."""
    if draft.scope == "run":
        if not draft.requires:
            raise BadAnswer("nothing_decides", f"{draft.id}: code decides a criterion of scope run: give 'requires'")
        if about_a_finding(draft.question):
            raise BadAnswer("not_about_run", f"{draft.id}: scope run, but the question is about this finding")
    elif parts := list(about_no_finding(draft.question, draft.level_1, draft.level_half)):
        why = "it would hold for every finding of a run: say what this finding gives, or choose scope run"
        raise BadAnswer("not_about_finding", f"{draft.id}: {', '.join(parts)} does not speak of the finding; {why}")


def rubric_of(task: Task, skeleton: Skeleton, criteria: Criteria) -> Rubric:
    """The rubric that the criteria make, not frozen yet: a dimension for each goal, weights by priority.

    A criterion that serves several goals stands under the first. The profile is `best-finding`.
    """
    made = [_criterion(task.id, draft) for draft in criteria.criteria]
    dimensions = [_dimension(goal, made) for goal in skeleton.goals]
    return _draft(task, f"Induced for {task.id}", (d for d in dimensions if d is not None), made)


def _dimension(goal: GoalDraft, criteria: Sequence[Criterion]) -> Dimension | None:
    weight = sum((Fraction(str(c.weight)) for c in criteria if c.dimension == goal.id), start=Fraction(0))
    return Dimension(id=goal.id, weight=float(weight), title=goal.title) if weight else None


def _criterion(task_id: str, draft: CriterionDraft) -> Criterion:
    artifacts = [f"{a.type}: {a.name}: {a.must_show}" for a in draft.expected_artifacts]
    return Criterion(
        id=f"{task_id}.{draft.id}",  # a session may hold rubrics of several tasks
        title=draft.title,
        dimension=draft.goal_ids[0],
        weight=WEIGHTS[draft.priority],
        question=draft.question,
        boundary=draft.boundary,
        scope=draft.scope,
        levels=Levels(full=draft.level_1, half=draft.level_half, zero=draft.level_0),
        check=REQUIREMENTS_CHECK if draft.requires else None,
        judge=draft.scope == "finding",
        requires=draft.requires,
        goals=draft.goal_ids,
        data_sources=draft.data_sources,
        required_analysis=draft.required_analysis,
        metrics=draft.metrics,
        comparisons=draft.comparisons,
        expected_artifacts=tuple(artifacts),
        satisfaction_condition=draft.satisfaction_condition,
        priority=draft.priority,
        provenance=Provenance(kind="literature-supported" if draft.sources else "task-derived", sources=draft.sources),
    )


def skeleton_rubric(task: Task, skeleton: Skeleton) -> Rubric:
    """The rubric of the goals alone (`--stages skeleton`): each is one criterion, made by code."""
    criteria = [
        Criterion(
            id=f"{task.id}.{goal.id.lower()}",
            title=goal.title,
            dimension=goal.id,
            weight=1,
            question=f"Does this finding meet the goal: {goal.requirement}",
            levels=Levels(
                full="The finding meets the goal by executed analysis whose results lie in the frozen files.",
                half="The finding meets a part of the goal only, by executed analysis with results in frozen files.",
                zero="The finding rests on no executed analysis in the frozen files that serves the goal.",
            ),
            judge=True,
            goals=(goal.id,),
            provenance=Provenance(kind="task-derived"),
        )
        for goal in skeleton.goals
    ]
    dimensions = (Dimension(id=goal.id, weight=1, title=goal.title) for goal in skeleton.goals)
    return _draft(task, f"Induced for {task.id}: goals alone", dimensions, criteria)


def _draft(task: Task, title: str, dimensions: Iterable[Dimension], criteria: Iterable[Criterion]) -> Rubric:
    """An induced rubric that is not frozen yet."""
    return Rubric(
        schema_="sciagent-rubric/1",
        id=f"induced.{task.id}",
        version=DRAFT_VERSION,
        kind="induced",
        title=title,
        task_id=task.id,
        profile="best-finding",
        dimensions=tuple(dimensions),
        criteria=tuple(criteria),
    )
