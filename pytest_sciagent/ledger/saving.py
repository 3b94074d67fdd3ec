"""From work files to records: what sessions wrote line by line is put where it stays."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..models import RunManifest
from .store import Ledger, merge_entries, write_record
from .work import read_work


def save_work(work: Path, runs: Iterable[tuple[str, RunManifest, Path]]) -> None:
    """Put what the work files below `work` hold for `runs` (label, manifest, ledger folder) into their records.

    Failed calls are no answers, and are not recorded. The work files stay.

    Raises:
        SciagentError: a record or a work file that can't be read, or a record that can't be written.
    """
    left = read_work(work)
    for label, manifest, folder in runs:
        if label in left:
            recorded = Ledger.load(folder, manifest).entries
            entries = merge_entries(recorded, [entry for entry in left[label] if entry.settles])
            if entries != recorded:
                write_record(folder, manifest, entries)
