"""The results of a session: verdicts per finding, scores per finding, run and system."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..findings import compound_signs
from ..scoring import (
    FindingScore,
    Interval,
    Layer,
    RunFacts,
    RunScore,
    V1Facts,
    feasible_criteria,
    mean,
    points_of_level,
    score_best,
    score_checklist,
    score_feasible,
    score_finding,
    score_pairs,
    score_required,
    score_run,
    score_run_v1,
    shares_by_layer,
)
from ..scoring.profiles import exact
from .spending import Spending
from .validity import Validity, not_calibrated

if TYPE_CHECKING:
    from ..checks.rerun import Rerun
    from ..collection.index import RunIndex
    from ..evaluation import Case
    from ..evidence import EvidencePackage
    from ..gates import Decision
    from ..gates.against import AgainstBaseline
    from ..judging.judge import Judge
    from ..models import Criterion, JudgeIdentity, Rubric, TaskManifest, Verdict
    from ..tasks.verification import Perturbation

K = TypeVar("K", bound=str)

VerdictKey = tuple[str, str | None]
"""Criterion id and finding id (None for a criterion of the run)."""


@dataclass(frozen=True)
class FindingResult:
    """One finding: its verdicts in the rubric's order, its score, and the share of points in each dimension and layer.

    compound: what in its registration says that it may state several claims (told, never scored).
    make_package: makes what judges were shown of the run; None where no judge has told a verdict, or nobody shows it.
    """

    id: str
    number: int
    title: str
    verdicts: tuple[Verdict, ...]
    score: FindingScore
    dimensions: Mapping[str, Interval]
    compound: tuple[str, ...] = ()
    layers: Mapping[Layer, Interval] = field(default_factory=dict)
    make_package: Callable[[], EvidencePackage] | None = None

    @property
    def package(self) -> EvidencePackage | None:
        """What judges were shown of the run."""
        return None if self.make_package is None else self.make_package()


@dataclass(frozen=True)
class RunResult:
    """One run. `terms` is there for the profiles of TruthInsightBench only; `total` always, in points of 0..100.

    feasible: the total without what the task makes impossible; None where it makes nothing impossible.
    perturbations: for each reference card that a finding matches, whether it survives the task's own perturbations.
    rerun: what the run's own code did when it was run again; None where nobody asked for that.
    costs: US dollars of each recorded answer that it was judged by; None where that is not recorded.
    notes: what to tell about how it was tested, beside what `index` tells.
    """

    index: RunIndex
    findings: tuple[FindingResult, ...]
    verdicts: tuple[Verdict, ...]
    facts: RunFacts | None
    terms: RunScore | None
    total: Interval | None
    assessed: Fraction
    feasible: Interval | None = None
    perturbations: tuple[tuple[str, Perturbation], ...] = ()
    costs: tuple[float | None, ...] = ()
    rerun: Rerun | None = None
    notes: tuple[str, ...] = ()

    @property
    def dimensions(self) -> dict[str, Interval]:
        """Share of points in each dimension, mean over the findings."""
        return _means([f.dimensions for f in self.findings])

    @property
    def layers(self) -> dict[Layer, Interval]:
        """Share of points in each layer of acceptance, mean over the findings."""
        return _means([f.layers for f in self.findings])


@dataclass(frozen=True)
class SystemResult:
    """One system: the mean over its tasks (repeats of a task averaged first)."""

    name: str
    score: Interval
    tasks: int
    dimensions: Mapping[str, Interval]
    layers: Mapping[Layer, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """All that one session found out. `decision` is that of all gates together, `decisions` those of each.

    judge: who judged: one judge, or a panel by its members, draws and rule.
    notes: what to tell about how the session scores, and how judges were asked where that is not as usual.
    against: what differs from the baseline, where there is one.
    spending: what was asked and what replay has saved.
    validity: how far the judge agrees with people, where that was looked for; outputs show `believed`.
    """

    runs: tuple[RunResult, ...]
    systems: tuple[SystemResult, ...]
    rubrics: tuple[Rubric, ...]
    judge: JudgeIdentity | None
    incomplete: str | None
    decision: Decision | None = None
    decisions: tuple[Decision, ...] = ()
    notes: tuple[str, ...] = ()
    against: AgainstBaseline | None = None
    spending: Spending = field(default_factory=Spending)
    validity: Validity | None = None

    @property
    def believed(self) -> Validity:
        """How far the scores may be believed; where nobody has looked for calibrations: not calibrated."""
        return self.validity or not_calibrated(self.judge)

    @property
    def verdicts(self) -> Iterator[Verdict]:
        """The verdicts of all runs."""
        for run in self.runs:
            yield from run.verdicts
            yield from (verdict for finding in run.findings for verdict in finding.verdicts)


def run_result(
    index: RunIndex,
    case: Case | None,
    verdicts: Mapping[VerdictKey, Verdict],
    rubrics: Sequence[Rubric],
    facts: RunFacts | None,
) -> RunResult:
    """Add one run up. One not delivered counts as 0, a tampered one has no score: neither has a case or facts."""
    if case is None or facts is None:
        total = Interval.point(0) if index.state == "undelivered" else None
        return RunResult(index, (), (), None, None, total, Fraction(1 if total else 0))
    rubric = rubrics[0]
    order = {c.id: n for n, c in enumerate(c for r in rubrics for c in r.criteria)}

    def of(finding: str | None) -> tuple[Verdict, ...]:
        mine = [v for (_, f), v in verdicts.items() if f == finding]
        return tuple(sorted(mine, key=lambda v: (order.get(v.criterion_id, len(order)), v.criterion_id)))

    findings = []
    for finding in case.report.findings:
        levels = {v.criterion_id: v.level for v in of(finding.id)}
        criteria = [c for c in rubric.criteria if c.scope == "finding"]
        findings.append(
            FindingResult(
                finding.id,
                finding.number,
                finding.title,
                of(finding.id),
                score_finding(criteria, levels),
                _dimensions(criteria, levels),
                compound_signs(finding),
                shares_by_layer(criteria, levels),
            )
        )
    terms, total = _total(rubric, findings, verdicts, facts)
    assessed = sum((f.score.assessed for f in findings), start=Fraction(0)) / len(findings)
    result = RunResult(
        index, tuple(findings), of(None), facts, terms, total, assessed, rerun=case.about_run.rerun_found
    )
    impossible = infeasible(case.task.manifest if case.task is not None else None, rubric)
    return replace(result, feasible=feasible_total(result, rubric, impossible)) if impossible else result


def completed(
    result: RunResult,
    case: Case,
    costs: tuple[float | None, ...],
    judge: Judge,
    mask: Callable[[str], str],
    *,
    scripts: bool = True,
) -> RunResult:
    """`result` with what stands behind it: the `costs` of the answers that it was judged by, the task's perturbations
    (by `scripts`), what did not work in them, what judges were shown; and its titles masked, as the words of verdicts
    are when they come in.
    """

    def shown(finding: FindingResult) -> FindingResult:
        judged = any(verdict.judge is not None for verdict in finding.verdicts)
        package = partial(case.questions.package, case.findings[finding.id]) if judged else None
        return replace(finding, title=mask(finding.title), make_package=package)

    perturbations = tuple(case.about_run.perturbations(judge)) if scripts else ()
    return replace(
        result,
        findings=tuple(map(shown, result.findings)),
        costs=costs,
        perturbations=perturbations,
        notes=case.about_run.problems,
    )


def infeasible(task: TaskManifest | None, rubric: Rubric) -> list[str]:
    """Dimensions and criteria of the rubric that the task marks as infeasible, in the rubric's order."""
    marks = task.feasibility if task is not None else {}
    names = [*(d.id for d in rubric.dimensions), *(c.id for c in rubric.criteria)]
    return [name for name in dict.fromkeys(names) if name in marks and not marks[name].feasible]


