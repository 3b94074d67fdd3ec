"""Verdicts that an earlier session worked out from the same files, taken instead of being worked out again.

They count only where nothing has changed that they follow from (`basis_of`), and only if this user's own session wrote
them (`ledger.trusted_files`). What failed, and what could turn out otherwise another time, is never kept.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError, model_validator

from ..digest import sha256_bytes
from ..evidence.sandbox import interpreter
from ..ledger.trusted_files import KeptFiles
from ..models import Model, Rubric, Verdict
from ..models.sharing import share
from ..runs.files import walk
from ..scoring import RunFacts
from .recorded import Replayed

if TYPE_CHECKING:
    from ..tasks import Task
    from .case import Case
    from .sources import Sources

VerdictKey = tuple[str, str | None]
_PACKAGE = Path(__file__).resolve().parents[1]
_VARIABLES = re.compile(
    r"(?!PYTHON(?:DONTWRITEBYTECODE|UNBUFFERED)$)"  # which change no result
    r"(?:LANG|LANGUAGE|TZ|(?:LC|OMP|OPENBLAS|MKL|BLIS|NPY|NUMPY|NUMEXPR|PANDAS|ARROW|HDF5|PYTHON)(?:_\w+|[A-Z]+)?)"
)
"""Environment variables by which Python and the libraries it computes and reads with may come to other results."""


class KeptRun(Model):
    """All verdicts of a run's rubrics, and what is known about it as a whole.

    replayed: of the answers that it was judged by. open_again: why questions about it are open that were answered in
    another form (`open_again_about_run`).
    """

    verdicts: tuple[Verdict, ...]
    groups: tuple[tuple[str, ...], ...] | None
    targets: dict[str, float | None] | None
    refuted: dict[str, bool | None] | None
    refuted_quotes: dict[str, tuple[str, ...] | None] | None
    replayed: Replayed
    open_again: tuple[str, ...]

    @model_validator(mode="after")
    def _share(self) -> KeptRun:
        share(self.verdicts, "judge", "anchors")
        share(citation for verdict in self.verdicts for citation in verdict.citations)
        share(verdict.receipt for verdict in self.verdicts if verdict.receipt is not None)
        return self

    @classmethod
    def of(cls, verdicts: Iterable[Verdict], facts: RunFacts, replayed: Replayed, again: Iterable[str]) -> KeptRun:
        return cls.model_validate(
            {
                "verdicts": tuple(verdicts),
                "groups": facts.groups,
                "targets": facts.targets,
                "refuted": facts.refuted,
                "refuted_quotes": facts.refuted_quotes,
                "replayed": replayed,
                "open_again": tuple(again),
            }
        )

    @property
    def facts(self) -> RunFacts:
        return RunFacts(self.groups, self.targets, self.refuted, self.refuted_quotes)


def read_kept(files: KeptFiles, label: str, basis: str) -> KeptRun | None:
    """What was kept of the run `label`, if it follows from `basis`."""
    content = files.read(_name(label), basis)
    if content is None:
        return None
    try:
        return KeptRun.model_validate_json(content)
    except ValidationError:
        return None


def write_kept(files: KeptFiles, label: str, basis: str, kept: KeptRun) -> None:
    """Keep a run, unless something of it failed, or would not come back the same."""
    if any(verdict.is_error for verdict in kept.verdicts):
        return
    try:
        content = json.dumps(kept.as_json(), ensure_ascii=False).encode()
        same = KeptRun.model_validate_json(content) == kept
    except ValueError:  # half of a character, which no file can hold
        return
    if same:
        files.write(_name(label), basis, content)


def _name(label: str) -> str:
    return f"{sha256_bytes(label.encode())}.json"


def basis_of(case: Case, sources: Sources, rubrics: Sequence[Rubric], judge: str, more: str) -> str | None:
    """The digest of all that the verdicts of a run follow from: this program, what is installed beside it, machine and
    environment, the manifest (whose hashes are checked when a session begins), the task, rubrics, recorded answers,
    templates, and what was asked for.

    judge: who judges, panel and rule included. more: what else verdicts follow from. None: nothing may be kept, since
    answers are still coming in, the run's own code is run again, or the task has files that nobody can vouch for.
    """
    if sources.live is not None or sources.rerun is not None or case.run.label in sources.work_entries:
        return None
    task = _task_digest(case.task)
    if task is None:
        return None
    parts = [
        _program(),
        _environment(os.environ),
        sha256_bytes(case.run.manifest.model_dump_json(by_alias=True).encode("utf-8", "replace")),
        task,
        *(rubric.digest for rubric in rubrics),
        case.ledger.digest,
        judge,
        repr(case.reading),
        json.dumps([case.canary, case.images, sorted(case.figures.items()), case.memory]),
        *(case.templates.digest(kind) for kind in sorted(case.templates.parts)),
        more,
    ]
    return sha256_bytes(json.dumps(parts).encode())


def _task_digest(task: Task | None) -> str | None:
    """Of what was read of `task.yaml`, and of every file but the data, whose hashes it registers and a session checks
    as it begins. None where links, or files that can't be read, lead to what may change unseen."""
    if task is None:
        return ""
    found = [("", task.manifest.model_dump_json(by_alias=True))]
    for entry in walk(task.path):
        if entry.problem is not None:
            return None
        if not entry.path.startswith("data/"):
            try:
                found.append((entry.path, sha256_bytes((task.path / entry.path).read_bytes())))
            except OSError:
                return None
    return sha256_bytes(json.dumps(sorted(found)).encode())


def _environment(environ: Mapping[str, str]) -> str:
    """Of the variables that may change a result. They are read each time: a program of a user's own may set them."""
    return sha256_bytes(json.dumps(sorted(v for v in environ.items() if _VARIABLES.fullmatch(v[0]))).encode())


@cache
def _program() -> str:
    """The digest of this program's files, of Python and the machine, and of all that is installed: a task's scripts may
    import any of it, and so may the libraries that artifacts are read with."""
    found: list[object] = [interpreter(), sys.flags.optimize, platform.release(), platform.machine()]
    for folder, folders, names in os.walk(_PACKAGE):
        folders[:] = [name for name in folders if name != "__pycache__"]
        paths = (Path(folder) / name for name in names)
        found += ([str(path), sha256_bytes(path.read_bytes())] for path in paths)
    return sha256_bytes(json.dumps(sorted(map(str, found))).encode())
