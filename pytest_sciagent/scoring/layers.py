"""The two layers of acceptance: first executed and traceable, then tested. Shares of points, as intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from ..models import Criterion
from .interval import Interval
from .profiles import exact, score_finding

Layer = Literal["executed", "tested"]
LAYERS: Mapping[Layer, str] = {
    "executed": "executed and traceable",
    "tested": "tested",
}
EXECUTED = frozenset({"evidence.data_identity", "evidence.execution_receipt", "evidence.artifact_traceability"})
"""Criteria of the first layer."""
TESTED = frozenset({"robustness", "control_testing", "cross_dataset_generalization", "falsifiability"})
"""Dimensions of the second layer."""


def criteria_of(layer: Layer, criteria: Iterable[Criterion]) -> list[Criterion]:
    """The criteria of a finding that belong to a layer; none where a rubric has neither its ids nor its dimensions."""
    inside = [c for c in criteria if c.scope == "finding" and c.weight > 0]
    if layer == "executed":
        return [c for c in inside if c.id in EXECUTED]
    return [c for c in inside if c.dimension in TESTED]


def shares_by_layer(criteria: Sequence[Criterion], levels: Mapping[str, float | None]) -> dict[Layer, Interval]:
    """The share (0..1) of a finding's points in each layer that the criteria have."""
    shares: dict[Layer, Interval] = {}
    for layer in LAYERS:
        inside = criteria_of(layer, criteria)
        total = sum((exact(c.weight) for c in inside), start=Fraction(0))
        if total:
            shares[layer] = score_finding(inside, levels).score.scaled(1 / total)
    return shares
