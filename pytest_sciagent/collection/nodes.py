"""The collection tree: RunDir > RunFile (run.json) > finding > criterion. No node is a directory to pytest, so nothing
that an agent wrote is imported as a conftest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from ..reporting.wire import PROPERTY, to_wire
from ..runs.run import MANIFEST
from ..text import clean
from .marks import Marks
from .own import OWN, OwnSpec
from .state import STATE

if TYPE_CHECKING:
    from ..evaluation import Case
    from ..judging.judge import Judge
    from ..models import Criterion, Verdict
    from .index import RunIndex

RUN_NODE = "run"


class RunDir(pytest.Collector):
    """The folder of a frozen run: stands between pytest's directories and the run file."""

    def collect(self) -> Iterator[pytest.Collector]:
        index = self.config.stash[STATE].index(self.path)
        yield RunFile.from_parent(self, path=self.path / MANIFEST, name=MANIFEST, nodeid=index.nodeid)


class RunFile(pytest.File):
    """`run.json`: one task-system pair, kept together on one worker."""

    @property
    def index(self) -> RunIndex:
        return self.config.stash[STATE].index(self.path.parent)

    def collect(self) -> Iterator[pytest.Collector]:
        state = self.config.stash[STATE]
        index = self.index
        self.marks = Marks(index)
        if index.state != "sound":
            yield FindingNode.from_parent(self, name=RUN_NODE)
            return
        for finding in index.findings:
            yield FindingNode.from_parent(self, name=finding)
        own_run = any(own.scope == "run" for own in self.config.stash[OWN])
        if own_run or any(c.scope == "run" for r in state.rubrics for c in r.criteria):
            yield FindingNode.from_parent(self, name=RUN_NODE)


class FindingNode(pytest.Collector):
    """One finding of a run, or the run as a whole."""

    parent: RunFile

    @property
    def finding_id(self) -> str | None:
        return None if self.name == RUN_NODE else self.name

    def collect(self) -> Iterator[pytest.Item]:
        state = self.config.stash[STATE]
        if self.parent.index.state != "sound":
            name = "integrity" if self.parent.index.state == "broken" else "delivery"
            yield RunStateItem.from_parent(self, name=name)
            return
        scope = "run" if self.finding_id is None else "finding"
        judge_is_own = _own_judge(self)
        for rubric in state.rubrics:
            for criterion in rubric.criteria:
                if criterion.scope == scope:
                    cls = JudgedFunction if criterion.judge and judge_is_own else CriterionItem
                    yield cls.of(self, criterion)
        for own in self.config.stash[OWN]:
            if own.scope == scope:
                yield OwnCriterion.make(self, own)


class Zero(Exception):
    """Level 0, carried to pytest's failure machinery and shown as one line."""


class JudgingFailed(Exception):
    """No level because judging failed: an error, never a score."""


if TYPE_CHECKING:
    _Item = pytest.Item
else:
    _Item = object


class CriterionMixin(_Item):
    """What every criterion item has: its case, its finding, its verdict, and how an outcome follows from it."""

    criterion: Criterion
    verdict: Verdict | None = None

    @property
    def finding_node(self) -> FindingNode:
        return cast(FindingNode, self.parent)

    @property
    def case(self) -> Case:
        return self.config.stash[STATE].case(self.finding_node.parent.path.parent)

    @property
    def finding_id(self) -> str | None:
        return self.finding_node.finding_id

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.finding_node.name}::{self.name}"

    @property
    def location(self) -> tuple[str, int | None, str]:
        return self.finding_node.parent.nodeid, None, f"{self.finding_node.name}::{self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Zero | JudgingFailed):
            return clean(str(excinfo.value))
        return super().repr_failure(excinfo)

    def mark(self, marks: Marks) -> None:
        """Give this item its markers, beside those it has."""
        new = marks.of(self.criterion)
        self.own_markers = [*new, *self.own_markers] if self.own_markers else new
        self.keywords.update({mark.name: mark for mark in new})
        self.extra_keyword_matches.add(self.criterion.dimension)

    def settle(self, verdict: Verdict) -> None:
        """Take the verdict in. Raises what makes pytest see an error, a skip or a failure."""
        self.verdict = verdict
        self.publish(verdict)
        strict = self.config.stash[STATE].options.strict
        if verdict.is_error or (strict and verdict.status == "unrecorded"):
            raise JudgingFailed(f"{verdict.status}: {verdict.reason}")

    def outcome(self) -> None:
        """End at the verdict's outcome, in the call phase."""
        verdict = self.verdict
        assert verdict is not None
        if verdict.level is None:
            pytest.skip(clean(f"{verdict.status.replace('_', ' ')}: {verdict.reason}"))
        if verdict.level == 0:
            raise Zero(clean(verdict.reason))

    def publish(self, verdict: Verdict) -> None:
        """Put the verdict into the item's properties: one by one for people, as a whole for the controller."""
        label = "unset" if verdict.level is None else f"{verdict.level:g}"
        self.forget()
        self.user_properties += [
            ("level", label),
            ("status", verdict.status),
            ("dimension", self.criterion.dimension),
            ("weight", f"{self.criterion.weight:g}"),
            (PROPERTY, to_wire({"run": self.finding_node.parent.nodeid, "verdict": verdict.as_json()})),
        ]

    def forget(self) -> None:
        """Drop what an earlier attempt (a rerun) left."""
        names = {"level", "status", "dimension", "weight", PROPERTY}
        self.user_properties[:] = [p for p in self.user_properties if p[0] not in names]


