"""Recorded answers of judges."""

from __future__ import annotations

from .saving import save_work
from .store import Ledger, ledger_folder, merge_entries, write_record
from .work import WorkWriter, read_work, work_files

__all__ = [
    "Ledger",
    "WorkWriter",
    "ledger_folder",
    "merge_entries",
    "read_work",
    "save_work",
    "work_files",
    "write_record",
]
