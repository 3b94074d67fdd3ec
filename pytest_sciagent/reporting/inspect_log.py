"""Results as a log of Inspect (`EvalLog`, JSON): one log a system, a sample a finding, a score a criterion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from ..digest import sha256_json
from ..models import Rubric, RunManifest, TaskManifest, Verdict
from ..plain import to_plain
from ..scoring import Interval
from ..text import clean
from .results import FindingResult, Results, RunResult

LOG_VERSION = 2
MAX_REASON = 2_000
About = Mapping[str, tuple[RunManifest | None, TaskManifest | None]]
"""Manifest and task of each run, by its node id; None where they can't be read."""


def inspect_log(system: str, results: Results, about: About, now: str) -> dict[str, Any]:
    """The log of one system. What has no level has no score: it is told in the metadata of its sample.

    now: the time to put down, ISO 8601 with a time zone.
    """
    runs = [run for run in results.runs if run.index.system == system]
    samples = [sample for run in runs for sample in _samples(run, about[run.index.nodeid])]
    rubric = results.rubrics[0]
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    times = [m for run in runs if (m := about[run.index.nodeid][0]) is not None]
    return {
        "version": LOG_VERSION,
        "status": "success",
        "eval": {
            "eval_id": sha256_json([system, rubric.digest, ids])[:22],
            "run_id": sha256_json([system, now])[:22],
            "created": now,
            "task": f"pytest-sciagent/{rubric.id}",
            "task_id": sha256_json([rubric.digest])[:22],
            "task_version": rubric.version,
            "dataset": {"name": "frozen runs", "samples": len(ids), "sample_ids": ids, "shuffled": False},
            "model": f"sciagent/{system}",
            "config": {},
            "packages": {"pytest-sciagent": version("pytest-sciagent")},
            "metadata": _how(results, rubric, times),
        },
        "plan": {"name": "plan", "steps": []},
        "results": {
            "total_samples": len(samples),
            "completed_samples": sum("error" not in sample for sample in samples),
            "scores": [*_criteria(rubric, samples), _total(system, results)],
            "metadata": {"runs": [_run(run) for run in runs]},
        },
        "stats": {"started_at": now, "completed_at": now, "model_usage": {}},
        "samples": samples,
    }


def _how(results: Results, rubric: Rubric, manifests: Sequence[RunManifest]) -> dict[str, Any]:
    models = sorted({manifest.system.model for manifest in manifests if manifest.system.model})
    return {
        "rubric": rubric.id,
        "rubric_digest": rubric.digest,
        "profile": rubric.profile,
        "judge": results.judge.label if results.judge is not None else None,
        "validity": results.believed.as_json(),
        "models": models,
    }


def _samples(run: RunResult, about: tuple[RunManifest | None, TaskManifest | None]) -> Iterator[dict[str, Any]]:
    manifest, task = about
    index = run.index
    common: dict[str, Any] = {
        "epoch": index.repeat,
        "input": clean(task.title) if task is not None else index.task_id,
        "target": "",
        "messages": [],
        "started_at": manifest.started_at if manifest is not None else None,
        "completed_at": manifest.finished_at if manifest is not None else None,
    }
    if index.state != "sound":
        why = clean("; ".join(index.problems), MAX_REASON)
        yield {
            "id": index.task_id,
            **common,
            "scores": {},
            "metadata": {"run": index.label, "state": index.state},
            "error": {"message": why, "traceback": "", "traceback_ansi": ""},
        }
        return
    for finding in run.findings:
        yield {"id": f"{index.task_id}::{finding.id}", **common, **_finding(run, finding)}
    if run.verdicts:
        yield {
            "id": f"{index.task_id}::run",
            **common,
            "scores": _scores(run.verdicts),
            "metadata": {"run": index.label, "not_assessed": _open(run.verdicts)},
        }


def _finding(run: RunResult, finding: FindingResult) -> dict[str, Any]:
    return {
        "scores": _scores(finding.verdicts),
        "metadata": {
            "run": run.index.label,
            "finding": finding.id,
            "title": clean(finding.title),
            "score": _ends(finding.score.score),
            "not_assessed": _open(finding.verdicts),
        },
    }


def _scores(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    return {verdict.criterion_id: _score(verdict) for verdict in verdicts if verdict.level is not None}


def _score(verdict: Verdict) -> dict[str, Any]:
    citations = [{"file": c.file, "quote": c.quote, "verified": c.verified} for c in verdict.citations]
    metadata: dict[str, Any] = to_plain({"reason_code": verdict.reason_code, "citations": citations})
    return {"value": verdict.level, "explanation": clean(verdict.reason, MAX_REASON), "metadata": metadata}


def _open(verdicts: Sequence[Verdict]) -> dict[str, str]:
    return {v.criterion_id: clean(f"{v.status}: {v.reason}", 300) for v in verdicts if v.level is None}


def _criteria(rubric: Rubric, samples: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The mean level of each criterion over the samples that have one, and how many have none."""
    for criterion in rubric.criteria:
        levels = [s["scores"][criterion.id]["value"] for s in samples if criterion.id in s["scores"]]
        missing = sum(criterion.id in s["metadata"].get("not_assessed", {}) for s in samples)
        mean = {"mean": {"name": "mean", "value": sum(levels) / len(levels), "params": {}}} if levels else {}
        yield {
            "name": criterion.id,
            "scorer": criterion.id,
            "params": {"weight": criterion.weight, "dimension": criterion.dimension},
            "scored_samples": len(levels),
            "unscored_samples": missing,
            "metrics": mean,
        }


def _total(system: str, results: Results) -> dict[str, Any]:
    """The system's score of 0..100, as the interval it is."""
    found = next((s for s in results.systems if s.name == system), None)
    ends = _ends(found.score) if found is not None else {}
    metrics = {name: {"name": name, "value": value, "params": {}} for name, value in ends.items()}
    return {"name": "score", "scorer": "score", "params": {"profile": results.rubrics[0].profile}, "metrics": metrics}


def _run(run: RunResult) -> dict[str, Any]:
    score = _ends(run.total) if run.total is not None else None
    return {"run": run.index.label, "state": run.index.state, "score": score}


def _ends(interval: Interval) -> dict[str, float]:
    return {"low": _number(interval.low), "high": _number(interval.high)}


def _number(value: Fraction) -> float:
    return float(round(value, 6))
