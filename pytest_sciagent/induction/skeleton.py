"""Stage 1: goals from the instruction alone. Code looks up the words each goal rests on, and refuses methods."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial

from ..judging.answers import BadAnswer
from ..text import normalise_quote, one_line
from .answers import GoalDraft, GoalsAnswer, MergeAnswer
from .states import Skeleton
from .task_questions import Ask, Desk

FEWEST, MOST = 3, 7
MOST_MERGED = 10
_NUMBER = re.compile(r"(?<![A-Za-z_])\d+(?:[.,]\d+)?")
_METHODS = (
    r"regress\w*|bootstrap\w*|permutation|jackknife|cross[- ]?validat\w*|anova|ancova|manova|t[- ]tests?"
    r"|chi[- ]?squared?|p[- ]?values?|confidence intervals?|credible intervals?|least squares|fourier"
    r"|periodogram|wavelets?|spectral"
    r"|autocorrelation|arima|kalman|gaussian process\w*|random forests?|gradient boost\w*|neural networks?|svm|lasso"
    r"|principal component\w*|pca|k[- ]means|cluster analysis|mcmc|bayes\w*|maximum likelihood|likelihood ratio|aic|bic"
    r"|r[- ]?squared|r²|rmse|mae|mape|auc|roc|f1|accuracy|precision|recall|mann[- ]?\w+|spearman|pearson|kendall"
    r"|wilcoxon|kruskal\w*|kolmogorov\w*|linear models?|mixed models?|mixed[- ]effects?|splines?|loess|lowess|stl"
    r"|significan\w+ levels?|effect sizes?|cohen'?s d|correlation coefficients?"
)
_METHOD = re.compile(rf"(?<![a-z0-9])(?:{_METHODS})(?![a-z0-9])", re.IGNORECASE)


def stands_in(passage: str, text: str) -> bool:
    """Whether `passage` stands in `text`, but for typography, case and line breaks."""
    return bool(passage.strip()) and normalise_quote(passage).casefold() in normalise_quote(text).casefold()


def check_goals(answer: GoalsAnswer, instruction: str) -> None:
    """Raises `BadAnswer` where goals are too few or too many, rest on no words, or prescribe methods or numbers."""
    if not FEWEST <= len(answer.goals) <= MOST:
        raise BadAnswer("wrong_number", f"{len(answer.goals)} goals: give {FEWEST} to {MOST}")
    ids = [goal.id for goal in answer.goals]
    if len({name.casefold() for name in ids}) < len(ids):
        raise BadAnswer("duplicate_id", f"two goals have one id: {', '.join(ids)}")
    for goal in answer.goals:
        _check_goal(goal, instruction)


def _check_goal(goal: GoalDraft, instruction: str) -> None:
    if not goal.title.strip() or not goal.requirement.strip() or not goal.instruction_evidence:
        raise BadAnswer("wrong_shape", f"{goal.id}: needs a title, a requirement and words of the instruction")
    for passage in goal.instruction_evidence:
        if not stands_in(passage, instruction):
            raise BadAnswer(
                "not_in_instruction", f"{goal.id}: the instruction has no passage {one_line(passage, 120)!r}"
            )
    for pattern, what in ((_NUMBER, "the number"), (_METHOD, "the method or metric")):
        for found in pattern.findall(f"{goal.title}\n{goal.requirement}"):
            if found.casefold() not in instruction.casefold():
                raise BadAnswer(
                    "prescribes",
                    f"{goal.id}: {what} {found!r} is not in the instruction: say what is to be known, not how",
                )


def goals_text(goals: Sequence[GoalDraft]) -> str:
    """Goals as prompts show them."""
    return json.dumps([goal.as_json() for goal in goals], indent=1, ensure_ascii=False)


def induce_skeleton(desk: Desk, instruction: str, inputs: str, *, second: bool) -> Skeleton:
    """The goals of `instruction`; with `second`, those of two independent drawings, merged. `inputs`: their digest.

    Raises:
        OpenQuestions, SciagentError: as `Desk.ask`.
    """
    check = partial(check_goals, instruction=instruction)
    draws = [1, 2] if second else [1]
    values = {"instruction": instruction}
    drawn = desk.ask([Ask("goals", "goals", values, GoalsAnswer, check, draw) for draw in draws])
    goals = list(drawn[0].goals)
    if second:
        goals = _merged(desk, drawn[0].goals, drawn[1].goals)
    return Skeleton(task_id=desk.task_id, inputs=inputs, answers=desk.spent(), drawn=len(draws), goals=tuple(goals))


def _merged(desk: Desk, first: Sequence[GoalDraft], second: Sequence[GoalDraft]) -> list[GoalDraft]:
    """All goals of the first list, and those of the second without a partner, under ids of their own."""
    mine = {goal.id for goal in first}
    other = {goal.id for goal in second}

    def check(answer: MergeAnswer) -> None:
        for ids, known in (([p.first for p in answer.same], mine), ([p.second for p in answer.same], other)):
            if len(set(ids)) < len(ids) or not set(ids) <= known:
                raise BadAnswer("wrong_ids", "a pair names an id that is not in its list, or one id twice")

    values = {"first": goals_text(first), "second": goals_text(second)}
    found = desk.one(Ask("merge", "merge", values, MergeAnswer, check))
    paired = {pair.second for pair in found.same}
    new = [goal for goal in second if goal.id not in paired]
    taken = {name.casefold() for name in mine}
    merged = list(first)
    for goal in new[: MOST_MERGED - len(merged)]:
        number = next(n for n in range(1, 100) if f"g{n}" not in taken)
        taken.add(f"g{number}")
        merged.append(goal.model_copy(update={"id": f"G{number}"}))
    return merged