def _total(
    rubric: Rubric, findings: Sequence[FindingResult], verdicts: Mapping[VerdictKey, Verdict], facts: RunFacts
) -> tuple[RunScore | None, Interval]:
    scores = {f.id: f.score.score for f in findings}
    if rubric.profile == "truthinsight":
        terms = score_run(scores, facts)
        return terms, terms.total
    if rubric.profile == "truthinsight-v1":
        terms = score_run_v1(scores, V1Facts(facts.groups, facts.targets, facts.refuted_quotes))
        return terms, terms.total
    pairs: list[tuple[Criterion, float | None]] = []
    for criterion in rubric.criteria:
        for finding in [None] if criterion.scope == "run" else [f.id for f in findings]:
            verdict = verdicts.get((criterion.id, finding))
            pairs.append((criterion, verdict.level if verdict else None))
    if rubric.profile == "required":
        return None, score_required(pairs)
    if rubric.profile == "checklist100":
        return None, score_checklist((criterion, points_of_level(level)) for criterion, level in pairs)
    if rubric.profile == "best-finding":
        return None, score_best(pairs)
    return None, score_pairs(pairs)


def feasible_total(run: RunResult, rubric: Rubric, infeasible: Collection[str]) -> Interval | None:
    """The total without the criteria that the run's task makes impossible, the rest scaled to the same 100 points.

    `infeasible` are ids of criteria or dimensions of `rubric`, the one that scores. None where there is no score, or
    where nothing is left.
    """
    kept = feasible_criteria(rubric.criteria, infeasible)
    if not kept or run.facts is None:
        return run.total if kept else None
    criteria = [c for c in rubric.criteria if c.scope == "finding"]
    findings = []
    for finding in run.findings:
        levels = {v.criterion_id: v.level for v in finding.verdicts}
        findings.append(replace(finding, score=score_feasible(criteria, levels, infeasible)))
    verdicts: dict[VerdictKey, Verdict] = {(v.criterion_id, f.id): v for f in run.findings for v in f.verdicts}
    verdicts |= {(v.criterion_id, None): v for v in run.verdicts}
    return _total(rubric.model_copy(update={"criteria": kept}), findings, verdicts, run.facts)[1]


