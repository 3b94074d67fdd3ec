"""What several commands share: arguments, and runs opened for evaluation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ..errors import SciagentError
from ..text import clean, one_line

if TYPE_CHECKING:
    from ..evaluation import Case, Sources
    from ..evidence.artifacts import ReadingLimits
    from ..models import Label, LedgerEntry, Rubric
    from ..reporting.scored_runs import OpenRun
    from ..reporting.validity import Calibrations
    from ..runs import Run
    from ..tasks import Task

T = TypeVar("T")
PATH = click.Path(path_type=Path)
tasks_option = click.option("--tasks", multiple=True, type=PATH, help="Where tasks are looked up first (repeatable).")
ledger_option = click.option(
    "--ledger", "folder", type=PATH, default=None, help="Ledger folder (default: verdicts/ beside the runs)."
)
rubric_option = click.option("--rubric", "name", default=None, help="Rubric by name or file (default: truthinsight).")
templates_option = click.option(
    "--templates", type=PATH, default=None, metavar="DIR", help="Prompt templates of your own (--sciagent-templates)."
)

weights_option = click.option(
    "--weights",
    type=PATH,
    default=None,
    metavar="FILE",
    help="What votes weigh under --combine weighted, as sciagent ensemble wrote it.",
)

calibration_option = click.option(
    "--calibration",
    type=PATH,
    default=None,
    metavar="FILE|DIR",
    help="How far the judge agrees with people, as sciagent calibrate wrote it (default: sciagent_calibration of the "
    "configuration, else the folder calibration/).",
)


def _late_is_allowed() -> bool:
    from .settings import flag_set

    return flag_set("allow_late_rubric")()


late_option = click.option(
    "--allow-late-rubric",
    "allow_late",
    is_flag=True,
    default=_late_is_allowed,
    help="Score also by an induced rubric that was frozen after a run began (as --sciagent-allow-late-rubric).",
)


def late_notes(opened: Iterable[OpenRun], rubric: Rubric, allowed: bool) -> tuple[str, ...]:
    """What to tell where `rubric` was not fixed before the runs began; raises where that is not `allowed`."""
    from ..reporting.scored_runs import late_notes as notes_of

    return notes_of(opened, [rubric], allowed=allowed, option="--allow-late-rubric")


def warn(warnings: Iterable[str]) -> None:
    """Tell each warning on standard error, where it disturbs no output for programs."""
    for warning in warnings:
        click.echo(f"warning: {clean(warning)}", err=True)


def find(paths: tuple[Path, ...]) -> list[Path]:
    from ..runs.discover import find_runs

    found = [run for path in paths for run in find_runs(path.absolute())]
    if not found:
        raise SciagentError(f"no frozen run at or below {', '.join(map(str, paths))}")
    return list(dict.fromkeys(found))


def sources_of(
    tasks: tuple[Path, ...],
    folder: Path | None,
    templates: Path | None = None,
    *,
    canary: bool = False,
    images: bool = False,
) -> Sources:
    """Where things lie: tasks, the ledger `folder`, and prompt templates of the user's own; and what else is asked."""
    from ..evaluation import Sources
    from ..judging.prompts import PACKAGED
    from ..judging.template_check import read_templates

    words = read_templates(templates) if templates is not None else PACKAGED
    ledger = folder.absolute() if folder else None
    given = tuple(t.absolute() for t in tasks)
    return Sources(
        Path.cwd(), given, ledger, canary=canary, images=images, templates=words, reading=_reading_of(Path.cwd())
    )


def _reading_of(folder: Path) -> ReadingLimits | None:
    """What reading a run may take by the configuration of `folder`: a session and a command read alike."""
    from ..evidence.artifacts import ReadingLimits, parse_seconds
    from .settings import find_settings

    settings = find_settings(folder)
    text = settings.text("sciagent_reading_seconds")
    try:
        return ReadingLimits(parse_seconds(text)) if text is not None else None
    except ValueError as error:
        raise SciagentError(f"sciagent_reading_seconds {error}", path=settings.path) from None


def known_calibrations(path: Path | None, sources: Sources) -> Calibrations:
    """The calibrations in `path`; without it those that the configuration names, or that lie in calibration/.

    Raises:
        SciagentError: see `calibrations_of`.
    """
    from ..reporting.validity import calibrations_of
    from .settings import find_settings

    named = path.absolute() if path is not None else named_calibration()
    return calibrations_of(named, find_settings(Path.cwd()).folder or Path.cwd(), sources.templates)


