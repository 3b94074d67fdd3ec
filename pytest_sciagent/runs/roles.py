"""What part each file of a run plays, told from its name alone, and which file is the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from ..errors import SciagentError
from ..models import FileEntry, Role

# Suffixes without their dot; the compressed ones have two.
_SUFFIXES: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("notebook", re.compile(r"ipynb")),
    ("analysis_source", re.compile(r"c|cc|cpp|f|f90|f95|go|h|hpp|jl|js|m|py|r|rs|scala|sh|sql|ts")),
    ("figure", re.compile(r"png|jpe?g|svg|pdf|tiff?|webp|gif")),
    ("result", re.compile(r"(?:csv|tsv|json|jsonl|ndjson)(?:\.gz)?|parquet|feather|arrow|xlsx?|h5|hdf5|npy|npz|mat")),
)
_REPRODUCTION = re.compile(
    r"reproduc(?:e|tion)[^/]*\.(?:md|txt|sh)|requirements[^/]*\.txt|environment\.ya?ml|makefile|snakefile|dockerfile"
    r"|pyproject\.toml|pipfile(?:\.lock)?|(?:uv|poetry|renv|conda)[.-]lock(?:\.ya?ml)?"
)
_LOG = re.compile(
    r"[^/]*\.(?:log|err)|commands\.txt|(?:[^/]*[_.-])?(?:log\d*|stdout|stderr)\.txt|(?:log|stdout|stderr)[_.-][^/]*\.txt"
)
REPORT_NAMES = ("result.md", "report.md")


def role_of(path: str, report: str | None) -> Role:
    """The role of the file `path` (relative to the run: `output/...` or `logs/...`) in a run whose report is `report`.

    The first that fits: the report itself; log (below `logs/`, or named like one); reproduction; then by suffix:
    notebook, analysis source, figure, result; else other. Case does not matter.
    """
    name = PurePosixPath(path).name.lower()
    if path == report:
        return "report"
    if path.startswith("logs/") or _LOG.fullmatch(name):
        return "log"
    if _REPRODUCTION.fullmatch(name):
        return "reproduction"
    suffix = re.search(r"\.([^.]+(?:\.gz)?)$", name)
    fitting = (role for role, pattern in _SUFFIXES if suffix and pattern.fullmatch(suffix[1]))
    return next(fitting, "other")


def find_report(paths: Iterable[str]) -> str | None:
    """The report among `paths` (relative to the run), or None. Only files directly in `output/` count, in this order:

    1. `Result.md`, in any case;
    2. `report.md`, in any case;
    3. the only `*.md` there is.

    Raises:
        SciagentError: two files of rank 1, or two of rank 2.
    """
    notes = sorted(path for path in paths if re.fullmatch(r"output/[^/]+\.md", path, re.IGNORECASE))
    for wanted in REPORT_NAMES:
        named = [path for path in notes if path.lower() == f"output/{wanted}"]
        if len(named) > 1:
            raise SciagentError(f"both {named[0]} and {named[1]} may be the report: name one with --report")
        if named:
            return named[0]
    return notes[0] if len(notes) == 1 else None


def guesses(files: Sequence[FileEntry], report: str | None, *, named: bool) -> Iterator[str]:
    """What was guessed of a run's files, a line a role: how many, by what, and the first of them.

    `named`: the report was not guessed, the user has named it.
    """
    if report is not None:
        why = "you named it" if named else _why_report(report)
        yield f"report: {report} ({why})"
    for role, why in _BY:
        mine = [file.path for file in files if file.role == role]
        if mine:
            more = f" and {len(mine) - _SHOWN} more" if len(mine) > _SHOWN else ""
            yield f"{role.replace('_', ' ')}: {len(mine)} ({why}): {', '.join(mine[:_SHOWN])}{more}"


def _why_report(report: str) -> str:
    name = PurePosixPath(report).name.lower()
    return "by its name" if name in REPORT_NAMES else "the only Markdown file at the top of output/"


_SHOWN = 3
_BY: tuple[tuple[Role, str], ...] = (
    ("analysis_source", "code, by its suffix"),
    ("notebook", "by its suffix"),
    ("result", "data files, by their suffix"),
    ("figure", "images and PDF, by their suffix"),
    ("reproduction", "by its name"),
    ("log", "below logs/, or named like one"),
    ("other", "nothing is known of these: no check looks into them by role"),
)
