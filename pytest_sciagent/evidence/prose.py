"""What stands around a number in prose: code and links, dates, labels, confidence levels, ranges."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

Role = Literal["value", "range_low", "range_high", "uncertainty", "date", "identifier"]
DASHES = "-−–—‑"
_FILL = "\0"
_RANGE = Literal["dash", "spaced", "word", "square", "round"]

_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}|2100")
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?"
)
_DATE = re.compile(
    r"(?<![\w.-])(?:1[0-9]|20|21)[0-9]{2}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[-+][0-9]{2}:?[0-9]{2})?)?)?(?![\w-]|\.[0-9])"
    rf"|(?<![\w.])[0-9]{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:,?\s[0-9]{{4}}(?!\w))?"
    rf"|\b{_MONTH}\s[0-9]{{1,2}}(?:st|nd|rd|th)?(?!\w|\.[0-9])(?:,?\s[0-9]{{4}}(?!\w))?"
    r"|(?<![\w./])[0-9]{1,2}[/.][0-9]{1,2}[/.](?:19|20)[0-9]{2}(?!\w)"
    r"|(?<![\w:.])[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?![\w:])"
)
_CODE = re.compile(
    r"^[ \t]*(?P<fence>`{3,20}|~{3,20})(?![`~])[^\n]*\n(?:.*?\n)??[ \t]*(?P=fence)[^\n]*$|(?<!`)(?P<ticks>`{1,8})(?!`)"
    r"(?:[^`\n]|\n(?!\s*\n)|(?!(?P=ticks)(?!`))`){1,2000}?(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
_TOKEN = re.compile(r"[\w./+~:@#%?=&-]{3,400}")
_LINK = re.compile(r"https?:|doi:|www\.|arxiv:|10\.[0-9]{4,9}/\S", re.IGNORECASE)
_PATH = re.compile(r"[./~]*[\w./+~-]*\.[A-Za-z][A-Za-z0-9]{0,7}[.:]?")
_VERSION = re.compile(r"(?<![\w.])v?[0-9]{1,6}(?:\.[0-9]{1,6}){2,}\w{0,20}")
_LIST_NUMBER = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]+[0-9]{1,2}(?:\.[0-9]{1,2})*\.?|[0-9]{1,2}[.)])(?=[ \t])", re.MULTILINE
)
_FRACTION = re.compile(r"(?<![\w./])[0-9]{1,6}/[0-9]{1,6}(?![\w/]|\.[0-9])")
_CHAIN = re.compile(r"(?<![\w.-])[0-9]{1,6}(?:-[0-9]{1,6}){2,}(?![\w-])")
_ARGUMENT = re.compile(r"(?<=[A-Za-z²])\([0-9]{1,4}(?:,\s?[0-9]{1,6})?\)")
_FACTOR = re.compile(r"(?<![\w.])x(?=[0-9]{1,9}\.[0-9])")
_TAG = re.compile(r"<[A-Za-z/!][^<>\n]{0,300}>")
_CITATION = re.compile(r"\[[0-9]{1,3}(?:\s?[,;–-]\s?[0-9]{1,3}){0,20}\]")
_BEFORE_INTERVAL = re.compile(
    r"(?:[0-9]\s?[%\w/²³^·]{0,12}|\b(?:CIs?|CrI|HDI|intervals?|ranges?|bounds?|limits?)|[=:,])\s*$"
)
_LABEL = re.compile(
    r"\b(?:findings?|tables?|fig(?:ure)?s?\.?|eq(?:uation)?s?\.?|sec(?:tion)?s?\.?|appendix|chapters?|steps?"
    r"|criteri(?:on|a)|items?|refs?\.?|references?|hypothes[ie]s|versions?|python|release|panels?|lines?|pages?"
    r"|no\.|seed)[ \u00a0]\(?#?$|#$",
    re.IGNORECASE,
)
_LABEL_NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,2})?")
_LEVELS = frozenset((50, 66, 67, 68, 68.3, 80, 90, 95, 97.5, 2.5, 99, 99.7, 99.9))
_LEVEL_AFTER = re.compile(
    r"\s?-?(?:[\w-]{1,20}\s){0,3}?\(?(?:CIs?|CrI|HDI|HPD|intervals?|confidence|credible|bootstraps?|ranges?|points?"
    r"|percentiles?|quantiles?|bounds?|limits?|bands?|regions?|uncertaint)\b",
    re.IGNORECASE,
)
_LEVEL_BEFORE = re.compile(r"(?:\b(?:bootstraps?|intervals?(?: are)?|confidence|CIs?|credible)|\()\s*$", re.IGNORECASE)
_LEVEL_VALUES = re.compile(r"\s*:?\s*[\[(]?[-−+]?[0-9.]")
_PREPOSITION = re.compile(
    r"\b(?:in|since|from|to|until|till|before|after|by|through|during|around|year|season|and|of|the)\s$", re.IGNORECASE
)
_COUNTED = re.compile(
    r"\s(?:[A-Za-z-]{2,20}\s)?(?:rows|records|samples|observations|points|cells|values|simulations|permutations"
    r"|surrogates|resamples|draws|replicates|iterations|individuals|patients|subjects|participants|genes|proteins"
    r"|sequences|stars|galaxies|events|images|files|trials|cases|measurements|shuffles|bootstraps)\b"
)
_EQUALS = re.compile(r"(?<!year)(?<!year )=\s*$")
_BETWEEN = re.compile(r"\bbetween\s+$", re.IGNORECASE)
_RANGE_WORD = re.compile(r"\s+(?:up\s)?to\s+")


def mask(text: str) -> tuple[str, list[tuple[int, int, int]]]:
    """`text` with everything that is no prose blanked out, at equal length, and its dates: start, end, year."""
    dates: list[tuple[int, int, int]] = []

    def date(match: re.Match[str]) -> bool:
        year = _YEAR.search(match[0])
        if year:
            dates.append((*match.span(), int(year[0])))
        return True

    masked = _blank(text.replace(_FILL, " "), _CODE, _always)
    masked = _blank(masked, _TAG, _always)
    masked = _blank(masked, _DATE, date)
    masked = _blank(masked, _TOKEN, _is_place)
    masked = _blank(masked, _CITATION, _is_citation)
    for pattern in (_VERSION, _LIST_NUMBER, _FRACTION, _CHAIN, _ARGUMENT, _FACTOR):
        masked = _blank(masked, pattern, _always)
    return masked, dates


def _blank(text: str, pattern: re.Pattern[str], where: Callable[[re.Match[str]], bool]) -> str:
    return pattern.sub(lambda match: _FILL * len(match[0]) if where(match) else match[0], text)


def _always(match: re.Match[str]) -> bool:
    return True


def _is_place(match: re.Match[str]) -> bool:
    """A link, or a file's name or path: `s2_fix.py`, `results/all.json`, but not `0.35` or `mm/yr`."""
    word = match[0]
    if _LINK.match(word):
        return True
    stem = word.rpartition(".")[0]
    return bool(_PATH.fullmatch(word)) and any(c.isalpha() or c == "_" for c in stem)


