"""Results of TruthInsightBench, scored again from their own levels by profile `truthinsight-v1`; and cohorts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from pydantic import Field

from ...digest import sha256_bytes
from ...errors import SciagentError
from ...models import Label, Rater
from ...scoring import Interval, RunScore, V1Facts, score_run_v1
from ...scoring.truthinsight_v1 import rank_v1
from ...text import counted, slug
from ..foreign import Folder, Foreign
from ..gathering import Gathering

RESULT = "final_scoring_result.json"
COHORT = "cohort.json"
DATASET = "truthinsightbench"
_COHORT_SCHEMA = "truthinsightbench-scoring-cohort"
_SHOWN = 5


class _Action(Foreign):
    action_id: str
    weight: float
    level: float
    reason_zh: str | None = None


class _Recompute(Foreign):
    """A recalculation that counts against the claim."""

    status: str | None = None
    supports_claim: bool | None = None
    penalty_eligible: bool | None = None
    claim_quote: str | None = None
    source_locator: str | None = None
    operation: str | None = None


class _RecomputeBlock(Foreign):
    receipts: tuple[_Recompute, ...] = ()


class _Closure(Foreign):
    recompute: _RecomputeBlock = _RecomputeBlock()


class _Finding(Foreign):
    discovery_id: str
    score: float
    actions: tuple[_Action, ...] = ()
    engineering_closure: _Closure = _Closure()


class _Target(Foreign):
    card_id: str
    level: float


class _Terms(Foreign):
    top_scores: tuple[float, ...]
    top_discovery_quality: float = Field(alias="top_discovery_quality_0_80")
    yield_bonus: float = Field(alias="yield_bonus_0_10")
    target: float = Field(alias="hidden_target_recovery_0_10")
    penalty: float = Field(alias="deterministic_false_claim_penalty_0_10")
    false_claims: int = Field(0, alias="deterministic_false_claim_count")
    false_claim_ids: tuple[str, ...] = Field((), alias="deterministic_false_claim_ids")
    score: float = Field(alias="run_score_0_100")
    duplicate_groups: tuple[tuple[str, ...], ...] = ()
    target_matches: tuple[_Target, ...] = ()


class _Run(Foreign):
    task_id: str
    agent: str
    findings: tuple[_Finding, ...]
    run: _Terms


class _Rank(Foreign):
    agent: str
    mean_score: float


class Result(Foreign):
    """`final_scoring_result.json`."""

    status: str
    model: str | None = None
    run_results: tuple[_Run, ...]
    agent_ranking: tuple[_Rank, ...] = ()
    complete_tasks: tuple[str, ...] = ()
    provisional_tasks: tuple[str, ...] = ()


def import_result(folder: Folder, into: Gathering) -> None:
    """Score the result again, write what came out, and take its levels as labels of its judge.

    Raises:
        SciagentError: a result that can't be read, or that its own levels do not give.
    """
    result = folder.document(RESULT, Result)
    if result.status != "scored":
        raise SciagentError(f"its status is {result.status!r}: only a scored result can be scored again", path=RESULT)
    account = rescore(result)
    wrong = [line for run in account for line in run["differs"]] + list(_ranking_problems(result))
    if wrong:
        more = f" (and {len(wrong) - _SHOWN} more)" if len(wrong) > _SHOWN else ""
        raise SciagentError(
            f"its own levels give other numbers: {'; '.join(wrong[:_SHOWN])}{more}", path=folder.path / RESULT
        )
    name = slug(folder.path.name)
    told = f"{counted(len(account), 'run')} and the ranking scored again by truthinsight-v1: the same numbers"
    into.write_json("result", name, ("results", f"{name}.rescored.json"), account, told)
    into.write_labels(DATASET, list(_labels(result)), name=f"{DATASET}-{name}")


def rescore(result: Result) -> list[dict[str, Any]]:
    """For each run: its numbers as scored again, and where they differ from those of the result."""
    account: list[dict[str, Any]] = []
    for run in result.run_results:
        findings = {f.discovery_id: _points(f) for f in run.findings}
        again = score_run_v1(findings, _facts(run))
        told = {f.discovery_id: f.score for f in run.findings}
        differs = [
            f"{run.agent} on {run.task_id}: {what} is {published:g}, and {float(ours):g} again"
            for what, published, ours in (
                *((f"score of {id}", told[id], points.low) for id, points in findings.items()),
                *_compared(run.run, again),
            )
            if Fraction(str(published)) != ours
        ]
        account.append(
            {
                "task_id": run.task_id,
                "agent": run.agent,
                "findings": {id: float(points.low) for id, points in findings.items()},
                "run_score_0_100": float(again.total.low),
                "differs": differs,
            }
        )
    return account


def _points(finding: _Finding) -> Interval:
    if not finding.actions:
        return Interval.point(Fraction(str(finding.score)))
    return Interval.point(sum((Fraction(str(a.weight)) * Fraction(str(a.level)) for a in finding.actions), Fraction(0)))


def _facts(run: _Run) -> V1Facts:
    return V1Facts(
        groups=run.run.duplicate_groups,
        targets={match.card_id: match.level for match in run.run.target_matches},
        refuted=_refuted(run),
    )


def _refuted(run: _Run) -> dict[str, set[object]]:
    """The refuted quotes of each finding: from its receipts where they are told, else by the count of the run.

    A result without receipts tells how many quotes there are and in which findings, not how many in each; for the
    penalty that is the same.
    """
    found: dict[str, set[object]] = {f.discovery_id: set() for f in run.findings}
    for finding in run.findings:
        for receipt in finding.engineering_closure.recompute.receipts:
            if receipt.status == "verified" and receipt.supports_claim is False and receipt.penalty_eligible:
                found[finding.discovery_id].add((receipt.claim_quote, receipt.source_locator, receipt.operation))
    named = [id for id in run.run.false_claim_ids if id in found]
    if named and not any(found.values()):
        for number in range(run.run.false_claims):
            found[named[min(number, len(named) - 1)]].add(number)
    return found


def _compared(told: _Terms, again: RunScore) -> Iterator[tuple[str, float, Fraction]]:
    tops = (*told.top_scores, 0.0, 0.0)
    yield "first score", tops[0], again.s1.low
    yield "second score", tops[1], again.s2.low
    yield "quality", told.top_discovery_quality, again.main_body.low
    yield "yield bonus", told.yield_bonus, again.yield_bonus.low
    yield "target recovery", told.target, again.target.low
    yield "penalty", told.penalty, again.penalty.low
    yield "run score", told.score, again.total.low


def _ranking_problems(result: Result) -> Iterator[str]:
    scores: dict[str, dict[str, Interval]] = {}
    for run in result.run_results:
        scores.setdefault(run.agent, {})[run.task_id] = Interval.point(Fraction(str(run.run.score)))
    again = rank_v1(scores)
    if set(result.complete_tasks) != set(again.complete):
        yield f"complete tasks are {', '.join(again.complete) or 'none'}"
    told = [(rank.agent, Fraction(str(rank.mean_score))) for rank in result.agent_ranking]
    ours = [(agent, mean.low) for agent, mean in again.means.items()]
    if told != ours:
        yield "the ranking is " + (", ".join(f"{agent} {float(mean):g}" for agent, mean in ours) or "empty")


def _labels(result: Result) -> Iterator[Label]:
    rater = Rater(kind="judge", name=result.model or "not stated")
    for run in result.run_results:
        for finding in run.findings:
            for action in finding.actions:
                yield Label(
                    dataset=DATASET,
                    run=f"{run.agent}/{run.task_id}::{finding.discovery_id}",
                    criterion=action.action_id,
                    rater=rater,
                    score=action.level,
                    scale=(0, 1),
                    text=action.reason_zh,
                )


class _CohortRun(Foreign):
    key: str
    task_id: str
    agent: str
    report_path: str | None = None
    report_sha256: str | None = None


class _Cohort(Foreign):
    schema_: str | None = Field(None, alias="schema")
    runs: tuple[_CohortRun, ...]
    agents: tuple[str, ...] = ()
    summary: Mapping[str, int | list[str]] = {}


def import_cohort(folder: Folder, into: Gathering) -> None:
    """Check a cohort: unique runs, and a summary that follows from them.

    Raises:
        SciagentError: a cohort that can't be read, or whose summary is wrong.
    """
    cohort = folder.document(COHORT, _Cohort)
    if cohort.schema_ != _COHORT_SCHEMA:
        return  # another tool's file of this name
    pairs = [(run.task_id, run.agent) for run in cohort.runs]
    path = folder.path / COHORT
    if len(set(pairs)) < len(pairs):
        raise SciagentError("a run stands in it twice", path=path)
    agents = set(cohort.agents) or {agent for _, agent in pairs}
    complete = sorted({task for task, _ in pairs if all((task, agent) in pairs for agent in agents)})
    expected: dict[str, int | Sequence[str]] = {
        "run_count": len(pairs),
        "complete_task_count": len(complete),
        "complete_tasks": complete,
    }
    for name, value in expected.items():
        told = cohort.summary.get(name, value)
        if (sorted(told) if isinstance(told, list) else told) != value:
            raise SciagentError(f"{name} is {told!r}, and its runs give {value!r}", path=path)
    name = slug(folder.path.name)
    notes = [
        f"{counted(len(pairs), 'run')} of {counted(len(agents), 'agent')}, {counted(len(complete), 'complete task')}",
        *_moved(folder, cohort),
    ]
    into.write_json("result", f"cohort {name}", ("results", f"{name}.cohort.json"), expected, *notes)


def _moved(folder: Folder, cohort: _Cohort) -> Iterator[str]:
    for run in cohort.runs:
        if run.report_sha256 is None or run.report_path is None:
            continue
        try:
            same = sha256_bytes(folder.bytes(run.report_path)) == run.report_sha256
        except SciagentError:
            yield f"the report of {run.key} is not here"
        else:
            if not same:
                yield f"the report of {run.key} is not the one that was scored"
