"""How many workers of pytest-xdist a session is given: no more than there is work for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..text import counted

if TYPE_CHECKING:
    import pytest

    from .state import SessionState


def has_workers(config: pytest.Config) -> bool:
    """Whether workers run the items. Asked late: xdist registers its session after plugins are configured."""
    return bool(config.pluginmanager.hasplugin("dsession"))


def fit_workers(state: SessionState) -> str | None:
    """Ask for no more workers than there are runs to be worked out.

    A run stays whole on one worker, and one whose verdicts were kept costs less here than to hand it out, unless
    criteria of the user's own have to run. Left as it is where other tests take part, or where the user has chosen
    where and how to distribute.

    Returns:
        What to tell at the head of the session, if the number changes.
    """
    config = state.config
    wanted: list[str] = config.getoption("tx", None) or []
    only_runs = state.named.paths <= set(state.named.runs)
    if not wanted or set(wanted) != {"popen"} or not only_runs or config.known_args_namespace.dist != "no":
        return None
    sound = [index for index in state.indexes.values() if index.state == "sound"]
    is_open = len(sound) if state.own.all else sum(not state.keeping.has(index) for index in sound)
    workers = min(len(wanted), is_open)
    if workers == len(wanted):
        return None
    config.option.tx = wanted[:workers]
    config.option.numprocesses = workers
    if not workers:
        config.option.dist = "no"
    what = counted(is_open, "run") if is_open else "no run"
    given = counted(workers, "worker") if workers else "no worker"
    return f"sciagent: {given} of the {len(wanted)} asked for: {what} to be worked out"
