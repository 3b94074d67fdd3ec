"""Commands about tasks: make one, register its data, check that it is whole and blind."""

from __future__ import annotations

from pathlib import Path

import click

from ..text import clean
from .common import PATH


@click.group()
def task() -> None:
    """Make tasks, and check that they are whole and blind."""


@task.command("new")
@click.argument("folder", type=PATH)
@click.option("--data", "data", multiple=True, required=True, type=PATH, help="A data file to copy (repeatable).")
@click.option("--title", required=True, help="Neutral: it names neither the source nor its result.")
@click.option("--domain", required=True, metavar="WORD")
@click.option("--t0", required=True, metavar="YYYY-MM-DD", help="Nothing published on or after this day may be used.")
@click.option("--licence", required=True, metavar="NAME", help="Licence of the data, such as CC0-1.0.")
def task_new(folder: Path, data: tuple[Path, ...], title: str, domain: str, t0: str, licence: str) -> None:
    """Make the task FOLDER; the folder's name becomes the task's id.

    Every place that needs your words says REPLACE; `sciagent task check` lists what is left.

    \b
    Example:
        sciagent task new tasks/river_levels --data levels.csv --title "Levels of a river" \\
            --domain hydrology --t0 2020-01-01 --licence CC0-1.0
    """
    from ..tasks.new import new_task

    made = new_task(folder, data, title=title, domain=domain, t0=t0, licence=licence)
    click.echo(f"made: {folder} ({len(made.manifest.files)} data files)")
    click.echo(f"next: fill in what says REPLACE, then run: sciagent task check {folder}")


@task.command("hash")
@click.argument("folder", type=PATH)
def task_hash(folder: Path) -> None:
    """Register the files in FOLDER/data: write their bytes and SHA-256 into task.yaml."""
    from ..tasks.new import register_data

    click.echo(f"registered: {register_data(folder)} files in {folder / 'task.yaml'}")


@task.command("check")
@click.argument("folders", nargs=-1, required=True, type=PATH)
@click.option("--rubric", default=None, help="Rubric whose dimensions feasibility labels may name.")
def task_check(folders: tuple[Path, ...], rubric: str | None) -> int:
    """Check the tasks in FOLDERS: files and hashes, blindness, cut-off, licence, recomputing, perturbations.

    The scripts in hidden/verify are run in a sandbox over the task's data. Exit code 0: whole and blind. 1: not.
    """
    from ..tasks import Task
    from ..tasks.check import check_task
    from .common import rubrics_of

    chosen = rubrics_of((rubric,) if rubric else ())[0]
    bad = 0
    for folder in folders:
        loaded = Task.load(folder)
        click.echo(f"{loaded.id}:")
        for answer in check_task(loaded, chosen):
            bad += not answer.ok
            click.echo(f"  {'ok   ' if answer.ok else 'WRONG'} {answer.question}: {clean(answer.found)}")
            for problem in answer.problems:
                click.echo(f"          {clean(problem)}")
    return 1 if bad else 0
