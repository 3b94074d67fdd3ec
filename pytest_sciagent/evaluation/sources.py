"""Where the parts of an evaluation lie on disk, and how a run is opened for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from ..checks import CheckContext, CheckResult, find_check
from ..evidence.artifacts import ReadingLimits
from ..evidence.figures import check_drawing
from ..evidence.isolation import Readers
from ..evidence.readers import check_packages
from ..judging.prompts import PACKAGED, Templates
from ..judging.requests import Asking
from ..ledger import Ledger, ledger_folder, read_work
from ..ledger.trusted_files import KeptFiles
from ..models import LedgerEntry
from ..runs import Run
from ..runs.figure_record import recorded_figures
from ..tasks import Task, find_task, task_folders
from .about_run import RerunWish
from .case import Case
from .memory import memory_of


@dataclass(frozen=True)
class Sources:
    """Where tasks and recorded answers are looked up: the folders given, then the defaults below `rootdir`.

    live: a folder for the answers of this session alone; what is recorded elsewhere is then not read.
    rerun: whether, and for how long, runs' own code is run again.
    canary, images: whether judges are also asked a criterion that nothing can meet, and sent figures (see `Case`).
    templates: the words of the prompts.
    reading: what the reading of one run may take; None for what `Artifacts` allows.
    session: the session whose own failed calls are told; those of others are questions that are still open.
    """

    rootdir: Path
    tasks: Sequence[Path] = ()
    ledger: Path | None = None
    live: Path | None = None
    rerun: RerunWish | None = None
    canary: bool = False
    images: bool = False
    templates: Templates = PACKAGED
    session: str | None = None
    reading: ReadingLimits | None = None

    @cached_property
    def task_folders(self) -> list[Path]:
        return task_folders(self.tasks, self.rootdir)

    @cached_property
    def _tasks(self) -> dict[str, Task | None]:
        return {}

    def task(self, task_id: str) -> Task | None:
        """The task of that name, read once for all its runs; None where it is not known.

        Raises:
            SciagentError: see `find_task`.
        """
        if task_id not in self._tasks:
            self._tasks[task_id] = find_task(task_id, self.task_folders)
        return self._tasks[task_id]

    @cached_property
    def readers(self) -> Readers:
        """The process that reads binary formats for all runs."""
        return Readers()

    @property
    def work(self) -> Path:
        """Where work ledgers are written."""
        return self.live if self.live is not None else self.rootdir / ".sciagent" / "work"

    @property
    def passing(self) -> Path:
        """Where answers are written that end with their session."""
        return self.rootdir / ".sciagent" / "passing"

    @property
    def cache(self) -> Path:
        """Where what has been worked out is kept; may be deleted at any time."""
        return self.rootdir / ".sciagent" / "cache"

    @cached_property
    def scripts(self) -> KeptFiles:
        """What tasks' scripts, and runs' own code that was run again, have come to."""
        return KeptFiles.of_user(self.cache, os.environ)

    @property
    def probes(self) -> Path:
        """Where memory probes lie."""
        return self.rootdir / "probes"

    @cached_property
    def work_entries(self) -> dict[str, list[LedgerEntry]]:
        """What sessions have written and not yet recorded: every answer, and the failed calls of this session."""
        mine = read_work(self.work, self.session) if self.session is not None else {}
        found = {run: [e for e in entries if e.settles] for run, entries in read_work(self.work).items()}
        return {run: [*entries, *mine.get(run, ())] for run, entries in found.items()}

    def ledger_of(self, run_path: Path) -> Path:
        """The ledger folder for the run in `run_path`."""
        return ledger_folder(run_path, self.ledger, self.rootdir)


def open_case(
    path: Path,
    sources: Sources,
    record: Callable[[str, LedgerEntry], None],
    find_check: Callable[[str], Callable[[CheckContext], CheckResult]] = find_check,
    asking: Asking = "missing",
) -> Case:
    """The run in the folder `path`, ready to be evaluated. New answers go to `record`, with the run's label.

    Raises:
        SciagentError: its manifest, its task, its ledger or the record of its figures can't be read, or a file of it
            only by a package that is not installed.
    """
    run = Run.load(path)
    check_packages(run.label, run.files)
    if sources.images:
        check_drawing(run)
    task = sources.task(run.manifest.task_id)
    work = sources.work_entries.get(run.label, ())
    ledger = Ledger(work) if sources.live is not None else Ledger.load(sources.ledger_of(path), run.manifest, work)
    return Case(
        run,
        task,
        ledger,
        partial(record, run.label),
        find_check,
        sources.scripts,
        asking,
        sources.rerun,
        sources.canary,
        sources.images,
        recorded_figures(run, sources.rootdir) if sources.images else {},
        sources.templates,
        memory_of(run.manifest, sources.probes),
        sources.readers,
        sources.reading,
    )
