"""Target matches: the judge names the finding and what agrees in words; numbers are compared by code."""

from __future__ import annotations

from collections.abc import Mapping

from ..evidence.citations import comparable
from ..evidence.numbers import extract_numbers
from ..models import Card, Finding, Quantity
from .run_answers import StatedValue, TargetAnswer


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


def core_quantities_hold(match: TargetAnswer, card: Card, finding: Finding) -> bool:
    """Whether the finding states every core quantity of the card, each within its tolerance; False if there is none."""
    core = [q for q in card.quantities if q.role == "core"]
    return bool(core) and all(
        any(_holds(value, quantity, finding) for value in match.values if value.key == quantity.key)
        for quantity in core
    )


def _holds(stated: StatedValue, quantity: Quantity, finding: Finding) -> bool:
    if comparable(stated.quote) not in comparable(finding.section.text):
        return False
    written = [n for n in extract_numbers(stated.quote) if abs(n.value - stated.value) <= n.half_width]
    if not written:
        return False
    converted = convert(stated.value, stated.unit, quantity.unit)
    return converted is not None and quantity.tolerance.accepts(converted, quantity.value)


def convert(value: float, unit: str, target: str) -> float | None:
    """`value` in unit `target`, or None where the units can't be converted. A percentage is a hundredth."""
    if unit.strip() == target.strip():
        return value
    import pint

    registry: pint.UnitRegistry[float] = pint.application_registry.get()  # type: ignore[no-untyped-call]
    try:
        return float(registry.Quantity(value, _unit(unit)).to(_unit(target)).magnitude)
    except Exception:  # pint raises its own errors, tokenizer errors and more for a unit it can't read
        return None


def _unit(text: str) -> str:
    plain = text.strip().replace("%", "percent").replace(" per ", "/")
    return "dimensionless" if plain in {"", "1", "-"} else plain
