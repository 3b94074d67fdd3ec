"""Runs a session's items. Those whose verdicts were kept need no call: only their reports are made."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from .items import CriterionItem
from .protocol import DEAF_TO_TEARDOWN, KNOWN, ShortProtocol, only

if TYPE_CHECKING:
    from .nodes import RunFile

_LOOPS = ("_pytest.", "pytest_sciagent.")


class KeptLoop:
    """Reports criteria whose verdicts were kept, where nobody but pytest takes part in how items run and end."""

    def __init__(self, config: pytest.Config, protocol: ShortProtocol) -> None:
        around = ("pytest_runtest_protocol", "pytest_exception_interact")
        ends = protocol.tells_end or protocol.tells_finish
        self.is_possible = not ends and all(only(config, hook, KNOWN) for hook in around)
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        # What the terminal tells at the start of an item, unless it tells each by itself, changes with its file only.
        by_file = terminal is None or not terminal.showlongtestinfo
        self._tells_each = not (by_file and only(config, "pytest_runtest_logstart", DEAF_TO_TEARDOWN))
        self._told: RunFile | None = None

    def report(self, item: pytest.Item) -> bool:
        """Report `item` if its verdict was kept; False where it has to be run."""
        if type(item) is not CriterionItem or item.session._setupstate.stack:
            self._told = None
            return False
        start = time.time()
        verdict = item.kept
        if verdict is None:
            self._told = None
            return False
        run = item.run_file
        if self._tells_each or self._told is not run:
            run.hooks.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            self._told = run
        run.hooks.pytest_runtest_logreport(report=item.report(verdict, start))
        return True


def run_items(session: pytest.Session, protocol: ShortProtocol) -> bool | None:
    """As pytest's own loop; None leaves it to pytest: nothing is to run, or others want a say.

    Raises:
        pytest.Session.Failed, pytest.Session.Interrupted: the session is to stop, as in pytest's loop.
    """
    config = session.config
    loop = KeptLoop(config, protocol)
    if session.testsfailed or config.option.collectonly or not loop.is_possible:
        return None
    if not only(config, "pytest_runtestloop", _LOOPS, wrappers=False):
        return None
    for number, item in enumerate(session.items, start=1):
        if not loop.report(item):
            nextitem = session.items[number] if number < len(session.items) else None
            config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    return True
