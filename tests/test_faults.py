"""Faults of the machine, the network and the disk: each has a promised outcome, and docs/faults.md is their table.

A test of a fault makes it, returns the exit code that came of it, and checks the rest of the promise itself.
`python tests/test_faults.py` writes the page.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Raw
from sample import PER_FINDING, UNUSED, Cohort, outcomes, sciagent
from test_killed import good, options, recorded, session_until

from pytest_sciagent.documents import load_json
from pytest_sciagent.errors import SciagentError
from pytest_sciagent.ledger import read_work
from pytest_sciagent.models import LedgerFile

PAGE = Path(__file__).resolve().parent.parent / "docs" / "faults.md"
QUESTIONS = PER_FINDING + 1
"""What is asked about a run of one finding: its criteria, and what can be recalculated."""
HEAD = """\
# Faults and what comes of them

What a session promises where the disk, the machine or the network fails. The table is written by the tests that make
these faults (`tests/test_faults.py`); a test fails where it is not current.

The exit code is that of the command in which the fault struck. Two things hold for every row: no failure becomes a
level, and an answer that was paid for and written down is never asked for again.

| fault | exit code | outcome |
|---|---|---|
"""


@dataclass(frozen=True)
class Fault:
    """A row of the table, and the test that makes it true."""

    name: str
    code: int
    outcome: str
    test: Callable[[Cohort], int]


FAULTS: list[Fault] = []


def fault(name: str, code: int, outcome: str) -> Callable[[Callable[[Cohort], int]], Callable[[Cohort], int]]:
    """The test below makes this fault, ends with this exit code, and checks this outcome."""

    def enter(test: Callable[[Cohort], int]) -> Callable[[Cohort], int]:
        FAULTS.append(Fault(name, code, outcome, test))
        return test

    return enter


def page() -> str:
    """The page as it must be."""
    return HEAD + "".join(f"| {fault.name} | {fault.code} | {fault.outcome} |\n" for fault in FAULTS)


@contextmanager
def mounted(folder: Path, *how: str) -> Iterator[None]:
    """Something mounted on `folder`; skips where this user may not mount."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", *how, str(folder)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"this user can't mount: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def small_disk(folder: Path, size: str) -> Any:
    return mounted(folder, "-t", "tmpfs", "-o", f"size={size}", "tmpfs")


def refill(folder: Path) -> None:
    """Leave no free block on a small disk."""
    with (folder / "filling").open("wb", buffering=0) as filling:
        try:
            while True:
                filling.write(b"x" * 4096)
        except OSError:
            return


def complaints(result: pytest.RunResult) -> str:
    text = result.stdout.str() + result.stderr.str()
    assert "Traceback (most recent" not in text, text
    assert "INTERNALERROR" not in text, text
    return text


def start(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def all_answered(cohort: Cohort, server: Loopback, asked: int) -> None:
    """A further session asks `asked` questions, and then everything has its level."""
    before = len(server.requests)
    assert outcomes(cohort.pytest(*options(server))) == {"passed": PER_FINDING}
    assert len(server.requests) - before == asked


# ---- the disk


@fault(
    "disk full while answers are recorded",
    4,
    "asking stops with one message that names the file; what was written before is kept and used, half a line is "
    "dropped, the rest is asked in the next session",
)
def disk_full_while_recording(cohort: Cohort) -> int:
    cohort.run(findings=1)
    work = cohort.root / ".sciagent"
    with small_disk(work, "64k"), Loopback(good) as server:

        def behaviour(request: dict[str, Any], number: int) -> Any:
            if number == 4:
                refill(work)
            return good(request, number)

        with Loopback(behaviour) as other:
            result = cohort.pytest(*options(other), "--sciagent-in-flight=1")
        assert "No space left on device" in complaints(result)
        subprocess.run(["mount", "-o", "remount,size=4m", str(work)], check=True)
        kept = len(recorded(cohort))
        assert 0 < kept < QUESTIONS
        all_answered(cohort, server, QUESTIONS - kept)
    return int(result.ret)


@fault(
    "disk full while a report is written",
    4,
    "one message that names the report; the other reports are written, and every verdict is kept",
)
def disk_full_while_reporting(cohort: Cohort) -> int:
    cohort.run(findings=1)
    cohort.record()
    full = cohort.root / "full"
    with small_disk(full, "16k"):
        refill(full)
        result = cohort.pytest("--sciagent-run=runs", f"--sciagent-json={full}/r.json", "--sciagent-html=r.html")
        assert not [path for path in full.iterdir() if path.name != "filling"]
    text = complaints(result)
    assert "r.json" in text
    assert "No space left on device" in text
    assert (cohort.root / "r.html").is_file()
    return int(result.ret)


@fault("disk full while a run is frozen", 4, "one message; nothing is left where the run was to be")
def disk_full_while_freezing(cohort: Cohort) -> int:
    source = cohort.run(findings=1)
    workspace = cohort.root / "work"
    shutil.copytree(source / "output", workspace / "output")
    (workspace / "output" / "large.txt").write_bytes(b"x" * 200_000)
    with small_disk(cohort.root / "small", "64k"):
        target = cohort.root / "small" / "run"
        code, _, err = sciagent("freeze", workspace, "--task=t1", "--system=s", "-o", target)
        assert "No space left on device" in err
        assert not list((cohort.root / "small").iterdir())
    return code


@fault(
    "read-only tree, nothing to ask",
    1,
    "judged from what is recorded, as anywhere; 1 because criteria fail",
)
def read_only_replay(cohort: Cohort) -> int:
    cohort.run(findings=1)
    cohort.record()
    with mounted(cohort.root, "--bind", "-o", "ro", str(cohort.root)):
        result = in_folder(cohort.root, "--sciagent-run=runs")
    assert outcomes(result) == {"passed": 1, "half": 1, "failed": 1, "not assessed": 1}
    complaints(result)
    return int(result.ret)


@fault("read-only tree, and a judge to ask", 4, "one message before anything is asked, so that nothing is paid for")
def read_only_asking(cohort: Cohort) -> int:
    cohort.run(findings=1)
    with Loopback(good) as server, mounted(cohort.root, "--bind", "-o", "ro", str(cohort.root)):
        result = in_folder(cohort.root, *options(server))
        assert not server.requests
    assert "Read-only file system" in complaints(result)
    return int(result.ret)


def in_folder(folder: Path, *args: str) -> pytest.RunResult:
    """Run pytest in `folder` anew: a process that was there before a mount still sees what was below it."""
    plugins = [part for name in (*UNUSED, "cacheprovider") for part in ("-p", f"no:{name}")]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *args], cwd=folder, capture_output=True, text=True, timeout=120
    )
    lines = (done.stdout.splitlines(), done.stderr.splitlines())
    return pytest.RunResult(done.returncode, *lines, time.monotonic() - began)


