"""What open questions will take, before anybody is asked: calls, tokens, dollars and time for each layout.

Nothing here is counted by a provider. Tokens are bytes divided by 3.5; lengths of answers are those that the same model
gave before, where any are recorded, else those of answers to like questions, without any thinking.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from types import MappingProxyType

from ..models import JudgeIdentity, JudgeUsage, LedgerEntry, QuestionKind
from .batch import can_batch
from .clients import KEY_VARIABLES, Prompt
from .decisions import is_decisions
from .layouts import ITEM, criteria_in_prompt, even_parts
from .prices import Price
from .quota import IMAGE_TOKENS, estimate_tokens

LAYOUTS = (ITEM, "group:4", "finding")
HANDOFF_LAYOUTS = (ITEM, "finding")
CACHE_FLOOR = 1024
"""Tokens below which providers cache no prefix (the usual floor; some models have 512, some 4,096)."""
BATCH_HOURS = 24
CALL_S = 8.0
"""Seconds that a call is reckoned at where none is recorded."""
ANSWER_TOKENS: Mapping[QuestionKind, int] = MappingProxyType(
    {"criterion": 250, "grouping": 150, "target": 250, "plan": 300, "novelty": 1450}
)
"""Tokens of an answer where none is recorded: the means over 378 answers to the prompts of this package."""


@dataclass(frozen=True, slots=True)
class Size:
    """Estimated tokens of a prompt: the prefix that prompts of one finding share, and the rest.

    form: that part of the prefix which is the form of an answer; a prompt of several criteria has one for each.
    """

    prefix: int
    last: int
    form: int = 0

    @classmethod
    def of(cls, prompt: Prompt) -> Size:
        """The size of `prompt`; the form of the answer is part of what is sent first."""
        form = json.dumps(prompt.schema, ensure_ascii=False)
        labels = "".join(image.label for image in prompt.images)
        prefix = _tokens(prompt.system + form + prompt.shared + labels) + IMAGE_TOKENS * len(prompt.images)
        return cls(prefix, _tokens(prompt.last), _tokens(form))


def _tokens(text: str) -> int:
    return estimate_tokens(len(text.encode("utf-8", "surrogatepass")))


@dataclass(frozen=True, slots=True)
class Open:
    """A question that nobody has answered.

    group: what its prefix is shared with; None for a question about a whole run, which is always asked by itself.
    waits: whether it may never be asked, because a check may decide once questions about the run are answered.
    """

    kind: QuestionKind
    size: Size
    group: str | None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its tokens in, how many of them an earlier call leaves in the provider's cache, its tokens out."""

    input: int
    cached: int
    output: float
    questions: int


@dataclass(frozen=True)
class AnswerLengths:
    """Tokens of an answer by the kind of its question, and seconds of a call.

    source: where the tokens are from. recorded, timed: how many recorded answers told tokens or seconds.
    """

    tokens: Mapping[QuestionKind, float]
    seconds: float
    source: str
    untimed: str = "not recorded"
    recorded: int = 0
    timed: int = 0

    @classmethod
    def of(cls, judge: JudgeIdentity, entries: Iterable[LedgerEntry]) -> AnswerLengths:
        """From what the model of `judge` has answered before, by whatever parameters; defaults for all else."""
        if is_decisions(judge):
            return cls(dict.fromkeys(ANSWER_TOKENS, 0), CALL_S, "probabilities, no text")
        mine = [e for e in entries if (e.judge.kind, e.judge.model) == (judge.kind, judge.model)]
        by_kind: dict[QuestionKind, list[int]] = {}
        for entry in mine:
            if entry.usage.output_tokens is not None and entry.status == "assessed":
                by_kind.setdefault(entry.kind, []).append(entry.usage.output_tokens)
        times = [e.latency_s for e in mine if e.latency_s and e.status == "assessed"]
        told = {kind: fmean(lengths) for kind, lengths in by_kind.items()}
        count = sum(map(len, by_kind.values()))
        source = "none is recorded: the usual, without thinking"
        if by_kind:
            source = f"means of {count} recorded answers" + (
                "" if len(told) == len(ANSWER_TOKENS) else f", for {', '.join(told)}"
            )
        seconds = median(times) if times else CALL_S
        return cls({**ANSWER_TOKENS, **told}, seconds, source, recorded=count, timed=len(times))

    def with_given(self, tokens: float | None, seconds: float | None) -> AnswerLengths:
        """These with what the user says in their place."""
        lengths = self
        if tokens is not None:
            lengths = replace(lengths, tokens=dict.fromkeys(ANSWER_TOKENS, tokens), source="as given", recorded=0)
        return lengths if seconds is None else replace(lengths, seconds=seconds, untimed="as given", timed=0)


