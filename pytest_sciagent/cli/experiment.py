"""The command that runs the arms of an experiment and prints its tables."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import click

from ..text import clean
from .common import PATH, named_calibration
from .told import STANDARD_OUTPUT, show

EXIT_WAITING = 10


@click.command()
@click.argument("file", type=PATH)
@click.option(
    "--json", "json_path", type=PATH, default=None, help="Write every arm of every run as JSON; - prints it instead."
)
def experiment(file: Path, json_path: Path | None) -> int:
    """Run the arms of the experiment FILE as far as they are not done, and print what each gains.

    All arms start from the same frozen round 0. vanilla: round 0 as it is. skeleton: one turn with the rubric's
    questions. rubric: one turn with the whole rubric. rubric+revise: that, then rounds of verification and revision.
    self-refine: as many turns without any rubric. compute-matched: such turns until the tokens of rubric+revise are
    spent. The score comes from the final examiner, never from the one of the loop.

    \b
    An experiment file (paths are relative to it):
        schema: sciagent-experiment/1
        name: my-experiment
        tasks: [life_bill_shape]
        systems: [my-agent.yaml]
        rounds: 3
        repeats: 1
        loop: {rubric: 'rubrics/{task}.yaml', judge: 'openai:MODEL'}
        final: {rubric: truthinsight, judge: 'anthropic:MODEL'}

    What is frozen is kept: interrupted or waiting, the same command goes on where it stopped.
    Exit code 0: done. 2: interrupted. 4: bad input. 10: something waits for a hand-off.

    \b
    Example:
        sciagent experiment experiment.yaml
    """
    from ..revision.experiment import Experiment
    from ..revision.tables import as_json, tables
    from .run import interrupt

    signal.signal(signal.SIGTERM, interrupt)

    def tell(text: str) -> None:
        click.echo(clean(text), err=True)

    scored, waits = Experiment(file, os.environ, tell, named_calibration()).go()
    show("".join(f"{line}\n" for line in tables(scored)), as_json(scored), json_path)
    for waiting in waits:
        click.echo(f"waiting: {waiting}", err=json_path == STANDARD_OUTPUT)
    return EXIT_WAITING if waits else 0