@fault(
    "work file of the ledger cut at any byte",
    0,
    "whole lines are used, the cut line is dropped, and only its question is asked again",
)
def truncated_work(cohort: Cohort) -> int:
    cohort.run(findings=1)
    with Loopback(good) as server:
        _, out = session_until(server, QUESTIONS - 1, 0.0, signal.SIGKILL, ["--sciagent-in-flight=1"])
        (work,) = (cohort.root / ".sciagent" / "work").glob("*.jsonl")
        data = work.read_bytes()
        whole = [entry.key for entries in read_work(work.parent).values() for entry in entries]
        assert len(whole) >= 2, out
        for size in range(len(data) + 1):
            work.write_bytes(data[:size])
            read = [entry.key for entries in read_work(work.parent).values() for entry in entries]
            assert read == whole[: data[:size].count(b"\n")]
        work.write_bytes(data[: data.index(b"\n") + 9])
        asked = len(server.requests)
        result = cohort.pytest(*options(server))
        assert outcomes(result) == {"passed": PER_FINDING}
        assert len(server.requests) - asked == QUESTIONS - 1
    return int(result.ret)


@fault(
    "recorded verdicts cut at any byte",
    4,
    "one message that names the file; it is neither used in part nor written over",
)
def truncated_record(cohort: Cohort) -> int:
    cohort.run(findings=1)
    cohort.record()
    (record,) = (cohort.root / "verdicts").rglob("*.json")
    data = record.read_bytes()
    assert load_json(record, LedgerFile).entries
    for size in range(len(data.rstrip())):
        record.write_bytes(data[:size])
        with pytest.raises(SciagentError) as error:
            load_json(record, LedgerFile)
        assert str(record) in str(error.value)
    with Loopback(good) as server:
        result = cohort.pytest(*options(server))
        assert not server.requests
    assert record.name in complaints(result)
    assert record.read_bytes() == data[: len(data.rstrip()) - 1]
    return int(result.ret)


# ---- the machine


CLOCK = """\
import itertools, time
real = time.time
hours = itertools.cycle([0, 0, -5, 0, 7, -100_000, 100_000])
time.time = lambda: real() + 3600 * next(hours)
"""


@fault(
    "the clock jumps, back and forth, by hours and years",
    0,
    "nobody waits for it: rates go on from the new time, deadlines do not depend on the clock, answers are kept",
)
def clock_jumps(cohort: Cohort) -> int:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text(CLOCK)
    with Loopback(good) as server:
        began = time.monotonic()
        result = cohort.pytest(*options(server), "--sciagent-rpm=60000", fresh=True)
        assert time.monotonic() - began < 60
        assert outcomes(result) == {"passed": PER_FINDING}
        (cohort.root / "conftest.py").unlink()
        all_answered(cohort, server, 0)
    return int(result.ret)


DYING = """\
import os, signal, pathlib
from pytest_sciagent import criterion

@criterion('own.dies')
def dies(finding):
    mark = pathlib.Path(__file__).with_name('died')
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 1
"""


