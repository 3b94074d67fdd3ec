"""The run's own code, run again in the sandbox over the task's data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sample import Cohort

from pytest_sciagent.checks.rerun import from_rerun, rerun, scripts_to_run
from pytest_sciagent.digest import sha256_bytes
from pytest_sciagent.evidence.artifacts import Artifacts
from pytest_sciagent.evidence.sandbox import isolation_available
from pytest_sciagent.findings import parse_findings
from pytest_sciagent.ledger.trusted_files import KeptFiles
from pytest_sciagent.models import System
from pytest_sciagent.runs import Run
from pytest_sciagent.runs.freeze import FreezeOptions, freeze
from pytest_sciagent.tasks import Task

needs_sandbox = pytest.mark.skipif(isolation_available() == "none", reason="no isolation on this machine")

DATA = "x,y\n1,2\n2,4\n3,7\n"
REPORT = """# Report

## Finding 1: y rises

The sum is 13. Source `output/code/fit.py`, result `output/results/sum.csv`.

## Reproduction

Run `output/code/fit.py`, then `{second}`.
"""
FIT = """import csv, json, datetime
rows = list(csv.DictReader(open("data/points.csv")))
total = sum(float(r["y"]) for r in rows)
open("output/results/sum.csv", "w").write(f"n,total\\n{len(rows)},{total}\\n")
stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
json.dump({"total": total, "made": stamp}, open("output/results/sum.json", "w"))
"""


def make(root: Path, total: str, second: str = "output/code/fit.py", extra: str = "") -> tuple[Run, Task]:
    task = root / "tasks" / "points"
    (task / "data").mkdir(parents=True)
    (task / "data" / "points.csv").write_text(DATA)
    digest = sha256_bytes(DATA.encode())
    (task / "task.yaml").write_text(
        "schema: sciagent-task/1\nid: points\ntitle: t\ndomain: d\nt0: '2020-01-01'\nanalysis_unit: u\nlicence: CC0\n"
        f"files:\n- {{path: data/points.csv, bytes: {len(DATA)}, sha256: {digest}}}\n"
    )
    workspace = root / "work"
    for folder in ("output/code", "output/results"):
        (workspace / folder).mkdir(parents=True)
    (workspace / "output" / "Result.md").write_text(REPORT.format(second=second))
    (workspace / "output" / "code" / "fit.py").write_text(FIT)
    if extra:
        (workspace / second).write_text(extra)
    (workspace / "output" / "results" / "sum.csv").write_text(f"n,total\n3,{total}\n")
    made = {"total": float(total), "made": "2020-01-01T00:00:00Z"}
    (workspace / "output" / "results" / "sum.json").write_text(json.dumps(made))
    freeze(workspace, root / "runs" / "points", FreezeOptions(task_id="points", system=System(name="s")), {})
    return Run.load(root / "runs" / "points"), Task.load(task)


@needs_sandbox
def test_honest_results_are_reproduced_times_aside(tmp_path: Path) -> None:
    run, task = make(tmp_path, "13.0")
    found = rerun(Artifacts(run), task, parse_findings(run), 60)
    assert found.problem is None
    assert set(found.reproduced) == {"output/results/sum.csv", "output/results/sum.json"}
    (number,) = from_rerun(found, ["output/results/sum.csv"])
    assert number.outcome == "confirmed"
    assert run.problems() == []


@needs_sandbox
def test_planted_results_are_told_and_confirm_nothing(tmp_path: Path) -> None:
    run, task = make(tmp_path, "99.0")
    found = rerun(Artifacts(run), task, parse_findings(run), 60)
    assert set(found.different) == {"output/results/sum.csv", "output/results/sum.json"}
    (number,) = from_rerun(found, ["output/results/sum.csv"])
    assert number.outcome == "differs"


@needs_sandbox
def test_a_script_that_fails_or_never_ends_stops_nobody(tmp_path: Path) -> None:
    run, task = make(tmp_path, "13.0", "output/code/loop.py", "while True: pass\n")
    found = rerun(Artifacts(run), task, parse_findings(run), 6)
    assert found.commands == ("output/code/fit.py", "output/code/loop.py")
    assert found.problem is not None
    assert "loop.py" in found.problem
    assert "output/results/sum.csv" in found.reproduced


@needs_sandbox
def test_a_rerun_is_kept_for_this_run_and_these_data(tmp_path: Path) -> None:
    run, task = make(tmp_path, "13.0")
    cache = KeptFiles(tmp_path / "cache", b"mine")
    first = rerun(Artifacts(run), task, parse_findings(run), 60, cache=cache)
    (kept,) = (tmp_path / "cache").iterdir()
    before = kept.stat().st_mtime_ns
    assert rerun(Artifacts(run), task, parse_findings(run), 60, cache=cache) == first
    assert kept.stat().st_mtime_ns == before
    kept.write_text(json.dumps({"commands": ["x"], "problem": "forged"}))
    assert rerun(Artifacts(run), task, parse_findings(run), 60, cache=cache).problem is None


def test_only_scripts_that_the_reproduction_section_names_are_run(tmp_path: Path) -> None:
    run, _ = make(tmp_path, "13.0", "output/code/other.py", "print('other')\n")
    assert scripts_to_run(run, parse_findings(run)) == ["output/code/fit.py", "output/code/other.py"]
    silent, task = make(tmp_path / "b", "13.0")
    report = parse_findings(silent)
    without = report.__class__(report.findings, (), report.notes)
    assert (
        rerun(Artifacts(silent), task, without, 5).problem
        == "the reproduction section names no Python script of the run"
    )


@needs_sandbox
def test_a_script_that_writes_constants_confirms_nothing(tmp_path: Path) -> None:
    constant = "open('output/results/sum.csv', 'w').write('n,total\\n3,13.0\\n')\n"
    run, task = make(tmp_path, "13.0", "output/code/plant.py", constant)
    found = rerun(Artifacts(run), task, parse_findings(run), 60)
    assert "output/results/sum.csv" in found.different
    (number,) = from_rerun(found, ["output/results/sum.csv"])
    assert number.outcome == "differs"


@needs_sandbox
def test_a_link_that_a_script_leaves_is_not_followed(tmp_path: Path) -> None:
    link = "import os\nos.remove('output/results/sum.csv')\nos.symlink('/etc/hostname', 'output/results/sum.csv')\n"
    run, task = make(tmp_path, "13.0", "output/code/link.py", link)
    found = rerun(Artifacts(run), task, parse_findings(run), 60)
    assert "output/results/sum.csv" in found.missing


# ---- in a session


SUMS = "import csv\nrows = list(csv.DictReader(open('data/series.csv')))\n"
RERUN_REPORT = """# Report

