"""What commands share that ask a model about a task: its options, and what is told of open questions."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import SciagentError
from ..text import clean, counted
from .common import PATH

if TYPE_CHECKING:
    from ..induction.task_questions import Desk
    from ..judging.pump import Terms
    from ..models import JudgeIdentity
    from ..tasks import Task

NOT_DONE = 1
EXIT_BAD_LINES = 4

JUDGE_OPTIONS = (
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
)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that gives a command these options, in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def desk_of(task: Task, folder: Path, given: dict[str, Any]) -> Desk:
    """Where questions about `task` go, by the `JUDGE_OPTIONS` that were `given`; answers are recorded in `folder`.

    Raises:
        SciagentError: a judge that can't be asked, an answers file that can't be read, a cost without a known price.
    """
    from ..induction.states import StateFolder
    from ..induction.task_questions import Desk
    from ..judging.clients import make_client
    from ..judging.handoff import Answers, read_answers

    judge = _identity(given["judge"], given["parameters"])
    answers = read_answers(given["answers"]) if given["answers"] is not None else Answers()
    for problem in answers.refused:
        click.echo(f"not taken: {clean(str(problem))}", err=True)
    desk = Desk(task.id, StateFolder(folder), judge, given=answers.given, unread=len(answers.refused))
    if judge is not None and judge.kind != "handoff":
        desk.make_client = partial(make_client, judge, base_url=given["base_url"], api_key=None)
        desk.terms = _terms(judge, given["max_calls"], given["max_cost"])
    return desk


def _identity(judge: str | None, parameters: tuple[str, ...]) -> JudgeIdentity | None:
    from ..judging.handoff import handoff_identity
    from ..judging.identity import parse_identity

    if judge is None:
        return None
    identity = parse_identity(judge, parameters)
    return handoff_identity(identity.model, "item") if identity.kind == "handoff" else identity


def _terms(judge: JudgeIdentity, max_calls: int | None, max_cost: float | None) -> Terms:
    from ..judging.prices import find_price
    from ..judging.pump import Terms
    from ..judging.quota import Budget

    price = find_price(judge)
    if max_cost is not None and price is None:
        raise SciagentError(f"--max-cost: no price is known for {judge.label}; use --max-calls")
    budget = None
    if max_calls is not None or max_cost is not None:
        file = Path(".sciagent") / "budgets" / f"{uuid.uuid4().hex[:12]}.json"
        budget = Budget(file, max_calls=max_calls, max_cost_usd=max_cost)
    return Terms(in_flight=4, price=price, budget=budget)


def answered(desk: Desk, work: Callable[[], object]) -> int:
    """Do `work`; the exit code: 0, or 1 where questions of a hand-off stay open, which are told; 4 either way where
    lines of the answers could not be read."""
    from ..induction.task_questions import OpenQuestions

    try:
        work()
    except OpenQuestions as error:
        for problem in desk.problems:
            click.echo(f"not taken: {clean(problem)}", err=True)
        click.echo(
            f"{counted(error.count, 'open question')} in {error.path}; answer with lines "
            '{"id": ..., "answer": {...}} and run again with --answers FILE'
        )
        return EXIT_BAD_LINES if desk.unread else NOT_DONE
    return EXIT_BAD_LINES if desk.unread else 0
