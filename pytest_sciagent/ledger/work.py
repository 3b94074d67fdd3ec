"""The work ledger: append-only JSON lines, one file a writer, one `os.write` a line. A kill loses one line at most."""

from __future__ import annotations

import errno
import json
import os
import uuid
from fnmatch import fnmatchcase
from pathlib import Path

from ..documents import parse_json
from ..errors import SciagentError
from ..models import LedgerEntry


class WorkWriter:
    """Appends entries to a file of its own below `folder`; nothing is buffered.

    Raises:
        SciagentError: the folder can't be written to.
    """

    def __init__(self, folder: Path, session: str) -> None:
        self.path = folder / f"{session}-{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise SciagentError(f"answers can't be recorded here: {error.strerror}", path=folder) from None

    def append(self, run_label: str, entry: LedgerEntry) -> None:
        """Write one entry of the run `run_label` (system/task).

        Raises:
            SciagentError: it can't be written.
        """
        line = json.dumps({"run": run_label, "entry": entry.as_json()}, ensure_ascii=True, sort_keys=True)
        data = line.encode("ascii") + b"\n"
        try:
            written = os.write(self._descriptor, data)
            if written < len(data):  # taken back, so that what may follow begins on a line of its own
                os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise SciagentError(f"an answer can't be recorded: {error.strerror}", path=self.path) from None

    def close(self) -> None:
        os.close(self._descriptor)


def work_files(folder: Path, session: str) -> list[Path]:
    """The work files that one session wrote, its workers included.

    Raises:
        SciagentError: the folder is there and can't be looked into.
    """
    try:
        return sorted(path for path in folder.iterdir() if fnmatchcase(path.name, f"{session}-*.jsonl"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SciagentError(f"recorded answers can't be looked for: {error.strerror}", path=folder) from None


def read_work(folder: Path, session: str = "*") -> dict[str, list[LedgerEntry]]:
    """All entries below `folder` (or those of one session), by run label. A torn last line is dropped.

    Raises:
        SciagentError: any other line that can't be read, with file and line.
    """
    found: dict[str, list[LedgerEntry]] = {}
    for path in work_files(folder, session):
        try:
            complete, _, _ = path.read_bytes().rpartition(b"\n")
        except FileNotFoundError:  # another session has ended just now, and put it into its records
            continue
        except OSError as error:
            raise SciagentError(f"recorded answers can't be read: {error.strerror}", path=path) from None
        for number, line in enumerate(complete.split(b"\n") if complete else [], start=1):
            try:
                wrapped = json.loads(line)
                run, raw = wrapped["run"], json.dumps(wrapped["entry"])
                found.setdefault(run, [])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise SciagentError(
                    "this ledger line can't be read; delete it to go on", path=path, line=number
                ) from None
            try:
                entry = parse_json(raw, LedgerEntry, path)
            except SciagentError as error:
                raise SciagentError(error.message, path=path, line=number) from None
            found[run].append(entry)
    return found