## Finding 1: the values add up

The sum is 4.5, in `output/results/sum.csv`.

## Reproduction

Run `output/code/sum.py`, then `output/code/broken.py`.
"""


def rerun_cohort(cohort: Cohort) -> None:
    total = "open('output/results/sum.csv', 'w').write('total\\n%s\\n' % sum(float(r['value']) for r in rows))\n"
    files = {"code/sum.py": SUMS + total, "code/broken.py": "raise SystemExit('no luck')\n"}
    cohort.run(findings=1, report=RERUN_REPORT, files={**files, "results/sum.csv": "total\n4.5\n"})


@needs_sandbox
@pytest.mark.parametrize("how", [["--sciagent-rerun", "runs/"], ["-o", "sciagent_rerun=true", "runs/"]])
def test_a_session_tells_what_it_ran_again(cohort: Cohort, how: list[str]) -> None:
    rerun_cohort(cohort)
    found = cohort.results(*how)["runs"][0]["rerun"]
    assert found["commands"] == ["output/code/sum.py", "output/code/broken.py"]
    assert found["reproduced"] == ["output/results/sum.csv"]
    assert 0 < found["seconds"] < 60
    assert "broken.py ended with 1: no luck" in found["problem"]
    shown = cohort.pytest(*how).stdout
    shown.fnmatch_lines(
        ["  alpha/t1: 2 scripts in * s; results 1 the same, 0 otherwise, 1 not written; output/code/broken.py*"]
    )


def test_nothing_is_run_again_unasked(cohort: Cohort) -> None:
    rerun_cohort(cohort)
    assert cohort.results("--sciagent-run=runs")["runs"][0]["rerun"] is None


@needs_sandbox
def test_a_run_without_scripts_or_task_says_why_nothing_was_run(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.run("beta", "unknown", findings=1)
    shown = cohort.pytest("--sciagent-run=runs", "--sciagent-rerun").stdout
    shown.fnmatch_lines(
        [
            "  alpha/t1: nothing was run; the reproduction section names no Python script of the run",
            "  beta/unknown: nothing was run; the task unknown is not known, so there are no data to run on",
        ]
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--sciagent-rerun-seconds=5"], "--sciagent-rerun-seconds belongs to --sciagent-rerun"),
        (["--sciagent-rerun", "--sciagent-rerun-seconds=0"], "--sciagent-rerun-seconds 0: write a number above 0"),
        (
            ["--sciagent-rerun", "--sciagent-rerun-seconds=runs"],
            "--sciagent-rerun-seconds runs: write a number above 0",
        ),
    ],
)
def test_a_time_that_cannot_be_meant_is_refused(cohort: Cohort, args: list[str], message: str) -> None:
    cohort.run(findings=1)
    result = cohort.pytest("--sciagent-run=runs", *args)
    assert result.ret == 4
    assert message in result.stderr.str()
