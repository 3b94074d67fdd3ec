"""Under pytest-xdist: the same results, whole runs on one worker, and nothing lost when a worker dies."""

from __future__ import annotations

import json

import pytest
from sample import Cohort, outcomes

WHO = """\
import os, pathlib
from pytest_sciagent import criterion

@criterion('own.share')
def share(finding):
    return (0.5 if finding.number == 2 else 1), f'finding {finding.number}'

@criterion('own.whole', scope='run')
def whole(run):
    return 0, f'{run.label} has {len(run.files)} files'

@criterion('own.äpfel'.encode('ascii', 'ignore').decode())
def odd(finding):
    return 1
"""
WORKERS = """\
def pytest_runtest_logreport(report):
    if report.when != 'teardown' and hasattr(report, 'node'):
        with open('workers.txt', 'a') as log:
            log.write(report.nodeid.split('::')[0] + ' ' + report.node.gateway.id + '\\n')
"""


def cohort_of_six(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    cohort.run("alpha", "t2", findings=5)
    cohort.run("beta", findings=3)
    cohort.run("beta", "t2", findings=2)
    cohort.run("gamma", status="failed")
    cohort.run(
        "gamma",
        "t2",
        findings=2,
        report="# R\n\n## Finding 2: é\u202e\x1b[31m ü\n\nText.\n\n## Finding 2: b\n\nText.\n",
    )
    cohort.record(lambda run, finding, criterion: "unverified" if run.startswith("gamma") else None)
    cohort.record(
        lambda run, finding, criterion: (
            {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0}.get(criterion) if not run.startswith("gamma") else None
        ),
        about_run={"grouping": {"rationale": "alike", "groups": [["finding_1", "finding_2"]]}},
    )


@pytest.mark.parametrize("profile", ["truthinsight", "weighted"])
def test_results_do_not_depend_on_the_number_of_workers(cohort: Cohort, profile: str) -> None:
    cohort_of_six(cohort)
    (cohort.root / "conftest.py").write_text(WHO)
    args = ["--sciagent-run=runs", f"--sciagent-profile={profile}"]
    path = cohort.root / "results.json"
    found = {}
    for workers in ("0", "1", "2", "8") if profile == "truthinsight" else ("0", "2"):
        cohort.results(*args, "-n", workers, code=1)
        found[workers] = path.read_bytes()
    assert len(set(found.values())) == 1
    results = json.loads(found["0"])
    assert results["complete"]
    assert [run["id"] for run in results["runs"]] == sorted(run["id"] for run in results["runs"])


def test_a_run_stays_on_one_worker(cohort: Cohort) -> None:
    cohort_of_six(cohort)
    (cohort.root / "conftest.py").write_text(WORKERS)
    result = cohort.pytest("--sciagent-run=runs", "-n2", "-v")
    assert "scheduling tests via RunScheduling" in result.stdout.str()
    lines = {tuple(line.split()) for line in (cohort.root / "workers.txt").read_text().splitlines()}
    runs = [run for run, _ in lines]
    assert len(runs) == len(set(runs)) == 6
    assert {worker for _, worker in lines} == {"gw0", "gw1"}


@pytest.mark.parametrize(
    ("how", "scheduler"),
    [
        (["--dist=worksteal"], "WorkStealingScheduling"),
        (["--dist", "load"], "LoadScheduling"),
        (["-o", "addopts=--dist=loadfile"], "LoadFileScheduling"),
        ([], "RunScheduling"),
    ],
    ids=["worksteal", "load", "ini", "none"],
)
def test_a_distribution_chosen_by_the_user_is_kept(cohort: Cohort, how: list[str], scheduler: str) -> None:
    cohort.run("alpha")
    cohort.run("beta")
    cohort.record()
    result = cohort.pytest("--sciagent-run=runs", "-n2", "-v", *how)
    assert f"scheduling tests via {scheduler}" in result.stdout.str()
    assert outcomes(result) == {"passed": 4, "half": 4, "failed": 4, "not assessed": 4}


def test_dist_load_gives_the_same_results(cohort: Cohort) -> None:
    cohort_of_six(cohort)
    args = ["--sciagent-run=runs", "--sciagent-profile=truthinsight"]
    assert cohort.results(*args) == cohort.results(*args, "-n2", "--dist=load")


# ---- a worker that dies

RECORD = "--sciagent-ledger-mode=record"
CRASH = """\
import os, pathlib, pytest
from pytest_sciagent import Judge, JudgeIdentity, criterion

class Scripted(Judge):
    identity = JudgeIdentity(kind='house', model='scripted')

    def ask(self, prompt):
        if prompt.schema_name != 'verdict':
            return None
        with open(pathlib.Path(__file__).parent / 'asked.txt', 'a') as log:
            log.write('x')
        return {'rationale': 'so', 'citations': [], 'zero': True, 'full': False, 'half': False}

@pytest.fixture(scope='session')
def judge():
    return Scripted()

@criterion('own.crash')
def crash(run, finding):
    if run.manifest.system.name == 'alpha' and finding.number == 1:
        os._exit(3)
    return 1
"""


def test_a_crash_costs_one_item_and_no_recorded_verdict(cohort: Cohort) -> None:
    cohort.run("alpha")
    cohort.run("beta")
    cohort.run("gamma")
    (cohort.root / "conftest.py").write_text(CRASH)
    result = cohort.pytest(
        "--sciagent-run=runs", "-n2", RECORD, "--sciagent-json=results.json", "--sciagent-min-score=0", fresh=True
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines_random(
        [
            "*worker 'gw?' crashed while running 'runs/alpha/t1/run.json::finding_1::own.crash'",
            "gate inconclusive: *1 of 30 criteria were not tested",
        ]
    )
    # Every other item was tested once, and every answer is kept.
    assert outcomes(result) == {"failed": 25, "passed": 5}
    assert (cohort.root / "asked.txt").read_text() == "x" * 24
    for system in ("alpha", "beta", "gamma"):
        record = json.loads((cohort.root / "verdicts" / system / "t1.json").read_text())
        assert len(record["entries"]) == 8
    found = json.loads((cohort.root / "results.json").read_text())
    assert not found["complete"]
    assert sum(len(f["criteria"]) for run in found["runs"] for f in run["findings"]) == 29
    (cohort.root / "conftest.py").write_text(CRASH.replace("os._exit(3)", "return 1"))
    again = cohort.pytest("--sciagent-run=runs")
    assert outcomes(again) == {"failed": 24, "passed": 6}
    assert (cohort.root / "asked.txt").read_text() == "x" * 24


def test_a_crash_without_a_new_worker_keeps_what_was_recorded(cohort: Cohort) -> None:
    cohort.run("alpha")
    cohort.run("beta")
    (cohort.root / "conftest.py").write_text(CRASH)
    args = ("--sciagent-run=runs", "-n2", RECORD, "--sciagent-min-score=0", "--max-worker-restart=0")
    result = cohort.pytest(*args, fresh=True)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate inconclusive: * of 20 criteria were not tested"])
    told = len((cohort.root / "asked.txt").read_text())
    records = [json.loads(path.read_text()) for path in (cohort.root / "verdicts").rglob("*.json")]
    assert sum(len(record["entries"]) for record in records) == told >= 4


def test_a_run_that_always_crashes_ends(cohort: Cohort) -> None:
    cohort.run("alpha")
    cohort.run("beta")
    cohort.record()
    (cohort.root / "conftest.py").write_text(
        "import os\nfrom pytest_sciagent import criterion\n\n"
        "@criterion('own.crash')\ndef crash(finding):\n    os._exit(3)\n"
    )
    result = cohort.pytest("--sciagent-run=runs", "-n2", fresh=True)
    assert result.ret == 1
    assert outcomes(result) == {"passed": 4, "half": 4, "failed": 8, "not assessed": 4}
