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
from .layouts import Call, calls_of
from .loops import run_to_end
from .prices import Price
from .quota import Budget
from .requests import Question as Question
from .settle import settle
from .usage import filled

ANSWER_TOKENS = 600
"""What an answer is reckoned at before any was longer."""
MIN_ROUND_S = 1.0
"""Calls that are turned away within so many seconds were in flight together, and count as one."""
MAX_TRIES = 4
"""How often a question is asked that the provider turns away each time, each time with all retries of the client."""
ROOM = 4
"""How many times the judge's cap of output an answer may take that is asked for again since it was cut at the cap."""
_NOT_FAILED = frozenset({"assessed", "unverified", "budget"})
"""A call was answered, or there was none."""
UNBILLED = frozenset({"rate_limited", "provider_error"})
"""Ends of a call that nobody pays for, unless the provider counted tokens."""


@dataclass
class Progress:
    """How far the pump is, and what it has spent. `total`, `done`, `asking` and `failed` count questions, `in_flight`
    counts calls, which may ask several. `fatal`: why no further call can succeed.

    calls, failed_calls: all calls, and those that gave no usable answer to any of their questions; unpriced, uncounted:
    calls without a known price, or whose tokens nobody told. cut: answers that were asked for once more with more room.
    """

    total: int
    done: int = 0
    asking: int = 0
    in_flight: int = 0
    failed: int = 0
    calls: int = 0
    failed_calls: int = 0
    unpriced: int = 0
    uncounted: int = 0
    cut: int = 0
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


@dataclass(frozen=True)
class Job:
    """Questions to one judge, and on what terms it is asked."""

    questions: Sequence[Question]
    client: Client
    terms: Terms
    on_progress: Callable[[Progress], None] = lambda progress: None


def pump_all(jobs: Sequence[Job]) -> list[Progress]:
    """Ask several judges at the same time, each as `pump` does; one that can't be asked does not stop the others.

    Raises:
        SciagentError: an answer can't be recorded.
    """
    try:
        return run_to_end(_run_all(jobs))
    except ExceptionGroup as group:
        error: Exception | None = group.subgroup(SciagentError)
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if error is None:
            raise
        raise error from None


async def _run_all(jobs: Sequence[Job]) -> list[Progress]:
    async with asyncio.TaskGroup() as tasks:
        pumps = [_Pump(j.client, j.terms, calls_of(j.questions, j.client.identity), j.on_progress) for j in jobs]
        running = [tasks.create_task(one.run()) for one in pumps]
    return [task.result() for task in running]


