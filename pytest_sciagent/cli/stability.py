"""The command that tells how stable scores are."""

from __future__ import annotations

import math
from pathlib import Path

import click

from ..errors import SciagentError
from ..judging.draws import MOST_DRAWS
from .common import (
    PATH,
    calibration_option,
    find,
    known_calibrations,
    late_notes,
    late_option,
    ledger_option,
    progress,
    read_session_rubric,
    rubric_option,
    sources_of,
    tasks_option,
    templates_option,
)
from .told import show


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--judge", "named", default=None, metavar="KIND:MODEL", help="Whose verdicts (default: the only one's).")
@click.option(
    "--draws",
    type=click.IntRange(1, MOST_DRAWS),
    default=None,
    help="How many draws of the judge count (default: all that are recorded).",
)
@click.option("--margin", type=float, default=4.0, show_default=True, help="Points that the tasks are to show.")
@tasks_option
@ledger_option
@templates_option
@calibration_option
@late_option
@rubric_option
@click.option("--json", "target", type=PATH, default=None, help="Write it as JSON; - prints it instead.")
def stability(
    runs: tuple[Path, ...],
    named: str | None,
    draws: int | None,
    margin: float,
    tasks: tuple[Path, ...],
    folder: Path | None,
    templates: Path | None,
    calibration: Path | None,
    allow_late: bool,
    name: str | None,
    target: Path | None,
) -> None:
    """Split the spread of the scores of RUNS into the judge's, the run's and the task's, by recorded draws and repeats.

    Tells how often the judge changes its mind, the smallest difference of two systems that these tasks would show, and
    how many tasks a difference of --margin points takes. Nobody is asked: ask with pytest --sciagent-draws=K first.

    \b
    Example:
        sciagent stability runs/ --judge openai:MODEL
    """
    from ..evaluation.recorded import recorded_judge
    from ..judging.identity import parse_judges
    from ..reporting.scored_runs import open_runs
    from ..reporting.stability import stability as measure
    from ..reporting.stability import stability_json, stability_text

    if not (math.isfinite(margin) and 0 < margin <= 100):
        raise SciagentError(f"--margin {margin:g}: give points above 0, at most 100")
    rubric = read_session_rubric(name)
    sources = sources_of(tasks, folder, templates)
    opened = open_runs(find(runs), sources, [rubric])
    notes = late_notes(opened, rubric, allow_late)
    ledgers = [run.case.ledger for run in opened if run.case]
    whose = recorded_judge(ledgers, parse_judges(named) if named is not None else (), "--judge KIND:MODEL").identity
    if whose is None:
        raise SciagentError("no verdict of any judge is recorded")
    if whose.kind == "panel":
        raise SciagentError("--judge: name one judge; a panel's draws are its members'")
    known = max((e.draw for ledger in ledgers for e in ledger.entries if e.judge == whose), default=1)
    if draws is not None and draws > known:
        raise SciagentError(f"--draws {draws}: of {whose.label} {known} are recorded")
    with progress(opened, "scoring runs") as shown:
        found = measure(list(shown), rubric, whose, draws or known, margin)
    validity = known_calibrations(calibration, sources).validity(whose, rubric)
    show(stability_text(found, validity), stability_json(found, validity), target, notes)
