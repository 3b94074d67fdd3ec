"""Batches of open questions: handed to a provider, and their answers taken in when they have come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from ..digest import sha256_json
from ..judging.batch import (
    BatchLine,
    BatchState,
    address_of,
    collect_batch,
    forget_batch,
    open_batches,
    submit_batch,
)
from ..judging.clients import Prompt, Reply
from ..judging.layouts import Call, calls_of, take_apart
from ..judging.prices import Price
from ..judging.pump import ANSWER_TOKENS, ROOM, UNBILLED, Progress, Terms, prompt_usage
from ..judging.requests import AnswerContext, Question
from ..judging.settle import settle_asked
from ..models import JudgeIdentity, LedgerEntry
from ..text import counted

Standing = Literal["running", "ended", "failed", "elsewhere"]


@dataclass(frozen=True)
class Collected:
    """What was made of one batch.

    status: `elsewhere`: it was submitted to another address than the one in use, which is not asked.
    answers, failures: how many were taken in. waiting: runs whose answers are there, but which were not given.
    spent: what the prompts took whose answers were taken in now.
    """

    state: BatchState
    status: Standing
    detail: str = ""
    answers: int = 0
    failures: int = 0
    waiting: tuple[str, ...] = ()
    spent: Progress = field(default_factory=lambda: Progress(0))

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be had of it."""
        return self.status == "failed" or (self.status == "ended" and not self.waiting)

    def told(self) -> str:
        """What became of it, in one line."""
        state = self.state
        name = f"batch {state.batch_id} ({state.judge.label}, {counted(len(state.questions), 'question')})"
        if self.status == "elsewhere":
            return f"{name}: submitted to {state.base_url}; to collect it, give that as the base URL"
        if self.status != "ended":
            return f"{name}: {self.status}: {self.detail}"
        lost = len(state.questions) - self.answers - self.failures
        parts = [counted(self.answers, "answer") + " taken in"]
        parts += [f"{self.failures} failed"] if self.failures else []
        if self.waiting:
            parts.append(f"those of {', '.join(self.waiting)} wait until these runs are given too")
        elif lost:
            parts.append(f"{lost} not answered")
        return f"{name}: {self.detail}: {', '.join(parts)}"


@dataclass(frozen=True)
class Submitted:
    """Batches that were made, and how many questions stayed out because of the budget."""

    states: tuple[BatchState, ...]
    over_budget: int


def collect_batches(
    folder: Path,
    contexts: Mapping[str, AnswerContext],
    judge: JudgeIdentity | None,
    *,
    base_url: str | None,
    price_of: Callable[[JudgeIdentity], Price | None],
) -> list[Collected]:
    """Ask how the open batches of `judge` (None: of any) stand, and take in the answers of those that have ended.

    `contexts` are those of runs, by label. A batch that `is_over` should then be forgotten (`forget_batch`), as soon as
    what was taken in is recorded for good; collecting it twice does no harm.

    Raises:
        SciagentError: a provider can't be asked, or an answer can't be recorded.
    """
    return [
        _collect(state, contexts, base_url, price_of(state.judge))
        for state in open_batches(folder)
        if judge is None or state.judge == judge
    ]


def look_at_batches(folder: Path, base_url: str | None) -> list[tuple[str, bool]]:
    """How each open batch stands, told in one line, and whether it is still running.

    Raises:
        SciagentError: a provider can't be asked.
    """
    told = []
    for state in open_batches(folder):
        if address_of(state.judge, base_url) != state.base_url:
            told.append((Collected(state, "elsewhere").told(), True))
            continue
        outcome = collect_batch(state, api_key=None)
        name = f"batch {state.batch_id} ({state.judge.label}, {counted(len(state.questions), 'question')})"
        since = f"submitted {state.submitted_at:%Y-%m-%d %H:%M} UTC"
        there = f", {len(outcome.replies)} of {counted(len(state.keys), 'prompt')} answered" if outcome.replies else ""
        told.append((f"{name}: {outcome.status}: {outcome.detail}{there}; {since}", outcome.status == "running"))
    return told


def _collect(
    state: BatchState, contexts: Mapping[str, AnswerContext], base_url: str | None, price: Price | None
) -> Collected:
    # The file says where the batch is, but the key is sent only where the user sends it anyway.
    if address_of(state.judge, base_url) != state.base_url:
        return Collected(state, "elsewhere")
    outcome = collect_batch(state, api_key=None)
    if outcome.status != "ended":
        return Collected(state, outcome.status, outcome.detail)
    entries: list[LedgerEntry] = []
    waiting: list[str] = []
    spent = Progress(0)
    for key, reply in outcome.replies.items():
        line = state.lines.get(key)
        context = contexts.get(line.run) if line is not None else None
        if line is None or context is None:
            waiting += [line.run] if line is not None else []
            continue
        told = list(_entries(state.judge, line, reply, price, context))
        entries += told
        new = [entry for entry in told if not _is_known(entry, state, context)]
        for entry in new:
            context.collect(entry)
        if new:
            _count_call(spent, reply, told)
    answered = sum(entry.settles for entry in entries)
    runs = tuple(sorted(set(waiting)))
    return Collected(state, "ended", outcome.detail, answered, len(entries) - answered, runs, spent)


