"""The cohort as one table: a row for each run of a system on a task; failed, tampered and missing runs as well."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..errors import SciagentError
from ..rubrics.frozen import late_note
from ..scoring import Interval, mean
from ..scoring.truthinsight import S1_SHARE, S2_SHARE
from .agreement import Agreement, agreement_by_criterion
from .results import FindingResult, RunResult, feasible_total, infeasible

if TYPE_CHECKING:
    import pandas as pd

    from ..models import Rubric, RunManifest, TaskManifest, Verdict
    from .validity import Validity

POINTS = ("score", "s1", "s2", "yield", "target", "penalty", "main_body", "without_yield", "feasible")
"""What has a low and a high end in points, in the order of the columns."""
SCORED_BY = ("rubric", "rubric_digest", "profile", "judge", "validity")
"""Columns that are the same in every row of one call: how the runs were scored, and how far that may be believed."""

Row = Mapping[str, Any]
"""A row of the table as plain values; None where a cell is empty."""


@dataclass(frozen=True, slots=True)
class CohortRun:
    """One run: its result, and what its manifest and its task say about it (None where they can't be read)."""

    result: RunResult
    manifest: RunManifest | None
    task: TaskManifest | None


def column_types(rubric: Rubric) -> dict[str, str]:
    """The table's columns in their order, with their pandas types.

    Points (0..100) and shares (0..1) come as `<name>_low` and `<name>_high`: equal where all is assessed. `dim.<id>` is
    the share of a dimension's points, `item.<id>` the mean level of a criterion, both over all findings of the run.
    `body.<id>` is what a dimension's share contributes to the main body. `qualities_low` and `_high` are the scores of
    distinct findings in the order of the report, as JSON. `feasible` is the score without `infeasible` criteria.
    `flip_rate` is the share of answers that a judge changed in its second draw, `agreement` the share of pairs of
    judges that gave one level, `flips.<id>` and `agreement.<id>` the same for a criterion (see `agreement`); empty
    where no panel has voted. `note` is what to know of the row's score: that the rubric was fixed after the run began.
    """
    types = dict.fromkeys(("system", "task", "domain"), "string")
    types["repeat"] = "Int64"
    types |= dict.fromkeys(("state", "status", "reason"), "string")
    types |= _ends(POINTS, "float64")
    types |= {"findings": "Int64", "distinct_low": "Int64", "distinct_high": "Int64", "assessed": "float64"}
    types |= _ends(("qualities",), "string") | {"infeasible": "string"}
    types |= _ends([f"dim.{d.id}" for d in rubric.dimensions], "float64")
    types |= _ends([f"body.{d.id}" for d in rubric.dimensions], "float64")
    types |= _ends([f"item.{c.id}" for c in rubric.criteria], "float64")
    types |= dict.fromkeys(("flip_rate", "agreement"), "float64")
    types |= {f"{name}.{c.id}": "float64" for c in rubric.criteria for name in ("flips", "agreement")}
    types |= {"cost_usd": "float64", "input_tokens": "Int64", "output_tokens": "Int64", "seconds": "float64"}
    return types | dict.fromkeys((*SCORED_BY, "note"), "string")


def _ends(names: Iterable[str], kind: str) -> dict[str, str]:
    return {f"{name}_{end}": kind for name in names for end in ("low", "high")}


def cohort_table(runs: Sequence[CohortRun], rubric: Rubric, judge: str | None, validity: Validity) -> pd.DataFrame:
    """The table of `runs`, which were scored by `rubric` with the answers of `judge`.

    validity: how far that judge may be believed.

    A task that a system has no run on, but another has, is a row of state `missing`.
    """
    how = {
        "rubric": f"{rubric.id} {rubric.version}",
        "rubric_digest": rubric.digest,
        "profile": rubric.profile,
        "judge": judge,
        "validity": validity.sentence,
    }
    return as_table([_row(run, rubric) | how for run in runs], rubric)


def as_table(rows: Iterable[Row], rubric: Rubric) -> pd.DataFrame:
    """Rows of runs as a table: sorted by system, task and repeat; missing runs are added.

    Raises:
        SciagentError: two rows of one system, task and repeat.
    """
    import pandas as pd

    given = [row for row in rows if row["state"] != "missing"]
    seen: set[tuple[Any, ...]] = set()
    for row in given:
        key = (row["system"], row["task"], row["repeat"])
        if key in seen and row["system"] is not None:
            raise SciagentError(f"two runs are both {row['system']}/{row['task']}, repeat {row['repeat']}")
        seen.add(key)
    given += _missing(given)
    given.sort(key=lambda row: (row["system"] or "", row["task"], row["repeat"]))
    columns: dict[str, Any] = {name: [row.get(name) for row in given] for name in column_types(rubric)}
    return pd.DataFrame(columns).astype(column_types(rubric))


def as_rows(table: pd.DataFrame) -> list[Row]:
    """The rows of a table as plain values, None where a cell is empty."""
    cells = {
        str(name): [
            None if gone else value for value, gone in zip(table[name].tolist(), table[name].isna(), strict=True)
        ]
        for name in table.columns
    }
    return [dict(zip(cells, values, strict=True)) for values in zip(*cells.values(), strict=True)]


def _missing(rows: Sequence[Row]) -> list[Row]:
    known = {(row["system"], row["task"]) for row in rows if row["system"] is not None}
    about = {row["task"]: row["domain"] for row in rows if row["system"] is not None}
    how = {name: rows[0].get(name) for name in SCORED_BY} if rows else {}
    return [
        {"system": system, "task": task, "domain": about[task], "repeat": 1, "state": "missing", **how}
        | {"reason": "the system has no run on this task"}
        for system in sorted({system for system, _ in known})
        for task in sorted(about)
        if (system, task) not in known
    ]


def _row(run: CohortRun, rubric: Rubric) -> dict[str, Any]:
    result, index = run.result, run.result.index
    row: dict[str, Any] = {
        "system": index.system or None,
        "task": index.task_id,
        "domain": run.task.domain if run.task is not None else None,
        "repeat": index.repeat,
        "state": index.state,
        "status": run.manifest.status if run.manifest is not None else None,
        "reason": index.problems[0] if index.problems else None,
        **_usage(run.manifest),
    }
    if result.total is None:
        return row
    impossible = infeasible(run.task, rubric)
    row |= {"infeasible": ",".join(impossible) or None, "findings": len(result.findings)}
    row |= {"assessed": float(result.assessed)}
    if index.state == "sound" and run.manifest is not None:
        row["note"] = late_note(rubric, run.manifest.started_at)
    points = {"score": result.total, "feasible": feasible_total(result, rubric, impossible), **_terms(result, rubric)}
    for name, interval in points.items():
        row |= _cells(name, interval)
    low, high = _representatives(result)
    row |= {"distinct_low": len(low), "distinct_high": len(high)}
    row["qualities_low"] = json.dumps([float(f.score.score.low) for f in low])
    row["qualities_high"] = json.dumps([float(f.score.score.high) for f in high])
    return row | _rates(result, rubric) | _body(low, high, result, rubric) | _votes(result)


def _cells(name: str, interval: Interval | None) -> dict[str, float | None]:
    ends = (None, None) if interval is None else (float(interval.low), float(interval.high))
    return {f"{name}_low": ends[0], f"{name}_high": ends[1]}


def _usage(manifest: RunManifest | None) -> dict[str, Any]:
    if manifest is None:
        return {}
    return manifest.usage.model_dump() | {"seconds": _seconds(manifest.started_at, manifest.finished_at)}


def _seconds(start: str | None, end: str | None) -> float | None:
    try:
        seconds = (datetime.fromisoformat(end or "") - datetime.fromisoformat(start or "")).total_seconds()
    except (ValueError, TypeError):  # not a time, or one of the two has no zone
        return None
    return seconds if seconds >= 0 else None


def _terms(result: RunResult, rubric: Rubric) -> dict[str, Interval]:
    """The terms of the score, where the profile has them. A run that delivered nothing has 0 in each."""
    if not rubric.profile.startswith("truthinsight"):
        return {}
    terms = result.terms
    if terms is None:
        return {name: Interval.point(0) for name in POINTS if name not in {"score", "feasible"}}
    without = (terms.main_body + terms.target - terms.penalty).clamped(0, 100)
    values = (terms.s1, terms.s2, terms.yield_bonus, terms.target, terms.penalty, terms.main_body, without)
    return dict(zip(POINTS[1:8], values, strict=True))


def _representatives(result: RunResult) -> tuple[list[FindingResult], list[FindingResult]]:
    """The best finding of each group of duplicates at the low and at the high end, in the order of the report.

    Unknown groups: one group at the low end, all apart at the high end.
    """
    by_id = {finding.id: finding for finding in result.findings}
    known = result.facts.groups if result.facts is not None else None
    merged = [[by_id[f] for f in by_id if f in group] for group in known] if known is not None else [[*by_id.values()]]
    apart = merged if known is not None else [[finding] for finding in by_id.values()]
    place = {f: n for n, f in enumerate(by_id)}
    low, high = (
        sorted((group for group in groups if group), key=lambda group: place[group[0].id]) for groups in (merged, apart)
    )
    return (
        [max(group, key=lambda f: f.score.score.low) for group in low],
        [max(group, key=lambda f: f.score.score.high) for group in high],
    )


def _rates(result: RunResult, rubric: Rubric) -> dict[str, float | None]:
    """Shares of dimensions and mean levels of criteria, over all findings of the run."""
    if not result.findings:
        return {}
    cells: dict[str, float | None] = {}
    for name, share in result.dimensions.items():
        cells |= _cells(f"dim.{name}", share)
    levels: dict[str, list[Interval]] = {criterion.id: [] for criterion in rubric.criteria}
    for verdict in [*result.verdicts, *(v for f in result.findings for v in f.verdicts)]:
        if verdict.criterion_id in levels:
            levels[verdict.criterion_id].append(_level(verdict))
    for name, found in levels.items():
        cells |= _cells(f"item.{name}", mean(found) if found else None)
    return cells


def _votes(result: RunResult) -> dict[str, float | None]:
    """How far the votes of a panel agree, over all criteria and for each."""
    verdicts = [*result.verdicts, *(v for f in result.findings for v in f.verdicts)]
    by_criterion = agreement_by_criterion(verdicts)
    overall = sum(by_criterion.values(), start=Agreement())
    cells = {"flip_rate": _share(overall.flip_rate), "agreement": _share(overall.agreement)}
    for id, found in by_criterion.items():
        cells |= {f"flips.{id}": _share(found.flip_rate), f"agreement.{id}": _share(found.agreement)}
    return cells


def _share(share: Fraction | None) -> float | None:
    return None if share is None else float(share)


def _level(verdict: Verdict) -> Interval:
    if verdict.level is None:
        return Interval(Fraction(0), Fraction(1))
    return Interval.point(Fraction(str(verdict.level)))


def _body(
    low: Sequence[FindingResult], high: Sequence[FindingResult], result: RunResult, rubric: Rubric
) -> dict[str, float]:
    """0.60 and 0.20 times the shares of the two best findings at each end: the weights' part in the main body."""
    if not rubric.profile.startswith("truthinsight"):
        return {}
    bests = (
        ("low", sorted(low, key=lambda f: -f.score.score.low)),
        ("high", sorted(high, key=lambda f: -f.score.score.high)),
    )
    cells = {}
    for end, best in bests:
        for dimension in rubric.dimensions:
            parts = [
                share * (rate.low if end == "low" else rate.high)
                for share, finding in zip((S1_SHARE, S2_SHARE), best, strict=False)
                if (rate := finding.dimensions.get(dimension.id)) is not None
            ]
            cells[f"body.{dimension.id}_{end}"] = float(sum(parts, start=Fraction(0)))
    return cells
