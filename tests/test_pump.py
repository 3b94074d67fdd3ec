"""The pump: open questions asked of a server on 127.0.0.1 with the real SDKs, and what is recorded of each."""

from __future__ import annotations

import json
import multiprocessing
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from loopback import Answer, Loopback, Raw
from sample import LEVELS, Cohort, answer

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.evaluation import Case, Sources, open_case
from pytest_sciagent.judging.clients import Prompt, make_client
from pytest_sciagent.judging.prices import Price
from pytest_sciagent.judging.pump import Progress, Question, Terms, pump
from pytest_sciagent.judging.quota import Budget
from pytest_sciagent.judging.settle import verdict_from_entry
from pytest_sciagent.ledger import WorkWriter, read_work
from pytest_sciagent.models import JudgeIdentity, LedgerEntry, Verdict
from pytest_sciagent.rubrics import load_rubric

KINDS = ["openai", "anthropic"]
SOON = {"retry-after-ms": "1"}
both = pytest.mark.parametrize("kind", KINDS)
pytestmark = pytest.mark.usefixtures("plain_http")


@dataclass
class Desk:
    """A frozen run with questions about it, numbered from 0, and what was recorded."""

    root: Path
    case: Case = field(init=False)
    entries: list[LedgerEntry] = field(default_factory=list)

    def __post_init__(self) -> None:
        writer = WorkWriter(self.root / ".sciagent" / "work", "test")

        def record(label: str, entry: LedgerEntry) -> None:
            writer.append(label, entry)
            self.entries.append(entry)

        self.case = open_case(self.root / "runs" / "alpha" / "t1", Sources(self.root), record)

    def questions(self, number: int, group: int | None = None) -> list[Question]:
        """`number` questions of one criterion; so many in a `group`, or each in its own. The prompt says which."""
        rubric = load_rubric("small", self.root, self.root)
        criterion = next(c for c in rubric.criteria if c.id == "ev.full")
        asked = self.case.questions.criterion(criterion, self.case.report.findings[0], {})
        schema = asked.make_prompt().schema

        def question(n: int) -> Question:
            name = f"g{n // (group or 1)}"
            prompt = Prompt("You judge.", f"Evidence {name}.", f"Question q{n}.", "verdict", schema)
            return Question(replace(asked, draw=n + 1, make_prompt=lambda: prompt), self.case.answers, name)

        return [question(n) for n in range(number)]

    def pump(self, server: Loopback, questions: Sequence[Question], kind: str = "openai", **given: Any) -> Progress:
        settings = {"timeout_s": 5.0, "max_retries": 1, **given.pop("client", {})}
        on_progress = given.pop("on_progress", lambda progress: None)
        client = make_client(
            identity(kind, given.pop("cap", None)), base_url=server.openai_url, api_key=None, **settings
        )
        return pump(questions, client, Terms(**{"in_flight": 8, **given}), on_progress)

    def entry(self, n: int = 0) -> LedgerEntry:
        """The last entry of question `n`."""
        return next(e for e in reversed(self.entries) if e.draw == n + 1)

    def level(self, entry: LedgerEntry) -> float | None:
        """The level of the verdict that `entry` carries."""
        return self.verdict(entry).level

    def verdict(self, entry: LedgerEntry) -> Verdict:
        """The verdict that `entry` carries."""
        criterion = next(c for c in load_rubric("small", self.root, self.root).criteria if c.id == "ev.full")
        return verdict_from_entry(entry, criterion, self.case.quotes)


def identity(kind: str, cap: int | None = None) -> JudgeIdentity:
    return JudgeIdentity(kind=kind, model="judge-model", parameters={} if cap is None else {"max_output_tokens": cap})


@pytest.fixture
def desk(cohort: Cohort) -> Desk:
    cohort.run(findings=1)
    return Desk(cohort.root)


def number_of(request: dict[str, Any]) -> int:
    """Which question a request asks."""
    found = re.findall(r"Question q(\d+)\.", json.dumps(request))
    return int(found[-1])


def fine(request: dict[str, Any], n: int) -> dict[str, Any]:
    return answer(1)


# Order and number in flight


