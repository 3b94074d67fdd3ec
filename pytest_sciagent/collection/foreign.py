"""Runs in a layout of another benchmark, named by --sciagent-run: turned into runs of ours below .sciagent/imported."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import SciagentError
from ..layout import MANIFEST
from ..text import clean, one_line
from .options import Options
from .paths import is_run

CACHE = "imported"
_FOREIGN = ("run_receipt.json", "_meta.json")
"""Files that stand above what an agent left in a run of another benchmark."""
_SHOWN = 5


@dataclass(frozen=True)
class Imported:
    """A foreign folder and what it became. `account` is its import.json."""

    source: Path
    folder: Path
    titles: tuple[str, ...]
    account: dict[str, Any]

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def tasks(self) -> list[Path]:
        """The folder of its tasks, where it brought any."""
        return [self.folder / "tasks"] if (self.folder / "tasks").is_dir() else []

    @property
    def rubrics(self) -> list[str]:
        """The rubrics it brought, for the tasks of its runs."""
        tasks = {path.parent.name.split(".r", 1)[0] for path in self.runs.glob(f"*/*/{MANIFEST}")}
        found = sorted((self.folder / "rubrics").glob("*.yaml"))
        return [str(path) for path in found if any(path.stem.endswith(f".{task}") for task in tasks)]

    def header(self) -> Iterator[str]:
        """What was recognised, for the head of the session."""
        counts = self.account["counts"]
        told = ", ".join(f"{n['loaded']} {kind}{_s(kind, n['loaded'])}" for kind, n in counts.items() if n["loaded"])
        yield clean(f"sciagent: {self.source} is a layout of {', '.join(self.titles)}; {told} in {self.folder}")

    def refusals(self) -> Iterator[str]:
        """What could not be taken in, for the end of the session."""
        refused = self.account["refused"]
        for one in refused[:_SHOWN]:
            yield one_line(f"not imported: {one['kind']} {one['name']}: {one['file']}: {one['reason']}", 500)
        if len(refused) > _SHOWN:
            yield f"not imported: {len(refused) - _SHOWN} more (see {self.folder / 'import.json'})"


def _s(kind: str, count: int) -> str:
    return "s" if count != 1 and not kind.endswith("s") else ""


def take_in_foreign(options: Options) -> tuple[Options, list[Imported]]:
    """`options` with every foreign folder among the runs replaced by what it became: its runs, and its tasks; and its
    rubrics, where the user named none.

    Raises:
        SciagentError: a foreign folder from which no run could be taken.
    """
    imported = [(path, _imported(path, options.rootdir)) for path in options.runs]
    found = [one for _, one in imported if one is not None]
    if not found:
        return options, []
    runs = tuple(one.runs if one is not None else path for path, one in imported)
    tasks = (*options.tasks, *(folder for one in found for folder in one.tasks))
    own = tuple(rubric for one in found for rubric in one.rubrics) if not options.rubrics else ()
    return replace(options, runs=runs, tasks=tasks, rubrics=options.rubrics or own), found


def _imported(path: Path, rootdir: Path) -> Imported | None:
    """What the folder `path` became; None where it is no foreign layout."""
    if not path.is_dir() or _holds_runs_of_ours(path):
        return None
    from ..importers import SUMMARY, NothingHere, recognise

    formats = recognise(path)
    if not formats:
        return None
    folder = rootdir / ".sciagent" / CACHE / f"{formats[0].name}-{_state_of(path)[:12]}"
    if not (folder / SUMMARY).is_file():
        try:
            _convert(path, folder)
        except NothingHere:  # a file had the right name only
            return None
    account = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    imported = Imported(path, folder, tuple(format.title for format in formats), account)
    if not imported.runs.is_dir():
        told = "".join(f"\n{line}" for line in imported.refusals())
        raise SciagentError(f"holds no run of {', '.join(imported.titles)} that can be tested{told}", path=path)
    return imported


def _holds_runs_of_ours(path: Path) -> bool:
    """Whether frozen runs of ours lie in `path`. What an agent left in a foreign run is none, whatever it is called."""
    from ..runs.discover import find_runs

    return any(is_run(run) and not _inside_foreign(run, path) for run in find_runs(path))


def _inside_foreign(run: Path, top: Path) -> bool:
    between = [folder for folder in (run, *run.parents) if folder.is_relative_to(top)]
    marked = any((folder / mark).is_file() for folder in between for mark in _FOREIGN)
    return marked or any((f / "data.json").is_file() and (f / "workspace").is_dir() for f in between)


def _state_of(path: Path) -> str:
    """A digest of what lies in `path`, told by names, sizes and times of change, and of the version that reads it."""
    from ..digest import sha256_json
    from ..runs.files import walk

    files = [[entry.path, entry.size, repr(entry.mtime), entry.problem] for entry in walk(path)]
    return sha256_json([version("pytest-sciagent"), ascii(str(path.resolve())), ascii(files)])


def _convert(source: Path, folder: Path) -> None:
    """Import into a folder that appears whole or not at all; another session may have been faster."""
    from ..documents import json_text
    from ..importers import AUTO, SUMMARY, Gathering, bring_in
    from ..ledger.store import write_atomically

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".importing-") as temporary:
            place = Path(temporary) / "imported"
            place.mkdir()
            into = Gathering(place)
            bring_in(AUTO, source, into)
            write_atomically(place / SUMMARY, json_text(into.as_json()))
            if folder.is_dir() and not (folder / SUMMARY).is_file():
                shutil.rmtree(folder)
            if not folder.exists():
                place.rename(folder)
    except OSError as error:
        raise SciagentError(f"can't be imported: {error.strerror}", path=error.filename or folder) from None
