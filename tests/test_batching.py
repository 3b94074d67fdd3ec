"""Sessions that hand their questions to a batch API, and sessions and commands that take the answers in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from loopback import Answer, Loopback, Lost, Raw
from sample import LEVELS, UNUSED, Cohort, answer, outcomes, without_spending
from test_layouts import asked, shared
from test_live_judge import good, record_of, wait_for

from pytest_sciagent.judging import batch
from pytest_sciagent.judging.batch_api import BATCH_APIS

both = pytest.mark.parametrize("kind", ["openai", "anthropic"])
pytestmark = pytest.mark.usefixtures("no_proxy")


def options(server: Loopback, kind: str = "openai", *more: str) -> list[str]:
    url = server.openai_url if kind == "openai" else server.url
    return ["--sciagent-run=runs", f"--sciagent-judge={kind}:some-model", f"--sciagent-base-url={url}", *more]


def files(cohort: Cohort) -> list[str]:
    return sorted(path.name for path in (cohort.root / ".sciagent" / "batches").glob("*.json"))


def leveled(request: dict[str, Any], number: int) -> dict[str, Any]:
    ids = asked(request)
    return answer(LEVELS.get(ids[0], 1)) if ids else good(request, number)


@both
@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_submit_then_collect(cohort: Cohort, kind: str, extra: list[str]) -> None:
    cohort.run("alpha")
    cohort.run("beta", findings=1)
    with Loopback(leveled) as server:
        args = [*options(server, kind, "--sciagent-batch"), *extra]
        first = cohort.pytest(*args)
        assert outcomes(first) == {"not assessed": 12}
        assert first.ret == 0
        first.stdout.fnmatch_lines(
            [
                f"submitted to {kind}:some-model: 16 questions in 16 prompts, batch batch_1. Collect the answers by "
                "the same command, or by 'sciagent batch collect RUNS'",
                "criteria whose facts need answers about the run are submitted once those are collected",
            ]
        )
        assert files(cohort) == ["batch_1.json"]
        second = cohort.pytest(*args)
        second.stdout.fnmatch_lines([f"batch batch_1 ({kind}:some-model, 16 questions): running: *"])
        assert outcomes(second) == {"not assessed": 12}
        assert len(server.batches) == 1
        server.batches[0].end()
        found = cohort.results(*args)
        assert (len(server.batches), files(cohort), server.requests) == (1, [], [])
    name = "completed" if kind == "openai" else "ended"
    assert found["notes"] == [f"batch batch_1 ({kind}:some-model, 16 questions): {name}: 16 answers taken in"]
    levels = Counter(c["level"] for r in found["runs"] for f in r["findings"] for c in f["criteria"])
    assert levels == {1: 6, 0.5: 3, 0: 3}
    assert without_spending(cohort.results("--sciagent-run=runs")) == without_spending(found)
    # The transport is no part of the key: a live session finds everything answered.
    with Loopback(good) as server:
        assert without_spending(cohort.results(*options(server, kind))) == without_spending(found)
        assert not server.requests


def test_gates_are_inconclusive_until_the_answers_are_there(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        args = options(server, "openai", "--sciagent-batch", "--sciagent-min-score=50")
        assert cohort.pytest(*args).ret == 10
        server.batches[0].end()
        assert cohort.pytest(*args).ret == 0


def test_questions_on_their_way_are_not_asked_live(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    with Loopback(good) as server:
        cohort.pytest(*options(server, "openai", "--sciagent-batch"))
        cohort.run("beta", findings=1)
        result = cohort.pytest(*options(server))
        result.stdout.fnmatch_lines(["5 questions on the way in batches, not asked here; *"])
        assert outcomes(result) == {"passed": 4, "not assessed": 4}
        assert len(server.requests) == 5
        server.batches[0].end()
        assert outcomes(cohort.pytest(*options(server))) == {"passed": 8}
        assert len(server.requests) == 5


def test_what_a_batch_leaves_open_is_asked_again(cohort: Cohort) -> None:
    cohort.run(findings=1)
    fates: dict[str, Any] = {
        "ev.full": Answer(answer(1)),
        "ev.half": Lost("expired"),
        "rob.zero": Lost("missing"),
        "rob.open": Answer("{", end="length"),
    }
    with Loopback(lambda r, n: fates[asked(r)[0]] if asked(r) else good(r, n)) as server:
        args = options(server, "openai", "--sciagent-batch", "--sciagent-judge-param=max_output_tokens=100")
        cohort.pytest(*args)
        server.batches[0].end("expired")
        found = cohort.results(*args)
        room = [sorted(r["max_completion_tokens"] for r in b.requests.values()) for b in server.batches]
        assert room == [[100] * 5, [100, 100, 400]], "what was cut at the cap gets more room, as a live call does"
        assert (
            found["notes"][0]
            == "batch batch_1 (openai:some-model, 5 questions): expired: 2 answers taken in, 2 failed, 1 not answered"
        )
    criteria = {c["criterion_id"]: c for c in found["runs"][0]["findings"][0]["criteria"]}
    assert {n: (c["status"], c["level"], c["reason_code"]) for n, c in criteria.items()} == {
        "ev.full": ("assessed", 1, "full"),
        "ev.half": ("timeout", None, "batch_expired"),
        "rob.zero": ("unrecorded", None, "unrecorded"),
        "rob.open": ("truncated", None, "truncated"),
    }


def test_a_failed_batch_is_told_and_its_questions_are_open(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        args = options(server, "openai", "--sciagent-batch")
        cohort.pytest(*args)
        server.batches[0].status = "failed"
        server.batches[0].errors = [{"message": "Line 3 is too long"}]
        result = cohort.pytest(*args)
        result.stdout.fnmatch_lines(["batch batch_1 (openai:some-model, 5 questions): failed: Line 3 is too long"])
        assert [len(b.requests) for b in server.batches] == [5, 5]
    assert files(cohort) == ["batch_2.json"]


@both
def test_layouts_by_batch(cohort: Cohort, kind: str) -> None:
    cohort.run()

    def behaviour(request: dict[str, Any], number: int) -> Any:
        found = shared(LEVELS)(request, number)
        return {name: told for name, told in found.items() if name != "ev.half"} if asked(request) else found

    with Loopback(behaviour) as server:
        args = options(server, kind, "--sciagent-batch", "--sciagent-layout=finding")
        result = cohort.pytest(*args)
        result.stdout.fnmatch_lines(["submitted to *: 11 questions in 5 prompts, batch batch_1.*"])
        server.batches[0].end()
        found = cohort.results(*args)
        assert [asked(r) for r in server.batches[1].requests.values()] == [["ev.half"]] * 2
    assert found["judge"]["parameters"] == {"layout": "finding"}
    criteria = [c for f in found["runs"][0]["findings"] for c in f["criteria"]]
    assert Counter((c["criterion_id"], c["level"], c["reason_code"]) for c in criteria) == {
        ("ev.full", 1, "full"): 2,
        ("ev.half", None, "missing"): 2,
        ("rob.zero", 0, "zero"): 2,
        ("rob.open", 1, "full"): 2,
    }
    usage = [e["usage"]["input_tokens"] for e in record_of(cohort) if e["kind"] == "criterion"]
    assert sum(usage) in (200, 150), "of those that are kept"


def test_a_batch_costs_half_and_a_price_that_is_given_stands(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        url = f"--sciagent-base-url={server.openai_url}"
        for model, price, expected in (
            ("gpt-4o-mini", [], (40 * 0.15 + 60 * 0.075 + 20 * 0.6) / 1e6 / 2),
            ("some-model", ["--sciagent-price=10/20"], (100 * 10 + 20 * 20) / 1e6),
        ):
            args = ["--sciagent-run=runs", f"--sciagent-judge=openai:{model}", url, "--sciagent-batch", *price]
            cohort.pytest(*args)
            server.batches[-1].end()
            cohort.pytest(*args)
            costs = [e["cost_usd"] for e in record_of(cohort) if e["judge"]["model"] == model]
            assert costs == [pytest.approx(expected)] * 5


@pytest.mark.parametrize(("budget", "submitted"), [("--sciagent-max-calls=3", 3), ("--sciagent-max-cost=0.0000001", 0)])
def test_a_budget_holds(cohort: Cohort, budget: str, submitted: int) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        result = cohort.pytest(*options(server, "openai", "--sciagent-batch", "--sciagent-price=1/2", budget))
        assert sum(len(b.requests) for b in server.batches) == submitted
    words = f"{5 - submitted} questions were not submitted: the budget of this session is spent"
    result.stdout.fnmatch_lines([words])


def test_many_questions_go_in_several_batches(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    cohort.run()
    monkeypatch.setattr(BATCH_APIS["openai"], "max_requests", 4)
    with Loopback(good) as server:
        args = options(server, "openai", "--sciagent-batch")
        result = cohort.pytest(*args)
        result.stdout.fnmatch_lines(["*11 questions in 11 prompts, batch batch_1, batch_2, batch_3. Collect*"])
        server.batches[1].end()
        assert outcomes(cohort.pytest(*args))["not assessed"] < 8
        assert files(cohort) == ["batch_1.json", "batch_3.json"]
        assert len(server.batches) == 3


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--sciagent-judge=decisions:m", "--sciagent-batch"], "--sciagent-batch: decisions:m has no batch API*"),
        (["--sciagent-judge=handoff:m", "--sciagent-batch"], "*"),
        (["--sciagent-batch"], "--sciagent-layout and --sciagent-batch belong to a judge: *"),
        (
            ["--sciagent-judge=openai:m", "--sciagent-batch", "--sciagent-ledger-mode=live"],
            "--sciagent-batch: with the ledger mode live no answer could be taken in",
        ),
    ],
)
def test_bad_input(cohort: Cohort, args: list[str], words: str) -> None:
    cohort.run(findings=1)
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-base-url=http://127.0.0.1:9", *args)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {words}"])


def test_a_refusal_of_the_provider_is_told(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        server.refuse = {"POST /v1/files": Raw(401, {"error": {"message": "No such key."}})}
        result = cohort.pytest(*options(server, "openai", "--sciagent-batch"))
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: judge openai:some-model: *HTTP 401: No such key."])
    assert files(cohort) == []


# Interrupted


def test_killed_while_the_batch_is_made(cohort: Cohort) -> None:
    """The batch is there, but the session was killed before it knew: the next one finds it by its mark."""
    cohort.run(findings=1)
    with Loopback(good) as server:
        args = options(server, "openai", "--sciagent-batch")
        server.garble["POST /v1/batches"] = Raw(200, b'{"id": "batch_', drip_s=30.0)
        plugins = [part for name in (*UNUSED, "cacheprovider") for part in ("-p", f"no:{name}")]
        child = subprocess.Popen([sys.executable, "-m", "pytest", *plugins, *args], start_new_session=True)
        wait_for(lambda: server.batches, "the batch")
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        server.garble.clear()
        (name,) = files(cohort)
        assert name.startswith("submitting-")
        assert outcomes(cohort.pytest(*args)) == {"not assessed": 4}
        assert len(server.batches) == 1, "not asked twice"
        server.batches[0].end()
        assert outcomes(cohort.pytest(*args)) == {"passed": 4}
        assert (len(server.batches), files(cohort)) == (1, [])


def test_killed_after_the_answers_are_recorded(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        args = options(server, "openai", "--sciagent-batch", "--sciagent-price=1/2")
        cohort.pytest(*args)
        server.batches[0].end()
        path = cohort.root / ".sciagent" / "batches" / "batch_1.json"
        state = path.read_text()
        cohort.pytest(*args)
        before = record_of(cohort)
        path.write_text(state)  # as if the session had not come so far as to forget it
        assert outcomes(cohort.pytest(*args)) == {"passed": 4}
        assert (record_of(cohort), files(cohort), len(server.batches)) == (before, [], 1)


# Commands


def test_status_and_collect(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    cohort.run("beta", findings=1)
    assert cohort.sciagent("batch", "status")[:2] == (0, "no batch is on its way\n")
    with Loopback(leveled) as server:
        cohort.pytest(*options(server, "openai", "--sciagent-batch"))
        url = ["--base-url", server.openai_url]
        code, out, err = cohort.sciagent("batch", "status", *url)
        assert (code, err) == (1, "")
        assert out.startswith(
            "batch batch_1 (openai:some-model, 10 questions): running: in_progress, 0 of 10 answered; "
        )
        code, out, _ = cohort.sciagent("batch", "collect", "runs", *url)
        assert (code, out.count("running")) == (1, 1)
        server.batches[0].end()
        code, out, _ = cohort.sciagent("batch", "status", *url)
        assert (code, "ended: completed, 10 of 10 prompts answered" in out) == (0, True)
        # One run alone: the batch waits for the other.
        code, out, _ = cohort.sciagent("batch", "collect", "runs/alpha", *url, "--price", "1/2")
        assert code == 1
        assert "5 answers taken in, those of beta/t1 wait until these runs are given too" in out
        assert files(cohort) == ["batch_1.json"]
        code, out, _ = cohort.sciagent("batch", "collect", "runs", *url, "--price", "1/2")
        assert (code, files(cohort)) == (0, [])
        assert out.count("written: ") == 1
        assert out.endswith("batch batch_1 (openai:some-model, 10 questions): completed: 10 answers taken in\n")
    assert {e["cost_usd"] for e in record_of(cohort, "beta")} == {(100 + 40) / 1e6}
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": 4, "half": 2, "failed": 2}


def test_answers_outlive_a_change_of_the_rubric(cohort: Cohort) -> None:
    """What was paid for is recorded, though nobody asks it any more; what changed is open."""
    cohort.run(findings=1)
    rubric = cohort.root / "rubrics" / "small.yaml"
    text = rubric.read_text()
    with Loopback(good) as server:
        args = options(server, "openai", "--sciagent-batch")
        cohort.pytest(*args)
        server.batches[0].end()
        rubric.write_text(text.replace("Is it so?", "Is it really so?", 1))
        assert outcomes(cohort.pytest(*args)) == {"passed": 3, "not assessed": 1}
        assert len(server.batches[1].requests) == 1
    rubric.write_text(text)
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": 4}


def test_the_key_goes_only_where_the_user_sends_it(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch's file names a server; one that the user did not name is not asked."""
    cohort.run(findings=1)
    with Loopback(good) as server, Loopback(good) as other:
        cohort.pytest(*options(server, "openai", "--sciagent-batch"))
        server.batches[0].end()
        path = cohort.root / ".sciagent" / "batches" / "batch_1.json"
        path.write_text(path.read_text().replace(server.url, other.url))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        result = cohort.pytest(*options(server, "openai", "--sciagent-batch"))
        result.stdout.fnmatch_lines([f"batch batch_1 *: submitted to {other.openai_url}/; to collect it, give that *"])
        assert cohort.sciagent("batch", "status", "--base-url", server.openai_url)[0] == 1
        assert cohort.sciagent("batch", "collect", "runs", "--base-url", server.openai_url)[0] == 1
        assert other.calls == []
    assert files(cohort) == ["batch_1.json"]


