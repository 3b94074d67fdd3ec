"""Commands about rubrics: lint, freeze."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..text import clean
from .common import PATH, named_task

if TYPE_CHECKING:
    from ..models import Rubric
    from ..tasks import Task


@click.group()
def rubric() -> None:
    """Check rubrics, and freeze them."""


_TASK = click.option("--task", default=None, help="The task it is for (default: the rubric's own task_id).")
_TASKS = click.option("--tasks", multiple=True, type=PATH, help="Where tasks are looked up first (repeatable).")


def _loaded(path: Path, task: str | None, tasks: tuple[Path, ...]) -> tuple[Rubric, Task | None]:
    from ..documents import load_yaml
    from ..models import Rubric

    found = load_yaml(path, Rubric)
    name = task or found.task_id
    return found, named_task(name, tasks) if name is not None else None


@rubric.command("lint")
@click.argument("files", nargs=-1, required=True, type=PATH)
@_TASK
@_TASKS
def rubric_lint(files: tuple[Path, ...], task: str | None, tasks: tuple[Path, ...]) -> int:
    """Look for what makes the criteria in FILES hard to apply, unfair, or a leak of what the task hides.

    Compound questions, vague words, what nobody can check, placeholders, duplicates, contradictions, data that the task
    lacks, traces of the hidden study, goals without a criterion, missing weights and levels. Exit code 1: something was
    found.
    """
    from ..errors import SciagentError
    from ..induction.lint import LintFinding, lint
    from ..induction.pipeline import data_names

    total = 0
    for path in files:
        try:
            loaded, made_for = _loaded(path, task, tasks)
        except SciagentError as error:
            if not path.is_file():
                raise
            found = [LintFinding("invalid", str(error), "it can't be read", "see docs/induction.md")]
        else:
            found = lint(loaded, made_for, data_names(made_for) if made_for is not None else None)
        total += len(found)
        click.echo(f"{path}: {len(found)} findings")
        for finding in found:
            click.echo(f"  {clean(finding.told())}")
    return 1 if total else 0


@rubric.command("freeze")
@click.argument("file", type=PATH)
@_TASK
@_TASKS
def rubric_freeze(file: Path, task: str | None, tasks: tuple[Path, ...]) -> int:
    """Freeze the rubric in FILE: its next version, with digest and time in FILE's .frozen.json. It is linted first.

    A frozen rubric that was edited can't be used until it is frozen again. Exit code 1: lint has found something.
    """
    from ..induction.pipeline import freeze_rubric

    loaded, made_for = _loaded(file, task, tasks)
    frozen, found = freeze_rubric(loaded, file, made_for)
    for finding in found:
        click.echo(clean(finding.told()), err=True)
    if frozen is None:
        click.echo(f"not frozen: {len(found)} lint findings")
        return 1
    click.echo(f"frozen: {file}, version {frozen.version}, {frozen.frozen_at}")
    click.echo(f"digest: {frozen.digest}")
    return 0
