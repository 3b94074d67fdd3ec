"""Criteria 1.5 and 1.6: what the task's data say about a finding's numbers bounds what a judge may give."""

from __future__ import annotations

from pydantic import JsonValue

from ..text import counted
from .base import NOT_RECALCULATED, CheckContext, CheckResult, decided, waiting

UNCONFIRMED_MOST = 0.5
"""Without a number confirmed from the task's data a judge's reading alone earns no full level."""


def directional_recompute(context: CheckContext) -> CheckResult:
    """1.5: a refuted core number decides 0; full credit needs a core number that the task's data confirm."""
    return _bounded(context, ("core",), "core")


def other_quantity_recompute(context: CheckContext) -> CheckResult:
    """1.6: a refuted number decides 0; full credit needs a number that the task's data confirm."""
    return _bounded(context, ("core", "supporting"), "stated")


def _bounded(context: CheckContext, roles: tuple[str, ...], word: str) -> CheckResult:
    found = context.recomputation
    if found is None:
        facts: dict[str, JsonValue] = {"recalculated": [], "note": "the task's data are not known here"}
        return CheckResult("facts", "the task is not known", "task_unknown", facts=facts, at_most=UNCONFIRMED_MOST)
    # A rerun bounds the level but is not shown: whether the user asked for it must not change what judges are asked.
    numbers: list[JsonValue] = [n.facts() for n in found.numbers if n.source != "rerun"]
    facts = {"recalculated": numbers}
    refuted = [n for role in roles for n in found.of(role, "refuted")]
    if refuted:
        worst = refuted[0]
        reason = f"the task's data refute the {word} number {worst.asserted}: {worst.detail}"
        return decided(0.0, reason, "refuted", facts)
    if not found.known:
        return waiting(NOT_RECALCULATED)
    confirmed = [n for role in roles for n in found.of(role, "confirmed")]
    if not numbers:
        facts["note"] = "no number of this finding could be recalculated from the task's data by the operations at hand"
    reason = f"{counted(len(confirmed), 'number')} confirmed from the task's data"
    return CheckResult("facts", reason, "recalculated", facts=facts, at_most=1.0 if confirmed else UNCONFIRMED_MOST)
