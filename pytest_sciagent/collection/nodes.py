"""The collection tree: RunDir > RunFile (run.json) > finding > criterion. No node is a directory to pytest, so nothing
that an agent wrote is imported as a conftest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, cast

import pytest

from ..layout import MANIFEST
from ..text import safe_name
from .index import RUN_NODE, STATE_ITEMS, RunIndex
from .items import CriterionItem, JudgedFunction, OwnCriterion, RunNode, RunStateItem, is_acting
from .marks import run_marks
from .own import Scope
from .state import STATE, SessionState

if TYPE_CHECKING:
    from pluggy import HookRelay

    from ..evaluation import Case
    from ..evaluation.kept import VerdictKey
    from ..models import Verdict


def _state(node: pytest.Collector) -> SessionState:
    return node.config.stash[STATE]


class RunDir(RunNode, pytest.Collector):
    """The folder of a frozen run: stands between pytest's directories and the run file. Empty where nobody asked."""

    def collect(self) -> Iterator[pytest.Collector]:
        index = _state(self).indexes.get(self.path)
        # Reports carry the keywords of a node and of all above it: names of folders, which need not even be Unicode.
        self.keywords = {self.name: True}
        if index is not None:
            yield RunFile.from_parent(self, path=self.path / MANIFEST, name=MANIFEST, nodeid=index.nodeid)


class FolderAbove(RunNode, pytest.Collector):
    """A folder above runs, outside the rootdir. Somebody else's conftest files there are not loaded, since it is no
    directory to pytest either; the way goes on to its runs only."""

    def collect(self) -> Iterator[pytest.Collector]:
        runs = _state(self).named.runs
        for name in sorted({run.relative_to(self.path).parts[0] for run in runs if self.path in run.parents}):
            folder = self.path / name
            node = RunDir if folder in runs else FolderAbove
            yield node.from_parent(self, path=folder, name=safe_name(name))


class RunFile(RunNode, pytest.Module):
    """`run.json`: one task-system pair, kept together on one worker. A module to pytest, so that a fixture of module
    scope is made once for each run; but nothing is ever imported."""

    obj = None
    asked_about_run = False

    @cached_property
    def hooks(self) -> HookRelay:
        """The hooks for this run's items, once all conftest files are loaded."""
        return self.ihook

    @cached_property
    def index(self) -> RunIndex:
        return _state(self).indexes[self.path.parent]

    @cached_property
    def case(self) -> Case:
        return _state(self).case(self.path.parent)

    @cached_property
    def kept(self) -> Mapping[VerdictKey, Verdict]:
        """The verdicts that an earlier session of this user has worked out from the same files."""
        return _state(self).keeping.verdicts_of(self.index)

    def collect(self) -> Iterator[pytest.Collector]:
        index = self.index
        self.own_markers.extend(run_marks(index))
        self.extra_keyword_matches |= {index.system, index.task_id, index.label}
        state = _state(self)
        if state.is_worker:
            try:
                state.check_own()
            except pytest.UsageError as error:
                raise self.CollectError(str(error)) from None
        about_run = index.state != "sound" or state.own_of("run") or state.criteria_of("run", index)
        for name in (*index.findings, *([RUN_NODE] if about_run else [])):
            if state.named.picked(self.path.parent, name):
                yield FindingNode.from_parent(self, name=name)


class FindingNode(RunNode, pytest.Collector):
    """One finding of a run, or the run as a whole."""

    @property
    def run_file(self) -> RunFile:
        return cast(RunFile, self.parent)

    @cached_property
    def finding_id(self) -> str | None:
        return None if self.name == RUN_NODE else self.name

    @cached_property
    def acting(self) -> bool:
        """Whether a mark on what is above its items has a say in how they end."""
        return any(map(is_acting, self.iter_markers()))

    def collect(self) -> list[pytest.Item]:
        run = self.path.parent
        named = _state(self).named
        items = [item for item in self._items() if named.picked(run, self.name, item.name)]
        for pick in named.picks.get(run, ()):
            if pick[:1] == (self.name,) and not any(pick == (self.name, item.name)[: len(pick)] for item in items):
                raise self.CollectError(f"not found: {'::'.join((self.run_file.nodeid, *pick))}")
        return items

    def _items(self) -> Iterator[pytest.Item]:
        state = _state(self)
        index = self.run_file.index
        if index.state != "sound":
            yield RunStateItem.from_parent(self, name=STATE_ITEMS[index.state])
            return
        scope: Scope = "run" if self.finding_id is None else "finding"
        kind = JudgedFunction if _own_judge(self) else CriterionItem
        if kind is JudgedFunction:
            state.keeping.leave_out(index)
        for marks in state.criteria_of(scope, index):
            yield kind.of(self, marks)
        for own, marks in state.own_of(scope):
            yield OwnCriterion.of(self, marks, own)


def _own_judge(node: pytest.Collector) -> bool:
    """Whether a conftest or plugin overrides the `judge` fixture for this node."""
    found = node.session._fixturemanager.getfixturedefs("judge", node)
    return found is not None and len(found) > 1
