"""Which figures of a run speak to which criterion: the record that an import leaves beside the runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel

from ..documents import parse_json, read_text
from ..errors import SciagentError
from .run import Run

_RUNS, _FIGURES = "runs", "figures"
Recorded = dict[str, tuple[str, ...]]
"""By the id of a criterion, the figures that are about it, best first; none where no figure speaks to it."""


class _Match(BaseModel):
    """A figure, and what an importer says of why it was chosen: of that only the path is needed."""

    model_config = ConfigDict(extra="allow", frozen=True)

    path: str


class _Record(RootModel[dict[str, tuple[_Match, ...]]]):
    """`figures/<system>/<run>.json`."""


def record_place(run_path: Path) -> Path | None:
    """Where the record of the run at `runs/<system>/<run>` lies; None for a run that lies in no folder `runs`."""
    above = list(run_path.absolute().parents)[:3]
    if len(above) < 3 or above[1].name != _RUNS:
        return None
    return above[2] / _FIGURES / above[0].name / f"{run_path.name}.json"


def recorded_figures(run: Run) -> Recorded:
    """The figures that are recorded for criteria of `run`; empty where nothing is.

    Raises:
        SciagentError: a record that can't be read, or that names what is no file of this run.
    """
    place = record_place(run.path)
    if place is None or not place.is_file():
        return {}
    record: Any = parse_json(read_text(place), _Record, place)
    found = {criterion: tuple(match.path for match in matches) for criterion, matches in record.root.items()}
    for criterion, paths in found.items():
        for path in paths:
            if path not in run.files:
                raise SciagentError(
                    f"{criterion}: {path!r} is no file of the run {run.label}: import it again, or remove this record",
                    path=place,
                )
    return found
