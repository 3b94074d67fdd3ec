"""Numbers of a finding, recalculated from the task's data: confirmed, refuted, or neither.

Two sources: the verification script of a reference card that the finding matches, and recompute plans from the closed
list. A difference that rounding, a unit, or the order of two groups explains is never a refutation.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from ..evidence.citations import comparable
from ..evidence.directions import SIGNS, falling, lessening
from ..evidence.numbers import Asserted, extract_numbers
from ..models import Card, Finding
from ..models.plan import TWO_GROUPS, RecomputePlan
from ..tasks import Task
from ..text import one_line
from .plans import PlanFailed, run_plan

Outcome = Literal["confirmed", "differs", "refuted", "failed"]
_SOURCES = {
    "card": "task verification code",
    "plan": "operation on the task data",
    "rerun": "the run's own code, run again on the task data",
}
REFUTED_SHARE = 0.1
"""A number is refuted only if it is off by more than this share of the recalculated value."""
REFUTED_WIDTHS = 10
"""... and by more than this many half-units of its last digit."""
SCALES = (10.0, 100.0, 1000.0, 1e6, 1e9, 3.6, 7.0, 12.0, 24.0, 30.4375, 52.1775, 57.29578, 60.0, 365.25, 3600.0)
"""Factors between units; a difference of one of them is a difference of units."""
SCALE_SLACK = 0.02


@dataclass(frozen=True, slots=True)
class Recalculated:
    """One number of a finding and what the task's data say.

    source: `plan`, `card` or `rerun`. asserted: as written. value: recalculated, in the number's unit, or None.
    """

    role: Literal["core", "supporting"]
    source: Literal["plan", "card", "rerun"]
    quote: str
    asserted: str
    outcome: Outcome
    value: float | None
    detail: str

    def facts(self) -> dict[str, JsonValue]:
        """For receipts and prompts. A card's own value is hidden from judges, so only a plan's is shown."""
        shown: dict[str, JsonValue] = {
            "role": self.role,
            "source": _SOURCES[self.source],
            "asserted": self.asserted,
            "quote": self.quote[:300],
            "outcome": self.outcome,
            "detail": self.detail,
        }
        if self.source == "plan" and self.value is not None:
            shown["recalculated"] = float(f"{self.value:.6g}")
        return shown


@dataclass(frozen=True)
class Recomputation:
    """All that was recalculated for one finding. `known` is False while nobody has said what could be."""

    numbers: tuple[Recalculated, ...]
    known: bool

    def of(self, role: str, *outcomes: str) -> list[Recalculated]:
        return [n for n in self.numbers if n.role == role and n.outcome in outcomes]

    @property
    def supports(self) -> bool:
        """A core number is confirmed by the task's data and none is refuted."""
        return bool(self.of("core", "confirmed")) and not self.of("core", "refuted")

    @property
    def refuted(self) -> bool | None:
        """Whether a core number is refuted; None while not known."""
        if self.of("core", "refuted"):
            return True
        return False if self.known else None


def compare(number: Asserted, value: float, comparison: str = "equals", *, either_sign: bool = False) -> Outcome:
    """What the recalculated `value` says about an asserted number, at the precision its digits claim.

    either_sign: the order of two groups is a convention (a and b, or b and a), so that the other one is told but not
    punished. A number written without a sign may have it in words ("falls by 2"): then its size alone can refute.
    """
    said = _says(number, value, comparison)
    others = [100 * value] if number.percent else []
    in_words = comparison not in {"positive", "negative"} and number.text[0] not in SIGNS
    if either_sign or (number.value * value < 0 and in_words):
        others += [-value, 1 / value if value else value]
    if said == "refuted" and any(_says(number, other, comparison) != "refuted" for other in others):
        return "differs"
    return said


def _says(number: Asserted, value: float, comparison: str) -> Outcome:
    if comparison in {"positive", "negative"}:
        return "confirmed" if (value > 0) == (comparison == "positive") and value != 0 else "refuted"
    gap = abs(value - number.value)
    near = gap <= max(REFUTED_WIDTHS * number.half_width, REFUTED_SHARE * abs(value)) or _same_but_unit(number, value)
    if comparison == "equals":
        holds = gap <= number.half_width * (1 + 1e-9)
    else:
        slack = number.half_width
        holds = value > number.value - slack if comparison == "greater_than" else value < number.value + slack
    return "confirmed" if holds else "differs" if near else "refuted"


def _same_but_unit(number: Asserted, value: float) -> bool:
    """Whether the two agree closely once a unit's factor is taken off."""
    if not value:
        return False
    ratio = number.value / value
    grown = 100 * (value - 1)
    if number.percent and grown and abs(number.value / grown - 1) < SCALE_SLACK:
        return True  # "25 % larger" is a ratio of 1.25
    return any(abs(ratio * factor - 1) < SCALE_SLACK for scale in SCALES for factor in (scale, 1 / scale))


