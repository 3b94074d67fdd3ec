"""What several commands share: arguments, and runs opened for evaluation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ..errors import SciagentError

if TYPE_CHECKING:
    from ..evaluation import Case, Sources
    from ..models import LedgerEntry, Rubric

T = TypeVar("T")
PATH = click.Path(path_type=Path)


def find(paths: tuple[Path, ...]) -> list[Path]:
    from ..runs.discover import find_runs

    found = [run for path in paths for run in find_runs(path.absolute())]
    if not found:
        raise SciagentError(f"no frozen run at or below {', '.join(map(str, paths))}")
    return list(dict.fromkeys(found))


def sources_of(tasks: tuple[Path, ...], folder: Path | None, *, canary: bool = False, images: bool = False) -> Sources:
    from ..evaluation import Sources

    given = tuple(t.absolute() for t in tasks)
    return Sources(Path.cwd(), given, folder.absolute() if folder else None, canary=canary, images=images)


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


def progress(items: Sequence[T], label: str, least: int = 4) -> AbstractContextManager[Iterable[T]]:
    """`items`, with a bar that tells on a terminal how far they are gone through, where there are `least` or more."""
    if sys.stderr.isatty() and len(items) >= least:
        return click.progressbar(items, label=label, file=sys.stderr)
    return nullcontext(items)