def _dimensions(criteria: Sequence[Criterion], levels: Mapping[str, float | None]) -> dict[str, Interval]:
    shares = {}
    for name in dict.fromkeys(c.dimension for c in criteria):
        inside = [c for c in criteria if c.dimension == name and c.weight > 0]
        total = sum((exact(c.weight) for c in inside), start=Fraction(0))
        if total:
            shares[name] = score_finding(inside, levels).score.scaled(1 / total)
    return shares


def _means(shares: Sequence[Mapping[K, Interval]]) -> dict[K, Interval]:
    """The mean of each share over those that have it."""
    names = dict.fromkeys(name for mine in shares for name in mine)
    return {name: mean([mine[name] for mine in shares if name in mine]) for name in names}


def system_results(runs: Iterable[RunResult]) -> tuple[SystemResult, ...]:
    """The systems, by name. Runs without a score (tampered ones) are left out here and told as errors elsewhere."""
    by_system: dict[str, dict[str, list[RunResult]]] = {}
    for run in runs:
        if run.total is not None:
            by_system.setdefault(run.index.system, {}).setdefault(run.index.task_id, []).append(run)
    found = []
    for name, tasks in sorted(by_system.items()):
        scores = [mean([r.total for r in repeats if r.total is not None]) for repeats in tasks.values()]
        delivered = [r for repeats in tasks.values() for r in repeats if r.findings]
        dimensions, layers = _means([r.dimensions for r in delivered]), _means([r.layers for r in delivered])
        found.append(SystemResult(name, mean(scores), len(tasks), dimensions, layers))
    return tuple(found)
