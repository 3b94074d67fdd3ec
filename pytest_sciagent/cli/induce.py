"""The induction of rubrics as a command: the whole way, or one stage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import SciagentError
from ..text import clean
from .common import PATH, named_task

if TYPE_CHECKING:
    from ..induction.pipeline import Induction, Stages
    from ..models import JudgeIdentity, Rubric

NOT_DONE = 1


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
    click.option(
        "--judge", "judge", default=None, metavar="KIND:MODEL", help="Who answers: openai:, anthropic:, handoff:NAME."
    ),
    click.option(
        "--param", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter to send (repeatable)."
    ),
    click.option("--base-url", default=None, help="Another server than the provider's own."),
    click.option("--max-calls", type=click.IntRange(1), default=None, help="Stop asking after so many calls."),
    click.option(
        "--max-cost",
        type=click.FloatRange(0, min_open=True),
        default=None,
        metavar="USD",
        help="Stop asking at this cost.",
    ),
    click.option("--answers", type=PATH, default=None, help="Answers to a hand-off (JSON lines) to take in first."),
    click.option(
        "--state", type=PATH, default=None, metavar="DIR", help="State folder (default: .sciagent/induction/TASK)."
    ),
    click.option("--tasks", multiple=True, type=PATH, help="Where tasks are looked up first (repeatable)."),
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


def _common(command: Any) -> Any:
    for option in reversed(_COMMON):
        command = option(command)
    return command


def _identity(judge: str | None, parameters: tuple[str, ...]) -> JudgeIdentity | None:
    from ..judging.handoff import handoff_identity
    from ..judging.identity import parse_identity

    if judge is None:
        return None
    identity = parse_identity(judge, parameters)
    return handoff_identity(identity.model, "item") if identity.kind == "handoff" else identity


def _induction(task_name: str, given: dict[str, Any]) -> Induction:
    from ..induction.asking import Desk
    from ..induction.blocklist import task_blocklist
    from ..induction.literature import Grounding
    from ..induction.pipeline import Induction, Switches
    from ..induction.providers import Http, make_provider
    from ..induction.states import StateFolder
    from ..judging.clients import make_client
    from ..judging.handoff import read_answers
    from ..judging.prices import find_price
    from ..judging.pump import Terms
    from ..judging.quota import Budget

    task = named_task(task_name, given["tasks"])
    folder = StateFolder(given["state"] or Path(".sciagent") / "induction" / task.id)
    judge = _identity(given["judge"], given["parameters"])
    connect = None
    terms = Terms(in_flight=4)
    if judge is not None and judge.kind != "handoff":
        connect = partial(make_client, judge, base_url=given["base_url"], api_key=None)
        price = find_price(judge)
        if given["max_cost"] is not None and price is None:
            raise SciagentError(f"--max-cost: no price is known for {judge.label}; use --max-calls")
        limited = given["max_calls"] is not None or given["max_cost"] is not None
        budget = Budget(folder.path / "budget.json", max_calls=given["max_calls"], max_cost_usd=given["max_cost"])
        terms = Terms(in_flight=4, price=price, budget=budget if limited else None)
    answers = read_answers(given["answers"]) if given["answers"] is not None else ()
    desk = Desk(task.id, folder, judge, connect, terms, answers)
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
    """Do `work`; open questions of a hand-off end it with exit code 1, and are told."""
    from ..induction.asking import OpenQuestions

    induction = _induction(task, given)
    try:
        work(induction)
    except OpenQuestions as error:
        for problem in induction.desk.problems:
            click.echo(f"not taken: {clean(problem)}", err=True)
        click.echo(
            f"{error.count} open question{'s' if error.count > 1 else ''} in {error.path}; answer with lines "
            '{"id": ..., "answer": {...}} and run again with --answers FILE'
        )
        return NOT_DONE
    return 0


@induce.command("skeleton")
@click.argument("task")
@_common
def induce_skeleton(task: str, **given: Any) -> int:
    """Goals from the instruction of TASK alone."""
    return _run(lambda induction: induction.skeleton, task, given)


@induce.command("literature")
@click.argument("task")
@_common
def induce_literature(task: str, **given: Any) -> int:
    """What the literature says about meeting the goals of TASK."""
    return _run(lambda induction: induction.literature, task, given)


@induce.command("data")
@click.argument("task")
@_common
def induce_data(task: str, **given: Any) -> int:
    """What the data of TASK are (by code) and mean (by a model), and which goals they allow for."""
    return _run(lambda induction: induction.data, task, given)


@induce.command("criteria")
@click.argument("task")
@_common
def induce_criteria(task: str, **given: Any) -> int:
    """Criteria for TASK, from goals, literature and data."""
    return _run(lambda induction: induction.criteria, task, given)


@induce.command("all")
@click.argument("task")
@_common
@click.option(
    "-o", "--output", type=PATH, default=None, help="The rubric to write (default: rubrics/induced/TASK.yaml)."
)
def induce_all(task: str, output: Path | None, **given: Any) -> int:
    """All stages for TASK; then the rubric is linted, frozen and written, with a record of every answer beside it.

    Exit code 0: written. 1: questions are open (hand-off), or lint has found something.
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
            f"not frozen: {len(told)} lint findings. The draft is in {draft}: mend it, then sciagent rubric freeze it"
        )
        return told
    record = json.dumps(induction.record().as_json(), indent=1, ensure_ascii=False)
    write_atomically(path.with_name(f"{path.stem}.induction.json"), record + "\n")
    click.echo(f"frozen: {path}, version {frozen.version}, {frozen.frozen_at}, {len(frozen.criteria)} criteria")
    click.echo(f"digest: {frozen.digest}")
    return []
