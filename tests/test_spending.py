"""What a session asked of judges, what that cost, and what replay saved, are told alike in every report."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Answer, Loopback, Raw
from sample import UNUSED, Cohort
from test_live_judge import good, options, record_of, wait_for

from pytest_sciagent.evaluation.recorded import Replayed
from pytest_sciagent.models import JudgeIdentity, JudgeUsage, LedgerEntry
from pytest_sciagent.reporting.spending import saved_by

PRICE = "--sciagent-price=10/1/100"
ONE_CALL = (40 * 10 + 60 * 1 + 20 * 100) / 1e6
"""Dollars for the loopback server's usual 100 tokens in, 60 of them cached, and 20 out."""
NOTHING = {
    "calls": 0,
    "failed": 0,
    "input_tokens": 0,
    "cached_tokens": 0,
    "output_tokens": 0,
    "cost_usd": 0,
    "calls_without_cost": 0,
    "calls_without_tokens": 0,
}


def suite(path: str) -> dict[str | None, str | None]:
    found = ElementTree.parse(path).getroot().findall("testsuite/properties/property")
    return {p.get("name"): p.get("value") for p in found}


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_every_report_tells_the_same(cohort: Cohort, extra: list[str]) -> None:
    cohort.run()
    with Loopback(good) as server:
        args = [*options("openai", server), PRICE, "--junitxml=j.xml", *extra]
        first = cohort.results(*args, code=0)["spending"]
        again = cohort.results(*args, code=0)["spending"]
        assert len(server.requests) == 11
    tokens = {"input_tokens": 1100, "cached_tokens": 660, "output_tokens": 220}
    dollars = round(11 * ONE_CALL, 6)
    assert first["spent"] == NOTHING | tokens | {"calls": 11, "cost_usd": dollars}
    assert first["saved"]["answers"] == 0
    assert again["spent"] == NOTHING
    saved = {"answers": 11, "cost_usd": dollars, "answers_without_cost": 0, "answers_without_tokens": 0}
    assert again["saved"] == tokens | saved
    properties = suite("j.xml")
    mine = ("sciagent_spent", "sciagent_saved")
    assert {name: value for name, value in properties.items() if (name or "").startswith(mine)} == {
        f"sciagent_{part}_{name}": str(value) for part, values in again.items() for name, value in values.items()
    }
    shown = cohort.pytest("--sciagent-run=runs", *extra).stdout
    shown.fnmatch_lines(
        [
            "spent: nothing, no judge was asked",
            f"saved: 11 recorded answers replayed, 1,100 tokens in (660 cached), 220 out; {dollars:.4f} USD",
        ]
    )


def test_workers_change_nothing(cohort: Cohort) -> None:
    cohort.run()
    cohort.run("beta", findings=3)
    with Loopback(good) as server:
        cohort.pytest(*options("openai", server), PRICE)
    texts = []
    for workers in ("0", "2"):
        cohort.results("--sciagent-run=runs", "-n", workers, code=0)
        texts.append((cohort.root / "results.json").read_bytes())
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["spending"]["saved"]["answers"] == 11 + 16


def test_repeated_and_failed_calls_are_counted_and_billed(cohort: Cohort) -> None:
    cohort.run(findings=1)

    def behaviour(request: dict[str, Any], number: int) -> Answer | dict[str, Any] | Raw:
        text = json.dumps(request)
        if "ev.half" in text:
            return Raw(500, {"error": {"message": "down"}}, headers={"x-should-retry": "false"})
        if "ev.full" in text and "could not be used" not in text:
            return Answer("no JSON at all")
        return good(request, number)

    with Loopback(behaviour) as server:
        result = cohort.results(*options("openai", server), PRICE, code=1)["spending"]["spent"]
        assert len(server.requests) == 6
    assert result == {
        "calls": 6,
        "failed": 2,
        "input_tokens": 500,
        "cached_tokens": 300,
        "output_tokens": 100,
        "cost_usd": round(5 * ONE_CALL, 6),  # what the provider has turned away is not billed
        "calls_without_cost": 0,
        "calls_without_tokens": 1,
    }