@both
def test_the_first_of_each_group_goes_alone(desk: Desk, kind: str) -> None:
    with Loopback(lambda request, n: Answer(answer(1), delay_s=0.1)) as server:
        progress = desk.pump(server, desk.questions(12, group=4), kind)
    assert (progress.done, progress.failed, progress.in_flight) == (12, 0, 0)
    order = [number_of(request.json) for request in server.requests]
    assert sorted(order[:3]) == [0, 4, 8]
    arrived = {number_of(request.json): request.arrived for request in server.requests}
    for leader in (0, 4, 8):
        assert all(arrived[leader + n] - arrived[leader] >= 0.1 for n in (1, 2, 3))
    assert server.peak == 8


def test_a_group_is_finished_before_further_ones_begin(desk: Desk) -> None:
    with Loopback(lambda request, n: Answer(answer(1), delay_s=0.01)) as server:
        desk.pump(server, desk.questions(12, group=4), in_flight=1)
    assert [number_of(request.json) for request in server.requests] == list(range(12))


def test_followers_go_where_their_leader_failed(desk: Desk) -> None:
    def behaviour(request: dict[str, Any], n: int) -> dict[str, Any] | Raw:
        return Raw(413, {"error": {"message": "too large"}}) if number_of(request) == 0 else answer(1)

    with Loopback(behaviour) as server:
        progress = desk.pump(server, desk.questions(4, group=4))
    assert (progress.done, progress.failed) == (4, 1)


@both
def test_no_more_in_flight_than_allowed(desk: Desk, kind: str) -> None:
    with Loopback(lambda request, n: Answer(answer(1), delay_s=0.05)) as server:
        desk.pump(server, desk.questions(20), kind, in_flight=5)
    assert (server.peak, len(server.requests)) == (5, 20)


def test_no_question_at_all(desk: Desk) -> None:
    with Loopback(fine) as server:
        assert desk.pump(server, []) == Progress(0)


# What is recorded


@both
def test_an_answer_with_its_usage_and_cost(desk: Desk, kind: str) -> None:
    seen: list[int] = []
    with Loopback(fine) as server:
        progress = desk.pump(
            server,
            desk.questions(3),
            kind,
            price=Price(input=10.0, output=100.0, cached=1.0),
            on_progress=lambda now: seen.append(now.done),
        )
    cost = (40 * 10.0 + 60 * 1.0 + 20 * 100.0) / 1e6
    assert seen == [1, 2, 3]
    assert (progress.input_tokens, progress.cached_tokens, progress.output_tokens) == (300, 180, 60)
    assert progress.cost_usd == pytest.approx(3 * cost)
    for entry in desk.entries:
        assert (entry.status, entry.level, entry.model_returned) == ("assessed", 1.0, "judge-model-2026")
        assert entry.cost_usd == pytest.approx(cost)
        assert entry.usage.as_json() == {"input_tokens": 100, "output_tokens": 20, "cached_tokens": 60}
        assert entry.latency_s is not None
        assert 0 < entry.latency_s < 5
        assert entry.citations[0].verified
    assert read_work(desk.root / ".sciagent" / "work") == {"alpha/t1": desk.entries}


def test_without_a_price_no_cost_is_told(desk: Desk) -> None:
    with Loopback(fine) as server:
        assert desk.pump(server, desk.questions(1)).cost_usd == 0
    assert desk.entry().cost_usd is None


@pytest.mark.parametrize("first", [Answer("I think so."), Answer(""), Answer(answer("invalid")), Answer({"full": 1})])
@both
def test_an_answer_of_the_wrong_form_is_asked_for_once_more(desk: Desk, kind: str, first: Answer) -> None:
    with Loopback(lambda request, n: first if n == 1 else answer(0.5)) as server:
        progress = desk.pump(server, desk.questions(1), kind, price=Price(1.0, 1.0))
    assert (progress.done, progress.failed) == (1, 0)
    entry = desk.entry()
    assert (entry.status, entry.level) == ("assessed", 0.5)
    assert (entry.usage.input_tokens, entry.usage.output_tokens) == (200, 40)
    assert entry.cost_usd == pytest.approx(progress.cost_usd) == pytest.approx(240 / 1e6)
    again, before = (json.dumps(request.json) for request in reversed(server.requests))
    assert "Your last answer could not be used" in again
    assert "Your last answer" not in before
    reasons = ("not_json", "empty", "contradictory: more than one", "wrong_shape")
    assert any(reason in again for reason in reasons)
    assert "Evidence g0." in again


