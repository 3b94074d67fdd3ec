"""Exports of runs and verdicts: what stands in them, what is told to be missing, and that others read them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from foreign_samples import put
from sample import WEIGHTS, Cohort

REFERENCE = """\
schema: sciagent-reference/1
cards:
  - {id: A, object: the series, scope: all years, direction: upward}
  - {id: B, object: the series, scope: all years, direction: downward}
"""
READ = """
import json, sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
print(json.dumps({
    "status": log.status, "model": log.eval.model, "samples": len(log.samples),
    "values": [{name: score.value for name, score in sample.scores.items()} for sample in log.samples],
    "errors": [sample.error.message if sample.error else None for sample in log.samples],
    "metrics": {score.name: {n: m.value for n, m in score.metrics.items()} for score in log.results.scores},
    "unscored": {score.name: score.unscored_samples for score in log.results.scores},
}))
"""


def inspect_python() -> str | None:
    """An interpreter that has inspect_ai: this one, or the one named by INSPECT_PYTHON."""
    if find_spec("inspect_ai") is not None:
        return sys.executable
    return shutil.which(os.environ.get("INSPECT_PYTHON", ""))


def read_by_inspect(path: Path) -> dict[str, Any]:
    python = inspect_python()
    assert python is not None
    done = subprocess.run([python, "-c", READ, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def two(cohort: Cohort) -> Cohort:
    cohort.run("alpha")
    cohort.run("beta")
    cohort.run("beta", "t1", repeat=2, status="failed", exit_code=3)
    cohort.record()
    return cohort


BELIEVED = "judge handoff:tester, not calibrated against people: sciagent calibrate"


def test_json_lines_hold_every_verdict(two: Cohort) -> None:
    code, out, _ = two.sciagent("export", "jsonl", "runs", "--rubric", "small", "-o", "v.jsonl")
    assert code == 0
    assert out == f"16 verdicts of 3 runs in v.jsonl\n{BELIEVED}\n"
    lines = [json.loads(line) for line in (two.root / "v.jsonl").read_text().splitlines()]
    assert {line["schema"] for line in lines} == {"sciagent-verdict/1"}
    first = lines[0]
    assert (first["run"], first["finding"], first["criterion_id"], first["level"]) == (
        "alpha/t1",
        "finding_1",
        "ev.full",
        1.0,
    )
    assert (first["dimension"], first["weight"]) == ("evidence", 40)
    assert first["citations"][0]["verified"] is True
    opened = [line for line in lines if line["criterion_id"] == "rob.open"]
    assert {(line["level"], line["status"]) for line in opened} == {(None, "unrecorded")}


def test_logs_for_inspect_hold_levels_gaps_and_failed_runs(two: Cohort) -> None:
    code, out, _ = two.sciagent("export", "inspect", "runs", "--rubric", "small", "-o", "logs")
    assert code == 0
    assert out == f"alpha: logs/alpha.json\nbeta: logs/beta.json\n{BELIEVED}\n"
    log = json.loads((two.root / "logs/beta.json").read_text())
    assert [sample["id"] for sample in log["samples"]] == ["t1::finding_1", "t1::finding_2", "t1"]
    assert log["samples"][0]["scores"]["ev.half"]["value"] == 0.5
    assert "rob.open" not in log["samples"][0]["scores"]
    assert log["samples"][0]["metadata"]["not_assessed"]["rob.open"].startswith("unrecorded")
    assert log["samples"][2]["error"]["message"] == "the run failed, exit code 3"
    assert log["samples"][2]["epoch"] == 2


@pytest.mark.skipif(inspect_python() is None, reason="inspect_ai is not installed, and INSPECT_PYTHON names none")
def test_inspect_reads_the_log(two: Cohort) -> None:
    two.sciagent("export", "inspect", "runs/beta", "--rubric", "small", "-o", "beta.json")
    read = read_by_inspect(two.root / "beta.json")
    assert (read["status"], read["model"], read["samples"]) == ("success", "sciagent/beta", 3)
    assert read["values"] == [{"ev.full": 1, "ev.half": 0.5, "rob.zero": 0}] * 2 + [{}]
    assert read["errors"] == [None, None, "the run failed, exit code 3"]
    assert read["metrics"]["ev.half"] == {"mean": 0.5}
    assert read["metrics"]["rob.open"] == {}
    assert read["unscored"]["rob.open"] == 2
    assert read["metrics"]["score"] == {"low": 27.5, "high": 32.5}


def fully_judged(cohort: Cohort) -> None:
    """Two systems with every criterion and every question about the run answered."""
    put(cohort.root / "tasks/t1/hidden", {"reference.yaml": REFERENCE})
    cohort.run("alpha")
    cohort.run("beta", findings=3)
    cohort.record(
        lambda run, finding, criterion: 1 if criterion.startswith("ev") else 0.5,
        about_run={
            "grouping": {"rationale": "apart", "groups": []},
            "plan": {"rationale": "none", "plans": []},
            "target": TARGET,
        },
    )


TARGET = {
    "rationale": "none of them",
    "finding": None,
    "object": False,
    "scope": False,
    "direction": False,
    "values": [],
}


def test_our_results_in_their_format_are_scored_again_to_the_same_numbers(cohort: Cohort) -> None:
    fully_judged(cohort)
    file = "final/final_scoring_result.json"
    code, out, _ = cohort.sciagent("export", "truthinsightbench", "runs", "--rubric", "small", "-o", file)
    assert (code, out) == (0, f"scored: 2 runs in {file}\n{BELIEVED}\n")
    result = json.loads((cohort.root / file).read_text())
    assert result["validity"] == BELIEVED
    assert [row["agent"] for row in result["agent_ranking"]] == ["beta", "alpha"]
    finding = result["run_results"][0]["findings"][0]
    assert finding["score"] == sum(WEIGHTS[c] * (1 if c.startswith("ev") else 0.5) for c in WEIGHTS)
    assert finding["families"]["stability"]["points"] == 15
    code, out, _ = cohort.sciagent("import", "truthinsightbench", "final", "-o", "back")
    assert code == 0
    assert "2 runs and the ranking scored again by truthinsight-v1: the same numbers" in out


def test_what_is_not_known_is_null_and_failed_runs_are_told(two: Cohort) -> None:
    shutil.rmtree(two.root / "runs/beta/t1.r2")
    two.run("gamma", status="timed_out")
    code, out, _ = two.sciagent("export", "truthinsightbench", "runs", "--rubric", "small", "-o", "r.json")
    assert code == 0
    assert "incomplete: 2 runs" in out
    assert "not in this format: gamma/t1 (undelivered)" in out
    result = json.loads((two.root / "r.json").read_text())
    assert (result["status"], result["agent_ranking"]) == ("incomplete", [])
    run = result["run_results"][0]["run"]
    assert run["run_score_0_100"] is None
    low, high = run["run_score_0_100_bounds"]
    assert low < high
    assert result["run_results"][0]["findings"][0]["actions"][3]["level"] is None


def test_a_repeat_has_no_place_in_their_format(two: Cohort) -> None:
    code, _, err = two.sciagent("export", "truthinsightbench", "runs", "--rubric", "small", "-o", "r.json")
    assert code == 4
    assert "beta has several runs of t1: this format has one run a task" in err
    assert not (two.root / "r.json").exists()


def test_several_systems_need_a_folder(two: Cohort) -> None:
    put(two.root, {"log.json": "{}"})
    code, _, err = two.sciagent("export", "inspect", "runs", "--rubric", "small", "-o", "log.json")
    assert code == 4
    assert "2 systems need a folder, and this is a file" in err


SECRET = "sk-proj-Ab3Cd5Ef7Gh9Jk1Lm3Np5"


@pytest.mark.parametrize("kind", ["inspect", "truthinsightbench", "jsonl"])
def test_secrets_in_titles_and_reasons_are_masked(cohort: Cohort, kind: str) -> None:
    cohort.run(report=f"# R\n\n## Finding 1: The key {SECRET} works\n\nText.\n", findings=1)
    cohort.record()
    for file in (cohort.root / "verdicts").rglob("*.json"):
        file.write_text(file.read_text().replace('"reason": "', f'"reason": "It said {SECRET}. '))
    command = ("export", kind, "runs", "--rubric", "small", "-o", "x.json")
    assert cohort.sciagent(*command)[0] == 0
    text = (cohort.root / "x.json").read_text()
    assert text.count("[masked]") >= 2
    assert SECRET[8:] not in text
