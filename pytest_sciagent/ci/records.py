"""Recorded verdicts carried between jobs: out of a cache, and out of the parts of a sharded session."""

from __future__ import annotations

from pathlib import Path

from ..documents import load_json
from ..errors import SciagentError
from ..ledger import Ledger
from ..ledger.folders import merge_folders, records
from ..ledger.store import write_file
from ..models import LedgerFile
from .session import RECORDS


def restore(cache: Path, ledger: Path) -> tuple[int, list[str]]:
    """Add what `cache` holds to the records in `ledger`, which win where both have an answer.

    Returns:
        How many answers were added, and what could not be read: a broken cache costs answers, not the job.
    """
    added, problems = 0, []
    for path in sorted(cache.glob("*/*.json")) if cache.is_dir() else ():
        try:
            record = load_json(path, LedgerFile)
            target = ledger / record.system / path.name
            known = load_json(target, LedgerFile).entries if target.is_file() else ()
        except SciagentError as error:
            problems.append(str(error))
            continue
        keys = {entry.key for entry in known if entry.settles}
        fresh = [entry for entry in record.entries if entry.key not in keys and entry.settles]
        if path.name != _file_name(record):
            problems.append(f"{path}: is the record of {record.system}/{record.task_id}")
        elif fresh:
            entries = Ledger([*known, *fresh]).entries
            write_file(target, record.model_copy(update={"entries": entries}))
            added += len(fresh)
    return added, problems


def _file_name(record: LedgerFile) -> str:
    return f"{record.task_id}{'' if record.repeat == 1 else f'.r{record.repeat}'}.json"


def keep(ledger: Path, cache: Path) -> int:
    """Copy the records in `ledger` to `cache`, and drop what else is there. Returns how many."""
    found = list(records(ledger)) if ledger.is_dir() else []
    for path, record in found:
        write_file(cache / path.parent.name / path.name, record)
    kept = {(path.parent.name, path.name) for path, _ in found}
    for old in cache.glob("*/*.json"):
        if (old.parent.name, old.name) not in kept:
            old.unlink()
    return len(found)


def merge_parts(parts: Path, ledger: Path) -> int:
    """Merge the ledgers in the folders of `parts`, one for each part of a sharded session, into `ledger`.

    A part's folder is its ledger, or the report folder that `sciagent ci test` left, which holds one.

    Raises:
        SciagentError: there is none, or two parts answer one question differently.
    """
    folders = sorted(folder for folder in parts.iterdir() if folder.is_dir()) if parts.is_dir() else []
    if not folders:
        raise SciagentError("no folder of a part's records lies in it", path=parts)
    ledgers = [folder / RECORDS if (folder / RECORDS).is_dir() else folder for folder in folders]
    return merge_folders([*([ledger] if ledger.is_dir() else []), *ledgers], ledger)
