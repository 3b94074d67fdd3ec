"""How a frozen run lies on disk, and where what belongs to it lies."""

from __future__ import annotations

from pathlib import Path

MANIFEST = "run.json"
FROZEN_FOLDERS = ("output", "logs")
"""Everything an agent wrote lies below these."""

_FOLDERS_UP = 4


def folders_above(run_path: Path) -> list[Path]:
    """Where folders of records may lie beside the runs (`verdicts/`, `figures/`): the nearest folders above a run."""
    return list(run_path.parents)[:_FOLDERS_UP]
