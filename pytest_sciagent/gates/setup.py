"""The gates of a session, made from its options before anything runs."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..digest import sha256_bytes
from ..errors import SciagentError
from ..layout import MANIFEST
from ..models.rubric import rubrics_for
from ..tasks.workspace import handed_out
from ..text import one_line
from .baseline import Baseline, RunOutcome, outcome_of, scored_by
from .calibrated import MinKappa
from .decision import Asked, Gate
from .head_prompts import HeadPrompts, head_prompts
from .limits import MaxJudgeErrors, MaxNotAssessed, MaxRunCost
from .no_fall import NoFall
from .noninferiority import NotWorse
from .thresholds import MinCriterion, MinDimension, MinLayer, MinScore, MinTaskScore

if TYPE_CHECKING:
    from ..collection.state import SessionState
    from ..judging.judge import Judge
    from ..models import Rubric
    from ..reporting.scored_runs import OpenRun
    from ..reporting.validity import Calibrations
    from ..scoring.layers import Layer


def make_gates(state: SessionState, calibrations: Calibrations) -> tuple[Asked, ...]:
    """The gates that the user asked for, in the order in which they are told.

    Raises:
        SciagentError: a dimension or criterion that the session does not have, or a baseline that can't be used,
            or a gate on kappa without a calibration.
    """
    origins = state.options.gates.origins
    return tuple(Asked(gate, origins[name]) for name, gate in _gates(state, calibrations))


def baseline_of(gates: Sequence[Asked]) -> Baseline | None:
    """The baseline that `gates` compare with; None where they compare with nothing."""
    return next((asked.gate.baseline for asked in gates if isinstance(asked.gate, NotWorse | NoFall)), None)


def _gates(state: SessionState, calibrations: Calibrations) -> Iterator[tuple[str, Gate]]:
    """Each gate, with the option (and the id) that asks for it, as `GateOptions.origins` names it."""
    options = state.options.gates
    if options.min_score is not None:
        yield "min_score", MinScore(options.min_score)
    if options.min_task_score is not None:
        yield "min_task_score", MinTaskScore(options.min_task_score)
    scoring = state.scoring_rubrics
    layers: tuple[tuple[Layer, float | None], ...] = (
        ("executed", options.min_executed),
        ("tested", options.min_tested),
    )
    for layer, least in layers:
        if least is not None:
            _check_layer(layer, scoring)
            yield f"min_{layer}", MinLayer(layer, least)
    dimensions = {c.dimension for r in scoring for c in r.criteria if c.scope == "finding" and c.weight > 0}
    for id, percent in options.min_dimension:
        _check_known("dimension", id, dimensions)
        yield f"min_dimension {id}", MinDimension(id, percent)
    criteria = {c.id for rubric in state.rubrics for c in rubric.criteria} | {own.id for own in state.own.all}
    for id, level in options.min_criterion:
        _check_known("criterion", id, criteria)
        yield f"min_criterion {id}", MinCriterion(id, level)
    if options.baseline is not None:
        baseline = _baseline(options.baseline, state)
        yield "baseline", NotWorse(baseline, options.margin, options.power)
        if options.no_fall:
            yield "no_fall", NoFall(baseline)
    if options.max_not_assessed is not None:
        yield "max_not_assessed", MaxNotAssessed(options.max_not_assessed)
    if options.max_judge_errors is not None:
        yield "max_judge_errors", MaxJudgeErrors(options.max_judge_errors)
    if options.max_run_cost is not None:
        yield "max_run_cost", MaxRunCost(options.max_run_cost)
    if options.min_kappa is not None:
        if not calibrations.known:
            raise SciagentError(
                "--sciagent-min-kappa: there is no calibration; name one with --sciagent-calibration, or keep it in "
                "the folder calibration/ (sciagent calibrate makes it)"
            )
        yield "min_kappa", MinKappa(calibrations, options.min_kappa)
    if (stale := _head_prompts(state)) is not None:
        yield "prompts_from", stale


def _head_prompts(state: SessionState) -> HeadPrompts | None:
    options = state.options.gates
    if options.prompts_from is None:
        return None

    def told(task_id: str) -> dict[str, str]:
        task = state.sources.task(task_id)
        texts = handed_out(task) if task is not None else {}
        return {name: sha256_bytes(text.encode()) for name, text in texts.items()}

    shown = _shown(options.prompts_from, state.options.base)
    return head_prompts(state.indexes.values(), options.prompts_from, shown, options.changed_prompts, told)


def _shown(path: Path, base: Path) -> str:
    return one_line(str(path.relative_to(base) if path.is_relative_to(base) else path))


def _check_layer(layer: Layer, scoring: Sequence[Rubric]) -> None:
    from ..scoring.layers import LAYERS, criteria_of

    if not any(criteria_of(layer, rubric.criteria) for rubric in scoring):
        names = " or ".join(f"rubric {rubric.id}" for rubric in scoring)
        raise SciagentError(
            f"--sciagent-min-{layer}: {names} has no criterion of the layer {LAYERS[layer]!r} of acceptance"
        )


def _check_known(what: str, id: str, known: Collection[str]) -> None:
    if id not in known:
        near = difflib.get_close_matches(id, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(sorted(known))}"
        own = "" if what != "criterion" else " (of your own: those of the root's conftest.py and of plugins)"
        raise SciagentError(f"--sciagent-min-{what} {id}: this session has no such {what}; {hint}{own}")


def _baseline(path: Path, state: SessionState) -> Baseline:
    """The baseline in `path`, refused at once where it is known to have been scored in another way."""
    name = _shown(path, state.options.base)
    is_file = path.is_file() and path.name != MANIFEST
    try:
        baseline = (_of_file if is_file else _of_runs)(path, name, state)
    except SciagentError as error:
        raise SciagentError(f"--sciagent-baseline: {error}") from None
    baseline.check_rubrics(state.rubrics)
    if state.judge.identity is not None:  # a `judge` fixture of the user's own is known by its verdicts only
        baseline.check_judge(state.judge.identity)
    return baseline


def _of_file(path: Path, name: str, state: SessionState) -> Baseline:
    from .baseline_file import read_results

    rubrics, judge, runs = read_results(path)
    return Baseline(name, rubrics, judge, lambda: runs, state.options.gates.allow_mixed)


def _of_runs(path: Path, name: str, state: SessionState) -> Baseline:
    """Frozen runs: looked at now, scored when they are first needed, by what is recorded; nobody is asked."""
    from ..collection.options import ALLOW_LATE
    from ..reporting.scored_runs import late_notes, open_runs
    from ..runs.discover import find_runs

    paths = find_runs(path)
    if not paths:
        raise SciagentError("there is no frozen run at or below it, and it is no results file", path=path)
    sources = replace(state.sources, live=None)
    opened = open_runs(paths, sources, state.rubrics, state.find_check)
    late = late_notes(opened, state.rubrics, allowed=state.options.allow_late_rubric, option=ALLOW_LATE)
    state.notices += [notice for notice in late if notice not in state.notices]
    judge = _judge_of(opened, state)

    def outcomes() -> Sequence[RunOutcome]:
        from ..reporting.scored_runs import score_run

        def score(run: OpenRun) -> RunOutcome:
            scoring, *others = rubrics_for(state.rubrics, run.index.task_id) or state.rubrics
            return outcome_of(score_run(run, scoring, judge, *others).result)

        return [score(run) for run in opened]

    return Baseline(name, scored_by(state.rubrics), judge.identity, outcomes, state.options.gates.allow_mixed)


def _judge_of(opened: Sequence[OpenRun], state: SessionState) -> Judge:
    """The session's judge, if it (each member of a panel) has answered about these runs or nobody has; else the one
    that has."""
    from ..evaluation.recorded import recorded_judge, recorded_judges
    from ..judging.panel import as_recorded, identities_of

    ledgers = [run.case.ledger for run in opened if run.case is not None]
    recorded = recorded_judges(ledgers)
    mine = identities_of(state.judge)
    if mine and (not recorded or all(identity in recorded for identity in mine)):
        return as_recorded(state.judge)
    return recorded_judge(ledgers, (), "--sciagent-judge KIND:MODEL")