@both
def test_two_answers_of_the_wrong_form_are_the_end(desk: Desk, kind: str) -> None:
    with Loopback(lambda request, n: Answer("No.")) as server:
        progress = desk.pump(server, desk.questions(2), kind)
        assert len(server.requests) == 4
    assert (progress.done, progress.failed) == (2, 2)
    assert {(e.status, e.level) for e in desk.entries} == {("invalid", None)}
    assert len(desk.entries) == 2


CUT = {"openai": Answer('{"z', end="length"), "anthropic": Answer('{"z', end="max_tokens")}


def caps(server: Loopback) -> list[int | None]:
    """The caps of output that were sent, call by call."""
    return [r.json.get("max_completion_tokens", r.json.get("max_tokens")) for r in server.requests]


@both
def test_an_answer_that_is_cut_at_the_cap_is_asked_for_once_more_with_more_room(desk: Desk, kind: str) -> None:
    with Loopback(lambda request, n: CUT[kind] if n == 1 else answer(1)) as server:
        progress = desk.pump(server, desk.questions(1), kind, cap=50, price=Price(1.0, 1.0))
        assert caps(server) == [50, 200]
    assert (progress.done, progress.failed, progress.cut, progress.calls, progress.failed_calls) == (1, 0, 1, 2, 1)
    entry = desk.entry()
    assert (entry.status, entry.level) == ("assessed", 1.0)
    assert (entry.usage.input_tokens, entry.usage.output_tokens) == (200, 40)
    assert entry.cost_usd == pytest.approx(progress.cost_usd) == pytest.approx(240 / 1e6)


@both
@pytest.mark.parametrize(("refused", "tokens"), [(False, 200), (True, 100)], ids=["cut again", "refused"])
def test_an_answer_that_stays_cut_is_no_level_and_stops_nothing(
    desk: Desk, kind: str, refused: bool, tokens: int
) -> None:
    large = error(400, "max_tokens: too large for this model")
    with Loopback(lambda request, n: large if refused and n % 2 == 0 else CUT[kind]) as server:
        progress = desk.pump(server, desk.questions(2), kind, cap=50, price=Price(1.0, 1.0), in_flight=1)
        assert caps(server) == [50, 200] * 2  # never a third time, and the next question is asked all the same
    assert (progress.done, progress.failed, progress.fatal) == (2, 2, None)
    assert [(e.status, e.level, e.usage.input_tokens) for e in desk.entries] == [("truncated", None, tokens)] * 2
    assert sum(e.cost_usd or 0 for e in desk.entries) == pytest.approx(progress.cost_usd)


def test_where_no_cap_was_sent_or_the_budget_is_spent_a_cut_answer_is_not_asked_for_again(desk: Desk) -> None:
    with Loopback(lambda request, n: CUT["openai"]) as server:
        assert desk.pump(server, desk.questions(1)).cut == 0
        spent = desk.pump(
            server, desk.questions(1), cap=50, price=Price(1.0, 1.0), budget=Budget(desk.root / "budget", max_calls=1)
        )
        assert (len(server.requests), spent.cut) == (2, 0)
    assert desk.entry().status == "truncated"


def html(words: str) -> Raw:
    return Raw(200, f"<html><body><h1>{words}</h1></body></html>")


def error(status: int, words: str, **more: Any) -> Raw:
    return Raw(status, {"error": {"message": words, **more}}, SOON)


def both_ends(openai: str, anthropic: str) -> dict[str, str]:
    return {"openai": openai, "anthropic": anthropic}


