"""The items: a criterion of a finding or a run, and the one item of a run that can't be tested."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from _pytest._code import Traceback

from ..errors import is_users, raised
from ..text import one_line
from .marks import CriterionMarks
from .own import OwnSpec
from .reports import TestReport
from .state import STATE, SessionState
from .status import PROPERTY
from .told import Told

if TYPE_CHECKING:
    from _pytest.nodes import Node as _Node
    from pluggy import HookRelay

    _Item = pytest.Item

    from ..evaluation import Case
    from ..judging.judge import Judge
    from ..models import Criterion, Verdict
    from .nodes import FindingNode, RunFile
else:
    _Node = _Item = object

_SHOWN = frozenset({"level", "status", "dimension", "weight", "judge", "score_effect"})
MAX_REASON = 500
"""Characters of a reason in the terminal, in JUnit and in pytest-html; the JSON file has all of it."""


ACTING = frozenset({"skip", "skipif", "xfail"})


def is_acting(mark: pytest.Mark) -> bool:
    """Whether `mark` has a say in how an item ends."""
    return mark.name in ACTING


def _later(slot: str, make: Callable[[Any], Any]) -> property:
    """An attribute that lies in `slot`, made when it is first read."""

    def read(item: Any) -> Any:
        value = getattr(item, slot)
        if value is None:
            value = make(item)
            setattr(item, slot, value)
        return value

    return property(read, lambda item, value: setattr(item, slot, value))


def _gap(verdict: Verdict) -> str:
    return one_line(f"{verdict.status.replace('_', ' ')}: {verdict.reason}", MAX_REASON)


class Zero(Exception):
    """Level 0, carried to pytest's failure machinery and shown as one line."""


class JudgingFailed(Exception):
    """No level because judging failed: an error, never a score."""


class RunNode(_Node):
    """What lies in a run: pytest loads no conftest file there, so the hooks are those of the folder above the run."""

    @property
    def ihook(self) -> HookRelay:
        assert self.parent is not None
        return self.parent.ihook


