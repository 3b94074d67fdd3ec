"""What an agent is told: of failed criteria after a verification, or of a rubric before it works.

A judge's reason may repeat what its facts say, and facts may rest on the hidden half of the task. So the reasons of
such criteria are never passed on, nor is a reason in which anything is found that the task hides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..documents import read_text
from ..models import Criterion, Rubric
from ..models.results import CriterionResult
from ..tasks import Task
from ..tasks.leaks import Hidden, Lines
from ..text import one_line
from .standing import OF_THE_RUN, Place, Verification

PROMPT, FEEDBACK, GUIDE = "PROMPT.md", "FEEDBACK.md", "GUIDE.md"
NOTES = "revision"
"""The folder of a workspace in which an agent says what it plans and what it changed; it is no part of the delivery."""
PLAN, SUMMARY = "plan.md", "changes.md"
WITHHELD = "(the reason is kept back: it rests on, or would tell, what is hidden from you)"
_REST_ON_HIDDEN = frozenset(
    {
        "evidence.directional_recompute",
        "evidence.other_quantity_recompute",
        "independent_origin.frozen_search_prior_art",
    }
)
_DIGITS = 3
_TEXTS = Path(__file__).parent / "texts"


def text_of(name: str) -> str:
    """A text of this package, such as `revise`."""
    return read_text(_TEXTS / f"{name}.md")


_LOST = (
    "An earlier try was not taken, since these tests held before it and did not after it:",
    "You start again from the version before that try. Keep what these tests look at as it is.",
)
_LOST_IN_REPAIR = (
    "Your last changes can't be taken as they are, since these tests held before them and do not now:",
    "Mend that first. The version before is not here any more; what you changed is.",
)


def feedback(found: Verification, task: Task, lost: Sequence[Place] = (), *, is_repair: bool = False) -> str:
    """The failed criteria of a verified run: what is missing, what would satisfy them, what must not be claimed.

    lost: what the last try broke, told first. is_repair: whether that try is what is to be worked on.
    Criteria that hold, and those without a level, are not told.
    """
    hidden = Hidden(task)
    lines = ["# What did not hold", ""]
    if lost:
        before, after = _LOST_IN_REPAIR if is_repair else _LOST
        lines += [before, "", *(f"- {_place(place)}: {_title(found.rubric.by_id[place[1]])}" for place in lost)]
        lines += ["", after, ""]
    failed = found.failed
    for name in dict.fromkeys(place[0] for place, _, _ in failed):
        lines += [_heading(found, name), ""]
        for place, criterion, result in failed:
            if place[0] == name:
                lines += [*_told(criterion, result, hidden), ""]
    return "\n".join(lines)


def _heading(found: Verification, name: str) -> str:
    if name == OF_THE_RUN:
        return "## The work as a whole"
    finding = found.findings[name]
    return f"## Finding {finding.number}: {one_line(finding.title, 300)}"


def _place(place: Place) -> str:
    return place[1] if place[0] == OF_THE_RUN else f"{place[0].replace('_', ' ')}, {place[1]}"


def _title(criterion: Criterion) -> str:
    return one_line(criterion.title or criterion.question, 300)


def _told(criterion: Criterion, result: CriterionResult, hidden: Hidden) -> Iterator[str]:
    yield f"### {criterion.id} (level {result.level:g} of 1)"
    yield f"- Asked: {one_line(criterion.question, 600)}"
    yield f"- What is missing: {_reason(criterion, result, hidden)}"
    yield f"- What would satisfy it: {one_line(criterion.levels.full, 800)}"
    yield from _wanted(criterion)
    zero = one_line(criterion.levels.zero, 600)
    yield f"- What must not be claimed: more than the evidence shows. Level 0 is: {zero}"
    if criterion.boundary:
        yield f"- Its limits: {one_line(criterion.boundary, 600)}"


def _reason(criterion: Criterion, result: CriterionResult, hidden: Hidden) -> str:
    if criterion.check in _REST_ON_HIDDEN or tells_hidden(hidden, result.reason):
        return WITHHELD
    return one_line(result.reason, 800)


def tells_hidden(hidden: Hidden, text: str) -> bool:
    """Whether `text` names the source study, or gives a value of the reference."""
    lines = Lines.of(text)
    found = (
        hidden.sources("", lines),
        hidden.title_words("", lines),
        hidden.cited_authors("", lines),
        hidden.keys("", lines),
        hidden.values("", lines, _DIGITS),
    )
    return any(next(iter(leaks), None) is not None for leaks in found)


def _wanted(criterion: Criterion) -> Iterator[str]:
    """The parts of a criterion that say what to do, where it has them."""
    parts = {
        "Condition": (criterion.satisfaction_condition,) if criterion.satisfaction_condition else (),
        "Data": criterion.data_sources,
        "Analysis": criterion.required_analysis,
        "Metrics": criterion.metrics,
        "Comparisons": criterion.comparisons,
        "Files": criterion.expected_artifacts,
    }
    for name, values in parts.items():
        if values:
            yield f"- {name}: {one_line('; '.join(values), 600)}"


def skeleton(rubric: Rubric) -> str:
    """What a rubric asks, without how: dimensions and questions only."""
    lines = ["# What the work is to answer", ""]
    for dimension in rubric.dimensions:
        lines += [f"## {dimension.title or dimension.id}", ""]
        mine = [c for c in rubric.criteria if c.dimension == dimension.id]
        lines += [*(f"- {one_line(c.question, 600)}" for c in mine), ""]
    return "\n".join(lines)


def whole(rubric: Rubric) -> str:
    """A rubric as an agent may read it: every criterion with its condition and what it asks for."""
    lines = [f"# {rubric.title or rubric.id}", ""]
    for dimension in rubric.dimensions:
        lines += [f"## {dimension.title or dimension.id}", ""]
        for criterion in (c for c in rubric.criteria if c.dimension == dimension.id):
            lines += [f"### {criterion.id}", f"- Asked: {one_line(criterion.question, 600)}"]
            lines += [f"- Holds when: {one_line(criterion.levels.full, 800)}", *_wanted(criterion)]
            lines += [f"- Its limits: {one_line(criterion.boundary, 600)}"] if criterion.boundary else []
            lines.append("")
    return "\n".join(lines)


def revise_texts(
    found: Verification, task: Task, lost: Sequence[Place] = (), *, is_repair: bool = False
) -> Mapping[str, str]:
    """The files by which an agent is told to revise."""
    return {PROMPT: text_of("revise"), FEEDBACK: feedback(found, task, lost, is_repair=is_repair)}


def guided_texts(rubric: Rubric, *, only_skeleton: bool) -> Mapping[str, str]:
    """The files by which an agent is told to go on under a rubric, without any verdict."""
    return {PROMPT: text_of("guided"), GUIDE: skeleton(rubric) if only_skeleton else whole(rubric)}


def refine_texts() -> Mapping[str, str]:
    """The files by which an agent is told to look over its work by itself."""
    return {PROMPT: text_of("refine")}
