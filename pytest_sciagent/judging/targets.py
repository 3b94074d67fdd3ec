"""Target matches: the judge names the finding and what agrees in words; numbers are compared by code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..evidence.citations import comparable
from ..evidence.numbers import extract_numbers
from ..evidence.units import factor
from ..models import Card, Finding
from .run_answers import TargetAnswer


def target_level(match: TargetAnswer, card: Card, findings: Mapping[str, Finding]) -> float:
    """The level of one reference card (TruthInsightBench, target coverage).

    1: object, scope, direction and every core quantity agree. 0.5: the object agrees, and the direction or the core
    quantities do. Else 0. A number counts only if it stands in the finding's own section and lies within the card's
    tolerance.
    """
    if match.finding is None or not match.object:
        return 0.0
    core = core_quantities_hold(match, card, findings[match.finding])
    if match.scope and match.direction and core:
        return 1.0
    return 0.5 if match.direction or core else 0.0


_PERCENT = re.compile(r"%|per ?cent", re.IGNORECASE)
_PURE = frozenset({"", "1", "-", "dimensionless"})


@dataclass(frozen=True, slots=True)
class Stated:
    """A number that stands in a finding and answers a card's quantity; `value` in the card's unit."""

    key: str
    quote: str
    asserted: str
    value: float


def stated_quantities(match: TargetAnswer, card: Card, finding: Finding) -> list[Stated]:
    """What the finding really states of the card's quantities: the quote stands in its own section, the number in the
    quote, and its unit can be converted."""
    section = comparable(finding.section.text)
    by_key = {q.key: q for q in card.quantities}
    found = []
    for value in match.values:
        quantity = by_key.get(value.key)
        if quantity is None or comparable(value.quote) not in section:
            continue
        written = next((n for n in extract_numbers(value.quote) if n.value == value.value), None)
        converted = convert(written.value, value.unit, quantity.unit) if written is not None else None
        if written is not None and converted is not None:
            found.append(Stated(value.key, value.quote, written.text, converted))
    return found


def core_quantities_hold(match: TargetAnswer, card: Card, finding: Finding) -> bool:
    """Whether the finding states every core quantity of the card, each within its tolerance; False if there is none."""
    stated = stated_quantities(match, card, finding)
    core = [q for q in card.quantities if q.role == "core"]
    return bool(core) and all(
        any(s.key == q.key and q.tolerance.accepts(s.value, q.value) for s in stated) for q in core
    )


def convert(value: float, unit: str, target: str) -> float | None:
    """`value` in unit `target`, or None where the units can't be converted. A percentage is a hundredth."""
    if unit.strip() == target.strip():
        return value
    times = 1.0
    names = []
    for name, exponent in ((unit, 1), (target, -1)):
        plain = name.strip().replace(" per ", "/")
        if _PERCENT.fullmatch(plain):
            times *= 0.01**exponent
        names.append("" if plain in _PURE or _PERCENT.fullmatch(plain) or _is_ratio(plain) else plain)
    if "" in names:
        return value * times if names[0] == names[1] else None
    found = factor(*names)
    return None if found is None else value * found


def _is_ratio(unit: str) -> bool:
    """Whether a unit cancels itself, such as mm/mm."""
    above, stroke, below = unit.partition("/")
    return bool(stroke) and above.strip() == below.strip()