def named_calibration() -> Path | None:
    """The file or folder that the configuration here names (`sciagent_calibration`)."""
    from .settings import path_set

    name = path_set("calibration")()
    return Path(name) if name is not None else None


def given_labels(paths: tuple[Path, ...], raters: Sequence[str] = ()) -> list[Label]:
    """The labels in files of JSON lines and in folders that `sciagent label` filled; of people only `raters`, if named.
    One that stands in several files, word for word, counts once.

    Raises:
        SciagentError: with file and line, for what is no label; a rater who is not there.
    """
    from ..evaluation.labelling import labels_of_people
    from ..evaluation.labels import raters_of, read_labels

    files = [path for path in dict.fromkeys(paths) if not path.is_dir()]
    given = [label for path in dict.fromkeys(paths) if path.is_dir() for label in labels_of_people(path)]
    given += read_labels(files) if files else []
    if not given:
        raise SciagentError(f"there is no label in {', '.join(map(str, paths))}")
    known = raters_of(given, "human")
    for rater in raters:
        if rater not in known:
            raise SciagentError(f"--rater {rater}: people in these files: {', '.join(known) or 'none'}")
    return [label for label in given if not raters or label.rater.kind != "human" or label.rater.name in raters]


def cases_of(runs: tuple[Path, ...], sources: Sources) -> list[Case]:
    from ..evaluation import open_case

    def nothing(label: str, entry: LedgerEntry) -> None:
        return None

    cases = []
    for path in find(runs):
        case = open_case(path, sources, nothing)
        problems = case.run.problems()
        if problems:
            raise SciagentError(f"run {case.run.label} is not what was frozen: {problems[0]}", path=path)
        cases.append(case)
    return cases


def rubrics_of(names: tuple[str, ...]) -> list[Rubric]:
    from ..rubrics import DEFAULT_RUBRIC, load_rubric

    return [load_rubric(name, Path.cwd(), Path.cwd()) for name in names or (DEFAULT_RUBRIC,)]


def read_session_rubric(name: str | None) -> Rubric:
    """The rubric called `name` (None: the default), as a session would score by it."""
    from ..evaluation.recorded import read_rubric
    from ..profile_names import PROFILES
    from ..rubrics import DEFAULT_RUBRIC

    return read_rubric(name or DEFAULT_RUBRIC, None, PROFILES, Path.cwd())


def progress(items: Sequence[T], label: str, least: int = 4) -> AbstractContextManager[Iterable[T]]:
    """`items`, with a bar that tells on a terminal how far they are gone through, where there are `least` or more."""
    if sys.stderr.isatty() and len(items) >= least:
        return click.progressbar(items, label=label, file=sys.stderr)
    return nullcontext(items)


def named_task(task: str, folders: tuple[Path, ...]) -> Task:
    """The task with this id, or in this folder.

    Raises:
        SciagentError: there is none.
    """
    from ..tasks import Task, find_task, task_folders

    if (Path(task) / "task.yaml").is_file():
        return Task.load(Path(task))
    places = task_folders(folders, Path.cwd())
    found = find_task(task, places)
    if found is None:
        known = sorted({p.parent.name for place in places if place.is_dir() for p in place.glob("*/task.yaml")})
        raise SciagentError(f"no task named {task!r}; known tasks: {', '.join(known) or 'none'}")
    return found


def doubts(run: Run, folders: tuple[Path, ...]) -> list[str]:
    """What will keep a frozen run from being scored: a task that nobody knows, a report that can't be read or has no
    finding."""
    from ..findings import RULES, parse_findings
    from ..runs import UnsafeFile
    from ..tasks import find_task, task_folders

    found = []
    if find_task(run.manifest.task_id, task_folders(folders, Path.cwd())) is None:
        found.append(
            f"no task named {run.manifest.task_id!r} is known here: what needs it will not be assessed "
            "(name its folder with --tasks, or make it with sciagent task new)"
        )
    try:
        if run.manifest.report is not None and not parse_findings(run).findings:
            found.append(f"the report registers no finding (## Finding 1: ...): the run will count as 0; {RULES}")
    except UnsafeFile as error:
        found.append(f"the report can't be read, so the run will count as 0: {one_line(str(error), 300)}")
    return found
