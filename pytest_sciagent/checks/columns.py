"""What a column, a key or a short label means, told from its words: `slope_lo`, `p97.5`, `rule_fixed_at_utc`.

Only names of columns and keys and cells of tables are read here, never prose.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

Uncertainty = Literal["interval", "se", "sd", "variance"]

MAX_LABEL = 80
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[a-zµ]+|\d+(?:\.\d+)?")


def words(name: str) -> tuple[str, ...]:
    """The lower-case words and numbers of a name: `slopeStd_lo95` gives slope, std, lo, 95."""
    return _words(name[:300])


@lru_cache(32768)  # every check asks after the same names, and after each in several ways
def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(_CAMEL.sub(" ", name).lower()))


def vocabulary(text: str) -> frozenset[str]:
    """The words of `text`, as a set to compare names with."""
    return frozenset(text.split())


# ---- uncertainty

_KINDS: dict[str, Uncertainty] = {
    **dict.fromkeys(vocabulary("se sem stderr stderror bse"), "se"),
    **dict.fromkeys(vocabulary("sd std stdev stddev sigma mad iqr"), "sd"),
    **dict.fromkeys(vocabulary("variance var"), "variance"),
    **dict.fromkeys(vocabulary("ci cri uncertainty unc moe yerr xerr errorbar credint confint"), "interval"),
}
_PHRASES: dict[tuple[str, str], Uncertainty] = {
    ("std", "err"): "se",
    ("std", "error"): "se",
    ("standard", "error"): "se",
    ("standard", "deviation"): "sd",
    ("error", "bar"): "interval",
    ("error", "bars"): "interval",
    ("margin", "error"): "interval",
    ("confidence", "interval"): "interval",
    ("credible", "interval"): "interval",
    ("prediction", "interval"): "interval",
    ("conf", "int"): "interval",
}
# Words that make a spread something else: a share of variance, a threshold in sigmas, a test, a count.
_NO_UNCERTAINTY = vocabulary(
    "explained share fraction proportion component components inflation clip clipping threshold cutoff ratio"
    " permutations level count coverage test column columns needed id name"
)
# Ranges and spreads of what chance alone gives say nothing about the quantity.
_NULLS = vocabulary("null perm permuted permutation sur surr surrogate surrogates shuffled sim simulated control")
_HIGH = {"lo": "hi", "low": "high", "lower": "upper", "lwr": "upr", "lb": "ub", "lcl": "ucl", "ll": "ul", "cil": "ciu"}
_SAYS_INTERVAL = vocabulary("ci cri conf confidence credible bound limit interval hdi bootstrap boot")
_UNITS = vocabulary(
    "pct percent mm cm m km g kg s ms min h y yr years ppm k ev hz pa v mv a j w mol au deg c f limit bound"
)
_RESAMPLED = vocabulary("boot bootstrap welch")
_PERCENT_AFTER = re.compile(
    r"^(.*?)(?<![a-z])(?:p|q|pct|pctl|perc|percentile|quantile|hdi|eti)[ _.]?(\d{1,3}(?:[._]\d+)?)%?$"
)
_PERCENT_BEFORE = re.compile(r"^(.*?)[_ .\[(]?(\d{1,2}(?:[._]\d+)?)\s*(?:%|pct|percent|th)$")
_PERCENT_BARE = re.compile(r"^(.*?)[_ .](\d{1,2}_5)$")
_FRACTION = re.compile(r"^()\[?(0?\.\d+)\]?$")


def uncertainty_kind(name: str) -> Uncertainty | None:
    """What uncertainty a column or key of this name holds, if it alone says so."""
    found = words(name)
    if not _NO_UNCERTAINTY.isdisjoint(found) or not _NULLS.isdisjoint(found):
        return None
    for pair in pairwise(found):
        if pair in _PHRASES:
            return _PHRASES[pair]
    return next((_KINDS[word] for word in found if word in _KINDS), None)


def is_interval_list(name: str, values: Sequence[float]) -> bool:
    """Whether a key holds limits as a list: `ci: [a, b]`, `boot_lo_med_hi: [a, b, c]`, `clock_95: [a, b]`."""
    found = set(words(name))
    if not 2 <= len(values) <= 4 or not _NO_UNCERTAINTY.isdisjoint(found) or not _NULLS.isdisjoint(found):
        return False
    if uncertainty_kind(name) == "interval" or any({low, high} <= found for low, high in _HIGH.items()):
        return True
    if {"2.5", "97.5"} <= found or "_2.5_" in name:
        return True
    level = not found.isdisjoint(("90", "95", "99"))
    return len(values) == 2 and values[0] <= values[1] and (level or not found.isdisjoint(_RESAMPLED))


def percentile(name: str) -> tuple[str, float] | None:
    """The stem and the percentage of a percentile's name: `p97.5`, `q025`, `sur_2_5`, `2.5%`, `[0.025`."""
    text = name.strip().lower()
    for pattern in (_PERCENT_AFTER, _PERCENT_BARE, _PERCENT_BEFORE, _FRACTION):
        match = pattern.match(text)
        if match:
            digits = match[2].replace("_", ".")
            value = float(digits)
            if pattern is _FRACTION:
                value *= 100
            elif len(digits) == 3 and digits.isdigit():
                value /= 10
            return (match[1].rstrip("_ ."), value) if 0 <= value <= 100 else None
    return None


