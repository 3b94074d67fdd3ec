"""What depends on who judges: levels, scores, the order of systems and decisions, under each of several judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..evaluation.labels import labels_of_judge
from ..evaluation.recorded import all_verdicts
from ..gates.decision import Decision, Gate
from ..judging.judge import RecordedJudge
from ..judging.panel import Panel
from ..models import JudgeIdentity, Label, Rubric, Verdict
from ..models.calibration import Bound, Calibration
from ..statistics import Bounds, certain_leader, rank_ranges
from ..text import counted
from .calibration import Comparison, calibrate
from .calibration_text import agreement_table
from .columns import columns, paragraph
from .results import Results, VerdictKey, run_result, system_results
from .scored_runs import OpenRun
from .validity import Calibrations

SCHEMA = "sciagent-sensitivity/1"


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """The same runs under one judge. filled: criteria that it has not answered, for which the lead's verdict stands."""

    judge: JudgeIdentity
    results: Results
    decisions: tuple[Decision, ...]
    labels: tuple[Label, ...]
    filled: int

    @property
    def bounds(self) -> dict[str, Bounds]:
        """The score of each system."""
        return {s.name: (float(s.score.low), float(s.score.high)) for s in self.results.systems}

    @property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """Best and worst place of each system."""
        return rank_ranges(self.bounds)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The lead first. agreements: of every other judge with the lead, where both gave a level."""

    judged: tuple[JudgedBy, ...]
    agreements: tuple[Calibration, ...]

    @property
    def lead(self) -> JudgedBy:
        return self.judged[0]

    def turned(self, other: JudgedBy) -> Counter[str]:
        """How many levels, orders of systems, leaders and decisions are not the lead's, of how many."""
        levels = {label.thing: label.score for label in self.lead.labels}
        both = [(levels[label.thing], label.score) for label in other.labels if label.thing in levels]
        return Counter(
            {
                "levels compared": len(both),
                "levels": sum(a != b for a, b in both),
                "levels by more than a half": sum(abs(a - b) > 0.5 for a, b in both),
                "places": sum(other.places[s] != place for s, place in self.lead.places.items()),
                "leader": int(certain_leader(other.bounds) != certain_leader(self.lead.bounds)),
                "decisions": sum(
                    a.outcome != b.outcome for a, b in zip(other.decisions, self.lead.decisions, strict=True)
                ),
            }
        )


def judge_by_each(
    runs: Sequence[OpenRun],
    rubric: Rubric,
    judges: Sequence[JudgeIdentity],
    gates: Sequence[Gate],
    *,
    fill: bool,
    calibrations: Calibrations,
    seed: int = 0,
) -> Sensitivity:
    """Score `runs` under each of `judges` by what is recorded. The first answers what is asked about runs, for all.

    fill: where a judge has not answered a criterion, the lead's verdict stands; else the criterion is open. A failed
    answer stays a failure.
    """
    found: list[JudgedBy] = []
    before: list[dict[VerdictKey, Verdict]] = []
    for judge in judges:
        view = Panel([RecordedJudge(judge)], lead=RecordedJudge(judges[0]))
        results, said, filled = [], [], 0
        for n, run in enumerate(runs):
            verdicts = all_verdicts(run.case, rubric, view) if run.case is not None else {}
            said += [(run.index.label, v) for v in verdicts.values()]
            if judge == judges[0]:
                before.append(verdicts)
            elif fill:
                lead = before[n]
                missing = [k for k, v in verdicts.items() if v.status == "unrecorded" and lead[k].judge is not None]
                verdicts = verdicts | {key: lead[key] for key in missing}
                filled += len(missing)
            facts = run.case.about_run.facts(view) if run.case is not None else None
            results.append(run_result(run.index, run.case, verdicts, (rubric,), facts))
        validity = calibrations.validity(judge, rubric)
        whole = Results(tuple(results), system_results(results), (rubric,), judge, None, validity=validity)
        labels = tuple(labels_of_judge(said, judge.label))
        found.append(JudgedBy(judge, whole, tuple(gate.decide(whole) for gate in gates), labels, filled))
    dimensions = {criterion.id: criterion.dimension for criterion in rubric.criteria}
    agreements = tuple(_agreement(found[0], other, dimensions, rubric, seed) for other in found[1:])
    return Sensitivity(tuple(found), agreements)