ENDS: list[tuple[str, Callable[[str], Any], str, str]] = [
    ("a refusal", lambda kind: Answer(None, refusal="I won't."), "refused", "I won't."),
    ("a refusal by status", lambda kind: error(400, "flagged", code="invalid_prompt"), "refused", "HTTP 400: flagged"),
    (
        "a content filter",
        lambda kind: Answer("", end=both_ends("content_filter", "refusal")[kind]),
        "refused",
        "content filter|model refused",
    ),
    (
        "a content filter by status",
        lambda kind: error(400, "It is filtered.", code="content_filter"),
        "refused",
        "HTTP 400: It is filtered.",
    ),
    ("truncated", lambda kind: Answer('{"z', end=both_ends("length", "max_tokens")[kind]), "truncated", "cut"),
    ("empty", lambda kind: Answer(""), "invalid", "the answer is empty"),
    ("no text", lambda kind: Answer(None), "invalid", "the answer is empty"),
    ("not JSON", lambda kind: Answer("Fine work: level 1."), "invalid", "not_json: "),
    ("text around JSON", lambda kind: Answer(f"Here: {json.dumps(answer(1))}"), "invalid", "not_json: "),
    ("twice the same key", lambda kind: Answer(json.dumps(answer(0))[:-1] + ', "full": true}'), "invalid", "not_json"),
    ("too long", lambda kind: Answer("x" * 200_001), "invalid", "too_long: "),
    ("a missing key", lambda kind: Answer({"zero": False, "full": True}), "invalid", "wrong_shape: "),
    ("a level of its own", lambda kind: Answer(answer(1) | {"level": 0.75}), "invalid", "outside_levels: level"),
    ("a share as condition", lambda kind: Answer(answer(1) | {"full": 0.75}), "invalid", "outside_levels: full"),
    ("a text as condition", lambda kind: Answer(answer(1) | {"full": "true"}), "invalid", "outside_levels: full"),
    ("contradictory", lambda kind: Answer(answer("invalid")), "invalid", "contradictory: .*zero, full"),
    ("an unverified quote", lambda kind: Answer(answer("unverified")), "unverified", "The report speaks"),
    ("no quote", lambda kind: Answer(answer(1) | {"citations": []}), "unverified", "The report speaks"),
    ("a timeout", lambda kind: Answer(answer(1), delay_s=30), "timeout", "no answer within 0.4 s"),
    ("a rate limit", lambda kind: error(429, "Slow down."), "rate_limited", "HTTP 429: Slow down."),
    ("a spending cap", lambda kind: html("Monthly spending cap reached"), "provider_error", "spending cap reached"),
    (
        "a spending cap in an answer",
        lambda kind: Raw(200, {"error": {"message": "You have hit your spending cap."}}),
        "provider_error",
        "hit your spending cap",
    ),
    (
        "a prompt beyond the window",
        lambda kind: error(400, "prompt is too long: 300000 tokens"),
        "provider_error",
        "prompt is too long",
    ),
    ("an error in an answer", lambda kind: Raw(200, {"error": {"message": "lost"}}), "provider_error", "lost"),
    ("a failing server", lambda kind: error(500, "Oops."), "provider_error", "HTTP 500: Oops."),
    ("an overloaded server", lambda kind: error(529, "Overloaded."), "provider_error", "HTTP 529: Overloaded."),
    ("a large prompt", lambda kind: error(413, "Too large."), "provider_error", "HTTP 413: Too large."),
    ("a lost connection", lambda kind: Raw(body={"id": "x"}, drop=True), "provider_error", "[Cc]onnection"),
    ("an odd body", lambda kind: Raw(200, {"choices": 7, "content": 7}), "provider_error", "holds no"),
]


CODES: dict[str, str | dict[str, str]] = {
    "a refusal": "refused",
    "a refusal by status": "refused",
    "a content filter by status": "content_filter",
    "a content filter": both_ends("content_filter", "refused"),  # the other API has no such end
    "truncated": "truncated",
    "empty": "empty",
    "no text": "empty",
    "not JSON": "not_json",
    "text around JSON": "not_json",
    "twice the same key": "not_json",
    "too long": "too_long",
    "a missing key": "wrong_shape",
    "a level of its own": "outside_levels",
    "a share as condition": "outside_levels",
    "a text as condition": "outside_levels",
    "contradictory": "contradictory",
    "an unverified quote": "unverified",
    "no quote": "unverified",
    "a timeout": "timeout",
    "a rate limit": "rate_limited",
    "a spending cap": "spending_cap",
    "a spending cap in an answer": "spending_cap",
    "an error in an answer": "provider_error",
    "a failing server": "http_500",
    "an overloaded server": "http_529",
    "a large prompt": "http_413",
    "a prompt beyond the window": "prompt_too_long",
    "a lost connection": "connection",
    "an odd body": "provider_error",
}


