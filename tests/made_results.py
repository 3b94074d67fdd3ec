"""Results of a session made by hand, without any run: levels in, scores and verdicts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import yaml
from sample import TESTER, rubric_text

from pytest_sciagent.collection.index import RunIndex
from pytest_sciagent.gates.baseline import Baseline, outcome_of, scored_by
from pytest_sciagent.models import JudgeIdentity, Rubric, Verdict
from pytest_sciagent.reporting.results import FindingResult, Results, RunResult, system_results
from pytest_sciagent.scoring import Interval, mean, score_finding, shares_by_layer

SMALL = Rubric.model_validate(yaml.safe_load(rubric_text()))
IDS = [criterion.id for criterion in SMALL.criteria]
DIMENSIONS = [dimension.id for dimension in SMALL.dimensions]
Levels = Sequence[Sequence[Any]]
"""By finding and criterion: 1, 0.5, 0, None (not assessed) or `error`."""


def verdict(criterion: str, finding: str, level: Any) -> Verdict:
    known = level is not None and level != "error"
    status = "assessed" if known else "unrecorded" if level is None else "invalid"
    return Verdict(
        criterion_id=criterion,
        finding=finding,
        status=status,
        level=level if known else None,
        reason="so it is",
        reason_code=status,
        judge=None if level is None else TESTER,
    )


def finding_of(number: int, levels: Sequence[Any]) -> FindingResult:
    verdicts = tuple(verdict(c, f"finding_{number}", level) for c, level in zip(IDS, levels, strict=True))
    known = {v.criterion_id: v.level for v in verdicts}
    shares = {}
    for dimension in SMALL.dimensions:
        inside = [c for c in SMALL.criteria if c.dimension == dimension.id]
        shares[dimension.id] = score_finding(inside, known).score.scaled(1 / Fraction(str(dimension.weight)))
    score = score_finding(SMALL.criteria, known)
    layers = shares_by_layer(SMALL.criteria, known)
    return FindingResult(f"finding_{number}", number, "a title", verdicts, score, shares, layers=layers)


def run_of(
    system: str, task: str, levels: Levels, repeat: int = 1, costs: Sequence[float | None] = (), place: str = "runs"
) -> RunResult:
    """A run by the levels of its findings; one without findings delivered nothing."""
    label = f"{system}/{task}" + ("" if repeat == 1 else f".r{repeat}")
    state = "sound" if levels else "undelivered"
    index = RunIndex(f"/{place}/{label}", f"{place}/{label}/run.json", label, system, task, repeat, state)  # type: ignore[arg-type]
    findings = tuple(finding_of(n, given) for n, given in enumerate(levels, start=1))
    total = mean([f.score.score for f in findings]) if findings else Interval.point(0)
    return RunResult(index, findings, (), None, None, total, Fraction(1), costs=tuple(costs))


def results_of(runs: Sequence[RunResult], incomplete: str | None = None) -> Results:
    return Results(tuple(runs), system_results(runs), (SMALL,), TESTER, incomplete)


def baseline_of(runs: Sequence[RunResult], judge: JudgeIdentity = TESTER, **how: Any) -> Baseline:
    return Baseline("old", scored_by([SMALL]), judge, lambda: [outcome_of(run) for run in runs], **how)


def scored(system: str, points: Mapping[str, Any], **how: Any) -> list[RunResult]:
    """Runs with these scores by task: a number, a pair of ends, or a list of repeats of either."""
    runs = []
    for task, repeats in points.items():
        for repeat, one in enumerate(repeats if isinstance(repeats, list) else [repeats], start=1):
            low, high = one if isinstance(one, tuple) else (one, one)
            made = run_of(system, task, [[1, 1, 1, 1]], repeat, **how)
            runs.append(replace(made, total=Interval(Fraction(str(low)), Fraction(str(high)))))
    return runs


class Lines:
    """What the terminal section is written to."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title: str) -> None:
        self.lines.append(title)

    def write_line(self, line: str, **markup: bool) -> None:
        self.lines.append(line)
