"""The command that tells whether everything a session needs is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import SciagentError
from ..text import one_line
from .common import PATH, ledger_option, progress, tasks_option

if TYPE_CHECKING:
    from ..models import JudgeIdentity
    from .checkup import Line
    from .settings import Settings

SCHEMA = "sciagent-doctor/1"
EXIT_FAULT = 4
_COLOURS = {"ok": "green", "warning": "yellow", "fault": "red"}


@click.command()
@click.argument("runs", nargs=-1, type=PATH)
@click.option(
    "--judge", default=None, metavar="KIND:MODEL", help="Who must be askable; a panel with commas (default: as set)."
)
@click.option("--base-url", default=None, metavar="URL", help="The server of who is named.")
@click.option("--online", is_flag=True, help="Ask each server for its models. Nothing is paid, but the key is sent.")
@tasks_option
@ledger_option
@click.option("--rubric", "rubrics", multiple=True, help="Rubric by name or file (repeatable; default: as set).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(
    runs: tuple[Path, ...],
    judge: str | None,
    base_url: str | None,
    online: bool,
    tasks: tuple[Path, ...],
    folder: Path | None,
    rubrics: tuple[str, ...],
    as_json: bool,
) -> int:
    """Look at everything a session over RUNS needs, and say what to do about what is missing.

    RUNS may be left out. Tasks, ledger, rubrics and judge are taken from pytest's configuration where no option names
    them. Keys are looked for, never shown. Nothing is sent anywhere without --online.

    Exit code 0: no fault (there may be warnings). 4: a fault.

    \b
    Example:
        sciagent doctor runs/ --judge openai:MODEL --online
    """
    from .settings import find_settings

    found = find_settings(Path.cwd())
    lines = list(_lines(found, runs, judge, base_url, online, tasks, folder, rubrics))
    counts = {state: sum(line.state == state for line in lines) for state in _COLOURS}
    if as_json:
        told = [{"name": i.name, "state": i.state, "text": i.text, "fix": i.fix} for i in lines]
        plain = {"schema": SCHEMA, "faults": counts["fault"], "warnings": counts["warning"], "checks": told}
        click.echo(json.dumps(plain, indent=1, ensure_ascii=False))
    else:
        for line in lines:
            fix = f" -> {line.fix}" if line.fix else ""
            click.echo(f"{click.style(f'{line.state:<7}', fg=_COLOURS[line.state])}  {line.name}: {line.text}{fix}")
        click.echo(", ".join(f"{count} {state}" for state, count in counts.items()))
    return EXIT_FAULT if counts["fault"] else 0


def _lines(
    found: Settings,
    given: tuple[Path, ...],
    judge: str | None,
    base_url: str | None,
    online: bool,
    tasks: tuple[Path, ...],
    folder: Path | None,
    rubrics: tuple[str, ...],
) -> Iterator[Line]:
    from ..evaluation import Sources
    from ..rubrics import DEFAULT_RUBRIC
    from . import checkup
    from .settings import flag_set, path_set

    here = Path.cwd()
    base = found.folder or here
    yield from checkup.machine()
    yield from checkup.settings(found)
    named, problem = _judges(judge or found.text("sciagent_judge"))
    if problem is not None:
        yield checkup.Line("judge", "fault", problem, "name it as openai:MODEL, anthropic:MODEL or handoff:NAME")
    yield from checkup.judges(named, base_url, online=online)
    names = rubrics or found.words("sciagent_rubric") or (DEFAULT_RUBRIC,)
    readable, lines = checkup.rubrics(names, base, here if rubrics else base)
    yield from lines
    places = [t.absolute() for t in tasks] or [base / t for t in found.words("sciagent_tasks")]
    for place in places:
        if not place.is_dir():
            yield checkup.Line("tasks", "fault", f"{place}: no such folder", "name the folder that holds the tasks")
    set_ledger = found.text("sciagent_ledger")
    ledger = folder.absolute() if folder else base / set_ledger if set_ledger else None
    words, lines = checkup.templates(path_set("templates")())
    yield from lines
    images = flag_set("images")()
    sources = Sources(base, tuple(places), ledger, canary=True, images=images, templates=words)
    paths, problems = _find(given)
    yield from problems
    with progress(paths, "checking runs") as shown:
        opened, lines = checkup.runs(shown)
    yield from lines
    yield from checkup.tasks(opened, sources.task_folders)
    folder_of = {run.label: sources.ledger_of(run.path) for run in opened}
    yield from checkup.ledgers(opened, folder_of, chosen=bool(named))
    with progress(opened, "looking for answers to other prompts") as known:
        yield from checkup.answers_to_others(known, sources, readable)
    yield from checkup.folders(base, sorted(set(folder_of.values())))


def _judges(names: str | None) -> tuple[tuple[JudgeIdentity, ...], str | None]:
    """The judge or the members of the panel, or what is wrong with how they are named."""
    from ..judging.identity import parse_judges

    try:
        return (() if names is None else parse_judges(names)), None
    except SciagentError as error:
        return (), one_line(str(error), 300)


def _find(given: tuple[Path, ...]) -> tuple[list[Path], list[Line]]:
    """The runs at or below `given`, each once, and what is wrong with what is given."""
    from ..runs.discover import find_runs
    from .checkup import Line

    found: list[Path] = []
    lines = []
    for path in given:
        try:
            below = find_runs(path.absolute())
        except SciagentError as error:
            lines.append(Line("run", "fault", one_line(str(error), 300), "name a frozen run or a folder of runs"))
            continue
        if not below:
            lines.append(Line("run", "fault", f"no frozen run at or below {path}", "freeze one with sciagent freeze"))
        found += below
    return list(dict.fromkeys(found)), lines
