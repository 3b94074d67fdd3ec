"""The answers that a session is given, written down at once, and put into their records at its end."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ledger import WorkWriter
    from ..models import JudgeIdentity, LedgerEntry
    from .state import SessionState


class Recording:
    """What one process of a session writes down, and takes in of the others.

    Attributes:
        fresh: the answers of this session by run label: those of this process, and of all once they are taken in.
        passing: labels of the judges whose answers end with the session.
    """

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._writers: dict[Path, WorkWriter] = {}
        self.fresh: dict[str, list[LedgerEntry]] = {}
        self.passing: set[str] = set()

    @functools.cached_property
    def live_folder(self) -> Path | None:
        """Where the answers of a session without a ledger travel between its processes."""
        if self._state.options.mode != "live":
            return None
        told = self._state.wire["live"] if self._state.wire is not None else None
        return Path(os.fsdecode(told) if told is not None else tempfile.mkdtemp(prefix="sciagent-live-"))

    def record(self, run_label: str, entry: LedgerEntry) -> None:
        """Write an answer down at once, whoever gave it.

        Raises:
            SciagentError: the work folder can't be written to.
        """
        sources = self._state.sources
        self.writer(sources.work if self._is_kept(entry) else sources.passing).append(run_label, entry)
        self.fresh.setdefault(run_label, []).append(entry)

    def writer(self, folder: Path) -> WorkWriter:
        """The writer of this process below `folder`; raises as `record` does."""
        from ..ledger import WorkWriter

        if folder not in self._writers:
            self._writers[folder] = WorkWriter(folder, self._state.session_id)
        return self._writers[folder]

    def _is_kept(self, entry: LedgerEntry) -> bool:
        """Whether an answer outlives the session. Recording follows naming: what a judge says that nobody has named,
        one that a fixture put in the place of the session's, is kept only if the user says so."""
        return self._state.options.mode in ("record", "refresh", "live") or entry.judge in self._named

    @functools.cached_property
    def _named(self) -> tuple[JudgeIdentity, ...]:
        from ..judging.panel import identities_of

        return identities_of(self._state.judge)

    def take_in(self) -> None:
        """Bring what this session's processes recorded into the controller's cases.

        Raises:
            SciagentError: a work file that can't be read.
        """
        from ..ledger import read_work

        state = self._state
        self.fresh = {}  # what this process has recorded stands in the files, too
        for folder in (state.sources.work, state.sources.passing):
            for label, entries in read_work(folder, state.session_id).items():
                self.fresh.setdefault(label, []).extend(entries)
                if folder == state.sources.passing:
                    self.passing |= {entry.judge.label for entry in entries}
        for index in state.indexes.values():
            if index.label in self.fresh and index.state == "sound":
                state.case_of(index).answers.take_in(self.fresh[index.label])

    def save(self) -> None:
        """Put what work files hold for this session's runs into their records: its own, and what a killed session left.
        Failed calls are no answers, and are not recorded.

        Raises:
            SciagentError: a record can't be read or written; the work files stay.
        """
        from ..ledger import save_work, work_files

        state = self._state
        self.close()
        if state.options.mode == "live":
            return
        sound = [(path, index.label) for path, index in state.indexes.items() if index.state == "sound"]
        save_work(
            state.sources.work,
            ((label, state.case(path).run.manifest, state.sources.ledger_of(path)) for path, label in sound),
        )
        for folder in (state.sources.work, state.sources.passing):
            for file in work_files(folder, state.session_id):
                file.unlink()

    def close(self) -> None:
        """Close this process's work files."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def end(self) -> None:
        """Leave nothing behind that only this session needed."""
        self.close()
        live = self.__dict__.get("live_folder")
        if live is not None and not self._state.is_worker:
            shutil.rmtree(live, ignore_errors=True)