def from_plans(plans: Iterable[RecomputePlan], finding: Finding, task: Task) -> list[Recalculated]:
    """Carry out the plans for a finding. A plan whose quote or number does not stand in the finding is told as failed.

    Where several plans are about one number, a confirmation outweighs a refutation: one of them meant it differently.
    """
    section = comparable(finding.section.text)
    files = [f.path for f in task.manifest.files]
    results = [_one_plan(plan, section, task, files) for plan in plans]
    confirmed = {(r.quote, r.asserted, r.role) for r in results if r.outcome == "confirmed"}
    return [r for r in results if not (r.outcome == "refuted" and (r.quote, r.asserted, r.role) in confirmed)]


def _one_plan(plan: RecomputePlan, section: str, task: Task, files: Sequence[str]) -> Recalculated:
    def result(outcome: Outcome, detail: str, value: float | None = None) -> Recalculated:
        return Recalculated(plan.role, "plan", plan.quote, plan.asserted, outcome, value, detail)

    if comparable(plan.quote) not in section:
        return result("failed", "the quote does not stand in the finding")
    number = find_number(plan.asserted, plan.quote)
    if number is None:
        return result("failed", "the number does not stand in the quote")
    try:
        value, rows = run_plan(plan, task.data_dir, files)
    except PlanFailed as error:
        return result("failed", str(error))
    except Exception as error:  # data of any shape, and a plan that nobody has tried before
        return result("failed", one_line(f"{type(error).__name__}: {error}", 200))
    value *= 100 if number.percent and plan.operation == "proportion" else 1
    outcome = compare(number, value, plan.comparison, either_sign=plan.operation in TWO_GROUPS)
    turned = outcome == "differs" and number.text[0] not in SIGNS and _says(number, -value, "equals") == "confirmed"
    detail = f"{describe(plan)} over {rows} rows{'; the same size with the opposite sign' if turned else ''}"
    return result(outcome, detail, value)


def find_number(asserted: str, quote: str) -> Asserted | None:
    """The number written as `asserted` in `quote`, or None."""
    wanted = extract_numbers(_unmarked(asserted))
    if len(wanted) != 1:
        return None
    return next((n for n in extract_numbers(_unmarked(quote)) if n.value == wanted[0].value), None)


def _unmarked(text: str) -> str:
    """`text` without the marks of Markdown and HTML that may stand around a number."""
    return html.unescape(text).replace("`", "").replace("*", "").replace("\\", "")


def describe(plan: RecomputePlan) -> str:
    """A plan in words, for receipts."""
    names = f"{plan.y} on {plan.x}" if plan.x is not None else plan.value or "rows"
    parts = [f"{plan.operation} of {names} in {plan.file}"]
    if plan.group_by is not None:
        parts.append(f"{plan.group_by}: {plan.group_a} against {plan.group_b}")
    if plan.within:
        parts.append(f"within {', '.join(plan.within)}")
    if plan.filters:
        parts.append("where " + " and ".join(f"{f.column} {f.comparison} {f.value}" for f in plan.filters))
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class StatedQuantity:
    """A number of a finding that answers a quantity of a reference card, in the card's unit."""

    key: str
    quote: str
    asserted: str
    value: float


def from_card(card: Card, stated: Sequence[StatedQuantity], recomputed: Mapping[str, float]) -> list[Recalculated]:
    """The stated quantities of a matched card against what its verification script finds in the task's data."""
    results = []
    for quantity in card.quantities:
        value = recomputed.get(quantity.key)
        for number in stated:
            if number.key != quantity.key or value is None:
                continue
            outcome: Outcome = "differs"
            detail = "outside the tolerance of the task"
            if quantity.tolerance.accepts(number.value, value):
                outcome, detail = "confirmed", "within the tolerance of the task"
            elif quantity.tolerance.accepts(-number.value, value) and _sign_in_words(number):
                detail = "within the tolerance of the task but for its sign, which stands in words"
            elif number.value * value < 0 and quantity.role == "core":
                outcome = "refuted"
            results.append(Recalculated(quantity.role, "card", number.quote, number.asserted, outcome, value, detail))
    return results


def _sign_in_words(number: StatedQuantity) -> bool:
    """Whether the quote writes a positive number without a sign, and says that it is one of falling."""
    written = find_number(number.asserted, number.quote)
    if written is None or written.value <= 0 or written.text[0] in SIGNS:
        return False
    text = _unmarked(number.quote)
    return falling(text, written.start) is not None or lessening(text, written.end)
