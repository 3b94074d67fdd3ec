"""A provider is asked what is missing, once; answers are recorded and replayed; its failures never become levels."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from loopback import Answer, Loopback, Raw
from sample import QUOTE, UNUSED, Cohort, answer, outcomes

KINDS = ["openai", "anthropic"]


def content(request: dict[str, Any]) -> str:
    """Everything that a request says."""
    return json.dumps(request)


def good(request: dict[str, Any], number: int) -> dict[str, Any]:
    """Level 1 for every criterion, and nothing special about the run."""
    text = content(request)
    if '"groups"' in text or "groups\\" in text:
        return {"rationale": "apart", "groups": []}
    if '"plans"' in text or "plans\\" in text:
        return {"rationale": "none", "plans": []}
    return answer(1)


def options(kind: str, server: Loopback) -> list[str]:
    url = server.openai_url if kind == "openai" else server.url
    return ["--sciagent-run=runs", f"--sciagent-judge={kind}:some-model", f"--sciagent-base-url={url}"]


def record_of(cohort: Cohort, system: str = "alpha") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((cohort.root / "verdicts" / system / "t1.json").read_text())["entries"]
    return found


def work_files(cohort: Cohort) -> list[Path]:
    return sorted((cohort.root / ".sciagent" / "work").glob("*.jsonl"))


@pytest.mark.parametrize(
    ("kind", "extra"),
    [("openai", []), ("anthropic", []), ("openai", ["-n1"])],
    ids=["openai", "anthropic", "openai-n1"],
)
def test_ask_record_and_replay(cohort: Cohort, kind: str, extra: list[str]) -> None:
    cohort.run("alpha")
    cohort.run("beta", findings=1)
    with Loopback(good) as server:
        args = [*options(kind, server), "--sciagent-profile=truthinsight", *extra]
        found = cohort.results(*args, code=0)
        assert len(server.requests) == (8 + 1 + 2) + (4 + 1)
        assert all("some-model" in content(r.json) for r in server.requests)
        found.pop("spending")
        assert found.items() <= cohort.results(*args, code=0).items()
        assert len(server.requests) == 16
    assert found["judge"] == {"kind": kind, "model": "some-model", "parameters": {}}
    assert found["runs"][0]["score"] == {"low": 86, "high": 96}
    entries = record_of(cohort)
    assert {e["model_returned"] for e in entries} == {"some-model-2026"}
    assert all(e["usage"]["input_tokens"] == 100 and e["usage"]["output_tokens"] == 20 for e in entries)
    assert "127.0.0.1" not in json.dumps(entries)
    assert not work_files(cohort)

    replayed = cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight", code=0)
    assert replayed.pop("spending")["saved"]["answers"] == 16
    assert replayed == found
    named = [f"--sciagent-judge={kind}:some-model", "--sciagent-ledger-mode=replay"]
    assert (
        cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight", *named, code=0).items()
        >= found.items()
    )


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_only_what_is_selected_is_asked(cohort: Cohort, extra: list[str]) -> None:
    cohort.run("alpha")
    cohort.run("beta")
    with Loopback(good) as server:
        args = [*options("openai", server), *extra]
        result = cohort.pytest(*args, "-k", "alpha and finding_1 and ev.full")
        assert outcomes(result)["passed"] == 1
        assert len(server.requests) == 1
        assert cohort.pytest(*args, "-k", "nosuchthing").ret == 5
        assert len(server.requests) == 1


def test_nothing_is_asked_where_no_item_runs(cohort: Cohort) -> None:
    cohort.run("alpha")
    with Loopback(good) as server:
        args = options("openai", server)
        assert cohort.pytest(*args, "--collect-only").ret == 0
        cohort.pytest(*args, "--setup-plan")
        assert not server.requests
        cohort.pytest(*args, "runs/alpha/t1/run.json::finding_2::ev.half")
        assert len(server.requests) == 1


def test_parameters_are_sent_and_part_of_the_judge(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        args = [*options("openai", server), "--sciagent-judge-param=temperature=0.5", "-k", "ev.full"]
        cohort.pytest(*args)
        assert server.requests[0].json["temperature"] == 0.5
        cohort.pytest(*args[:-3], "-k", "ev.full")
        assert len(server.requests) == 2
    result = cohort.pytest("--sciagent-run=runs")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: verdicts of several judges are recorded (openai:some-model*"])


def test_refresh_asks_again_and_keeps_the_old_where_the_new_fails(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        cohort.pytest(*options("openai", server))
        before = len(server.requests)
    down = Loopback(lambda request, number: Raw(200, "out of order"))
    with down as server:
        result = cohort.pytest(*options("openai", server), "--sciagent-ledger-mode=refresh")
        assert outcomes(result) == {"passed": 4}
    zero = Loopback(lambda request, number: answer(0) if '"full"' in content(request) else good(request, number))
    with zero as server:
        result = cohort.pytest(*options("openai", server), "--sciagent-ledger-mode=refresh")
        assert len(server.requests) == before
    time.sleep(0.01)
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == outcomes(result)


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_live_neither_reads_nor_writes_the_ledger(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    cohort.record()
    before = (cohort.root / "verdicts" / "alpha" / "t1.json").read_bytes()
    with Loopback(good) as server:
        for _ in range(2):
            result = cohort.pytest(*options("openai", server), "--sciagent-ledger-mode=live", *extra)
            assert outcomes(result) == {"passed": 4}
        assert len(server.requests) == 10
    assert (cohort.root / "verdicts" / "alpha" / "t1.json").read_bytes() == before
    assert not work_files(cohort)


# ---- failures


@pytest.mark.parametrize(
    ("kind", "extra"),
    [("openai", []), ("anthropic", []), ("openai", ["-n1"])],
    ids=["openai", "anthropic", "openai-n1"],
)
def test_a_refused_key_stops_with_the_providers_words(cohort: Cohort, kind: str, extra: list[str]) -> None:
    cohort.run()
    refusal = Raw(401, {"error": {"type": "authentication_error", "message": "that key is \x1b[31mno good"}})
    with Loopback(lambda request, number: refusal) as server:
        result = cohort.pytest(*options(kind, server), *extra)
        assert 1 <= len(server.requests) <= 8
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: the judge {kind}:some-model can't be asked: HTTP 401: that key is *no good"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert "\x1b" not in result.stderr.str()
    assert not any("passed" in line for line in result.outlines)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_answered_before_a_stop_is_kept(cohort: Cohort, kind: str) -> None:
    cohort.run()

    def behaviour(request: dict[str, Any], number: int) -> dict[str, Any] | Raw:
        return good(request, number) if number <= 5 else Raw(402, {"error": {"message": "no money left"}})

    with Loopback(behaviour) as server:
        result = cohort.pytest(*options(kind, server), "--sciagent-in-flight=1")
        assert result.ret == 4
        assert "no money left" in result.stderr.str()
    assert len(record_of(cohort)) == 5
    with Loopback(good) as server:
        assert outcomes(cohort.pytest(*options(kind, server))) == {"passed": 8}
        assert len(server.requests) == 11 - 5


FAILURES: dict[str, tuple[Any, str]] = {
    "not JSON": (Answer("I think it is fine."), "invalid"),
    "wrong shape": (Answer({"zero": False}), "invalid"),
    "contradictory": (Answer(answer("invalid")), "invalid"),
    "unverified": (Answer(answer("unverified")), "unverified"),
    "refused": (Answer(None, refusal="I can't help with that"), "refused"),
    "truncated": (Answer("{", end="length"), "truncated"),
    "empty": (Answer(""), "invalid"),
    "broken body": (Raw(200, "<html>oops</html>"), "provider_error"),
    "bad prompt": (
        Raw(400, {"error": {"message": "context length exceeded", "code": "context_length_exceeded"}}),
        "provider_error",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failing_calls_are_errors_never_levels(cohort: Cohort, name: str) -> None:
    cohort.run(findings=1)
    behaviour, status = FAILURES[name]
    with Loopback(lambda request, number: behaviour) as server:
        found = cohort.results(*options("openai", server), code=1)
        first = len(server.requests)
    criteria = found["runs"][0]["findings"][0]["criteria"]
    assert {(c["status"], c["level"]) for c in criteria} == {(status, None)}
    assert found["runs"][0]["score"] == {"low": 0, "high": 100}
    with Loopback(good) as server:
        assert outcomes(cohort.pytest(*options("openai", server))) == {"passed": 4}
        assert len(server.requests) == 5  # every failed question once more
    assert first >= 5


def test_answers_that_were_cut_and_asked_for_again_are_told(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(lambda r, n: Answer("{", end="max_tokens") if r["max_tokens"] == 8192 else good(r, n)) as server:
        found = cohort.results(*options("anthropic", server), code=0)
    asked = len(server.requests) // 2
    assert asked > 1
    told = f"{asked} answers cut at the judge's cap of output, asked for once more with 4 times the room: *"
    assert [note for note in found["notes"] if fnmatch(note, told)]
    assert found["spending"]["spent"]["calls"] == 2 * asked


def test_a_check_that_fails_does_not_stop_the_asking(cohort: Cohort) -> None:
    cohort.run(findings=1)
    rubric = cohort.root / "rubrics" / "small.yaml"
    rubric.write_text(rubric.read_text().replace("judge: true", "judge: true\n    check: own.broken", 1))
    (cohort.root / "conftest.py").write_text(
        "def broken(context):\n    raise RuntimeError('no luck')\n\n"
        "def pytest_sciagent_checks(config):\n    return {'own.broken': broken}\n"
    )
    with Loopback(good) as server:
        result = cohort.pytest(*options("openai", server))
        assert outcomes(result) == {"passed": 3, "error": 1}
        result.stdout.fnmatch_lines(
            ["check_error: the check 'own.broken' failed: RuntimeError: no luck (conftest.py:*)"]
        )
        assert len(server.requests) == 4


def test_questions_are_not_asked_where_collection_failed(cohort: Cohort) -> None:
    cohort.run(findings=1)
    (cohort.root / "test_own.py").write_text("import nosuchmodule\n")
    with Loopback(good) as server:
        assert cohort.pytest(*options("openai", server), "test_own.py").ret == 2
        assert not server.requests


def test_no_more_than_asked_for_in_flight(cohort: Cohort) -> None:
    cohort.run(findings=3)
    with Loopback(lambda request, number: Answer(good(request, number), delay_s=0.02)) as server:
        cohort.pytest(*options("openai", server), "--sciagent-in-flight=2")
        assert server.peak == 2


# ---- interrupted


@pytest.fixture
def slow() -> Iterator[Loopback]:
    """Answers six questions at once and the others after a long time."""

    def behaviour(request: dict[str, Any], number: int) -> Answer:
        return Answer(good(request, number), delay_s=0.0 if number <= 6 else 30.0)

    with Loopback(behaviour) as server:
        yield server


def wait_for(condition: Any, what: str) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("how", "extra"),
    [(signal.SIGINT, []), (signal.SIGKILL, []), (signal.SIGINT, ["-n1"])],
    ids=["SIGINT", "SIGKILL", "SIGINT-n1"],
)
def test_an_interrupted_session_keeps_what_was_paid(
    cohort: Cohort, slow: Loopback, how: signal.Signals, extra: list[str]
) -> None:
    cohort.run()
    plugins = [part for name in (*UNUSED, "cacheprovider") for part in ("-p", f"no:{name}")]
    command = [sys.executable, "-m", "pytest", *plugins, *options("openai", slow), "--sciagent-in-flight=2", *extra]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    lines = lambda: sum(len(p.read_text().splitlines()) for p in work_files(cohort))  # noqa: E731
    wait_for(lambda: len(slow.requests) > 6 and lines() == 6, "six answers")
    os.kill(child.pid, how)
    out, _ = child.communicate(timeout=30)
    if how is signal.SIGINT:
        assert child.returncode == 2, out
        assert "INTERNALERROR" not in out
        assert not work_files(cohort)
        assert len(record_of(cohort)) == 6
    else:
        assert not (cohort.root / "verdicts").exists()
    with Loopback(good) as server:
        assert outcomes(cohort.pytest(*options("openai", server))) == {"passed": 8}
        assert len(server.requests) == 11 - 6
    assert len(record_of(cohort)) == 11


def test_a_killed_sessions_answers_are_taken_over_by_a_session_that_asks_nothing(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record()
    record = cohort.root / "verdicts" / "alpha" / "t1.json"
    data = json.loads(record.read_text())
    work = cohort.root / ".sciagent" / "work"
    work.mkdir(parents=True)
    left = "".join(json.dumps({"run": "alpha/t1", "entry": entry}) + "\n" for entry in data["entries"])
    (work / "dead-1-x.jsonl").write_text(left + '{"run": "al')
    record.unlink()
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": 1, "half": 1, "failed": 1, "not assessed": 1}
    assert json.loads(record.read_text()) == data


def test_the_quote_must_stand_in_the_run_that_was_asked_about(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    cohort.run("beta", findings=1, report="# R\n\n## Finding 1: another\n\nSomething else entirely.\n")
    with Loopback(good) as server:
        result = cohort.pytest(*options("openai", server))
    assert outcomes(result) == {"passed": 4, "error": 4}
    assert QUOTE in json.dumps(record_of(cohort))


@pytest.mark.parametrize("part", ["question: Is it so?", "1: all of it", "weight: 30"])
def test_only_the_prompts_of_a_changed_criterion_are_open_again(cohort: Cohort, part: str) -> None:
    """What a judge reads of a criterion opens its questions anew; what only the score reads opens none."""
    cohort.run("alpha")
    cohort.run("beta", findings=3)
    rubric = cohort.root / "rubrics" / "small.yaml"
    criteria = rubric.read_text().split("  - id: ")
    mine = next(n for n, text in enumerate(criteria) if text.startswith("ev.half"))
    with Loopback(good) as server:
        cohort.results(*options("openai", server), code=0)
        before = len(server.requests)
        criteria[mine] = criteria[mine].replace(part, f"{part}0" if "weight" in part else f"{part} as you see")
        rubric.write_text("  - id: ".join(criteria))
        found = cohort.results("--sciagent-run=runs")
        open_now = [
            (run["system"], finding["id"], criterion["criterion_id"])
            for run in found["runs"]
            for finding in run["findings"]
            for criterion in finding["criteria"]
            if criterion["status"] == "unrecorded"
        ]
        asked_again = 0 if "weight" in part else 5
        assert (
            open_now
            == [(s, f"finding_{n}", "ev.half") for s, of in (("alpha", 2), ("beta", 3)) for n in range(1, of + 1)][
                :asked_again
            ]
        )
        cohort.results(*options("openai", server), code=0)
        again = [content(request.json) for request in server.requests[before:]]
    assert len(again) == asked_again
    assert all("as you see" in text for text in again)
