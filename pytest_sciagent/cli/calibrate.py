"""The command that measures how far a judge agrees with people."""

from __future__ import annotations

import json as json_module
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import SciagentError
from ..judging.draws import DEFAULT_RULE, RULES, Rule, parse_draws
from .common import (
    PATH,
    find,
    given_labels,
    ledger_option,
    progress,
    read_session_rubric,
    sources_of,
    tasks_option,
    templates_option,
    weights_option,
)

if TYPE_CHECKING:
    from ..evaluation import Sources
    from ..judging.panel import Poll
    from ..models import Label, Rubric
    from ..models.calibration import Bound


@click.command()
@click.argument("labels", nargs=-1, required=True, type=PATH)
@click.option(
    "--judge",
    required=True,
    metavar="NAME",
    help="A judge in the files, by its name there; with --runs one whose verdicts are recorded (KIND:MODEL); or coin, "
    "which draws by chance: the floor of every measure.",
)
@click.option("--runs", multiple=True, type=PATH, help="Frozen runs that the judge's recorded verdicts are about.")
@click.option("--draws", default="1", metavar="K|auto", help="How many of its draws count.  [default: 1]")
@click.option("--combine", type=click.Choice(RULES), default=DEFAULT_RULE, show_default=True, help="How votes count.")
@weights_option
@click.option("--rater", "raters", multiple=True, metavar="NAME", help="Believe this person only (repeatable).")
@click.option("--against", default=None, metavar="NAME", help="Another judge in the files, in the place of people.")
@click.option("--rubric", "name", default=None, help="Rubric of the runs (with --runs; default: truthinsight).")
@tasks_option
@ledger_option
@templates_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap and the coin.")
@click.option("--details", is_flag=True, help="Every measure, prevalence and the confusion table of each slice.")
@click.option("-o", "--output", type=PATH, default=None, help="Write it as JSON, say to calibration/NAME.json.")
def calibrate(
    labels: tuple[Path, ...],
    judge: str,
    runs: tuple[Path, ...],
    draws: str,
    combine: Rule,
    weights: Path | None,
    raters: tuple[str, ...],
    against: str | None,
    name: str | None,
    tasks: tuple[Path, ...],
    folder: Path | None,
    templates: Path | None,
    seed: int,
    details: bool,
    output: Path | None,
) -> None:
    """Measure how far a judge agrees with people, by LABELS: files of JSON lines (schema sciagent-label/1), or folders
    that `sciagent label` filled.

    For each criterion, each dimension and all together: equal scores, weighted kappa, ordinal alpha, rank correlations
    with intervals, bias, and how far people agree with each other. `sciagent import` makes labels of other benchmarks,
    `sciagent label` lets people judge your own runs.

    \b
    Examples:
        sciagent calibrate labels/ --judge openai:MODEL --runs runs/ -o calibration/MODEL.json
        sciagent calibrate imported/labels/mlrbench.jsonl --judge "llm_judge.csv (mean of its judges)"
        sciagent calibrate labels.jsonl --judge coin

    The file that -o writes holds for this judge, these prompts and this rubric only. In the folder calibration/, or
    named by --sciagent-calibration, it is told with every score, and pytest can demand a least kappa
    (--sciagent-min-kappa).
    """
    from ..evaluation.weights import poll_of
    from ..ledger.store import write_atomically
    from ..models.calibration import Bound
    from ..reporting.calibration import COIN, Comparison, coin_labels, labels_by, people
    from ..reporting.calibration import calibrate as measure
    from ..reporting.calibration_text import calibration_text
    from ..reporting.few_shot import few_shot, held_out
    from ..reporting.validity import PEOPLE

    if not judge.strip():
        raise SciagentError("--judge: name one")
    if name is not None and not runs:
        raise SciagentError("--rubric belongs to runs: name them with --runs")
    if weights is not None and not runs:
        raise SciagentError("--weights belong to recorded judges: name their runs with --runs")
    given = given_labels(labels, raters)
    believed = people(given) if against is None else labels_by(given, against, "--against")
    bound = Bound(judge=judge, identity=None, templates=None, rubric=None, rubric_digest=None)
    dimensions: dict[str, str] = {}
    shots = None
    if runs:
        rubric, sources = read_session_rubric(name), sources_of(tasks, folder, templates)
        how = (rubric, judge, poll_of(parse_draws(draws), combine, weights, [rubric], sources.templates))
        bound, judged = _recorded(runs, sources, *how)
        dimensions = {criterion.id: criterion.dimension for criterion in rubric.criteria}
        if (shown := sources.templates.examples) is not None:
            believed = held_out(believed, shown)
            plain = replace(sources, templates=sources.templates.without_examples())
            shots = few_shot(believed, _recorded(runs, plain, *how)[1], judged, shown, seed)
    elif judge == COIN:
        judged = coin_labels(believed, seed)
    else:
        judged = labels_by(given, judge, "--judge")
    compared = Comparison(believed, judged, against or PEOPLE)
    found = measure(compared, bound, dimensions, seed=seed).model_copy(update={"few_shot": shots})
    click.echo(calibration_text(found, details=details), nl=False)
    if output is not None:
        write_atomically(output, json_module.dumps(found.as_json(), indent=1, ensure_ascii=False) + "\n")


def _recorded(
    runs: tuple[Path, ...], sources: Sources, rubric: Rubric, judge: str, poll: Poll
) -> tuple[Bound, list[Label]]:
    """What the recorded judge or panel said about the runs, and what its calibration is bound to."""
    from ..evaluation.labels import labels_of_judge
    from ..evaluation.recorded import all_verdicts, recorded_judge
    from ..judging.identity import parse_judges
    from ..models.calibration import Bound
    from ..reporting.scored_runs import open_runs

    opened = [run for run in open_runs(find(runs), sources, [rubric]) if run.case is not None]
    whose = recorded_judge((run.case.ledger for run in opened if run.case), parse_judges(judge), "--judge", poll)
    verdicts = []
    with progress(opened, "reading verdicts") as shown:
        for run in shown:
            assert run.case is not None
            verdicts += [(run.index.label, v) for v in all_verdicts(run.case, rubric, whose).values()]
            run.case = None
    bound = Bound(
        judge=judge,
        identity=whose.identity,
        templates=sources.templates.digest("criterion"),
        rubric=f"{rubric.id} {rubric.version}",
        rubric_digest=rubric.digest,
    )
    return bound, labels_of_judge(verdicts, judge)
