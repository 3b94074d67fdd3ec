"""The pump: open questions are asked by one event loop, many at a time, and each answer is recorded at once."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import SciagentError
from ..models import JudgeUsage, LedgerEntry
from .clients import Client, Prompt, Reply, failed
from .estimate import Size
from .prices import Price
from .quota import Budget
from .requests import AnswerContext, Request
from .settle import settle

ANSWER_TOKENS = 600
"""What an answer is reckoned at before any was longer."""
MIN_ROUND_S = 1.0
"""Calls that are turned away within so many seconds were in flight together, and count as one."""
MAX_TRIES = 4
"""How often a question is asked that the provider turns away each time, each time with all retries of the client."""
_NOT_FAILED = frozenset({"assessed", "unverified", "budget"})
"""A call was answered, or there was none."""
_UNBILLED = frozenset({"rate_limited", "provider_error"})


@dataclass(frozen=True)
class Question:
    """An open question and the run it belongs to. Questions of one `group` share a prompt prefix."""

    request: Request
    context: AnswerContext
    group: str


@dataclass
class Progress:
    """How far the pump is, and what it has spent. `fatal`: why no further call can succeed.

    done, failed: questions, and those of them without a usable answer. calls, failed_calls: the same for calls, of
    which a question may take several; unpriced, uncounted: calls without a known price, or whose tokens nobody told.
    """

    total: int
    done: int = 0
    in_flight: int = 0
    failed: int = 0
    calls: int = 0
    failed_calls: int = 0
    unpriced: int = 0
    uncounted: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    fatal: str | None = None


@dataclass(frozen=True)
class Terms:
    """On what terms questions are asked: how many at a time, at what price, within which budget.

    patience_s: a provider that answers nothing for so long, and turns calls away, is not asked any further.
    """

    in_flight: int
    price: Price | None = None
    budget: Budget | None = None
    patience_s: float = 300.0


def pump(
    questions: Sequence[Question],
    client: Client,
    terms: Terms,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Ask all `questions`; the first of each group goes alone, so that it warms the provider's prefix cache for the
    others. A provider that turns calls away has the number in flight halved; success raises it again. A question that
    is turned away waits for its next turn. An answer of the wrong form is asked for once more, with the reason. After
    an answer that says no call can succeed, nothing more is asked; what is in flight is still recorded.

    Ctrl-C leaves at once; what was answered by then is recorded.

    Raises:
        SciagentError: an answer can't be recorded.
    """
    try:
        return asyncio.run(_Pump(client, terms, questions, on_progress).run())
    except ExceptionGroup as group:
        unrecorded = group.subgroup(SciagentError)
        if unrecorded is None:
            raise
        raise unrecorded.exceptions[0] from None


