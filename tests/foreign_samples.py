"""Small folders in the layouts of other benchmarks, written here for the tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TIB_TASK = "Energy_01_photocatalytic_tradeoffs"
T0 = "2022-01-01"
DATA = b"setting\trate\n1\t0.5\n2\t0.9\n3\t1.7\n"
TIB_REPORT = """\
# Results

## Finding 1: the rate rises with the setting

The rate rises from 0.5 to 1.7 in `results/rates.csv`, made by `code/fit.py`.

## Finding 2: the rise is steeper at the end

The last step is 0.8 in `results/rates.csv`, made by `code/fit.py`.
"""
RCB_TASK = "Physics_000"
RCB_REPORT = """\
# A study of bands

The gap closes at 4.1 units.

![Overview of the data](images/overview.png)

Figure 1: everything that was measured.

![Band map](images/bands.png)

Figure 2: Band dispersion near the Dirac point at three polarisations.

Figure 2 shows how the dispersion depends on polarisation.
"""
FAILED = "Failed to parse scoring response."


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tree(files: Mapping[str, bytes]) -> str:
    """The benchmark's tree hash, written out from its definition."""
    lines = b"".join(f"{p}\0{len(d)}\0{sha(d)}\n".encode() for p, d in sorted(files.items()))
    return sha(lines)


def put(root: Path, files: Mapping[str, bytes | str | Any]) -> Path:
    """Write files: bytes, text, or anything else as JSON."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return root


# ---- TruthInsightBench


def tib_manifest(**changes: Any) -> dict[str, Any]:
    return {
        "schema": "truthinsightbench-data-manifest",
        "task_id": TIB_TASK,
        "title": "Rates",
        "domain": "energy",
        "t0": T0,
        "analysis_unit": "One setting.",
        "license_boundary": "CC0",
        "variable_dictionary": {"rates.tsv": ["setting", "rate"]},
        "files": [{"path": "rates.tsv", "bytes": len(DATA), "sha256": sha(DATA), "role": "data"}],
        **changes,
    }


def tib_task(root: Path, **changes: Any) -> Path:
    """The visible half of a task, below `root/tasks`."""
    folder = root / "tasks" / TIB_TASK
    return put(
        folder,
        {
            "data_manifest.json": tib_manifest(**changes),
            "ResearchObjective.md": "Study the rate.\n",
            "DATA_GUIDE.md": "rates.tsv: one row a setting.\n",
            "data/rates.tsv": DATA,
        },
    )


def tib_card(id: str, script: bytes, **changes: Any) -> dict[str, Any]:
    return {
        "card_id": id,
        "one_liner": "It rises.",
        "object": "All settings.",
        "scope": "The settings given.",
        "direction_or_boundary": "upward",
        "quantities": [{"key": f"last_{id}", "role": "core", "value": 1.7, "unit": "1", "tolerance_rel": 0.01}],
        "recompute_binding": {
            "script": f"verification/recompute/{id}.py",
            "script_sha256": sha(script),
            "values": [{"json_path": f"values.last_{id}", "quantity_key": f"last_{id}"}],
        },
        "perturbation_bindings": [
            {"family": "sample", "script": f"verification/perturb/{id}/sample.py", "script_sha256": sha(PERTURB)}
        ],
        **changes,
    }


def recompute_script(id: str) -> bytes:
    """A script in the evaluator's manner: it reads TASK_DATA and prints one JSON object."""
    return f"""\
import json, os, pathlib
rows = (pathlib.Path(os.environ["TASK_DATA"]) / "rates.tsv").read_text().split()
print(json.dumps({{"task_id": "x", "values": {{"last_{id}": float(rows[-1])}}}}))
""".encode()


PERTURB = b"""\
import json
print(json.dumps({"card": "A", "family": "sample", "survive": True, "metrics": {"left": 2}}))
"""


