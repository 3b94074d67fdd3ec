"""Rates and budgets hold across processes; prices come from tables or from the user."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.judging.prices import Price, find_price, parse_price
from pytest_sciagent.judging.quota import Budget, RateGate
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
    # 40 a second, and the second's worth that may go at once after a pause.
    assert busiest <= 2 * 40 + 3
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
