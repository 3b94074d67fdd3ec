"""The pump: open questions are asked by one event loop, many at a time, and each answer is recorded at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import SciagentError
from .clients import Client
from .requests import AnswerContext, Request
from .settle import settle


@dataclass(frozen=True)
class Question:
    """An open question and the run it belongs to. Questions of one `group` share a prompt prefix."""

    request: Request
    context: AnswerContext
    group: str


@dataclass
class Progress:
    """How far the pump is."""

    total: int
    done: int = 0
    failed: int = 0
    fatal: str | None = None


def pump(
    questions: Sequence[Question],
    client: Client,
    in_flight: int,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Ask all `questions`, at most `in_flight` at a time; the first of each group goes alone, so that it warms the
    provider's prefix cache for the others. After an answer that says no call can succeed, nothing more is asked.

    Ctrl-C leaves at once; what was answered by then is recorded.

    Raises:
        SciagentError: an answer can't be recorded.
    """
    try:
        return asyncio.run(_pump(questions, client, in_flight, on_progress))
    except ExceptionGroup as group:
        unrecorded = group.subgroup(SciagentError)
        if unrecorded is None:
            raise
        raise unrecorded.exceptions[0] from None


async def _pump(
    questions: Sequence[Question], client: Client, in_flight: int, on_progress: Callable[[Progress], None]
) -> Progress:
    progress = Progress(len(questions))
    slots = asyncio.Semaphore(in_flight)
    warm: dict[str, asyncio.Event] = {}

    async def one(question: Question, leads: bool) -> None:
        event = warm[question.group]
        if not leads:
            await event.wait()
        try:
            async with slots:
                if progress.fatal is not None:
                    return
                reply = await client.ask(question.request.make_prompt())
            if reply.fatal:
                progress.fatal = progress.fatal or reply.detail
                return
            entry = settle(question.request, client.identity, reply, question.context)
            question.context.keep(entry)
            progress.done += 1
            progress.failed += entry.status != "assessed"
            on_progress(progress)
        finally:
            event.set()

    try:
        async with asyncio.TaskGroup() as tasks:
            for question in questions:
                leads = question.group not in warm
                if leads:
                    warm[question.group] = asyncio.Event()
                tasks.create_task(one(question, leads))
    finally:
        await client.close()
    return progress
