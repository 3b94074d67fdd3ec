"""Importing what other benchmarks wrote: what comes in, what is refused, and that a broken thing costs itself only."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from foreign_samples import (
    DATA,
    FAILED,
    PERTURB,
    RCB_TASK,
    TIB_TASK,
    put,
    rcb_checklist,
    rcb_items,
    rcb_run,
    rcb_task,
    tib_evaluator,
    tib_registry,
    tib_result,
    tib_run,
    tib_task,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_sciagent.documents import load_yaml
from pytest_sciagent.evidence.sandbox import isolation_available
from pytest_sciagent.findings import parse_findings
from pytest_sciagent.importers import Gathering, NothingHere, bring_in
from pytest_sciagent.importers.truthinsight.registry import TASKS
from pytest_sciagent.models import Label, Rubric
from pytest_sciagent.runs import Run
from pytest_sciagent.tasks import Task
from pytest_sciagent.tasks.verification import Verification


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "imported"


def imported(source: Path, target: Path, format: str = "auto", **options: Any) -> Gathering:
    into = Gathering(target, **options)
    bring_in(format, source, into)
    return into


def names(into: Gathering, kind: str) -> list[str]:
    return [thing.name for thing in into.loaded if thing.kind == kind]


def notes(into: Gathering, kind: str) -> str:
    return " | ".join(note for thing in into.loaded if thing.kind == kind for note in thing.notes)


def reasons(into: Gathering) -> list[str]:
    return [f"{refused.kind}: {Path(refused.file).name}: {refused.reason}" for refused in into.refused]


def labels(target: Path, name: str) -> list[Label]:
    lines = (target / "labels" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Label.model_validate_json(line) for line in lines]


# ---- TruthInsightBench


def test_all_forty_registered_tasks_are_known() -> None:
    assert len(TASKS) == 40
    assert TASKS["Neuro_05_temporal_geometry"] == ("neuroscience", "2022-01-01")
    assert len({domain for domain, _ in TASKS.values()}) == 10


def test_a_task_comes_in_with_its_hidden_half(source: Path, target: Path) -> None:
    task = tib_task(source)
    tib_registry(source, task)
    tib_evaluator(source)
    into = imported(source, target, "truthinsightbench")
    assert names(into, "task") == [TIB_TASK]
    assert into.refused == []
    found = Task.load(target / "tasks" / TIB_TASK)
    assert (found.manifest.t0, found.manifest.domain) == ("2022-01-01", "energy")
    assert (found.data_dir / "rates.tsv").read_bytes() == DATA
    assert list(found.manifest.variables["rates.tsv"]) == ["setting", "rate"]
    assert [card.id for card in found.cards] == ["A", "B"]
    assert found.cards[0].direction == "upward"
    assert found.cards[0].quantities[0].tolerance.accepts(1.71, 1.7)
    assert found.source is not None
    assert found.source.doi == "10.1/study"
    assert [(hit.title, hit.date, hit.doi) for hit in found.earlier_hits] == [("Earlier rates", "2019-05-01", "10.1/x")]
    assert "no row" not in notes(into, "task")


def test_its_own_scripts_recalculate_the_cards_in_the_sandbox(source: Path, target: Path) -> None:
    if isolation_available() == "none":
        pytest.skip("no sandbox on this machine")
    tib_task(source)
    tib_evaluator(source)
    imported(source, target)
    verification = Verification(Task.load(target / "tasks" / TIB_TASK))
    assert verification.values() == {"last_A": 1.7, "last_B": 1.7}
    (perturbed,) = verification.perturbations("A")
    assert (perturbed.family, perturbed.survive, perturbed.metrics) == ("sample", True, {"left": 2})


def test_a_script_of_another_hash_is_left_out(source: Path, target: Path) -> None:
    tib_task(source)
    evaluator = tib_evaluator(source)
    put(evaluator, {"verification/recompute/A.py": PERTURB})
    into = imported(source, target)
    assert "verification/recompute/A.py is left out" in notes(into, "task")
    script = (target / "tasks" / TIB_TASK / "hidden/verify/recompute.py").read_text()
    assert "recompute/B.py" in script
    assert "recompute/A.py" not in script


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"t0": "2021-01-01"}, "the registry has 2022-01-01"),
        ({"domain": "physics"}, "the registry has energy"),
        ({"files": [{"path": "rates.tsv", "bytes": 3, "sha256": "0" * 64}]}, "size or SHA-256 differs"),
        ({"files": [{"path": "../../secret", "bytes": 3, "sha256": "0" * 64}]}, "not a plain relative path"),
        ({"task_id": "Another_01_task"}, "in a folder called"),
        ({"files": "none"}, "files:"),
    ],
)
def test_a_task_that_is_not_what_is_registered_is_refused(
    source: Path, target: Path, change: dict[str, Any], reason: str
) -> None:
    tib_task(source, **change)
    tib_run(source)
    into = imported(source, target)
    assert names(into, "task") == []
    assert any(reason in told for told in reasons(into)), reasons(into)
    assert not (target / "tasks").exists() or list((target / "tasks").iterdir()) == []


def test_a_registry_of_another_hash_refuses_the_task(source: Path, target: Path) -> None:
    tib_registry(source, tib_task(source), data_manifest_sha256="0" * 64)
    assert reasons(imported(source, target)) == [
        "task: data_manifest.json: is not the registered file: SHA-256 differs from registry.json"
    ]


def test_a_run_root_is_frozen_by_its_receipt(source: Path, target: Path) -> None:
    tib_task(source)
    tib_run(source)
    into = imported(source, target)
    assert names(into, "run") == [f"codex/{TIB_TASK}"]
    assert "as in the receipt" in notes(into, "run")
    run = Run.load(target / "runs/codex" / TIB_TASK)
    assert run.problems() == []
    manifest = run.manifest
    assert (manifest.system.harness, manifest.system.harness_version) == ("Codex CLI", "0.149.0")
    assert list(manifest.system.prompts) == ["LaunchPrompt.md"]
    assert manifest.inputs.before == manifest.inputs.after
    assert manifest.started_at == "2026-01-02T03:04:05Z"
    assert [finding.id for finding in parse_findings(run).findings] == ["finding_1", "finding_2"]
    assert "logs/stdout.txt" in run.files


def test_changed_data_show_as_changed_inputs(source: Path, target: Path) -> None:
    tib_task(source)
    run = tib_run(source)
    put(run, {"workspace/data/rates.tsv": "setting\trate\n"})
    into = imported(source, target)
    assert "the input tree is not that of the receipt" in notes(into, "run")
    manifest = Run.load(target / "runs/codex" / TIB_TASK).manifest
    assert manifest.inputs.before != manifest.inputs.after


def test_an_output_that_is_not_what_the_receipt_froze_is_refused_alone(source: Path, target: Path) -> None:
    tib_run(source, "good")
    put(tib_run(source, "bad"), {"workspace/output/results/rates.csv": "setting,rate\n1,99\n"})
    into = imported(source, target)
    assert names(into, "run") == [f"good/{TIB_TASK}"]
    (told,) = reasons(into)
    assert told.startswith("run: run_receipt.json: the output is not what it froze: 3 files")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"status": "excellent"}, "status"),
        ({"agent_id": "../../escape"}, "name: String should match"),
        ({"task_id": "../../../escape"}, "the receipt of ../../../escape"),
        ({"started_at": "yesterday"}, "started_at"),
        ({"platform_exit_code": "none"}, "platform_exit_code"),
    ],
)
def test_a_receipt_with_a_bad_value_refuses_its_run(
    source: Path, target: Path, change: dict[str, Any], reason: str
) -> None:
    tib_run(source, "good")
    tib_run(source, "bad", **change)
    before = sorted(path.name for path in target.parent.iterdir())
    into = imported(source, target)
    assert names(into, "run") == [f"good/{TIB_TASK}"]
    assert reason in reasons(into)[0]
    assert sorted(path.name for path in target.parent.iterdir()) == sorted([*before, "imported"])


def test_the_worked_example_is_scored_again_to_the_same_numbers(source: Path, target: Path) -> None:
    put(source / "final", {"final_scoring_result.json": tib_result()})
    into = imported(source, target)
    assert into.refused == []
    account = json.loads((target / "results/final.rescored.json").read_text())
    assert {(run["agent"], run["task_id"]): run["run_score_0_100"] for run in account} == {
        ("X", "T1"): 57.6,
        ("Y", "T1"): 43.1,
        ("X", "T2"): 6.0,
    }
    found = labels(target, "truthinsightbench-final")
    assert len(found) == 7 * 3
    assert (found[0].run, found[0].rater.name, found[0].scale) == ("X/T1::finding_1", "a-judge", (0, 1))


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("run_results", 0, "run", "run_score_0_100"), 57.7, "run score is 57.7, and 57.6 again"),
        (("run_results", 1, "findings", 0, "score"), 53, "score of finding_1 is 53, and 52 again"),
        (("run_results", 0, "run", "yield_bonus_0_10"), 4, "yield bonus is 4, and 6 again"),
        (("agent_ranking", 0, "mean_score"), 58, "the ranking is X 57.6, Y 43.1"),
        (("complete_tasks", 0), "T2", "complete tasks are T1"),
        (("status",), "pending", "its status is 'pending'"),
    ],
)
def test_a_result_that_its_levels_do_not_give_is_refused(
    source: Path, target: Path, path: tuple[Any, ...], value: Any, reason: str
) -> None:
    result = tib_result()
    place = result
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    put(source / "final", {"final_scoring_result.json": result})
    (told,) = reasons(imported(source, target))
    assert reason in told


def test_quotes_of_one_finding_count_each_and_a_refuted_duplicate_not(source: Path, target: Path) -> None:
    result = tib_result()
    x = result["run_results"][0]
    refuted = {"status": "verified", "supports_claim": False, "penalty_eligible": True, "source_locator": "a.csv"}
    receipts = [{**refuted, "claim_quote": quote, "operation": "mean"} for quote in ("0.5", "0.7", "0.7")]
    x["findings"][1]["engineering_closure"] = {"recompute": {"receipts": receipts}}
    x["findings"][2]["engineering_closure"] = {"recompute": {"receipts": [{**refuted, "claim_quote": "9"}]}}
    x["run"] |= {"deterministic_false_claim_count": 2, "deterministic_false_claim_penalty_0_10": 10}
    x["run"]["run_score_0_100"] = 52.6
    result["agent_ranking"][0] |= {"mean_score": 52.6}
    put(source / "final", {"final_scoring_result.json": result})
    assert reasons(imported(source, target)) == []


def test_a_cohort_is_checked(source: Path, target: Path) -> None:
    runs = [{"key": f"{a}--{t}", "task_id": t, "agent": a} for a, t in (("X", "T1"), ("Y", "T1"), ("X", "T2"))]
    cohort = {"schema": "truthinsightbench-scoring-cohort", "runs": runs, "agents": ["X", "Y"]}
    summary = {"run_count": 3, "complete_task_count": 1, "complete_tasks": ["T1"]}
    put(source, {"good/cohort.json": cohort | {"summary": summary}})
    put(source, {"bad/cohort.json": cohort | {"summary": {**summary, "complete_task_count": 2}}})
    put(source, {"other/cohort.json": {"schema": "of somebody else", "runs": []}})
    into = imported(source, target)
    assert names(into, "result") == ["cohort good"]
    assert reasons(into) == ["result: cohort.json: complete_task_count is 2, and its runs give 1"]


# ---- ResearchClawBench


def test_a_checklist_becomes_a_rubric_and_a_workspace_a_run_judged_as_a_whole(source: Path, target: Path) -> None:
    rcb_task(source)
    rcb_run(source, "Physics_000_20260101_000000")
    into = imported(source, target, "researchclawbench")
    assert into.refused == []
    rubric = load_yaml(target / "rubrics" / f"researchclawbench.{RCB_TASK}.yaml", Rubric)
    assert (rubric.profile, rubric.task_id) == ("checklist100", RCB_TASK)
    assert [(c.id, c.dimension, c.weight) for c in rubric.criteria] == [
        ("Physics_000.c0", "text", 0.3),
        ("Physics_000.c1", "image", 0.7),
    ]
    assert "1 target figures are not here" in notes(into, "rubric")
    run = Run.load(target / "runs/Claude-Code" / RCB_TASK)
    assert run.problems() == []
    assert run.manifest.report == "output/report/report.md"
    assert {"output/code/run.py", "output/outputs/gap.csv", "logs/agent_output.jsonl"} <= set(run.files)
    assert not [path for path in run.files if "related_work" in path or "data" in path]
    assert list(run.manifest.inputs.after or ()) == ["data/bands.csv"]
    (whole,) = parse_findings(run).findings
    assert (whole.id, whole.title) == ("report", "A study of bands")
    assert "Figure 2 shows" in whole.section.text
    assert "output/report/images/bands.png" in whole.artifacts


def test_figures_are_found_by_caption_and_reference_not_by_order(source: Path, target: Path) -> None:
    rcb_task(source)
    rcb_run(source, "Physics_000_20260101_000000")
    imported(source, target)
    figures = json.loads((target / "figures/Claude-Code" / f"{RCB_TASK}.json").read_text())
    assert list(figures) == ["Physics_000.c1"]
    best = figures["Physics_000.c1"][0]
    assert best["path"] == "output/report/images/bands.png"
    assert {"dispersion", "dirac"} <= set(best["shared"])
    assert "output/report/images/overview.png" not in [figure["path"] for figure in figures["Physics_000.c1"]]


def test_a_completed_run_without_a_report_is_a_failed_run(source: Path, target: Path) -> None:
    rcb_task(source)
    rcb_run(source, "Physics_000_20260101_000000", report=None)
    into = imported(source, target)
    assert "called completed by its benchmark, and there is no report" in notes(into, "run")
    assert Run.load(target / "runs/Claude-Code" / RCB_TASK).manifest.status == "failed"


def test_the_sites_export_comes_in_and_repeats_are_told_apart(source: Path, target: Path) -> None:
    rcb_task(source)
    for number in (1, 2):
        data = {
            "run_id": f"Physics_000_2026010{number}_000000",
            "task_id": RCB_TASK,
            "status": "completed",
            "agent_name": "Nanobot",
            "model": "",
            "report": "# Text\n",
        }
        listing = [
            {"path": "outputs/gap.csv", "type": "file", "mtime": 1767323045.0},
            {"path": "x", "type": "directory"},
        ]
        missing = [{"path": "outputs/large.bin", "type": "file", "size": 9}]
        put(
            source / data["run_id"],
            {"data.json": data, "files.json": listing + missing, "workspace/outputs/gap.csv": "gap\n4\n"},
        )
    into = imported(source, target)
    assert names(into, "run") == [f"Nanobot/{RCB_TASK}", f"Nanobot/{RCB_TASK}.r2"]
    assert "not here, though its listing names them: 1 file" in notes(into, "run")
    assert "the text in data.json is taken for it" in notes(into, "run")
    run = Run.load(target / "runs/Nanobot" / RCB_TASK)
    assert run.files["output/outputs/gap.csv"].mtime == "2026-01-02T03:04:05Z"
    assert run.report_text == "# Text\n"


def test_a_name_that_leads_elsewhere_is_refused(source: Path, target: Path) -> None:
    rcb_run(source, "Physics_000_20260101_000000", task_id="../../../escape")
    into = imported(source, target)
    assert "can't be the name of a file or folder here" in reasons(into)[0]
    assert not list(target.rglob("*escape*"))


def test_another_markdown_file_is_the_report_and_it_is_told(source: Path, target: Path) -> None:
    rcb_run(source, "Physics_000_20260101_000000", {"report/paper.md": "# P\n", "report/b.md": "# B\n"}, report=None)
    into = imported(source, target)
    assert "report/b.md is taken for the report" in notes(into, "run")


def test_judge_failures_are_told_apart_from_zeros(source: Path, target: Path) -> None:
    rcb_task(source)
    honest = {"items": rcb_items(50, 0), "total_score": 15.0}
    failed = {"items": [*rcb_items(50), {**rcb_items(0, 0, reason=FAILED)[1]}], "total_score": 15.0}
    rcb_run(source, "Physics_000_20260101_000000", {"_score.json": honest}, agent_name="Honest")
    rcb_run(source, "Physics_000_20260102_000000", {"_score.json": failed}, agent_name="Failed")
    rcb_run(source, "Physics_000_20260103_000000", {"_score.json": {**honest, "total_score": 15.1}}, agent_name="Wrong")
    into = imported(source, target)
    assert sorted(names(into, "result")) == [f"Failed/{RCB_TASK}", f"Honest/{RCB_TASK}"]
    assert reasons(into) == ["result: _score.json: its total is 15.1, and its items give 15"]
    account = json.loads((target / "results/Failed" / f"{RCB_TASK}.json").read_text())
    assert account["without_failures_as_zero"] == {"low": 15.0, "high": 85.0}
    given = {(label.run, label.criterion): label.score for label in labels(target, "researchclawbench")}
    assert given[f"Honest/{RCB_TASK}", "Physics_000.c1"] == 0
    assert (f"Failed/{RCB_TASK}", "Physics_000.c1") not in given
    assert "1 judge failures left out" in notes(into, "labels")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 20)), min_size=1, max_size=8))
def test_totals_are_made_as_the_benchmark_makes_them(pairs: list[tuple[int, int]]) -> None:
    from pytest_sciagent.importers.researchclaw.scores import Scores

    items = [{"index": n, "weight": w / 20, "score": s, "reasoning": "r"} for n, (s, w) in enumerate(pairs)]
    total = sum(s * (w / 20) for s, w in pairs) / sum(w / 20 for _, w in pairs)
    scores = Scores.model_validate({"items": items, "total_score": 0})
    assert scores.published() == pytest.approx(total, abs=0.0051)
    assert scores.honest().is_point
    assert abs(float(scores.honest().low) - scores.published()) < 0.0051


def test_a_history_of_scores_is_a_rater_for_each_version(source: Path, target: Path) -> None:
    versions = [
        {"commit": "aaaaaaa1", "items": rcb_items(10, 20), "total_score": 17.0},
        {"commit": "bbbbbbb2", "items": rcb_items(20, 20), "total_score": 20.0},
        {"commit": "ccccccc3", "items": rcb_items(20, 20), "total_score": 99.0},
    ]
    put(source, {"score_history.json": {"Physics_000_20260101_000000": versions}})
    into = imported(source, target)
    found = labels(target, "researchclawbench-history")
    assert {label.rater.name for label in found} == {"ResearchClawBench at aaaaaaa", "ResearchClawBench at bbbbbbb"}
    assert [label.criterion for label in found][:2] == ["Physics_000.c0", "Physics_000.c1"]
    assert reasons(into) == ["result: score_history.json: its total is 99, and its items give 20"]


@pytest.mark.parametrize(
    ("checklist", "reason"),
    [
        ([], "the checklist is empty"),
        ({"a": 1}, "the document should be an array"),
        ([{**rcb_checklist()[0], "weight": -1}], "entry 0.weight"),
        ([{**rcb_checklist()[0], "content": ""}], "entry 0.content"),
        (b"[NaN]", "NaN is not a JSON number"),
    ],
)
def test_a_broken_checklist_costs_its_task_only(source: Path, target: Path, checklist: Any, reason: str) -> None:
    rcb_task(source, "Good_001")
    rcb_task(source, "Bad_001", **{"target_study/checklist.json": checklist})
    into = imported(source, target)
    assert names(into, "task") == ["Good_001"]
    assert reason in reasons(into)[0]


# ---- AstaBench


ELEMENTS = [
    {"criteria_name": "Baseline", "criteria_met_question": "Was it run?", "required_or_optional": "required"},
    {"criteria_name": "Test", "criteria_met_question": "Was it tested?", "required_or_optional": "required"},
    {"criteria_name": "Extra", "criteria_met_question": "More?", "required_or_optional": "optional"},
]


def verdict(paper: int, code: int, artifacts: int, overall: int, consistent: int = 1) -> dict[str, Any]:
    return {
        "paper_evaluation": {"criteria_met": paper},
        "code_evaluation": {"criteria_met": code},
        "artifacts_evaluation": {"criteria_met": artifacts},
        "consistency_evaluation": {"consistency_score": consistent},
        "overall_evaluation": {"criteria_met": overall},
    }


def asta(source: Path, *responses: Any, answer: Any = None) -> None:
    samples = [{"id": "idea-1", "problem_description": "Try it.", "evaluation_rubric": ELEMENTS}]
    results = {
        "report": "# A paper\n",
        "code": [{"filename": "run.py", "code": "print(1)"}, {"filename": "../../evil.sh", "code": "rm"}],
        "artifacts": [{"filename": "log.json", "artifact": {"a": 1}}, {"filename": "log.json", "artifact": "b"}],
        "trace": [{"step": 1}],
        "token_counts": [{"model": "m", "prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}],
    }
    given = [e | {"response": r} for e, r in zip(ELEMENTS, responses, strict=False)]
    put(
        source,
        {
            "dev.json": samples,
            "solver/reports/idea-1-results.json": {"results": results} if answer is None else answer,
            "solver/evaluations_json/idea-1.extracted.json": {
                "evaluated_rubric": given,
                "overall_score": {"average_required_overall": 0.5},
            },
        },
    )


def test_an_answer_becomes_a_run_and_its_evaluation_labels(source: Path, target: Path) -> None:
    asta(source, verdict(1, 1, -1, 1), verdict(1, 0, -1, 0, 0), verdict(-1, -1, -1, -1))
    into = imported(source, target, "astabench")
    assert into.refused == []
    rubric = load_yaml(target / "rubrics/astabench.idea-1.yaml", Rubric)
    assert rubric.profile == "required"
    assert [c.id for c in rubric.criteria if c.required] == ["idea-1.c1", "idea-1.c2"]
    apart = ["report", "code", "artifacts", "consistency"]
    assert [c.id for c in rubric.criteria][:5] == ["idea-1.c1", *(f"idea-1.c1.{source}" for source in apart)]
    assert rubric.by_id["idea-1.c1.code"].evidence.roles == ("analysis_source", "notebook")
    assert Task.load(target / "tasks/idea-1").objective == "Try it.\n"
    run = Run.load(target / "runs/solver/idea-1")
    assert run.problems() == []
    assert {"output/report.md", "output/code/run.py", "output/artifacts/log.json", "logs/trace.json"} <= set(run.files)
    assert len(run.files) == 6
    assert (run.manifest.usage.input_tokens, run.manifest.usage.output_tokens) == (5, 7)
    assert not (target.parent / "evil.sh").exists()
    given = {label.criterion: label.score for label in labels(target, "astabench-e2e-solver")}
    assert given["idea-1.c1"] == 1
    assert given["idea-1.c2@code"] == 0
    assert given["idea-1.c2@consistency"] == 0
    assert "idea-1.c1@artifacts" not in given
    assert "published 0.5, the same" in notes(into, "result")
    assert "1 criteria with sources that disagree" in notes(into, "result")


def test_one_bad_reply_costs_one_criterion(source: Path, target: Path) -> None:
    broken = {"overall_evaluation": {"criteria_met": "yes"}, "paper_evaluation": {"criteria_met": 1}}
    asta(source, verdict(1, 1, 1, 1), broken, None)
    into = imported(source, target)
    told = notes(into, "result")
    assert "published 0.5, 50.00..100.00 of 100 from its verdicts" in told
    assert "2 criteria have no readable verdict: each stays open, alone" in told


@pytest.mark.parametrize(
    "answer", ["no json at all", {"result": 1}, {"results": {"report": ""}}, {"results": {"code": 3}}]
)
def test_an_answer_of_another_form_is_a_failed_run(source: Path, target: Path, answer: Any) -> None:
    asta(source, answer=json.dumps(answer).encode() if isinstance(answer, str) else answer)
    into = imported(source, target)
    assert names(into, "run") == ["solver/idea-1"]
    assert "a failed run" in notes(into, "run")
    assert Run.load(target / "runs/solver/idea-1").manifest.status == "failed"


# ---- labels


def test_mlr_bench_gives_labels_of_people_and_judges_and_papers_as_runs(source: Path, target: Path) -> None:
    aspects = ("Novelty", "Clarity", "Soundness", "Significance", "Overall")
    review = {aspect: {"score": 3, "justification": "so"} for aspect in aspects} | {"Confidence": 4}
    invented = {
        "has_hallucination": True,
        "hallucinations": [{"type": "Nonexistent Citations"}, {"type": "Nonexistent Citations"}],
    }
    row = "1,claude,w1,6,5,4,3,2"
    header = "LLM,Workshop_name,is_Faked_Experimental_Result,is_Hallucinated_Methodology,is_Incorrect_Citation"
    put(
        source,
        {
            "eval/human_review.csv": f"reviewer_id,model_name,workshop_name,{','.join(aspects)}\n{row}\n",
            "eval/Hallucination Check.csv": f"{header},is_Mathematical_Error\nMLR Agent,w1,Yes,No,Not Sure,No\n",
            "subset_reviews_judge-a/w1/review_claude.json": review,
            "subset_reviews_judge-a/w2/review_claude.json": {**review, "Overall": {"score": 99}},
            "hallucination/end2end_o4/w1/review_hallucination_judge-a.json": invented,
            "end2end_claude/w1/idea.md": "I",
            "end2end_claude/w1/proposal.md": "P",
            "end2end_claude/w1/results/paper.md": "# Paper\n",
            "end2end_claude/w1/claude_code/run.py": "print(1)\n",
        },
    )
    into = imported(source, target, "mlrbench")
    people = labels(target, "mlrbench")
    assert {(x.rater.kind, x.run, x.criterion): x.score for x in people}["human", "claude/w1", "Overall"] == 2
    assert [x.score for x in people if x.criterion.startswith("is_")] == [1, 0, 0]
    judges = {(x.run, x.criterion): x.score for x in labels(target, "mlrbench-reviews")}
    assert judges["claude/w1", "Overall"] == 3
    assert judges["end2end_o4/w1", "is_Incorrect_Citation"] == 1
    assert judges["end2end_o4/w1", "is_Mathematical_Error"] == 0
    assert names(into, "run") == ["claude/w1"]
    run = Run.load(target / "runs/claude/w1")
    assert (run.manifest.report, run.manifest.unit) == ("output/results/paper.md", "report")
    (told,) = reasons(into)
    assert told.startswith("labels: review_claude.json: score: Input should be less than or equal to 10")


def node(id: str, weight: float, score: float, *parts: dict[str, Any]) -> dict[str, Any]:
    category = None if parts else "Code Development"
    return {
        "id": id,
        "requirements": f"requirement {id}",
        "weight": weight,
        "score": score,
        "valid_score": True,
        "task_category": category,
        "sub_tasks": list(parts),
    }


def test_a_paperbench_tree_becomes_its_leaves(source: Path, target: Path) -> None:
    tree = node("root", 1, 0.75, node("left", 3, 1, node("a", 2, 1), node("b", 0, 0)), node("c", 1, 0))
    put(source, {"paper-1/expected_result.json": tree})
    into = imported(source, target, "paperbench")
    rubric = load_yaml(target / "rubrics/paperbench.paper-1.yaml", Rubric)
    assert [(c.id, c.weight) for c in rubric.criteria] == [("a", 75), ("c", 25)]
    assert [(x.criterion, x.score, x.rater.kind) for x in labels(target, "paperbench-judgeeval")] == [
        ("a", 1, "human"),
        ("c", 0, "human"),
    ]
    assert into.refused == []


def test_a_root_that_its_leaves_do_not_give_is_refused_and_a_deep_tree_too(source: Path, target: Path) -> None:
    deep = node("leaf", 1, 1)
    for number in range(120):
        deep = node(f"n{number}", 1, 1, deep)
    put(source, {"wrong/expected_result.json": node("root", 1, 0.9, node("a", 1, 1)), "deep/rubric.json": deep})
    into = imported(source, target)
    assert reasons(into) == [
        "rubric: rubric.json: the tree is deeper than 40",
        "rubric: expected_result.json: the root's score is 0.9, and its leaves give 1",
    ]


def test_codescientist_ratings_are_steps_of_a_scale(source: Path, target: Path) -> None:
    rows = [
        "Which paper\tSoundness\tNovelty",
        "Paper 1 - graphs\tUnsound: x\tNot Novel/Exists in Exact Form: y",
        "Paper 1 - graphs\tClearly Sound: x\tIncrementally Novel (Significant Variation): y",
    ]
    put(
        source,
        {"good_review_ratings.tsv": "\n".join(rows), "bad_review_ratings.tsv": rows[0] + "\nPaper 1 - g\tGood\tx"},
    )
    into = imported(source, target)
    assert [(x.criterion, x.score, x.scale) for x in labels(target, "codescientist")] == [
        ("Soundness", 0, (0, 3)),
        ("Novelty", 0, (0, 2)),
        ("Soundness", 3, (0, 3)),
        ("Novelty", 2, (0, 2)),
    ]
    assert reasons(into)[0].startswith("labels: bad_review_ratings.tsv: row 2: 'Good' is none of")


# ---- hostile sources


def test_links_are_not_followed_and_cost_their_run_only(source: Path, target: Path, tmp_path: Path) -> None:
    secret = put(tmp_path / "secret", {"key.txt": "hidden"})
    tib_run(source, "good")
    (tib_run(source, "bad") / "workspace/output/key.txt").symlink_to(secret / "key.txt")
    rcb_task(source)
    (rcb_run(source, "Physics_000_20260101_000000") / "outputs" / "all").symlink_to(secret)
    (source / "elsewhere").symlink_to(put(tmp_path / "elsewhere", {}))
    tib_task(tmp_path / "elsewhere")
    into = imported(source, target)
    assert names(into, "run") == [f"good/{TIB_TASK}"]
    assert names(into, "task") == [RCB_TASK]
    assert len(reasons(into)) == 2
    assert all("a symbolic link" in told for told in reasons(into))
    assert not [path for path in target.rglob("*") if path.name in ("key.txt", "all")]


def test_a_run_of_too_many_bytes_is_refused(source: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_sciagent.importers.foreign.MAX_TOTAL", 100)
    rcb_run(source, "Physics_000_20260101_000000", {"outputs/large.bin": b"0" * 101})
    into = imported(source, target)
    assert reasons(into) == ["run: outputs: more than 100 bytes of files"]
    assert not list(target.rglob("run.json"))


def test_a_document_that_is_a_pipe_or_endless_is_not_read(source: Path, target: Path) -> None:
    tib_run(source, "good")
    pipe = source / "runs" / "pipe"
    pipe.mkdir()
    os.mkfifo(pipe / "run_receipt.json")
    large = source / "runs" / "large"
    large.mkdir()
    with (large / "run_receipt.json").open("wb") as handle:
        handle.truncate(60_000_000)
    into = imported(source, target)
    assert names(into, "run") == [f"good/{TIB_TASK}"]
    (told,) = reasons(into)
    assert "60,000,000 bytes" in told


DOCUMENTS = {
    "run_receipt.json": lambda root: tib_run(root) / "run_receipt.json",
    "data_manifest.json": lambda root: tib_task(root) / "data_manifest.json",
    "validation_anchors.json": lambda root: (tib_task(root), tib_evaluator(root))[1] / "validation_anchors.json",
    "final_scoring_result.json": lambda root: (
        put(root, {"final_scoring_result.json": tib_result()}) / "final_scoring_result.json"
    ),
    "checklist.json": lambda root: rcb_task(root) / "target_study/checklist.json",
    "_meta.json": lambda root: rcb_run(root, "Physics_000_20260101_000000") / "_meta.json",
    "score_history.json": lambda root: (
        put(root, {"score_history.json": {"a_1_2": [{"commit": "c", "items": rcb_items(1, 2), "total_score": 1.7}]}})
        / "score_history.json"
    ),
    "expected_result.json": lambda root: (
        put(root, {"p/expected_result.json": node("r", 1, 1, node("a", 1, 1))}) / "p/expected_result.json"
    ),
}
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**400), 10**400),
    st.floats(allow_nan=False),
    st.sampled_from(["", "..", "../../x", "\ud800", "\x1b[31m", "a" * 5000, "2022-01-01", "1e5"]),
    st.lists(st.integers(), max_size=2),
    st.just({}),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("name", list(DOCUMENTS))
@given(data=st.data())
def test_no_value_in_a_document_does_more_than_refuse_it(tmp_path: Path, name: str, data: st.DataObject) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    for folder in (source, target):
        shutil.rmtree(folder, ignore_errors=True)
    source.mkdir()
    document = DOCUMENTS[name](source)
    content = json.loads(document.read_text())
    path = data.draw(st.sampled_from(places(content)))
    value = data.draw(ODD)
    if not path:
        content = value
    else:
        part = content
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = value
    document.write_text(json.dumps(content))
    into = Gathering(target)
    with contextlib.suppress(NothingHere):
        bring_in("auto", source, into)
        assert into.loaded or into.refused
    assert sorted(p.name for p in tmp_path.iterdir()) == (["s", "t"] if target.exists() else ["s"])
    for place in target.glob("runs/*/*"):
        assert Run.load(place).problems() == []


@settings(max_examples=30, deadline=None)
@example("0\x850 \u2028\u2029 end")
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60))
def test_rubrics_are_read_back_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    source = tmp_path_factory.mktemp("s")
    items = [{"type": "text", "content": content, "path": None, "keywords": [content, "1e5", "no"], "weight": 1}]
    rcb_task(source, **{"target_study/checklist.json": items})
    into = imported(source, source / "out")
    rubric = load_yaml(source / "out" / "rubrics" / f"researchclawbench.{RCB_TASK}.yaml", Rubric)
    assert rubric.criteria[0].question.endswith(content.strip())
    assert rubric.criteria[0].metrics[-2:] == ("1e5", "no")
    assert into.refused == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 200_000, "not readable as JSON: nested too deeply"),
        ('{"weight": 1%s}' % ("0" * 5_000), "not readable as JSON: a whole number of 5,001 digits, more than 1,000"),
        ('{"weight": NaN}', "not readable as JSON: NaN is not a JSON number"),
        ('{"a": 1, "a": 2}', "not readable as JSON: duplicate key 'a'"),
        ("null", "the document should be a"),
    ],
    ids=["deep", "digits", "nan", "twice", "null"],
)
def test_a_hostile_document_is_refused_in_plain_words(source: Path, target: Path, text: str, reason: str) -> None:
    rcb_task(source)
    rcb_run(source, "Physics_000_20260101_000000")
    tib_task(source / "tib")
    for path in source.rglob("*.json"):
        path.write_text(text)
    into = imported(source, target)
    assert not into.loaded
    assert {refused.kind for refused in into.refused} == {"task", "run"}
    for refused in into.refused:
        assert refused.reason.startswith(reason)
        assert "Type" not in refused.reason
        assert Path(refused.file).is_relative_to(source)


def test_links_that_are_passed_over_are_told(source: Path, target: Path, tmp_path: Path) -> None:
    rcb_task(source, "Physics_001")
    rcb_task(source, "Physics_002")
    outside = tmp_path / "info.json"
    info = source / "tasks/Physics_002/task_info.json"
    info.rename(outside)
    info.symlink_to(outside)
    into = imported(source, target)
    assert {thing.name for thing in into.loaded if thing.kind == "task"} == {"Physics_001"}
    told = f"passed over: symbolic links in {info.parent}, which are not followed: task_info.json"
    assert told in into.notes


def test_where_nothing_is_found_but_links_they_are_told(source: Path, target: Path, tmp_path: Path) -> None:
    rcb_task(tmp_path / "elsewhere")
    (source / "tasks").symlink_to(tmp_path / "elsewhere/tasks")
    with pytest.raises(NothingHere, match="not followed: tasks"):
        imported(source, target)
