"""How far two raters, or several, agree on ordered scores: every measure is a function of one table of counts.

Intervals come from a bootstrap over whole runs, since what is said about one run hangs together. Measures that the data
leave open (nobody varies, nothing to compare) are None.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .base import DECIMALS, share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

LEAST_RUNS = 5
"""With fewer runs a bootstrap over them tells too narrow an interval, so there is none."""
BOOTSTRAPS = 1000
_CELLS_AT_ONCE = 4_000_000
_LEAST_DEFINED = 0.9

Pair = tuple[Hashable, float, float]
"""What is resampled together (a run), the first rater's score, the second's."""
Triple = tuple[Hashable, float, float, float]
"""What is resampled together (a run), the score that is believed, the score before a change, the score after."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure with its percentile interval; None where the data leave it open."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Agreement of a second rater with a first, over `n` pairs of scores in `runs` runs.

    exact: share of equal scores. kappa: Cohen's, with quadratic weights of the distance of scores. bias: mean of second
    minus first, and mae the mean distance, in units of the scale. macro_f1: mean over `levels` of the F1 of the second,
    where the first gave at most three levels. confusion: counts, a row for each level of the first rater.
    """

    n: int
    runs: int
    exact: Estimate
    kappa: Estimate
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    bias: Estimate
    mae: float | None
    macro_f1: float | None
    levels: tuple[float, ...]
    confusion: tuple[tuple[int, ...], ...]
    reason: str | None = None


def rater_agreement(
    pairs: Sequence[Pair], *, bootstraps: int = BOOTSTRAPS, seed: int = 0, confidence: float = 0.95
) -> RaterAgreement:
    """Measure how a second rater agrees with a first.

    Weighted kappa after Cohen (1968), Kendall's tau-b (1945), Spearman by mean ranks; tables as in Agresti (2010).

    Raises:
        ValueError: a confidence outside 0..1.
    """
    import numpy as np

    share("confidence", confidence)
    if not pairs:
        open_ = Estimate(None)
        nothing = "there is no pair of scores"
        return RaterAgreement(0, 0, open_, open_, open_, open_, open_, open_, None, None, (), (), nothing)
    rounded = [(run, round(first, DECIMALS), round(second, DECIMALS)) for run, first, second in pairs]
    levels = sorted({score for _, *scores in rounded for score in scores})
    at = {level: n for n, level in enumerate(levels)}
    rows: dict[Hashable, Array] = {}
    for run, first, second in rounded:
        rows.setdefault(run, np.zeros((len(levels), len(levels))))[at[first], at[second]] += 1
    tables = [rows[run] for run in sorted(rows, key=str)]
    values = np.array(levels)
    measures: tuple[Callable[[Array], Array], ...] = (
        _exact,
        lambda t: _kappa(t, values),
        lambda t: _pearson(t, values, values),
        _spearman,
        _kendall,
        lambda t: _bias(t, values),
    )
    whole = np.sum(tables, axis=0)
    exact, kappa, pearson, spearman, kendall, bias = _estimates(tables, measures, bootstraps, seed, confidence)
    return RaterAgreement(
        len(pairs),
        len(rows),
        exact,
        kappa,
        pearson,
        spearman,
        kendall,
        bias,
        mae=float(np.sum(whole * np.abs(values[:, None] - values[None, :])) / len(pairs)),
        macro_f1=_macro_f1(whole),
        levels=tuple(levels),
        confusion=tuple(tuple(int(count) for count in row) for row in whole),
        reason=_few(len(rows)),
    )


@dataclass(frozen=True, slots=True)
class KappaGain:
    """Weighted kappa of two raters with the same first one, on the same `n` things in `runs` runs, and `gain`, the
    second's less the first's: its interval is that of the paired difference."""

    n: int
    runs: int
    before: Estimate
    after: Estimate
    gain: Estimate
    reason: str | None = None


def kappa_gain(
    triples: Sequence[Triple],
    *,
    bootstraps: int = BOOTSTRAPS,
    seed: int = 0,
    confidence: float = 0.95,
) -> KappaGain:
    """How much better a rater agrees after a change than before it.

    Each bootstrap draw takes both from the same runs, so that what runs have in common cancels.

    Raises:
        ValueError: a confidence outside 0..1.
    """
    import numpy as np

    share("confidence", confidence)
    if not triples:
        open_ = Estimate(None)
        return KappaGain(0, 0, open_, open_, open_, "there is no thing that both have scored")
    scores = [tuple(round(score, DECIMALS) for score in (a, b, c)) for _, a, b, c in triples]
    levels = sorted({score for said in scores for score in said})
    at = {level: n for n, level in enumerate(levels)}
    rows: dict[Hashable, Array] = {}
    for (run, *_), (given, before, after) in zip(triples, scores, strict=True):
        tables = rows.setdefault(run, np.zeros((2, len(levels), len(levels))))
        tables[0, at[given], at[before]] += 1
        tables[1, at[given], at[after]] += 1
    values = np.array(levels)
    measures: tuple[Callable[[Array], Array], ...] = (
        lambda t: _kappa(t[..., 0, :, :], values),
        lambda t: _kappa(t[..., 1, :, :], values),
        lambda t: _kappa(t[..., 1, :, :], values) - _kappa(t[..., 0, :, :], values),
    )
    tables_by_run = [rows[run] for run in sorted(rows, key=str)]
    before_, after_, gain = _estimates(tables_by_run, measures, bootstraps, seed, confidence)
    return KappaGain(len(triples), len(rows), before_, after_, gain, _few(len(rows)))


def krippendorff_alpha(
    units: Iterable[tuple[Hashable, Sequence[float]]],
    *,
    bootstraps: int = BOOTSTRAPS,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """Krippendorff's alpha for ordinal scores (Krippendorff 2019, chapter 12), of any number of raters.

    units: for each thing judged, its run and the scores it got. A thing with one score compares nothing.

    Raises:
        ValueError: a confidence outside 0..1.
    """
    import numpy as np

    share("confidence", confidence)
    useful = [(run, [round(score, DECIMALS) for score in scores]) for run, scores in units if len(scores) > 1]
    if not useful:
        return Estimate(None)
    levels = sorted({score for _, scores in useful for score in scores})
    at = {level: n for n, level in enumerate(levels)}
    by_run: dict[Hashable, Array] = {}
    for run, scores in useful:
        counts = np.bincount([at[score] for score in scores], minlength=len(levels)).astype(float)
        table = by_run.setdefault(run, np.zeros((len(levels), len(levels))))
        table += (np.outer(counts, counts) - np.diag(counts)) / (len(scores) - 1)
    tables = [by_run[run] for run in sorted(by_run, key=str)]
    return _estimates(tables, (_alpha,), bootstraps, seed, confidence)[0]


def prevalence(scores: Sequence[float]) -> Mapping[float, float]:
    """The share of each score that was given."""
    rounded = [round(score, DECIMALS) for score in scores]
    return {level: rounded.count(level) / len(rounded) for level in sorted(set(rounded))}


# ---- measures of tables: an array whose last two axes are the levels of the first and of the second rater


def _exact(tables: Array) -> Array:
    import numpy as np

    return _divided(np.trace(tables, axis1=-2, axis2=-1), tables.sum((-2, -1)))


def _kappa(tables: Array, values: Array) -> Array:
    import numpy as np

    weights = (values[:, None] - values[None, :]) ** 2
    n = tables.sum((-2, -1))
    expected = np.einsum("...i,...j,ij->...", tables.sum(-1), tables.sum(-2), weights)
    return 1 - _divided(n * np.sum(tables * weights, axis=(-2, -1)), expected)


def _pearson(tables: Array, first: Array, second: Array) -> Array:
    """Of scores by level; `first` and `second` may differ from table to table (ranks)."""
    import numpy as np

    n = tables.sum((-2, -1))
    of_first, of_second = tables.sum(-1), tables.sum(-2)
    x = first - _divided(np.sum(of_first * first, axis=-1), n)[..., None]
    y = second - _divided(np.sum(of_second * second, axis=-1), n)[..., None]
    together = np.einsum("...ij,...i,...j->...", tables, x, y)
    squares = np.sum(of_first * x**2, axis=-1), np.sum(of_second * y**2, axis=-1)
    # what never varies has a sum of squares of rounding noise only
    least = 1e-12 * np.maximum(n, 1)
    with np.errstate(invalid="ignore"):
        varies = (squares[0] > least) & (squares[1] > least)
        found = _divided(together, np.sqrt(squares[0] * squares[1]))
    return np.where(varies, np.clip(found, -1, 1), np.nan)


def _spearman(tables: Array) -> Array:
    return _pearson(tables, _mean_ranks(tables.sum(-1)), _mean_ranks(tables.sum(-2)))


def _mean_ranks(counts: Array) -> Array:
    import numpy as np

    return np.cumsum(counts, axis=-1) - (counts - 1) / 2


def _kendall(tables: Array) -> Array:
    import numpy as np

    below = np.zeros_like(tables)  # how many pairs lie in later rows and later columns
    below[..., :-1, :-1] = np.flip(np.cumsum(np.cumsum(np.flip(tables, (-2, -1)), -2), -1), (-2, -1))[..., 1:, 1:]
    beside = np.zeros_like(tables)  # in later rows and earlier columns
    beside[..., :-1, 1:] = np.flip(np.cumsum(np.cumsum(np.flip(tables, -2), -2), -1), -2)[..., 1:, :-1]
    n = tables.sum((-2, -1))
    free = [n * (n - 1) - np.sum(side * (side - 1), axis=-1) for side in (tables.sum(-1), tables.sum(-2))]
    return _divided(2 * np.sum(tables * (below - beside), axis=(-2, -1)), np.sqrt(free[0] * free[1]))


def _bias(tables: Array, values: Array) -> Array:
    import numpy as np

    return _divided(np.sum(tables * (values[None, :] - values[:, None]), axis=(-2, -1)), tables.sum((-2, -1)))


def _alpha(tables: Array) -> Array:
    """Of coincidences: two levels are as far apart as there are scores between their middles, counted."""
    import numpy as np

    counts = tables.sum(-1)
    middles = np.cumsum(counts, axis=-1) - counts / 2
    distances = (middles[..., :, None] - middles[..., None, :]) ** 2
    expected = np.einsum("...i,...j,...ij->...", counts, counts, distances)
    return 1 - _divided((counts.sum(-1) - 1) * np.sum(tables * distances, axis=(-2, -1)), expected)


def _macro_f1(table: Array) -> float | None:
    given = table.sum(1) > 0
    if not 2 <= given.sum() <= 3:
        return None
    hits = table.diagonal()[given]
    return float((2 * hits / (table.sum(1)[given] + table.sum(0)[given])).mean())


def _divided(numerator: Array, denominator: Array) -> Array:
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)


# ---- intervals


def _few(runs: int) -> str | None:
    return None if runs >= LEAST_RUNS else f"{runs} run{'' if runs == 1 else 's'}: too few for intervals"


def _estimates(
    tables: Sequence[Array],
    measures: Sequence[Callable[[Array], Array]],
    bootstraps: int,
    seed: int,
    confidence: float,
) -> list[Estimate]:
    """Each measure of the sum of the runs' `tables`, with its percentile interval over runs drawn with replacement."""
    import numpy as np

    whole = np.sum(tables, axis=0)
    points = [float(measure(whole)) for measure in measures]
    runs = len(tables)
    if runs < LEAST_RUNS or bootstraps < 1:
        return [Estimate(_known(point)) for point in points]
    drawn = np.random.default_rng(seed).multinomial(runs, [1 / runs] * runs, size=bootstraps).astype(float)
    flat = np.stack([table.ravel() for table in tables])
    block = max(1, _CELLS_AT_ONCE // flat.shape[1])
    found: list[list[Array]] = [[] for _ in measures]
    for start in range(0, bootstraps, block):
        some = (drawn[start : start + block] @ flat).reshape(-1, *whole.shape)
        for values, measure in zip(found, measures, strict=True):
            values.append(measure(some))
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    return [_estimate(point, np.concatenate(values), ends) for point, values in zip(points, found, strict=True)]


def _estimate(point: float, drawn: Array, ends: Sequence[float]) -> Estimate:
    import numpy as np

    defined = drawn[~np.isnan(drawn)]
    if _known(point) is None or len(defined) < _LEAST_DEFINED * len(drawn):
        return Estimate(_known(point))
    low, high = np.quantile(defined, ends)
    return Estimate(point, float(low), float(high))


def _known(value: float) -> float | None:
    return None if value != value else value