def bounds(names: Iterable[str]) -> list[tuple[str, str, bool]]:
    """Pairs of columns or keys that hold a lower and an upper limit; whether their names leave no doubt.

    Names in doubt, such as `lo` and `hi`, may be the edges of a bin: the caller checks the values.
    """
    listed = [name for name in names if _NULLS.isdisjoint(words(name))]
    pairs = []
    # By stem and hundredths of a per cent, so that the other limit is found without a search.
    by_percent = {(p[0], round(p[1] * 100)): name for name in listed if (p := percentile(name)) is not None}
    for (stem, value), name in by_percent.items():
        if value < 5_000:
            other = by_percent.get((stem, 10_000 - value))
            if other is not None:
                pairs.append((name, other, True))
    by_words = {words(name): name for name in listed}
    for found, name in by_words.items():
        for at, word in enumerate(found):
            upper = by_words.get((*found[:at], _HIGH.get(word, ""), *found[at + 1 :]))
            if upper is None or not _NO_UNCERTAINTY.isdisjoint(found):
                continue
            certain = not _SAYS_INTERVAL.isdisjoint(found)
            rest = [w for w in found[at + 1 :] if not w[0].isdigit() and w not in _UNITS]
            if certain or not rest:
                pairs.append((name, upper, certain))
    return pairs


def errors_of(names: Collection[str]) -> list[str]:
    """Columns that hold the error of another column: `slope_err` beside `slope`."""
    by_words = {words(name): name for name in names}
    return [name for found, name in by_words.items() if found[-1:] in (("err",), ("error",)) and found[:-1] in by_words]


# ---- seeds and runs

_RUN_WORDS = vocabulary("id index no nr number idx key name label")
_SEED_WORDS = vocabulary("seed seeds random rng global numpy np torch master base init model split state by per run")
_DRAWS = vocabulary(
    "boot bootstrap draw draws perm permutation permuted resample resampled null surrogate surrogates shuffle shuffled"
    " iteration iterations simulation simulated"
)


def is_run_id(name: str) -> bool:
    """Whether a column or key names the seed or the complete pipeline run that a result belongs to."""
    rest = {word for word in words(name) if word not in _RUN_WORDS}
    if not rest.isdisjoint(("seed", "seeds")):
        return rest <= _SEED_WORDS
    return not rest.isdisjoint(("run", "rerun")) and rest <= vocabulary("run rerun full pipeline replicate")


def is_draw(name: str) -> bool:
    """Whether a name speaks of draws within one run: bootstrap samples, permutations, surrogates."""
    return not _DRAWS.isdisjoint(words(name))


_BOOKKEEPING = vocabulary("unnamed column index idx time times timestamp date datetime elapsed runtime")
_OF_TIMES = vocabulary("s ms sec secs second seconds min minutes h utc iso at wall run total start end")


def is_bookkeeping(name: str) -> bool:
    """Whether a column or key has no name, numbers the rows, or tells a time of the run: it is no result of it."""
    found = {word for word in words(name) if not word[0].isdigit()}
    return not name.strip() or (found <= _BOOKKEEPING | _OF_TIMES and not found.isdisjoint(_BOOKKEEPING))


# ---- changed samples

_LEFT_OUT = vocabulary(
    "loo loocv logo lobo loso lopo jackknife jackknifed leaveout leftout subsample subsamples subsampled"
)
_LEFT_OUT |= vocabulary("subsampling downsample downsampled downsampling undersampled rarefied thinned")
_DROPS = vocabulary(
    "drop dropped dropping without exclude excluded excluding excl omit omitted omitting removed removing"
)
_DROPPABLE_NOT = vocabulary(
    "height size volume velocity diameter time rate pressure voltage temperature temp current in intercept trend"
    " correction adjustment covariate covariates weights weighting normalisation normalization smoothing outlier"
)
_SCORES = vocabulary("rmse mse mae score acc accuracy auc cv ic elpd r2 q2 skill loss error err deviance correct")
_NEGATIONS = vocabulary("no not none never without_any planned todo future")
_LEFT_OUT_COLUMNS = vocabulary("dropped excluded omitted removed heldout")
_UNITS_LEFT_OUT = vocabulary("unit group id site subject block batch cycle year sample case label name index fold")
_CLEANED = vocabulary(
    "row rows samples cases missing na nan nans outliers column columns points duplicates records observations"
    " participants subjects units n count percent fraction share"
)