def calls_of(questions: Sequence[Open], size: int, lengths: AnswerLengths) -> tuple[list[Call], list[Call]]:
    """The calls that ask `questions`: those about runs, then those about criteria, up to `size` of them in one."""
    about_run = [Call(_alone(q), 0, lengths.tokens[q.kind], 1) for q in questions if q.group is None]
    groups: dict[str, list[Open]] = {}
    for question in questions:
        if question.group is not None:
            groups.setdefault(question.group, []).append(question)
    criteria: list[Call] = []
    for group in groups.values():
        for number, together in enumerate(even_parts(group, size)):
            prefix = together[0].size.prefix
            cached = prefix if number and prefix >= CACHE_FLOOR else 0
            length = sum(lengths.tokens[q.kind] for q in together)
            rest = sum(q.size.last for q in together) + sum(q.size.form for q in together[1:])
            criteria.append(Call(prefix + rest, cached, length, len(together)))
    return about_run, criteria


def _alone(question: Open) -> int:
    return question.size.prefix + question.size.last


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a judge may be asked: calls at one time, calls and tokens a minute (None: no limit)."""

    in_flight: int
    rpm: float | None = None
    tpm: float | None = None

    def seconds(self, calls: Sequence[Call], each: float) -> float:
        """How long `calls` of `each` seconds take: the slowest of latency, calls a minute and tokens a minute.

        A prefix that is shared is sent by one call first, so that the others find it in the provider's cache.
        """
        if not calls:
            return 0.0
        rounds = max(math.ceil(len(calls) / self.in_flight), 2 if any(call.cached for call in calls) else 1)
        tokens = sum(call.input + call.output for call in calls)
        limits = [rounds * each]
        if self.rpm is not None:
            limits.append(len(calls) / self.rpm * 60)
        if self.tpm is not None:
            limits.append(tokens / self.tpm * 60)
        return max(limits)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the open questions of one judge take in one layout. Dollars are None where no price is known.

    calls_about_run: those that come first, because facts shown with the criteria follow from their answers.
    waiting: questions that may turn out to need nobody, since a check may decide them.
    cost_without_cache: were no prefix cached. batch_cost: as a batch, no cached prefix reckoned with. seconds: live.
    """

    layout: str
    calls: int
    calls_about_run: int
    questions: int
    waiting: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float | None
    cost_without_cache: float | None
    batch_cost: float | None
    batch_hours: int | None
    seconds: float | None


def estimate(
    questions: Sequence[Open],
    judge: JudgeIdentity,
    layout: str,
    lengths: AnswerLengths,
    price: Price | None,
    pace: Pace,
) -> Estimate:
    """What `questions` take of `judge`, who is asked in the layout of that name."""
    stages = calls_of(questions, criteria_in_prompt(judge) or 1, lengths)
    calls = [call for stage in stages for call in stage]
    usage = JudgeUsage(
        input_tokens=sum(call.input for call in calls),
        cached_tokens=sum(call.cached for call in calls),
        output_tokens=round(sum(call.output for call in calls)),
    )
    provider = judge.kind in KEY_VARIABLES
    cost = price.cost(usage) if price is not None else None
    uncached = price.cost(usage.model_copy(update={"cached_tokens": None})) if price is not None else None
    batched = price.of_batch().cost(usage.model_copy(update={"cached_tokens": None})) if price is not None else None
    live = sum(pace.seconds(stage, lengths.seconds) for stage in stages)
    return Estimate(
        layout=layout,
        calls=len(calls),
        calls_about_run=len(stages[0]),
        questions=sum(call.questions for call in calls),
        waiting=sum(question.waits for question in questions),
        input_tokens=usage.input_tokens or 0,
        cached_tokens=usage.cached_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cost=cost,
        cost_without_cache=uncached,
        batch_cost=batched if can_batch(judge) else None,
        batch_hours=BATCH_HOURS * sum(1 for stage in stages if stage) if can_batch(judge) else None,
        seconds=live if provider else None,
    )