def tib_evaluator(root: Path) -> Path:
    """The hidden half of the task, below `root/evaluation/evaluator/tasks`."""
    queries = json.dumps({"cards": {"A": {"queries": ["rates"]}}, "strict_before": T0}).encode()
    hit = {
        "id": "https://doi.org/10.1/x",
        "doi": "https://doi.org/10.1/x",
        "title": "Earlier rates",
        "abstract": "Rates rise.",
        "publication_date": "2019-05-01",
    }
    search = {"query": "rates", "request_completed": True, "strict_before": T0, "hits": [hit, hit]}
    undated = {"query": "more", "ok": True, "hits": [{"title": "No day", "publication_year": 2018}]}
    files: dict[str, Any] = {
        "validation_anchors.json": {
            "schema": "truthinsightbench-validation-anchors",
            "task_id": TIB_TASK,
            "t0": T0,
            "cards": [tib_card(id, recompute_script(id)) for id in "AB"],
        },
        "source_attribution.json": {
            "title": "The study",
            "doi": "10.1/study",
            "first_publication_date": "2022-04-29",
            "raw_data_record": "A record",
        },
        "novelty/novelty_query_spec.json": queries,
        "novelty/frozen_novelty_search_evidence.json": {
            "cards": {"A": {"queries": [search]}, "B": {"queries": [undated]}},
            "generated_at": "2026-08-22",
            "provider": "a_snapshot",
            "strict_before": T0,
            "query_spec_sha256": sha(queries),
        },
    }
    for id in "AB":
        files[f"verification/recompute/{id}.py"] = recompute_script(id)
        files[f"verification/perturb/{id}/sample.py"] = PERTURB
    return put(root / "evaluation" / "evaluator" / "tasks" / TIB_TASK, files)


def tib_registry(root: Path, task: Path, **changes: Any) -> None:
    """A registry that holds this one task."""
    row = {
        "task_id": TIB_TASK,
        "domain": "energy",
        "t0": T0,
        "data_manifest_sha256": sha((task / "data_manifest.json").read_bytes()),
        "research_objective_sha256": sha((task / "ResearchObjective.md").read_bytes()),
        **changes,
    }
    put(root, {"registry.json": {"schema": "truthinsightbench-dataset-registry", "task_count": 1, "tasks": [row]}})


def tib_run(root: Path, agent: str = "codex", files: Mapping[str, bytes | str] = {}, **changes: Any) -> Path:
    """A run root with a receipt whose hashes are right, unless `changes` say otherwise."""
    folder = root / "runs" / agent / TIB_TASK
    given: dict[str, bytes | str] = {
        "Result.md": TIB_REPORT,
        "code/fit.py": "print(0.5)\n",
        "results/rates.csv": "setting,rate\n1,0.5\n3,1.7\n",
        **files,
    }
    output = {name: text.encode() if isinstance(text, str) else text for name, text in given.items()}
    inputs = {
        "data/rates.tsv": DATA,
        "data_manifest.json": json.dumps(tib_manifest()).encode(),
        "ResearchObjective.md": b"Study the rate.\n",
        "DATA_GUIDE.md": b"rates.tsv: one row a setting.\n",
        "LaunchPrompt.md": b"Start now.\n",
    }
    put(folder / "workspace", inputs)
    put(folder / "workspace" / "output", output)
    receipt = {
        "schema": "truthinsightbench-agent-run-receipt",
        "release": "V1.0",
        "agent_id": agent,
        "harness": "Codex CLI",
        "harness_version": "0.149.0",
        "task_id": TIB_TASK,
        "model": "a-model",
        "status": "completed",
        "started_at": "2026-01-02T03:04:05Z",
        "finished_at": "2026-01-02T03:14:05Z",
        "platform_exit_code": 0,
        "output_validation_passed": True,
        "workspace_input_tree_sha256": tree(inputs),
        "workspace_input_file_count": len(inputs),
        "workspace_input_bytes": sum(map(len, inputs.values())),
        "output_tree_sha256": tree(output),
        "output_file_count": len(output),
        "output_bytes": sum(map(len, output.values())),
        "stdout_sha256": sha(b"done\n"),
        **changes,
    }
    return put(folder, {"run_receipt.json": receipt, "stdout.txt": "done\n"})


FAMILY = {"1": "evidence_validity", "2": "stability"}


def tib_action(id: str, weight: float, level: float) -> dict[str, Any]:
    return {"action_id": id, "number": "1.1", "weight": weight, "level": level, "reason_zh": "..."}


def tib_finding(number: int, score: float) -> dict[str, Any]:
    """A finding of that score: half points are made by a level of 0.5 of weight 1."""
    whole = int(score)
    actions = [tib_action("a", whole, 1), tib_action("b", 1, 0.5 if score % 1 else 0), tib_action("c", 99 - whole, 0)]
    return {"discovery_id": f"finding_{number}", "score": score, "actions": actions}


