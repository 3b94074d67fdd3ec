"""Layouts: several criteria of a finding in one prompt, each answered, checked and recorded by itself."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Answer, Loopback, Raw
from sample import LEVELS, WEIGHTS, Cohort, answer, outcomes, rubric_text, without_spending
from test_live_judge import good, options, record_of

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.judging.clients import Reply
from pytest_sciagent.judging.layouts import take_apart, with_layout
from pytest_sciagent.models import JudgeIdentity, JudgeUsage

MANY = {f"ev.c{n:02}": 10 for n in range(10)}
both = pytest.mark.parametrize("kind", ["openai", "anthropic"])
pytestmark = pytest.mark.usefixtures("no_proxy")


def asked(request: dict[str, Any]) -> list[str]:
    """The criteria that a request asks, in order; none where it is about the run."""
    user = next(m["content"] for m in request["messages"] if m["role"] == "user")
    text = user if isinstance(user, str) else "".join(block["text"] for block in user)
    return re.findall(r"\(criterion_id: ([\w.]+)\)$", text, re.MULTILINE)


def shared(levels: dict[str, Any], **more: Any) -> Any:
    """A behaviour: for each criterion its level in `levels`, in the shared form."""

    def behaviour(request: dict[str, Any], number: int) -> dict[str, Any]:
        ids = asked(request)
        return {name: answer(levels.get(name, 1)) for name in ids} | more if ids else good(request, number)

    return behaviour


def entries(cohort: Cohort, kind: str = "criterion") -> dict[tuple[str, str], dict[str, Any]]:
    return {(e["finding"], e["criterion_id"]): e for e in record_of(cohort) if e["kind"] == kind}


# One call for several criteria


@both
@pytest.mark.parametrize(
    ("layout", "sizes"), [("finding", [10, 10]), ("group:4", [4, 4, 3, 3, 3, 3]), ("group:1", [1] * 20)]
)
def test_criteria_share_a_prompt(cohort: Cohort, kind: str, layout: str, sizes: list[int]) -> None:
    (cohort.root / "rubrics" / "small.yaml").write_text(rubric_text(weights=MANY))
    cohort.run()
    with Loopback(shared({"ev.c03": 0.5, "ev.c04": 0})) as server:
        result = cohort.pytest(*options(kind, server), f"--sciagent-layout={layout}")
        calls = [asked(r.json) for r in server.requests]
    assert outcomes(result) == {"failed": 2, "passed": 16, "half": 2}
    assert sorted((len(ids) for ids in calls if ids), reverse=True) == sizes
    found = entries(cohort)
    assert Counter(name for ids in calls for name in ids) == Counter(name for _, name in found)
    assert {e["judge"]["parameters"]["layout"] for e in found.values()} == {layout}
    assert {key: e["level"] for key, e in found.items()} == {
        (finding, name): {"ev.c03": 0.5, "ev.c04": 0.0}.get(name, 1.0)
        for finding in ("finding_1", "finding_2")
        for name in MANY
    }
    # A replay needs neither server nor layout; and the layout is no word that is sent.
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == outcomes(result)
    assert all("layout" not in r.json for r in server.requests)


def test_the_shared_prefix_is_the_same_and_the_order_is_not(cohort: Cohort) -> None:
    (cohort.root / "rubrics" / "small.yaml").write_text(rubric_text(weights=MANY))
    cohort.run(findings=3)
    orders = []
    for _ in range(2):
        with Loopback(shared({})) as server:
            cohort.pytest(*options("openai", server), "--sciagent-layout=finding", "--sciagent-ledger-mode=live")
            orders.append(sorted(tuple(asked(r.json)) for r in server.requests if asked(r.json)))
    assert orders[0] == orders[1], "the same on every machine and in every session"
    assert len(set(orders[0])) == 3, "another for each finding"
    assert all(list(order) != list(MANY) for order in orders[0])
    with Loopback(shared({})) as server:
        args = ["--sciagent-layout=group:5", "--sciagent-ledger-mode=live", "-k", "finding_1"]
        cohort.pytest(*options("openai", server), *args)
        heads = {r.json["messages"][1]["content"].split("# Criterion")[0] for r in server.requests if asked(r.json)}
        assert len([r for r in server.requests if asked(r.json)]) == 2
    assert len(heads) == 1


def test_layouts_never_mix(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(shared({})) as server:
        cohort.pytest(*options("openai", server), "--sciagent-layout=finding")
        first = len(server.requests)
        cohort.pytest(*options("openai", server), "--sciagent-layout=finding")
        assert len(server.requests) == first
    with Loopback(lambda request, n: good(request, n)) as server:
        cohort.pytest(*options("openai", server), "--sciagent-layout=item")
        assert [len(asked(r.json)) for r in server.requests if asked(r.json)] == [1] * 4
    parameters = [e["judge"]["parameters"] for e in record_of(cohort)]
    assert parameters.count({"layout": "finding"}) == parameters.count({}) == 5
    result = cohort.pytest("--sciagent-run=runs")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *verdicts of several judges*layout*"])
    named = ["--sciagent-judge=openai:some-model", "--sciagent-ledger-mode=replay", "--sciagent-layout=finding"]
    assert outcomes(cohort.pytest("--sciagent-run=runs", *named)) == {"passed": 4}


def test_workers_replay_what_was_asked_in_groups(cohort: Cohort) -> None:
    cohort.run()
    with Loopback(shared(LEVELS)) as server:
        args = [*options("openai", server), "--sciagent-layout=group:3"]
        found = cohort.results(*args, "-n1")
        before = len(server.requests)
        assert without_spending(cohort.results(*args)) == without_spending(found)
        assert len(server.requests) == before == 3 + 4
    assert found["judge"]["parameters"] == {"layout": "group:3"}


def test_one_item_alone(cohort: Cohort) -> None:
    cohort.run()
    with Loopback(shared({})) as server:
        args = [*options("openai", server), "--sciagent-layout=finding", "runs/alpha/t1/run.json::finding_2::ev.half"]
        assert outcomes(cohort.pytest(*args)) == {"passed": 1}
        assert [asked(r.json) for r in server.requests] == [["ev.half"]]


def test_the_ini_twin(cohort: Cohort) -> None:
    cohort.run(findings=1)
    (cohort.root / "pytest.ini").write_text("[pytest]\nsciagent_rubric = small\nsciagent_layout = group:2\n")
    with Loopback(shared({})) as server:
        cohort.pytest(*options("openai", server))
        assert [len(asked(r.json)) for r in server.requests if asked(r.json)] == [2, 2]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--sciagent-judge=openai:m", "--sciagent-layout=pairs"], "layout 'pairs': choose item, group:N*or finding"),
        (["--sciagent-judge=openai:m", "--sciagent-layout=group:0"], "layout 'group:0': choose*"),
        (["--sciagent-judge=handoff:me", "--sciagent-layout=group:2"], "a hand-off has the layouts item and finding"),
        (["--sciagent-judge=decisions:m", "--sciagent-layout=finding"], "decisions:m is asked all criteria*"),
        (["--sciagent-layout=finding"], "--sciagent-layout and --sciagent-batch belong to a judge*"),
        (["--sciagent-judge=openai:m", "--sciagent-judge-param=layout=finding"], "the layout is no parameter*"),
    ],
)
def test_bad_layouts(cohort: Cohort, args: list[str], words: str) -> None:
    cohort.run(findings=1)
    result = cohort.pytest("--sciagent-run=runs", *args, "--sciagent-base-url=http://127.0.0.1:9")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {words}"])


# One bad answer costs one criterion


BAD: dict[str, tuple[Any, str]] = {
    "missing": (None, "missing"),
    "a wrong shape": ({"zero": True}, "wrong_shape"),
    "two anchors": (answer("invalid"), "contradictory"),
    "a level of its own": (answer(1) | {"level": 0.75}, "outside_levels"),
    "no object": ("fine", "wrong_shape"),
}


def spoiled(text: dict[str, Any], name: str, bad: Any) -> dict[str, Any]:
    return {key: value for key, value in (text | {name: bad}).items() if value is not None}


@both
@pytest.mark.parametrize("name", BAD)
def test_only_what_was_unusable_is_asked_again(cohort: Cohort, kind: str, name: str) -> None:
    cohort.run(findings=1)
    bad, code = BAD[name]

    def behaviour(request: dict[str, Any], number: int) -> Any:
        found = shared({})(request, number)
        return spoiled(found, "ev.half", bad) if len(asked(request)) == 4 else found

    with Loopback(behaviour) as server:
        result = cohort.pytest(*options(kind, server), "--sciagent-layout=finding")
        calls = [r.json for r in server.requests if asked(r.json)]
    assert outcomes(result) == {"passed": 4}
    assert [len(asked(call)) for call in calls] == [4, 1]
    assert asked(calls[1]) == ["ev.half"]
    assert f"- ev.half: {code}" in json.dumps(calls[1])
    usage = {name: e["usage"] for (_, name), e in entries(cohort).items()}
    assert sum(u["input_tokens"] for u in usage.values()) == 200
    assert sum(u["output_tokens"] for u in usage.values()) == 40
    assert usage["ev.half"]["input_tokens"] == 25 + 100
    assert [u["input_tokens"] for n, u in usage.items() if n != "ev.half"] == [25] * 3


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_stays_an_error_and_its_neighbours_stand(cohort: Cohort, name: str) -> None:
    cohort.run(findings=1)
    bad, code = BAD[name]
    behaviour = lambda r, n: spoiled(shared({})(r, n), "ev.half", bad) if asked(r) else good(r, n)  # noqa: E731
    with Loopback(behaviour) as server:
        found = cohort.results(*options("openai", server), "--sciagent-layout=finding", code=1)
    criteria = {c["criterion_id"]: c for c in found["runs"][0]["findings"][0]["criteria"]}
    assert {n: c["level"] for n, c in criteria.items()} == {n: None if n == "ev.half" else 1 for n in WEIGHTS}
    assert (criteria["ev.half"]["status"], criteria["ev.half"]["reason_code"]) == ("invalid", code)
    with Loopback(shared({})) as server:
        cohort.pytest(*options("openai", server), "--sciagent-layout=finding")
        assert [asked(r.json) for r in server.requests] == [["ev.half"]]


@pytest.mark.parametrize(
    ("response", "status", "code"),
    [
        (Answer(None, refusal="No."), "refused", "refused"),
        (Answer('{"ev.full": {', end="length"), "truncated", "truncated"),
        (Answer("all fine"), "invalid", "not_json"),
        (Answer("  "), "invalid", "empty"),
        (Answer(answer(1)), "invalid", "wrong_ids"),
        (Raw(200, "spending cap reached"), "provider_error", "spending_cap"),
    ],
)
def test_a_failure_of_the_whole_is_one_of_each(cohort: Cohort, response: Any, status: str, code: str) -> None:
    cohort.run(findings=1)
    with Loopback(lambda r, n: response if asked(r) else good(r, n)) as server:
        found = cohort.results(*options("openai", server), "--sciagent-layout=finding", code=1)
    criteria = found["runs"][0]["findings"][0]["criteria"]
    assert {(c["status"], c["reason_code"], c["level"]) for c in criteria} == {(status, code, None)}


def test_an_answer_that_was_not_asked_for_counts_for_nobody(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(shared({"ev.half": 0.5}, **{"ev.other": answer(1)})) as server:
        result = cohort.pytest(*options("openai", server), "--sciagent-layout=finding")
        assert len(server.requests) == 2
    assert outcomes(result) == {"passed": 3, "half": 1}
    assert {name for _, name in entries(cohort)} == set(WEIGHTS)


# Taking apart


USAGE = JudgeUsage(input_tokens=11, output_tokens=7, cached_tokens=None)


def apart(text: str, ids: list[str]) -> dict[str, str]:
    """For each id the text of its answer, or the code of why there is none."""
    replies = take_apart(Reply(text, "assessed", "", "m", USAGE, 1.0), ids)
    return {name: reply.text or f"!{reply.code}" for name, reply in zip(ids, replies, strict=True)}


def test_ids_that_are_wrong() -> None:
    assert apart('{"a": 1, "b": [2]}', ["a", "b"]) == {"a": "1", "b": "[2]"}
    assert apart('{"b": 1, "b": 2, "a": 3}', ["a", "b"]) == {"a": "3", "b": "!duplicate_id"}
    assert apart('{"b": 1}', ["a", "b"]) == {"a": "!missing", "b": "1"}
    assert apart('{"b": 1, "A": 1}', ["a", "b"]) == {"a": "!wrong_ids", "b": "1"}
    assert apart('```json\n{ "a" : {"x": 1, "x": 2} }\n```', ["a"]) == {"a": '{"x": 1, "x": 2}'}
    assert apart("{}", ["a", "b"]) == {"a": "!missing", "b": "!missing"}
    for broken in ("", "[]", "{", '{"a"', '{"a": 1', '{"a": 1,}', '{"a": 1} x', "{1: 2}", '{"a" 1}', "[" * 100_000):
        assert set(apart(broken, ["a", "b"]).values()) in ({"!not_json"}, {"!empty"})


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=6), values, max_size=5), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_every_value_comes_back_as_it_was(told: dict[str, Any], ascii_only: bool, indent: Any) -> None:
    text = json.dumps(told, ensure_ascii=ascii_only, indent=indent)
    found = apart(text, [*told, "not there \x00"])
    assert {name: json.loads(found[name]) for name in told} == told
    assert found["not there \x00"] == "!missing"


@given(st.text(max_size=40), st.integers(1, 4))
def test_any_text_is_taken_apart_or_refused(text: str, number: int) -> None:
    replies = take_apart(Reply(text or " ", "assessed", "", "m", USAGE, 1.0), [f"c{n}" for n in range(number)])
    assert len(replies) == number
    assert all((reply.status == "assessed") == (reply.text is not None) for reply in replies)


@given(st.integers(0, 10**6), st.none() | st.integers(0, 10**6), st.integers(1, 40))
def test_tokens_are_divided_without_a_rest(sent: int, got: int | None, number: int) -> None:
    usage = JudgeUsage(input_tokens=sent, output_tokens=got)
    shares = [
        r.usage for r in take_apart(Reply("{}", "assessed", "", "m", usage, 1.0), [str(n) for n in range(number)])
    ]
    assert sum(s.input_tokens or 0 for s in shares) == sent
    assert (
        {s.output_tokens for s in shares} == {None} if got is None else sum(s.output_tokens or 0 for s in shares) == got
    )
    assert max(s.input_tokens or 0 for s in shares) - min(s.input_tokens or 0 for s in shares) <= 1


def test_item_is_no_parameter() -> None:
    judge = JudgeIdentity(kind="openai", model="m", parameters={"temperature": 0})
    assert with_layout(judge, "item") == judge
    assert with_layout(judge, "group:4").parameters == {"temperature": 0, "layout": "group:4"}
    assert with_layout(JudgeIdentity(kind="handoff", model="m"), "item").parameters == {"layout": "item"}
    with pytest.raises(SciagentError, match="choose item"):
        with_layout(judge, "all")


# Money


def test_costs_of_a_shared_call_are_divided(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(shared({})) as server:
        args = [*options("openai", server), "--sciagent-layout=finding", "--sciagent-price=1000/2000"]
        cohort.pytest(*args)
        assert len(server.requests) == 2
    costs = [e["cost_usd"] for e in record_of(cohort)]
    each = (100 * 1000 + 20 * 2000) / 1e6
    assert sum(costs) == pytest.approx(2 * each)
    assert Counter(round(cost, 6) for cost in costs) == {each: 1, each / 4: 4}


def test_a_budget_counts_calls_not_criteria(cohort: Cohort) -> None:
    cohort.run()
    with Loopback(shared({})) as server:
        args = [*options("openai", server), "--sciagent-layout=group:2", "--sciagent-max-calls=5"]
        result = cohort.pytest(*args, "--sciagent-in-flight=1")
        assert len(server.requests) == 5
    assert outcomes(result) == {"passed": 4, "error": 4}
    assert Counter(e["status"] for e in entries(cohort).values())["assessed"] == 4


# Many failures


def test_of_many_spoiled_shared_answers_no_failure_becomes_a_level(cohort: Cohort) -> None:
    """40 findings of 10 criteria, in prompts of three, a third of the answers spoiled for good."""
    (cohort.root / "rubrics" / "small.yaml").write_text(rubric_text(weights=MANY))
    cohort.run(findings=40)
    rng = random.Random(7)
    fates: dict[str, Any] = {}

    def fate(place: str) -> Any:
        if place not in fates:
            good_one = rng.choice([1, 0.5, 0])
            fates[place] = good_one if rng.random() < 0.67 else rng.choice([bad for bad, _ in BAD.values()] + ["extra"])
        return fates[place]

    def behaviour(request: dict[str, Any], number: int) -> Any:
        found: dict[str, Any] = {}
        user = request["messages"][1]["content"]
        which = re.search(r"finding to judge is number (\d+)", user)
        for name in sorted(asked(request)):
            told = fate(f"{which[1] if which else ''} {name}")
            if told == "extra":
                found[f"{name}x"] = answer(1)
            elif told is not None:
                found[name] = answer(told) if isinstance(told, int | float) else told
        return found if asked(request) else good(request, number)

    with Loopback(behaviour) as server:
        cohort.pytest(*options("openai", server), "--sciagent-layout=group:3", "-q")
    for (finding, name), entry in entries(cohort).items():
        told = fates[f"{finding.removeprefix('finding_')} {name}"]
        expected = told if isinstance(told, int | float) else None
        assert entry["level"] == expected, (finding, name, told, entry)
