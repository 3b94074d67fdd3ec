"""The command that weighs the votes of a panel by people's labels."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import SciagentError
from .common import (
    PATH,
    find,
    given_labels,
    ledger_option,
    progress,
    read_session_rubric,
    rubric_option,
    sources_of,
    tasks_option,
    templates_option,
)
from .told import show

if TYPE_CHECKING:
    from ..evaluation import Sources
    from ..evaluation.weights import Voted
    from ..models import JudgeIdentity, Rubric


@click.command()
@click.argument("labels", nargs=-1, required=True, type=PATH)
@click.option("--runs", multiple=True, required=True, type=PATH, help="Frozen runs that the labels are about.")
@click.option("--judge", required=True, metavar="A,B,...", help="The members of the panel; the first leads it.")
@click.option("--rater", "raters", multiple=True, metavar="NAME", help="Believe this person only (repeatable).")
@rubric_option
@tasks_option
@ledger_option
@templates_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap.")
@click.option("-o", "--output", type=PATH, default=None, help="Write the weights as JSON, say to weights.json.")
@click.option(
    "--json", "target", type=PATH, default=None, help="Write weights and agreement as JSON; - prints it instead."
)
def ensemble(
    labels: tuple[Path, ...],
    runs: tuple[Path, ...],
    judge: str,
    raters: tuple[str, ...],
    name: str | None,
    tasks: tuple[Path, ...],
    folder: Path | None,
    templates: Path | None,
    seed: int,
    output: Path | None,
    target: Path | None,
) -> None:
    """Weigh the votes of a panel by how often each member said what people said, by LABELS: files of JSON lines (schema
    sciagent-label/1), or folders that `sciagent label` filled. Nobody is asked: each member's recorded answers count.

    A judge that agrees no better than chance has no weight. A run that is itself labelled is always weighed by the
    labels of the others, here and later; so what this prints is how far the weighted vote agrees with labels that it
    has not seen.

    \b
    Examples:
        sciagent ensemble labels/ --runs runs/ --judge openai:ONE,anthropic:TWO -o weights.json
        pytest --sciagent-run=runs/ --sciagent-judge=openai:ONE,anthropic:TWO \\
            --sciagent-combine=weighted --sciagent-weights=weights.json

    The file holds for these judges, these prompts and this rubric only.
    """
    from ..evaluation.weights import count_votes, usable_labels
    from ..judging.reliability import Reliability
    from ..ledger.store import write_atomically
    from ..reporting.calibration import people
    from ..reporting.ensemble import ensemble_json, ensemble_text, measure_ensemble
    from ..reporting.few_shot import held_out

    given = people(given_labels(labels, raters))
    rubric, sources = read_session_rubric(name), sources_of(tasks, folder, templates)
    if (shown := sources.templates.examples) is not None:
        given = held_out(given, shown)
    members, voted = _votes(runs, sources, rubric, judge)
    usable = usable_labels(given, voted)
    weights = count_votes(usable, voted, members, rubric, sources.templates)
    votes = [voted[label.run, label.finding or "", label.criterion].votes for label in usable]
    dimensions = {criterion.id: criterion.dimension for criterion in rubric.criteria}
    found = measure_ensemble(usable, votes, Reliability(weights), dimensions, seed)
    show(ensemble_text(found), ensemble_json(found), target)
    if output is not None:
        write_atomically(output, json_module.dumps(weights.as_json(), indent=1, ensure_ascii=False) + "\n")


def _votes(
    runs: tuple[Path, ...], sources: Sources, rubric: Rubric, judge: str
) -> tuple[tuple[JudgeIdentity, ...], Voted]:
    """Who the judges are, by what is recorded, and what they voted on; what code decided is no vote."""
    from ..evaluation.recorded import all_verdicts, recorded_judge
    from ..judging.identity import parse_judges
    from ..judging.panel import identities_of
    from ..reporting.scored_runs import open_runs

    named = parse_judges(judge)
    if len(named) < 2:
        raise SciagentError(f"--judge {judge}: name two judges or more, with commas between them")
    opened = [run for run in open_runs(find(runs), sources, [rubric]) if run.case is not None]
    panel = recorded_judge((run.case.ledger for run in opened if run.case), named, "--judge")
    voted = {}
    with progress(opened, "reading verdicts") as shown:
        for run in shown:
            assert run.case is not None
            for (criterion, finding), verdict in all_verdicts(run.case, rubric, panel).items():
                if verdict.votes:
                    voted[run.index.label, finding or "", criterion] = verdict
            run.case = None
    return identities_of(panel), voted
