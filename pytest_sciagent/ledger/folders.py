"""Whole ledger folders: listing, merging, comparing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..documents import load_json
from ..errors import SciagentError
from ..models import LedgerEntry, LedgerFile, RunManifest
from .store import Ledger, merge_entries, write_file, write_record


def records(folder: Path) -> Iterator[tuple[Path, LedgerFile]]:
    """Every record below a ledger folder, by path.

    Raises:
        SciagentError: no such folder, or a record that can't be read.
    """
    if not folder.is_dir():
        raise SciagentError("no such ledger folder", path=folder)
    for path in sorted(folder.glob("*/*.json")):
        yield path, load_json(path, LedgerFile)


def merge_folders(sources: Sequence[Path], target: Path) -> int:
    """Merge the records of several ledger folders into `target`; returns how many records were written.

    Raises:
        SciagentError: one key with two different answers: that is a rejudgement, and needs a draw of its own.
    """
    merged: dict[str, LedgerFile] = {}
    for source in sources:
        for path, record in records(source):
            name = f"{path.parent.name}/{path.name}"
            known = merged.get(name)
            merged[name] = record if known is None else _merged(known, record, path)
    for name, record in merged.items():
        write_file(target / name, record)
    return len(merged)


def move_out(folder: Path, manifest: RunManifest, entries: Iterable[LedgerEntry], keys: Collection[str]) -> Path:
    """Move those `entries` of a run that have one of `keys` from the ledger `folder` to one beside it, and give that
    one's path. They are written there before they leave.

    Raises:
        SciagentError: a record can't be read or written; then none has left.
    """
    beside = folder.with_name(f"{folder.name}-pruned")
    entries = list(entries)
    there = Ledger.load(beside, manifest).entries
    write_record(beside, manifest, merge_entries(there, (entry for entry in entries if entry.key in keys)))
    write_record(folder, manifest, (entry for entry in entries if entry.key not in keys))
    return beside


def _merged(known: LedgerFile, record: LedgerFile, path: Path) -> LedgerFile:
    by_key = {entry.key: entry for entry in known.entries}
    for entry in record.entries:
        other = by_key.get(entry.key)
        if other is not None and other.settles and entry.settles and _said(other) != _said(entry):
            raise SciagentError(
                f"{entry.finding or 'run'} {entry.criterion_id} has two different answers under one key "
                f"({other.time} and {entry.time}); keep one",
                path=path,
            )
    entries = Ledger([*known.entries, *record.entries]).entries
    return known.model_copy(update={"entries": entries})


def _said(entry: LedgerEntry) -> object:
    return entry.status, entry.anchors, entry.answer


@dataclass(frozen=True, slots=True)
class Difference:
    """A question that two ledgers answer differently, or only one answers. Levels as text; `-`: no answer."""

    run: str
    finding: str | None
    criterion_id: str
    left: str
    right: str


def diff_folders(left: Path, right: Path) -> list[Difference]:
    """Where two ledger folders differ, question by question (whatever judge, template or evidence)."""
    sides = [_answers(folder) for folder in (left, right)]
    found = []
    for question in sorted(set(sides[0]) | set(sides[1])):
        a, b = (side.get(question, "-") for side in sides)
        if a != b:
            run, finding, criterion_id = question
            found.append(Difference(run, finding or None, criterion_id, a, b))
    return found


def _answers(folder: Path) -> dict[tuple[str, str, str], str]:
    """Shown level by run, finding and criterion; several draws or judges side by side."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for _, record in records(folder):
        repeat = "" if record.repeat == 1 else f".r{record.repeat}"
        for entry in record.entries:
            if entry.kind != "criterion":
                continue
            shown = entry.status if entry.level is None else f"{entry.level:g}"
            key = (f"{record.system}/{record.task_id}{repeat}", entry.finding or "", entry.criterion_id)
            found.setdefault(key, []).append(shown)
    return {key: ",".join(sorted(values)) for key, values in found.items()}
