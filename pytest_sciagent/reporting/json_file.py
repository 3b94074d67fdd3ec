"""The results as JSON (schema sciagent-results/1): deterministic order, no NaN, written atomically."""

from __future__ import annotations

import json
from dataclasses import asdict
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evidence import EvidencePackage
from ..ledger.store import write_atomically
from ..models import Verdict
from ..plain import to_plain
from ..scoring import Interval
from .agreement import Agreement, agreement_by_criterion
from .results import FindingResult, Results, RunResult
from .spending import spending_as_json

if TYPE_CHECKING:
    from ..gates.against import AgainstBaseline

SCHEMA = "sciagent-results/1"


def write_json(path: Path, results: Results) -> None:
    """Write `results` to `path`.

    Raises:
        SciagentError: the place can't be written to.
    """
    text = json.dumps(results_as_json(results), indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, text + "\n")


def results_as_json(results: Results) -> dict[str, Any]:
    """`results` as plain data. Scores are points of 0..100 as {low, high}; dimension shares run from 0 to 1.

    `votes` (of a criterion), `agreement` and `notes` (of the session) are there only where there is something to tell.
    """
    return {
        "schema": SCHEMA,
        "plugin_version": version("pytest-sciagent"),
        "complete": results.incomplete is None,
        "incomplete_because": results.incomplete,
        "judge": None if results.judge is None else results.judge.as_json(),
        "validity": results.believed.as_json(),
        "rubrics": [
            {"id": r.id, "version": r.version, "digest": r.digest, "profile": r.profile} for r in results.rubrics
        ],
        **({"notes": list(results.notes)} if results.notes else {}),
        **_agreement(results),
        "gate": _gate(results),
        "baseline": None if results.against is None else _against(results.against),
        "spending": spending_as_json(results.spending),
        "systems": [
            {"name": s.name, "score": _interval(s.score), "tasks": s.tasks, "dimensions": _shares(s.dimensions)}
            | {"layers": _shares(s.layers)}
            for s in results.systems
        ],
        "runs": [_run(run) for run in results.runs],
    }


def _agreement(results: Results) -> dict[str, Any]:
    """How far the votes of a panel agree, over all criteria and for each; nothing where no panel has voted."""
    by_criterion = agreement_by_criterion(results.verdicts)
    if not by_criterion:
        return {}
    overall = sum(by_criterion.values(), start=Agreement())
    return {"agreement": {**_counts(overall), "criteria": {id: _counts(found) for id, found in by_criterion.items()}}}


def _counts(found: Agreement) -> dict[str, Any]:
    rates = {"flip_rate": found.flip_rate, "agreement": found.agreement}
    return asdict(found) | {name: None if rate is None else _number(rate) for name, rate in rates.items()}


def _gate(results: Results) -> dict[str, Any] | None:
    """The decision of all gates together, and that of each with all its details."""
    if results.decision is None:
        return None
    gates = [{"outcome": d.outcome, "sentence": d.sentence, "details": list(d.details)} for d in results.decisions]
    return {"outcome": results.decision.outcome, "sentence": results.decision.sentence, "gates": gates}


def _against(against: AgainstBaseline) -> dict[str, Any]:
    """The baseline: scores before and after, and every level that is another one now."""
    systems = [
        {
            "system": s.system,
            "baseline_system": s.baseline,
            "tasks": s.tasks,
            "before": _interval(s.before),
            "after": _interval(s.after),
        }
        for s in against.systems
    ]
    changes = [
        {
            "system": c.system,
            "task_id": c.task,
            "repeat": c.repeat,
            "finding": c.finding,
            "criterion_id": c.criterion_id,
            "before": _number(Fraction(str(c.before))),
            "after": _number(Fraction(str(c.after))),
        }
        for c in against.changes
    ]
    return {"name": against.name, "systems": systems, "changes": changes}


def _run(run: RunResult) -> dict[str, Any]:
    index = run.index
    terms = run.terms
    return {
        "id": index.nodeid,
        "system": index.system,
        "task_id": index.task_id,
        "repeat": index.repeat,
        "state": index.state,
        "problems": list(index.problems),
        "notes": [*index.notes, *run.notes],
        "score": None if run.total is None else _interval(run.total),
        "score_feasible_only": None if run.feasible is None else _interval(run.feasible),
        "assessed": _number(run.assessed),
        "perturbations": [
            {"finding": f, "card": p.card, "family": p.family, "survive": p.survive, "metrics": to_plain(p.metrics)}
            for f, p in run.perturbations
        ],
        "rerun": None if run.rerun is None else to_plain(asdict(run.rerun)),
        "terms": None
        if terms is None
        else {
            "s1": _interval(terms.s1),
            "s2": _interval(terms.s2),
            "yield": _interval(terms.yield_bonus),
            "target": _interval(terms.target),
            "penalty": _interval(terms.penalty),
            "main_body": _interval(terms.main_body),
        },
        "groups": None if run.facts is None or run.facts.groups is None else [list(g) for g in run.facts.groups],
        "targets": None if run.facts is None or run.facts.targets is None else dict(run.facts.targets),
        "refuted": None if run.facts is None or run.facts.refuted is None else dict(run.facts.refuted),
        "findings": [_finding(f) for f in run.findings],
        "criteria": [_verdict(v) for v in run.verdicts],
    }


def _finding(finding: FindingResult) -> dict[str, Any]:
    package = finding.package
    return {
        "id": finding.id,
        "number": finding.number,
        "title": to_plain(finding.title),
        "compound": [to_plain(sign) for sign in finding.compound],
        "score": _interval(finding.score.score),
        "assessed": _number(finding.score.assessed),
        "dimensions": _shares(finding.dimensions),
        "layers": _shares(finding.layers),
        "evidence": None if package is None else _evidence(package),
        "criteria": [_verdict(v) for v in finding.verdicts],
    }


def _evidence(package: EvidencePackage) -> dict[str, Any]:
    """What judges were shown of the run: which text, with which figures, and what was cut or left out. A criterion with
    recorded figures of its own was shown those instead: its receipt names them (`figures_shown`)."""
    return {
        "digest": package.digest,
        "shown": [piece.label for piece in package.pieces],
        "figures": [{"file": figure.path, "caption": to_plain(figure.caption)} for figure in package.figures],
        "left_out": list(package.left_out),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    # Each part is bounded by itself, as on the way between processes: large facts push nothing else out.
    plain: dict[str, Any] = {name: to_plain(value) for name, value in verdict.as_json().items()}
    del plain["finding"]
    if verdict.votes:
        levels = [Fraction(str(vote.level)) for vote in verdict.votes if vote.level is not None]
        plain["mean_level"] = _number(sum(levels, start=Fraction(0)) / len(levels)) if levels else None
    else:
        del plain["votes"]
    if verdict.level is not None:
        plain["level"] = _number(Fraction(str(verdict.level)))
    return plain


def _shares(dimensions: Any) -> dict[str, Any]:
    return {name: _interval(interval) for name, interval in dimensions.items()}


def _interval(interval: Interval) -> dict[str, Any]:
    return {"low": _number(interval.low), "high": _number(interval.high)}


def _number(value: Fraction) -> int | float:
    """`value` with at most six decimals; whole numbers without a point."""
    rounded = round(value, 6)
    return int(rounded) if rounded.denominator == 1 else float(rounded)
