"""The induction of rubrics as a command: the whole way, or one stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..text import clean, counted
from .common import PATH, named_task, tasks_option
from .desk import JUDGE_OPTIONS, NOT_DONE, answered, desk_of, with_options

if TYPE_CHECKING:
    from ..induction.pipeline import Induction, Stages
    from ..models import Rubric


class _Stages(click.Group):
    """`sciagent induce TASK` is `sciagent induce all TASK`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["all", *args]
        return super().parse_args(context, args)


@click.group(cls=_Stages, invoke_without_command=False)
def induce() -> None:
    """Induce a rubric for a task before any agent starts: `sciagent induce TASK`, or one stage of it.

    Stages: skeleton (goals, from the instruction alone), literature, data (a profile by code, then its meaning),
    criteria; then the rubric is linted and frozen. Each writes a state file and is not done again for the same inputs.

    \b
    With a model that can be asked:
        sciagent induce my_task --judge openai:MODEL -o rubrics/induced/my_task.yaml
    By hand-off, as often as questions are open (they are in .sciagent/induction/my_task/open.jsonl):
        sciagent induce my_task --judge handoff:NAME
        sciagent induce my_task --judge handoff:NAME --answers answers.jsonl
    """


_COMMON = (
    *JUDGE_OPTIONS,
    click.option(
        "--state", type=PATH, default=None, metavar="DIR", help="State folder (default: .sciagent/induction/TASK)."
    ),
    tasks_option,
    click.option(
        "--provider",
        "providers",
        multiple=True,
        metavar="NAME[=URL]",
        help="Where literature is searched (repeatable): arxiv, openalex, semantic-scholar, tavily, local=FOLDER. The "
        "task's own literature/ is always searched first.",
    ),
    click.option(
        "--pause",
        type=click.FloatRange(0),
        default=1.0,
        show_default=True,
        metavar="SECONDS",
        help="At least so long between two requests to one provider.",
    ),
    click.option("--offline", is_flag=True, help="Search what earlier searches have left in .sciagent/http alone."),
    click.option(
        "--blocklist",
        "blocklists",
        multiple=True,
        type=PATH,
        help="Studies that must not be found, beside the one that the task hides (YAML; repeatable).",
    ),
    click.option(
        "--blocked",
        type=PATH,
        default=None,
        metavar="FILE",
        help="For the evaluator alone: what was blocked (default: .sciagent/evaluator/TASK.blocked.jsonl).",
    ),
    click.option(
        "--stages",
        type=click.Choice(["all", "skeleton"]),
        default="all",
        show_default=True,
        help="skeleton: the goals alone become the rubric.",
    ),
    click.option("--no-literature", is_flag=True, help="Ablation: criteria without literature."),
    click.option("--no-data", is_flag=True, help="Ablation: criteria without the data profile."),
    click.option("--second-skeleton", is_flag=True, help="Draw the goals twice, independently, and merge them."),
    click.option("--critique", is_flag=True, help="Have what the criteria leave out looked for, and write them again."),
)


def _induction(task_name: str, given: dict[str, Any]) -> Induction:
    from ..induction.blocklist import task_blocklist
    from ..induction.literature import Grounding
    from ..induction.pipeline import Induction, Switches
    from ..induction.providers import Http, make_provider

    task = named_task(task_name, given["tasks"])
    desk = desk_of(task, given["state"] or Path(".sciagent") / "induction" / task.id, given)
    stages: Stages = given["stages"]
    switches = Switches(
        stages, not given["no_literature"], not given["no_data"], given["second_skeleton"], given["critique"]
    )
    blocked = given["blocked"] or Path(".sciagent") / "evaluator" / f"{task.id}.blocked.jsonl"
    blocklist = task_blocklist(task, given["blocklists"], blocked)
    http = Http(Path(".sciagent") / "http", offline=given["offline"], pause_s=given["pause"])
    providers = [make_provider(name, http) for name in given["providers"]]
    desk.guard = blocklist.blocks_text
    grounding = Grounding(desk, task, providers, blocklist)
    return Induction(task, desk, switches, grounding, lambda line: click.echo(clean(line)))


