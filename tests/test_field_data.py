"""Imports of real public data, where they lie beside the repository (`../shared/data`; or SCIAGENT_SHARED names it)."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from foreign_samples import sha, tree

from pytest_sciagent.documents import load_yaml
from pytest_sciagent.findings import parse_findings
from pytest_sciagent.importers import Gathering, bring_in
from pytest_sciagent.models import Label, Rubric
from pytest_sciagent.runs import Run
from pytest_sciagent.runs.discover import find_runs
from pytest_sciagent.tasks import Task

SHARED = Path(os.environ.get("SCIAGENT_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository")
TOTALS = {
    "Astronomy_000_20260319_145223": 29.4,
    "Astronomy_000_20260319_184609": 23.5,
    "Chemistry_000_20260320_193804": 16.85,
    "Math_000_20260321_013909": 26.65,
    "Physics_003_20260321_135653": 46.5,
}


@pytest.fixture(scope="module")
def into(tmp_path_factory: pytest.TempPathFactory) -> Gathering:
    gathering = Gathering(tmp_path_factory.mktemp("field"))
    formats = bring_in("auto", SHARED, gathering)
    assert [format.name for format in formats] == [
        "truthinsightbench",
        "researchclawbench",
        "mlrbench",
        "paperbench",
        "codescientist",
    ]
    return gathering


def test_all_of_it_comes_in(into: Gathering) -> None:
    assert into.refused == []
    assert into.counts() == {
        "task": (10, 0),
        "run": (13, 0),
        "rubric": (8, 0),
        "labels": (6, 0),
        "result": (5, 0),
        "figures": (5, 0),
    }


def test_every_run_is_sound_and_two_completed_ones_without_a_report_failed(into: Gathering) -> None:
    runs = [Run.load(path) for path in find_runs(into.target / "runs")]
    assert len(runs) == 13
    assert [run.label for run in runs if run.problems()] == []
    failed = {run.label for run in runs if run.manifest.status == "failed"}
    assert failed == {"OpenClaw/Astronomy_000", "Claude-Code/Energy_000"}
    told = {thing.name: thing.notes for thing in into.loaded if thing.kind == "run"}
    assert all(any("called completed" in note for note in told[label]) for label in failed)
    findings = {run.label: len(parse_findings(run).findings) for run in runs}
    assert sum(count for label, count in findings.items() if label.startswith("claude-")) == 29
    assert {label for label, count in findings.items() if count == 0} == failed


def test_trees_of_the_six_run_roots_are_those_of_their_receipts(into: Gathering) -> None:
    receipts = sorted((SHARED / "truthinsightbench/runs").glob("*/*/run_receipt.json"))
    assert len(receipts) == 6
    for path in receipts:
        receipt = json.loads(path.read_text())
        output = path.parent / "workspace/output"
        files = {p.relative_to(output).as_posix(): p.read_bytes() for p in output.rglob("*") if p.is_file()}
        assert tree(files) == receipt["output_tree_sha256"]
        run = Run.load(into.target / "runs" / receipt["agent_id"] / receipt["task_id"])
        assert {k.removeprefix("output/"): v.sha256 for k, v in run.files.items() if k.startswith("output/")} == {
            name: sha(data) for name, data in files.items()
        }


def test_five_scored_runs_add_up_to_their_published_totals(into: Gathering) -> None:
    totals = {}
    for path in sorted((into.target / "results").glob("*/*.json")):
        account = json.loads(path.read_text())
        assert account["published"] == account["again"]
        assert account["judge_failures"] == 0
        totals[account["run"]] = account["again"]
    was = {thing.name: thing.notes[0].removeprefix("was ") for thing in into.loaded if thing.kind == "run"}
    assert {was[label]: total for label, total in totals.items()} == TOTALS
    index = json.loads((SHARED / "researchclawbench/runs_index.json").read_text())
    assert {run["run_id"]: run["total_score"] for run in index if run["run_id"] in TOTALS} == TOTALS


def test_every_task_and_rubric_can_be_read(into: Gathering) -> None:
    for path in (into.target / "tasks").iterdir():
        Task.load(path).check()
    rubrics = [load_yaml(path, Rubric) for path in (into.target / "rubrics").glob("*.yaml")]
    assert Counter(rubric.profile for rubric in rubrics) == {"checklist100": 5, "weighted": 3}
    assert sum(len(rubric.criteria) for rubric in rubrics if rubric.profile == "weighted") == 174 + 79 + 116


def test_labels_of_people_and_judges(into: Gathering) -> None:
    labels = [
        Label.model_validate_json(line)
        for path in (into.target / "labels").glob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    counts = Counter((label.dataset, label.rater.kind) for label in labels)
    assert counts["mlrbench", "human"] == 60 * 5 + 19 * 4 - 5
    assert counts["mlrbench", "judge"] == 30 * 5 + 110 * 5 + 20 * 5
    assert counts["paperbench", "human"] == 174 + 79 + 116
    assert counts["codescientist", "human"] == 60 * 2
    assert counts["researchclawbench", "judge"] == 15 + 85
