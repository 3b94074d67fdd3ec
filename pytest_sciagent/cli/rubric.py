"""Commands about rubrics: lint, freeze, quality."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..text import clean, counted
from .common import PATH, named_task, tasks_option
from .desk import JUDGE_OPTIONS, answered, desk_of, with_options
from .told import Told, tells

if TYPE_CHECKING:
    from ..models import Rubric
    from ..tasks import Task


@click.group()
def rubric() -> None:
    """Check rubrics, freeze them, measure how good they are."""


_TASK = click.option("--task", default=None, help="The task it is for (default: the rubric's own task_id).")


def _loaded(path: Path, task: str | None, tasks: tuple[Path, ...]) -> tuple[Rubric, Task | None]:
    from ..documents import load_yaml
    from ..models import Rubric

    found = load_yaml(path, Rubric)
    name = task or found.task_id
    return found, named_task(name, tasks) if name is not None else None


@rubric.command("lint")
@click.argument("files", nargs=-1, required=True, type=PATH)
@_TASK
@tasks_option
@tells("rubric-lint", "rubrics")
def rubric_lint(told: Told, files: tuple[Path, ...], task: str | None, tasks: tuple[Path, ...]) -> int:
    """Look for what makes the criteria in FILES hard to apply, unfair, or a leak of what the task hides.

    Compound questions, vague words, what nobody can check, placeholders, duplicates, contradictions, data that the task
    lacks, traces of the hidden study, goals without a criterion, missing weights and levels. Exit code 1: there is
    a problem.

    \b
    Example:
        sciagent rubric lint rubrics/my_rubric.yaml --task my_task
    """
    from ..errors import SciagentError
    from ..induction.lint import LintProblem, lint
    from ..induction.pipeline import data_names

    total = 0
    for path in files:
        try:
            loaded, made_for = _loaded(path, task, tasks)
        except SciagentError as error:
            if not path.is_file():
                raise
            found = [LintProblem("invalid", str(error), "it can't be read", "see docs/induction.md")]
        else:
            found = lint(loaded, made_for, data_names(made_for) if made_for is not None else None)
        total += len(found)
        lines = [clean(problem.told()) for problem in found]
        fact = {"file": str(path), "problems": lines}
        told.each("rubrics", fact, f"{path}: {counted(len(found), 'problem')}", *(f"  {line}" for line in lines))
    return 1 if total else 0


@rubric.command("freeze")
@click.argument("file", type=PATH)
@_TASK
@tasks_option
@tells("rubric-frozen")
def rubric_freeze(told: Told, file: Path, task: str | None, tasks: tuple[Path, ...]) -> int:
    """Freeze the rubric in FILE: its next version, with digest and time in FILE's .frozen.json. It is linted first.

    A frozen rubric that was edited can't be used until it is frozen again. Exit code 1: lint has found a problem.

    \b
    Example:
        sciagent rubric freeze rubrics/my_rubric.yaml --task my_task
    """
    from ..induction.pipeline import freeze_rubric

    loaded, made_for = _loaded(file, task, tasks)
    frozen, found = freeze_rubric(loaded, file, made_for)
    for problem in found:
        click.echo(clean(problem.told()), err=True)
    if frozen is None:
        told.say(f"not frozen: lint has found {counted(len(found), 'problem')}", frozen=False, problems=len(found))
        return 1
    facts = {"file": str(file), "version": frozen.version, "frozen_at": str(frozen.frozen_at), "digest": frozen.digest}
    told.say(f"frozen: {file}, version {frozen.version}, {frozen.frozen_at}", frozen=True, **facts)
    told.say(f"digest: {frozen.digest}")
    return 0


@rubric.command("quality")
@click.argument("files", nargs=-1, required=True, type=PATH)
@with_options(*JUDGE_OPTIONS)
@_TASK
@tasks_option
@click.option("--gold", type=PATH, default=None, help="A gold checklist (a rubric): which of its items are entailed.")
@click.option(
    "--state",
    type=PATH,
    default=None,
    metavar="DIR",
    help="Where answers are recorded (default: .sciagent/quality/TASK).",
)
@click.option("-o", "--output", type=PATH, default=None, help="Write the measures as JSON, too.")
def rubric_quality(
    files: tuple[Path, ...],
    task: str | None,
    tasks: tuple[Path, ...],
    gold: Path | None,
    state: Path | None,
    output: Path | None,
    **given: Any,
) -> int:
    """Have a model mark the rubrics in FILES (all of one task) from 1 to 5 on four axes, each by itself.

    Give the skeleton's rubric (sciagent induce --stages skeleton) and the full one to see what the further stages add.
    With --gold, also what share of a gold checklist's weight each covers, and which items are lost. Exit code 1:
    questions are open (hand-off). What is recorded already (--state) is not asked again: no key is needed.

    \b
    Example:
        sciagent rubric quality rubrics/my_rubric.yaml --task my_task --judge openai:MODEL
    """
    import json

    from ..documents import load_yaml
    from ..errors import SciagentError
    from ..induction.quality import measure
    from ..ledger.store import write_atomically
    from ..models import Rubric

    loaded = [_loaded(path, task, tasks) for path in files]
    made_for = {found.id: found for _, found in loaded if found is not None}
    if len(made_for) != 1:
        raise SciagentError("name rubrics of one task, or the task by --task")
    (about,) = made_for.values()
    rubrics = [found for found, _ in loaded]
    checklist = load_yaml(gold, Rubric) if gold is not None else None
    desk = desk_of(about, state or Path(".sciagent") / "quality" / about.id, given)
    results: list[dict[str, Any]] = []

    def work() -> None:
        for path, found, one in zip(files, rubrics, measure(desk, about, rubrics, checklist), strict=True):
            told: dict[str, Any] = {"file": str(path), "digest": found.digest, "marks": one.marks}
            if one.coverage is not None:
                covered = one.coverage
                told["coverage"] = {"share": covered.share, "entailed": covered.entailed, "lost": covered.lost}
            results.append(told)

    code = answered(desk, work)
    if not results:
        return code
    for one in results:
        shown = ", ".join(f"{axis.replace('_', ' ')} {mark}" for axis, mark in one["marks"].items())
        click.echo(f"{one['file']}: {shown}")
        if "coverage" in one:
            lost = ", ".join(one["coverage"]["lost"]) or "nothing"
            click.echo(f"  covers {one['coverage']['share']:.0%} of the gold weight; lost: {lost}")
    if output is not None:
        write_atomically(output, json.dumps({"judge": given["judge"], "rubrics": results}, indent=1) + "\n")
    return code