def _run(work: Callable[[Induction], object], task: str, given: dict[str, Any]) -> int:
    """Do `work`; open questions of a hand-off end it with exit code 1, and are told (see `answered`)."""
    induction = _induction(task, given)
    return answered(induction.desk, lambda: work(induction))


@induce.command("skeleton")
@click.argument("task")
@with_options(*_COMMON)
def induce_skeleton(task: str, **given: Any) -> int:
    """Goals from the instruction of TASK alone.

    \b
    Example:
        sciagent induce skeleton my_task --judge openai:MODEL
    """
    return _run(lambda induction: induction.skeleton, task, given)


@induce.command("literature")
@click.argument("task")
@with_options(*_COMMON)
def induce_literature(task: str, **given: Any) -> int:
    """What the literature says about meeting the goals of TASK.

    \b
    Example:
        sciagent induce literature my_task --judge openai:MODEL --provider arxiv
    """
    return _run(lambda induction: induction.literature, task, given)


@induce.command("data")
@click.argument("task")
@with_options(*_COMMON)
def induce_data(task: str, **given: Any) -> int:
    """What the data of TASK are (by code) and mean (by a model), and which goals they allow for.

    \b
    Example:
        sciagent induce data my_task --judge openai:MODEL
    """
    return _run(lambda induction: induction.data, task, given)


@induce.command("criteria")
@click.argument("task")
@with_options(*_COMMON)
def induce_criteria(task: str, **given: Any) -> int:
    """Criteria for TASK, from goals, literature and data.

    \b
    Example:
        sciagent induce criteria my_task --judge openai:MODEL
    """
    return _run(lambda induction: induction.criteria, task, given)


@induce.command("all")
@click.argument("task")
@with_options(*_COMMON)
@click.option(
    "-o", "--output", type=PATH, default=None, help="The rubric to write (default: rubrics/induced/TASK.yaml)."
)
def induce_all(task: str, output: Path | None, **given: Any) -> int:
    """All stages for TASK; then the rubric is linted, frozen and written, with a record of every answer beside it.

    Exit code 0: written. 1: questions are open (hand-off), or lint has found something. 4: lines of --answers can't be
    read; they are told, the others are taken.

    \b
    Example:
        sciagent induce all my_task --judge openai:MODEL -o rubrics/induced/my_task.yaml
    """
    faults = []

    def work(induction: Induction) -> None:
        path = output or Path("rubrics") / "induced" / f"{induction.task.id}.yaml"
        faults.extend(_write(induction, induction.rubric(), path))

    return _run(work, task, given) or (NOT_DONE if faults else 0)


def _write(induction: Induction, rubric: Rubric, path: Path) -> list[str]:
    import json

    from ..induction.pipeline import freeze_rubric
    from ..ledger.store import write_atomically

    frozen, found = freeze_rubric(rubric, path, induction.task)
    if frozen is None:
        from ..rubrics.frozen import rubric_yaml

        draft = induction.desk.folder.path / "draft.yaml"
        write_atomically(draft, rubric_yaml(rubric))
        told = [finding.told() for finding in found]
        for line in told:
            click.echo(clean(line), err=True)
        click.echo(
            f"not frozen: lint has found {counted(len(told), 'problem')}. The draft is in {draft}: mend it, then "
            "sciagent rubric freeze it"
        )
        return told
    record = json.dumps(induction.record().as_json(), indent=1, ensure_ascii=False)
    write_atomically(path.with_name(f"{path.stem}.induction.json"), record + "\n")
    click.echo(f"frozen: {path}, version {frozen.version}, {frozen.frozen_at}, {len(frozen.criteria)} criteria")
    click.echo(f"digest: {frozen.digest}")
    return []
