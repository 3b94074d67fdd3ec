"""The short protocol: a criterion that runs no user code needs no capture, logging or fixtures around it.

It sends the same reports as pytest's own protocol, at well under half its cost. Where another plugin wants a say in
how items run, pytest's full protocol is used instead.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.runner import CallInfo, check_interactive_exception

from .nodes import CriterionItem, RunStateItem

_PHASES = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown")
# Plugins that take part in running items, but only act on tests of their own kind.
_KNOWN = (
    "_pytest.",
    "xdist.",
    "pytest_html.",
    "pytest_metadata.",
    "pytest_sciagent.",
    "_hypothesis_pytestplugin.",
    "anyio.",
)
_FULL = ("usepdb", "trace", "setupshow", "setuponly", "setupplan")


def needs_full_protocol(config: pytest.Config) -> bool:
    """Whether somebody else takes part in how items run: a debugger, shown fixtures, reruns, another plugin's hooks."""
    if any(getattr(config.option, name, False) for name in _FULL):
        return True
    for hook in (*_PHASES, "pytest_runtest_protocol"):
        for impl in getattr(config.hook, hook).get_hookimpls():
            own_protocol = hook == "pytest_runtest_protocol" and (impl.hookwrapper or impl.wrapper)
            if not own_protocol and not _module(impl.plugin).startswith(_KNOWN):
                return True
    return False


def _module(plugin: object) -> str:
    return f"{getattr(plugin, '__module__', None) or getattr(plugin, '__name__', '')}."


def run_short(item: CriterionItem | RunStateItem, nextitem: pytest.Item | None) -> None:
    """Run `item`: set-up and call in one, then the tear-down report."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    call = CallInfo.from_call(item.setup, "setup", reraise=_reraise(item))
    if call.excinfo is None:
        call = CallInfo.from_call(item.runtest, "call", reraise=_reraise(item))
    _report(item, call)
    stack = item.session._setupstate
    end = CallInfo.from_call((lambda: stack.teardown_exact(nextitem)) if stack.stack else _nothing, "teardown")
    _report(item, end)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _nothing() -> None:
    return None


def _report(item: pytest.Item, call: CallInfo[None]) -> None:
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    item.ihook.pytest_runtest_logreport(report=report)
    if check_interactive_exception(call, report):
        item.ihook.pytest_exception_interact(node=item, call=call, report=report)


def _reraise(item: pytest.Item) -> tuple[type[BaseException], ...]:
    stop: Iterable[type[BaseException]] = (pytest.exit.Exception,)
    return (*stop,) if item.config.getoption("usepdb", False) else (*stop, KeyboardInterrupt)
