"""The states of an induction: one typed file a stage, with the digest of all that it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field, JsonValue

from ..digest import sha256_json
from ..documents import json_text, load_json
from ..errors import SciagentError
from ..ledger.store import write_atomically
from ..models import JudgeIdentity, LedgerEntry, Model
from ..models.base import Name, Sha256
from .answers import CriterionDraft, FileMeaning, GoalDraft, GoalFeasibility, GoalGrounding

S = TypeVar("S", bound="State")
ColumnKind = Literal["integer", "number", "date", "truth", "text", "empty"]


class State(Model):
    """What one stage has made. inputs: digest of all it was made from; answers: keys of the answers it rests on."""

    task_id: Name
    inputs: Sha256
    answers: tuple[Sha256, ...] = ()


class Skeleton(State):
    """`skeleton.json`: the goals, from the instruction alone. drawn: how many skeletons were merged."""

    schema_: Literal["sciagent-skeleton/1"] = Field("sciagent-skeleton/1", alias="schema")
    drawn: int = Field(1, ge=1)
    goals: tuple[GoalDraft, ...]


class Column(Model):
    """One column as code finds it. unit, meaning: from the task. values: all of them, where there are few.

    low, high: of numbers, and of dates as text. suspicious: why the column may not be what it looks like.
    """

    name: str
    kind: ColumnKind
    unit: str | None = None
    meaning: str | None = None
    missing: int = 0
    distinct: int = 0
    low: float | str | None = None
    high: float | str | None = None
    values: tuple[str, ...] = ()
    suspicious: str | None = None


class TableProfile(Model):
    """One table. keys: columns (or pairs, joined by +) whose values tell rows apart; order: what rows are sorted by."""

    rows: int
    columns: tuple[Column, ...]
    keys: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    order: str | None = None
    duplicate_rows: int = 0
    cut: bool = False


class FileProfile(Model):
    """One data file; `table` is null where it is none that code reads, and `problem` says why."""

    path: str
    format: str
    bytes: int
    sha256: Sha256
    table: TableProfile | None = None
    problem: str | None = None


class Join(Model):
    """Columns of one name in two tables, and which share of the first one's values stands in the second."""

    column: str
    first: str
    second: str
    share: float


class DataProfile(State):
    """`data_profile.json`: what code found in the data, then what a model says they mean."""

    schema_: Literal["sciagent-data-profile/1"] = Field("sciagent-data-profile/1", alias="schema")
    files: tuple[FileProfile, ...]
    joins: tuple[Join, ...] = ()
    copies: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    meaning: tuple[FileMeaning, ...] = ()
    feasibility: tuple[GoalFeasibility, ...] = ()

    @property
    def names(self) -> set[str]:
        """All that a criterion may name as its data: files, and columns as FILE:COLUMN."""
        found = set()
        for file in self.files:
            name = file.path.removeprefix("data/")
            found.add(name)
            found |= {f"{name}:{column.name}" for column in file.table.columns} if file.table else set()
        return found


class Search(Model):
    """One search: where, for what, how it ended, and how many publications it brought."""

    provider: str
    goal_id: str
    query: str
    status: str
    found: int = 0


class LiteratureSource(Model):
    """One publication that the grounding rests on. flags: passages of it that read like instructions to a model."""

    id: str
    title: str
    year: int | None = None
    date: str | None = None
    doi: str | None = None
    arxiv: str | None = None
    url: str | None = None
    authors: tuple[str, ...] = ()
    provider: str
    goals: tuple[str, ...] = ()
    text: str
    score: float = 0.0
    flags: tuple[str, ...] = ()


class Literature(State):
    """`literature.json`: the searches, the core sources, and what they say about each goal. note: why there is none."""

    schema_: Literal["sciagent-literature/1"] = Field("sciagent-literature/1", alias="schema")
    searches: tuple[Search, ...] = ()
    sources: tuple[LiteratureSource, ...] = ()
    goals: tuple[GoalGrounding, ...] = ()
    note: str | None = None


class Criteria(State):
    """`criteria.json`: the criteria before they become a rubric. gaps: what a critique found missing in a first set."""

    schema_: Literal["sciagent-criteria/1"] = Field("sciagent-criteria/1", alias="schema")
    criteria: tuple[CriterionDraft, ...]
    claims_to_avoid: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


class InductionRecord(Model):
    """`answers.json`, and beside a frozen rubric `TASK.induction.json`: every answer, and how the rubric was made."""

    schema_: Literal["sciagent-induction/1"] = Field("sciagent-induction/1", alias="schema")
    task_id: Name
    judge: JudgeIdentity | None = None
    switches: dict[str, JsonValue] = {}
    states: dict[str, Sha256] = {}
    sources: tuple[str, ...] = ()
    claims_to_avoid: tuple[str, ...] = ()
    entries: tuple[LedgerEntry, ...] = ()


class StateFolder:
    """Where the states of one induction lie."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, name: str) -> Path:
        return self.path / f"{name}.json"

    def load(self, name: str, model: type[S]) -> S:
        """The state `name`.

        Raises:
            SciagentError: it is not there yet, or can't be read.
        """
        if not self.file(name).is_file():
            raise SciagentError(
                f"no such state yet: run the stage {name.replace('_', '-')} first", path=self.file(name)
            )
        return load_json(self.file(name), model)

    def current(self, name: str, model: type[S], inputs: str) -> S | None:
        """The state `name` if it was made from `inputs`, else None.

        Raises:
            SciagentError: it can't be read.
        """
        if not self.file(name).is_file():
            return None
        state = load_json(self.file(name), model)
        return state if state.inputs == inputs else None

    def save(self, name: str, state: Model) -> None:
        """Write the state `name`, whole or not at all.

        Raises:
            SciagentError: it can't be written.
        """
        write_atomically(self.file(name), json_text(state.as_json()))


def digest_of(*parts: object) -> str:
    """The digest of a stage's inputs: states and plain data."""
    return sha256_json([part.as_json() if isinstance(part, Model) else part for part in parts])