def pump(
    questions: Sequence[Question],
    client: Client,
    terms: Terms,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Ask all `questions`, in the layout of the client's judge. The first call of each group goes alone, so that it
    warms the provider's prefix cache for the others. A provider that turns calls away has the number in flight halved,
    and success raises it again; a call that is turned away waits for its next turn. An answer of the wrong form is
    asked for once more, with the reason; of several answers in one only those of the wrong form. One that was cut at
    the cap of output is asked for once more with more room. After an answer that
    says no call can succeed, nothing more is asked; what is in flight is still recorded.

    Ctrl-C leaves at once; what was answered by then is recorded.

    Raises:
        SciagentError: an answer can't be recorded.
    """
    (progress,) = pump_all([Job(questions, client, terms, on_progress)])
    return progress


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
    """What is asked next: followers whose group's first call is through, then the first of further groups. So a group
    is finished while the provider still has its prefix."""

    def __init__(self, calls: Sequence[Call]) -> None:
        groups: dict[str, list[Call]] = {}
        for call in calls:
            groups.setdefault(call.group, []).append(call)
        self._leaders = deque(group[0] for group in groups.values())
        self._behind = {name: group[1:] for name, group in groups.items()}
        self._followers: deque[Call] = deque()
        self._again: deque[tuple[Call, int]] = deque()

    def __bool__(self) -> bool:
        return bool(self._followers or self._leaders or self._again)

    def next(self) -> tuple[Call, int]:
        """A call, and how often it has been made."""
        first = self._followers or self._leaders
        return (first.popleft(), 0) if first else self._again.popleft()

    def again(self, call: Call, tries: int) -> None:
        """Make `call` once more, after all others."""
        self._again.append((call, tries))

    def through(self, call: Call) -> None:
        """`call` was made, whatever came of it."""
        self._followers += self._behind.pop(call.group, ())


@dataclass(frozen=True)
class _Answered:
    """What came of a call: the entry of each of its questions, and the reply to all of them."""

    call: Call
    entries: tuple[LedgerEntry, ...]
    reply: Reply

    def only(self, *, invalid: bool) -> _Answered:
        """The same of the questions whose answers were of the wrong form, or of all others."""
        both = zip(self.call.questions, self.entries, strict=True)
        kept = [(question, entry) for question, entry in both if (entry.status == "invalid") is invalid]
        call = replace(self.call, questions=tuple(question for question, _ in kept))
        return replace(self, call=call, entries=tuple(entry for _, entry in kept))


class _Pump:
    def __init__(
        self, client: Client, terms: Terms, calls: Sequence[Call], on_progress: Callable[[Progress], None]
    ) -> None:
        self._client = client
        self._terms = terms
        self._queue = _Queue(calls)
        self._pace = _Pace(terms.in_flight)
        self._progress = Progress(sum(len(call.questions) for call in calls))
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
        """Start as many calls as may be in flight."""
        while (turn := self._next()) is not None:
            tasks.create_task(self._work(turn, tasks))

    def _next(self) -> tuple[Call, int] | None:
        """The call that may be made now, which from then on is in flight, and how often it has been made."""
        progress = self._progress
        if not self._queue or progress.fatal is not None or progress.in_flight >= self._pace.limit:
            return None
        call, tries = self._queue.next()
        progress.in_flight += 1
        progress.asking += len(call.questions)
        return call, tries

    async def _work(self, turn: tuple[Call, int] | None, tasks: asyncio.TaskGroup) -> None:
        # One task goes from call to call: the next prompt is on its way before other answers are looked at.
        while turn is not None:
            await self._one(*turn)
            turn = self._next()
            self._start(tasks)

    async def _one(self, call: Call, tries: int) -> None:
        await self._pace.pause()
        if self._progress.fatal is None:
            answered = await self._ask(call, await self._prompt(call))
            if answered.reply.cut:
                answered = await self._with_room(answered)
            wrong = answered.only(invalid=True)
            if wrong.entries:
                self._keep(answered.only(invalid=False))
                answered = await self._repaired(wrong)
            self._take(answered, tries)
        self._progress.in_flight -= 1
        self._progress.asking -= len(call.questions)
        self._on_progress(self._progress)
        self._queue.through(call)

    async def _prompt(self, call: Call) -> Prompt:
        # The event loop takes each task on by a step in turn: answers that come together would be followed by prompts
        # that go together, and the provider would wait in between. So a prompt is on its way before the next is made.
        await self._turn.acquire()
        try:
            return call.prompt()
        finally:
            asyncio.get_running_loop().call_soon(self._turn.release)

    def _take(self, answered: _Answered, tries: int) -> None:
        """Record what came of a call, or let it be made again."""
        progress, reply = self._progress, answered.reply
        turned_away = reply.status == "rate_limited"
        if reply.fatal or (turned_away and time.monotonic() - self._last_answer > self._terms.patience_s):
            progress.fatal = progress.fatal or reply.detail
        elif turned_away and tries + 1 < MAX_TRIES:
            self._queue.again(answered.call, tries + 1)
        else:
            self._keep(answered)

    def _keep(self, answered: _Answered) -> None:
        for question, entry in zip(answered.call.questions, answered.entries, strict=True):
            question.context.keep(entry)
            self._progress.done += 1
            self._progress.failed += not entry.settles

    async def _with_room(self, cut: _Answered) -> _Answered:
        """Ask once more for an answer that was cut at the cap of output, with a larger cap; usage and cost of both
        calls are kept. Where that brings none (a model may allow no larger cap), it stays the answer that was cut.
        """
        again = await self._ask(cut.call, replace(cut.call.prompt(), room=ROOM))
        if again.reply.status == "budget":
            return cut
        self._progress.cut += 1
        better, other = (cut, again) if again.reply.text is None else (again, cut)
        entries = [_added(entry, more) for entry, more in zip(better.entries, other.entries, strict=True)]
        return replace(better, entries=tuple(entries))

    async def _repaired(self, wrong: _Answered) -> _Answered:
        """Ask once more for what was of the wrong form; usage and cost of both calls are kept."""
        again = await self._ask(wrong.call, wrong.call.repair([entry.reason for entry in wrong.entries]))
        if again.reply.status == "budget":  # what was wrong with the first answer tells more
            return wrong
        entries = [_added(entry, first) for entry, first in zip(again.entries, wrong.entries, strict=True)]
        return replace(again, entries=tuple(entries))

    async def _ask(self, call: Call, prompt: Prompt) -> _Answered:
        reply, cost = await self._paid(prompt, len(call.questions), call.name(self._client.identity))
        told = {} if self._terms.price is None else {"cost_usd": cost / len(call.questions)}
        entries = []
        for question, own in zip(call.questions, call.replies(reply), strict=True):
            entry = settle(question.request, self._client.identity, own, question.context)
            entries.append(entry.model_copy(update=told))
        self._progress.failed_calls += all(entry.status not in _NOT_FAILED for entry in entries)
        return _Answered(call, tuple(entries), reply)

    async def _paid(self, prompt: Prompt, questions: int, name: str) -> tuple[Reply, float]:
        """One call within the budget and what it cost; over the budget, a reply of that status and no call."""
        budget = self._terms.budget
        reckoned = prompt_usage(prompt, self._answer_tokens * questions)  # as long an answer as any so far
        estimate = self._terms.price.cost(reckoned) if self._terms.price is not None else 0.0
        if budget is not None and not budget.reserve(estimate):
            return failed("budget", "the budget of this session is spent"), 0.0
        cost = estimate  # of a call that is broken off: it may be billed
        progress = self._progress
        progress.calls += 1
        progress.unpriced += self._terms.price is None
        try:
            reply = await self._client.ask(replace(prompt, name=name))
            cost = self._cost(reply, reckoned, estimate)
            self._answer_tokens = max(self._answer_tokens, (reply.usage.output_tokens or 0) // questions)
        finally:
            if budget is not None:
                budget.settle(estimate, cost)
        if reply.text is not None:
            self._pace.answered()
            self._last_answer = time.monotonic()
        usage = reply.usage
        progress.uncounted += usage.input_tokens is None or usage.output_tokens is None
        progress.input_tokens += usage.input_tokens or 0
        progress.cached_tokens += usage.cached_tokens or 0
        progress.output_tokens += usage.output_tokens or 0
        progress.cost_usd += cost
        return reply, cost

    def _cost(self, reply: Reply, reckoned: JudgeUsage, estimate: float) -> float:
        """What a call cost. One that nobody counted costs the estimate, unless the provider turned it away, and so does
        each attempt that was lost on its way back; of one that was counted in part, the other part is reckoned."""
        usage = reply.usage
        if self._terms.price is None:
            return 0.0
        lost = reply.lost * estimate
        if usage.input_tokens is None and usage.output_tokens is None:
            return lost if lost or reply.status in UNBILLED else estimate
        return self._terms.price.cost(filled(usage, reckoned)) + lost


def prompt_usage(prompt: Prompt, answer_tokens: int) -> JudgeUsage:
    """The tokens that a prompt and an answer of so many come to, before anybody has counted them."""
    size = Size.of(prompt)
    return JudgeUsage(input_tokens=size.prefix + size.last, output_tokens=answer_tokens)


def _added(entry: LedgerEntry, first: LedgerEntry) -> LedgerEntry:
    """`entry` with what an earlier answer to the same question took."""
    cost = None if entry.cost_usd is None else entry.cost_usd + (first.cost_usd or 0.0)
    return entry.model_copy(update={"usage": _sum(first.usage, entry.usage), "cost_usd": cost})


def _sum(a: JudgeUsage, b: JudgeUsage) -> JudgeUsage:
    def add(x: int | None, y: int | None) -> int | None:
        return None if x is None and y is None else (x or 0) + (y or 0)

    return JudgeUsage(
        input_tokens=add(a.input_tokens, b.input_tokens),
        output_tokens=add(a.output_tokens, b.output_tokens),
        cached_tokens=add(a.cached_tokens, b.cached_tokens),
    )