class CriterionItem(CriterionMixin, pytest.Item):
    """A criterion whose verdict needs no code of the user's: a check, or a recorded or asked answer."""

    @classmethod
    def of(cls, parent: FindingNode, criterion: Criterion) -> CriterionItem:
        item: CriterionItem = cls.from_parent(parent, name=criterion.id)
        item.criterion = criterion
        item.mark(parent.parent.marks)
        return item

    def setup(self) -> None:
        state = self.config.stash[STATE]
        self.settle(self.case.verdict(self.criterion, self.finding_id, state.judge))

    def runtest(self) -> None:
        self.outcome()


class RunStateItem(pytest.Item):
    """The one item of a run that can't be tested: an error if it is broken, a failure if nothing was delivered."""

    parent: FindingNode

    def setup(self) -> None:
        index = self.parent.parent.index
        self.user_properties.append((PROPERTY, to_wire({"run": self.parent.parent.nodeid, "state": index.state})))
        if index.state == "broken":
            raise JudgingFailed(f"run {index.label} is not what was frozen: {'; '.join(index.problems)}")

    def runtest(self) -> None:
        index = self.parent.parent.index
        raise Zero(f"run {index.label} counts as 0: {'; '.join(index.problems)}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return clean(str(excinfo.value))

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.parent.name}::{self.name}"


class JudgedFunction(CriterionMixin, pytest.Function):
    """A rubric's criterion under a `judge` fixture of the user's own: runs through pytest's fixtures."""

    @classmethod
    def of(cls, parent: FindingNode, criterion: Criterion) -> JudgedFunction:
        box: list[JudgedFunction] = []

        def ask(judge: Judge) -> None:
            item = box[0]
            item.settle(item.case.verdict(item.criterion, item.finding_id, judge))

        item: JudgedFunction = cls.from_parent(parent, name=criterion.id, callobj=ask)
        box.append(item)
        item.criterion = criterion
        item.mark(parent.parent.marks)
        return item

    def setup(self) -> None:
        super().setup()
        self.obj(**{name: self.funcargs[name] for name in self._fixtureinfo.argnames})

    def runtest(self) -> None:
        self.outcome()


class OwnCriterion(JudgedFunction):
    """A criterion that a user wrote as a Python function: it asks for fixtures and returns a level or a verdict."""

    own: OwnSpec

    @classmethod
    def make(cls, parent: FindingNode, own: OwnSpec) -> OwnCriterion:
        item: OwnCriterion = cls.from_parent(parent, name=own.id, callobj=own.function)
        item.own = own
        item.criterion = own.criterion
        item.mark(parent.parent.marks)
        return item

    failed: AssertionError | None = None

    def setup(self) -> None:
        self.forget()
        pytest.Function.setup(self)
        try:
            result = self.obj(**{name: self.funcargs[name] for name in self._fixtureinfo.argnames})
        except AssertionError as error:
            self.failed, result = error, (0, str(error) or "an assertion failed")
        self.settle(self.own.verdict(result, self.finding_id))

    def runtest(self) -> None:
        if self.failed is not None:
            raise self.failed
        self.outcome()


def _own_judge(node: pytest.Collector) -> bool:
    """Whether a conftest overrides the `judge` fixture for this node."""
    found = node.session._fixturemanager.getfixturedefs("judge", node)
    return found is not None and len(found) > 1
