"""The short protocol: a criterion that runs no user code needs no capture, logging or fixtures around it.

It sends the same reports as pytest's own protocol, at well under half its cost. Where another plugin wants a say in
how items run, pytest's full protocol is used instead.
"""

from __future__ import annotations

from typing import TypeGuard

import pytest
from _pytest.runner import check_interactive_exception, pytest_make_collect_report

from .items import CriterionItem, RunItem, RunStateItem, is_acting
from .nodes import RunFile

_PHASES = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown")
# Plugins whose hooks around the phases of an item do nothing for an item that is no Python function.
KNOWN = ("_pytest.", "xdist.", "pytest_html.", "pytest_metadata.", "pytest_sciagent.", "_hypothesis_pytestplugin.")
# What these put on reports is about functions and marks, of which an item under the short protocol has none.
_SILENT = ("_pytest.runner.", "_pytest.skipping.", "_pytest.unittest.", "_pytest.tmpdir.", "_hypothesis_pytestplugin.")
# These do nothing about a tear-down that went well, nor about the end of an item.
DEAF_TO_TEARDOWN = tuple(
    f"{name}."
    for name in (
        "_pytest.terminal",
        "_pytest.main",
        "_pytest.logging",
        "_pytest.cacheprovider",
        "_pytest.stepwise",
        "pytest_sciagent",
    )
)
_FULL = ("usepdb", "trace", "setupshow", "setuponly", "setupplan")
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
            if not around and not _module(impl.plugin).startswith(KNOWN):
                return True
    return False


def _module(plugin: object) -> str:
    return f"{getattr(plugin, '__module__', None) or getattr(plugin, '__name__', '')}."


def runs_short(item: pytest.Item) -> TypeGuard[CriterionItem | RunStateItem]:
    """Whether `item` runs no user code and nobody has marked it to be skipped or expected to fail."""
    return isinstance(item, CriterionItem | RunStateItem) and not any(map(is_acting, item.iter_markers()))


class ShortProtocol:
    """How criteria of one session run: made once all plugins and conftest files are loaded.

    Where only pytest itself listens, two things are left out that then change nothing: the hooks around the making of a
    report, and the report of a tear-down that went well.
    """

    def __init__(self, config: pytest.Config) -> None:
        # A page of pytest-html takes what its own hook puts on each report.
        silent = _SILENT if getattr(config.option, "htmlpath", None) else (*_SILENT, "pytest_html.plugin.")
        self._makes_plainly = only(config, "pytest_runtest_makereport", silent)
        deaf = self._makes_plainly and only(config, "pytest_runtest_logreport", DEAF_TO_TEARDOWN)
        self.tells_end = not deaf
        self.tells_finish = not only(config, "pytest_runtest_logfinish", DEAF_TO_TEARDOWN)

    def run(self, item: RunItem, nextitem: pytest.Item | None) -> None:
        """Run `item`: set-up and call in one, then the tear-down report."""
        hook = item.run_file.hooks
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        call = pytest.CallInfo.from_call(item.setup, "setup", reraise=_STOP)
        if call.excinfo is None:
            call = pytest.CallInfo.from_call(item.runtest, "call", reraise=_STOP)
        self._report(item, call)
        if item.session.shouldfail or item.session.shouldstop:
            nextitem = None
        end = pytest.CallInfo.from_call(lambda: _teardown(item, nextitem), "teardown", reraise=_STOP)
        if self.tells_end or end.excinfo is not None:
            self._report(item, end)
        if self.tells_finish:
            hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _report(self, item: RunItem, call: pytest.CallInfo[None]) -> None:
        hook = item.run_file.hooks
        if self._makes_plainly:
            report = pytest.TestReport.from_item_and_call(item, call)
        else:
            report = hook.pytest_runtest_makereport(item=item, call=call)
        hook.pytest_runtest_logreport(report=report)
        if check_interactive_exception(call, report):
            hook.pytest_exception_interact(node=item, call=call, report=report)


def only(config: pytest.Config, hook: str, modules: tuple[str, ...], *, wrappers: bool = True) -> bool:
    """Whether nobody but `modules` implements `hook`. wrappers: whether what stands around it counts."""
    impls = getattr(config.hook, hook).get_hookimpls()
    counted = [impl for impl in impls if wrappers or not (impl.hookwrapper or impl.wrapper)]
    return all(_module(impl.plugin).startswith(modules) for impl in counted)


def _teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    item.teardown()
    stack = item.session._setupstate
    if stack.stack:  # what items under the full protocol have set up
        stack.teardown_exact(nextitem)
