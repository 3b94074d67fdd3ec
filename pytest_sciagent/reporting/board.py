"""The board: gathers verdicts in the controller, adds them up, lets the gate decide once, and shows that everywhere."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import SciagentError
from ..gates import EXIT_INCONCLUSIVE, decide_min_score
from .wire import PROPERTY

if TYPE_CHECKING:
    from ..collection.state import SessionState
    from ..models import Verdict
    from .results import Results, VerdictKey


class Board:
    """Registered as a plugin in the controller. One instance a session."""

    def __init__(self, state: SessionState) -> None:
        self.state = state
        self.verdicts: dict[str, dict[VerdictKey, Verdict]] = {}
        self.results: Results | None = None
        self._failed: dict[str, bool] = {}
        self._seen: set[str] = set()
        self._problem: str | None = None

    # ---- what comes in

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown" or report.outcome == "rerun":  # type: ignore[comparison-overlap]
            return
        wire = next((value for name, value in report.user_properties if name == PROPERTY), None)
        if not isinstance(wire, dict):
            return
        if report.when == "setup" and report.passed:
            return
        self._seen.add(report.nodeid)
        if "verdict" in wire:
            self._take(str(wire["run"]), wire["verdict"], report)
        elif wire.get("state") == "undelivered":
            self._failed[report.nodeid] = report.failed

    def _take(self, run: str, raw: dict[str, Any], report: pytest.TestReport) -> None:
        from ..models import Verdict

        verdict = Verdict.model_validate(raw)
        self.verdicts.setdefault(run, {})[verdict.criterion_id, verdict.finding] = verdict
        self._failed[report.nodeid] = report.failed
        hook = self.state.config.hook.pytest_sciagent_verdict
        label = next((i.label for i in self.state.indexes.values() if i.nodeid == run), run)
        hook(config=self.state.config, run=label, finding=verdict.finding, verdict=verdict)

    # ---- what comes out

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        if session.config.option.collectonly:
            return result
        self._finish(stopped=None)
        options = self.state.options
        if options.min_score is None or self.results is None or self.results.decision is None:
            return result
        if not options.strict:
            session.testsfailed -= sum(self._failed.values())
        if self.results.decision.outcome == "not met":
            session.testsfailed += 1
        return result

    def _finish(self, stopped: str | None) -> None:
        from .results import Results, run_result, system_results

        state = self.state
        tested = {node.split("::", 1)[0] for node in self._seen}
        indexes = sorted((i for i in state.indexes.values() if i.nodeid in tested), key=lambda i: i.nodeid)
        if not indexes:
            return
        runs = tuple(
            run_result(
                index,
                state.case(Path(index.path)) if index.state == "sound" else None,
                self.verdicts.get(index.nodeid, {}),
                state.rubrics,
                state.judge,
            )
            for index in indexes
        )
        incomplete = stopped or self._incomplete()
        systems = system_results(runs)
        least = state.options.min_score
        scores = {s.name: s.score for s in systems}
        decision = None if least is None else decide_min_score(scores, least, incomplete)
        self.results = Results(runs, systems, state.rubrics, state.judge.identity, incomplete, decision)

    def _incomplete(self) -> str | None:
        """Why a gate can't be met by this session: something was not tested, or can't be."""
        broken = [i.label for i in self.state.indexes.values() if i.state == "broken"]
        if broken:
            return f"{', '.join(sorted(broken))} can't be scored"
        expected = self.state.expected_items()
        missing = len(expected - self._seen)
        return f"{missing} of {len(expected)} criteria were not tested" if missing else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, None, None]:
        if self.results is None and self._seen and not session.config.option.collectonly:
            self._finish(stopped="the session was stopped")
        results = self.results
        if results is not None:
            config = session.config
            self._drop_empty_teardowns(config)
            if results.decision is not None and results.decision.outcome == "inconclusive" and exitstatus == 0:
                session.exitstatus = EXIT_INCONCLUSIVE
            config.hook.pytest_sciagent_scores(config=config, results=results)
            self._save(session, results)
        return (yield)

    def _drop_empty_teardowns(self, config: pytest.Config) -> None:
        """For each failure pytest searches all tear-down reports for captured text; those of criteria have none."""
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and "" in terminal.stats:
            terminal.stats[""] = [r for r in terminal.stats[""] if getattr(r, "nodeid", None) not in self._seen]

    def _save(self, session: pytest.Session, results: Results) -> None:
        """Write what stays: recorded verdicts, then the JSON file. What can't be written is told, with exit code 4."""
        from .json_file import write_json

        try:
            self.state.save_records()
            if self.state.options.json_path is not None:
                write_json(self.state.options.json_path, results)
        except SciagentError as error:
            self._problem = str(error)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.results is not None:
            from .terminal import write_summary

            write_summary(terminalreporter, self.results, self.state.config.get_verbosity())
        if self._problem is not None:
            terminalreporter.write_line(f"ERROR: {self._problem}", red=True)
