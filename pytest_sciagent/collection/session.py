"""The beginning of a session: which runs it tests, what is read at once, and what is asked before the items run."""

from __future__ import annotations

import os
from collections.abc import Collection

import pytest

from .state import STATE, SessionState, usage_errors

Source = pytest.Config.ArgsSource


def open_session(state: SessionState) -> None:
    """Find the runs of this session, check all that the user gave, and set the arguments that pytest collects.

    Raises:
        pytest.UsageError: see `paths.name_runs` and `SessionState.prepare`.
    """
    config = state.config
    if state.is_worker:
        if state.wire is not None:
            config.args = [os.fsdecode(argument) for argument in state.wire["arguments"]]
        return
    usage_errors(_find_runs, state)
    from ..reporting.board import Board

    if state.indexes:
        usage_errors(state.prepare)
        config.pluginmanager.register(Board(state), "sciagent-board")


def _find_runs(state: SessionState) -> None:
    from .index import index_run
    from .paths import name_runs

    config, options = state.config, state.options
    # Runs are tested where they are named. A folder that pytest fell back upon names nothing.
    sources = {Source.ARGS} if options.runs else {Source.ARGS, Source.TESTPATHS}
    arguments = config.args if config.args_source in sources else []
    named = name_runs(options.runs, arguments, options.base)
    if named.runs:
        state.add(index_run(path, options.rootdir) for path in named.runs)
        config.args = list(named.arguments)


def ask_before_items(config: pytest.Config, selected: Collection[str], collection_failed: bool = False) -> None:
    """Let the controller ask what the judge named has not answered yet: once, and only if the items will run.

    Raises:
        pytest.UsageError: the judge can't be asked.
    """
    state = config.stash[STATE]
    option = config.option
    idle = option.collectonly or option.setupplan or option.setuponly
    broken = collection_failed and not option.continue_on_collection_errors
    if state.is_worker or not state.indexes or state.has_asked or idle or broken:
        return
    from .asking import ask_open_questions

    state.has_asked = True
    usage_errors(ask_open_questions, state, selected)
