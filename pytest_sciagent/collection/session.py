"""The beginning of a session: which runs it tests, what is read at once, and what is asked before the items run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from ..text import counted, one_line
from .state import STATE, SessionState, usage_errors

Source = pytest.Config.ArgsSource
_FOLDERS_TOLD = 3


def open_session(state: SessionState) -> None:
    """Find the runs of this session, check all that the user gave, and set the arguments that pytest collects.

    Raises:
        pytest.UsageError: see `paths.name_runs`, `SessionState.prepare` and `gates.setup.make_gates`.
    """
    usage_errors(_name_runs, state)
    if state.named.runs and not state.is_worker:
        from ..reporting.board import Board
        from .index import index_run
        from .workers import fit_workers

        state.add(index_run(path, state.options.rootdir) for path in state.named.runs)
        usage_errors(state.prepare)
        state.config.pluginmanager.register(usage_errors(Board, state), "sciagent-board")
        state.workers_told = fit_workers(state)


def _name_runs(state: SessionState) -> None:
    from .foreign import take_in_foreign
    from .paths import name_runs

    state.options, state.imported = take_in_foreign(state.options)
    config, options = state.config, state.options
    # Runs are tested where they are named. A folder that pytest fell back upon names nothing.
    sources = {Source.ARGS} if options.runs else {Source.ARGS, Source.TESTPATHS}
    arguments = config.args if config.args_source in sources else []
    if options.shard is None:
        state.named = name_runs(options.runs, arguments, options.base)
    else:
        state.named = name_runs(options.runs, arguments, options.base, options.shard.has_run)
    if state.named.runs or options.runs:  # a part of the runs may hold none
        config.args = list(state.named.arguments)


def ledgers_read(state: SessionState) -> Iterator[str]:
    """For the head of a session: which ledger folders it reads, from the rootdir, and how many answers lie there. A
    worker shows no head, and reads its ledgers later, when its controller has asked."""
    if state.is_worker:
        return
    sound = [index for index in state.indexes.values() if index.state == "sound"]
    if not sound:
        return
    if state.options.mode == "live":
        yield "sciagent: no recorded verdict is read (--sciagent-ledger-mode=live)"
        return
    answers: Counter[Path] = Counter()
    for index in sound:
        answers[state.sources.ledger_of(Path(index.path))] += state.case_of(index).ledger.count
    told = [f"{_from(state.options.rootdir, folder)} ({_answers(folder, n)})" for folder, n in sorted(answers.items())]
    more = f" and {len(told) - _FOLDERS_TOLD} more folders" if len(told) > _FOLDERS_TOLD else ""
    yield one_line(f"sciagent: recorded verdicts: {', '.join(told[:_FOLDERS_TOLD])}{more}")


def _from(rootdir: Path, folder: Path) -> str:
    try:
        return os.path.relpath(folder, rootdir)
    except ValueError:  # another drive
        return str(folder)


def _answers(folder: Path, count: int) -> str:
    if count:
        return counted(count, "answer")
    return "no answer yet" if folder.is_dir() else "no such folder, so no answer yet"


def ask_before_items(config: pytest.Config, selected: Collection[str], collection_failed: bool = False) -> None:
    """Let the controller ask what the judge named has not answered yet, and have scripts run: once, and only if the
    items will run.

    Raises:
        pytest.UsageError: the judge can't be asked, or the scripts not be run.
    """
    state = config.stash[STATE]
    option = config.option
    idle = option.collectonly or option.setupplan or option.setuponly
    broken = collection_failed and not option.continue_on_collection_errors
    if state.is_worker or not state.indexes or idle or broken or state.has_asked:
        return
    state.has_asked = True
    if state.options.asks_provider:
        from .asking import ask_open_questions

        usage_errors(ask_open_questions, state, selected)
    if state.options.how.dask_scripts is not None:
        from .scripts import run_scripts_elsewhere

        usage_errors(run_scripts_elsewhere, state, state.options.how.dask_scripts)
