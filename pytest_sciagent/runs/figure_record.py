"""Which figures of a run speak to which criterion: the record that an import leaves beside the runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel

from ..documents import parse_json, read_text
from ..errors import SciagentError
from ..layout import folders_above
from ..ledger.store import record_path
from .run import Run

FIGURES = "figures"
Recorded = dict[str, tuple[str, ...]]
"""By the id of a criterion, the figures that are about it, best first; none where no figure speaks to it."""


class _Match(BaseModel):
    """A figure, and what an importer says of why it was chosen: of that only the path is needed."""

    model_config = ConfigDict(extra="allow", frozen=True)

    path: str


class _Record(RootModel[dict[str, tuple[_Match, ...]]]):
    """`figures/<system>/<task>.json`, for a repeat `<task>.r<N>.json`: named by what the run is, as its record is."""


def recorded_figures(run: Run, rootdir: Path) -> Recorded:
    """The figures that are recorded for criteria of `run`, in the nearest `figures/` above it that knows it, else in
    `rootdir`; empty where nothing is.

    Raises:
        SciagentError: a record that can't be read, or that names what is no file of this run.
    """
    places = (record_path(above / FIGURES, run.manifest) for above in (*folders_above(run.path.absolute()), rootdir))
    place = next((path for path in places if path.is_file()), None)
    if place is None:
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