@both
@pytest.mark.parametrize(("name", "response", "status", "reason"), ENDS, ids=[f"{case[0]}" for case in ENDS])
def test_each_failure_is_recorded_with_its_reason(
    desk: Desk, kind: str, name: str, response: Callable[[str], Any], status: str, reason: str
) -> None:
    timeout = 0.4 if status == "timeout" else 5.0
    with Loopback(lambda request, n: response(kind)) as server:
        progress = desk.pump(server, desk.questions(1), kind, client={"timeout_s": timeout, "max_retries": 0})
    assert (progress.done, progress.failed, progress.fatal) == (1, 1, None)
    entry = desk.entry()
    assert (entry.status, entry.level) == (status, None)
    assert re.search(reason, entry.reason), entry.reason
    code = CODES[name]
    assert entry.reason_code == (code if isinstance(code, str) else code[kind])
    assert desk.verdict(entry).level is None
    assert desk.verdict(entry).reason_code == entry.reason_code
    assert not entry.settles


# No call can succeed


@both
@pytest.mark.parametrize(
    ("response", "words"),
    [
        (error(401, "No such key."), "HTTP 401: No such key."),
        (error(403, "Not in this region."), "HTTP 403: Not in this region."),
        (error(404, "No such model."), "HTTP 404: No such model."),
        (error(429, "No credit.", code="insufficient_quota"), "HTTP 429: No credit."),
    ],
)
def test_nothing_more_is_asked_once_no_call_can_succeed(desk: Desk, kind: str, response: Raw, words: str) -> None:
    with Loopback(lambda request, n: response) as server:
        progress = desk.pump(server, desk.questions(40), kind, in_flight=4, client={"max_retries": 0})
        assert len(server.requests) <= 4
    assert (progress.fatal, progress.done) == (words, 0)
    assert desk.entries == []


@both
def test_what_is_in_flight_at_a_fatal_answer_is_recorded(desk: Desk, kind: str) -> None:
    def behaviour(request: dict[str, Any], n: int) -> Answer | Raw:
        return error(401, "No.") if n == 4 else Answer(answer(1), delay_s=0.2)

    with Loopback(behaviour) as server:
        progress = desk.pump(server, desk.questions(40), kind, in_flight=4)
        assert len(server.requests) == 4
    assert (progress.fatal, progress.done) == ("HTTP 401: No.", 3)
    assert [e.level for e in desk.entries] == [1.0, 1.0, 1.0]


def test_an_answer_that_cannot_be_recorded_stops_the_pump(desk: Desk) -> None:
    def full(entry: LedgerEntry) -> None:
        raise SciagentError("the disk is full")

    questions = [replace(q, context=replace(q.context, record=full)) for q in desk.questions(30)]
    with Loopback(lambda request, n: Answer(answer(1), delay_s=0.05)) as server:
        with pytest.raises(SciagentError, match="the disk is full"):
            desk.pump(server, questions, in_flight=3)
        assert len(server.requests) <= 6


# Busy providers


@both
def test_a_busy_provider_has_fewer_in_flight_and_then_more_again(desk: Desk, kind: str) -> None:
    """The first eight are turned away together: half as many are in flight from then on, and more again with time."""
    seen: list[int] = []

    def behaviour(request: dict[str, Any], n: int) -> Answer | Raw:
        if n <= 8:
            return Raw(429, {"error": {"message": "Slow down."}}, {"retry-after-ms": "600"})
        return Answer(answer(1), delay_s=0.02)

    with Loopback(behaviour) as server:
        progress = desk.pump(
            server,
            desk.questions(160),
            kind,
            in_flight=16,
            client={"max_retries": 3},
            on_progress=lambda now: seen.append(now.in_flight),
        )
        arrived = sorted(request.arrived for request in server.requests)
    assert (progress.done, progress.failed) == (160, 0)
    assert len(server.requests) == 168
    # While the provider asks to wait, only what was on its way arrives.
    assert not any(0.3 < moment - arrived[0] < 0.58 for moment in arrived)
    assert max(seen[20:40]) <= 10
    assert max(seen[80:]) >= 13


