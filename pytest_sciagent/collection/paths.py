"""Which paths are runs, and how they enter pytest's arguments without pytest ever entering them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from ..runs.discover import find_runs
from ..runs.run import MANIFEST
from .state import SessionState

_MARK = b"sciagent-run/"


def is_run(folder: Path) -> bool:
    """Whether `folder` holds the manifest of a frozen run."""
    try:
        with open(folder / MANIFEST, "rb") as handle:
            return _MARK in handle.read(4096)
    except OSError:
        return False


def enclosing_run(path: Path) -> Path | None:
    """The run that `path` is, or lies in."""
    return next((folder for folder in (path, *path.parents) if is_run(folder)), None)


def keep_out_of_runs(early_config: pytest.Config) -> None:
    """Before pytest loads the first conftest files: take every path in a run out of where it looks for them.

    Raises:
        pytest.UsageError: pytest took its rootdir or its configuration file from inside a run.
    """
    for what, path in (("rootdir", early_config.rootpath), ("configuration", early_config.inipath)):
        run = enclosing_run(Path(path)) if path is not None else None
        if run is not None:
            raise pytest.UsageError(
                f"pytest took its {what} from inside the run {run}, whose files are never obeyed: start pytest from "
                "your own folder, write --sciagent-run=PATH with '=', or give --rootdir"
            )
    namespace = early_config.known_args_namespace
    base = early_config.invocation_params.dir
    namespace.file_or_dir = [a for a in namespace.file_or_dir if enclosing_run(_path_of(base, a)) is None]


def _path_of(base: Path, argument: str) -> Path:
    # Not resolve(): a link to a run must stay a link, so that it is refused.
    return Path(os.path.abspath(base / argument.split("::", 1)[0]))  # noqa: PTH100


def gather_runs(state: SessionState, arguments: Sequence[str]) -> None:
    """Index the runs asked for by option or argument, and note which arguments to add for them.

    Raises:
        SciagentError: a path without a usable run below it.
    """
    from ..errors import SciagentError

    found: list[Path] = []
    for given in state.options.runs:
        below = find_runs(given)
        if not below:
            raise SciagentError(
                f"no frozen run (a folder with {MANIFEST}) at or below {given}; freeze one with 'sciagent freeze'"
            )
        found += [path for path in below if path not in found]
    named: list[Path] = []
    for argument in arguments:
        path = _path_of(state.options.base, argument)
        run = enclosing_run(path)
        if run is not None:
            named.append(run)
        elif path.is_dir():
            named += [p for p in find_runs(path) if is_run(p)]
    indexes = state.add_runs(dict.fromkeys([*found, *named]))
    if indexes and all(index.state == "broken" for index in indexes):
        told = "\n".join(f"{i.label}: {'; '.join(i.problems)}" for i in indexes[:5])
        raise SciagentError(f"no usable run:\n{told}")
    pointed = {_path_of(state.options.base, a) for a in arguments if "::" in a}
    into_runs = any(enclosing_run(p) in set(found) for p in pointed)
    state.extra_args = [] if into_runs else [str(path / MANIFEST) for path in found]


def arguments_for_pytest(state: SessionState, config: pytest.Config) -> list[str]:
    """`config.args` with the runs of this session: run folders by their manifest, safe node ids by their real path."""
    explicit = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    own = list(config.args) if not state.options.runs else explicit
    nodes = {index.nodeid: Path(index.path) / MANIFEST for index in state.indexes.values()}
    arguments = [_real(argument, state, nodes) for argument in own]
    return [*arguments, *(a for a in state.extra_args if a not in arguments)]


def _real(argument: str, state: SessionState, nodes: dict[str, Path]) -> str:
    name, colons, rest = argument.partition("::")
    path = _path_of(state.options.base, name)
    if is_run(path):
        path = path / MANIFEST
    elif not path.exists():
        relative = os.path.relpath(path, state.options.rootdir).replace(os.sep, "/")
        path = nodes.get(relative, path)
        if relative not in nodes:
            return argument
    else:
        return argument
    return f"{path}{colons}{rest}"


def inside_run(path: Path, known: Iterable[Path]) -> bool:
    """Whether `path` lies below one of the `known` runs."""
    parents = set(path.parents)
    return any(run in parents for run in known)
