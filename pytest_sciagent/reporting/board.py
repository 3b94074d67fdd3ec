"""The board: gathers verdicts in the controller, adds them up, lets the gate decide once, and shows that everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ..collection.hooks import call_hook
from ..collection.told import told_by
from ..errors import SciagentError
from ..gates import decide_all, exit_code, failures_that_count
from ..gates.decision import NOT_TESTED
from ..gates.head_prompts import HeadPrompts
from ..gates.setup import baseline_of, make_gates
from ..text import counted
from .junit import tell_junit
from .outputs import Writer, prepare, writers
from .validity import calibrations_of

if TYPE_CHECKING:
    from ..collection.index import RunIndex
    from ..collection.state import SessionState
    from ..evaluation.recorded import Replayed
    from ..gates.against import AgainstBaseline
    from ..judging.judge import Judge
    from ..models import Rubric, Verdict
    from .results import Results, RunResult, VerdictKey
    from .spending import Spent

_STOPPED = "the session was stopped"


class Board:
    """Registered as a plugin in the controller. One instance a session.

    Raises:
        SciagentError: a gate that can't be had (see `make_gates`), or packages that an output needs.
    """

    def __init__(self, state: SessionState) -> None:
        self.state = state
        self._calibrations = calibrations_of(state.options.gates.calibration, state.options.rootdir, state.templates)
        self.gates = make_gates(state, self._calibrations)
        self.verdicts: dict[str, dict[VerdictKey, Verdict]] = {}
        self.results: Results | None = None
        self._told: list[str] = []
        self._by_nodeid = {index.nodeid: index for index in state.indexes.values()}
        self._replayed: list[Replayed] = []
        self._failed: dict[str, bool] = {}
        self._seen: set[str] = set()
        self._problem: str | None = None
        self._open_again: Counter[str] = Counter()
        prepare(self)

    # ---- what comes in

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown" or (report.when == "setup" and report.passed):
            return
        # A rerun of an item comes with an outcome of its own; only the last attempt counts.
        if report.outcome not in ("passed", "failed", "skipped"):
            return
        told = told_by(report)
        if told is None:
            return
        self._seen.add(report.nodeid)
        self._failed[report.nodeid] = report.failed
        if not isinstance(told.outcome, str):
            self._take(self._by_nodeid[str(told)], told.outcome)

    def _take(self, index: RunIndex, verdict: Verdict) -> None:
        self.verdicts.setdefault(index.nodeid, {})[verdict.criterion_id, verdict.finding] = verdict
        self._tell("pytest_sciagent_verdict", run=index.label, finding=verdict.finding, verdict=verdict)

    def _tell(self, hook: str, **what: object) -> None:
        """Let observers hear of something. A mistake of theirs is told in the end, and costs no result."""
        try:
            call_hook(self.state.config, hook, **what)
        except SciagentError as error:
            self._problem = self._problem or str(error)

    # ---- what comes out

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        self._finish(session, stopped=None)
        if self.results is not None:
            failed, strict = sum(self._failed.values()), self.state.options.strict
            decision = self.results.decision
            session.testsfailed = failures_that_count(session.testsfailed, failed, decision, strict=strict)
        return result

    def _finish(self, session: pytest.Session, stopped: str | None) -> None:
        """Add up what was tested, once."""
        if self.results is None and self._seen and not session.config.option.collectonly:
            try:
                self.state.recording.take_in()
                self.results = self._add_up(stopped)
                decision, decisions = decide_all(self.gates, self.results)
                self.results = replace(self.results, decision=decision, decisions=decisions)
                self.results = replace(self.results, against=self._against(self.results))
            except SciagentError as error:  # where only the gates raise it, the scores are shown all the same
                self._problem = str(error)

    def _add_up(self, stopped: str | None) -> Results:
        from .results import Results, system_results
        from .spending import Spending, saved_by

        tested = self._tested()
        runs = tuple(
            self._run(index, may_ask=stopped is None)
            for nodeid, index in sorted(self._by_nodeid.items())
            if nodeid in tested
        )
        systems = system_results(runs)
        incomplete = stopped or self._incomplete()
        judge = self._who_judged([v for run in self.verdicts.values() for v in run.values()]).identity
        spending = Spending(self._spent(), saved_by(self._replayed))
        validity = self._calibrations.validity(judge, self.state.rubrics[0])
        notes = tuple(self._notes())
        return Results(
            runs, systems, self.state.rubrics, judge, incomplete, notes=notes, spending=spending, validity=validity
        )

    def _tested(self) -> set[str]:
        """The node ids of the runs that a test of this session was about."""
        return {node.split("::", 1)[0] for node in self._seen}

    def _spent(self) -> Spent:
        """What this session asked: by the pump, and by judges of the user's own."""
        from ..collection.providers import provided_judges
        from .spending import spent_by

        fresh = [entry for entries in self.state.recording.fresh.values() for entry in entries]
        pumped = [judge.identity for judge in provided_judges(self.state)] if self.state.asked else []
        return spent_by(self.state.asked, [entry for entry in fresh if entry.judge not in pumped])

    def _run(self, index: RunIndex, may_ask: bool) -> RunResult:
        from ..evaluation.recorded import Replayed, answers_behind
        from ..evaluation.unasked import open_again_about_run
        from .results import completed, run_result

        case = self.state.case_of(index) if index.state == "sound" else None
        if case is not None and not may_ask:
            case.about_run.wish = None  # a session that was stopped starts no script any more
        verdicts = self.verdicts.get(index.nodeid, {})
        judge = self._judge_of(verdicts.values(), may_ask)
        kept = self.state.keeping.run_of(index, verdicts)
        facts = None if case is None else kept.facts if kept is not None else case.about_run.facts(judge)
        result = run_result(index, case, verdicts, self._rubrics_of(index), facts)
        if case is None or facts is None:
            return result
        if kept is not None:
            costs, again = kept.replayed.costs, kept.open_again
            self._replayed.append(kept.replayed)
        else:
            incomplete = result.assessed < 1 or result.total is None or not result.total.is_point
            again = tuple(open_again_about_run(case, judge)) if incomplete else ()
            answers = answers_behind(case, verdicts.values(), judge)
            new = {entry.key for entry in self.state.recording.fresh.get(index.label, ())}
            costs = tuple(entry.cost_usd for entry in answers)
            self._replayed.append(Replayed.of(entry for entry in answers if entry.key not in new))
            if may_ask:
                self.state.keeping.keep(index, verdicts, facts, Replayed.of(answers), again)
        self._open_again.update(again)
        scripts = may_ask and len(verdicts) > 1  # a single item is no occasion for scripts to run
        return completed(result, case, costs, judge, self.state.words.mask, scripts=scripts)

    def _rubrics_of(self, index: RunIndex) -> tuple[Rubric, ...]:
        """What a run is judged by; one that can't be judged needs none of its own."""
        return self.state.rubrics_of(index) if index.state == "sound" else self.state.rubrics

    def _judge_of(self, verdicts: Collection[Verdict], may_ask: bool) -> Judge:
        """Who tells the facts of a whole run: who has judged it. Nobody is asked for those of a single item."""
        from ..judging.panel import as_recorded

        judge = self._who_judged(verdicts)
        return judge if may_ask and len(verdicts) > 1 else as_recorded(judge)

    def _who_judged(self, verdicts: Collection[Verdict]) -> Judge:
        """The session's judge; but where a fixture of the user's own has judged, that one, by its recorded answers."""
        from ..judging.judge import RecordedJudge
        from ..judging.panel import convene, identities_of

        found = {verdict.judge.text: verdict.judge for verdict in verdicts if verdict.judge is not None}
        named = identities_of(self.state.judge)
        if len(found) != 1 or any(identity in named for identity in found.values()):
            return self.state.judge
        return convene([RecordedJudge(identity) for identity in found.values()], self.state.poll)

    def _notes(self) -> Iterator[str]:
        """What to tell about how this session was judged, and how it scores."""
        from ..tasks import unfinished_tasks

        yield from self.state.notices
        if cut := sum(progress.cut for progress in self.state.asked):
            from ..judging.pump import ROOM

            what = f"{counted(cut, 'answer')} cut at the judge's cap of output"
            yield f"{what}, asked for once more with {ROOM} times the room: raise max_output_tokens"
        tested = (self._by_nodeid[nodeid] for nodeid in self._tested() if nodeid in self._by_nodeid)
        yield from unfinished_tasks(self.state.case_of(index).task for index in tested if index.state == "sound")
        for why, count in sorted(self._open_again.items()):
            yield f"{counted(count, 'question')} about runs: {why}"
        scoring = self.state.scoring_rubrics
        others = [rubric.id for rubric in self.state.rubrics if rubric not in scoring]
        if others:
            first = ", ".join(rubric.id for rubric in scoring)
            names = ", ".join(others)
            yield f"the scores are those of rubric {first}; the levels of {names} stand beside them and do not count"
        if self.state.recording.passing:
            names = ", ".join(sorted(self.state.recording.passing))
            yield f"new answers of {names} (a judge fixture) are not recorded; --sciagent-ledger-mode=record does so"

    def _against(self, results: Results) -> AgainstBaseline | None:
        from ..gates.against import against_baseline

        baseline = baseline_of(self.gates)
        return against_baseline(results, baseline) if baseline is not None else None

    def _incomplete(self) -> str | None:
        """Why a gate can't be met by this session: something was not tested, or can't be."""
        tampered = sorted(i.label for i in self.state.indexes.values() if i.state == "tampered")
        if tampered:
            return f"{', '.join(tampered)} can't be scored: tampered"
        stale = next((asked.gate.reason for asked in self.gates if isinstance(asked.gate, HeadPrompts)), None)
        if stale is not None:
            return stale
        shard = self.state.options.shard
        if shard is not None and shard.count > 1:
            return f"this is part {shard} of the runs"
        expected = self.state.expected_items()
        missing = len(expected - self._seen)
        return f"{missing} of {len(expected)} {NOT_TESTED}" if missing else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, None, None]:
        self._finish(session, _STOPPED)
        results = self.results
        if results is not None:
            session.exitstatus = exit_code(exitstatus, results.decision)
            tell_junit(session.config.pluginmanager.get_plugins(), results)
            self._tell("pytest_sciagent_scores", results=results)
        self._save(results)
        _drop_empty_teardowns(session.config, self._seen)
        if self._problem is not None and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        return (yield)

    def _save(self, results: Results | None) -> None:
        """Write what stays: recorded verdicts, then each file. What can't be written is told, with exit code 4."""
        asked: list[Writer] = [self.state.recording.save]
        if results is not None:
            asked += writers(results, self.state, self.gates)
        for write in asked:
            try:
                told = write()
            except SciagentError as error:
                self._problem = self._problem or str(error)
            else:
                self._told += [told] if told is not None else []

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from .terminal import write_outcomes, write_summary

        write_outcomes(terminalreporter, self.state.words)
        if self.results is not None:
            write_summary(terminalreporter, self.results, self.state.config.get_verbosity())
        elif self.state.asked:  # interrupted before anything was scored, but not before anything was paid
            from .spending import spent_line

            terminalreporter.write_line(f"sciagent: {spent_line(self._spent())}")
        for line in self._told:
            terminalreporter.write_line(line)
        if self._problem is not None:
            terminalreporter.write_line(f"ERROR: {self._problem}", red=True)


def _drop_empty_teardowns(config: pytest.Config, nodeids: Collection[str]) -> None:
    """For each failure pytest looks through all tear-down reports for captured text; those of criteria hold none."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and "" in terminal.stats:
        terminal.stats[""] = [r for r in terminal.stats[""] if getattr(r, "nodeid", None) not in nodeids or r.sections]
