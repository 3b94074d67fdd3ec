"""Sessions that are interrupted or killed at random moments: what was paid for is kept, and only the rest is asked."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from loopback import Answer, Loopback
from sample import PER_FINDING, UNUSED, Cohort, answer, outcomes, rubric_text

from pytest_sciagent.ledger import read_work, work_files

KILLS = int(os.environ.get("SCIAGENT_TEST_KILLS", "6"))
"""20 for a thorough run."""
IN_FLIGHT = 4
RUNS = 2
FINDINGS = 4
ABOUT_RUN = 1 + FINDINGS
"""Which findings are the same, and what of each can be recalculated."""
TOTAL = RUNS * (FINDINGS * PER_FINDING + ABOUT_RUN)


def good(request: dict[str, Any], number: int) -> Answer:
    """Level 1 for every criterion, nothing about the run; after a moment."""
    text = json.dumps(request)
    known: dict[str, dict[str, Any]] = {
        '"groups"': {"rationale": "apart", "groups": []},
        '"plans"': {"rationale": "none", "plans": []},
    }
    return Answer(next((found for name, found in known.items() if name in text), answer(1)), delay_s=0.03)


def options(server: Loopback) -> list[str]:
    plugins = [part for name in (*UNUSED, "cacheprovider") for part in ("-p", f"no:{name}")]
    judge = ["--sciagent-judge=openai:some-model", f"--sciagent-base-url={server.openai_url}"]
    return [*plugins, "--sciagent-run=runs", *judge, f"--sciagent-in-flight={IN_FLIGHT}"]


def recorded(cohort: Cohort) -> set[tuple[str, str]]:
    """Runs and keys of all answers that are recorded. In the work files only a last line may be torn."""
    work = read_work(cohort.root / ".sciagent" / "work")
    in_work = [(run, entry.key) for run, entries in work.items() for entry in entries]
    assert len(set(in_work)) == len(in_work), "a question was asked that had been answered"
    assert all(entry.settles for entries in work.values() for entry in entries)
    found = set(in_work)
    for path in (cohort.root / "verdicts").rglob("*.json"):
        entries = json.loads(path.read_text())["entries"]
        found |= {(f"{path.parent.name}/{path.stem}", entry["key"]) for entry in entries}
    return found


def wait_for(condition: Callable[[], bool], child: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not condition() and child.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.002)


def session_until(server: Loopback, requests: int, then_s: float, how: signal.Signals, extra: list[str]) -> Any:
    """Start a session; send it a signal when so many requests are there and a little later. Its exit code and output"""
    command = [sys.executable, "-m", "pytest", *options(server), *extra]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    wait_for(lambda: len(server.requests) >= requests, child)
    time.sleep(then_s)
    if how is signal.SIGKILL:
        os.killpg(child.pid, how)  # workers as well
    else:
        child.send_signal(how)
    out, _ = child.communicate(timeout=60)
    return child.returncode, out


def make_runs(cohort: Cohort) -> None:
    for system in ("alpha", "beta")[:RUNS]:
        cohort.run(system, findings=FINDINGS)


def test_killed_sessions_lose_no_more_than_what_was_in_flight(cohort: Cohort) -> None:
    """Each session goes on where the one before was killed, until nothing is open; then all begins anew.

    One in three has a worker beside it.
    """
    rng = random.Random(KILLS)
    make_runs(cohort)
    with Loopback(good) as server:
        for kill in range(KILLS):
            before = recorded(cohort)
            if len(before) == TOTAL:
                shutil.rmtree(cohort.root / ".sciagent")
                shutil.rmtree(cohort.root / "verdicts", ignore_errors=True)
                before = set()
            asked = len(server.requests)
            # Anywhere from the first question to the writing of the records.
            stop = asked + rng.randint(1, TOTAL - len(before))
            extra = ["-n1"] if kill % 3 == 2 else []
            session_until(server, stop, rng.uniform(0, 0.1), signal.SIGKILL, extra)
            time.sleep(0.1)  # what it had sent arrives
            now = recorded(cohort)
            assert before <= now, "an answer was lost"
            paid = len(server.requests) - asked
            assert paid >= stop - asked
            assert 0 <= paid - (len(now) - len(before)) <= IN_FLIGHT, "more was lost than was in flight"
        asked, known = len(server.requests), len(recorded(cohort))
        assert outcomes(cohort.pytest(*options(server))) == {"passed": RUNS * FINDINGS * PER_FINDING}
        assert len(server.requests) - asked == TOTAL - known
        for system in ("alpha", "beta")[:RUNS]:
            record = json.loads((cohort.root / "verdicts" / system / "t1.json").read_text())
            assert len(record["entries"]) == TOTAL // RUNS
        assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": RUNS * FINDINGS * PER_FINDING}
        assert len(server.requests) - asked == TOTAL - known


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_an_interrupt_keeps_what_was_paid(cohort: Cohort, extra: list[str]) -> None:
    rng = random.Random(len(extra))
    make_runs(cohort)
    with Loopback(good) as server:
        known = 0
        for _ in range(2):
            asked = len(server.requests)
            stop = asked + rng.randrange(1, (TOTAL - known) // 2)
            code, out = session_until(server, stop, rng.uniform(0, 0.05), signal.SIGINT, extra)
            assert code == 2, out
            assert "INTERNALERROR" not in out
            assert not work_files(cohort.root / ".sciagent" / "work", "*")
            records = (cohort.root / "verdicts").rglob("*.json")
            now = sum(len(json.loads(path.read_text())["entries"]) for path in records)
            assert 0 <= len(server.requests) - asked - (now - known) <= IN_FLIGHT
            known = now
        asked = len(server.requests)
        assert outcomes(cohort.pytest(*options(server))) == {"passed": RUNS * FINDINGS * PER_FINDING}
        assert len(server.requests) - asked == TOTAL - known


def test_a_changed_criterion_opens_its_own_prompts_only(cohort: Cohort) -> None:
    make_runs(cohort)
    rubric = cohort.root / "rubrics" / "small.yaml"
    with Loopback(good) as server:
        cohort.pytest(*options(server))
        assert len(server.requests) == TOTAL
        head, found, tail = rubric_text().partition("id: ev.half")
        rubric.write_text(head + found + tail.replace("Is it so?", "Is it really so?", 1))
        assert outcomes(cohort.pytest(*options(server))) == {"passed": RUNS * FINDINGS * PER_FINDING}
        again = [json.dumps(request.json) for request in server.requests[TOTAL:]]
        assert len(again) == RUNS * FINDINGS
        assert all("Is it really so?" in text for text in again)
        rubric.write_text(rubric_text())  # and back: the first answers are still there
        cohort.pytest(*options(server))
        assert len(server.requests) == TOTAL + RUNS * FINDINGS
