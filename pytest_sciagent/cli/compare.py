"""The command that compares systems."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import SciagentError
from ..judging.draws import DEFAULT_RULE, RULES, Rule, parse_draws
from .common import (
    PATH,
    calibration_option,
    find,
    known_calibrations,
    late_notes,
    late_option,
    ledger_option,
    progress,
    rubric_option,
    sources_of,
    tasks_option,
    templates_option,
    weights_option,
)
from .told import show

if TYPE_CHECKING:
    import pandas as pd

    from ..evaluation import Sources
    from ..judging.panel import Poll
    from ..models import Rubric
    from ..reporting.validity import Calibrations


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@tasks_option
@ledger_option
@templates_option
@calibration_option
@rubric_option
@late_option
@click.option("--profile", default=None, help="Add levels up by this profile, not the rubric's own.")
@click.option(
    "--judge",
    default=None,
    metavar="KIND:MODEL",
    help="Whose recorded verdicts (default: the only judge's); several with commas between them are a panel.",
)
@click.option("--judge-param", multiple=True, metavar="NAME=VALUE", help="A parameter of that judge (repeatable).")
@click.option("--draws", default="1", metavar="K|auto", help="How many draws of each judge count.  [default: 1]")
@click.option("--combine", type=click.Choice(RULES), default=DEFAULT_RULE, show_default=True, help="How votes count.")
@weights_option
@click.option(
    "--other-judge",
    "others",
    multiple=True,
    metavar="KIND:MODEL",
    help="Another judge with recorded verdicts: whether the order of systems holds by them (repeatable).",
)
@click.option(
    "--margin", type=float, default=4.0, show_default=True, help="Points within which two systems are equivalent."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap and the drawn weights."
)
@click.option("--csv", type=PATH, default=None, help="Write the cohort's table, a row a run, as CSV.")
@click.option("--parquet", type=PATH, default=None, help="Write the cohort's table as Parquet.")
@click.option(
    "--json", type=PATH, default=None, help="Write the table and every statistic as JSON; - prints it instead."
)
def compare(
    runs: tuple[Path, ...],
    tasks: tuple[Path, ...],
    folder: Path | None,
    templates: Path | None,
    calibration: Path | None,
    name: str | None,
    allow_late: bool,
    profile: str | None,
    judge: str | None,
    judge_param: tuple[str, ...],
    draws: str,
    combine: Rule,
    weights: Path | None,
    others: tuple[str, ...],
    margin: float,
    seed: int,
    csv: Path | None,
    parquet: Path | None,
    json: Path | None,
) -> None:
    """Compare the systems that made RUNS, task by task, by recorded verdicts. Nobody is asked.

    RUNS are frozen runs, folders of them, or tables that an earlier call wrote by --csv or --parquet. A task that a
    system has no run on is a row without a score; a run that delivered nothing counts as 0. Where something is not
    assessed, scores are intervals, and no winner is named where they overlap.

    \b
    Example:
        sciagent compare runs/plain runs/guided --csv cohort.csv
    """
    from ..evaluation.recorded import read_rubric
    from ..evaluation.weights import poll_of
    from ..profile_names import PROFILES
    from ..reporting.cohort import as_rows
    from ..reporting.cohort_files import SUFFIXES, read_table, write_csv, write_parquet
    from ..reporting.cohort_files import combine as combine_tables
    from ..reporting.comparison import check_comparable
    from ..reporting.comparison import compare as compare_table
    from ..reporting.comparison_json import comparison_as_json
    from ..reporting.comparison_text import comparison_text
    from ..reporting.validity import told_once
    from ..rubrics import DEFAULT_RUBRIC

    if not (math.isfinite(margin) and 0 < margin <= 100):
        raise SciagentError(f"--margin {margin:g}: give points above 0, at most 100")
    for path in tasks:
        if not path.is_dir():
            raise SciagentError("--tasks: there is no such folder", path=path)
    rubric = read_rubric(name or DEFAULT_RUBRIC, profile, PROFILES, Path.cwd())
    files = [path for path in runs if path.suffix in SUFFIXES and path.is_file()]
    frozen = tuple(path for path in runs if path not in files)
    if files and others:
        raise SciagentError("--other-judge needs frozen runs: a table holds the verdicts of one judge")
    parts = [(str(path), read_table(path, rubric)) for path in files]
    sources = sources_of(tasks, folder, templates)
    poll = poll_of(parse_draws(draws), combine, weights, [rubric], sources.templates)
    how = (poll, known_calibrations(calibration, sources), allow_late)
    if frozen:
        scored = _score(frozen, sources, rubric, judge, judge_param, *how)
        parts.insert(0, (", ".join(map(str, frozen)), scored))
    table = combine_tables(parts, rubric)
    check_comparable(table)
    again = {other: _score(frozen, sources, rubric, other, (), *how) for other in others}
    comparison = compare_table(table, rubric, margin=margin, seed=seed, others=again)
    notes = told_once([row["note"] for row in as_rows(table)])
    show(comparison_text(table, comparison), comparison_as_json(table, comparison), json, notes)
    if csv is not None:
        write_csv(csv, table)
    if parquet is not None:
        write_parquet(parquet, table)


def _score(
    runs: tuple[Path, ...],
    sources: Sources,
    rubric: Rubric,
    judge: str | None,
    parameters: tuple[str, ...],
    poll: Poll,
    calibrations: Calibrations,
    allow_late: bool,
) -> pd.DataFrame:
    """The table of the runs."""
    from ..evaluation.recorded import judge_name, recorded_judge
    from ..judging.identity import parse_judges
    from ..reporting.cohort import cohort_table
    from ..reporting.scored_runs import open_runs, score_run

    if parameters and judge is None:
        raise SciagentError("--judge-param belongs to a judge: name it with --judge KIND:MODEL")
    named = parse_judges(judge, parameters) if judge is not None else ()
    opened = open_runs(find(runs), sources, [rubric])
    late_notes(opened, rubric, allow_late)
    ledgers = (o.case.ledger for o in opened if o.case)
    whose = recorded_judge(ledgers, named, "--judge KIND:MODEL (and --judge-param)", poll)
    with progress(opened, "scoring runs") as shown:
        scored = [score_run(run, rubric, whose) for run in shown]
    validity = calibrations.validity(whose.identity, rubric)
    name = judge_name(whose.identity) if whose.identity is not None else None
    return cohort_table(scored, rubric, name, validity)