def test_a_broken_file_is_told(cohort: Cohort) -> None:
    cohort.run(findings=1)
    folder = cohort.root / ".sciagent" / "batches"
    folder.mkdir(parents=True)
    (folder / "x.json").write_text("{}")
    code, _, err = cohort.sciagent("batch", "status")
    assert (code, "x.json" in err, "Traceback" in err) == (4, True, False)
    with Loopback(good) as server:
        assert cohort.pytest(*options(server, "openai", "--sciagent-batch")).ret == 4


def test_old_files_without_lines_still_read(tmp_path: Path) -> None:
    state = {
        "schema": "sciagent-batch/1",
        "batch_id": "b",
        "judge": {"kind": "openai", "model": "m"},
        "keys": ["a" * 64],
        "submitted_at": "2026-01-01T00:00:00Z",
        "base_url": "http://127.0.0.1:9/v1/",
    }
    (tmp_path / "b.json").write_text(json.dumps(state))
    assert [s.keys for s in batch.open_batches(tmp_path)] == [("a" * 64,)]


@both
def test_a_prompt_of_a_batch_is_one_call_however_many_questions_it_asks(cohort: Cohort, kind: str) -> None:
    cohort.run()
    with Loopback(shared({})) as server:
        args = [*options(server, kind, "--sciagent-batch"), "--sciagent-price=10/1/100", "--sciagent-layout=finding"]
        cohort.pytest(*args)
        server.batches[0].end()
        spent = cohort.results(*args)["spending"]["spent"]
        again = cohort.results(*args)["spending"]["spent"]
    assert spent["calls"] == len(server.batches[0].requests) == 5
    assert (spent["input_tokens"], spent["output_tokens"]) == (500, 100)
    assert spent["cost_usd"] == pytest.approx(5 * (40 * 10 + 60 * 1 + 20 * 100) / 1e6)
    assert (again["calls"], again["cost_usd"]) == (0, 0)
