"""What several commands share: arguments, and runs opened for evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import SciagentError

if TYPE_CHECKING:
    from ..evaluation import Case, Sources
    from ..models import LedgerEntry, Rubric

PATH = click.Path(path_type=Path)
templates_option = click.option(
    "--templates", type=PATH, default=None, metavar="DIR", help="Prompt templates of your own (--sciagent-templates)."
)


def find(paths: tuple[Path, ...]) -> list[Path]:
    from ..runs.discover import find_runs

    found = [run for path in paths for run in find_runs(path.absolute())]
    if not found:
        raise SciagentError(f"no frozen run at or below {', '.join(map(str, paths))}")
    return list(dict.fromkeys(found))


def sources_of(tasks: tuple[Path, ...], folder: Path | None, templates: Path | None = None) -> Sources:
    """Where things lie: tasks, the ledger `folder`, and prompt templates of the user's own."""
    from ..evaluation import Sources
    from ..judging.prompts import PACKAGED
    from ..judging.template_check import read_templates

    words = read_templates(templates) if templates is not None else PACKAGED
    ledger = folder.absolute() if folder else None
    return Sources(Path.cwd(), tuple(t.absolute() for t in tasks), ledger, templates=words)


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