def test_a_quota_of_the_provider_is_found_by_itself(desk: Desk) -> None:
    """A provider that lets 40 a second through, and no gate: nothing fails, though 32 may be in flight."""
    granted: list[float] = []

    def behaviour(request: dict[str, Any], n: int) -> Answer | Raw:
        now = time.monotonic()
        if sum(now - moment < 1 for moment in granted) >= 40:
            return Raw(429, {"error": {"message": "Slow down."}}, {"retry-after-ms": "200"})
        granted.append(now)
        return Answer(answer(1), delay_s=0.05)

    with Loopback(behaviour) as server:
        progress = desk.pump(server, desk.questions(120), in_flight=32, client={"max_retries": 8})
    assert (progress.done, progress.failed) == (120, 0)


def test_a_question_that_is_turned_away_gets_further_turns(desk: Desk) -> None:
    def behaviour(request: dict[str, Any], n: int) -> Any:
        return error(429, "Slow down.") if number_of(request) == 0 and n < 8 else answer(1)

    with Loopback(behaviour) as server:
        progress = desk.pump(server, desk.questions(4, group=4), in_flight=1)
        order = [number_of(request.json) for request in server.requests]
    assert (progress.done, progress.failed) == (4, 0)
    assert order == [0, 0, 1, 2, 3, 0, 0, 0]


def test_a_quota_that_is_used_up_ends_the_asking(desk: Desk) -> None:
    with Loopback(lambda request, n: error(429, "Slow down.")) as server:
        progress = desk.pump(server, desk.questions(5000), client={"max_retries": 0}, patience_s=0.3)
        assert len(server.requests) < 1000
    assert (progress.fatal, progress.done) == ("HTTP 429: Slow down.", 0)
    assert desk.entries == []


# Budgets


def test_a_budget_of_calls(desk: Desk, tmp_path: Path) -> None:
    budget = Budget(tmp_path / "budget", max_calls=5)
    with Loopback(fine) as server:
        progress = desk.pump(server, desk.questions(12), budget=budget)
        assert len(server.requests) == 5
    assert (progress.done, progress.failed) == (12, 7)
    assert Counter(e.status for e in desk.entries) == {"assessed": 5, "budget": 7}
    assert {e.reason for e in desk.entries if e.status == "budget"} == {"the budget of this session is spent"}
    assert all(desk.level(e) is None and not e.settles for e in desk.entries if e.status == "budget")


def test_a_repair_is_a_call_of_the_budget(desk: Desk, tmp_path: Path) -> None:
    with Loopback(lambda request, n: Answer("No.")) as server:
        desk.pump(server, desk.questions(1), budget=Budget(tmp_path / "budget", max_calls=1))
        assert len(server.requests) == 1
    assert (desk.entry().status, desk.entry().reason[:8]) == ("invalid", "not_json")


@both
def test_a_budget_of_dollars(desk: Desk, tmp_path: Path, kind: str) -> None:
    """100 tokens in and 20 out cost 0.7 dollars here; what is in flight is reckoned at more."""
    budget = Budget(tmp_path / "budget", max_cost_usd=10.0)
    with Loopback(lambda request, n: Answer(answer(1), delay_s=0.01)) as server:
        progress = desk.pump(server, desk.questions(40), kind, budget=budget, price=Price(5_000.0, 10_000.0))
        calls = len(server.requests)
    assert 0 < calls < 15
    assert progress.cost_usd == pytest.approx(0.7 * calls)
    assert budget.spent.cost_usd == pytest.approx(0.7 * calls)
    assert budget.spent.reserved_usd == pytest.approx(0)
    assert Counter(e.status for e in desk.entries) == {"assessed": calls, "budget": 40 - calls}


@pytest.mark.parametrize(
    ("response", "billed"),
    [
        (Answer(answer(1), usage={"odd": 1}), True),
        (Answer(answer(1), delay_s=30), True),
        (error(429, "Slow down."), False),
        (error(500, "Oops."), False),
    ],
)
def test_a_call_without_a_count_costs_the_estimate_if_it_may_be_billed(
    desk: Desk, tmp_path: Path, response: Any, billed: bool
) -> None:
    budget = Budget(tmp_path / "budget", max_cost_usd=10.0)
    with Loopback(lambda request, n: response) as server:
        client = {"timeout_s": 0.3, "max_retries": 0}
        desk.pump(server, desk.questions(1), budget=budget, price=Price(1_000.0, 1_000.0), client=client)
    assert (budget.spent.cost_usd > 0.6) is billed
    assert budget.spent.reserved_usd == 0


