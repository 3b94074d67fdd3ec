"""Commands that write runs and their verdicts in formats that other tools read."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import SciagentError
from ..text import counted
from .common import (
    PATH,
    calibration_option,
    find,
    known_calibrations,
    late_notes,
    late_option,
    sources_of,
    tasks_option,
)

if TYPE_CHECKING:
    from ..reporting.inspect_log import About
    from ..reporting.results import Results

F = TypeVar("F", bound=Callable[..., Any])
WHOSE = "--judge KIND:MODEL"


@click.group()
def export() -> None:
    """Write runs and their recorded verdicts in a format that other tools read. Nobody is asked."""


def _scoring_options(command: F) -> F:
    """How runs are scored, as all exports of verdicts are told."""
    for option in (
        click.option("--judge", default=None, metavar="KIND:MODEL", help="Whose verdicts (default: the only judge's)."),
        late_option,
        click.option("--rubric", default=None, help="Rubric by name or file (default: truthinsight)."),
        click.option("--ledger", type=PATH, default=None, help="Ledger folder (default: verdicts/ beside the runs)."),
        tasks_option,
        calibration_option,
    ):
        command = option(command)
    return command


def _scoring(command: F) -> F:
    """Which runs, and how they are scored."""
    return click.argument("runs", nargs=-1, required=True, type=PATH)(_scoring_options(command))


@export.command()
@_scoring
@click.option("-o", "--output", "file", required=True, type=PATH, help="The file to write.")
def jsonl(file: Path, **how: Any) -> None:
    """Write every verdict of RUNS as a line of JSON (schema sciagent-verdict/1).

    \b
    Example:
        sciagent export jsonl runs/ -o verdicts.jsonl
    """
    from ..ledger.store import write_atomically
    from ..reporting.lines_file import verdict_lines
    from ..reporting.words import Words

    results, _ = _scored(None, **how)
    lines = list(verdict_lines(results, Words.of(os.environ)))
    write_atomically(file, "".join(f"{line}\n" for line in lines))
    click.echo(f"{counted(len(lines), 'verdict')} of {counted(len(results.runs), 'run')} in {file}")
    click.echo(results.believed.sentence)


@export.command()
@_scoring
@click.option("--profile", default=None, help="Add levels up by this profile, not the rubric's own.")
@click.option("-o", "--output", "place", required=True, type=PATH, help="A file; a folder where there are systems.")
def inspect(place: Path, profile: str | None, **how: Any) -> None:
    """Write RUNS as logs of Inspect (EvalLog, JSON), to be opened by its viewer and read by its Python functions.

    A log holds one system: of several, each has a file of its own in the folder. A sample is a finding, a score is a
    criterion's level. What has no level has no score there; a run that failed is a sample with an error.

    \b
    Example:
        sciagent export inspect runs/my-agent -o logs/my-agent.json
    """
    from ..documents import json_text
    from ..ledger.store import write_atomically
    from ..reporting.inspect_log import inspect_log

    results, about = _scored(profile, **how)
    systems = sorted({run.index.system for run in results.runs if run.index.system})
    if place.is_dir() or len(systems) > 1:
        if place.exists() and not place.is_dir():
            raise SciagentError(f"{len(systems)} systems need a folder, and this is a file", path=place)
        files = {system: place / f"{system}.json" for system in systems}
    else:
        files = dict.fromkeys(systems, place)
    for system, file in files.items():
        write_atomically(file, json_text(inspect_log(system, results, about, _now())))
        click.echo(f"{system}: {file}")
    click.echo(results.believed.sentence)


@export.command()
@_scoring
@click.option("-o", "--output", "file", required=True, type=PATH, help="The file to write.")
def truthinsightbench(file: Path, **how: Any) -> None:
    """Write the results of RUNS as TruthInsightBench writes its own (final_scoring_result.json).

    They are added up by profile truthinsight-v1. A number that is not known is null, with its bounds beside it, and the
    status is then 'incomplete'. Runs that failed have no place in the format: they are listed apart.

    \b
    Example:
        sciagent export truthinsightbench runs/ -o final_scoring_result.json
    """
    from ..documents import json_text
    from ..ledger.store import write_atomically
    from ..reporting.truthinsight_result import PROFILE, truthinsight_result

    results, _ = _scored(PROFILE, **how)
    content = truthinsight_result(results, _now())
    write_atomically(file, json_text(content))
    click.echo(f"{content['status']}: {len(content['run_results'])} runs in {file}")
    for other in content["not_in_this_format"]:
        click.echo(f"not in this format: {other['agent']}/{other['task_id']} ({other['state']})")
    click.echo(results.believed.sentence)


@export.command("ro-crate")
@click.argument("run", type=PATH)
@_scoring_options
@click.option("--profile", default=None, help="Add levels up by this profile, not the rubric's own.")
@click.option("-o", "--output", "folder", required=True, type=PATH, help="The new folder of the crate.")
def ro_crate(run: Path, folder: Path, profile: str | None, **how: Any) -> None:
    """Write the frozen RUN and its recorded verdicts as an RO-Crate.

    The crate holds every file of the run with its hash, run.json, verdicts.jsonl (schema sciagent-verdict/1), and says
    which system made the run and which rubric and judge gave which score. Needs pytest-sciagent[ro-crate].

    \b
    Example:
        sciagent export ro-crate runs/my-agent/my_task -o crate
    """
    from ..reporting.ro_crate import write_crate
    from ..reporting.words import Words
    from ..runs import MANIFEST, Run

    if not (run / MANIFEST).is_file():
        raise SciagentError(f"is no frozen run: it has no {MANIFEST}", path=run)
    results, about = _scored(profile, runs=(run,), **how)
    _, task = about[results.runs[0].index.nodeid]
    count = write_crate(folder, Run.load(run.absolute()), task, results, Words.of(os.environ))
    click.echo(f"{counted(count, 'file')} in the crate {folder}")
    click.echo(results.believed.sentence)


def _scored(
    profile: str | None,
    runs: tuple[Path, ...],
    tasks: tuple[Path, ...],
    ledger: Path | None,
    rubric: str | None,
    judge: str | None,
    allow_late: bool,
    calibration: Path | None,
) -> tuple[Results, About]:
    """All runs, scored by what is recorded, secrets masked; and the manifest and the task of each."""
    from ..evaluation.recorded import read_rubric, recorded_judge
    from ..judging.identity import parse_judges
    from ..profile_names import PROFILES
    from ..reporting.results import Results, system_results
    from ..reporting.scored_runs import open_runs, score_run
    from ..reporting.words import Words
    from ..rubrics import DEFAULT_RUBRIC

    chosen = read_rubric(rubric or DEFAULT_RUBRIC, profile, PROFILES, Path.cwd())
    sources = sources_of(tasks, ledger)
    known = known_calibrations(calibration, sources)
    opened = open_runs(find(runs), sources, [chosen])
    notes = late_notes(opened, chosen, allow_late)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    named = parse_judges(judge) if judge is not None else ()
    whose = recorded_judge((run.case.ledger for run in opened if run.case is not None), named, WHOSE)
    scored = [score_run(run, chosen, whose) for run in opened]
    words = Words.of(os.environ)
    found = tuple(words.run(run.result) for run in scored)
    about = {run.result.index.nodeid: (run.manifest, run.task) for run in scored}
    validity = known.validity(whose.identity, chosen)
    judged = Results(found, system_results(found), (chosen,), whose.identity, None, notes=notes, validity=validity)
    return judged, about


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
