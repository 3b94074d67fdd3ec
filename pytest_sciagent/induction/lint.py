"""Lint of a rubric: what makes its criteria hard to apply, unfair, or a leak. Each problem says how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from ..checks.requirements import told
from ..models import Criterion, Rubric
from ..tasks import Task
from ..tasks.leaks import Hidden, Lines
from ..text import normalise_quote, one_line
from .aims import about_a_finding, about_no_finding, met_by_inputs
from .task_questions import strings_in

Rule = Literal[
    "compound",
    "vague",
    "uncheckable",
    "placeholder",
    "duplicate",
    "contradicting",
    "missing data",
    "target leaked",
    "goal without criterion",
    "not about one finding",
    "met by inputs",
    "invalid",
]
ALIKE = 92.0
LEAK_DIGITS = 3


@dataclass(frozen=True, slots=True)
class LintProblem:
    """What is wrong with a rubric, where, and what would mend it."""

    rule: Rule
    where: str
    what: str
    suggestion: str

    def told(self) -> str:
        return f"{self.where}: {self.rule}: {self.what} ({self.suggestion})"


_PLACEHOLDER = re.compile(
    r"\b(?:TODO|TBD|FIXME|XXX|REPLACE|lorem ipsum)\b|\?\?\?|\{\{|\}\}|<[a-z][a-z _-]{1,30}>"
    r"|\[(?:insert|fill|value|name|number)[^\]]{0,30}\]"
    r"|\b[A-Za-z]_?(?:mean|std|value)\s*±\s*[A-Za-z]_?(?:std|error)"
)
_VAGUE = re.compile(
    r"\b(?:(?:appropriate|adequate|sufficient|proper|thorough|careful|meaningful|rigorous|convincing|comprehensive)"
    r"(?:ly)?|reasonabl[ey]|suitabl[ey]|high[- ]quality|good|nice|as needed|if possible|where applicable|etc\.?"
    r"|and so on|state[- ]of[- ]the[- ]art)(?![\w-])",
    re.IGNORECASE,
)
_MIND = re.compile(
    r"\b(?:understands?|believes?|is aware|appreciates?|interesting|insightful|elegant|impressive|creative)\b",
    re.IGNORECASE,
)
_COMPOUND = re.compile(
    r"\?.*\?|\bas well as\b|\band (?:also|additionally)\b|\band (?:does|do|is|are|has|have|was|were)\b[^?]*\?"
    r"|\band/or\b",
    re.IGNORECASE | re.DOTALL,
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|neither|nor|cannot|can't|mustn't|isn't|doesn't)\b", re.IGNORECASE
)


def lint(rubric: Rubric, task: Task | None = None, data_names: set[str] | None = None) -> list[LintProblem]:
    """Everything that is wrong with `rubric`.

    task: with it, the text is searched for what the task hides. data_names: what data_sources may name.
    """
    found = [problem for criterion in rubric.criteria for problem in _one(criterion, data_names)]
    found += [f for c in rubric.criteria if rubric.kind == "induced" for f in _aim(c)]
    found += _pairs(rubric.criteria)
    found += _goals(rubric)
    found += _leaks(rubric, task) if task is not None else []
    return found


def _texts(criterion: Criterion) -> dict[str, str]:
    levels = criterion.levels
    return {
        "question": criterion.question,
        "level 1": levels.full,
        "level 0.5": levels.half,
        "level 0": levels.zero,
        "satisfaction_condition": criterion.satisfaction_condition or "",
    }


def _one(criterion: Criterion, data_names: set[str] | None) -> Iterator[LintProblem]:
    where = criterion.id
    every = _texts(criterion) | {
        "title": criterion.title or "",
        "boundary": criterion.boundary,
        "lists": "; ".join((*criterion.required_analysis, *criterion.metrics, *criterion.expected_artifacts)),
    }
    for name, text in every.items():
        if match := _PLACEHOLDER.search(text):
            yield LintProblem("placeholder", f"{where} {name}", repr(match[0]), "write out what is meant")
    for name, text in _texts(criterion).items():
        if match := _VAGUE.search(text):
            hint = "say what is counted, compared or shown, and how much of it"
            yield LintProblem("vague", f"{where} {name}", repr(match[0]), hint)
        if match := _MIND.search(text):
            hint = "ask for something that stands in a file"
            yield LintProblem("uncheckable", f"{where} {name}", repr(match[0]), hint)
    if _COMPOUND.search(criterion.question):
        yield LintProblem("compound", where, "the question asks more than one thing", "make it two criteria")
    proof = criterion.check or criterion.required_analysis or criterion.expected_artifacts
    if criterion.data_sources and not proof:
        hint = "name the required analysis or an expected artifact"
        yield LintProblem("uncheckable", where, "nothing says what would prove it", hint)
    same = [normalise_quote(text).casefold() for name, text in _texts(criterion).items() if name.startswith("level")]
    if len(set(same)) < len(same):
        yield LintProblem("contradicting", where, "two levels have one condition", "exactly one level must hold")
    for requirement in criterion.requires:
        if why := met_by_inputs(requirement, data_names or ()):
            hint = "require what only a result can have"
            yield LintProblem("met by inputs", where, f"{told(requirement)}: {why}", hint)
    for name in criterion.data_sources if data_names is not None else ():
        if name not in data_names:  # type: ignore[operator]
            yield LintProblem(
                "missing data", where, f"the task has no {one_line(name, 80)}", "name a file or FILE:COLUMN"
            )


def _aim(criterion: Criterion) -> Iterator[LintProblem]:
    """Conditions that every finding of a run meets as soon as one does; questions about one finding put to a run."""
    rule: Rule = "not about one finding"
    if criterion.scope == "run":
        if about_a_finding(criterion.question):
            yield LintProblem(rule, criterion.id, "the question of a whole run speaks of this finding", "say: the run")
        return
    for name in about_no_finding(criterion.question, criterion.levels.full, criterion.levels.half):
        hint = "say what this finding gives, or decide it by code once for the run (scope: run)"
        yield LintProblem(rule, f"{criterion.id} {name}", "it does not speak of the finding", hint)


def _pairs(criteria: Sequence[Criterion]) -> Iterator[LintProblem]:
    """Criteria that ask the same, or the one what the other forbids."""
    from rapidfuzz import fuzz

    for first, second in combinations(criteria, 2):
        pairs = [(first.question, second.question), (first.levels.full, second.levels.full)]
        if any(fuzz.ratio(*(_NEGATION.sub(" ", text).casefold() for text in pair)) < ALIKE for pair in pairs):
            continue
        texts = [f"{c.question} {c.levels.full}" for c in (first, second)]
        negations = [len(_NEGATION.findall(text)) for text in texts]
        where = f"{first.id}, {second.id}"
        if sum(negations) % 2:
            yield LintProblem("contradicting", where, "the one asks for what the other forbids", "keep one")
        else:
            yield LintProblem("duplicate", where, "they ask the same", "keep one")


def _goals(rubric: Rubric) -> Iterator[LintProblem]:
    served = {criterion.dimension for criterion in rubric.criteria} | {g for c in rubric.criteria for g in c.goals}
    for dimension in rubric.dimensions:
        if dimension.id not in served:
            hint = "write a criterion for it, or leave it out"
            yield LintProblem("goal without criterion", dimension.id, "no criterion tests it", hint)


def _leaks(rubric: Rubric, task: Task) -> Iterator[LintProblem]:
    hidden = Hidden(task)
    for criterion in rubric.criteria:
        plain = criterion.model_dump(mode="json", exclude={"weight", "id"})
        lines = Lines.of("\n".join(strings_in(plain)))
        name = criterion.id
        leaks = [*hidden.sources(name, lines), *hidden.cited_authors(name, lines)]
        leaks += [*hidden.title_words(name, lines), *hidden.values(name, lines, LEAK_DIGITS)]
        for leak in leaks:
            yield LintProblem(
                "target leaked", name, leak.kind, "a rubric must not give the hidden study away: reword it"
            )
