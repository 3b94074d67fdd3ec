"""The stages in their order. What a stage has made from the same inputs is taken as it lies there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar

from ..ledger.store import write_atomically
from ..models import QuestionKind, Rubric
from ..rubrics.frozen import freeze, load_record, record_of, record_text, rubric_yaml
from ..tasks import Task
from ..text import counted
from .lint import LintProblem, lint
from .profile import profile_data, with_meaning
from .prompts import inputs_of
from .skeleton import induce_skeleton
from .states import Criteria, DataProfile, InductionRecord, Literature, Skeleton, State, digest_of
from .synthesis import induce_criteria, rubric_of, skeleton_rubric
from .task_questions import Desk

S = TypeVar("S", bound=State)
Stages = Literal["all", "skeleton"]
SKELETON, LITERATURE, DATA, CRITERIA = "skeleton", "literature", "data_profile", "criteria"


@dataclass(frozen=True)
class Switches:
    """What of the induction is done: the ablations, and the guards against a loss of coverage."""

    stages: Stages = "all"
    literature: bool = True
    data: bool = True
    second_skeleton: bool = False
    critique: bool = False


@dataclass
class Induction:
    """The induction of one task's rubric.

    ground: makes the literature state from the skeleton; it knows the providers and what is blocked.
    tell: called with a line whenever a stage is done.
    """

    task: Task
    desk: Desk
    switches: Switches
    ground: Callable[[Skeleton], Literature]
    tell: Callable[[str], None]

    @cached_property
    def skeleton(self) -> Skeleton:
        """The goals, from the instruction alone."""
        instruction, second = self.task.objective, self.switches.second_skeleton
        inputs = inputs_of(("goals", "merge") if second else ("goals",), instruction, second)
        made = self._stage(
            SKELETON, Skeleton, inputs, lambda: induce_skeleton(self.desk, instruction, inputs, second=second)
        )
        self.tell(f"skeleton: {counted(len(made.goals), 'goal')}")
        return made

    @cached_property
    def literature(self) -> Literature | None:
        """What the literature says about the goals; None where it is switched off."""
        if not self.switches.literature:
            return None
        made = self.ground(self.skeleton)
        self.desk.folder.save(LITERATURE, made)
        note = f"; {made.note}" if made.note else ""
        searches, sources = counted(len(made.searches), "search", "searches"), counted(len(made.sources), "core source")
        self.tell(f"literature: {searches}, {sources}{note}")
        return made

    @cached_property
    def data(self) -> DataProfile | None:
        """What the data are and mean; None where they are switched off."""
        if not self.switches.data:
            return None
        skeleton, raw = self.skeleton, profile_data(self.task)
        inputs = inputs_of(("meaning",), raw.inputs, skeleton, self.task.data_guide)
        made = self._stage(DATA, DataProfile, inputs, lambda: with_meaning(self.desk, self.task, raw, skeleton, inputs))
        columns = sum(len(f.table.columns) for f in made.files if f.table)
        feasible = sum(goal.feasible == "yes" for goal in made.feasibility)
        told = f"{counted(len(made.files), 'file')}, {counted(columns, 'column')}"
        self.tell(f"data: {told}; {feasible} of {counted(len(made.feasibility), 'goal')} feasible")
        return made

    @cached_property
    def criteria(self) -> Criteria:
        """The criteria, from whatever of goals, data and literature is switched on."""
        skeleton, literature, profile = self.skeleton, self.literature, self.data
        critique = self.switches.critique
        asked: tuple[QuestionKind, ...] = ("criteria", "critique") if critique else ("criteria",)
        inputs = inputs_of(asked, self.task.objective, skeleton, profile, literature, critique)
        made = self._stage(
            CRITERIA,
            Criteria,
            inputs,
            lambda: induce_criteria(self.desk, self.task, skeleton, profile, literature, inputs, critique=critique),
        )
        self.tell(f"criteria: {len(made.criteria)}")
        return made

    def rubric(self) -> Rubric:
        """The rubric, not frozen."""
        if self.switches.stages == "skeleton":
            return skeleton_rubric(self.task, self.skeleton)
        return rubric_of(self.task, self.skeleton, self.criteria)

    def record(self) -> InductionRecord:
        """How the rubric was made: every recorded answer, and the digest of each state."""
        folder, switches = self.desk.folder, self.switches
        whole = switches.stages == "all"
        made: dict[str, tuple[type[State], bool]] = {
            SKELETON: (Skeleton, True),
            LITERATURE: (Literature, whole and switches.literature),
            DATA: (DataProfile, whole and switches.data),
            CRITERIA: (Criteria, whole),
        }
        states = {name: folder.load(name, model) for name, (model, wanted) in made.items() if wanted}
        used = {key for state in states.values() for key in state.answers}
        criteria, literature = states.get(CRITERIA), states.get(LITERATURE)
        return InductionRecord(
            task_id=self.task.id,
            judge=self.desk.judge,
            switches=dict(vars(self.switches)),
            states={name: digest_of(state) for name, state in states.items()},
            sources=tuple(s.id for s in literature.sources) if isinstance(literature, Literature) else (),
            claims_to_avoid=criteria.claims_to_avoid if isinstance(criteria, Criteria) else (),
            entries=tuple(e for e in self.desk.ledger.entries if e.key in used),
        )

    def _stage(self, name: str, model: type[S], inputs: str, make: Callable[[], S]) -> S:
        made = self.desk.folder.current(name, model, inputs)
        if made is None:
            made = make()
            self.desk.folder.save(name, made)
        return made


def data_names(task: Task) -> set[str]:
    """What a criterion on `task` may name as its data."""
    return profile_data(task).names


def freeze_rubric(rubric: Rubric, path: Path, task: Task | None) -> tuple[Rubric | None, list[LintProblem]]:
    """Write `rubric` to `path` as its next frozen version, with the record beside it; nothing where lint finds a fault.

    Words that are frozen already keep their version and time.

    Raises:
        SciagentError: a record that can't be read, or a file that can't be written.
    """
    found = lint(rubric, task, data_names(task) if task is not None else None)
    if found:
        return None, found
    frozen, record = freeze(rubric, load_record(path), datetime.now(UTC))
    write_atomically(path, rubric_yaml(frozen))
    write_atomically(record_of(path), record_text(record))
    return frozen, []
