"""What a key, a column or a label says about separate sets, about times, and about decisions.

Only names of columns and keys and short labels are read here, never prose.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from .columns import uncertainty_kind, vocabulary, words

SetRole = Literal["form", "check"]
TimeRole = Literal["fixed", "opened", "final"]

# ---- separate sets

_FORM = vocabulary(
    "train training dev develop development formation forming discovery exploration exploratory calibration"
    " calib derivation insample"
)
_CHECK = vocabulary(
    "test testing tst val validation heldout holdout held hold aside confirmation confirmatory oos outofsample unseen"
)
_SHORT_FORM, _SHORT_CHECK = vocabulary("tr trn"), vocabulary("te ho kept kep")
"""Names that mean a set in code, beside one of the other set, and too much else in results."""
_SPLIT = vocabulary("split part set fold subset partition role phase half sample group stage span era kind")
_MEMBER = vocabulary(
    "sample subject patient participant person member unit record case row image observation obs animal specimen item"
    " document cell plot object event"
)
_LOOSE_IDS = _MEMBER | vocabulary("id ids uid index year date time start min block replicate site month week day")
_SET_WORDS = vocabulary(
    "set sets years year range period ids id depth dates from to rows span limits units unit seasons season data out"
    " kept"
)
_NO_MEMBERS = vocabulary("run model rule seed method experiment config claim finding test trial hypothesis criterion")
_OVERLAP = vocabulary("overlap overlaps overlapping intersection intersect disjoint")
_SHARED = vocabulary("shared common")
_COUNTED = vocabulary(
    "n count number size ids id members rows units cases samples subjects patients fraction share is are of"
)


@lru_cache(32768)  # asked for each word of each name
def set_role(name: str, in_code: bool = False) -> SetRole | None:
    """Whether a name is that of a set which forms a claim, or of one that checks it."""
    found = set(words(name))
    forms, checks = (_FORM | _SHORT_FORM, _CHECK | _SHORT_CHECK) if in_code else (_FORM, _CHECK)
    form, check = not forms.isdisjoint(found), not checks.isdisjoint(found)
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


_NOT_MEMBERS = vocabulary("column columns feature features variables covariates n count counts size sizes per ci cri")


def holds_members(parent: str) -> bool:
    """Whether lists of both sets below a key may be their members: not below `columns`, `n` or an uncertainty."""
    return _NOT_MEMBERS.isdisjoint(words(parent)) and uncertainty_kind(parent) is None


def is_overlap(name: str) -> bool:
    """Whether a key stores how many members two sets share, or that they share none."""
    found = set(words(name))
    rest = {word for word in found if set_role(word) is None} - _OVERLAP - _SHARED
    shared = not found.isdisjoint(_SHARED) and not found.isdisjoint(_COUNTED)
    return rest <= _COUNTED | _SET_WORDS and (shared or not found.isdisjoint(_OVERLAP))


# ---- times and decisions

_FINAL = vocabulary("final finalised finalized asserted report reported concluded")
_FIXED = vocabulary("fixed fix frozen froze freeze locked lock registered preregistered sealed committed declared")
_OPENED = vocabulary(
    "opened open unlocked unlock accessed access apply executed execute evaluated judged unblinded revealed validated"
)
# Words that also speak of the file itself.
_WEAK_FIXED, _WEAK_OPENED = vocabulary("written"), vocabulary("generated applied scored")
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
    if not _FIXED.isdisjoint(found):
        return "fixed"
    if not _WEAK_OPENED.isdisjoint(found):
        return "opened"
    return "fixed" if not _WEAK_FIXED.isdisjoint(found) else None


def is_weak_time(name: str) -> bool:
    """Whether a time has its role from a weak word only, which counts where no strong word is present."""
    return set(words(name)).isdisjoint(_FINAL | _FIXED | _OPENED)


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
