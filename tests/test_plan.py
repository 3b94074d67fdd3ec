"""`sciagent plan` tells what judges will be asked, by the prompts they will be sent, before anybody is asked."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Answer, Loopback
from sample import OTHER, Cohort
from test_layouts import asked, shared
from test_live_judge import good, options

from pytest_sciagent.judging.estimate import (
    ANSWER_TOKENS,
    AnswerLengths,
    Open,
    Pace,
    Size,
    calls_of,
    estimate,
)
from pytest_sciagent.judging.prices import Price
from pytest_sciagent.models import JudgeIdentity

JUDGE = "openai:some-model"
WHO = JudgeIdentity(kind="openai", model="some-model")
USUAL = AnswerLengths(ANSWER_TOKENS, 8.0, "test")


def plan(cohort: Cohort, *args: str) -> dict[str, Any]:
    code, out, err = cohort.sciagent("plan", "runs", "--rubric=small", "--json", *args)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def layouts(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {layout["layout"]: layout for layout in found["judges"][0]["layouts"]}


def test_the_calls_foreseen_are_those_that_come(cohort: Cohort) -> None:
    cohort.run()
    cohort.run("beta", findings=1)
    foreseen = layouts(plan(cohort, f"--judge={JUDGE}", "--price=1/5"))
    assert foreseen["item"]["calls"] == foreseen["item"]["questions"] == (8 + 1 + 2) + (4 + 1)
    assert foreseen["group:4"]["calls"] == foreseen["finding"]["calls"] == (2 + 1 + 2) + (1 + 1)
    assert foreseen["item"]["calls_about_run"] == 4
    with Loopback(good) as server:
        cohort.pytest(*options("openai", server))
        assert len(server.requests) == foreseen["item"]["calls"]
        sent = sum(int(r.headers["content-length"]) for r in server.requests)
    assert sent / 3.5 * 0.75 < foreseen["item"]["input_tokens"] < sent / 3.5 * 1.1

    after = plan(cohort, f"--judge={JUDGE}", "--price=1/5")
    assert layouts(after)["item"]["calls"] == 0
    assert layouts(after)["item"]["cost"] == 0
    assert layouts(after)["group:4"]["calls"] == 7  # another layout's answers are others'
    told = after["judges"][0]
    assert (told["answers_recorded"], told["answer_tokens"]["criterion"]) == (16, 20)
    assert told["calls_timed"] == 16


def test_what_another_judge_has_answered_is_open(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record(judge=OTHER)
    found = plan(cohort, f"--judge={JUDGE}", "--judge=handoff:other")
    judges = {j["judge"]["kind"]: j["layouts"][0] for j in found["judges"]}
    assert judges["openai"]["questions"] == 5
    assert judges["handoff"]["questions"] == 2  # three of four criteria are recorded; so the plan, and one criterion
    assert judges["handoff"]["seconds"] is None
    assert found["judges"][1]["price"] is None


def test_canaries_are_counted(cohort: Cohort) -> None:
    cohort.run()
    assert layouts(plan(cohort, f"--judge={JUDGE}", "--canary"))["item"]["questions"] == 11 + 2


def test_an_unknown_price_is_told_and_nothing_is_made_of_it(cohort: Cohort) -> None:
    cohort.run(findings=1)
    code, out, _ = cohort.sciagent("plan", "runs", "--rubric=small", "--judge=openai:nosuchmodel")
    assert code == 0
    assert "price: not known: give it with --price IN/OUT or IN/CACHED/OUT" in out
    row = next(line.split() for line in out.splitlines() if line.startswith("  item"))
    assert row[6:9] == ["?", "?", "?"]
    (judge,) = plan(cohort, "--judge=openai:nosuchmodel")["judges"]
    assert judge["price"] is None
    assert {e[name] for e in judge["layouts"] for name in ("cost", "cost_without_cache", "batch_cost")} == {None}


def test_a_price_may_be_one_judges_only(cohort: Cohort) -> None:
    cohort.run(findings=1)
    args = ["--judge=openai:a", "--judge=openai:b", "--price=1/2", "--price=openai:b=3/0.3/4"]
    a, b = plan(cohort, *args)["judges"]
    assert a["price"] == {"input": 1, "output": 2, "cached": None}
    assert b["price"] == {"input": 3, "output": 4, "cached": 0.3}


@pytest.mark.parametrize("layout", ["group:4", "group:3", "finding"])
def test_the_calls_of_every_layout_are_those_that_come(cohort: Cohort, layout: str) -> None:
    cohort.run()
    foreseen = layouts(plan(cohort, f"--judge={JUDGE}", f"--layout={layout}"))[layout]
    with Loopback(lambda request, number: Answer(None, refusal="no")) as server:
        cohort.pytest(*options("openai", server), f"--sciagent-layout={layout}")
        assert len(server.requests) == foreseen["calls"]


def test_decisions_ask_a_findings_criteria_at_once_and_nothing_about_the_run(cohort: Cohort) -> None:
    cohort.run()
    found = layouts(plan(cohort, "--judge=decisions:m", "--price=0.1/0"))
    assert list(found) == ["decisions"]
    assert (found["decisions"]["calls"], found["decisions"]["output_tokens"]) == (2, 0)
    assert found["decisions"]["batch_hours"] is None


INI = """\
[pytest]
sciagent_rubric = small
sciagent_judge = {judge}
sciagent_price = 10/1/100
sciagent_base_url = {url}
sciagent_canary = {canary}
sciagent_draws = {draws}
sciagent_layout = {layout}
"""


def metered(behaviour: Any) -> Any:
    """The same behaviour, told in tokens: one for 3.5 bytes of the request, 20 for each question answered."""

    def answering(request: dict[str, Any], number: int) -> Answer:
        questions = max(1, len(asked(request)))
        sent = round(len(json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()) / 3.5)
        usage = {"prompt_tokens": sent, "completion_tokens": 20 * questions, "total_tokens": sent + 20 * questions}
        return Answer(behaviour(request, number), usage=usage)

    return answering


@pytest.mark.parametrize("layout", ["item", "group:3", "finding"])
@pytest.mark.parametrize(
    ("judge", "canary", "draws"),
    [
        ("openai:a", False, "1"),
        ("openai:a", True, "2"),
        ("openai:a,openai:b", False, "1"),
        ("openai:a,openai:b", True, "2"),
    ],
    ids=["one", "two draws and a canary", "panel", "panel of two draws and a canary"],
)
def test_what_is_planned_is_what_a_session_of_the_same_configuration_spends(
    cohort: Cohort, judge: str, canary: bool, draws: str, layout: str
) -> None:
    cohort.run()
    cohort.run("beta", findings=1)
    with Loopback(metered(good if layout == "item" else shared({"canary": 0}))) as server:
        (cohort.root / "pytest.ini").write_text(
            INI.format(judge=judge, url=server.openai_url, canary=canary, draws=draws, layout=layout)
        )
        code, out, err = cohort.sciagent("plan", "runs", "--json", "--answer-tokens=20")
        assert code == 0, err
        planned = [j["layouts"] for j in json.loads(out)["judges"]]
        assert [len(layouts) for layouts in planned] == [1] * len(judge.split(","))
        spent = cohort.results("--sciagent-run=runs")["spending"]["spent"]
        by_model = Counter(request.json["model"] for request in server.requests)
    calls = [one["calls"] for (one,) in planned]
    assert sum(calls) == spent["calls"] == len(server.requests)
    assert calls == [by_model[name.partition(":")[2]] for name in judge.split(",")]
    told = {name: sum(one[name] for (one,) in planned) for name in ("input_tokens", "output_tokens")}
    dollars = sum(one["cost_without_cache"] for (one,) in planned)
    assert 0.9 < told["input_tokens"] / spent["input_tokens"] < 1.05
    assert told["output_tokens"] == spent["output_tokens"]
    assert 0.9 < dollars / spent["cost_usd"] < 1.05


def test_a_run_that_can_not_be_used_is_left_aside_as_in_a_session(cohort: Cohort) -> None:
    cohort.run("alpha")
    changed, torn = cohort.run("beta"), cohort.run("gamma")
    (changed / "output" / "Result.md").write_text("changed")
    (torn / "run.json").write_text("{")
    args = ("plan", "runs", f"--judge={JUDGE}", "--json")
    code, out, err = cohort.sciagent(*args)
    assert code == 0
    assert json.loads(out)["runs"] == ["alpha/t1"]
    assert sum(line.startswith("left aside: ") for line in err.splitlines()) == 2
    (cohort.root / "runs" / "alpha" / "t1" / "output" / "Result.md").write_text("changed")
    code, out, err = cohort.sciagent(*args)
    assert (code, out) == (4, "")
    assert "no usable run: " in err
    assert "Traceback" not in err


def test_a_panel_is_summed_up(cohort: Cohort) -> None:
    cohort.run(findings=1)
    args = ["--rubric=small", "--judge=openai:a,openai:b", "--layout=item", "--price=1/5"]
    code, out, _ = cohort.sciagent("plan", "runs", *args)
    assert code == 0
    assert "panel openai:a,openai:b" in out
    (line,) = [line for line in out.splitlines() if line.startswith("  item: ")]
    assert line.startswith("  item: 9 calls, ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--judge=openai"], "write KIND:MODEL"),
        (["--judge=openai:a", "--layout=group:0"], "layout 'group:0': choose item, group:N"),
        (["--judge=handoff:a", "--layout=group:4"], "has the layouts item and finding"),
        (["--judge=openai:a", "--price=cheap"], "write IN/OUT"),
        (["--judge=openai:a", "--price=openai:b=1/2"], "no --judge openai:b is given"),
        (["--judge=openai:a", "--rpm=0"], "0.0 is not in the range"),
        ([], "Missing option '--judge'"),
    ],
)
def test_what_cannot_be_meant_is_one_message(cohort: Cohort, args: list[str], message: str) -> None:
    cohort.run(findings=1)
    code, out, err = cohort.sciagent("plan", "runs", "--rubric=small", *args)
    assert (code, out) == (4, "")
    assert message in err


def test_no_key_is_needed_and_nobody_is_asked(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        plan(cohort, f"--judge={JUDGE}")
        assert not server.requests
    assert not (cohort.root / ".sciagent" / "work").exists()
    assert not (cohort.root / "verdicts").exists()


# ---- the arithmetic

SIZES = st.builds(Size, st.integers(1, 5000), st.integers(1, 500))


@st.composite
def questions(draw: st.DrawFn) -> list[Open]:
    """Questions about runs, and of findings whose prompts share a prefix."""
    found = [Open("plan", draw(SIZES), None) for _ in range(draw(st.integers(0, 3)))]
    for group in range(draw(st.integers(0, 4))):
        prefix = draw(st.integers(1, 5000))
        lasts = draw(st.lists(st.integers(1, 500), max_size=9))
        found += [Open("criterion", Size(prefix, last), f"f{group}") for last in lasts]
    return found


@given(questions(), st.integers(1, 12))
def test_every_question_is_in_one_call_and_larger_groups_send_less(asked: list[Open], size: int) -> None:
    by_layout = {}
    for layout in ("item", f"group:{size}", "finding"):
        most = {"item": 1, "finding": 10**9}.get(layout, size)
        about_run, criteria = calls_of(asked, most, USUAL)
        assert sum(call.questions for call in [*about_run, *criteria]) == len(asked)
        assert all(0 <= call.cached < call.input for call in [*about_run, *criteria])
        by_layout[layout] = [*about_run, *criteria]
    sent = [sum(call.input for call in calls) for calls in by_layout.values()]
    assert sent == sorted(sent, reverse=True)
    outputs = [sum(call.output for call in calls) for calls in by_layout.values()]
    assert outputs == [pytest.approx(outputs[0])] * 3
    assert len(by_layout["finding"]) == len({q.group for q in asked if q.group}) + sum(q.group is None for q in asked)


@given(questions(), st.integers(1, 80), st.floats(1, 1000), st.floats(100, 1e6))
def test_cost_and_time_hold_their_bounds(asked: list[Open], in_flight: int, rpm: float, tpm: float) -> None:
    found = estimate(asked, WHO, "item", USUAL, Price(2.0, 8.0, 0.5), Pace(in_flight, rpm, tpm))
    dollars = (
        2 * (found.input_tokens - found.cached_tokens) + 0.5 * found.cached_tokens + 8 * found.output_tokens
    ) / 1e6
    assert found.cost == pytest.approx(dollars)
    assert found.cost_without_cache is not None
    assert found.batch_cost == pytest.approx(found.cost_without_cache / 2)
    assert found.seconds is not None
    least = max(
        found.calls / rpm * 60,
        (found.input_tokens + found.output_tokens - 1) / tpm * 60,
        found.calls * USUAL.seconds / in_flight,
    )
    assert found.seconds >= least * 0.999999


def test_a_short_prefix_is_not_cached() -> None:
    short = [Open("criterion", Size(1023, 10), "f") for _ in range(3)]
    long = [Open("criterion", Size(1024, 10), "f") for _ in range(3)]
    assert [call.cached for call in calls_of(short, 1, USUAL)[1]] == [0, 0, 0]
    assert [call.cached for call in calls_of(long, 1, USUAL)[1]] == [0, 1024, 1024]