class RunItem(RunNode, _Item):
    """What every item of a run has: its place for people, its properties, and failures of one line."""

    @property
    def finding_node(self) -> FindingNode:
        return cast("FindingNode", self.parent)

    @property
    def run_file(self) -> RunFile:
        return self.finding_node.run_file

    @property
    def state(self) -> SessionState:
        return self.config.stash[STATE]

    def reportinfo(self) -> tuple[str, int, str]:
        """The run file by its safe name, and what people read in headings."""
        return self.run_file.nodeid, 0, f"{self.run_file.index.label} {self.finding_node.name} {self.name}"

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        return self.reportinfo()

    def _repr_failure_py(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        # `repr_failure` is for the call only; this is what pytest takes for errors in the set-up as well.
        if isinstance(excinfo.value, Zero | JudgingFailed):
            return self.state.words.line(str(excinfo.value), MAX_REASON)
        return super()._repr_failure_py(excinfo, style)

    def publish(self, outcome: Verdict | str, **shown: str) -> None:
        """Put an outcome into the properties: `shown` one by one for people, and as a whole for the controller the
        verdict, or the state of a run that can't be tested."""
        self.forget(_SHOWN | {PROPERTY})
        told = Told(self.run_file.nodeid, outcome)
        self.user_properties += [*shown.items(), (PROPERTY, told.to_wire() if self.state.is_worker else told)]

    def forget(self, names: frozenset[str]) -> None:
        self.user_properties[:] = [p for p in self.user_properties if p[0] not in names]

    def teardown(self) -> None:
        # The report of the call has carried it; a second copy would go to the controller and into JUnit's XML.
        self.forget(frozenset({PROPERTY}))
        super().teardown()


class CriterionBase(RunItem):
    """A criterion: its case, its finding, its verdict, and how an outcome follows from it."""

    if TYPE_CHECKING:
        criterion: Criterion
        verdict: Verdict | None

    @property
    def case(self) -> Case:
        return self.run_file.case

    @property
    def finding_id(self) -> str | None:
        return self.finding_node.finding_id

    def take(self, verdict: Verdict) -> None:
        """Keep the verdict and publish it."""
        # Secrets are masked here, before anything is cut, so that no output of the session ever sees them.
        self.show(self.state.words.verdict(verdict))

    def show(self, verdict: Verdict) -> None:
        """Keep a verdict whose secrets are masked, and publish it."""
        self.verdict = verdict
        self.publish(verdict, **self.shown(verdict))

    def shown(self, verdict: Verdict) -> dict[str, str]:
        """What the properties tell people."""
        shown = {
            "level": "unset" if verdict.level is None else f"{verdict.level:g}",
            "status": verdict.status,
            "dimension": self.criterion.dimension,
            "weight": f"{self.criterion.weight:g}",
        }
        if verdict.judge is not None:
            shown["judge"] = self.state.name_of(verdict.judge.label)
        if (effect := self.state.effect_of(self.criterion.id, verdict.level)) is not None:
            shown["score_effect"] = effect
        return shown

    def settle(self, verdict: Verdict) -> None:
        """Take the verdict in. Raises what makes pytest see an error."""
        self.take(verdict)
        if verdict.is_error or (self.state.options.strict and verdict.status == "unrecorded"):
            raise JudgingFailed(f"{verdict.status}: {verdict.reason}")

    def outcome(self) -> None:
        """End at the verdict's outcome: nothing, a skip or a failure."""
        verdict = self.verdict
        assert verdict is not None
        if verdict.level is None:
            raise pytest.skip.Exception(_gap(verdict), _use_item_location=True)
        if verdict.level == 0:
            raise Zero(verdict.reason)


class CriterionItem(CriterionBase, pytest.Item):
    """A criterion whose verdict needs no code of the user's: a check, or a recorded or asked answer.

    Sessions have tens of thousands of these: what pytest gives each item is made when somebody first reads it.
    """

    __slots__ = (
        "_keywords",
        "_markers",
        "_matches",
        "_properties",
        "_sections",
        "_stash",
        "criterion",
        "marks",
        "verdict",
    )
    marks: CriterionMarks

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._keywords = self._markers = self._matches = self._properties = self._sections = self._stash = None
        self.verdict = None

    @classmethod
    def of(cls, parent: FindingNode, marks: CriterionMarks) -> CriterionItem:
        item: CriterionItem = cls.from_parent(parent, name=marks.criterion.id)
        item.criterion = marks.criterion
        item.marks = marks
        return item

    own_markers: Any = _later("_markers", lambda item: list(item.marks.marks))
    keywords: Any = _later("_keywords", lambda item: item.marks.keywords_of(item))
    extra_keyword_matches: Any = _later("_matches", lambda item: {item.criterion.dimension})
    stash: Any = _later("_stash", lambda item: pytest.Stash())
    _store: Any = stash
    _report_sections: Any = _later("_sections", lambda item: [])
    user_properties: Any = _later(
        "_properties", lambda item: [] if item.verdict is None else list(item.shown(item.verdict).items())
    )

    @property
    def location(self) -> tuple[str, int | None, str]:
        return self.reportinfo()

    @property
    def kept(self) -> Verdict | None:
        """The verdict that an earlier session showed, where it ends at an outcome and nobody marked the item."""
        marks = self.finding_node.acting if self._markers is None else any(map(is_acting, self.iter_markers()))
        if marks:
            return None
        verdict = self.run_file.kept.get((self.name, self.finding_id))
        strict = self.state.options.strict
        return None if verdict is None or (strict and verdict.status == "unrecorded") else verdict

    def told_properties(self, verdict: Verdict) -> list[tuple[str, object]]:
        """The properties of the report of `verdict`."""
        own: list[tuple[str, object]] = self._properties or []
        others = [p for p in own if p[0] not in _SHOWN]
        return [*others, *self.shown(verdict).items(), (PROPERTY, Told(self.run_file.nodeid, verdict))]

    def report(self, verdict: Verdict, start: float) -> TestReport:
        """The report of a call that ended at `verdict`; see `outcome` and `_repr_failure_py`."""
        self.verdict = verdict
        if verdict.level is None:
            path, line, _ = self.reportinfo()
            return TestReport(self, verdict, "skipped", (path, line + 1, _gap(verdict)), start, time.time())
        if verdict.level == 0:
            reason = self.state.words.line(verdict.reason, MAX_REASON)
            return TestReport(self, verdict, "failed", reason, start, time.time())
        return TestReport(self, verdict, "passed", None, start, time.time())

    def setup(self) -> None:
        kept = self.kept
        if kept is not None:
            self.show(kept)
        else:
            self.settle(self.case.verdict(self.criterion, self.finding_id, self.state.judge))

    def runtest(self) -> None:
        self.outcome()


class RunStateItem(RunItem, pytest.Item):
    """The one item of a run that can't be tested: an error if it is tampered, a failure if nothing was delivered."""

    def setup(self) -> None:
        index = self.run_file.index
        self.publish(index.state)
        if index.state == "tampered":
            raise JudgingFailed(f"run {index.label} is not what was frozen: {'; '.join(index.problems)}")

    def runtest(self) -> None:
        index = self.run_file.index
        raise Zero(f"run {index.label} counts as 0: {'; '.join(index.problems)}")


class FunctionCriterion(CriterionBase, pytest.Function):
    """A criterion that runs code of the user's, with pytest's fixtures."""

    verdict: Verdict | None = None

    def decide(self, **fixtures: Any) -> Verdict:
        """The verdict, given the fixtures that the criterion's function asks for."""
        raise NotImplementedError

    def setup(self) -> None:
        self.forget(_SHOWN | {PROPERTY})
        super().setup()
        if not self.config.getoption("setupplan", False):
            self.settle(self.decide(**{name: self.funcargs[name] for name in self._fixtureinfo.argnames}))

    def runtest(self) -> None:
        self.outcome()


def _asked(judge: Judge) -> None:
    """What a criterion asks for under a `judge` fixture of the user's own."""


class JudgedFunction(FunctionCriterion):
    """A rubric's criterion under a `judge` fixture of the user's own."""

    @classmethod
    def of(cls, parent: FindingNode, marks: CriterionMarks) -> JudgedFunction:
        item: JudgedFunction = cls.from_parent(parent, name=marks.criterion.id, callobj=_asked)
        item.criterion = marks.criterion
        marks.give(item)
        return item

    def decide(self, **fixtures: Any) -> Verdict:
        from ..errors import SciagentError
        from ..judging.judge import Judge
        from ..judging.panel import Panel, convene

        judge = fixtures["judge"]
        if not isinstance(judge, Judge):
            raise JudgingFailed(f"the fixture 'judge' must give a pytest_sciagent.Judge, not {type(judge).__name__}")
        if not isinstance(judge, Panel):
            try:
                judge = convene([judge], self.state.poll)
            except SciagentError as error:
                raise JudgingFailed(str(error)) from None
        if not self.run_file.asked_about_run and self._has_company():
            # The score of the run needs what only this judge can tell; the controller reads it from the ledger.
            self.run_file.asked_about_run = True
            self.case.about_run.facts(judge)
        return self.case.verdict(self.criterion, self.finding_id, judge)

    def _has_company(self) -> bool:
        """Whether more items of this run are selected: a single one is not asked for its run's score."""
        mine = (item for item in self.session.items if item is not self and isinstance(item, RunItem))
        return any(item.run_file is self.run_file for item in mine)


class OwnCriterion(FunctionCriterion):
    """A criterion that a user wrote as a Python function: it asks for fixtures and returns a level or a verdict."""

    own: OwnSpec
    failed: BaseException | None = None

    @classmethod
    def of(cls, parent: FindingNode, marks: CriterionMarks, own: OwnSpec) -> OwnCriterion:
        item: OwnCriterion = cls.from_parent(parent, name=own.id, callobj=own.function)
        item.own = own
        item.criterion = own.criterion
        marks.give(item)
        item.add_marker(pytest.mark.own_criterion)
        return item

    def setup(self) -> None:
        try:
            super().setup()
        except JudgingFailed:
            raise
        except pytest.FixtureLookupError as error:
            self._end_in(f"there is no fixture {error.argname!r} ({self.own.place})")
            raise
        except Exception as error:  # of the criterion, or of a fixture that it asks for
            self._end_in(raised(error))
            raise  # with its traceback: it is the user's own code

    def _end_in(self, error: str) -> None:
        self.take(self.own.make("check_error", None, error, self.finding_id))

    def decide(self, **fixtures: Any) -> Verdict:
        self.failed = None
        try:
            result = self.obj(**fixtures)
        except (AssertionError, pytest.fail.Exception) as error:
            self.failed = error
            return self.own.make("assessed", 0.0, str(error) or "an assertion failed", self.finding_id)
        except pytest.skip.Exception as skipped:
            return self.own.make("not_assessed", None, str(skipped) or "skipped", self.finding_id)
        try:
            return self.own.verdict(result, self.finding_id)
        except TypeError as error:
            return self.own.make("check_error", None, str(error), self.finding_id)

    def _traceback_filter(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Traceback:
        """The user's own part of a traceback; what their code called of this package is no news to them."""
        shown = super()._traceback_filter(excinfo)
        if self.config.getoption("fulltrace", False):
            return shown
        return Traceback([entry for entry in shown if is_users(Path(entry.path))]) or shown

    def runtest(self) -> None:
        if self.failed is not None:
            raise self.failed
        self.outcome()
