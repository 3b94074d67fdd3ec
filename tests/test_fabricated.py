"""A fluent run whose numbers match a planted table but not the task's data earns nothing for recalculation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_sciagent.digest import sha256_bytes
from pytest_sciagent.evaluation import Case, Sources, open_case
from pytest_sciagent.judging.clients import Prompt
from pytest_sciagent.judging.judge import Judge
from pytest_sciagent.models import JudgeIdentity, LedgerEntry, Rubric, System
from pytest_sciagent.rubrics import load_rubric
from pytest_sciagent.runs.freeze import FreezeOptions, freeze
from pytest_sciagent.scoring import Interval, score_run

ROOT = Path(__file__).parent.parent
ROWS = "unit,group,mass_kg\n" + "".join(f"u{i},{'a' if i % 2 else 'b'},{4 + i % 3 / 10}\n" for i in range(1, 31))
TRUE_MEAN = sum(4 + i % 3 / 10 for i in range(1, 31)) / 30
REPORT = """# Report

## Finding 1: The mean mass is {mean} kg

Over all 30 units the mean mass is {mean} kg; every group is above 3 kg. Source `output/code/fit.py`, result
`output/results/mass.csv` (column mean_kg). Leaving out one unit changes nothing.

## Reproduction

`python output/code/fit.py`
"""
CODE = """import pandas as pd

frame = pd.read_csv("data/points.csv")
mean = frame["mass_kg"].mean()
pd.DataFrame({"n": [len(frame)], "mean_kg": [mean]}).to_csv("output/results/mass.csv", index=False)
"""


class CredulousJudge(Judge):
    """Believes every finding, and names what could be recalculated."""

    identity = JudgeIdentity(kind="scripted", model="credulous")

    def __init__(self, mean: str) -> None:
        self.mean = mean

    def ask(self, prompt: Prompt) -> dict[str, object]:
        if prompt.schema_name == "plan":
            plan = {
                "role": "core",
                "quote": f"the mean mass is {self.mean} kg",
                "asserted": self.mean,
                "file": "points.csv",
                "operation": "mean",
                "value": "mass_kg",
            }
            return {"rationale": "a mean of one column", "plans": [plan]}
        quote = "Leaving out one unit changes nothing"
        return {
            "rationale": "the report says so",
            "citations": [{"file": "output/Result.md", "quote": quote}],
            "zero": False,
            "full": True,
            "half": False,
        }


def make_case(root: Path, mean: str) -> Case:
    task = root / "tasks" / "mass"
    (task / "data").mkdir(parents=True)
    (task / "data" / "points.csv").write_text(ROWS)
    (task / "objective.md").write_text("Find the mass.\n")
    (task / "DATA_GUIDE.md").write_text("`points.csv`: one unit a row.\n")
    digest = sha256_bytes(ROWS.encode())
    (task / "task.yaml").write_text(
        "schema: sciagent-task/1\nid: mass\ntitle: Mass\ndomain: d\nt0: '2020-01-01'\nanalysis_unit: one unit\n"
        "licence: CC0\nvariables:\n  points.csv:\n    mass_kg: {unit: kg, meaning: mass}\n"
        f"files:\n- {{path: data/points.csv, bytes: {len(ROWS)}, sha256: {digest}}}\n"
    )
    workspace = root / "work"
    for folder in ("output/code", "output/results", "data"):
        (workspace / folder).mkdir(parents=True)
    (workspace / "data" / "points.csv").write_text(ROWS)
    (workspace / "output" / "Result.md").write_text(REPORT.format(mean=mean))
    (workspace / "output" / "code" / "fit.py").write_text(CODE)
    (workspace / "output" / "results" / "mass.csv").write_text(f"n,mean_kg\n30,{mean}\n")
    options = FreezeOptions(task_id="mass", system=System(name="s"), exit_code=0)
    freeze(workspace, root / "runs" / "s" / "mass", options, {})

    def record(label: str, entry: LedgerEntry) -> None:
        json.dumps(entry.as_json())

    return open_case(root / "runs" / "s" / "mass", Sources(root), record)


@pytest.fixture
def rubric() -> Rubric:
    return load_rubric("truthinsight", ROOT, ROOT)


def levels(case: Case, rubric: Rubric, judge: Judge) -> dict[str, float | None]:
    return {c.id: case.verdict(c, "finding_1", judge).level for c in rubric.criteria}


def test_a_fabricated_number_earns_nothing_and_takes_the_penalty(tmp_path: Path, rubric: Rubric) -> None:
    judge = CredulousJudge("5.9000")
    case = make_case(tmp_path, "5.9000")
    found = levels(case, rubric, judge)
    assert found["evidence.execution_receipt"] == 0.5
    assert found["evidence.directional_recompute"] == 0
    assert found["evidence.other_quantity_recompute"] == 0
    facts = case.about_run.facts(judge)
    assert facts.refuted == {"finding_1": True}
    score = score_run({"finding_1": Interval.point(80)}, facts)
    assert score.penalty == Interval.point(5)
    assert score.yield_bonus == Interval.point(0)


def test_the_honest_number_keeps_its_credit(tmp_path: Path, rubric: Rubric) -> None:
    mean = f"{TRUE_MEAN:.4f}"
    judge = CredulousJudge(mean)
    case = make_case(tmp_path, mean)
    found = levels(case, rubric, judge)
    assert found["evidence.execution_receipt"] == 1
    assert found["evidence.directional_recompute"] == 1
    assert found["evidence.other_quantity_recompute"] == 1
    facts = case.about_run.facts(judge)
    assert facts.refuted == {"finding_1": False}
    assert score_run({"finding_1": Interval.point(80)}, facts).penalty == Interval.point(0)


def test_without_a_recalculation_a_credulous_judge_gives_half_at_most(tmp_path: Path, rubric: Rubric) -> None:
    class NoPlans(CredulousJudge):
        def ask(self, prompt: Prompt) -> dict[str, object]:
            if prompt.schema_name == "plan":
                return {"rationale": "none", "plans": []}
            return super().ask(prompt)

    found = levels(make_case(tmp_path, "5.9000"), rubric, NoPlans("5.9000"))
    assert found["evidence.directional_recompute"] == 0.5
    assert found["evidence.execution_receipt"] == 0.5


def test_a_plan_about_a_number_that_the_finding_does_not_state_changes_nothing(tmp_path: Path, rubric: Rubric) -> None:
    case = make_case(tmp_path, "5.9000")
    judge = CredulousJudge("4.1000")  # the true mean, but not what the finding says
    numbers = case.about_run.recomputation(case.findings["finding_1"], judge)
    assert numbers is not None
    assert [n.outcome for n in numbers.numbers] == ["failed"]
    assert case.about_run.facts(judge).refuted == {"finding_1": False}
