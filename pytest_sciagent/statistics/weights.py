"""How far a ranking depends on the weights of the dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .base import DECIMALS
from .ranking import Order, order_of

Rates = Mapping[str, Mapping[str, float]]
"""By system, the share of points reached in each dimension (0..1)."""


@dataclass(frozen=True, slots=True)
class WeightSensitivity:
    """Orders of the systems under drawn weights. Shares are of all `draws`; ties count as an order of their own.

    orders: share of draws by order, most frequent first.
    published: the order under the published weights, and `holds` the share of draws that give it.
    first: share of draws in which a system leads alone.
    ahead: share of draws in which the first system of a pair is strictly ahead of the second.
    """

    draws: int
    concentration: float
    seed: int
    published: Order
    holds: float | None
    orders: Mapping[Order, float]
    first: Mapping[str, float]
    ahead: Mapping[tuple[str, str], float]
    reason: str | None = None


def weight_sensitivity(
    rates: Rates,
    weights: Mapping[str, float],
    *,
    fixed: Mapping[str, float] | None = None,
    concentration: float = 100.0,
    draws: int = 10_000,
    seed: int = 0,
) -> WeightSensitivity:
    """Score every system as 100 times the weighted mean of its rates, under weights drawn around `weights`.

    Weights are drawn from a Dirichlet distribution with parameters concentration times weight over the sum of weights:
    their mean are the published ones, and a weight of share w varies with variance w (1 - w) / (concentration + 1); at
    100 a weight of 45 of 100 has a standard deviation of 5. `fixed` are points of a system that no weight touches
    (bonuses less penalty).

    Raises:
        ValueError: for a weight or concentration that is not above 0, or no draw.
    """
    if (
        not 0 < concentration < float("inf")
        or draws < 1
        or not weights
        or not all(0 < w < float("inf") for w in weights.values())
    ):
        raise ValueError("weights and concentration must be above 0, and there must be a draw")
    systems, dimensions = sorted(rates), sorted(weights)
    problem = _refusal(rates, weights, fixed)
    if problem:
        return WeightSensitivity(draws, concentration, seed, (), None, {}, {}, {}, problem)
    import numpy as np

    total = sum(weights.values())
    published = np.array([weights[d] / total for d in dimensions])
    drawn = np.random.default_rng(seed).dirichlet(concentration * published, draws)
    table = np.array([[rates[s][d] for d in dimensions] for s in systems])
    constant = np.array([(fixed or {}).get(s, 0.0) for s in systems])
    scores = (100 * np.vstack([published, drawn]) @ table.T + constant).round(DECIMALS)
    # How many systems are ahead of each: equal rows are equal orders, ties included.
    above = np.stack([(scores > scores[:, [n]]).sum(axis=1) for n in range(len(systems))], axis=1)
    patterns, counts = np.unique(above[1:], axis=0, return_counts=True)
    orders = {_order(systems, row): n / draws for row, n in zip(patterns.tolist(), counts.tolist(), strict=True)}
    base = _order(systems, above[0].tolist())
    ahead = np.stack([(scores[1:, [n]] > scores[1:]).mean(axis=0) for n in range(len(systems))]).tolist()
    return WeightSensitivity(
        draws,
        concentration,
        seed,
        base,
        orders.get(base, 0.0),
        dict(sorted(orders.items(), key=lambda item: (-item[1], item[0]))),
        {s: math.fsum(share for order, share in orders.items() if order[0] == (s,)) for s in systems},
        {(a, b): ahead[i][j] for i, a in enumerate(systems) for j, b in enumerate(systems) if i != j},
        "one system has no order" if len(systems) == 1 else None,
    )


def _order(systems: Sequence[str], above: Sequence[int]) -> Order:
    """The order of systems, of each of which it is known how many are ahead."""
    return order_of({system: float(-n) for system, n in zip(systems, above, strict=True)})


def _refusal(rates: Rates, weights: Mapping[str, float], fixed: Mapping[str, float] | None) -> str | None:
    if not rates:
        return "no system"
    for system in sorted(rates):
        for dimension in sorted(weights):
            rate = rates[system].get(dimension)
            if rate is None or not 0 <= rate <= 1:
                return f"{system} has no rate within 0..1 for {dimension}"
    if any(not abs(points) <= 100 for points in (fixed or {}).values()):
        return "fixed points are not within -100..100"
    return None
