"""The runs of this repository: six, with eighteen findings, and whole."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sample import Cohort, outcomes

from pytest_sciagent.models import RunManifest

REPOSITORY = Path(__file__).resolve().parent.parent
RUNS = REPOSITORY / "runs"
LABELS = {
    f"claude-{which}/{task}"
    for which in ("plain", "guided")
    for task in ("astronomy_activity_cycle", "earth_carbon_record", "life_bill_shape")
}
RUNS_THERE = pytest.mark.skipif(not RUNS.is_dir(), reason="the repository's runs are not beside the tests")


def session(folder: Path, *args: str) -> tuple[int, str, bytes]:
    """Exit code, output and results of a session over the repository's runs, as a user would start it."""
    path = folder / "results.json"
    command = [sys.executable, "-m", "pytest", "--sciagent-run=runs", f"--sciagent-json={path}"]
    options = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--tb=no", "-rN"]
    done = subprocess.run([*command, *options, *args], cwd=REPOSITORY, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr, path.read_bytes()


@RUNS_THERE
def test_every_run_is_whole_and_judged_alike_by_any_number_of_workers(tmp_path: Path) -> None:
    code, out, data = session(tmp_path)
    assert code == 1, out
    assert " error" not in out.splitlines()[-1]
    results = json.loads(data)
    assert results["complete"]
    runs = results["runs"]
    assert [run["state"] for run in runs] == ["sound"] * 6
    assert {f"{run['system']}/{run['task_id']}" for run in runs} == LABELS
    assert sum(len(run["findings"]) for run in runs) == 18
    statuses = {v["status"] for run in runs for finding in run["findings"] for v in finding["criteria"]}
    assert statuses <= {"assessed", "not_assessed", "unrecorded"}
    assert session(tmp_path, "-n2")[2] == data


@RUNS_THERE
@pytest.mark.parametrize(
    ("run", "role", "at"),
    [
        ("plain/life_bill_shape", "report", 0),
        ("guided/earth_carbon_record", "analysis_source", -1),
        ("plain/astronomy_activity_cycle", "result", -1),
        ("guided/life_bill_shape", "result", 7),
        ("guided/astronomy_activity_cycle", "log", 3),
    ],
)
def test_one_byte_makes_one_run_tampered(cohort: Cohort, run: str, role: str, at: int) -> None:
    shutil.copytree(RUNS, cohort.root / "runs")
    folder = cohort.root / "runs" / run
    manifest = RunManifest.model_validate_json((folder / "run.json").read_text())
    path = next((f.path for f in manifest.files if f.role == role and f.bytes > 8), None)
    if path is None:
        pytest.skip(f"{run} holds no {role}")
    data = bytearray((folder / path).read_bytes())
    data[at] ^= 1
    (folder / path).write_bytes(data)
    result = cohort.pytest("--sciagent-run=runs", "-k", "ev.full or integrity")
    counts = outcomes(result)
    assert counts["error"] == 1
    assert counts["not assessed"] == 15
    label = f"claude-{run}"
    result.stdout.fnmatch_lines([f"run {label} is not what was frozen: changed: {path}"])


@RUNS_THERE
def test_no_configuration_of_pytest_lies_in_a_run() -> None:
    names = {"conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "pytest.toml"}
    assert not [path for path in RUNS.rglob("*") if Path(path).name in names]
