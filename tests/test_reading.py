"""The reading of a run: once for all who look, in children of one process, within bounds."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import Cohort
from test_readers import saved

from pytest_sciagent.evidence import QuoteIndex, build_package
from pytest_sciagent.evidence.artifacts import Artifacts, ReadingLimits
from pytest_sciagent.evidence.isolation import Readers
from pytest_sciagent.evidence.readers import Artifact, Unreadable
from pytest_sciagent.evidence.recent import Recent
from pytest_sciagent.findings import parse_findings
from pytest_sciagent.models import Citation, System
from pytest_sciagent.runs import Run, UnsafeFile
from pytest_sciagent.runs.freeze import FreezeOptions, freeze

ARRAYS = {f"results/a{n}.npy": saved(np.arange(10.0) + n / 8) for n in range(3)}
REPORT = "# R\n\n## Finding 1: a\n\nThe slope is 2.125, see `output/results/a1.npy` and `output/results/b.csv`.\n"


class Counting(Readers):
    """Readers that count the files they are given."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    def read(self, path: str, *rest: Any, **more: Any) -> Artifact:
        self.paths.append(path)
        return super().read(path, *rest, **more)


def frozen(root: Path, files: dict[str, bytes]) -> Run:
    for name, data in {"Result.md": REPORT.encode(), "results/b.csv": b"x,y\n1,2.125\n", **files}.items():
        path = root / "work" / "output" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return freeze(root / "work", root / "run", FreezeOptions("t", System(name="s")), {}).run


def test_one_process_reads_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    start = subprocess.Popen

    def counted(*args: Any, **more: Any) -> Any:
        started.append(args)
        return start(*args, **more)

    monkeypatch.setattr(subprocess, "Popen", counted)
    run = frozen(tmp_path, ARRAYS)
    artifacts = Artifacts(run)
    assert [artifacts.get(f"output/{name}") is not None for name in ARRAYS] == [True] * 3
    assert len(started) == 1


def test_a_file_that_kills_its_reader_costs_itself_alone() -> None:
    readers = Readers()
    with pytest.raises(Unreadable, match=r"more than 1 MB of memory|the reader was stopped"):
        readers.read("x.npy", saved(np.zeros(2_000_000)), memory_bytes=1 << 20)
    assert readers.read("x.npy", saved(np.arange(3))).tables[0].column("value") == [0, 1, 2]
    with pytest.raises(Unreadable, match="took longer"):
        readers.read("x.npy", saved(np.arange(3)), seconds=1e-6)
    assert readers.read("x.npy", saved(np.arange(2))).tables[0].column("value") == [0, 1]
    readers.close()
    assert readers.read("x.npy", saved(np.arange(1))).tables[0].column("value") == [0]


def test_package_quotes_checks_and_audit_share_one_reading(tmp_path: Path) -> None:
    readers = Counting()
    run = frozen(tmp_path, {**ARRAYS, "results/twin.npy": ARRAYS["results/a1.npy"]})
    artifacts = Artifacts(run, readers)
    report = parse_findings(run)
    first = build_package(artifacts, report.findings[0], report.shared)
    again = build_package(artifacts, report.findings[0], report.shared)
    assert first.digest == again.digest
    assert QuoteIndex(artifacts).verify(Citation(file="output/results/a1.npy", quote="1.125")).verified
    assert artifacts.get("output/results/a1.npy") is not None
    assert artifacts.readable("output/results/twin.npy") == artifacts.readable("output/results/a1.npy")
    assert sorted(readers.paths) == [f"output/{name}" for name in sorted(ARRAYS)]


