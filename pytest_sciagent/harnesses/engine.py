"""A Dask cluster as an engine: the connection with it, what its workers tell, and what a worker knows of its work."""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from distributed import Client as DaskSession
from distributed import get_worker

from ..errors import SciagentError
from ..text import one_line

CONNECT_S = 15.0
WORKERS_S = 120.0
"""How long to wait for the first worker: an engine on a cluster may still be starting them."""
RETRIES = 2
"""How often work begins anew because its worker was lost."""
HANDED_OUT = 32
"""How many futures are with the cluster at a time at least: each takes its task's data there."""
_ENDING = ("closing", "closed", "failed")
"""States of a worker in which nobody will ask it for a result: it was told to end, or has lost its scheduler."""


@contextlib.contextmanager
def without_its_log() -> Iterator[None]:
    """Dask logs a lost connection with a traceback; here it is told as what it means for the work."""
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


def connected(address: str) -> Any:
    """A session with the cluster at `address`, once it has a worker.

    Raises:
        SciagentError: it can't be reached.
    """
    where = {"scheduler_file" if Path(address).is_file() else "address": address}
    session = None
    try:
        session = DaskSession(**where, set_as_default=False, timeout=CONNECT_S, name="pytest-sciagent")
        session.wait_for_workers(1, timeout=WORKERS_S)
    except Exception as error:  # whatever its transports raise: nothing can be run
        if session is not None:
            session.close()
        told = f"the Dask cluster {address}: {type(error).__name__}: {error}"
        raise SciagentError(one_line(told, 300)) from None
    return session


def handed_out(session: Any) -> int:
    """How many futures may be with the cluster at a time."""
    threads: dict[str, int] = session.nthreads()
    return max(HANDED_OUT, 2 * sum(threads.values()))


class Told:
    """What workers tell of the work that names this topic; `begun` counts how often each piece has begun, by name."""

    def __init__(self, session: Any) -> None:
        self.topic = f"sciagent-work-{secrets.token_hex(8)}"
        self.begun: Counter[str] = Counter()
        self._events: SimpleQueue[Mapping[str, str]] = SimpleQueue()
        session.subscribe_topic(self.topic, lambda event: self._events.put(event[1]))

    def new(self) -> Iterator[Mapping[str, str]]:
        """What was told since this was last asked."""
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                return
            if "begun" in event:
                self.begun[str(event.get("name"))] += 1
            yield event

    def lost_for_good(self, name: str) -> bool:
        """Whether as many workers were lost with this work as it may lose."""
        return self.begun[name] > RETRIES


class Unwanted(Exception):
    """Nobody waits for this work any more."""


class AtWork:
    """What a worker knows of the work that it is at in this thread."""

    def __init__(self, topic: str, name: str) -> None:
        self._topic = topic
        self._name = name
        self._worker: Any = get_worker()
        self._key = self._worker.get_current_task()

    @property
    def folder(self) -> str:
        """The worker's own folder, of which Dask leaves nothing: where a worker is killed, the next one removes it."""
        return str(self._worker.local_directory)

    def begin(self, text: str) -> None:
        self.tell(text, begun=self._worker.address)

    def tell(self, text: str, **more: str) -> None:
        self._worker.log_event(self._topic, {"name": self._name, "text": one_line(text, 500), **more})

    def check_wanted(self) -> None:
        """Raises:
        Unwanted: the session has gone or has given this work up, or the worker is ending.
        """
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled" or self._worker.status.name in _ENDING:
            raise Unwanted