def _agreement(
    lead: JudgedBy, other: JudgedBy, dimensions: Mapping[str, str], rubric: Rubric, seed: int
) -> Calibration:
    bound = Bound(
        judge=other.judge.label,
        identity=other.judge,
        templates=None,
        rubric=f"{rubric.id} {rubric.version}",
        rubric_digest=rubric.digest,
    )
    return calibrate(Comparison(lead.labels, other.labels, lead.judge.label), bound, dimensions, seed=seed)


def sensitivity_text(found: Sensitivity) -> str:
    """All of it, ready to be printed."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sensitivity) -> Iterator[str]:
    names = [judged.judge.label for judged in found.judged]
    yield f"{counted(len(found.lead.results.runs), 'run')} under {counted(len(names), 'judge')}, led by {names[0]}"
    for judged in found.judged[1:]:
        if judged.filled:
            yield from paragraph(
                f"{judged.judge.label} has not answered {counted(judged.filled, 'question')} that the lead has: "
                "there the lead's verdict stands"
            )
    for judged in found.judged:
        yield from paragraph(judged.results.believed.sentence)
    yield from ("", "SCORES: points, and the places that a system may take")
    head = ("", *names)
    systems = [system.name for system in found.lead.results.systems]
    rows = [(name, *(_score(judged, name) for judged in found.judged)) for name in systems]
    for n, run in enumerate(found.lead.results.runs):
        totals = [judged.results.runs[n].total for judged in found.judged]
        rows.append((f"  {run.index.label}", *("-" if total is None else total.show() for total in totals)))
    yield from columns(head, rows)
    if found.lead.decisions:
        yield from ("", "DECISIONS")
        for n, first in enumerate(found.lead.decisions):
            for judged in found.judged:
                decision = judged.decisions[n]
                mark = "" if decision.outcome == first.outcome else " (turned)"
                yield from paragraph(f"{judged.judge.label}: {decision.outcome}{mark}: {decision.sentence}")
    for judged, agreement in zip(found.judged[1:], found.agreements, strict=True):
        yield from ("", f"LEVELS: {judged.judge.label} against {names[0]}")
        yield from agreement_table(agreement.slices)
        yield from paragraph(_turned(found, judged))


def _score(judged: JudgedBy, system: str) -> str:
    score = next(s.score for s in judged.results.systems if s.name == system)
    best, worst = judged.places[system]
    return f"{score.show()} (#{best}{'' if best == worst else f'..{worst}'})"


def _turned(found: Sensitivity, other: JudgedBy) -> str:
    turned = found.turned(other)
    leader = "another leader, or none where there was one" if turned["leader"] else "no other leader"
    decisions = f"; {turned['decisions']} of {counted(len(other.decisions), 'decision')}" if other.decisions else ""
    return (
        f"turned: {turned['levels']} of {counted(turned['levels compared'], 'level')} "
        f"({turned['levels by more than a half']} by more than a half step of the scale); "
        f"the places of {turned['places']} of {counted(len(other.places), 'system')}, {leader}{decisions}"
    )


def sensitivity_json(found: Sensitivity) -> dict[str, Any]:
    """All of it as plain data."""
    return {
        "schema": SCHEMA,
        "judges": [
            {
                "judge": judged.judge.as_json(),
                "validity": judged.results.believed.as_json(),
                "filled": judged.filled,
                "systems": {
                    name: {"low": low, "high": high, "places": list(judged.places[name])}
                    for name, (low, high) in judged.bounds.items()
                },
                "runs": {
                    run.index.label: None
                    if run.total is None
                    else {"low": float(run.total.low), "high": float(run.total.high)}
                    for run in judged.results.runs
                },
                "decisions": [{"outcome": d.outcome, "sentence": d.sentence} for d in judged.decisions],
                "turned": dict(found.turned(judged)),
            }
            for judged in found.judged
        ],
        "agreements": [agreement.as_json() for agreement in found.agreements],
    }