def test_the_smallest_files_are_read_whatever_is_asked_for_first(tmp_path: Path) -> None:
    run = frozen(tmp_path, {"results/large.csv": b"x\n" + b"1\n" * 500, "results/small.csv": b"x\n1\n"})
    total = sum(entry.bytes for entry in run.manifest.files)
    artifacts = Artifacts(run, limits=ReadingLimits(run_bytes=total - 1))
    large = "output/results/large.csv"
    reason = f"'{large}' is beyond the {total - 1:,} bytes that are read of one run"
    assert artifacts.why_not(large) == reason
    with pytest.raises(UnsafeFile, match="beyond the"):
        artifacts.readable(large)
    assert artifacts.get("output/results/small.csv") is not None
    assert Artifacts(run, limits=ReadingLimits(run_bytes=total)).why_not(large) is None


def test_what_is_not_kept_is_read_again_and_is_the_same(tmp_path: Path) -> None:
    run = frozen(tmp_path, ARRAYS)
    report = parse_findings(run)
    kept, forgetful = Counting(), Counting()
    digests = set()
    for readers, size in ((kept, 1 << 20), (forgetful, 0)):
        artifacts = Artifacts(run, readers, ReadingLimits(kept_bytes=size))
        digests |= {build_package(artifacts, report.findings[0], report.shared).digest for _ in range(2)}
    assert len(digests) == 1
    assert len(forgetful.paths) > len(kept.paths) == 3


def test_readers_of_one_run_have_a_time_for_all_its_files(tmp_path: Path) -> None:
    run = frozen(tmp_path, ARRAYS)
    readers = Readers()
    artifacts = Artifacts(run, readers, ReadingLimits(seconds=1e-9))
    assert artifacts.get("output/results/a0.npy") is not None
    assert artifacts.why_not("output/results/a1.npy") == "the readers of this run have had their 1e-09 seconds"
    assert artifacts.get("output/results/b.csv") is not None, "text is read in the session itself"
    assert artifacts.why_not("output/results/a1.npy") is not None, "and the answer stays the same"
    # Another run that is read by the same process has its own time.
    assert Artifacts(run, readers).get("output/results/a1.npy") is not None


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), max_size=30),
    st.integers(0, 60),
)
def test_what_is_kept_stays_within_its_weight(steps: list[tuple[int, int]], limit: int) -> None:
    kept: Recent[int, int] = Recent(limit, lambda value: value)
    last: dict[int, int] = {}
    for key, value in steps:
        assert kept.put(key, value) == value
        last[key] = value
        there = {k: v for k in last if (v := kept.get(k)) is not None}
        assert there.items() <= last.items()
        assert sum(there.values()) <= limit or len(there) == 1
        assert there[key] == value


# ---- the setting


def test_sessions_and_commands_take_the_time_of_the_configuration(cohort: Cohort) -> None:
    frozen(cohort.root, ARRAYS).path.rename(cohort.root / "one")
    told = []
    for setting in ("", "sciagent_reading_seconds = 1e-9\n"):
        (cohort.root / "pytest.ini").write_text(f"[pytest]\n{setting}")
        code, _, err = cohort.sciagent("ledger", "export", "one", "--as", "x", "--rubric", "small", "-o", "x.jsonl")
        assert code == 0, err
        told.append((cohort.root / "x.jsonl").read_text("utf-8"))
    reason = "the readers of this run have had their 1e-09 seconds"
    assert [reason in text for text in told] == [False, True]


@pytest.mark.parametrize("value", ["0", "-1", "inf", "nan", "ten"])
def test_a_time_that_cannot_be_meant_is_refused(cohort: Cohort, value: str) -> None:
    cohort.run(findings=1)
    message = f"sciagent-reading-seconds {value}: write a number above 0"
    done = cohort.pytest("--sciagent-run=runs", f"--sciagent-reading-seconds={value}")
    assert done.ret == 4
    assert message in done.stderr.str()
    (cohort.root / "pytest.ini").write_text(f"[pytest]\nsciagent_reading_seconds = {value}\n")
    assert cohort.pytest("--sciagent-run=runs").ret == 4
    code, _, err = cohort.sciagent("ledger", "export", "runs", "--as", "x", "-o", "x.jsonl")
    assert code == 4
    assert f"sciagent_reading_seconds {value}: write a number above 0" in err