def _pump_elsewhere(root: str, url: str, budget: str, first: int, queue: multiprocessing.Queue[Any]) -> None:
    desk = Desk(Path(root))
    client = make_client(identity("openai"), base_url=url, api_key=None)
    terms = Terms(4, Price(5_000.0, 10_000.0), Budget(Path(budget), max_calls=17, max_cost_usd=100.0))
    pump(desk.questions(first + 15)[first:], client, terms)
    queue.put(Counter(entry.status for entry in desk.entries))


def test_a_budget_holds_across_processes(desk: Desk, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[Counter[str]] = context.Queue()
    with Loopback(lambda request, n: Answer(answer(1), delay_s=0.02)) as server:
        given = [(str(desk.root), server.openai_url, str(tmp_path / "budget"), first, queue) for first in (0, 100)]
        workers = [context.Process(target=_pump_elsewhere, args=args) for args in given]
        for worker in workers:
            worker.start()
        found = sum((queue.get(timeout=60) for _ in workers), Counter[str]())
        for worker in workers:
            worker.join()
        assert len(server.requests) == 17
    assert found == {"assessed": 17, "budget": 13}
    spent = Budget(tmp_path / "budget").spent
    assert (spent.calls, spent.reserved_usd) == (17, pytest.approx(0))
    assert spent.cost_usd == pytest.approx(0.7 * 17)


# Many failures


def _mixture(kind: str, rng: random.Random, number: int) -> list[tuple[str, Callable[[int], Any]]]:
    """For each question what comes of it, and what its attempts are answered with."""
    failures = [(status, response) for name, response, status, _ in ENDS if name not in ("too long", "a timeout")]
    found: list[tuple[str, Callable[[int], Any]]] = []
    for _ in range(number):
        draw = rng.random()
        if draw < 0.45:
            level = rng.choice(list(LEVELS.values()))
            found.append((str(float(level)), lambda attempt, level=level: answer(level)))
        elif draw < 0.55:  # fails at first, and then does not
            level = rng.choice(list(LEVELS.values()))
            early = rng.choice([error(500, "Oops."), error(429, "Slow."), Answer("{"), Answer(answer("invalid"))])
            found.append(
                (str(float(level)), lambda attempt, level=level, early=early: early if attempt == 1 else answer(level))
            )
        else:
            status, response = rng.choice(failures)
            found.append((status, lambda attempt, response=response: response(kind)))
    return found


@both
def test_of_a_thousand_randomly_failing_calls_no_failure_becomes_a_level(desk: Desk, kind: str) -> None:
    """Each kind of failure about twenty times, among good answers; both SDKs together make it two thousand."""
    expected = _mixture(kind, random.Random(20261130), 1000)
    attempts: Counter[int] = Counter()

    def behaviour(request: dict[str, Any], n: int) -> Any:
        number = number_of(request)
        attempts[number] += 1
        return expected[number][1](attempts[number])

    started = time.monotonic()
    with Loopback(behaviour) as server:
        progress = desk.pump(server, desk.questions(1000, group=10), kind, in_flight=16)
    assert time.monotonic() - started < 60
    assert progress.done == len(desk.entries) == 1000
    assert progress.fatal is None
    found = {e.draw - 1: e.status if e.level is None else str(e.level) for e in desk.entries}
    assert [found[n] for n in range(1000)] == [what for what, _ in expected]
    levels = {e.draw - 1: desk.level(e) for e in desk.entries}
    assert [levels[n] for n in range(1000)] == [float(what) if what[0].isdigit() else None for what, _ in expected]
    assert {e.draw: e for e in read_recorded(desk)} == {e.draw: e for e in desk.entries}


def read_recorded(desk: Desk) -> Iterable[LedgerEntry]:
    return read_work(desk.root / ".sciagent" / "work")["alpha/t1"]
