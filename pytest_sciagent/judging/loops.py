"""Where coroutines run: in a loop of this thread, or beside one that is running already, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
LOOK_S = 0.2
"""How often it is looked whether the waiting task has been cancelled."""


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns. Where this thread's loop is running already, `work` has a thread of its own; Ctrl-C, or the
    cancellation of the task that waits for it, ends it there, too, before it is raised here.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def watched() -> T:
        task = asyncio.ensure_future(work)
        running.append((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(max_workers=1) as pool:
        done = pool.submit(lambda: asyncio.run(watched()))
        try:
            return _result(done)
        except (KeyboardInterrupt, asyncio.CancelledError):
            for loop, task in running:
                loop.call_soon_threadsafe(task.cancel)
            raise


def _result(done: Future[T]) -> T:
    """The result of what another thread does. A notebook raises Ctrl-C here; a program's loop cancels its task, which
    it could not tell while it waits."""
    waiting = asyncio.current_task()
    while True:
        try:
            return done.result(timeout=LOOK_S)
        except TimeoutError:
            if done.done():
                raise
            if waiting is not None and waiting.cancelling():
                raise asyncio.CancelledError from None
