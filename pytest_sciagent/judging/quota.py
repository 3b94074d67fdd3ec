"""Rates and budgets that hold across processes: a small locked file each, no server, no daemon.

A rate is a generic cell rate algorithm (GCRA): one number says when the next unit is due. It is taken for every
attempt, retries included; a 429 makes every process wait.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ..models import JudgeUsage

_STATE = struct.Struct("dd")
_SPENT_BYTES = 256
MAX_WAIT_S = 3600.0
BURST_S = 0.1
BYTES_PER_TOKEN = 3.5
IMAGE_TOKENS = 1600
"""What an image is reckoned at: about as many as providers count for one of a million pixels or more."""


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

    They go evenly: after a pause no more than a tenth of a second's worth goes at once, since providers count by the
    second or less.

    Raises:
        ValueError: a rate that is not above 0.
    """

    def __init__(self, path: Path, per_minute: float) -> None:
        if not per_minute > 0:
            raise ValueError(f"a rate must be above 0 a minute, not {per_minute:g}")
        self._path = path
        self._interval = 60.0 / per_minute

    def reserve(self, units: float = 1.0) -> float:
        """Take `units` and return how many seconds to wait before using them; a negative number gives units back."""
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


@dataclass(frozen=True)
class Gates:
    """The rates that every attempt to reach a provider keeps: requests, and tokens by the size of what is sent."""

    requests: RateGate | None = None
    tokens: RateGate | None = None

    def reserve(self, sent_bytes: int) -> float:
        """Take what one attempt needs, and return how many seconds it must wait."""
        waits = [0.0]
        if self.requests is not None:
            waits.append(self.requests.reserve())
        if self.tokens is not None:
            waits.append(self.tokens.reserve(estimate_tokens(sent_bytes)))
        return max(waits)

    def penalise(self, seconds: float) -> None:
        """Let no attempt of any process start for `seconds`."""
        for gate in (self.requests, self.tokens):
            if gate is not None:
                gate.penalise(seconds)

    def correct(self, sent_bytes: int, usage: JudgeUsage) -> None:
        """Put the tokens that the provider counted, answer and cached ones included, in the place of the estimate."""
        if self.tokens is not None and usage.input_tokens is not None:
            counted = usage.input_tokens + (usage.output_tokens or 0)
            self.tokens.reserve(counted - estimate_tokens(sent_bytes))


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
    """Calls and cost of one session, shared by every process that uses the same file.

    A process that is killed leaves what it had reserved reserved: its calls may have been billed.
    """

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
    data = os.pread(descriptor, _SPENT_BYTES, 0)
    return Spent(**json.loads(data)) if data else Spent()


def _keep(descriptor: int, spent: Spent) -> None:
    # One write of one length: a kill leaves the old numbers or the new ones.
    os.pwrite(descriptor, json.dumps(asdict(spent)).encode().ljust(_SPENT_BYTES), 0)


def estimate_tokens(size: int) -> int:
    """Tokens of a text of `size` bytes, before anybody has counted them."""
    return max(1, round(size / BYTES_PER_TOKEN))