@pytest.mark.parametrize(
    ("first", "lost"),
    [
        (Raw(200, {"half": "of it"}, drop=True), 1),
        (Raw(drop=True), 1),
        (Raw(429, {"error": {"message": "busy"}}, headers={"retry-after-ms": "1"}), 0),
        (Raw(503, {"error": {"message": "down"}}, headers={"retry-after-ms": "1"}), 0),
    ],
    ids=["half an answer", "no answer", "busy", "down"],
)
def test_a_repeated_attempt_is_billed_if_the_first_may_have_been(cohort: Cohort, first: Raw, lost: int) -> None:
    cohort.run(findings=1)

    def behaviour(request: dict[str, Any], number: int) -> dict[str, Any] | Raw:
        return first if number == 1 else good(request, number)

    with Loopback(behaviour) as server:
        args = [*options("openai", server), "-k", "ev.full"]
        spent = cohort.results(*args, PRICE, code=0)["spending"]["spent"]
        assert len(server.requests) == 2
        size = int(server.requests[0].headers["content-length"])
    estimate = (size / 3.5 * 10 + 600 * 100) / 1e6  # the prompt, and as long an answer as is reckoned with
    assert spent["calls"] == 1
    assert spent["cost_usd"] - ONE_CALL == pytest.approx(lost * estimate, rel=0.15)


def test_a_server_that_is_not_there_costs_nothing(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        args = [*options("openai", server), PRICE, "-k", "ev.full"]
    spent = cohort.results(*args, code=1)["spending"]["spent"]
    assert (spent["calls"], spent["failed"], spent["cost_usd"]) == (1, 1, 0)


LIES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "zero": {"prompt_tokens": 0, "completion_tokens": 0},
    "negative": {"prompt_tokens": -(10**9), "completion_tokens": -5},
    "absurd": {"prompt_tokens": 10**18, "completion_tokens": 10**18},
    "far too many": {"prompt_tokens": 9_000_000, "completion_tokens": 20},
    "text": {"prompt_tokens": "12", "completion_tokens": None},
    "half": {"completion_tokens": 20},
    "more cached than sent": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 10**7},
    },
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_provider_that_lies_about_tokens_spends_no_more_and_no_less_than_what_can_be(
    cohort: Cohort, lie: dict[str, Any]
) -> None:
    cohort.run()
    with Loopback(lambda request, n: Answer(good(request, n), usage=lie or {"odd": True})) as server:
        args = [*options("openai", server), "--sciagent-price=1/0.5/2", "--sciagent-tpm=1e9"]
        spent = cohort.results(*args)["spending"]["spent"]
        asked = [int(r.headers["content-length"]) / 3.5 for r in server.requests]
    cached = "prompt_tokens_details" in lie
    assert spent["calls"] == len(asked) == 11
    assert spent["calls_without_tokens"] == (0 if cached else 11)
    assert 0 <= spent["cached_tokens"] <= spent["input_tokens"] <= 1100
    # Where nobody counted, the prompt and an answer are reckoned; nothing is ever negative, free or without bound.
    least = 11 * (100 * 0.5 + 20 * 2) if cached else sum(asked) * 0.7
    assert least / 1e6 * 0.999 <= spent["cost_usd"] <= (sum(asked) * 1.1 + 11 * 600 * 2) / 1e6


@pytest.mark.parametrize("lie", ["zero", "negative", "absurd"])
def test_a_budget_holds_whatever_the_provider_says(cohort: Cohort, lie: str) -> None:
    cohort.run()
    with Loopback(lambda request, n: Answer(good(request, n), usage=LIES[lie])) as server:
        args = [*options("openai", server), "--sciagent-price=100/100", "--sciagent-in-flight=1"]
        cohort.pytest(*args, "--sciagent-max-cost=0.35")
        assert 0 < len(server.requests) < 11


