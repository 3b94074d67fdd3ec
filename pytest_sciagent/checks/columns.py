"""What a column, a key or a short label means, told from its words: `slope_lo`, `p97.5`, `rule_fixed_at_utc`.

Only names of columns and keys and cells of tables are read here, never prose.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Literal

Uncertainty = Literal["interval", "se", "sd", "variance"]
SetRole = Literal["form", "check"]
TimeRole = Literal["fixed", "opened", "final"]

MAX_LABEL = 80
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[a-zµ]+|\d+(?:\.\d+)?")


def words(name: str) -> tuple[str, ...]:
    """The lower-case words and numbers of a name: `slopeStd_lo95` gives slope, std, lo, 95."""
    return tuple(_WORD.findall(_CAMEL.sub(" ", name[:300]).lower()))


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
_PERCENT_AFTER = re.compile(r"^(.*?)(?:p|q|pct|pctl|perc|percentile|quantile|hdi|eti)[ _.]?(\d{1,3}(?:[._]\d+)?)%?$")
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
    by_percent = {p: name for name in listed if (p := percentile(name)) is not None}
    for (stem, value), name in by_percent.items():
        if value < 50:
            other = next((n for (s, v), n in by_percent.items() if s == stem and abs(v - 100 + value) < 0.01), None)
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
_DRAWS = vocabulary(
    "boot bootstrap draw draws perm permutation permuted resample resampled null surrogate surrogates shuffle shuffled"
    " iteration iterations simulation simulated"
)


def is_run_id(name: str) -> bool:
    """Whether a column or key names the seed or the complete pipeline run that a result belongs to."""
    rest = [word for word in words(name) if word not in _RUN_WORDS]
    if "seed" in rest or "seeds" in rest:
        return len(rest) <= 3
    return (
        bool(rest)
        and set(rest) <= vocabulary("run full pipeline replicate rerun")
        and ("run" in rest or "rerun" in rest)
    )


def is_draw(name: str) -> bool:
    """Whether a name speaks of draws within one run: bootstrap samples, permutations, surrogates."""
    return not _DRAWS.isdisjoint(words(name))


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


def sample_change(label: str) -> Literal["strong", "weak"] | None:
    """Whether a short label names a changed sample. `weak` words (drop, without, only) need code that does it."""
    found = words(label)
    known = set(found)
    if len(label) > MAX_LABEL or not known.isdisjoint(_NEGATIONS) or not known.isdisjoint(_DRAWS):
        return None
    if ({"leave", "out"} <= known or {"left", "out"} <= known) or not _LEFT_OUT.isdisjoint(known):
        return "strong"
    if {"sample", "fraction"} <= known or {"jack", "knife"} <= known:
        return "strong"
    for at, word in enumerate(found):
        if word in _DROPS and found[at + 1 : at + 2] and found[at + 1] not in _DROPPABLE_NOT:
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
    if {"held", "out"} <= known or {"left", "out"} <= known or {"leave", "out"} <= known:
        return not is_score(name)
    if not _LEFT_OUT.isdisjoint(known) or not _LEFT_OUT_COLUMNS.isdisjoint(known):
        return len(found) <= 3 and not is_score(name)
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


# ---- separate sets

_FORM = vocabulary(
    "train training trn tr dev develop development formation forming discovery exploration exploratory calibration"
    " calib derivation insample"
)
_CHECK = vocabulary(
    "test testing te tst val validation heldout holdout held hold ho kept kep aside confirmation confirmatory oos"
    " outofsample unseen"
)
_SPLIT = vocabulary("split part set fold subset partition role phase half sample group stage span era kind")
_MEMBER = vocabulary(
    "sample subject patient participant person member unit record case row image observation obs animal specimen item"
    " document cell plot object event"
)
_LOOSE_IDS = _MEMBER | vocabulary("id ids uid index year date time start min block replicate site month week day")
_SET_WORDS = vocabulary(
    "set sets years year range period ids id depth dates from to rows span limits units unit seasons season data out"
)
_NO_MEMBERS = vocabulary("run model rule seed method experiment config claim finding test trial hypothesis criterion")
_OVERLAP = vocabulary("overlap overlaps overlapping intersection intersect shared common disjoint")


def set_role(name: str) -> SetRole | None:
    """Whether a name is that of a set which forms a claim, or of one that checks it."""
    found = set(words(name))
    form, check = not _FORM.isdisjoint(found), not _CHECK.isdisjoint(found)
    return None if form == check else "form" if form else "check"


def names_set(name: str) -> SetRole | None:
    """The set whose members a key lists or limits: `train`, `heldout_years`, not `slope_train`."""
    rest = [word for word in words(name) if set_role(word) is None and word not in _SET_WORDS]
    return None if rest else set_role(name)


def is_split_column(name: str) -> bool:
    """Whether a column says which set each row belongs to."""
    return not _SPLIT.isdisjoint(words(name))


def member_id(name: str) -> Literal["strict", "loose"] | None:
    """Whether a column or key names the members of a set.

    `strict`: it can name nothing else. `loose`: it may also name a group, so that a value in both sets shows nothing.
    """
    found = words(name)
    if not found or not _NO_MEMBERS.isdisjoint(found):
        return None
    rest = [word for word in found if set_role(word) is None]
    if rest in (["id"], ["ids"], ["uid"], ["members"]) or (rest[-1:] in (["id"], ["ids"]) and rest[0] in _MEMBER):
        return "strict"
    return "loose" if not _LOOSE_IDS.isdisjoint(found) else None


def is_overlap(name: str) -> bool:
    """Whether a key stores how many members two sets share, or that they share none."""
    return not _OVERLAP.isdisjoint(words(name))


# ---- times and decisions

_FINAL = vocabulary("final finalised finalized asserted report reported concluded")
_FIXED = vocabulary(
    "fixed fix frozen froze freeze locked lock registered preregistered sealed committed written declared"
)
_OPENED = vocabulary(
    "opened open unlocked unlock accessed access applied apply executed execute evaluated judged unblinded revealed"
    " scored validated generated"
)
_DECIDES = vocabulary("verdict verdicts decision decisions outcome outcomes conclusion")
_PASSES = vocabulary("pass passed passes supported confirmed rejected refuted replicated")
DECIDING = _DECIDES | _PASSES
_DECISIONS = re.compile(
    r"\b(?:support|confirm|reject|refut|fail|pass|narrow|unresolved|inconclusive|undecided|equivalent|not equivalent"
    r"|replicat|shrunk|revers|withdr|weaken|hold|break|kept|not kept|accept|falsif|direction only|sign only|not shown"
    r"|null|no gain|gain|partial|inform|estimable)",
    re.IGNORECASE,
)


def time_role(name: str) -> TimeRole | None:
    """What a recorded time is of: the rule or claim was fixed, the check was opened, the final claim was written."""
    found = set(words(name))
    if not _FINAL.isdisjoint(found):
        return "final"
    if not _OPENED.isdisjoint(found):
        return "opened"
    return "fixed" if not _FIXED.isdisjoint(found) else None


def is_decision(name: str, value: object) -> bool:
    """Whether a key or column with this value stores a decision that was reached, not the wording of a rule."""
    found = set(words(name))
    if isinstance(value, bool):
        return not found.isdisjoint(_PASSES | _DECIDES)
    if not isinstance(value, str) or not value.strip() or len(value) > 60 or re.search(r"[<>=]| if ", value):
        return False
    return not found.isdisjoint(_DECIDES) or _DECISIONS.match(value.strip()) is not None


# ---- labels of findings and rules

_FINDING_LABEL = re.compile(
    r"(?:f|finding|claim|discovery)[ _.#:-]{0,2}0*(\d{1,3})(?![\d.])(?=$|[ _:;,.()/-])", re.IGNORECASE
)
_F1_SCORE = re.compile(r"f1[ _-]?(?:score|scores|macro|micro|measure|weighted)", re.IGNORECASE)
_FINDING_COLUMN = re.compile(r"(?:finding|claim|discovery)s?(?:[ _]?(?:id|no|nr|number|label))?", re.IGNORECASE)
_RULE_LABEL = re.compile(
    r"(?:r|h|rule|hyp|hypothesis|test|prediction|pred)[ _-]?\d{1,2}[a-z]?(?=$|[ _:.-])", re.IGNORECASE
)


def finding_label(name: str) -> int | None:
    """The number of the finding that a key or cell is labelled with: `F2`, `finding_2`, `F2_amplitude`."""
    match = _FINDING_LABEL.match(name.strip())
    return None if match is None or _F1_SCORE.match(name.strip()) else int(match[1])


def is_finding_column(name: str) -> bool:
    """Whether a column says which finding each row belongs to."""
    return _FINDING_COLUMN.fullmatch(name.strip()) is not None


def rule_label(name: str) -> str | None:
    """The label of a decision rule at the start of a key or cell: `R1a`, `R2_level` gives R2."""
    match = _RULE_LABEL.match(name.strip())
    return None if match is None else match[0]
