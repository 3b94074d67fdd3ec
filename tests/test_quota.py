"""Rates and budgets hold across processes; prices come from tables or from the user."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from loopback import Answer, Loopback, Raw

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.judging.clients import Prompt, Reply, make_client
from pytest_sciagent.judging.prices import Price, find_price, parse_price
from pytest_sciagent.judging.quota import Budget, Gates, RateGate
from pytest_sciagent.models import JudgeIdentity, JudgeUsage


def _take(path: str, seconds: float, queue: multiprocessing.Queue[list[float]]) -> None:
    gate = RateGate(Path(path), per_minute=60 * 40)
    granted = []
    end = time.time() + seconds
    while time.time() < end:
        time.sleep(gate.reserve())
        granted.append(time.time())
    queue.put(granted)


def test_a_rate_holds_across_processes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[list[float]] = context.Queue()
    workers = [context.Process(target=_take, args=(str(tmp_path / "rate"), 2.0, queue)) for _ in range(3)]
    for worker in workers:
        worker.start()
    times = sorted(t for _ in workers for t in queue.get())
    for worker in workers:
        worker.join()
    busiest = max(sum(t <= u < t + 1 for u in times) for t in times)
    # 40 a second, four that may go at once after a pause, and some that woke up late.
    assert busiest <= 55
    assert len(times) >= 40


def test_a_penalty_makes_everybody_wait(tmp_path: Path) -> None:
    first, second = (RateGate(tmp_path / "rate", per_minute=60_000) for _ in range(2))
    first.penalise(5.0)
    assert 4.5 < second.reserve() <= 5.0


def test_a_clock_set_back_does_not_block(tmp_path: Path) -> None:
    gate = RateGate(tmp_path / "rate", per_minute=60)
    import struct

    (tmp_path / "rate").write_bytes(struct.pack("dd", time.time() + 1e6, time.time() + 1e6))
    assert gate.reserve() == 0


def test_a_budget_counts_what_is_in_flight(tmp_path: Path) -> None:
    budget, other = (Budget(tmp_path / "budget", max_cost_usd=1.0) for _ in range(2))
    assert budget.reserve(0.6)
    assert not other.reserve(0.6)
    budget.settle(0.6, 0.1)
    assert other.reserve(0.6)
    assert other.spent.calls == 2
    assert other.spent.cost_usd == pytest.approx(0.1)
    calls = Budget(tmp_path / "calls", max_calls=2)
    assert [calls.reserve() for _ in range(3)] == [True, True, False]


def test_a_budgets_file_is_written_in_one_piece(tmp_path: Path) -> None:
    """Small numbers after large ones leave nothing of them behind."""
    budget = Budget(tmp_path / "budget", max_cost_usd=1e9)
    for estimate in (123456.789012345, 0.0, 1 / 3):
        assert budget.reserve(estimate)
        budget.settle(estimate, 0.0)
    assert (budget.spent.calls, budget.spent.cost_usd) == (3, 0)
    assert (tmp_path / "budget").stat().st_size == 256


def test_prices() -> None:
    price = parse_price("2/0.2/8")
    usage = JudgeUsage(input_tokens=1_000_000, cached_tokens=500_000, output_tokens=250_000)
    assert price.cost(usage) == pytest.approx(1.0 + 0.1 + 2.0)
    assert parse_price("2/8") == Price(2.0, 8.0)
    for bad in ("2", "a/b", "-1/2", "nan/1", "1/2/3/4"):
        with pytest.raises(SciagentError, match="write IN/OUT"):
            parse_price(bad)
    assert find_price(JudgeIdentity(kind="openai", model="no-such-model")) is None
    assert find_price(JudgeIdentity(kind="handoff", model="x")) is None
    listed = find_price(JudgeIdentity(kind="openai", model="gpt-4o"))
    assert listed is not None
    assert listed.output > listed.input > 0


# Gates of a client


pytestmark = pytest.mark.usefixtures("plain_http")


PROMPT = Prompt("You judge.", "Evidence.", "Question.", "answer", {"type": "object"})
both = pytest.mark.parametrize("kind", ["openai", "anthropic"])


def ask(url: str, kind: str, gates: Gates, number: int, **settings: Any) -> list[Reply]:
    """The replies to `number` prompts, eight of them in flight."""

    async def ask_all() -> list[Reply]:
        client = make_client(JudgeIdentity(kind=kind, model="m"), base_url=url, api_key=None, gates=gates, **settings)
        in_flight = asyncio.Semaphore(8)

        async def one() -> Reply:
            async with in_flight:
                return await client.ask(PROMPT)

        try:
            return await asyncio.gather(*(one() for _ in range(number)))
        finally:
            await client.close()

    return asyncio.run(ask_all())


def _ask_elsewhere(url: str, kind: str, path: str, queue: multiprocessing.Queue[Any]) -> None:
    gates = Gates(RateGate(Path(path), per_minute=60 * 20))
    queue.put(Counter(reply.status for reply in ask(url, kind, gates, 30, max_retries=0)))


def test_askers_of_two_processes_keep_a_rate(tmp_path: Path) -> None:
    """Eight in flight with either SDK, 20 a second allowed, no retries: not one is turned away."""
    moments: list[float] = []

    def limited(request: dict[str, Any], n: int) -> Answer | Raw:
        now = time.monotonic()
        if sum(now - moment < 1 for moment in moments) >= 30:  # half as many again: a busy machine wakes up late
            return Raw(429, {"error": {"message": "Slow down."}})
        moments.append(now)
        return Answer({"fine": True}, delay_s=0.05)

    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[Counter[str]] = context.Queue()
    with Loopback(limited) as server:
        given = [(server.openai_url, kind, str(tmp_path / "rate"), queue) for kind in ("openai", "anthropic")]
        workers = [context.Process(target=_ask_elsewhere, args=args) for args in given]
        for worker in workers:
            worker.start()
        found = sum((queue.get(timeout=60) for _ in workers), Counter[str]())
        for worker in workers:
            worker.join()
    assert found == {"assessed": 60}
    assert max(moments) - min(moments) > 60 / 20 - 0.5


@both
def test_waiting_for_a_gate_is_no_timeout(tmp_path: Path, kind: str) -> None:
    gates = Gates(RateGate(tmp_path / "rate", per_minute=120))
    with Loopback(lambda request, n: {"fine": True}) as server:
        replies = ask(server.openai_url, kind, gates, 4, timeout_s=0.4, max_retries=0)
        arrived = [request.arrived for request in server.requests]
    assert [reply.status for reply in replies] == ["assessed"] * 4
    assert max(arrived) - min(arrived) > 1.2  # the deadline of each was 0.4


@both
def test_every_attempt_takes_its_turn(tmp_path: Path, kind: str) -> None:
    gates = Gates(RateGate(tmp_path / "rate", per_minute=120))
    busy = Raw(500, "", {"retry-after-ms": "1"})
    with Loopback(lambda request, n: busy if n < 3 else {"fine": True}) as server:
        assert ask(server.openai_url, kind, gates, 1)[0].status == "assessed"
        arrived = [request.arrived for request in server.requests]
    assert len(arrived) == 3
    assert arrived[2] - arrived[0] > 0.85


@both
def test_a_gate_of_tokens_takes_the_providers_count(tmp_path: Path, kind: str) -> None:
    gate = RateGate(tmp_path / "tokens", per_minute=6000)
    names = {"openai": ("prompt_tokens", "completion_tokens"), "anthropic": ("input_tokens", "output_tokens")}
    usage = dict(zip(names[kind], (900, 100), strict=True))
    with Loopback(lambda request, n: Answer({"fine": True}, usage=usage)) as server:
        assert ask(server.openai_url, kind, Gates(tokens=gate), 1)[0].status == "assessed"
    assert 8.5 < gate.reserve(0) < 10.1


def test_a_gate_of_tokens_starts_from_the_size_of_the_request(tmp_path: Path) -> None:
    gate = RateGate(tmp_path / "tokens", per_minute=60)
    with Loopback(lambda request, n: Answer({"fine": True}, usage={"odd": 1})) as server:
        ask(server.openai_url, "openai", Gates(tokens=gate), 1)
        size = int(server.requests[0].headers["content-length"])
    assert gate.reserve(0) == pytest.approx(size / 3.5, abs=5)


@both
@pytest.mark.parametrize("gated", ["requests", "tokens"])
def test_a_busy_provider_makes_everybody_wait(tmp_path: Path, kind: str, gated: str) -> None:
    gates = Gates(**{gated: RateGate(tmp_path / "rate", per_minute=1e6)})
    with Loopback(lambda request, n: Raw(429, "", {"retry-after": "7"})) as server:
        assert ask(server.openai_url, kind, gates, 1, max_retries=0)[0].status == "rate_limited"
    assert 6 < RateGate(tmp_path / "rate", per_minute=1e6).reserve() <= 7


@both
@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"retry-after": "3"}, 3),
        (429, {"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        (503, {"retry-after": formatdate(time.time() + 3600, usegmt=True)}, 120),
        (529, {"retry-after": formatdate(time.time() - 3600, usegmt=True)}, 0),
        (429, {"retry-after": "soon"}, 1),
        (429, {"retry-after-ms": "nan"}, 0),
        (429, {"retry-after": "9" * 400}, 120),
        (429, {}, 1),
        (500, {"retry-after": "3"}, None),
    ],
)
def test_who_listens_is_told_that_the_provider_is_busy(
    kind: str, status: int, headers: dict[str, str], seconds: float | None
) -> None:
    told: list[float] = []

    async def once(url: str) -> None:
        client = make_client(JudgeIdentity(kind=kind, model="m"), base_url=url, api_key=None, max_retries=0)
        client.on_busy = told.append
        await client.ask(PROMPT)
        await client.close()

    with Loopback(lambda request, n: Raw(status, "", headers)) as server:
        asyncio.run(once(server.openai_url))
    assert told == ([] if seconds is None else [seconds])


def test_a_rate_is_above_zero(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="above 0"):
        RateGate(tmp_path / "rate", per_minute=0)
