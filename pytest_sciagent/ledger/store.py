"""The ledger: `verdicts/<system>/<task>.json`, one pretty, sorted file a run, and what the work files add."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from ..digest import sha256_bytes
from ..documents import is_there, parse_json, read_text
from ..errors import SciagentError
from ..layout import folders_above
from ..models import JudgeIdentity, LedgerEntry, LedgerFile, RunManifest

LEDGER_FOLDER = "verdicts"
Question = tuple[str, str, str | None, int]
"""Kind, criterion, finding and draw: what is asked, whatever it is made of."""


def ledger_folder(run_path: Path, given: Path | None, rootdir: Path) -> Path:
    """The ledger folder for the run at `run_path`: the one given, else `verdicts/` beside the runs, else in rootdir."""
    if given is not None:
        return given
    for ancestor in folders_above(run_path):
        if (ancestor / LEDGER_FOLDER).is_dir():
            return ancestor / LEDGER_FOLDER
    return rootdir / LEDGER_FOLDER


def record_path(folder: Path, manifest: RunManifest) -> Path:
    """Where the record of a run lies in its ledger folder."""
    repeat = "" if manifest.repeat == 1 else f".r{manifest.repeat}"
    return folder / manifest.system.name / f"{manifest.task_id}{repeat}.json"


class Ledger:
    """The entries known for one run, by key. An answer with a level wins over one without; then the latest.

    digest: the SHA-256 of the record that was read; empty where there was none.
    """

    def __init__(self, entries: Iterable[LedgerEntry] = ()) -> None:
        self.digest = ""
        self._read_again: Callable[[], Iterable[LedgerEntry]] | None = None
        self._released: int | None = None
        self._known: dict[str, LedgerEntry] = {}
        self._by_question: dict[Question, dict[str, LedgerEntry]] | None = None
        for entry in entries:
            self.add(entry)

    @classmethod
    def load(cls, folder: Path, manifest: RunManifest, work: Iterable[LedgerEntry] = ()) -> Ledger:
        """What is recorded for a run, and the `work` entries on top.

        Raises:
            SciagentError: a record that can't be read, or that belongs to another run.
        """
        path = record_path(folder, manifest)
        if not is_there(path):
            return cls(work)
        recorded, digest = _read(path, manifest)
        ledger = cls([*recorded, *work])
        ledger.digest = digest
        if not work:
            ledger._read_again = partial(_read_again, path, manifest, digest)
        return ledger

    def release(self) -> None:
        """Let go of the entries, which take most of a cohort's memory. Where they are asked for all the same, the
        record is read again; one that has changed meanwhile is an error (`SciagentError`)."""
        if self._read_again is not None:
            self._released, self._known, self._by_question = len(self._entries), {}, None

    @property
    def _entries(self) -> dict[str, LedgerEntry]:
        if self._released is not None:
            assert self._read_again is not None
            self._known, self._released = Ledger(self._read_again())._known, None
        return self._known

    def add(self, entry: LedgerEntry) -> None:
        """Take an entry in, unless a better one holds its key."""
        known = self._entries.get(entry.key)
        self._read_again = None  # there is more now than the record holds
        if known is None or _rank(entry) >= _rank(known):
            self._entries[entry.key] = entry
            if self._by_question is not None:
                self._by_question.setdefault(_question(entry), {})[entry.key] = entry

    def get(self, key: str) -> LedgerEntry | None:
        return self._entries.get(key)

    @property
    def count(self) -> int:
        """How many entries are known."""
        return len(self._entries) if self._released is None else self._released

    def about(self, kind: str, criterion_id: str, finding: str | None, draw: int) -> list[LedgerEntry]:
        """Every answer to one question, in whatever words and of whomever it was asked."""
        if self._by_question is None:
            self._by_question = {}
            for entry in self._entries.values():
                self._by_question.setdefault(_question(entry), {})[entry.key] = entry
        return list(self._by_question.get((kind, criterion_id, finding, draw), {}).values())

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries in their published order."""
        return tuple(sorted(self._entries.values(), key=_order))

    def judges(self) -> dict[str, JudgeIdentity]:
        """The judges that gave answers, by the canonical text of their identity. A failed call is no answer."""
        return {e.judge.text: e.judge for e in self._entries.values() if e.settles}


def _read(path: Path, manifest: RunManifest) -> tuple[tuple[LedgerEntry, ...], str]:
    """The entries of the record of a run, and its digest."""
    text = read_text(path)
    record = parse_json(text, LedgerFile, path)
    if (record.system, record.task_id, record.repeat) != (manifest.system.name, manifest.task_id, manifest.repeat):
        raise SciagentError(f"this record is of {record.system}/{record.task_id}, not of this run", path=path)
    return record.entries, sha256_bytes(text.encode())


def _read_again(path: Path, manifest: RunManifest, digest: str) -> tuple[LedgerEntry, ...]:
    entries, found = _read(path, manifest)
    if found != digest:
        raise SciagentError("this record has changed since it was read: run again", path=path)
    return entries


def _question(entry: LedgerEntry) -> Question:
    return entry.kind, entry.criterion_id, entry.finding, entry.draw


def _rank(entry: LedgerEntry) -> tuple[bool, str]:
    return entry.settles, entry.time


def _order(entry: LedgerEntry) -> tuple[str, str, str, str]:
    return entry.kind, entry.finding or "", entry.criterion_id, entry.key


def merge_entries(*sources: Iterable[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """One sorted set of entries out of several; of two with one key the better answered, then the later is kept."""
    return Ledger(entry for source in sources for entry in source).entries


def write_record(folder: Path, manifest: RunManifest, entries: Iterable[LedgerEntry]) -> Path:
    """Write the record of a run: pretty, sorted, atomically. Returns its path."""
    record = LedgerFile(
        system=manifest.system.name,
        task_id=manifest.task_id,
        repeat=manifest.repeat,
        entries=tuple(sorted(entries, key=_order)),
    )
    path = record_path(folder, manifest)
    write_file(path, record)
    return path


def write_file(path: Path, record: LedgerFile) -> None:
    """Write one record: pretty, sorted, atomically."""
    write_atomically(path, json.dumps(record.as_json(), indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` (text as UTF-8) to `path` so that a reader sees the old file or the new one, never a part.

    Raises:
        SciagentError: the place can't be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise SciagentError(f"can't be written: {error.strerror}", path=path) from None
