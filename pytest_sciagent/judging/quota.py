"""Rates and budgets that hold across processes: a small locked file each, no server, no daemon.

A rate is a generic cell rate algorithm (GCRA): one number says when the next unit is due. It is taken for every
attempt, in the SDK's transport, so that retries count; a 429 makes every process wait.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

_STATE = struct.Struct("dd")
MAX_WAIT_S = 3600.0
BURST_S = 1.0


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file at `path`, held alone among processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


class RateGate:
    """At most `per_minute` units a minute, shared by every process that uses the same file.

    At most one second's worth of units goes at once after a pause.
    """

    def __init__(self, path: Path, per_minute: float) -> None:
        self._path = path
        self._interval = 60.0 / per_minute

    def reserve(self, units: float = 1.0) -> float:
        """Take `units` and return how many seconds to wait before using them."""
        now = time.time()
        with _locked(self._path) as descriptor:
            due, blocked = _read(descriptor, now)
            start = max(due, now - BURST_S, blocked)
            _write(descriptor, start + units * self._interval, blocked)
        return max(0.0, start - now)

    def penalise(self, seconds: float) -> None:
        """Let nobody start for `seconds` from now: the provider said so."""
        now = time.time()
        with _locked(self._path) as descriptor:
            due, blocked = _read(descriptor, now)
            _write(descriptor, due, max(blocked, now + min(seconds, MAX_WAIT_S)))

    async def wait(self, units: float = 1.0) -> None:
        """Take `units` and wait for them."""
        delay = self.reserve(units)
        if delay > 0:
            await asyncio.sleep(delay)


def _read(descriptor: int, now: float) -> tuple[float, float]:
    data = os.pread(descriptor, _STATE.size, 0)
    if len(data) < _STATE.size:
        return 0.0, 0.0
    due, blocked = _STATE.unpack(data)
    # A clock that was set back must not make anybody wait for hours.
    return (due if due < now + MAX_WAIT_S else 0.0), (blocked if blocked < now + MAX_WAIT_S else 0.0)


def _write(descriptor: int, due: float, blocked: float) -> None:
    os.pwrite(descriptor, _STATE.pack(due, blocked), 0)


@dataclass
class Spent:
    """What was spent under one budget. `reserved` is what calls in flight may still cost."""

    calls: int = 0
    cost_usd: float = 0.0
    reserved_usd: float = 0.0


class Budget:
    """Calls and cost of one session, shared by every process that uses the same file."""

    def __init__(self, path: Path, *, max_calls: int | None = None, max_cost_usd: float | None = None) -> None:
        self._path = path
        self._max_calls = max_calls
        self._max_cost = max_cost_usd

    def reserve(self, estimate_usd: float = 0.0) -> bool:
        """Reserve one call that may cost `estimate_usd`; False where that would go over the budget."""
        with _locked(self._path) as descriptor:
            spent = _spent(descriptor)
            if self._max_calls is not None and spent.calls >= self._max_calls:
                return False
            over = spent.cost_usd + spent.reserved_usd + estimate_usd
            if self._max_cost is not None and over > self._max_cost:
                return False
            spent.calls += 1
            spent.reserved_usd += estimate_usd
            _keep(descriptor, spent)
        return True

    def settle(self, estimate_usd: float, cost_usd: float) -> None:
        """Put what a call really cost in the place of its estimate."""
        with _locked(self._path) as descriptor:
            spent = _spent(descriptor)
            spent.reserved_usd = max(0.0, spent.reserved_usd - estimate_usd)
            spent.cost_usd += cost_usd
            _keep(descriptor, spent)

    @property
    def spent(self) -> Spent:
        with _locked(self._path) as descriptor:
            return _spent(descriptor)


def _spent(descriptor: int) -> Spent:
    data = os.pread(descriptor, 4096, 0)
    return Spent(**json.loads(data)) if data else Spent()


def _keep(descriptor: int, spent: Spent) -> None:
    data = json.dumps(asdict(spent)).encode()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, data, 0)


def gated(transport: httpx2.AsyncBaseTransport, requests: RateGate | None, tokens: RateGate | None) -> Any:
    """`transport` behind the gates: each attempt takes one request, and tokens by the size of what is sent."""
    import httpx2

    class Gated(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if requests is not None:
                await requests.wait()
            if tokens is not None:
                await tokens.wait(estimate_tokens(int(request.headers.get("content-length") or 0)))
            response = await transport.handle_async_request(request)
            if response.status_code == 429 and requests is not None:
                requests.penalise(_retry_after(response.headers.get("retry-after")))
            return response

        async def aclose(self) -> None:
            await transport.aclose()

    return Gated()


def estimate_tokens(characters: int) -> int:
    """Tokens of a text, before anybody has counted them: 3.5 bytes each."""
    return max(1, round(characters / 3.5))


def _retry_after(value: str | None) -> float:
    try:
        return max(0.0, float(value or 1.0))
    except ValueError:
        return 1.0