def test_without_a_price_no_cost_is_made_up(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        shown = cohort.pytest(*options("openai", server)).stdout
    shown.fnmatch_lines(["spent: 5 judge calls, 500 tokens in (300 cached), 100 out; cost not known"])
    assert cohort.results("--sciagent-run=runs")["spending"]["saved"]["answers_without_cost"] == 5


def test_answers_of_a_judge_of_ones_own_are_counted(cohort: Cohort) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text(
        "import pytest, sample\n"
        "from pytest_sciagent import Judge\n"
        "from pytest_sciagent.models import JudgeIdentity\n"
        "class Own(Judge):\n"
        "    identity = JudgeIdentity(kind='own', model='m')\n"
        "    def ask(self, prompt):\n"
        "        if 'ev.half' in prompt.last:\n            raise OSError('down')\n"
        "        return sample.answer(1)\n"
        "@pytest.fixture\ndef judge():\n    return Own()\n"
    )
    spent = cohort.results("--sciagent-run=runs", "-k", "ev or zero")["spending"]["spent"]
    assert spent["calls"] == spent["calls_without_cost"] == spent["calls_without_tokens"]
    assert spent["failed"] >= 1
    assert spent["cost_usd"] == 0


def test_an_interrupted_session_tells_what_it_spent(cohort: Cohort) -> None:
    cohort.run()
    with Loopback(lambda request, n: Answer(good(request, n), delay_s=0.0 if n <= 6 else 30.0)) as server:
        plugins = [part for name in (*UNUSED, "cacheprovider") for part in ("-p", f"no:{name}")]
        args = [*options("openai", server), "--sciagent-in-flight=1", PRICE]
        child = subprocess.Popen([sys.executable, "-m", "pytest", *plugins, *args], stdout=subprocess.PIPE, text=True)
        work = cohort.root / ".sciagent" / "work"
        wait_for(
            lambda: len(server.requests) > 6 and sum(len(p.read_text().splitlines()) for p in work.glob("*")) == 6,
            "six answers",
        )
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=30)
    assert child.returncode == 2, out
    line = next(line for line in out.splitlines() if line.startswith("sciagent: spent: 7 judge calls, "))
    assert "600 tokens in (360 cached), 120 out" in line
    assert len(record_of(cohort)) == 6


def entry(number: int, usage: tuple[int, int, int] | None, cost: float | None) -> LedgerEntry:
    given = {} if usage is None else dict(zip(("input_tokens", "cached_tokens", "output_tokens"), usage, strict=True))
    return LedgerEntry(
        key=f"{number:064x}",
        criterion_id="c",
        status="assessed",
        level=0.0,
        judge=JudgeIdentity(kind="openai", model="m"),
        template_digest="0" * 64,
        evidence_digest="0" * 64,
        usage=JudgeUsage(**given),
        cost_usd=cost,
        time="2026-01-01T00:00:00Z",
        plugin_version="0",
    )


@given(
    st.lists(
        st.tuples(
            st.none() | st.tuples(*[st.integers(0, 10**6)] * 3), st.none() | st.floats(0, 1e3, allow_subnormal=False)
        ),
        max_size=12,
    ),
    st.randoms(),
)
def test_the_sums_do_not_depend_on_the_order_or_on_the_runs(told: list[Any], drawn: Any) -> None:
    entries = [entry(number, usage, cost) for number, (usage, cost) in enumerate(told)]
    found = saved_by([Replayed.of(entries)])
    drawn.shuffle(entries)
    cut = drawn.randint(0, len(entries))
    assert saved_by([Replayed.of(entries[:cut]), Replayed.of(entries[cut:])]) == found
    assert found.answers - found.answers_without_tokens == sum(usage is not None for usage, _ in told)
    assert found.input_tokens == sum(usage[0] for usage, _ in told if usage is not None)
    assert found.answers - found.answers_without_cost == sum(cost is not None for _, cost in told)
