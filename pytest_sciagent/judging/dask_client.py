"""Questions sent to a Dask cluster: each is asked by one of its workers, and only this process records the answer.

Each future is named after the ledger key of what it asks. What a worker that died was asking goes to another one. A key
for the provider never travels: every worker takes it from its own environment.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from distributed import Client as DaskSession
from distributed import WorkerPlugin, get_worker

from ..errors import SciagentError
from ..models import JudgeIdentity
from ..text import one_line
from .clients import Prompt, Reply, failed, make_client
from .quota import Gates
from .sdk_client import SdkClient

CONNECT_S = 15.0
WORKERS_S = 120.0
"""How long to wait for the first worker: an engine on a cluster may still be starting them."""
RETRIES = 2
"""How often a call is made again that ended by an exception, not by a reply."""
PLUGIN = "sciagent-judges"


@dataclass(frozen=True)
class Asked:
    """Who is to be asked, as a worker is told: the judge's identity as JSON, server, seconds for one attempt, and the
    version that asks."""

    identity: str
    base_url: str | None
    timeout_s: float
    version: str = field(default_factory=partial(version, "pytest-sciagent"))


class Judges(WorkerPlugin):  # type: ignore[misc]
    """The connections that one worker has to judges: made once each, closed with the worker."""

    name = PLUGIN
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Begin without any connection."""
        self._clients: dict[Asked, SdkClient] = {}
        self._busy: dict[Asked, float] = {}

    async def teardown(self, worker: Any) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.close()

    async def ask(self, asked: Asked, prompt: Prompt) -> tuple[Reply, float]:
        """The reply to `prompt`, and the seconds that a busy provider has asked to wait meanwhile."""
        if asked.version != (mine := version("pytest-sciagent")):
            why = f"a worker has pytest-sciagent {mine}, this session {asked.version}"
            return failed("provider_error", why, code="version", fatal=True), 0.0
        try:
            client = self._client(asked)
        except SciagentError as error:
            return failed("provider_error", f"on a worker: {error}", code="settings", fatal=True), 0.0
        reply = await client.ask(prompt)
        return reply, self._busy.pop(asked, 0.0)

    def _client(self, asked: Asked) -> SdkClient:
        if asked not in self._clients:
            identity = JudgeIdentity.model_validate_json(asked.identity)
            client = make_client(identity, base_url=asked.base_url, api_key=None, timeout_s=asked.timeout_s)
            client.on_busy = lambda seconds: self._busy.update({asked: max(seconds, self._busy.get(asked, 0.0))})
            self._clients[asked] = client
        return self._clients[asked]


async def ask_here(asked: Asked, prompt: Prompt) -> tuple[Reply, float]:
    """Ask `prompt` from the worker that this runs on."""
    judges: Judges = get_worker().plugins[PLUGIN]
    return await judges.ask(asked, prompt)


class DaskClient:
    """A judge that is asked by the workers of a Dask cluster. See `clients.Client`.

    Args:
        identity: who answers.
        address: the scheduler's address, or the path of the file in which it has written that.
        base_url: as for `make_client`; workers that are given none look into their own environment.
        timeout_s: seconds for one attempt of a worker.
        gates: rates that every call keeps before it is handed to the cluster.
    """

    def __init__(
        self, identity: JudgeIdentity, address: str, base_url: str | None, timeout_s: float, gates: Gates | None = None
    ) -> None:
        self.identity = identity
        self.on_busy: Callable[[float], None] | None = None
        self._address = address
        self._asked = Asked(identity.model_dump_json(), base_url, timeout_s)
        self._gates = gates
        self._opening = asyncio.Lock()
        self._session: Any = None
        self._broken: Exception | None = None
        self._name = secrets.token_hex(4)
        self._tries: Counter[str] = Counter()

    async def ask(self, prompt: Prompt) -> Reply:
        """See `Client`."""
        started = time.monotonic()
        sent = sum(len(text.encode("utf-8", "replace")) for text in (prompt.system, prompt.shared, prompt.last))
        try:
            session = await self._connected()
        except Exception as error:  # whatever its transports raise: nothing can be asked
            return self._unreachable(error)
        if self._gates is not None and (wait := self._gates.reserve(sent)) > 0:
            await asyncio.sleep(wait)
        future = session.submit(ask_here, self._asked, prompt, key=self._key(prompt), retries=RETRIES)
        try:
            reply: Reply
            reply, busy = await future
        except Exception as error:  # a worker's, or the cluster's own; the end of a task is not among them
            return self._failure(error, session)
        if self._gates is not None:
            self._gates.correct(sent, reply.usage)
        if busy:
            self._told_busy(busy)
        return replace(reply, latency_s=time.monotonic() - started)

    def _key(self, prompt: Prompt) -> str:
        """The name of a future: what is asked, and which time in which session, as a failure may be asked again."""
        self._tries[prompt.name] += 1
        return f"sciagent-{prompt.name}-{self._name}-{self._tries[prompt.name]}"

    def _told_busy(self, seconds: float) -> None:
        if self._gates is not None:
            self._gates.penalise(seconds)
        if self.on_busy is not None:
            self.on_busy(seconds)

    async def _connected(self) -> Any:
        async with self._opening:
            if self._broken is not None:  # once is enough: many calls wait here together
                raise self._broken
            if self._session is None:
                try:
                    self._session = await self._open()
                except Exception as error:
                    self._broken = error
                    raise
        return self._session

    async def _open(self) -> Any:
        where = {"scheduler_file" if Path(self._address).is_file() else "address": self._address}
        session = DaskSession(
            **where, asynchronous=True, set_as_default=False, timeout=CONNECT_S, name="pytest-sciagent"
        )
        try:
            await session
            await session.wait_for_workers(1, timeout=WORKERS_S)
            await session.register_plugin(Judges())
        except BaseException:
            await session.close()
            raise
        return session

    def _unreachable(self, error: Exception) -> Reply:
        words = one_line(f"{type(error).__name__}: {error}", 300)
        return failed("provider_error", f"the Dask cluster {self._address}: {words}", code="dask", fatal=True)

    def _failure(self, error: Exception, session: Any) -> Reply:
        # While the scheduler stands, an error speaks of one call alone.
        if session.status != "running" or isinstance(error, ImportError):
            return self._unreachable(error)
        return failed("provider_error", one_line(f"{type(error).__name__}: {error}", 300), code="dask")

    async def close(self) -> None:
        """Leave the cluster as it is; what this client has asked and nobody waits for is dropped."""
        if self._session is not None:
            await self._session.close()
