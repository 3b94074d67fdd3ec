"""What a harness leaves behind: folders that it took away are put back, and what must not be frozen is taken out."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from ..runs import UnsafeFile
from ..runs.files import read_file, walk
from ..runs.secrets import MIN_KNOWN
from ..tasks.workspace import Workspace
from ..text import one_line


def put_back(places: Sequence[Path]) -> list[Path]:
    """Make those of `places` anew, empty, that are no folders any more, and return them. Outer ones come first. A link
    in such a place is removed, never followed."""
    lost = []
    for place in places:
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
            place.mkdir()
            lost.append(place)
    return lost


def withhold(workspace: Workspace, secrets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Take out of `output/` what must not be frozen: links and the like, and files that hold a known secret. Gives what
    was taken out, and why."""
    if put_back([workspace.output]):
        return ["output"], ["output/ is not a folder any more"]
    known = [secret.encode() for secret in secrets if len(secret) >= MIN_KNOWN]
    taken, reasons = [], []
    for entry in list(walk(workspace.path, "output")):
        why = entry.problem or _spilled(workspace.path, entry.path, known)
        if why is not None:
            taken.append(one_line(entry.path, 300))
            reasons.append(f"{entry.path} is {why}")
            _remove(workspace.path / entry.path)
    return taken, reasons


def _spilled(root: Path, path: str, known: Sequence[bytes]) -> str | None:
    """That a file holds a secret, or can't be searched for one; None where all is well."""
    if not known:
        return None
    try:
        data = read_file(root, path)
    except UnsafeFile as error:
        return f"a file that can't be read ({error})"
    return "a file that holds a secret" if any(secret in data for secret in known) else None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
