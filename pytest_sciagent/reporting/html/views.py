"""What the pages show, as plain frozen data. All text in it is masked, cleaned and bounded; templates escape it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

Outcome = Literal["zero", "half", "full", "open", "error"]
OUTCOMES: tuple[Outcome, ...] = ("zero", "error", "open", "half", "full")
"""Worst first: the order in which criteria are listed."""
SIGNS: dict[Outcome, str] = {"zero": "0", "half": "½", "full": "1", "open": "?", "error": "!"}
WORDS: dict[Outcome, str] = {
    "zero": "not met",
    "half": "half",
    "full": "met",
    "open": "not assessed",
    "error": "judging failed",
}
BELIEVED = "How far to believe it"
Change = Literal["fallen", "raised", "new", "same", "unknown"]


@dataclass(frozen=True, slots=True)
class Bar:
    """A share or score from `low` to `high`, both 0..100, and how it is written."""

    low: float
    high: float
    shown: str

    @property
    def open(self) -> float:
        return self.high - self.low

    @property
    def step(self) -> int:
        """0..10: the colour of a cell, by the middle."""
        return round((self.low + self.high) / 20)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a condition, with its letter; the sentence before and after the parts has none."""

    letter: str
    text: str


@dataclass(frozen=True, slots=True)
class CriterionText:
    """A criterion in full: its question, what it does not judge, and the condition of each level.

    A page holds it once; each item of it names the conditions that it met and that would raise it.
    """

    anchor: str
    number: str
    title: str
    question: str
    boundary: str
    conditions: tuple[tuple[Outcome, tuple[Part, ...]], ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, and whether it is cited."""

    number: int
    text: str
    cited: bool


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of a table; each row has a label, its cells, and the numbers of the cells that are cited."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], frozenset[int]], ...]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around a citation in its file: lines, or rows of a table. Equal ones stand on a page once."""

    file: str
    lines: tuple[Line, ...] = ()
    grid: Grid | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A citation, and what surrounds it. `anchor` leads to the report."""

    file: str
    place: str
    quote: str
    verified: bool | None
    around: Surroundings | None = None
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a receipt: a text, further facts, or a table."""

    name: str
    text: str | None = None
    facts: tuple[Fact, ...] = ()
    grid: Grid | None = None
    more: str = ""


@dataclass(frozen=True, slots=True)
class Votes:
    """Several votes behind one verdict: judge, draw, level (as outcome and in words) and reason of each."""

    rows: tuple[tuple[str, str, Outcome, str, str], ...]
    agreed: bool
    told: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class ItemView:
    """One criterion of a finding or a run."""

    anchor: str
    number: str
    criterion: str
    title: str
    dimension: str
    outcome: Outcome
    word: str
    points: str
    lost: float
    question: str
    reason: str
    decided_by: str
    met: Outcome | None
    next: Outcome | None
    gain: str
    passages: tuple[Passage, ...]
    more_passages: str
    facts: tuple[Fact, ...]
    votes: Votes | None
    warnings: tuple[str, ...]
    change: Change
    was: str
    pointer: str
    nodeid: str

    @property
    def sign(self) -> str:
        return SIGNS[self.outcome]


@dataclass(frozen=True, slots=True)
class GroupView:
    """The criteria of one dimension, failing first."""

    id: str
    title: str
    share: Bar | None
    counts: str
    items: tuple[ItemView, ...]


@dataclass(frozen=True, slots=True)
class FindingView:
    """One finding, or (`number` None) what is asked of the run as a whole."""

    anchor: str
    number: int | None
    title: str
    score: Bar | None
    groups: tuple[GroupView, ...]
    left_out: tuple[str, ...] = ()
    more_left_out: str = ""

    @property
    def items(self) -> tuple[ItemView, ...]:
        return tuple(item for group in self.groups for item in group.items)


@dataclass(frozen=True, slots=True)
class RunHead:
    """What the overview says of a run."""

    anchor: str
    system: str
    task: str
    repeat: int
    label: str
    state: str
    score: Bar | None
    counts: dict[Outcome, int]
    href: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One run with all its findings."""

    head: RunHead
    title: str
    terms: tuple[tuple[str, str], ...]
    about: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    dimensions: tuple[tuple[str, Bar], ...]
    report: Markup | None
    report_name: str
    report_more: str
    findings: tuple[FindingView, ...]

    @property
    def items(self) -> tuple[ItemView, ...]:
        return tuple(item for finding in self.findings for item in finding.items)


@dataclass(frozen=True, slots=True)
class ItemHead:
    """What the overview says of a criterion of one finding: enough to find it and to go there."""

    href: str
    run: str
    finding_number: int | None
    criterion: str
    number: str
    title: str
    dimension: str
    outcome: Outcome
    lost: float
    change: Change
    was: str
    reason: str

    @property
    def sign(self) -> str:
        return SIGNS[self.outcome]

    @property
    def word(self) -> str:
        return WORDS[self.outcome]

    @property
    def finding(self) -> str:
        return f"Finding {self.finding_number}" if self.finding_number is not None else "the run"


@dataclass(frozen=True, slots=True)
class SystemView:
    """One system: its score, the score of each task, its share of each dimension, and what it cost."""

    name: str
    score: Bar
    tasks: int
    points: tuple[tuple[str, Bar, str], ...]
    dimensions: tuple[Bar | None, ...]
    costs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CriterionView:
    """One criterion of the rubric: how often each outcome came up, for each system."""

    id: str
    number: str
    title: str
    counts: tuple[dict[Outcome, int], ...]


@dataclass(frozen=True, slots=True)
class GateView:
    """A gate's decision in its own sentence."""

    outcome: str
    sentence: str
    details: tuple[str, ...] = ()
    more: str = ""


@dataclass(frozen=True, slots=True)
class CohortView:
    """The overview."""

    title: str
    facts: tuple[tuple[str, str], ...]
    decision: GateView | None
    gates: tuple[GateView, ...]
    incomplete: str
    systems: tuple[SystemView, ...]
    tasks: tuple[str, ...]
    grid: dict[tuple[str, str], tuple[RunHead, ...]]
    dimensions: tuple[tuple[str, str], ...]
    criteria: tuple[CriterionView, ...]
    costliest: tuple[ItemHead, ...]
    failing: int
    baseline: str
    changes: dict[str, tuple[ItemHead, ...]]
    change_counts: dict[str, int]
    open_reasons: tuple[tuple[int, str], ...]
    more_reasons: str
    notes: tuple[str, ...]
    cost_head: tuple[str, ...]
    runs: tuple[RunHead, ...] = ()
    counts: dict[Outcome, int] = field(default_factory=dict)