@fault(
    "a worker is killed",
    1,
    "another worker takes its place; the criterion that it was at is an error of this session, no other is lost or "
    "tested twice",
)
def worker_killed(cohort: Cohort) -> int:
    cohort.run("alpha", findings=1)
    cohort.run("beta", findings=1)
    cohort.record(lambda run, finding, criterion: 1)
    (cohort.root / "conftest.py").write_text(DYING)
    result = cohort.pytest("--sciagent-run=runs", "-n2", fresh=True)
    complaints(result)
    assert outcomes(result) == {"passed": 2 * PER_FINDING + 1, "failed": 1}
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": 2 * PER_FINDING + 2}
    return int(result.ret)


@fault(
    "the controller is killed",
    -signal.SIGKILL,
    "answers are on disk line by line: at most those in flight are lost, and the next session asks the rest",
)
def controller_killed(cohort: Cohort) -> int:
    cohort.run(findings=1)
    with Loopback(good) as server:
        code, _ = session_until(server, 3, 0.0, signal.SIGKILL, ["--sciagent-in-flight=1"])
        time.sleep(0.1)
        kept = len(recorded(cohort))
        assert len(server.requests) - 1 <= kept <= len(server.requests)
        all_answered(cohort, server, QUESTIONS - kept)
    return int(code)


@fault(
    "two sessions over the same runs at once",
    0,
    "both end as if alone; a question may be asked by both, and one answer of it is kept",
)
def two_sessions(cohort: Cohort) -> int:
    cohort.run(findings=1)
    with Loopback(good) as server:
        both = [start(*options(server)) for _ in range(2)]
        outputs = [child.communicate(timeout=120)[0] for child in both]
        assert [child.returncode for child in both] == [0, 0], outputs
        assert QUESTIONS <= len(server.requests) <= 2 * QUESTIONS
        record = load_json(cohort.root / "verdicts" / "alpha" / "t1.json", LedgerFile)
        keys = [entry.key for entry in record.entries]
        assert len(keys) == len(set(keys)) == QUESTIONS
        all_answered(cohort, server, 0)
    return max(child.returncode for child in both)


# ---- the network


def failing(cohort: Cohort, bad: Raw, first_bad: int, *extra: str) -> int:
    """A session whose endpoint gives `bad` from request `first_bad` on, and then one in which all is well."""
    cohort.run(findings=1)

    def behaviour(request: dict[str, Any], number: int) -> Any:
        return good(request, number) if number < first_bad else bad

    with Loopback(behaviour) as server:
        result, found = told(cohort, *options(server), "--sciagent-in-flight=1", *extra)
    verdicts = [v for v in found["runs"][0]["findings"][0]["criteria"] if v["status"] != "assessed"]
    assert verdicts
    assert all(verdict["level"] is None for verdict in verdicts)
    assert found["runs"][0]["score"]["high"] == 100, "a failure counts as neither level"
    kept = len(recorded(cohort))
    with Loopback(good) as server:
        all_answered(cohort, server, QUESTIONS - kept)
    return int(result.ret)


def told(cohort: Cohort, *args: str) -> tuple[pytest.RunResult, Any]:
    """A session, and the results that it wrote."""
    result = cohort.pytest(*args, "--sciagent-json=results.json")
    complaints(result)
    return result, json.loads((cohort.root / "results.json").read_text("utf-8"))


@fault(
    "the network is cut in the middle",
    1,
    "tried again, then an error of each question that got no answer, never a level; the next session asks these only",
)
def network_cut(cohort: Cohort) -> int:
    return failing(cohort, Raw(200, b"half of it", drop=True), 4, "--sciagent-timeout=1")


@fault("an endpoint that drips a byte at a time", 1, "ended by `--sciagent-timeout`, whatever still drips; as above")
def slow_drip(cohort: Cohort) -> int:
    return failing(cohort, Raw(200, b" " * 10_000, drip_s=0.2), QUESTIONS, "--sciagent-timeout=0.5")


@fault("an endpoint that closes at the headers", 1, "as above")
def closes_at_headers(cohort: Cohort) -> int:
    return failing(cohort, Raw(200, b"", drop=True), QUESTIONS, "--sciagent-timeout=1")


@fault("the name of the endpoint can't be resolved", 1, "as above, and the message says so")
def no_such_name(cohort: Cohort) -> int:
    cohort.run(findings=1)
    judge = ["--sciagent-judge=openai:some-model", "--sciagent-base-url=http://no-such-host.invalid/v1"]
    result, found = told(cohort, "--sciagent-run=runs", *judge, "--sciagent-timeout=2")
    verdicts = found["runs"][0]["findings"][0]["criteria"]
    assert {(verdict["status"], verdict["level"]) for verdict in verdicts} == {("provider_error", None)}
    with Loopback(good) as server:
        all_answered(cohort, server, QUESTIONS)
    return int(result.ret)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.test.__name__)
def test_a_fault_has_its_promised_outcome(fault: Fault, cohort: Cohort) -> None:
    assert fault.test(cohort) == fault.code


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), f"write it anew: python {Path(__file__).name}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