class _Pace:
    """How many calls may be in flight. A provider that turns calls away halves it, once for all that it turned away
    together, and nothing new is sent while it asks to wait; as many successes as are in flight raise it by one.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(most)
        self._resume = 0.0
        self._cut_from = 0.0

    @property
    def limit(self) -> int:
        return int(self._limit)

    def turned_away(self, seconds: float) -> None:
        """The provider is too busy for a call, and asks to wait for `seconds`."""
        now = time.monotonic()
        self._resume = max(self._resume, now + seconds)
        if now >= self._cut_from:
            self._limit = max(1.0, self._limit / 2)
            self._cut_from = now + max(seconds, MIN_ROUND_S)

    def answered(self) -> None:
        self._limit = min(self._most, self._limit + 1 / self._limit)

    async def pause(self) -> None:
        """Wait as long as the provider asks to."""
        while (left := self._resume - time.monotonic()) > 0:
            await asyncio.sleep(left)


class _Queue:
    """What is asked next: followers whose group's first question is through, then the first of further groups. So a
    group is finished while the provider still has its prefix."""

    def __init__(self, questions: Sequence[Question]) -> None:
        groups: dict[str, list[Question]] = {}
        for question in questions:
            groups.setdefault(question.group, []).append(question)
        self._leaders = deque(group[0] for group in groups.values())
        self._behind = {name: group[1:] for name, group in groups.items()}
        self._followers: deque[Question] = deque()
        self._again: deque[tuple[Question, int]] = deque()

    def __bool__(self) -> bool:
        return bool(self._followers or self._leaders or self._again)

    def next(self) -> tuple[Question, int]:
        """A question, and how often it has been asked."""
        first = self._followers or self._leaders
        return (first.popleft(), 0) if first else self._again.popleft()

    def again(self, question: Question, tries: int) -> None:
        """Ask `question` once more, after all others."""
        self._again.append((question, tries))

    def through(self, question: Question) -> None:
        """`question` was asked, whatever came of it."""
        self._followers += self._behind.pop(question.group, ())


class _Pump:
    def __init__(
        self, client: Client, terms: Terms, questions: Sequence[Question], on_progress: Callable[[Progress], None]
    ) -> None:
        self._client = client
        self._terms = terms
        self._queue = _Queue(questions)
        self._pace = _Pace(terms.in_flight)
        self._progress = Progress(len(questions))
        self._on_progress = on_progress
        self._answer_tokens = ANSWER_TOKENS
        self._last_answer = time.monotonic()
        self._turn = asyncio.Lock()
        client.on_busy = self._pace.turned_away

    async def run(self) -> Progress:
        try:
            async with asyncio.TaskGroup() as tasks:
                self._start(tasks)
        finally:
            await self._client.close()
        return self._progress

    def _start(self, tasks: asyncio.TaskGroup) -> None:
        """Start as many questions as may be in flight."""
        while (turn := self._next()) is not None:
            tasks.create_task(self._work(turn, tasks))

    def _next(self) -> tuple[Question, int] | None:
        """The question that may be asked now, which from then on is in flight, and how often it has been asked."""
        progress = self._progress
        if not self._queue or progress.fatal is not None or progress.in_flight >= self._pace.limit:
            return None
        progress.in_flight += 1
        return self._queue.next()

    async def _work(self, turn: tuple[Question, int] | None, tasks: asyncio.TaskGroup) -> None:
        # One task goes from question to question: the next prompt is on its way before other answers are looked at.
        while turn is not None:
            await self._one(*turn)
            turn = self._next()
            self._start(tasks)

    async def _one(self, question: Question, tries: int) -> None:
        progress = self._progress
        await self._pace.pause()
        if progress.fatal is None:
            entry, reply = await self._answer(question)
            turned_away = reply.status == "rate_limited"
            if reply.fatal or (turned_away and time.monotonic() - self._last_answer > self._terms.patience_s):
                progress.fatal = progress.fatal or reply.detail
            elif turned_away and tries + 1 < MAX_TRIES:
                self._queue.again(question, tries + 1)
            else:
                question.context.keep(entry)
                progress.done += 1
                progress.failed += entry.status != "assessed"
        progress.in_flight -= 1
        self._on_progress(progress)
        self._queue.through(question)

    async def _answer(self, question: Question) -> tuple[LedgerEntry, Reply]:
        """Ask, and where the answer is of the wrong form ask once more; usage and cost of both are kept."""
        # The event loop takes each task on by a step in turn: answers that come together would be followed by prompts
        # that go together, and the provider would wait in between. So a prompt is on its way before the next is made.
        await self._turn.acquire()
        try:
            prompt = question.request.make_prompt()
        finally:
            asyncio.get_running_loop().call_soon(self._turn.release)
        reply, cost = await self._paid(prompt)
        entry = self._settle(question, reply)
        if entry.status == "invalid":
            again, more = await self._paid(_repair(prompt, entry.reason))
            if again.status != "budget":  # else what was wrong with the first answer tells more
                reply, cost = replace(again, usage=_sum(reply.usage, again.usage)), cost + more
                entry = self._settle(question, reply)
        if self._terms.price is not None:
            entry = entry.model_copy(update={"cost_usd": cost})
        return entry, reply

    def _settle(self, question: Question, reply: Reply) -> LedgerEntry:
        entry = settle(question.request, self._client.identity, reply, question.context)
        self._progress.failed_calls += entry.status not in _NOT_FAILED
        return entry

    async def _paid(self, prompt: Prompt) -> tuple[Reply, float]:
        """One call within the budget and what it cost; over the budget, a reply of that status and no call."""
        budget = self._terms.budget
        estimate = self._estimate(prompt)
        if budget is not None and not budget.reserve(estimate):
            return failed("budget", "the budget of this session is spent"), 0.0
        cost = estimate  # of a call that is broken off: it may be billed
        progress = self._progress
        progress.calls += 1
        progress.unpriced += self._terms.price is None
        try:
            reply = await self._client.ask(prompt)
            cost = self._cost(reply, estimate)
        finally:
            if budget is not None:
                budget.settle(estimate, cost)
        if reply.text is not None:
            self._pace.answered()
            self._last_answer = time.monotonic()
        usage = reply.usage
        progress.uncounted += usage.input_tokens is None and usage.output_tokens is None
        progress.input_tokens += usage.input_tokens or 0
        progress.cached_tokens += usage.cached_tokens or 0
        progress.output_tokens += usage.output_tokens or 0
        progress.cost_usd += cost
        return reply, cost

    def _estimate(self, prompt: Prompt) -> float:
        """What a call may cost: its prompt, and as long an answer as any so far."""
        if self._terms.price is None:
            return 0.0
        size = Size.of(prompt)
        usage = JudgeUsage(input_tokens=size.prefix + size.last, output_tokens=self._answer_tokens)
        return self._terms.price.cost(usage)

    def _cost(self, reply: Reply, estimate: float) -> float:
        """What a call cost. One that nobody counted costs the estimate, unless the provider turned it away, and so does
        each attempt that was lost on its way back."""
        usage = reply.usage
        self._answer_tokens = max(self._answer_tokens, usage.output_tokens or 0)
        if self._terms.price is None:
            return 0.0
        lost = reply.lost * estimate
        if usage.input_tokens is None and usage.output_tokens is None:
            return lost if lost or reply.status in _UNBILLED else estimate
        return self._terms.price.cost(usage) + lost


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
