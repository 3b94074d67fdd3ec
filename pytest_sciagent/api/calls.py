"""`load_run`, `score`, `judge` and `compare`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pydantic import JsonValue

from ..errors import SciagentError
from ..evaluation import Sources
from ..evaluation.recorded import Replayed, all_verdicts, answers_behind, judge_name, read_rubric, recorded_judge
from ..evaluation.weights import poll_of
from ..judging.draws import DEFAULT_RULE, Rule, parse_draws, parse_rule
from ..judging.identity import parse_judges
from ..judging.judge import Judge
from ..judging.panel import Poll
from ..models import JudgeIdentity, LedgerEntry, Rubric, Verdict
from ..profile_names import PROFILES
from ..reporting.cohort import CohortRun
from ..reporting.results import Results, RunResult, VerdictKey, completed, run_result, system_results
from ..reporting.scored_runs import OpenRun, late_notes, open_runs
from ..reporting.spending import Spending, Spent, saved_by, spent_by
from ..reporting.validity import Calibrations, calibrations_of, told_once
from ..reporting.words import Words
from ..rubrics import DEFAULT_RUBRIC, with_profile
from ..runs import Run
from ..runs.discover import find_runs
from ..text import one_line
from .desk import Desk
from .scores import Compared, Scores

if TYPE_CHECKING:
    from ..judging.pump import Progress

Place: TypeAlias = str | os.PathLike[str]
Runs: TypeAlias = "Place | Run | Sequence[Place | Run]"
"""A run, a folder of runs, or several of either."""
_ALLOW_LATE = "allow_late_rubric=True"


def load_run(path: Place) -> Run:
    """The frozen run in the folder `path`, every file of it checked against its hash.

    Raises:
        SciagentError: no run, or one that is not what was frozen.
    """
    run = Run.load(Path(path).absolute())
    problems = run.problems()
    if problems:
        raise SciagentError(f"the run {run.label} is not what was frozen: {problems[0]}", path=run.path)
    return run


def score(
    runs: Runs,
    *,
    rubric: Rubric | Place = DEFAULT_RUBRIC,
    profile: str | None = None,
    judge: str | JudgeIdentity | None = None,
    parameters: Mapping[str, JsonValue] | None = None,
    draws: int | str = 1,
    combine: Rule = DEFAULT_RULE,
    weights: Place | None = None,
    tasks: Place | Sequence[Place] = (),
    ledger: Place | None = None,
    calibration: Place | None = None,
    allow_late_rubric: bool = False,
) -> Scores:
    """Score runs by what is recorded: code's verdicts are made anew, judges' are replayed, and nobody is asked.

    Args:
        runs: runs, or folders that hold them.
        rubric: a name, a file, or a rubric.
        profile: how levels are added up, where not as the rubric says.
        judge: whose recorded answers, as `kind:model`; several with commas between them are a panel. None: those of
            the only judge that is recorded.
        parameters: the parameters that the judge was asked with.
        draws: how many draws of each judge count.
        combine: how votes become one level.
        weights: what votes weigh under `combine="weighted"`: a file that `sciagent ensemble` made.
        tasks: where tasks are looked up first; then in `tasks/` below the working directory, and among those shipped.
        ledger: the folder of recorded verdicts (None: `verdicts/` beside the runs).
        calibration: how far the judge agrees with people, as `sciagent calibrate -o` wrote it: a file, or a folder of
            them (None: `calibration/` below the working directory, where there is one).
        allow_late_rubric: score also by an induced rubric that was frozen after a run began.

    Raises:
        SciagentError: anything of this that can't be used, with what to do.
    """
    chosen = _rubric(rubric, profile)
    sources = _sources(tasks, ledger, asks=False)
    calibrations = _calibrations(calibration, sources)
    poll = _poll(draws, combine, weights, chosen, sources)
    opened = open_runs(_paths(runs), sources, [chosen])
    notes = late_notes(opened, [chosen], allowed=allow_late_rubric, option=_ALLOW_LATE)
    ledgers = [run.case.ledger for run in opened if run.case is not None]
    named = _identities(judge, parameters)
    whose = recorded_judge(ledgers, named, "judge='KIND:MODEL' (and parameters)", poll)
    return _add_up(opened, chosen, whose, notes, calibrations)


def judge(
    runs: Runs,
    judge: str | Judge,
    *,
    rubric: Rubric | Place = DEFAULT_RUBRIC,
    profile: str | None = None,
    parameters: Mapping[str, JsonValue] | None = None,
    base_url: str | None = None,
    layout: str = "item",
    draws: int | str = 1,
    combine: Rule = DEFAULT_RULE,
    weights: Place | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    price: str | None = None,
    in_flight: int = 8,
    tasks: Place | Sequence[Place] = (),
    ledger: Place | None = None,
    calibration: Place | None = None,
    allow_late_rubric: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Scores:
    """Ask what is not recorded, record the answers, and score.

    What is recorded is never asked again. Each answer is written down as it comes (`.sciagent/work/`), and put into
    the ledger at the end, also where you interrupt it. A call that fails is an error of its criterion, never a level.

    Args:
        judge: a provider's judge, as `openai:MODEL` or `anthropic:MODEL` (several with commas between them are a
            panel), whose key is in the environment; or a `Judge` of your own.
        base_url: another server than the provider's own, such as one on this machine.
        layout: how many criteria one prompt asks: `item`, `group:N` or `finding`.
        max_calls: a budget in calls; what goes beyond is an error of its criterion.
        max_cost: the same in US dollars.
        price: dollars for a million tokens, `IN/OUT`, where it is not listed.
        in_flight: how many calls at a time.
        on_progress: told how far a judge is, again and again.

    Everything else is as for `score`.

    Raises:
        SciagentError: as `score`; a judge that can't be asked; a provider that says no call can succeed.
    """
    chosen = _rubric(rubric, profile)
    sources = _sources(tasks, ledger, asks=True)
    calibrations = _calibrations(calibration, sources)
    desk = Desk(sources)
    poll = _poll(draws, combine, weights, chosen, sources)
    if isinstance(judge, Judge):
        whose = desk.own(judge, poll)
    else:
        named = _identities(judge, parameters)
        if not named:
            raise SciagentError("name the judge to be asked, as 'KIND:MODEL'; nobody is asked by score(runs)")
        whose = desk.provided(named, layout, poll, base_url, (max_calls, max_cost, price), in_flight)
    opened = open_runs(_paths(runs), sources, [chosen], record=desk.record)
    notes = late_notes(opened, [chosen], allowed=allow_late_rubric, option=_ALLOW_LATE)
    try:
        desk.ask(opened, chosen, whose, on_progress)
        return _add_up(opened, chosen, whose, notes, calibrations, desk)
    finally:
        desk.save(opened)


def compare(
    *runs: Runs | Scores,
    margin: float = 4.0,
    seed: int = 0,
    rubric: Rubric | Place = DEFAULT_RUBRIC,
    profile: str | None = None,
    judge: str | JudgeIdentity | None = None,
    tasks: Place | Sequence[Place] = (),
    ledger: Place | None = None,
    calibration: Place | None = None,
) -> Compared:
    """Compare the systems that made the runs, task by task: runs, folders of them, or what `score` gave.

    Args:
        margin: points within which two systems count as equivalent.
        seed: of the bootstrap and the drawn weights.

    Everything else is as for `score`, for what is not scored yet.

    Raises:
        SciagentError: as `score`; scores that were made in different ways; nothing to compare.
    """
    from ..reporting.cohort import as_rows
    from ..reporting.cohort_files import combine as combine_tables
    from ..reporting.comparison import check_comparable
    from ..reporting.comparison import compare as compare_table

    if not 0 < margin <= 100:
        raise SciagentError(f"margin {margin:g}: give points above 0, at most 100")
    if seed < 0:
        raise SciagentError(f"seed {seed}: a number of 0 or more")
    scored = [one for one in runs if isinstance(one, Scores)]
    rest = [run for one in runs if not isinstance(one, Scores) for run in _several(one)]
    if rest:
        scored.append(
            score(
                rest,
                rubric=rubric,
                profile=profile,
                judge=judge,
                tasks=tasks,
                ledger=ledger,
                calibration=calibration,
            )
        )
    if not scored:
        raise SciagentError("name runs to compare")
    table = combine_tables([(f"part {n}", one.table()) for n, one in enumerate(scored, 1)], scored[0].rubric)
    check_comparable(table)
    notes = told_once([*(row["note"] for row in as_rows(table)), *(note for one in scored for note in one.notes)])
    return Compared(compare_table(table, scored[0].rubric, margin=margin, seed=seed), table, tuple(notes))


def _several(runs: Runs) -> list[Place | Run]:
    return [runs] if isinstance(runs, str | os.PathLike | Run) else list(runs)


def _paths(runs: Runs) -> list[Path]:
    found: list[Path] = []
    for one in _several(runs):
        found += [one.path.absolute()] if isinstance(one, Run) else find_runs(Path(one).absolute())
    if not found:
        raise SciagentError(f"no frozen run at or below {', '.join(map(str, _several(runs)))}")
    return list(dict.fromkeys(found))


def _rubric(rubric: Rubric | Place, profile: str | None) -> Rubric:
    if isinstance(rubric, Rubric):
        return rubric if profile is None else with_profile(rubric, profile)
    return read_rubric(os.fspath(rubric), profile, PROFILES, Path.cwd())


def _sources(tasks: Place | Sequence[Place], ledger: Place | None, *, asks: bool) -> Sources:
    """asks: a ledger that is not there yet is made; else there would be nothing to read."""
    folders = tuple(Path(task).absolute() for task in ([tasks] if isinstance(tasks, str | os.PathLike) else tasks))
    for folder in folders:
        if not folder.is_dir():
            raise SciagentError("there is no such folder of tasks", path=folder)
    recorded = Path(ledger).absolute() if ledger is not None else None
    if recorded is not None and not recorded.is_dir() and (recorded.exists() or not asks):
        raise SciagentError("there is no such folder of recorded verdicts", path=recorded)
    return Sources(Path.cwd(), folders, recorded)


def _calibrations(place: Place | None, sources: Sources) -> Calibrations:
    return calibrations_of(Path(place).absolute() if place is not None else None, Path.cwd(), sources.templates)


def _poll(draws: int | str, rule: Rule, weights: Place | None, rubric: Rubric, sources: Sources) -> Poll:
    path = Path(weights).absolute() if weights is not None else None
    return poll_of(parse_draws(str(draws)), parse_rule(rule), path, [rubric], sources.templates)


def _identities(
    judge: str | JudgeIdentity | None, parameters: Mapping[str, JsonValue] | None
) -> tuple[JudgeIdentity, ...]:
    given = dict(parameters or {})
    if judge is not None and not isinstance(judge, str | JudgeIdentity):
        raise SciagentError(f"judge: write 'KIND:MODEL', such as 'openai:MODEL', not {one_line(repr(judge), 80)}")
    named = parse_judges(judge) if isinstance(judge, str) else (judge,) if judge is not None else ()
    if given and not named:
        raise SciagentError("parameters belong to a judge: name it with judge='KIND:MODEL'")
    return tuple(JudgeIdentity(kind=j.kind, model=j.model, parameters={**j.parameters, **given}) for j in named)


def _add_up(
    opened: Sequence[OpenRun],
    rubric: Rubric,
    whose: Judge,
    notes: tuple[str, ...],
    calibrations: Calibrations,
    desk: Desk | None = None,
) -> Scores:
    words = Words.of(os.environ)
    scored: list[CohortRun] = []
    behind: list[LedgerEntry] = []
    for run in sorted(opened, key=lambda run: run.index.nodeid):
        result, answers = _run(run, rubric, whose, words)
        scored.append(CohortRun(result, run.manifest, run.task))
        behind += answers
    results = tuple(one.result for one in scored)
    fresh = {entry.key for entry in desk.fresh} if desk is not None else frozenset()
    spent = spent_by(desk.asked, desk.own_answers) if desk is not None else Spent()
    tampered = sorted(result.index.label for result in results if result.index.state == "tampered")
    found = Results(
        runs=results,
        systems=system_results(results),
        rubrics=(rubric,),
        judge=whose.identity,
        incomplete=f"{', '.join(tampered)} can't be scored: tampered" if tampered else None,
        notes=notes,
        spending=Spending(spent, saved_by([Replayed.of(entry for entry in behind if entry.key not in fresh)])),
        validity=calibrations.validity(whose.identity, rubric),
    )
    name = judge_name(whose.identity) if whose.identity is not None else None
    return Scores(rubric, name, found, tuple(scored))


def _run(run: OpenRun, rubric: Rubric, whose: Judge, words: Words) -> tuple[RunResult, tuple[LedgerEntry, ...]]:
    verdicts: dict[VerdictKey, Verdict] = {}
    if run.case is not None:
        found = all_verdicts(run.case, rubric, whose)
        verdicts = {key: words.verdict(verdict) for key, verdict in found.items()}
    facts = run.case.about_run.facts(whose) if run.case is not None else None
    result = run_result(run.index, run.case, verdicts, (rubric,), facts)
    if run.case is None:
        return result, ()
    answers = answers_behind(run.case, verdicts.values(), whose)
    return completed(result, run.case, Replayed.of(answers).costs, whose, words.mask), answers
