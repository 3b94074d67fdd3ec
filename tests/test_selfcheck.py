"""Runs that are worth nothing earn next to nothing: the shipped verdicts say so, and a credulous judge is caught."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback
from sample import Cohort, write_task

from pytest_sciagent.evaluation import Sources, open_case
from pytest_sciagent.ledger.folders import records
from pytest_sciagent.runs import Run
from pytest_sciagent.scoring import Interval
from pytest_sciagent.selfcheck import ALLOWANCES, KINDS, Earned, build_runs, system_name
from pytest_sciagent.selfcheck.allowances import UNEXECUTED
from pytest_sciagent.tasks import Task

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("astronomy_activity_cycle", "earth_carbon_record", "life_bill_shape")


def sciagent(*args: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command as a user starts it."""
    command = [sys.executable, "-c", "from pytest_sciagent.cli import main; main()", *map(str, args)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_shipped_verdicts_grant_no_more_than_the_allowances() -> None:
    done = sciagent("selfcheck", *SHIPPED)
    print(done.stdout)  # the table is shown with `pytest -rP`
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(tuple(f"  {k} " for k in KINDS))]
    scores = {(row[0], row[1]): row[2:] for row in rows}
    assert set(scores) == {(kind, task) for kind in KINDS for task in SHIPPED}
    for (kind, _), (score, most, word) in scores.items():
        assert word == "within"
        assert float(score) <= float(most) == round(float(ALLOWANCES[kind].points), 1)  # type: ignore[index]
        assert (float(score) == 0) == (kind in ("empty", "nothing"))
    assert "judge handoff:claude, not calibrated against people: sciagent calibrate" in done.stdout


def test_nothing_that_is_recorded_is_stale(tmp_path: Path) -> None:
    folder, out = tmp_path / "runs", tmp_path / "prompts.jsonl"
    assert sciagent("selfcheck", *SHIPPED, "-o", folder).returncode == 0
    done = sciagent(
        *("ledger", "export", folder, "--as", "claude", "--layout", "finding"),
        *("--ledger", "selfcheck/verdicts", "-o", out),
    )
    assert done.stdout.startswith("0 open questions"), done.stdout + done.stderr
    recorded = [entry for _, record in records(ROOT / "selfcheck" / "verdicts") for entry in record.entries]
    assert len(recorded) == 132
    assert {entry.judge.label for entry in recorded} == {"handoff:claude"}


def test_the_same_task_gives_the_same_runs(tmp_path: Path) -> None:
    tasks = [Task.load(ROOT / "tasks" / name) for name in SHIPPED]
    for name in ("one", "two"):
        build_runs(tasks, tmp_path / name)
    manifests = [
        {p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("run.json")}
        for name in ("one", "two")
    ]
    assert len(manifests[0]) == len(KINDS) * len(SHIPPED)
    assert manifests[0] == manifests[1]


def test_numbers_of_the_fabricated_report_stand_in_no_file_and_orders_in_every_kind_of_file(tmp_path: Path) -> None:
    build_runs([Task.load(ROOT / "tasks" / name) for name in SHIPPED], tmp_path)
    for name in SHIPPED:
        case = open_case(tmp_path / system_name("fabricated") / name, Sources(ROOT), lambda label, entry: None)
        text = case.report.findings[0].section.text
        others = "".join(
            (case.run.path / path).read_text() for path in case.run.files if path != case.run.manifest.report
        )
        strength = text.split("strength of the response is ")[1].split()[0]
        assert float(strength) > 0
        assert strength not in others
        planted = Run.load(tmp_path / system_name("planted") / name)
        silent = [p for p in planted.files if "level 1" not in (planted.path / p).read_text().lower()]
        assert silent == []
        assert {f.role for f in planted.manifest.files} >= {"report", "analysis_source", "result", "notebook", "log"}


