"""Entry point: pytest's hooks, each of which calls one function below."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from .collection.fixtures import artifacts, criterion, finding, judge, run, task
from .collection.marks import MARKERS
from .collection.options import add_options, read_options
from .collection.state import STATE, WIRE, SessionState
from .collection.status import test_status

__all__ = ["artifacts", "criterion", "finding", "judge", "run", "task"]


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from . import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    from .collection.paths import keep_out_of_runs

    keep_out_of_runs(early_config)


def pytest_configure(config: pytest.Config) -> None:
    from .collection.session import open_session

    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    wire = getattr(config, "workerinput", {}).get(WIRE)
    state = config.stash[STATE] = SessionState(config, read_options(config), wire)
    config.pluginmanager.register(state.own, "sciagent-own-criteria")
    open_session(state)


def pytest_report_header(config: pytest.Config) -> list[str]:
    from .collection.session import ledgers_read

    state = config.stash[STATE]
    imported = [line for one in state.imported for line in one.header()]
    return [*imported, *ledgers_read(state), *([state.workers_told] if state.workers_told else [])]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for imported in config.stash[STATE].imported:
        for line in imported.refusals():
            terminalreporter.write_line(line, yellow=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    state = config.stash.get(STATE, None)
    if state is not None:
        state.recording.end()


@pytest.hookimpl(tryfirst=True)
def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    from .collection.paths import is_run

    state = parent.config.stash[STATE]
    if state.named.is_elsewhere(path, parent.config.rootpath):
        from .collection.nodes import FolderAbove
        from .text import safe_name

        return FolderAbove.from_parent(parent, path=path, name=safe_name(path.name))
    if path in state.indexes or is_run(path):
        from .collection.nodes import RunDir
        from .text import safe_name

        return RunDir.from_parent(parent, path=path, name=safe_name(path.name))
    return None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.stash[STATE].named.is_aside(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector: pytest.Collector) -> pytest.CollectReport | None:
    if not collector.config.stash[STATE].indexes:
        return None
    from .collection.protocol import collect_run_file

    return collect_run_file(collector)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    from .collection.session import ask_before_items
    from .collection.workers import has_workers

    if not has_workers(session.config):  # under xdist, the workers tell what is selected
        ask_before_items(session.config, [item.nodeid for item in session.items], session.testsfailed > 0)
    return (yield)


@pytest.hookimpl(specname="pytest_runtestloop", tryfirst=True)
def pytest_run_kept_items(session: pytest.Session) -> bool | None:
    state = session.config.stash[STATE]
    if not state.indexes or state.full_protocol:
        return None
    from .collection.loop import run_items

    return run_items(session, state.short_protocol)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    state = item.config.stash[STATE]
    if not state.indexes or state.full_protocol:
        return None
    from .collection.protocol import runs_short

    if not runs_short(item):
        return None
    state.short_protocol.run(item, nextitem)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, Any] | None:
    return test_status(report)


# ---- pytest-xdist


def pytest_sessionfinish(session: pytest.Session) -> None:
    state = session.config.stash[STATE]
    output = getattr(session.config, "workeroutput", None)
    if output is not None and state.indexes:
        output[WIRE] = state.keeping.told()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    state = node.config.stash[STATE]
    if state.indexes:
        state.keeping.hear(getattr(node, "workeroutput", {}).get(WIRE))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    state = node.config.stash[STATE]
    if state.indexes:
        node.workerinput[WIRE] = state.to_wire()


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    # xdist puts "load" where the user chose nothing; what was written stands in the arguments as they were read.
    if not config.stash[STATE].indexes or config.known_args_namespace.dist != "no":
        return None
    from .collection.scheduling import RunScheduling

    return RunScheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    from .collection.session import ask_before_items

    ask_before_items(node.config, ids)
