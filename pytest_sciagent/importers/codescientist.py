"""CodeScientist: ratings of its papers by outside reviewers, as labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import SciagentError
from ..models import Label, Rater
from .foreign import Folder, table
from .gathering import Gathering

DATASET = "codescientist"
_TABLE = re.compile(r".*review_ratings\.tsv")
_PAPER = re.compile(r"Paper \d+ - (\S+)")
_SCALES = {
    "Soundness": ("Unsound", "Minor Concerns", "Likely Sound", "Clearly Sound"),
    "Novelty": (
        "Not Novel/Exists in Exact Form",
        "Incrementally Novel (Minor Variation)",
        "Incrementally Novel (Significant Variation)",
    ),
}
"""Steps of each scale that the published table has, lowest first; a cell begins with one of them."""


def recognises(folders: Sequence[Folder]) -> bool:
    """Whether anything of this format is among `folders`."""
    return any(_TABLE.fullmatch(name) for folder in folders for name in folder.files)


def bring_in(folders: Sequence[Folder], into: Gathering) -> None:
    """Import every table of ratings among `folders`."""
    for folder in folders:
        for name in folder.files:
            if _TABLE.fullmatch(name):
                with into.attempt("labels", name, folder.path / name):
                    into.write_labels(DATASET, _labels(folder, name), "reviewers are told apart by their order only")


def _labels(folder: Folder, name: str) -> list[Label]:
    rows = table(folder, name, "\t")
    place = folder.path / name
    labels: list[Label] = []
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, 2):
        paper, *cells = row.values()
        match = _PAPER.match(paper)
        if match is None or len(cells) != len(_SCALES):
            raise SciagentError(f"row {number} is not a paper and {len(_SCALES)} ratings", path=place)
        seen[match[1]] = seen.get(match[1], 0) + 1
        rater = Rater(kind="human", name=f"reviewer {seen[match[1]]} of the paper")
        for (criterion, steps), cell in zip(_SCALES.items(), cells, strict=True):
            score = _step(cell, steps, number, place)
            scale = (0.0, float(len(steps) - 1))
            labels.append(
                Label(dataset=DATASET, run=match[1], criterion=criterion, rater=rater, score=score, scale=scale)
            )
    return labels


def _step(cell: str, steps: Sequence[str], row: int, place: Path) -> float:
    for number, step in enumerate(steps):
        if cell.startswith(step):
            return float(number)
    raise SciagentError(f"row {row}: {cell[:60]!r} is none of {', '.join(steps)}", path=place)
