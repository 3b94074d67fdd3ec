"""The command that imports what other benchmarks wrote."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from ..errors import SciagentError
from ..text import clean
from .common import PATH

EXIT_REFUSED = 1


@click.command(name="import")
@click.argument("format")
@click.argument("source", type=PATH)
@click.option("-o", "--output", "target", required=True, type=PATH, help="Folder for what comes in; made if need be.")
@click.option("--system", default=None, metavar="NAME", help="Name of the system, for runs whose source names none.")
@click.option("-q", "--quiet", is_flag=True, help="Counts and refusals only, not each thing that came in.")
def import_(format: str, source: Path, target: Path, system: str | None, quiet: bool) -> int:
    """Import tasks, runs, rubrics, results and labels of another benchmark from the folder SOURCE.

    FORMAT is truthinsightbench, researchclawbench, astabench, mlrbench, paperbench or codescientist; auto takes all
    that is recognised. What comes in lies below the output folder: tasks/, runs/, rubrics/, labels/, results/, and
    import.json, which tells everything. Nothing of the source is run or changed. What is broken is refused by itself,
    with its file and the reason.

    \b
    Examples:
        sciagent import auto path/to/benchmark -o imported
        pytest --sciagent-run=imported/runs --sciagent-tasks=imported/tasks

    An import that was interrupted goes on where the same command is given again: what is there is told as such.

    Exit code 0: all came in. 1: something was refused. 4: nothing of the format is there.
    """
    from ..documents import json_text
    from ..importers import SUMMARY, Gathering, account, bring_in
    from ..ledger.store import write_atomically

    place = target.absolute()
    if place.exists() and not place.is_dir():
        raise SciagentError("is not a folder", path=target)
    if _is_done(place / SUMMARY):
        raise SciagentError("something was imported here before: choose another folder", path=target)
    if place.resolve().is_relative_to(source.resolve()):
        raise SciagentError("lies inside what is to be imported: choose another folder", path=target)
    progress = _progress if sys.stderr.isatty() else _silence
    into = Gathering(place, system, progress)
    try:
        formats = bring_in(format, source.absolute(), into)
    finally:
        _progress_end(progress)
        if into.loaded or into.refused:
            write_atomically(place / SUMMARY, json_text(into.as_json()))
    click.echo(f"{clean(str(source))}: {', '.join(f.title for f in formats)}")
    for line in account(into, quiet=quiet):
        click.echo(line)
    click.echo(f"in {target}; all of it is told in {target / SUMMARY}")
    return EXIT_REFUSED if into.refused else 0


def _is_done(summary: Path) -> bool:
    """Whether an import came to its end here."""
    from ..documents import plain_json, read_text

    if not summary.exists():
        return False
    told = plain_json(read_text(summary), summary)
    return not isinstance(told, dict) or told.get("complete") is not False


def _progress(line: str) -> None:
    sys.stderr.write(f"\r\x1b[K{clean(line, 100)}")
    sys.stderr.flush()


def _silence(line: str) -> None:
    """Nobody is watching."""


def _progress_end(progress: Callable[[str], None]) -> None:
    if progress is _progress:
        sys.stderr.write("\r\x1b[K")