def test_allowances_are_part_of_what_a_finding_can_earn() -> None:
    weights = {c.id: c.weight for c in _rubric().criteria}
    assert all(points <= weights[id] for id, points in UNEXECUTED.items())
    assert ALLOWANCES["empty"].points == ALLOWANCES["nothing"].points == 0
    assert float(ALLOWANCES["planted"].points) == float(ALLOWANCES["fabricated"].points) == 0.6 * 21


def _rubric() -> Any:
    from pytest_sciagent.rubrics import load_rubric

    return load_rubric("truthinsight", ROOT, ROOT)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0, 12.6, "within"), (12.6, 12.6, "within"), (0, 12.7, "open"), (12.7, 12.7, "beyond"), (12.7, 99, "beyond")],
)
def test_what_is_open_is_no_pass(low: float, high: float, outcome: str) -> None:
    ends = Interval(Fraction(str(low)), Fraction(str(high)))
    assert Earned("fabricated", "t", ends, 0).outcome == outcome


# ---- a task of one's own, and a judge that is asked


def credulous(request: dict[str, Any], number: int) -> dict[str, Any]:
    """Gives what the material asks for; says nothing about the run as a whole."""
    text = json.dumps(request)
    if '"plans"' in text or "plans\\" in text:
        return {"rationale": "none", "plans": []}
    cited = {"file": "output/Result.md", "quote": "was kept aside before any fit"}
    return {"rationale": "As told.", "citations": [cited], "zero": False, "full": True, "half": False}


def strict(request: dict[str, Any], number: int) -> dict[str, Any]:
    found = credulous(request, number)
    return found if "plans" in found else found | {"citations": [], "zero": True, "full": False}


@pytest.fixture
def own(cohort: Cohort) -> Cohort:
    """A repository with gates and a rubric of its own, which have no part in this."""
    write_task(cohort.root / "tasks" / "t2")
    (cohort.root / "pytest.ini").write_text("[pytest]\nsciagent_rubric = small\nsciagent_min_criterion = ev.full=1\n")
    return cohort


def test_without_recorded_verdicts_it_is_inconclusive(own: Cohort) -> None:
    code, out, err = own.sciagent("selfcheck", "t2", "t1")
    assert (code, err) == (10, "")
    assert "selfcheck inconclusive: what is not assessed could turn 4 of 8 runs" in out
    assert "criteria: ask a judge with --judge KIND:MODEL" in " ".join(
        out.split("no verdict is recorded for")[1].split()
    )


@pytest.mark.parametrize(("judge", "code"), [(credulous, 1), (strict, 0)], ids=["credulous", "strict"])
def test_a_judge_is_asked_anew(
    own: Cohort, judge: Callable[..., Any], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with Loopback(judge) as server:
        args = ["selfcheck", "t1", "--judge", "openai:some-model", "--base-url", server.openai_url]
        found, out, err = own.sciagent(*args)
        assert found == code, out + err
        asked = len(server.requests)
        assert asked > 30
        assert own.sciagent(*args)[:2] == (found, out)
        assert len(server.requests) == asked  # all is recorded
    if code == 1:
        assert "selfcheck failed: fabricated t1, planted t1 earned more than the allowance" in out
    assert sorted(p.name for p in (own.root / ".sciagent" / "selfcheck").iterdir()) == [
        "selfcheck-fabricated",
        "selfcheck-planted",
    ]
    assert not (own.root / "verdicts").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nothing"], "sciagent: no task 'nothing' in "),
        (["t1", "-o", "tasks"], "exists and is not an empty folder: choose another for --output"),
        (["t1", "--base-url", "http://x"], "--judge-param and --base-url belong to a judge"),
        (["t1", "--judge", "handoff:nobody"], "nothing is recorded under the judge handoff:nobody"),
        (["t1", "--judge", "nobody"], "KIND:MODEL"),
    ],
)
def test_bad_input(own: Cohort, args: list[str], message: str) -> None:
    code, out, err = own.sciagent("selfcheck", *args)
    assert (code, out) == (4, "")
    assert message in err
    assert "Traceback" not in err
