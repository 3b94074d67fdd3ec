"""Results in the format of TruthInsightBench (`final_scoring_result.json`), scored by profile `truthinsight-v1`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ..errors import SciagentError
from ..models import Rubric
from ..scoring import Interval
from ..scoring.truthinsight import YIELD_FROM
from ..scoring.truthinsight_v1 import rank_v1
from ..text import clean
from .results import FindingResult, Results, RunResult

PROFILE = "truthinsight-v1"
SCHEMA = "truthinsightbench-final-scoring-result"
FAMILIES = {
    "evidence_auditability": "evidence_validity",
    "robustness": "stability",
    "control_testing": "alternatives",
    "cross_dataset_generalization": "separated_validation",
    "novelty": "independent_origin",
    "falsifiability": "next_test",
}
"""The benchmark's name of each of our dimensions; any other keeps its own."""


def truthinsight_result(results: Results, now: str) -> dict[str, Any]:
    """The results of a cohort. What is not known is null, with its bounds beside it, and the status then is
    `incomplete`: the format has no word for a criterion without a level.

    Raises:
        SciagentError: another profile than `truthinsight-v1`, or a repeat of a run: the format has one run a task.
    """
    rubric = results.rubrics[0]
    if rubric.profile != PROFILE:
        raise SciagentError(f"this format needs the profile {PROFILE}, the results are of {rubric.profile}")
    twice = [
        key for key, count in Counter((r.index.system, r.index.task_id) for r in results.runs).items() if count > 1
    ]
    if twice:
        raise SciagentError(f"{twice[0][0]} has several runs of {twice[0][1]}: this format has one run a task")
    runs = [run for run in results.runs if run.terms is not None and run.findings]
    others = [run for run in results.runs if run not in runs]
    rows = [_run(run, rubric) for run in runs]
    known = all(row["run"]["run_score_0_100"] is not None for row in rows)
    scores: dict[str, dict[str, Interval]] = {}
    for run in runs:
        scores.setdefault(run.index.system, {})[run.index.task_id] = run.total or Interval.point(0)
    ranking = rank_v1(scores)
    return {
        "schema": SCHEMA,
        "status": "scored" if known else "incomplete",
        "generated_at": now,
        "model": results.judge.label if results.judge is not None else None,
        "validity": results.believed.sentence,
        "spec_sha256": rubric.digest,
        "summary": {
            "run_count": len(rows),
            "finding_count": sum(len(run.findings) for run in runs),
            "atomic_action_count": sum(len(finding.verdicts) for run in runs for finding in run.findings),
            "complete_task_count": len(ranking.complete),
            "provisional_run_count": sum(run.index.task_id in ranking.provisional for run in runs),
        },
        "agents": sorted(scores),
        "complete_tasks": list(ranking.complete),
        "provisional_tasks": list(ranking.provisional),
        "agent_ranking": _ranking(scores, ranking.complete, ranking.means) if known else [],
        "run_results": rows,
        "not_in_this_format": [
            {
                "agent": run.index.system,
                "task_id": run.index.task_id,
                "state": run.index.state,
                "reason": clean("; ".join(run.index.problems), 500),
            }
            for run in others
        ],
    }


def _ranking(scores: Any, complete: Sequence[str], means: Any) -> list[dict[str, Any]]:
    rows = []
    for agent, mean in means.items():
        mine = [float(scores[agent][task].low) for task in complete]
        rows.append(
            {
                "agent": agent,
                "scores": mine,
                "mean_score": float(mean.low),
                "min_score": min(mine),
                "max_score": max(mine),
            }
        )
    return rows


def _run(run: RunResult, rubric: Rubric) -> dict[str, Any]:
    terms, facts = run.terms, run.facts
    assert terms is not None
    assert facts is not None
    groups = facts.groups
    refuted = facts.refuted_quotes or {}
    quotes = {quote for found in refuted.values() for quote in found or ()}
    row: dict[str, Any] = {
        "top_scores": [_point(terms.s1), _point(terms.s2)],
        **_told("top_discovery_quality_0_80", terms.main_body),
        "yield_eligible_count": _eligible(run) if terms.yield_bonus.is_point else None,
        **_told("yield_bonus_0_10", terms.yield_bonus),
        **_told("hidden_target_recovery_0_10", terms.target),
        "deterministic_false_claim_count": len(quotes),
        **_told("deterministic_false_claim_penalty_0_10", terms.penalty),
        "deterministic_false_claim_ids": sorted(finding for finding, found in refuted.items() if found),
        **_told("run_score_0_100", terms.total),
        "distinct_discovery_count": None if groups is None else len(groups),
        "duplicate_groups": [list(group) for group in groups or () if len(group) > 1],
        "target_matches": [{"card_id": card, "level": level} for card, level in (facts.targets or {}).items()],
    }
    return {
        "task_id": run.index.task_id,
        "agent": run.index.system,
        "run_key": f"{run.index.system}--{run.index.task_id}",
        "findings": [_finding(run, finding, rubric) for finding in run.findings],
        "run": row,
    }


def _finding(run: RunResult, finding: FindingResult, rubric: Rubric) -> dict[str, Any]:
    criteria = rubric.by_id
    actions = [
        {
            "action_id": verdict.criterion_id,
            "number": criteria[verdict.criterion_id].number,
            "family_id": _family(criteria[verdict.criterion_id].dimension),
            "weight": criteria[verdict.criterion_id].weight,
            "level": verdict.level,
            "status": verdict.status,
            "reason": clean(verdict.reason, 500),
        }
        for verdict in finding.verdicts
        if verdict.criterion_id in criteria
    ]
    families = {
        _family(dimension.id): {
            "max_points": _weight(rubric, dimension.id),
            **_told("points", finding.dimensions[dimension.id].scaled(Fraction(str(_weight(rubric, dimension.id))))),
        }
        for dimension in rubric.dimensions
        if dimension.id in finding.dimensions
    }
    return {
        "task_id": run.index.task_id,
        "agent": run.index.system,
        "discovery_id": finding.id,
        "claim_text": clean(finding.title),
        **_told("score", finding.score.score),
        "families": families,
        "actions": actions,
    }


def _family(dimension: str) -> str:
    return FAMILIES.get(dimension, dimension)


def _weight(rubric: Rubric, dimension: str) -> float:
    return sum(c.weight for c in rubric.criteria if c.dimension == dimension)


def _eligible(run: RunResult) -> int:
    """How many distinct findings have enough points for the yield bonus."""
    groups: Iterable[Sequence[str]] = (run.facts.groups if run.facts is not None else None) or ()
    scores = {finding.id: finding.score.score.low for finding in run.findings}
    return sum(max(scores[id] for id in group) >= YIELD_FROM for group in groups if group)


def _told(name: str, interval: Interval) -> dict[str, Any]:
    """A number, or null with its bounds."""
    if interval.is_point:
        return {name: float(interval.low)}
    return {name: None, f"{name}_bounds": [float(interval.low), float(interval.high)]}


def _point(interval: Interval) -> float | None:
    return float(interval.low) if interval.is_point else None
