"""Finding frozen runs on disk by their `run.json`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import SciagentError
from ..layout import FROZEN_FOLDERS, MANIFEST

MAX_DEPTH = 8
_IGNORED = frozenset({"__pycache__", "node_modules"})  # hidden ones are ignored as well


def find_runs(path: Path) -> list[Path]:
    """Every folder at or below `path` (at most 8 levels down) that holds a `run.json`, sorted.

    Nothing inside a run is searched, no symbolic link below `path` is followed, and hidden folders, `__pycache__` and
    `node_modules` are passed over. The `run.json` of a run stands for its folder.

    Raises:
        SciagentError: `path` does not exist, is another kind of file, or lies inside `output/` or `logs/` of a run.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name that nothing can have
        raise SciagentError("there is no such file or folder", path=path) from None
    except OSError as error:
        raise SciagentError(f"can't be searched for runs: {error.strerror}", path=path) from None
    _check_outside(path)
    if path.name == MANIFEST and not path.is_dir():
        return [path.parent]
    if not path.is_dir():
        raise SciagentError(f"is neither a folder nor a {MANIFEST}", path=path)
    return sorted(_below(path, 0))


def _check_outside(path: Path) -> None:
    absolute = path.resolve()
    for run in absolute.parents:
        if absolute.relative_to(run).parts[0] in FROZEN_FOLDERS and (run / MANIFEST).is_file():
            raise SciagentError(f"lies inside the run {run}: name the run itself", path=path)


def _below(folder: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError as error:
        raise SciagentError(f"can't be searched for runs: {error.strerror}", path=folder) from None
    # Whatever has the name counts as a run, so that a link or a broken manifest ends in an error when it is loaded.
    if any(entry.name == MANIFEST for entry in entries):
        yield folder
    elif depth < MAX_DEPTH:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and entry.name not in _IGNORED:
                yield from _below(folder / entry.name, depth + 1)