def _count_call(spent: Progress, reply: Reply, entries: Sequence[LedgerEntry]) -> None:
    """Add one prompt of a batch, which may have asked several questions, to what is spent."""
    usage = reply.usage
    costs = [entry.cost_usd for entry in entries if entry.cost_usd is not None]
    spent.calls += 1
    spent.failed_calls += not any(entry.settles for entry in entries)
    spent.unpriced += not costs
    spent.uncounted += usage.input_tokens is None or usage.output_tokens is None
    spent.input_tokens += usage.input_tokens or 0
    spent.cached_tokens += usage.cached_tokens or 0
    spent.output_tokens += usage.output_tokens or 0
    spent.cost_usd += sum(costs)


def _entries(
    judge: JudgeIdentity, line: BatchLine, reply: Reply, price: Price | None, context: AnswerContext
) -> Iterator[LedgerEntry]:
    asked = line.questions
    replies = take_apart(reply, [a.criterion_id for a in asked]) if line.shared else [reply]
    counted = reply.usage.input_tokens is not None and reply.usage.output_tokens is not None
    cost = None if price is None or not counted else price.cost(reply.usage) / len(asked)
    if price is not None and reply.status in UNBILLED:
        cost = 0.0
    for question, own in zip(asked, replies, strict=True):
        yield settle_asked(question, judge, own, context).model_copy(update={"cost_usd": cost})


def _is_known(entry: LedgerEntry, state: BatchState, context: AnswerContext) -> bool:
    """Whether this answer was taken in before, by a session that was killed before it forgot the batch."""
    known = context.ledger.get(entry.key)
    return known is not None and known.settles and datetime.fromisoformat(known.time) >= state.submitted_at


def submit_questions(
    questions: Sequence[Question], judge: JudgeIdentity, *, base_url: str | None, folder: Path, terms: Terms
) -> Submitted:
    """Submit `questions` in the judge's layout, as far as the budget allows. Those in flight must not be among them.

    Raises:
        SciagentError: see `submit_batch`.
    """
    lines: dict[str, BatchLine] = {}
    calls: dict[str, Call] = {}
    over = 0
    for call in calls_of(questions, judge):
        if not _affordable(call, terms):
            over += len(call.questions)
            continue
        asked = tuple(question.request.asked(judge) for question in call.questions)
        line = BatchLine(run=call.questions[0].run, questions=asked, shared=call.shared)
        name = _name(line)
        lines[name], calls[name] = line, call
    if not calls:
        return Submitted((), over)
    states = submit_batch(_Prompts(calls, judge), judge, base_url=base_url, api_key=None, folder=folder, lines=lines)
    return Submitted(tuple(states), over)


def questions_in_flight(folder: Path, judge: JudgeIdentity) -> set[tuple[str, str]]:
    """Run label and ledger key of the questions that `judge` is being asked by open batches.

    Raises:
        SciagentError: a batch's file that can't be read.
    """
    return {question for state in open_batches(folder) if state.judge == judge for question in state.questions}


def forget_what_is_over(folder: Path, collected: Sequence[Collected]) -> None:
    """Forget the batches of which nothing more is to be had.

    Raises:
        SciagentError: a file can't be removed.
    """
    for batch in collected:
        if batch.is_over:
            forget_batch(folder, batch.state)


class _Prompts(Mapping[str, Prompt]):
    """The prompts of calls, each made when it is sent: a large cohort's don't fit into memory at once."""

    def __init__(self, calls: Mapping[str, Call], judge: JudgeIdentity) -> None:
        self._calls, self._judge = calls, judge

    def __getitem__(self, name: str) -> Prompt:
        call = self._calls[name]
        return replace(call.prompt(), room=ROOM) if _was_cut(call, self._judge) else call.prompt()

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)


def _name(line: BatchLine) -> str:
    """The id of a line: a digest of the run and the questions, since equal runs have equal keys."""
    return sha256_json([line.run, *sorted(asked.key for asked in line.questions)])


def _was_cut(call: Call, judge: JudgeIdentity) -> bool:
    """Whether an answer to it was cut at the judge's cap of output. A live call is made once more with more room; of a
    batch it is seen only when it is over, so the next one gives the room: under the same cap it would be cut again."""
    known = (question.context.ledger.get(question.request.key(judge)) for question in call.questions)
    return any(entry is not None and entry.status == "truncated" for entry in known)


def _affordable(call: Call, terms: Terms) -> bool:
    """Whether the budget allows for a call, by what it may cost; then it counts as spent."""
    if terms.budget is None:
        return True
    cost = 0.0
    if terms.price is not None:
        cost = terms.price.cost(prompt_usage(call.prompt(), ANSWER_TOKENS * len(call.questions)))
    if not terms.budget.reserve(cost):
        return False
    terms.budget.settle(cost, cost)
    return True
