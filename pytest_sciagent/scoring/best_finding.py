"""Profile `best-finding`: each criterion counts once, at the best level that a finding of the run has on it."""

from __future__ import annotations

from collections.abc import Iterable

from ..models import Criterion
from .interval import Interval
from .weighted import score_pairs


def score_best(pairs: Iterable[tuple[Criterion, float | None]]) -> Interval:
    """The weighted share of levels, where findings share the work: what one of them meets, the run meets.

    `pairs` are a criterion and its level for one finding (or for the run); None: not known, which leaves open whether
    that finding is better than the best one known.
    """
    criteria: dict[str, Criterion] = {}
    levels: dict[str, list[float | None]] = {}
    for criterion, level in pairs:
        criteria[criterion.id] = criterion
        levels.setdefault(criterion.id, []).append(level)
    worst = [(criteria[name], max(level or 0.0 for level in found)) for name, found in levels.items()]
    best = [
        (criteria[name], 1.0 if None in found else max(filter(None, found), default=0.0))
        for name, found in levels.items()
    ]
    ends = [score_pairs(worst), score_pairs(best)]
    return Interval(min(end.low for end in ends), max(end.high for end in ends))
