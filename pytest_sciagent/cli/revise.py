"""The command that lets a system revise a run, round by round, under a rubric."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ..text import clean
from .common import PATH, named_calibration, named_task

if TYPE_CHECKING:
    from ..revision.examiner import Examiner

EXIT_STILL_FAILS, EXIT_WAITING = 1, 10


@click.command()
@click.argument("run_path", metavar="RUN", type=PATH)
@click.option("--rubric", required=True, help="What the rounds are verified by: a rubric's name or file.")
@click.option("--system-file", required=True, type=PATH, help="YAML: who revises (sciagent-system/1).")
@click.option("-o", "--output", "place", required=True, type=PATH, help="Folder for rounds, verdicts and record.")
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1, 50), help="Rounds at most.")
@click.option("--tokens", type=click.IntRange(min=1), default=None, help="No further round once these are used.")
@click.option(
    "--on-regression",
    type=click.Choice(["reject", "repair"]),
    default="reject",
    show_default=True,
    help="A round that broke what held: go back to the version before, or let the system mend it once first.",
)
@click.option(
    "--judge", default=None, metavar="KIND:MODEL", help="Who verifies the rounds (default: code and records)."
)
@click.option("--judge-param", multiple=True, metavar="NAME=VALUE", help="A parameter of that judge (repeatable).")
@click.option("--base-url", default=None, metavar="URL", help="An OpenAI- or Anthropic-compatible server for it.")
@click.option("--final-rubric", default="truthinsight", show_default=True, help="What gives the final score.")
@click.option("--final-judge", default=None, metavar="KIND:MODEL", help="Who gives the final score (default: --judge).")
@click.option("--final-judge-param", multiple=True, metavar="NAME=VALUE", help="A parameter of that judge.")
@click.option("--final-base-url", default=None, metavar="URL", help="A server for that judge.")
@click.option("--same-examiner", is_flag=True, help="Let the loop's own examiner give the final score; it is told.")
@click.option(
    "--allow-late-rubric",
    is_flag=True,
    help="Take a rubric that was frozen after the run began (--sciagent-allow-late-rubric).",
)
@click.option("--no-final", is_flag=True, help="Give no final score.")
@click.option("--tasks", multiple=True, type=PATH, help="Where the task is looked up first (repeatable).")
def revise(
    run_path: Path,
    rubric: str,
    system_file: Path,
    place: Path,
    rounds: int,
    tokens: int | None,
    on_regression: Literal["reject", "repair"],
    judge: str | None,
    judge_param: tuple[str, ...],
    base_url: str | None,
    final_rubric: str,
    final_judge: str | None,
    final_judge_param: tuple[str, ...],
    final_base_url: str | None,
    same_examiner: bool,
    allow_late_rubric: bool,
    no_final: bool,
    tasks: tuple[Path, ...],
) -> int:
    """Let a system revise the frozen RUN, at most --rounds times.

    Each round: verify every criterion; tell the system those that failed (what is missing, what would satisfy them,
    what must not be claimed); let it work in a copy of the workspace; freeze the result; verify again. A round that
    breaks what held is rejected. It ends when nothing fails any more, when rounds or tokens are spent, or when a round
    brings nothing. RUN is never changed. Interrupted or waiting, the same command goes on where it stopped.

    The final score comes from another judge or another rubric than the rounds were verified by.

    \b
    Without a key, by hand-off (harness: handoff; judge handoff:NAME): the command writes out the workspace or the
    questions, says what to do, and ends with exit code 10.
        sciagent revise runs/plain/my_task --rubric my_task --system-file me.yaml \\
            --judge handoff:NAME --judge-param layout=finding -o revised/
    Exit code 0: nothing fails any more. 1: some criteria still fail. 2: interrupted. 4: bad input. 10: it waits.
    """
    from ..revision.examiner import Desk, Waiting
    from ..revision.loop import LEDGER, Plan, Revision
    from ..revision.told import told
    from ..revision.turns import Author
    from ..runs import Run
    from .run import interrupt

    run = Run.load(run_path.absolute())
    folders = tuple(folder.absolute() for folder in tasks)
    final = None
    if not no_final:
        is_own = final_judge is not None
        final = examiner(
            "final",
            final_rubric,
            final_judge or judge,
            final_judge_param if is_own else judge_param,
            final_base_url if is_own else base_url,
        )
    plan = Plan(
        base=run,
        task=named_task(run.manifest.task_id, folders),
        author=Author.load(system_file),
        loop=examiner("loop", rubric, judge, judge_param, base_url),
        final=final,
        place=place.absolute(),
        label=run.manifest.system.name,
        rounds=rounds,
        tokens=tokens,
        on_regression=on_regression,
        same_examiner=same_examiner,
    )
    signal.signal(signal.SIGTERM, interrupt)
    ledger, calibration = plan.place / LEDGER, named_calibration()
    desk = Desk.at(Path.cwd(), ledger, folders, allow_late=allow_late_rubric, calibration=calibration)
    try:
        record = Revision(plan, desk, os.environ, lambda text: click.echo(clean(text))).go()
    except Waiting as waiting:
        click.echo(f"waiting: {waiting}")
        return EXIT_WAITING
    for line in told(record):
        click.echo(line)
    return 0 if record.stopped == "all satisfied" else EXIT_STILL_FAILS


def examiner(name: str, rubric: str, judge: str | None, parameters: tuple[str, ...], base_url: str | None) -> Examiner:
    """An examiner as a user names it.

    Raises:
        SciagentError: no such rubric, or no such judge.
    """
    from ..judging.identity import parse_identity
    from ..revision.examiner import Examiner
    from ..rubrics import find_rubric

    if judge is None and (parameters or base_url):
        raise click.UsageError("--judge-param and --base-url belong to a judge: name it with --judge KIND:MODEL")
    path = find_rubric(rubric, Path.cwd(), Path.cwd())
    return Examiner.of(name, [path], parse_identity(judge, parameters) if judge else None, base_url)
