"""What one pytest session knows: options, runs, rubrics, the judge. Lives in `config.stash`, made once a process."""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import SciagentError
from ..text import counted
from .options import ALLOW_LATE, Options
from .own import OwnCriteria, OwnSpec, Scope
from .paths import NOTHING
from .recording import Recording

if TYPE_CHECKING:
    from ..checks import Check
    from ..evaluation import Case, Sources
    from ..judging.judge import Judge
    from ..judging.panel import Poll
    from ..judging.prompts import Templates
    from ..judging.pump import Progress
    from ..models import Rubric
    from ..reporting.words import Words
    from .foreign import Imported
    from .index import RunIndex
    from .keeping import Keeping
    from .marks import CriterionMarks
    from .protocol import ShortProtocol

STATE: pytest.StashKey[SessionState] = pytest.StashKey()
WIRE = "sciagent"
MAX_LABEL = 120
"""Characters of a judge's label in the properties of an item."""


class SessionState:
    """One session. Heavy parts are imported and made on first use, so that a session without runs pays nothing.

    `wire` is what a worker was told by its controller (`to_wire`). `asked`: what asking a provider came to.
    """

    def __init__(self, config: pytest.Config, options: Options, wire: dict[str, Any] | None = None) -> None:
        self.config = config
        self.options = options
        self.is_worker = hasattr(config, "workerinput")
        self.own = OwnCriteria()
        self.named = NOTHING
        self.imported: list[Imported] = []
        self.indexes: dict[Path, RunIndex] = {}
        self.wire = wire
        self.session_id: str = wire["session"] if wire is not None else uuid.uuid4().hex[:12]
        self._cases: dict[Path, Case] = {}
        self.recording = Recording(self)
        self.has_asked = False
        self.asked: list[Progress] = []
        self.notices: list[str] = []
        self.workers_told: str | None = None
        self._effects: dict[tuple[str, float | None], str | None] = {}
        self._names: dict[str, str] = {}
        if wire is not None:
            from .index import RunIndex

            self.add(RunIndex.from_wire(told) for told in wire["runs"])

    def add(self, indexes: Iterable[RunIndex]) -> None:
        """Take runs into the session."""
        self.indexes |= {Path(index.path): index for index in indexes}

    def prepare(self) -> None:
        """Read in the controller, before anything runs, all that can be wrong in what the user gave.

        Raises:
            SciagentError: no usable run, two runs of one name, or see `rubrics`, `case`, `judge` and `make_clients`.
        """
        from ..rubrics.frozen import late_notes
        from .batching import check_batch
        from .index import RUN_NODE, check_distinct
        from .providers import make_clients, terms_of

        indexes = list(self.indexes.values())
        if all(index.state == "tampered" for index in indexes):
            told = "\n".join(f"{i.label}: {'; '.join(i.problems)}" for i in indexes[:5])
            raise SciagentError(f"no usable run:\n{told}")
        check_distinct(indexes)
        for run, picks in self.named.picks.items():
            index = self.indexes[run]
            for finding, *_ in picks:
                if finding not in (*index.findings, RUN_NODE):
                    raise SciagentError(f"not found: {index.nodeid}::{finding}")
        if self.templates.own:
            names = ", ".join(f"{name}.j2" for name in sorted(self.templates.own))
            self.notices.append(f"prompt templates of your own: {names}")
        if (shown := self.templates.examples) is not None:
            asked = {one.criterion for one in shown.examples}
            examples = counted(len(shown.examples), "labelled example")
            self.notices.append(f"{examples} shown with {counted(len(asked), 'criterion', 'criteria')}")
        self.rubrics, self._own_checks  # noqa: B018
        self.check_own()
        for index in indexes:
            if index.state == "sound":
                case = self.case_of(index)
                began, allowed = case.run.manifest.started_at, self.options.allow_late_rubric
                late = late_notes(self.rubrics_of(index), index.label, began, allowed=allowed, option=ALLOW_LATE)
                self.notices += [notice for notice in late if notice not in self.notices]
        self.judge  # noqa: B018
        if self.poll.weights is not None:
            self.notices.append(self.poll.weights.told(index.label for index in indexes))
        checked: set[str] = set()
        for index in indexes:
            if index.state == "sound":
                self.keeping.begin(index)
                task = self.case_of(index).task
                if task is not None and task.id not in checked:
                    task.check()
                    checked.add(task.id)
        check_batch(self)
        for judge, _ in make_clients(self):
            terms_of(self, judge)

    @functools.cached_property
    def full_protocol(self) -> bool:
        """Whether criteria run under pytest's full protocol (see `protocol.needs_full_protocol`)."""
        from .protocol import needs_full_protocol

        return needs_full_protocol(self.config)

    @functools.cached_property
    def short_protocol(self) -> ShortProtocol:
        """How the other criteria run."""
        from .protocol import ShortProtocol

        return ShortProtocol(self.config)

    @functools.cached_property
    def keeping(self) -> Keeping:
        """What earlier sessions have worked out, and what this one leaves to later ones."""
        from .keeping import Keeping

        return Keeping(self)

    # ---- runs

    def case(self, path: Path) -> Case:
        """The run in `path` under evaluation.

        Raises:
            SciagentError: its task or its ledger can't be read.
        """
        if path not in self._cases:
            from ..evaluation import open_case

            self._cases[path] = open_case(
                path, self.sources, self.recording.record, self.find_check, self.options.asking
            )
        return self._cases[path]

    def case_of(self, index: RunIndex) -> Case:
        """The run of `index` under evaluation; raises as `case`."""
        return self.case(Path(index.path))

    @functools.cached_property
    def templates(self) -> Templates:
        """The words of the prompts.

        Raises:
            SciagentError: a template of the user's own that can't be used.
        """
        from ..judging.prompts import PACKAGED
        from ..judging.template_check import read_templates

        folder = self.options.how.templates
        return read_templates(folder) if folder is not None else PACKAGED

    @functools.cached_property
    def sources(self) -> Sources:
        """Where tasks and recorded answers are."""
        from ..evaluation import RerunWish, Sources
        from ..evidence.artifacts import ReadingLimits

        options = self.options
        seconds = options.rerun_seconds
        return Sources(
            options.rootdir,
            options.tasks,
            options.ledger,
            self.recording.live_folder,
            rerun=RerunWish(seconds, options.unsafe_rerun) if seconds is not None else None,
            canary=options.canary,
            images=options.images,
            templates=self.templates,
            session=self.session_id,
            reading=ReadingLimits(options.reading_seconds) if options.reading_seconds is not None else None,
        )

    # ---- criteria

    @functools.cached_property
    def rubrics(self) -> tuple[Rubric, ...]:
        """The rubrics of this session, with the profile the user chose.

        Raises:
            SciagentError: unknown or invalid rubric, an unknown check, or one criterion id in two rubrics.
        """
        from ..models import Rubric
        from .criteria import check_rubrics, read_rubrics
        from .hooks import brought_rubrics

        if self.wire is not None:
            return tuple(Rubric.model_validate_json(text) for text in self.wire["rubrics"])
        rubrics = read_rubrics(brought_rubrics(self.config), self.options)
        check_rubrics(rubrics, self.find_check)
        return rubrics

    def rubrics_of(self, index: RunIndex) -> tuple[Rubric, ...]:
        """The rubrics that a run is judged by: those for any task, and those made for its own.

        Raises:
            SciagentError: there is none.
        """
        from ..models.rubric import rubrics_for

        found = rubrics_for(self.rubrics, index.task_id)
        if not found:
            names = ", ".join(f"{rubric.id} (for {rubric.task_id})" for rubric in self.rubrics)
            raise SciagentError(
                f"no rubric of this session is made for {index.label}: {names}. Test it in a session of its own, or "
                "give a rubric that is made for every task with --sciagent-rubric"
            )
        return found

    @property
    def scoring_rubrics(self) -> tuple[Rubric, ...]:
        """The rubrics that score a run of this session, in their order."""
        from ..models.rubric import scoring_rubrics

        judged = (index.task_id for index in self.indexes.values() if index.state == "sound")
        return scoring_rubrics(self.rubrics, judged)

    @functools.cached_property
    def point_values(self) -> Mapping[str, Fraction]:
        """What each criterion that counts for the score of a finding is worth, in points of 100."""
        from ..scoring.effects import values_of

        return values_of(self.rubrics)

    def effect_of(self, criterion_id: str, level: float | None) -> str | None:
        """What `level` takes from a finding's score, as people read it; None where the criterion does not count."""
        key = criterion_id, level
        if key not in self._effects:
            from ..scoring.effects import score_effect

            value = self.point_values.get(criterion_id)
            self._effects[key] = None if value is None else score_effect(value, level).show()
        return self._effects[key]

    def name_of(self, label: str) -> str:
        """The label of a judge, as people read it."""
        if label not in self._names:
            self._names[label] = self.words.line(label, MAX_LABEL)
        return self._names[label]

    @functools.cached_property
    def words(self) -> Words:
        """What makes text of agents and judges fit to be shown."""
        from ..reporting.words import Words

        return Words.of(os.environ)

    @functools.cached_property
    def _marks(self) -> dict[str, list[CriterionMarks]]:
        from .marks import CriterionMarks

        return {rubric.id: [CriterionMarks(criterion) for criterion in rubric.criteria] for rubric in self.rubrics}

    def criteria_of(self, scope: Scope, index: RunIndex) -> list[CriterionMarks]:
        """The criteria of findings or of the run that a run is judged by, in the rubrics' order, with their marks."""
        found = (marks for rubric in self.rubrics_of(index) for marks in self._marks[rubric.id])
        return [marks for marks in found if marks.criterion.scope == scope]

    def own_of(self, scope: Scope) -> list[tuple[OwnSpec, CriterionMarks]]:
        """The user's own criteria of findings or of runs, by id, with their marks."""
        from .marks import CriterionMarks

        return [(spec, CriterionMarks(spec.criterion)) for spec in self.own.of(scope)]

    def check_own(self) -> None:
        """Look whether the user's own criteria can be used.

        Raises:
            pytest.UsageError: see `OwnCriteria.check`.
        """
        rubrics = self.rubrics if self.indexes else ()
        self.own.check({criterion.id for rubric in rubrics for criterion in rubric.criteria})

    @functools.cached_property
    def _own_checks(self) -> dict[str, Check]:
        from .hooks import own_checks

        return own_checks(self.config)

    @property
    def has_own_checks(self) -> bool:
        """Whether the user has checks of their own."""
        return bool(self._own_checks)

    def find_check(self, name: str) -> Check:
        """The check called `name`, a user's own or a shipped one.

        Raises:
            SciagentError: there is none.
        """
        from ..checks import find_check

        return self._own_checks.get(name) or find_check(name)

    def expected_items(self) -> set[str]:
        """Node ids of all items that the indexed runs have under this session's criteria."""
        from .index import RUN_NODE, STATE_ITEMS

        expected: set[str] = set()
        for index in self.indexes.values():
            if index.state == "sound":
                of_findings, of_run = (self._ids_of(scope, index) for scope in ("finding", "run"))
                expected |= {f"{index.nodeid}::{f}::{c}" for f in index.findings for c in of_findings}
                expected |= {f"{index.nodeid}::{RUN_NODE}::{c}" for c in of_run}
            else:
                expected.add(f"{index.nodeid}::{RUN_NODE}::{STATE_ITEMS[index.state]}")
        return expected

    def _ids_of(self, scope: Scope, index: RunIndex) -> list[str]:
        return [marks.criterion.id for marks in self.criteria_of(scope, index)] + [o.id for o in self.own.of(scope)]

    # ---- judge

    @functools.cached_property
    def poll(self) -> Poll:
        """How the votes of a panel are taken and counted.

        Raises:
            SciagentError: weights that can't be read, or do not hold for this session's rubrics and prompts.
        """
        from ..evaluation.weights import poll_of

        panel = self.options.panel
        return poll_of(panel.draws, panel.rule, panel.weights, self.rubrics, self.templates)

    @functools.cached_property
    def judge(self) -> Judge:
        """The judge of this session: the one named, else the one whose answers are recorded.

        Raises:
            SciagentError: a judge that nobody knows, or several recorded judges and none named.
        """
        from .judges import find_judge

        return find_judge(self)

    # ---- workers

    def to_wire(self) -> dict[str, Any]:
        """What a worker is told, as plain data."""
        from ..judging.panel import panel_of

        members = [member.identity for member in panel_of(self.judge).members]
        live = self.recording.live_folder
        return {
            "session": self.session_id,
            "runs": [index.to_wire() for index in self.indexes.values()],
            "rubrics": [rubric.model_dump_json(by_alias=True) for rubric in self.rubrics],
            "judges": [None if identity is None else identity.model_dump_json() for identity in members],
            "live": None if live is None else os.fsencode(live),
        }


def usage_errors(function: Callable[..., Any], *args: Any) -> Any:
    """Call `function`; bad input becomes pytest's usage error: one message, exit code 4."""
    try:
        return function(*args)
    except SciagentError as error:
        raise pytest.UsageError(str(error)) from None
