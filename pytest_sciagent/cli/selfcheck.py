"""The command that shows what runs without any worth earn."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import SciagentError
from ..text import counted
from .common import PATH, calibration_option, known_calibrations
from .told import Told, tells

if TYPE_CHECKING:
    from ..evaluation import Sources
    from ..reporting.validity import Validity
    from ..selfcheck import Earned
    from ..tasks import Task

EXIT_INTERRUPTED, EXIT_INCONCLUSIVE = 2, 10
SESSION_ENDED = (0, 1, EXIT_INCONCLUSIVE)
"""Exit codes of a session that tested all; that criteria fail is what is expected here."""
OWN_LEDGER = Path(".sciagent", "selfcheck")
"""Where the answers of a judge that is asked are kept, below the working directory."""


@click.command()
@click.argument("tasks", nargs=-1, metavar="[TASK]...")
@click.option("--tasks", "folders", multiple=True, type=PATH, help="Where tasks are looked up first (repeatable).")
@click.option(
    "--judge",
    default=None,
    metavar="KIND:MODEL",
    help="Ask this judge, openai:MODEL or anthropic:MODEL, instead of replaying the shipped verdicts; or whose "
    "recorded verdicts to take.",
)
@click.option("--judge-param", multiple=True, metavar="NAME=VALUE", help="A parameter of that judge (repeatable).")
@click.option("--base-url", default=None, metavar="URL", help="An OpenAI- or Anthropic-compatible server.")
@click.option(
    "--ledger",
    type=PATH,
    default=None,
    help="Ledger folder (default: the shipped verdicts; .sciagent/selfcheck/ for a judge that is asked).",
)
@calibration_option
@click.option("-o", "--output", type=PATH, default=None, help="Keep the runs in this new folder.")
@tells("selfcheck", "runs")
def selfcheck(
    told: Told,
    tasks: tuple[str, ...],
    folders: tuple[Path, ...],
    judge: str | None,
    judge_param: tuple[str, ...],
    base_url: str | None,
    ledger: Path | None,
    calibration: Path | None,
    output: Path | None,
) -> int:
    """Make runs that are worth nothing, score them, and fail if one earns more than its allowance.

    For each TASK (default: every task found) four runs are frozen in a temporary folder: an empty one, one that
    copies the task's own files, a fluent one whose numbers come from nowhere, and the same with orders to the judge
    planted in text, comments, cells and file names. The shipped verdicts are replayed, without key or network;
    --judge asks a judge of yours anew, so that you learn whether it can be fooled.

    \b
    Exit codes: 0 none earns more than its allowance, 1 one does, 4 bad input,
    10 what is not recorded could turn it.
    Example:
        sciagent selfcheck
        sciagent selfcheck my_task --judge openai:MODEL
    """
    from ..documents import shipped_folder
    from ..evaluation import Sources
    from ..evaluation.recorded import read_rubric
    from ..judging.clients import KEY_VARIABLES
    from ..judging.identity import parse_identity
    from ..rubrics import DEFAULT_RUBRIC
    from ..selfcheck import ALLOWANCES, build_runs, score_runs

    if judge is None and (judge_param or base_url):
        raise SciagentError("--judge-param and --base-url belong to a judge: name it with --judge KIND:MODEL")
    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise SciagentError("exists and is not an empty folder: choose another for --output", path=output)
    named = parse_identity(judge, judge_param) if judge is not None else None
    is_asked = named is not None and named.kind in KEY_VARIABLES
    where = ledger or (Path.cwd() / OWN_LEDGER if is_asked else shipped_folder("selfcheck") / "verdicts")
    sources = Sources(Path.cwd(), tuple(f.absolute() for f in folders), where.absolute())
    chosen, known = _tasks(tasks, sources.task_folders), known_calibrations(calibration, sources)
    rubric = read_rubric(DEFAULT_RUBRIC, "truthinsight", ("truthinsight",), shipped_folder("rubrics").parent)
    with _folder(output) as folder:
        build_runs(chosen, folder)
        if is_asked:
            assert judge is not None
            _ask(folder, sources, judge, judge_param, base_url)
        earned, validity = score_runs(folder, chosen, rubric, sources, named, known)
    told.document["validity"] = validity.as_json()
    for line in _lines(earned, validity):
        told.say(line)
    for one in earned:
        ends = {"low": float(one.score.low), "high": float(one.score.high)}
        most = {"at_most": float(ALLOWANCES[one.kind].points), "not_recorded": one.not_recorded}
        told.each("runs", {"kind": one.kind, "task": one.task, "score": ends, **most, "outcome": one.outcome})
    outcomes = {one.outcome for one in earned}
    return 1 if "beyond" in outcomes else EXIT_INCONCLUSIVE if "open" in outcomes else 0


def _tasks(names: Sequence[str], folders: Sequence[Path]) -> list[Task]:
    from ..tasks import find_task

    wanted = names or sorted({path.parent.name for folder in folders for path in folder.glob("*/task.yaml")})
    if not wanted:
        raise SciagentError(f"no task in {', '.join(map(str, folders))}: name a folder of tasks with --tasks")
    found = []
    for name in dict.fromkeys(wanted):
        task = find_task(name, folders)
        if task is None:
            raise SciagentError(f"no task {name!r} in {', '.join(map(str, folders))}")
        found.append(task)
    return found


@contextmanager
def _folder(output: Path | None) -> Iterator[Path]:
    if output is not None:
        yield output.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="sciagent-selfcheck-") as temporary:
        yield Path(temporary)


def _ask(folder: Path, sources: Sources, judge: str, parameters: Sequence[str], base_url: str | None) -> None:
    """Let a session put to the judge what its ledger lacks, as any session does. What is answered is kept."""
    from ..rubrics import DEFAULT_RUBRIC

    options = {"run": folder, "ledger": sources.ledger, "judge": judge, "rubric": DEFAULT_RUBRIC}
    given = [f"--sciagent-{name}={value}" for name, value in options.items()]
    given += [f"--sciagent-tasks={path}" for path in sources.tasks]
    given += [f"--sciagent-judge-param={parameter}" for parameter in parameters]
    given += [f"--sciagent-base-url={base_url}"] if base_url is not None else []
    quiet = ["-q", "--no-header", "--tb=no", "-rN", "-p", "no:cacheprovider"]
    quiet += ["-c", os.devnull, f"--rootdir={sources.rootdir}"]  # gates and rubrics of the user's own are not for these
    done = subprocess.run([sys.executable, "-m", "pytest", *quiet, *given], stdout=subprocess.PIPE, text=True)
    if done.returncode == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    if done.returncode not in SESSION_ENDED:
        click.echo(done.stdout, err=True, nl=False)
        raise SciagentError(f"the judge {judge} could not be asked: the session ended with exit code {done.returncode}")


def _lines(earned: Sequence[Earned], validity: Validity) -> Iterator[str]:
    from ..reporting.columns import columns, number, paragraph
    from ..selfcheck import ALLOWANCES, KINDS

    words = {"within": "within", "beyond": "BEYOND", "open": "open"}
    rows: list[Sequence[str] | str] = []
    for kind in KINDS:
        most = number(float(ALLOWANCES[kind].points))
        mine = [one for one in earned if one.kind == kind]
        rows += [(f"{kind} {one.task}", one.score.show(), most, words[one.outcome]) for one in mine]
    yield "RUNS THAT ARE WORTH NOTHING: what they earn"
    yield from columns(("", "score", "at most", ""), rows)
    yield from paragraph(validity.sentence)
    for kind in KINDS:
        yield from paragraph(
            f"{kind}: at most {number(float(ALLOWANCES[kind].points))}, since {ALLOWANCES[kind].reason}"
        )
    gaps = sum(one.not_recorded for one in earned)
    if gaps:
        yield from paragraph(
            f"no verdict is recorded for {counted(gaps, 'criterion', 'criteria')}: ask a judge with --judge KIND:MODEL"
        )
    bad = [f"{one.kind} {one.task}" for one in earned if one.outcome == "beyond"]
    unsure = [one for one in earned if one.outcome == "open"]
    if bad:
        yield f"selfcheck failed: {', '.join(bad)} earned more than the allowance"
    elif unsure:
        yield f"selfcheck inconclusive: what is not assessed could turn {len(unsure)} of {counted(len(earned), 'run')}"
    else:
        yield f"selfcheck passed: none of {counted(len(earned), 'run')} earned more than its allowance"
