"""From verdicts to what is shown of them: level, reason, conditions, citations, facts, votes, change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ...scoring.interval import format_fraction
from ...scoring.profiles import exact
from ...text import counted
from ..words import Words
from .changes import RunChanges
from .conditions import text_of
from .facts import facts_of, outcome_of, votes_of, warnings_of
from .passages import Passages
from .views import OUTCOMES, WORDS, Bar, Change, GroupView, ItemView, Outcome

if TYPE_CHECKING:
    from ...models import Criterion, Verdict
    from ...scoring import Interval

MAX_REASON = 1200
MAX_QUESTION = 600
_NEXT: dict[Outcome, Outcome] = {"zero": "half", "half": "full"}
_BEST_FIRST: tuple[Outcome, ...] = ("full", "half", "zero", "open", "error")


@dataclass(frozen=True)
class ItemMaker:
    """Makes the items of one run.

    criteria: those of all rubrics and the user's own, by id. counted: ids of those that the score is made of.
    passages: None where the run can't be read.
    """

    anchor: str
    nodeid: str
    pointer: str
    criteria: Mapping[str, Criterion]
    counted: frozenset[str]
    passages: Passages | None
    changes: RunChanges | None
    words: Words

    def item(self, verdict: Verdict, finding: str | None, position: int, place: str) -> ItemView:
        """One verdict. `place` is where its finding stands in the JSON file, `position` where it stands in that."""
        criterion = self.criteria.get(verdict.criterion_id)
        outcome = outcome_of(verdict.level, verdict.is_error)
        facts = verdict.receipt.facts if verdict.receipt is not None else {}
        passages, more_passages = self.passages.of(verdict.citations) if self.passages is not None else ((), "")
        change, was = self._change(verdict, finding)
        points, lost = self._points(criterion, verdict.level)
        return ItemView(
            anchor=f"{self.anchor}--{finding or 'run'}--{verdict.criterion_id}",
            number=(criterion.number or "") if criterion is not None else "",
            criterion=verdict.criterion_id,
            title=(criterion.title or criterion.id) if criterion is not None else verdict.criterion_id,
            dimension=criterion.dimension if criterion is not None else "",
            outcome=outcome,
            word=_word(verdict, outcome),
            points=points,
            lost=lost,
            question=self.words.text(criterion.question, MAX_QUESTION) if criterion is not None else "",
            reason=self.words.text(verdict.reason, MAX_REASON),
            decided_by=self._decided_by(verdict),
            met=_met(criterion, outcome),
            next=_next(criterion, outcome),
            gain=f"+{short(exact(criterion.weight) / 2)} points" if criterion is not None and lost else "",
            passages=passages,
            more_passages=more_passages,
            facts=facts_of(facts, self.words),
            votes=votes_of(verdict, self.words),
            warnings=warnings_of(facts, self.words),
            change=change,
            was=was,
            pointer=f"{place}.criteria[{position}]",
            nodeid=f"{self.nodeid}::{finding or 'run'}::{verdict.criterion_id}",
        )

    def _change(self, verdict: Verdict, finding: str | None) -> tuple[Change, str]:
        if self.changes is None:
            return "same", ""
        return self.changes.of(finding, verdict.criterion_id, verdict.level)

    def _points(self, criterion: Criterion | None, level: float | None) -> tuple[str, float]:
        if criterion is None or criterion.id not in self.counted:
            return "beside the score", 0.0
        weight = exact(criterion.weight)
        if level is None:
            return f"? of {short(weight)}", 0.0
        earned = weight * exact(level)
        return f"{short(earned)} of {short(weight)}", float(max(weight, Fraction(0)) - earned)

    def _decided_by(self, verdict: Verdict) -> str:
        if verdict.judge is not None:
            return f"Judge {self.words.line(verdict.judge.label, 120)}"
        source = verdict.receipt.source if verdict.receipt is not None else ""
        kind, _, name = source.partition(":")
        if kind == "check":
            return f"Code (check {self.words.line(name, 120)})"
        return "Code of your own" if kind == "criterion" else "No answer"


def _met(criterion: Criterion | None, outcome: Outcome) -> Outcome | None:
    return outcome if criterion is not None and text_of(criterion, outcome) else None


def _next(criterion: Criterion | None, outcome: Outcome) -> Outcome | None:
    """The next level up. Where a criterion counts against the score, nothing is to be raised."""
    above = _NEXT.get(outcome)
    if criterion is None or above is None or criterion.weight < 0:
        return None
    return above if text_of(criterion, above) else None


def short(number: Fraction) -> str:
    """With one decimal at most, without a needless one."""
    return format_fraction(number, 1).removesuffix(".0")


def _word(verdict: Verdict, outcome: Outcome) -> str:
    return verdict.status.replace("_", " ") if outcome in ("open", "error") else WORDS[outcome]


def bar(interval: Interval, scale: int = 1, digits: int = 1, unit: str = "") -> Bar:
    """An interval of points, or of a share times 100."""
    scaled = interval.scaled(Fraction(scale))
    return Bar(float(round(scaled.low, 3)), float(round(scaled.high, 3)), scaled.show(digits).replace("..", "–") + unit)


def groups(
    items: Sequence[ItemView], dimensions: Sequence[tuple[str, str]], shares: Mapping[str, Interval]
) -> tuple[GroupView, ...]:
    """The items by dimension, in the rubric's order; in each the failing ones first, the dearest of them first."""
    titles = dict(dimensions) | {i.dimension: i.dimension for i in items if i.dimension not in dict(dimensions)}
    found = []
    for id, title in titles.items():
        mine = sorted((i for i in items if i.dimension == id), key=lambda i: (OUTCOMES.index(i.outcome), -i.lost))
        if mine:
            share = bar(shares[id], 100, 0, " %") if id in shares else None
            found.append(GroupView(id, title or "Others", share, _counts(mine), tuple(mine)))
    return tuple(found)


def _counts(items: Sequence[ItemView]) -> str:
    """How criteria came out, best first: "8 criteria: 4 met, 3 half, 1 not assessed"."""
    counts = Counter(item.outcome for item in items)
    told = ", ".join(f"{counts[outcome]} {WORDS[outcome]}" for outcome in _BEST_FIRST if counts[outcome])
    return f"{counted(len(items), 'criterion', 'criteria')}: {told}"
