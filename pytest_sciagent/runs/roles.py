"""What part each file of a run plays, told from its name alone, and which file is the report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from ..errors import SciagentError
from ..models import Role

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
_REPORT_NAMES = ("result.md", "report.md")


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
    for wanted in _REPORT_NAMES:
        named = [path for path in notes if path.lower() == f"output/{wanted}"]
        if len(named) > 1:
            raise SciagentError(f"both {named[0]} and {named[1]} may be the report: name one with --report")
        if named:
            return named[0]
    return notes[0] if len(notes) == 1 else None
