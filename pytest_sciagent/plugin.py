"""Entry point: pytest's hooks, each of which calls one function below."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .collection.fixtures import artifacts, criterion, finding, judge, run, task
from .collection.marks import MARKERS
from .collection.options import add_options, read_options
from .collection.own import OWN, add_own, find_own
from .collection.state import STATE, WIRE, SessionState, usage_errors
from .collection.status import test_status

if TYPE_CHECKING:
    from .collection.nodes import RunDir

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


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    config = getattr(manager, "_sciagent_config", None)
    if config is not None:
        usage_errors(add_own, config.stash[OWN], find_own(plugin))


def pytest_configure(config: pytest.Config) -> None:
    from .collection.paths import arguments_for_pytest, gather_runs

    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    wire = getattr(config, "workerinput", {}).get(WIRE)
    state = config.stash[STATE] = SessionState(config, read_options(config), wire)
    config.stash[OWN] = []
    for plugin in config.pluginmanager.get_plugins():
        usage_errors(add_own, config.stash[OWN], find_own(plugin))
    config.pluginmanager._sciagent_config = config  # type: ignore[attr-defined]
    explicit = list(config.args) if config.args_source is pytest.Config.ArgsSource.ARGS else []
    if wire is None:
        usage_errors(gather_runs, state, explicit)
    config.args = arguments_for_pytest(state, config)
    if not state.is_worker:
        from .reporting.board import Board

        if state.indexes:
            usage_errors(state.prepare)
        config.pluginmanager.register(Board(state), "sciagent-board")


def pytest_unconfigure(config: pytest.Config) -> None:
    state = config.stash.get(STATE, None)
    if state is not None:
        state.close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    state = node.config.stash[STATE]
    if state.indexes:
        node.workerinput[WIRE] = state.to_wire()


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if not config.stash[STATE].indexes or any(str(a).startswith("--dist") for a in config.invocation_params.args):
        return None
    from .collection.scheduling import RunScheduling

    return RunScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collect_directory(path: Path, parent: pytest.Collector) -> RunDir | None:
    from .collection.paths import is_run

    if path in parent.config.stash[STATE].indexes or is_run(path):
        from .collection.nodes import RunDir

        return RunDir.from_parent(parent, path=path, name=path.name)
    return None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    from .collection.paths import inside_run

    return True if inside_run(collection_path, config.stash[STATE].indexes) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    state = session.config.stash[STATE]
    if state.indexes and not state.is_worker and not session.config.option.collectonly:
        from .collection.asking import ask_open_questions

        usage_errors(ask_open_questions, state, session)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    state = item.config.stash[STATE]
    if not state.indexes:
        return None
    from .collection.nodes import CriterionItem, RunStateItem
    from .collection.protocol import run_short

    if not isinstance(item, CriterionItem | RunStateItem) or state.full_protocol:
        return None
    run_short(item, nextitem)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, Any] | None:
    return test_status(report)
