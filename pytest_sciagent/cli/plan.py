"""The command that tells what asking judges would take, before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import SciagentError
from ..text import one_line
from .common import PATH, find, progress, rubrics_of, sources_of, warn
from .plan_shown import JudgePlan, json_of, lines_of
from .settings import flag_set, path_set, paths_set, text_set, words_set

if TYPE_CHECKING:
    from ..evaluation import Case, Sources
    from ..judging.estimate import AnswerLengths, Estimate, Pace
    from ..judging.prices import Price
    from ..judging.prompts import Templates
    from ..models import JudgeIdentity, Rubric

_POSITIVE = click.FloatRange(min=0, min_open=True)


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    required=True,
    default=words_set("judge", split=False),
    metavar="KIND:MODEL[,...]",
    help="Who would be asked (repeatable, to compare); with commas between them, a panel.",
)
@click.option(
    "--judge-param",
    multiple=True,
    default=words_set("judge_param"),
    metavar="NAME=VALUE",
    help="A parameter of every judge (repeatable).",
)
@click.option(
    "--layout",
    "layouts",
    multiple=True,
    default=words_set("layout"),
    metavar="LAYOUT",
    help="item, group:N or finding (default: all, group:4).",
)
@click.option(
    "--tasks",
    multiple=True,
    type=PATH,
    default=paths_set("tasks"),
    help="Where tasks are looked up first (repeatable).",
)
@click.option(
    "--ledger",
    "folder",
    type=PATH,
    default=path_set("ledger"),
    help="Ledger folder (default: verdicts/ beside the runs).",
)
@click.option(
    "--rubric",
    "rubrics",
    multiple=True,
    default=words_set("rubric"),
    help="Rubric by name or file (repeatable; default: truthinsight).",
)
@click.option(
    "--canary", is_flag=True, default=flag_set("canary"), help="With the canary question, as --sciagent-canary."
)
@click.option(
    "--draws", default=lambda: text_set("draws")() or "1", metavar="K|auto", help="As --sciagent-draws (auto: two)."
)
@click.option(
    "--weights",
    type=PATH,
    default=lambda: path_set("weights")() if text_set("combine")() == "weighted" else None,
    metavar="FILE",
    help="Told where they could not weigh the votes of a session (default: as set, with sciagent_combine = weighted).",
)
@click.option("--templates", type=PATH, default=path_set("templates"), metavar="DIR", help="As --sciagent-templates.")
@click.option(
    "--images", is_flag=True, default=flag_set("images"), help="With figures as images, as --sciagent-images."
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    default=words_set("price"),
    metavar="[KIND:MODEL=]IN/OUT",
    help="Dollars for a million tokens, IN/OUT or IN/CACHED/OUT (repeatable; default: a list in a package).",
)
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    default=lambda: text_set("in_flight")() or 64,
    show_default="64",
    help="Calls at one time.",
)
@click.option("--rpm", type=_POSITIVE, default=text_set("rpm"), help="Calls a minute at most.")
@click.option("--tpm", type=_POSITIVE, default=text_set("tpm"), help="Tokens a minute at most.")
@click.option("--seconds", type=_POSITIVE, default=None, help="Seconds of one call (default: as recorded, else 8).")
@click.option(
    "--answer-tokens",
    type=_POSITIVE,
    default=None,
    help="Tokens of one answer, thinking included (default: as recorded, else the usual without thinking).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def plan(
    runs: tuple[Path, ...],
    judges: tuple[str, ...],
    judge_param: tuple[str, ...],
    layouts: tuple[str, ...],
    tasks: tuple[Path, ...],
    folder: Path | None,
    rubrics: tuple[str, ...],
    canary: bool,
    images: bool,
    draws: str,
    weights: Path | None,
    templates: Path | None,
    prices: tuple[str, ...],
    in_flight: int,
    rpm: float | None,
    tpm: float | None,
    seconds: float | None,
    answer_tokens: float | None,
    as_json: bool,
) -> None:
    """Tell what it would take to let judges answer what is open about RUNS: calls, tokens, dollars, time.

    Nobody is asked. What is not given is taken from the configuration of pytest (sciagent_judge, sciagent_rubric and
    so on), so that what a session would ask is planned. A run that can't be read or was changed is left aside and told.

    What is recorded already is not asked again, so it is not counted. The prompts are made as for a judge; how long
    answers will be is what is most uncertain: models that think may write ten times as much.

    \b
    Examples:
        sciagent plan runs/ --judge openai:MODEL --judge anthropic:MODEL --rpm 500
        sciagent plan runs/ --judge openai:MODEL --price 1/0.1/5 --answer-tokens 1200
    """
    from ..evaluation.planning import Planner
    from ..judging.draws import parse_draws
    from ..judging.estimate import Pace
    from ..judging.identity import parse_judges
    from ..tasks import unfinished_tasks

    panels = [parse_judges(judge, judge_param) for judge in dict.fromkeys(judges)]
    members = [(judge, panel) for panel in panels for judge in panel]
    given = _prices(prices, [judge for judge, _ in members])
    pace = Pace(in_flight, rpm, tpm)
    chosen = rubrics_of(rubrics)
    sources = sources_of(tasks, folder, templates, canary=canary, images=images)
    if weights is not None:
        warn(_unusable(weights, chosen, sources.templates))
    cases, aside = _sound_cases(runs, sources)
    planner, times = Planner(chosen), parse_draws(draws).least
    plans = []
    with progress(members, "making prompts", 2) as shown:
        for judge, panel in shown:
            price, lengths = _price(judge, given), _lengths(judge, cases, answer_tokens, seconds)
            lead = panel[0] if judge is not panel[0] else None
            found = tuple(
                _estimate(planner, cases, judge, lead, times, layout, lengths, price[0], pace)
                for layout in _layouts(judge, layouts)
            )
            name = ",".join(one.label for one in panel) if len(panel) > 1 else None
            plans.append(JudgePlan(judge, *price, lengths, found, name))
    warn(unfinished_tasks(case.task for case in cases))
    for note in aside:
        click.echo(f"left aside: {note}", err=True)
    if as_json:
        click.echo(json.dumps(json_of(cases, chosen, plans, pace), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        click.echo("\n".join(lines_of(cases, chosen, plans, pace)))


def _unusable(weights: Path, rubrics: Sequence[Rubric], templates: Templates) -> Iterator[str]:
    """Why a session would refuse these weights. What is planned may be what it takes to make them anew."""
    from ..evaluation.weights import read_weights

    try:
        read_weights(weights, rubrics, templates)
    except SciagentError as error:
        yield f"a session would stop: {error}"


def _estimate(
    planner: Any,
    cases: Sequence[Case],
    judge: JudgeIdentity,
    lead: JudgeIdentity | None,
    draws: int,
    layout: str,
    lengths: AnswerLengths,
    price: Price | None,
    pace: Pace,
) -> Estimate:
    from ..judging.decisions import is_decisions
    from ..judging.estimate import estimate
    from ..judging.layouts import with_layout

    asked = with_layout(judge, layout)
    name = "decisions" if is_decisions(judge) else layout
    questions = [
        question for case in cases for question in planner.open_questions(case, asked, _laid_out(lead, layout), draws)
    ]
    return estimate(questions, asked, name, lengths, price, pace)


def _laid_out(lead: JudgeIdentity | None, layout: str) -> JudgeIdentity | None:
    """The lead of a panel in the layout of its members, where it has one to choose."""
    from ..judging.layouts import has_layouts, with_layout

    return lead if lead is None or not has_layouts(lead) else with_layout(lead, layout)


def _sound_cases(runs: tuple[Path, ...], sources: Sources) -> tuple[list[Case], list[str]]:
    """The runs that a session would score, and why others are left aside.

    Raises:
        SciagentError: there is none.
    """
    from ..evaluation import open_case
    from ..runs import Run

    cases, aside = [], []
    for path in find(runs):
        try:
            problems = Run.load(path).problems()
        except SciagentError as error:
            problems = [str(error)]
        if problems:
            aside.append(one_line(f"{path} is not what was frozen: {problems[0]}", 500))
        else:
            cases.append(open_case(path, sources, lambda label, entry: None))
    if not cases:
        raise SciagentError(f"no usable run: {'; '.join(aside[:5])}")
    return cases, aside


def _layouts(judge: JudgeIdentity, wanted: tuple[str, ...]) -> list[str]:
    """The layouts wanted, or all that `judge` has."""
    from ..judging.decisions import is_decisions
    from ..judging.estimate import HANDOFF_LAYOUTS, LAYOUTS
    from ..judging.layouts import ITEM, with_layout

    for layout in wanted:
        with_layout(judge, layout)
    if wanted:
        return list(dict.fromkeys(wanted))
    return [ITEM] if is_decisions(judge) else list(HANDOFF_LAYOUTS if judge.kind == "handoff" else LAYOUTS)


def _prices(texts: Iterable[str], judges: Sequence[JudgeIdentity]) -> dict[str, Price]:
    """The prices given, by the label of their judge; under the empty label that of all others."""
    from ..judging.prices import parse_price

    found = {}
    for text in texts:
        label, _, price = text.rpartition("=")
        if label and label not in {judge.label for judge in judges}:
            raise SciagentError(f"--price {text}: no --judge {label} is given")
        found[label] = parse_price(price)
    return found


def _price(judge: JudgeIdentity, given: dict[str, Price]) -> tuple[Price | None, str]:
    from ..judging.prices import find_price

    price = given.get(judge.label) or given.get("")
    if price is not None:
        return price, "given by --price"
    price = find_price(judge)
    if price is None:
        return None, "not known: give it with --price IN/OUT or IN/CACHED/OUT"
    return price, "listed in the package genai-prices; check it with the provider"


def _lengths(judge: JudgeIdentity, cases: Sequence[Case], tokens: float | None, seconds: float | None) -> AnswerLengths:
    from ..judging.estimate import AnswerLengths

    entries = [entry for case in cases for entry in case.ledger.entries]
    return AnswerLengths.of(judge, entries).with_given(tokens, seconds)