def _is_citation(match: re.Match[str]) -> bool:
    """[3] or [3, 4] after words is a citation; after a number, a unit or "CI" it is an interval."""
    before = match.string[max(match.start() - 24, 0) : match.start()]
    return "," not in match[0] or not _BEFORE_INTERVAL.search(before)


def is_label(before: str, number: str) -> bool:
    """Whether a number names something: Finding 1, Table 2, Python 3.11."""
    return bool(_LABEL_NUMBER.fullmatch(number) and _LABEL.search(before))


def is_level(value: float, before: str, after: str) -> bool:
    """Whether a percentage is the level of an interval, as in 95% CI or bootstrap 95%: 0.2 to 0.4."""
    if value not in _LEVELS:
        return False
    return bool(_LEVEL_AFTER.match(after) or (_LEVEL_BEFORE.search(before) and _LEVEL_VALUES.match(after)))


def is_year(value: float, before: str, after: str) -> bool:
    """Whether a whole number without a unit reads as a year: 1000 to 2100, and no count (n = 2000, 1500 rows)."""
    if not 1000 <= value <= 2100:
        return False
    counted = _COUNTED.match(after) and not _PREPOSITION.search(before)
    return not (counted or _EQUALS.search(before))


def within_dates(a: float, b: float, a_year: bool, b_year: bool, dashed: bool) -> bool:
    """Whether a range of whole numbers is one of years: 1700-1979, or 1976-81."""
    if a_year and b_year:
        return True
    return a_year and dashed and (1000 <= b <= 2100 or (10 <= b <= 99 and b > a % 100))


def range_between(masked: str, start: int, tail: int, following: int, end: int) -> _RANGE | None:
    """How the numbers at `start` and `following` form a range, if they do: 20-40, 0.2 – 0.4, 1 to 2, [1, 2], (1, 2)."""
    gap = masked[tail:following]
    if len(gap) > 12:
        return None
    dash = gap.strip(" \u00a0\u2009\u202f")
    if dash and len(dash) == 1 and dash in DASHES:
        return "dash" if len(gap) == 1 else "spaced"
    if _RANGE_WORD.fullmatch(gap):
        return "word"
    before, after = masked[max(start - 12, 0) : start], masked[end : end + 1]
    if gap.strip() in (",", ";"):
        if before[-1:] == "[" and after == "]":
            return "square"
        if before[-1:] == "(" and after == ")":
            return "round"
    if gap.strip() == "and" and _BETWEEN.search(before):
        return "word"
    return None
