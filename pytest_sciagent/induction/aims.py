"""What a criterion is about, one finding or the run, and whether the task's inputs would meet what it requires."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator

from ..checks.requirements import names_match
from ..models.requirement import FileRequirement, NumberRequirement, Requirement

_FINDING = re.compile(r"\bfinding(?:'s|s)?\b", re.IGNORECASE)


def about_no_finding(question: str, full: str, half: str) -> Iterator[str]:
    """Which parts of a criterion that is put to each finding don't speak of it: they would hold for every finding of a
    run as soon as they hold for one."""
    for name, text in (("question", question), ("level 1", full), ("level 0.5", half)):
        if not _FINDING.search(text):
            yield name


def about_a_finding(question: str) -> bool:
    """Whether a question speaks of one finding, as that of a whole run can't."""
    return re.search(r"\bthis finding\b", question, re.IGNORECASE) is not None


def met_by_inputs(requirement: Requirement, data_names: Collection[str]) -> str | None:
    """Why the task's own data would meet `requirement`, so that it tells nothing of a run; None if they don't.

    data_names: files of the task, and columns as FILE:COLUMN.
    """
    if isinstance(requirement, FileRequirement):
        return None  # copies of inputs are known by their digests
    columns: dict[str, list[str]] = defaultdict(list)
    for name in data_names:
        file, colon, column = name.partition(":")
        if colon:
            columns[file].append(column)
    if isinstance(requirement, NumberRequirement):
        same = sorted(c for found in columns.values() for c in found if names_match(requirement.names, c))
        return f"the data have numbers under {same[0]}" if same else None
    for file, found in sorted(columns.items()):
        if all(any(names_match(group, column) for column in found) for group in requirement.columns):
            return f"{file} has such columns"
    return None
