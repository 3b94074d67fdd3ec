"""The short protocol: a criterion that runs no user code needs no capture, logging or fixtures around it.

It sends the same reports as pytest's own protocol, at well under half its cost. Where another plugin wants a say in
how items run, pytest's full protocol is used instead.
"""

from __future__ import annotations

from typing import TypeGuard

import pytest
from _pytest.runner import check_interactive_exception, pytest_make_collect_report

from .items import CriterionItem, RunItem, RunStateItem
from .nodes import RunFile

_PHASES = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown")
# Plugins whose hooks around the phases of an item do nothing for an item that is no Python function.
_KNOWN = ("_pytest.", "xdist.", "pytest_html.", "pytest_metadata.", "pytest_sciagent.", "_hypothesis_pytestplugin.")
_FULL = ("usepdb", "trace", "setupshow", "setuponly", "setupplan")
_ACTING_MARKS = frozenset({"skip", "skipif", "xfail"})
_STOP = (pytest.exit.Exception, KeyboardInterrupt)


def collect_run_file(collector: pytest.Collector) -> pytest.CollectReport | None:
    """Collect a run file whatever --lf thinks: it looks failed files up by their node id, which need not be a path."""
    return pytest_make_collect_report(collector) if isinstance(collector, RunFile) else None


def needs_full_protocol(config: pytest.Config) -> bool:
    """Whether somebody else takes part in how items run: a debugger, shown fixtures, reruns, another plugin's hooks."""
    if any(getattr(config.option, name, False) for name in _FULL):
        return True
    for hook in (*_PHASES, "pytest_runtest_protocol"):
        for impl in getattr(config.hook, hook).get_hookimpls():
            around = hook == "pytest_runtest_protocol" and (impl.hookwrapper or impl.wrapper)
            if not around and not _module(impl.plugin).startswith(_KNOWN):
                return True
    return False


def _module(plugin: object) -> str:
    return f"{getattr(plugin, '__module__', None) or getattr(plugin, '__name__', '')}."


def runs_short(item: pytest.Item) -> TypeGuard[CriterionItem | RunStateItem]:
    """Whether `item` runs no user code and nobody has marked it to be skipped or expected to fail."""
    return isinstance(item, CriterionItem | RunStateItem) and not any(
        mark.name in _ACTING_MARKS for mark in item.iter_markers()
    )


def run_short(item: RunItem, nextitem: pytest.Item | None) -> None:
    """Run `item`: set-up and call in one, then the tear-down report."""
    hook = item.run_file.hooks
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    call = pytest.CallInfo.from_call(item.setup, "setup", reraise=_STOP)
    if call.excinfo is None:
        call = pytest.CallInfo.from_call(item.runtest, "call", reraise=_STOP)
    _report(item, call)
    if item.session.shouldfail or item.session.shouldstop:
        nextitem = None
    end = pytest.CallInfo.from_call(lambda: _teardown(item, nextitem), "teardown", reraise=_STOP)
    _report(item, end)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    item.teardown()
    stack = item.session._setupstate
    if stack.stack:  # what items under the full protocol have set up
        stack.teardown_exact(nextitem)


def _report(item: RunItem, call: pytest.CallInfo[None]) -> None:
    hook = item.run_file.hooks
    report = hook.pytest_runtest_makereport(item=item, call=call)
    hook.pytest_runtest_logreport(report=report)
    if check_interactive_exception(call, report):
        hook.pytest_exception_interact(node=item, call=call, report=report)