def tib_result() -> dict[str, Any]:
    """The worked example of the published arithmetic: X and Y on T1, X alone on T2."""
    x = {
        "top_scores": [67, 44.5],
        "top_discovery_quality_0_80": 49.1,
        "yield_bonus_0_10": 6,
        "hidden_target_recovery_0_10": 7.5,
        "deterministic_false_claim_count": 1,
        "deterministic_false_claim_penalty_0_10": 5,
        "deterministic_false_claim_ids": ["finding_2"],
        "run_score_0_100": 57.6,
        "duplicate_groups": [["finding_1", "finding_3"]],
        "target_matches": [{"card_id": "A", "level": 1}, {"card_id": "B", "level": 0.5}],
    }
    none = {
        "deterministic_false_claim_count": 0,
        "deterministic_false_claim_penalty_0_10": 0,
        "deterministic_false_claim_ids": [],
        "hidden_target_recovery_0_10": 0,
        "duplicate_groups": [],
        "target_matches": [{"card_id": "A", "level": 0}, {"card_id": "B", "level": 0}],
    }
    y = {
        **none,
        "top_scores": [52, 39.5],
        "top_discovery_quality_0_80": 39.1,
        "yield_bonus_0_10": 4,
        "run_score_0_100": 43.1,
    }
    z = {**none, "top_scores": [10, 0], "top_discovery_quality_0_80": 6, "yield_bonus_0_10": 0, "run_score_0_100": 6}

    def run(agent: str, task: str, scores: list[float], terms: dict[str, Any]) -> dict[str, Any]:
        findings = [tib_finding(number, score) for number, score in enumerate(scores, 1)]
        return {"task_id": task, "agent": agent, "run_key": f"{agent}--{task}", "findings": findings, "run": terms}

    return {
        "schema": "truthinsightbench-final-scoring-result",
        "status": "scored",
        "model": "a-judge",
        "complete_tasks": ["T1"],
        "provisional_tasks": ["T2"],
        "agent_ranking": [
            {"agent": "X", "scores": [57.6], "mean_score": 57.6, "min_score": 57.6, "max_score": 57.6},
            {"agent": "Y", "scores": [43.1], "mean_score": 43.1, "min_score": 43.1, "max_score": 43.1},
        ],
        "run_results": [
            run("X", "T1", [67, 44.5, 41, 38], x),
            run("Y", "T1", [52, 39.5], y),
            run("X", "T2", [10], z),
        ],
    }


# ---- ResearchClawBench


def rcb_checklist() -> list[dict[str, Any]]:
    return [
        {"type": "text", "content": "The gap closes at 4 units.", "path": None, "keywords": ["gap"], "weight": 0.3},
        {
            "type": "image",
            "content": "The dispersion near the Dirac point depends on polarisation.",
            "path": "images/bands.png",
            "keywords": ["band dispersion", "polarisation"],
            "weight": 0.7,
        },
    ]


def rcb_task(root: Path, name: str = RCB_TASK, **changes: Any) -> Path:
    return put(
        root / "tasks" / name,
        {
            "task_info.json": {
                "task": "Find the gap.",
                "data": [{"name": "bands.csv", "path": "./data/bands.csv", "type": "table", "description": "Bands."}],
            },
            "target_study/checklist.json": rcb_checklist(),
            "data/bands.csv": "k,e\n0,1\n",
            **changes,
        },
    )


def rcb_items(*scores: float, reason: str = "as asked") -> list[dict[str, Any]]:
    weights = [0.3, 0.7]
    return [
        {"index": n, "type": "text", "content": "...", "weight": weights[n], "score": s, "reasoning": reason}
        for n, s in enumerate(scores)
    ]


def rcb_run(
    root: Path, name: str, files: Mapping[str, Any] = {}, *, report: str | None = RCB_REPORT, **meta: Any
) -> Path:
    """A workspace with its `_meta.json`."""
    about = {
        "task_id": RCB_TASK,
        "run_id": name,
        "timestamp": "20260101_000000",
        "status": "completed",
        "agent_name": "Claude Code",
        "model": "a-model",
        "exit_code": 0,
        **meta,
    }
    given: dict[str, Any] = {
        "_meta.json": about,
        "INSTRUCTIONS.md": "Work.\n",
        "_agent_output.jsonl": '{"a": 1}\n',
        "code/run.py": "print(4.1)\n",
        "outputs/gap.csv": "gap\n4.1\n",
        "data/bands.csv": "k,e\n0,1\n",
        "related_work/paper_000.pdf": b"%PDF",
    }
    if report is not None:
        given |= {
            "report/report.md": report,
            "report/images/bands.png": b"\x89PNG",
            "report/images/overview.png": b"\x89PNG",
        }
    return put(root / "workspaces" / name, given | dict(files))