def sample_change(label: str) -> Literal["strong", "weak"] | None:
    """Whether a short label names a changed sample. `weak` words (drop, without, only) need code that does it."""
    found = words(label)
    known = set(found)
    if len(label) > MAX_LABEL or is_count(label) or not known.isdisjoint(_NEGATIONS | _DRAWS):
        return None
    if ({"leave", "out"} <= known or {"left", "out"} <= known) or not _LEFT_OUT.isdisjoint(known):
        return "strong"
    if {"sample", "fraction"} <= known or {"jack", "knife"} <= known:
        return "strong"
    for at, word in enumerate(found):
        if word in _DROPS and found[at + 1 : at + 2] and found[at + 1] not in _DROPPABLE_NOT | _CLEANED:
            return "weak"
    is_part = found[-1:] == ("only",) and len(found) > 1 and found[-2] not in _DROPPABLE_NOT
    return "weak" if is_part else None


def is_score(name: str) -> bool:
    """Whether a name speaks of a score of prediction: a cross-validated error is no estimate on a changed sample."""
    return not _SCORES.isdisjoint(words(name))


def is_left_out_column(name: str) -> bool:
    """Whether a column names the unit that each row's result was calculated without."""
    found = words(name)
    known = set(found)
    if is_score(name) or is_count(name):
        return False
    if {"held", "out"} <= known or {"left", "out"} <= known or {"leave", "out"} <= known:
        return True
    if not _LEFT_OUT.isdisjoint(known) or not _LEFT_OUT_COLUMNS.isdisjoint(known):
        return known <= _LEFT_OUT | _LEFT_OUT_COLUMNS | _UNITS_LEFT_OUT
    return found in (("test", "block"), ("test", "unit"), ("test", "group"), ("drop",))


def is_whole(label: str) -> bool:
    """Whether a label stands for the whole sample, as against parts of it in the same column."""
    return words(label)[:1] in (("all",), ("full",), ("whole",), ("overall",), ("total",), ("everything",))


def is_count(name: str) -> bool:
    """Whether a column counts the cases behind each row."""
    found = words(name)
    return found[:1] == ("n",) or found in (("count",), ("nobs",), ("size",), ("cases",), ("sample", "size"))


# ---- methods and settings

_METHODS = vocabulary(
    "method methods estimator model models solver algorithm variant variants spec specification config configuration"
    " threshold thresholds cutoff normalisation normalization scaling transform transformation kernel"
    " bandwidth smoothing smoother detrend detrending medfilt window halfwidth weights weighting knot knots"
    " binwidth bins nbins penalty regularisation regularization imputation prior link optimizer adjustment approach"
)
_ESTIMATORS = vocabulary(
    "ols wls gls gam glm lasso ridge elasticnet huber theil sen ransac spearman pearson kendall trimmed"
    " winsorised winsorized bayesian mle reml gee loess lowess sma rma deming ttest welch wilcoxon hac naive constant"
    " linear quadratic cubic exponential logistic logit probit loglog log sqrt rank raw smoothed unsmoothed spline"
    " splines segmented hinge piecewise polynomial ar arima forest boosting svm knn mlp robust weighted unweighted"
    " harmonic harmonics detrended detrending normalised normalized standardised standardized untransformed smooth"
    " bandwidth kernel window threshold estimator method medians firstorder hill sine template persistence climatology"
)
_NOT_SETTINGS = vocabulary(
    "rmse mse mae error err p skill n count slope r r2 score value bic aic loglik estimate diff difference gain sd se"
    " id mean fit fitted predicted prediction"
)
_ASSERTS = vocabulary(
    "why note notes comment comments description reading reason explanation remark remarks caveat text"
)
_ASSERTS |= vocabulary("interpretation message summary details statement rule")


def is_setting_column(name: str) -> bool:
    """Whether a column names the method or setting that each row's result was calculated with."""
    found = words(name)
    if len(found) == 1 and found[0] in ("width", "coord", "coordinate", "half"):
        return True
    return not _METHODS.isdisjoint(found) and _NOT_SETTINGS.isdisjoint(found)


def method_words(label: str) -> frozenset[str]:
    """The estimators, transforms and settings that a short label names."""
    if len(label) > MAX_LABEL:
        return frozenset()
    return _ESTIMATORS.intersection(words(label))


def without_method(label: str) -> tuple[str, ...]:
    """The words of a label besides those that name a method: what was calculated by it."""
    return tuple(w for w in words(label) if w not in _ESTIMATORS and not w[0].isdigit())


def is_prose_column(name: str) -> bool:
    """Whether a column holds remarks: its cells are words about results, not labels of results."""
    return not _ASSERTS.isdisjoint(words(name))
