"""The command that chooses labelled examples for a judge."""

from __future__ import annotations

from pathlib import Path

import click

from .common import PATH, cases_of, given_labels, progress, read_session_rubric, sources_of, tasks_option


@click.command()
@click.argument("labels", nargs=-1, required=True, type=PATH)
@click.option("--runs", multiple=True, required=True, type=PATH, help="The frozen runs that the labels are about.")
@click.option(
    "--shots", type=click.IntRange(1, 20), default=3, show_default=True, help="Examples a criterion, at most."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the split and the choice.")
@click.option("--rater", "raters", multiple=True, metavar="NAME", help="Believe this person only (repeatable).")
@click.option("--rubric", "name", default=None, help="Rubric of the runs (default: truthinsight).")
@tasks_option
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    metavar="DIR",
    help="Folder of prompt templates (new, or your own) that gets the file examples.json.",
)
def examples(
    labels: tuple[Path, ...],
    runs: tuple[Path, ...],
    shots: int,
    seed: int,
    raters: tuple[str, ...],
    name: str | None,
    tasks: tuple[Path, ...],
    output: Path,
) -> None:
    """Choose examples from LABELS that a judge is shown with each criterion: how people judged other findings.

    They come from a third of the labelled runs (by --seed; repeats of a run stay together); the labels of the other
    runs are left to measure on. Levels take turns. No example is made of what people judged differently, or of a text
    that speaks to a judge. The examples are a part of the words that are asked, so answers with and without them are
    recorded apart.

    \b
    Then ask (live, or by sciagent ledger export --templates words/), and measure on the held-out labels:
        sciagent examples labels/ --runs runs/ --shots 3 -o words/
        pytest --sciagent-run=runs/ --sciagent-judge=openai:MODEL                                # without
        pytest --sciagent-run=runs/ --sciagent-judge=openai:MODEL --sciagent-templates=words/   # with
        sciagent calibrate labels/ --runs runs/ --judge openai:MODEL --templates words/
    """
    from ..documents import json_text
    from ..evaluation.few_shot import choose_examples
    from ..judging.template_check import EXAMPLES
    from ..ledger.store import write_atomically
    from ..reporting.calibration import people
    from ..text import counted

    given = people(given_labels(labels, raters))
    rubric = read_session_rubric(name)
    with progress(cases_of(runs, sources_of(tasks, None)), "reading runs") as shown:
        findings = {(case.run.label, finding.id): finding for case in shown for finding in case.report.findings}
    found = choose_examples(given, rubric, findings, shots, seed)
    target = output / EXAMPLES
    write_atomically(target, json_text(found.as_json()))
    criteria = len({one.criterion for one in found.examples})
    click.echo(
        f"{target}: {counted(len(found.examples), 'example')} for {criteria} criteria, from {', '.join(found.shown)}; "
        f"{counted(len(found.held_out), 'run')} held out"
    )
