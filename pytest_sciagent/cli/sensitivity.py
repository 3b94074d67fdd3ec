"""The command that tells what depends on who judges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import SciagentError
from .common import (
    PATH,
    calibration_option,
    find,
    known_calibrations,
    late_notes,
    late_option,
    read_session_rubric,
    rubric_option,
    sources_of,
    tasks_option,
    templates_option,
)
from .told import show

if TYPE_CHECKING:
    from ..gates import Gate

_POINTS = click.FloatRange(0, 100)


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option(
    "--judge",
    "named",
    required=True,
    metavar="A,B,...",
    help="Two recorded judges or more. The first leads: it alone answers what is asked about whole runs.",
)
@tasks_option
@click.option(
    "--ledger",
    "folders",
    multiple=True,
    type=PATH,
    help="Ledger folder (default: verdicts/ beside the runs; repeatable, for judges that are recorded apart).",
)
@templates_option
@calibration_option
@late_option
@rubric_option
@click.option("--fill", is_flag=True, help="Where a judge has not answered, take the first judge's verdict.")
@click.option("--min-score", type=_POINTS, default=None, help="A decision: every system has that many points.")
@click.option("--min-task-score", type=_POINTS, default=None, help="The same on every task.")
@click.option("--min-executed", type=_POINTS, default=None, help="Percent of the first layer of acceptance.")
@click.option("--min-tested", type=_POINTS, default=None, help="Percent of the second layer of acceptance.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap over runs.")
@click.option("--json", "target", type=PATH, default=None, help="Write it as JSON; - prints it instead.")
def sensitivity(
    runs: tuple[Path, ...],
    named: str,
    tasks: tuple[Path, ...],
    folders: tuple[Path, ...],
    templates: Path | None,
    calibration: Path | None,
    allow_late: bool,
    name: str | None,
    fill: bool,
    min_score: float | None,
    min_task_score: float | None,
    min_executed: float | None,
    min_tested: float | None,
    seed: int,
    target: Path | None,
) -> None:
    """Score RUNS under each of several judges, by recorded verdicts, and tell what turns with the judge.

    Scores and places of systems, decisions of gates, and levels: how many are not the first judge's. Nobody is asked.

    \b
    Example:
        sciagent sensitivity runs/ --judge openai:ONE,anthropic:TWO --min-score 60
    """
    from ..evaluation.recorded import recorded_as, recorded_judges
    from ..judging.identity import parse_judges
    from ..ledger import Ledger
    from ..reporting.scored_runs import open_runs
    from ..reporting.sensitivity import judge_by_each, sensitivity_json, sensitivity_text

    judges = parse_judges(named)
    if len(judges) < 2:
        raise SciagentError(f"--judge {named}: name two judges or more, with commas between them")
    for folder in folders:
        if not folder.is_dir():
            raise SciagentError("--ledger: there is no such folder", path=folder)
    rubric = read_session_rubric(name)
    sources = sources_of(tasks, folders[0] if folders else None, templates)
    opened = open_runs(find(runs), sources, [rubric])
    notes = late_notes(opened, rubric, allow_late)
    for run in opened:
        for folder in folders[1:]:
            if run.case is not None and run.manifest is not None:
                for entry in Ledger.load(folder.absolute(), run.manifest).entries:
                    run.case.ledger.add(entry)
    recorded = recorded_judges(run.case.ledger for run in opened if run.case)
    whose = [recorded_as(one, recorded) for one in judges]
    gates = _gates(min_score, min_task_score, min_executed, min_tested)
    known = known_calibrations(calibration, sources)
    found = judge_by_each(opened, rubric, whose, gates, fill=fill, seed=seed, calibrations=known)
    show(sensitivity_text(found), sensitivity_json(found), target, notes)


def _gates(score: float | None, task_score: float | None, executed: float | None, tested: float | None) -> list[Gate]:
    from ..gates.thresholds import MinLayer, MinScore, MinTaskScore

    gates: list[Gate] = []
    if score is not None:
        gates.append(MinScore(score))
    if task_score is not None:
        gates.append(MinTaskScore(task_score))
    if executed is not None:
        gates.append(MinLayer("executed", executed))
    if tested is not None:
        gates.append(MinLayer("tested", tested))
    return gates
