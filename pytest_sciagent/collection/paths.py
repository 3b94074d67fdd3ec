"""Which paths are runs, and how they enter pytest's arguments without pytest ever entering them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
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
        # A FIFO in its place would block for ever.
        with open(os.open(folder / MANIFEST, os.O_RDONLY | os.O_NONBLOCK), "rb") as handle:
            head = handle.read(4096)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        head = b""
    if _MARK in head:
        return True
    left = not head or head.startswith(_STAND_IN)
    # Not by `Path`: to some versions of Python a folder that can't be looked into is an error.
    return left and any(os.path.isdir(folder / name) for name in FROZEN_FOLDERS)  # noqa: PTH112


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
    namespace.file_or_dir = [a for a in namespace.file_or_dir if enclosing_run(_split(a, base)[0]) is None]


@dataclass(frozen=True)
class Named:
    """What a command line names.

    runs: every run. arguments: what pytest is to collect; runs by their manifest, or by a folder above it where pytest
    could not read the path. picks: for runs narrowed by node ids, the names below the run file (finding, criterion).
    folders: the folders above runs among the arguments, below which nothing but `paths` is collected.
    """

    runs: tuple[Path, ...]
    arguments: tuple[str, ...]
    picks: dict[Path, list[tuple[str, ...]]]
    folders: frozenset[Path]
    paths: frozenset[Path]

    def picked(self, run: Path, *names: str) -> bool:
        """Whether the node of these names below the file of `run` is named, or lies above or below one that is."""
        picks = self.picks.get(run)
        return picks is None or any(all(a == b for a, b in zip(pick, names, strict=False)) for pick in picks)

    def is_aside(self, path: Path) -> bool:
        """Whether `path` lies in one of the folders above runs, and on the way to nothing that was named."""
        if not any(folder in path.parents for folder in self.folders):
            return False
        return not any(path == named or path in named.parents or named in path.parents for named in self.paths)

    def is_elsewhere(self, path: Path, root: Path) -> bool:
        """Whether `path` is a folder outside of `root` that only stands above runs, and above or below nothing else
        that was named."""
        if path == root or root in path.parents or path in root.parents:
            return False
        others = self.paths - set(self.runs)
        near = any(path == other or path in other.parents or other in path.parents for other in others)
        return not near and any(path in run.parents for run in self.runs)


NOTHING = Named((), (), {}, frozenset(), frozenset())


def _every_run(path: Path) -> bool:
    return True


def name_runs(
    asked: Sequence[Path], arguments: Iterable[str], base: Path, keep: Callable[[Path], bool] = _every_run
) -> Named:
    """The runs below the paths `asked` for by option, and those that the `arguments` of pytest name.

    Node ids among the arguments that point into a run asked for narrow the session to what they name. Runs that `keep`
    says no to are left out.

    Raises:
        SciagentError: a path that does not exist or lies inside a run, or one asked for without a run below it.
    """
    found = [run for given in asked for run in _runs_below(given)]
    runs, kept, paths = list(found), [], set[Path]()
    picks: dict[Path, list[tuple[str, ...]]] = {}
    whole: set[Path] = set()
    for argument in arguments:
        path, names = _split(argument, base)
        run = enclosing_run(path)
        if run is None:
            runs += _runs_in(path)
            kept.append(argument)
            paths.add(path)
        elif path not in (run, run / MANIFEST):
            raise SciagentError(f"lies inside the run {run}: name the run itself", path=path)
        elif names:
            picks.setdefault(run, []).append(names)
        else:
            whole.add(run)
    if not any(run in picks for run in found):
        whole |= set(found)
    picks = {run: names for run, names in picks.items() if run not in whole}
    runs = [run for run in dict.fromkeys([*runs, *picks, *sorted(whole)]) if keep(run)]
    tested = [run for run in runs if run in whole or run in picks]
    places = {run: _readable_place(run / MANIFEST, base) for run in tested}
    folders = frozenset(place for run, place in places.items() if place != run / MANIFEST) - paths
    kept += [os.path.relpath(place, base) if place.is_relative_to(base) else str(place) for place in places.values()]
    return Named(tuple(runs), tuple(dict.fromkeys(kept)), picks, folders, frozenset({*paths, *tested}))


def _runs_below(given: Path) -> list[Path]:
    from ..runs.discover import find_runs

    below = find_runs(given)
    if not below:
        raise SciagentError(
            f"no frozen run (a folder with {MANIFEST}) at or below {given}; freeze one with 'sciagent freeze'"
        )
    return below


def _runs_in(path: Path) -> list[Path]:
    from ..runs.discover import find_runs

    return [run for run in find_runs(path) if is_run(run)] if path.is_dir() else []


def _readable_place(manifest: Path, base: Path) -> Path:
    """`manifest`, or the nearest folder above it whose path pytest can read: without `[` and `::`."""

    def readable(place: Path) -> bool:
        text = str(place.relative_to(base) if place.is_relative_to(base) else place)
        return "[" not in text and "::" not in text

    return next(place for place in (manifest, *manifest.parents) if readable(place))


def _split(argument: str, base: Path) -> tuple[Path, tuple[str, ...]]:
    """The path in an argument of pytest, and the names behind it."""
    whole = _path_of(argument, base)
    if os.path.lexists(whole):
        return whole, ()
    path, *names = argument.split("::")
    return _path_of(path, base), tuple(names)


def _path_of(path: str, base: Path) -> Path:
    """`path` from `base` on; where a node id spells a folder's safe name, the folder meant."""
    # Not resolve(): a run is known by the path it was named by.
    absolute = Path(os.path.abspath(base / path))  # noqa: PTH100
    return absolute if os.path.lexists(absolute) else _by_safe_name(absolute)


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
