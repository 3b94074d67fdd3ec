"""Which paths are runs, and how they enter pytest's arguments without pytest ever entering them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..errors import SciagentError
from ..layout import FROZEN_FOLDERS, MANIFEST
from ..text import safe_name

_MARK = b"sciagent-run/"
_STAND_IN = b"version https://git-lfs"


def is_run(folder: Path) -> bool:
    """Whether `folder` holds the manifest of a frozen run, or what is left of one: empty, unreadable or not fetched."""
    try:
        with open(folder / MANIFEST, "rb") as handle:
            head = handle.read(4096)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        head = b""
    if _MARK in head:
        return True
    return (not head or head.startswith(_STAND_IN)) and any((folder / name).is_dir() for name in FROZEN_FOLDERS)


def enclosing_run(path: Path) -> Path | None:
    """The run that `path` is or lies in, by its name or, through links, by where it really is."""
    for place in dict.fromkeys((path, path.resolve())):
        for folder in (place, *place.parents):
            if is_run(folder):
                return folder
    return None


def keep_out_of_runs(early_config: pytest.Config) -> None:
    """Before pytest loads the first conftest files: take every path in a run out of where it looks for them.

    Raises:
        pytest.UsageError: pytest was started in a run, or took its rootdir or its configuration file from one.
    """
    base = early_config.invocation_params.dir
    for what, path in (
        ("working folder", base),
        ("rootdir", early_config.rootpath),
        ("configuration", early_config.inipath),
    ):
        run = enclosing_run(Path(path)) if path is not None else None
        if run is not None:
            raise pytest.UsageError(
                f"pytest took its {what} from inside the run {run}, whose files are never obeyed: start pytest from "
                "your own folder, write --sciagent-run=PATH with '=', or give --rootdir"
            )
    namespace = early_config.known_args_namespace
    namespace.file_or_dir = [a for a in namespace.file_or_dir if enclosing_run(_path_of(a, base)) is None]


@dataclass(frozen=True)
class Named:
    """What a command line names. runs: every run; arguments: what pytest is to collect, runs by their manifest."""

    runs: tuple[Path, ...]
    arguments: tuple[str, ...]


def name_runs(asked: Sequence[Path], arguments: Iterable[str], base: Path) -> Named:
    """The runs below the paths `asked` for by option, and those that the `arguments` of pytest name.

    A node id among the arguments that points into a run asked for narrows the session to node ids.

    Raises:
        SciagentError: a path that does not exist or lies inside a run, or one asked for without a run below it.
    """
    from ..runs.discover import find_runs

    found: list[Path] = []
    for given in asked:
        below = find_runs(given)
        if not below:
            raise SciagentError(
                f"no frozen run (a folder with {MANIFEST}) at or below {given}; freeze one with 'sciagent freeze'"
            )
        found += below
    named: list[Path] = []
    kept: list[str] = []
    narrowed = False
    for argument in arguments:
        path = _path_of(argument, base)
        run = enclosing_run(path)
        if run is None:
            named += [p for p in find_runs(path) if is_run(p)] if path.is_dir() else []
            kept.append(argument)
        elif path in (run, run / MANIFEST):
            _, colons, node = argument.partition("::")
            named.append(run)
            kept.append(f"{run / MANIFEST}{colons}{node}")
            narrowed = narrowed or (bool(colons) and run in found)
        else:
            raise SciagentError(f"lies inside the run {run}: name the run itself", path=path)
    added = [] if narrowed else [str(run / MANIFEST) for run in found]
    return Named(tuple(dict.fromkeys([*found, *named])), tuple(dict.fromkeys([*kept, *added])))


def _path_of(argument: str, base: Path) -> Path:
    """The path in an argument of pytest; where a node id spells a folder's safe name, the folder meant."""
    # Not resolve(): a run is known by the path it was named by.
    path = Path(os.path.abspath(base / argument.split("::", 1)[0]))  # noqa: PTH100
    return path if os.path.lexists(path) else _by_safe_name(path)


def _by_safe_name(path: Path) -> Path:
    found = Path(path.anchor)
    for part in path.parts[1:]:
        if not os.path.lexists(found / part):
            try:
                names = sorted(os.listdir(found))  # noqa: PTH208 - names, not paths
            except OSError:
                return path
            real = next((name for name in names if safe_name(name) == part), None)
            if real is None:
                return path
            part = real
        found /= part
    return found
