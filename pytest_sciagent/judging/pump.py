"""The pump: open questions are asked by one event loop, many at a time, and each answer is recorded at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import SciagentError
from ..models import JudgeUsage, LedgerEntry
from .clients import Client, Prompt, Reply, failed
from .prices import Price
from .quota import Budget, estimate_tokens
from .requests import AnswerContext, Request
from .settle import settle

ANSWER_TOKENS = 600
"""What an answer is reckoned at before it is there."""


@dataclass(frozen=True)
class Question:
    """An open question and the run it belongs to. Questions of one `group` share a prompt prefix."""

    request: Request
    context: AnswerContext
    group: str


@dataclass
class Progress:
    """How far the pump is, and what it has spent. `fatal`: why no further call can succeed."""

    total: int
    done: int = 0
    in_flight: int = 0
    failed: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    fatal: str | None = None


@dataclass(frozen=True)
class Terms:
    """On what terms questions are asked: how many at a time, at what price, within which budget."""

    in_flight: int
    price: Price | None = None
    budget: Budget | None = None


def pump(
    questions: Sequence[Question],
    client: Client,
    terms: Terms,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Ask all `questions`; the first of each group goes alone, so that it warms the provider's prefix cache for the
    others. A rate limit halves the number in flight, each success raises it again. An answer of the wrong form is asked
    for once more, with the reason. After an answer that says no call can succeed, nothing more is asked.

    Ctrl-C leaves at once; what was answered by then is recorded.

    Raises:
        SciagentError: an answer can't be recorded.
    """
    try:
        return asyncio.run(_Pump(client, terms, len(questions), on_progress).run(questions))
    except ExceptionGroup as group:
        unrecorded = group.subgroup(SciagentError)
        if unrecorded is None:
            raise
        raise unrecorded.exceptions[0] from None


class _Slots:
    """How many calls may be in flight: halved by each rate limit, raised by one for as many successes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(most)
        self._used = 0
        self._changed = asyncio.Condition()

    async def take(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._used < max(1, int(self._limit)))
            self._used += 1

    async def give_back(self, *, limited: bool) -> None:
        async with self._changed:
            self._used -= 1
            self._limit = max(1.0, self._limit / 2) if limited else min(self._most, self._limit + 1 / self._limit)
            self._changed.notify_all()


class _Pump:
    def __init__(self, client: Client, terms: Terms, total: int, on_progress: Callable[[Progress], None]) -> None:
        self._client = client
        self._terms = terms
        self._slots = _Slots(terms.in_flight)
        self._warm: dict[str, asyncio.Event] = {}
        self._progress = Progress(total)
        self._on_progress = on_progress

    async def run(self, questions: Sequence[Question]) -> Progress:
        try:
            async with asyncio.TaskGroup() as tasks:
                for question in questions:
                    leads = question.group not in self._warm
                    if leads:
                        self._warm[question.group] = asyncio.Event()
                    tasks.create_task(self._one(question, leads))
        finally:
            await self._client.close()
        return self._progress

    async def _one(self, question: Question, leads: bool) -> None:
        event = self._warm[question.group]
        if not leads:
            await event.wait()
        progress = self._progress
        await self._slots.take()
        limited = False
        try:
            if progress.fatal is not None:
                return
            progress.in_flight += 1
            entry, reply = await self._answer(question)
            progress.in_flight -= 1
            limited = reply.status == "rate_limited"
            if reply.fatal:
                progress.fatal = progress.fatal or reply.detail
                return
            question.context.keep(entry)
            progress.done += 1
            progress.failed += entry.status != "assessed"
            self._on_progress(progress)
        finally:
            await self._slots.give_back(limited=limited)
            event.set()

    async def _answer(self, question: Question) -> tuple[LedgerEntry, Reply]:
        """Ask, and where the answer is of the wrong form ask once more; usage and cost of both are kept."""
        prompt = question.request.make_prompt()
        reply = await self._paid(prompt)
        entry = self._settle(question, reply)
        if entry.status == "invalid" and reply.text is not None:
            again = await self._paid(_repair(prompt, entry.reason))
            reply = replace(again, usage=_sum(reply.usage, again.usage))
            entry = self._settle(question, reply)
        return entry, reply

    def _settle(self, question: Question, reply: Reply) -> LedgerEntry:
        entry = settle(question.request, self._client.identity, reply, question.context)
        price = self._terms.price
        return entry if price is None else entry.model_copy(update={"cost_usd": price.cost(reply.usage)})

    async def _paid(self, prompt: Prompt) -> Reply:
        """One call within the budget; over it, a reply of status `budget` and no call."""
        price, budget = self._terms.price, self._terms.budget
        estimate = 0.0
        if price is not None:
            tokens = estimate_tokens(len(prompt.system) + len(prompt.shared) + len(prompt.last))
            estimate = price.cost(JudgeUsage(input_tokens=tokens, output_tokens=ANSWER_TOKENS))
        if budget is not None and not budget.reserve(estimate):
            return failed("budget", "the budget of this session is spent")
        cost = 0.0
        try:
            reply = await self._client.ask(prompt)
            cost = price.cost(reply.usage) if price is not None else 0.0
        finally:
            if budget is not None:
                budget.settle(estimate, cost)
        progress = self._progress
        progress.input_tokens += reply.usage.input_tokens or 0
        progress.cached_tokens += reply.usage.cached_tokens or 0
        progress.output_tokens += reply.usage.output_tokens or 0
        progress.cost_usd += cost
        return reply


def _repair(prompt: Prompt, reason: str) -> Prompt:
    """The prompt again, with what was wrong with the form of the first answer."""
    note = (
        f"\nYour last answer could not be used: {reason}\n"
        "Answer the same question again, as one JSON object of the form asked for, and nothing else.\n"
    )
    return replace(prompt, last=prompt.last + note)


def _sum(a: JudgeUsage, b: JudgeUsage) -> JudgeUsage:
    def add(x: int | None, y: int | None) -> int | None:
        return None if x is None and y is None else (x or 0) + (y or 0)

    return JudgeUsage(
        input_tokens=add(a.input_tokens, b.input_tokens),
        output_tokens=add(a.output_tokens, b.output_tokens),
        cached_tokens=add(a.cached_tokens, b.cached_tokens),
    )
