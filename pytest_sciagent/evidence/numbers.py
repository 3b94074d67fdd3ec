"""Numbers in a report: each quantity it asserts, with sign, unit, percent and the precision its digits claim."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise

from .prose import DASHES, Role, is_label, is_level, is_year, mask, range_between, within_dates
from .units import unit_after

MAX_TEXT = 10_000_000
MAX_NUMBERS = 50_000

_SPACES = "\u00a0\u2009\u202f"
_GROUPED = rf"[1-9][0-9]{{0,2}}(?:[,{_SPACES}][0-9]{{3}})+(?![0-9])(?:\.[0-9]{{1,30}})?"
_PLAIN = r"[0-9]{1,30}(?:\.[0-9]{1,30})?|\.[0-9]{1,30}"
_POWER = r"10(?:\^\{?[-−+]?[0-9]{1,3}\}?|\*\*[-+]?[0-9]{1,3}|[⁺⁻]?[⁰¹²³⁴-⁹]{1,3})"
_TIMES = rf"[ {_SPACES}]?(?:[×x·*]|\\times|\\cdot)[ {_SPACES}]?"
_NUMBER = re.compile(
    rf"(?<![\w^.])(?:(?P<power>{_POWER})"
    rf"|(?P<mantissa>{_GROUPED}|{_PLAIN})(?P<spread>\([0-9]{{1,3}}\))?"
    rf"(?:[eE](?P<e>[-−+]?[0-9]{{1,3}})(?!\w)|{_TIMES}(?P<times>{_POWER}))?)(?![0-9^])"
)
_NOT_DIGITS = re.compile(rf"[,{_SPACES}]")
_EXPONENT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-", "^*{}")
_PERCENT = re.compile(rf"[ {_SPACES}]?(?:\\?%|per ?cent\b)")
_OPENERS = frozenset("([{=<>≤≥~≈±,;:|/*$\"'“‘×+&\0")
_SPACED_OPENERS = frozenset("([{=<>≤≥~≈±,;:|")
_COMPARATOR = re.compile(r"(?<![-=])([<>]=?|[≤≥≈~∼≲≳])\s*$")
_QUOTE_MARK = re.compile(r"(?:^|\n)[ \t]*>[> \t]*$")
_SPREAD = re.compile(r"(?:±|\+/-|\+-|\\pm|\b(?:SE|SEM|s\.e\.|standard errors?)(?: of|:| =|=)?)\s*$")
_WINDOW = 48


@dataclass(frozen=True, slots=True)
class Asserted:
    """One number of a text.

    Attributes:
        text: as written, with its sign; the text from offset `start` to `end`.
        value: with its power of ten; a percentage stays a percentage (80 % is 80).
        decimals: digits after the point, as written.
        digits: significant digits; zeros that end a whole number are not.
        half_width: half a unit of the last digit written, in units of `value`: what rounding may hide.
        unit: the unit after it, as written ("ppm/yr per decade", "%"); None if none is known.
        role: `value`; an end of a range; an `uncertainty`; a `date` (also a bare year); an `identifier`
            ("Finding 1", the 95 of "95% CI").
        comparator: a sign such as `<` or `~` in front of it.
    """

    text: str
    start: int
    end: int
    value: float
    decimals: int
    digits: int
    half_width: float
    unit: str | None = None
    percent: bool = False
    role: Role = "value"
    comparator: str | None = None

    @property
    def weak(self) -> bool:
        """Whether a match says little: most numbers of one or two digits are found in the tables of any other study."""
        return self.digits <= 2


@dataclass(slots=True)
class _Token:
    """A number and where what belongs to it ends."""

    number: Asserted
    tail: int


def extract_numbers(text: str) -> list[Asserted]:
    """The numbers of `text` (Markdown), in order. Code, links, paths, versions, list numbers, citations such as [3]
    and digits within names (g1, AR2) are not looked at; nor is anything past 10 million characters or 50,000 numbers.
    """
    return list(_extracted(text))


@lru_cache(4)  # the evidence package, the trace and the recalculation each ask for those of one finding
def _extracted(text: str) -> tuple[Asserted, ...]:
    text = text[:MAX_TEXT]
    masked, dates = mask(text)
    tokens = list(islice(_tokens(masked), MAX_NUMBERS))
    _join_ranges(tokens, masked)
    numbers = [replace(token.number, text=text[token.number.start : token.number.end]) for token in tokens]
    numbers += [
        Asserted(text[start:end], start, end, float(year), 0, 4, 0.5, role="date") for start, end, year in dates
    ]
    return tuple(sorted(numbers, key=lambda number: number.start))


def _tokens(masked: str) -> Iterator[_Token]:
    tail = 0
    for match in _NUMBER.finditer(masked):
        if match.start() < tail:
            continue
        token = _token(masked, match, tail)
        if token is None:
            continue
        tail = token.tail
        yield token
        spread = match["spread"]
        if spread:
            yield _Token(_spread(token.number, spread, match.start("spread")), tail)


def _token(masked: str, match: re.Match[str], previous_tail: int) -> _Token | None:
    """The number that `match` found; None where the digits are part of a name."""
    negative, start = _sign(masked, match.start(), match.end(), previous_tail)
    if start is None:
        return None
    power = match["power"] or match["times"]
    exponent = int(power[2:].translate(_EXPONENT)) if power else int((match["e"] or "0").translate(_EXPONENT))
    mantissa = "1" if match["power"] else _NOT_DIGITS.sub("", match["mantissa"])
    value = float(f"{mantissa}e{exponent}")
    if not math.isfinite(value):
        return None
    decimals = len(mantissa.partition(".")[2])
    end = match.end("spread") if match["spread"] and not match["e"] and not match["times"] else match.end()
    percent, unit, tail = _unit(masked, end)
    if unit == "s" and tail == end + 1 and is_year(value, "", ""):
        unit = None  # the 1990s
    if _continues_as_name(masked, end, tail):
        return None
    before = masked[max(start - _WINDOW, 0) : start]
    comparator = None if _QUOTE_MARK.search(before) else _COMPARATOR.search(before)
    number = Asserted(
        match[0],
        start,
        match.start("spread") if match["spread"] else end,
        -value if negative else value,
        decimals,
        _digits(mantissa),
        float(f"0.5e{exponent - decimals}"),
        unit,
        percent,
        comparator=comparator[1] if comparator else None,
    )
    whole = match["mantissa"] is not None and match["mantissa"].isdigit() and not exponent
    return _Token(replace(number, role=_role(masked, number, before, tail, whole)), tail)


def _digits(mantissa: str) -> int:
    significant = mantissa.replace(".", "").lstrip("0")
    return len(significant if "." in mantissa else significant.rstrip("0")) or 1


def _role(masked: str, number: Asserted, before: str, tail: int, whole: bool) -> Role:
    after = masked[tail : tail + _WINDOW]
    if _SPREAD.search(before):
        return "uncertainty"
    if number.percent and is_level(number.value, before, after):
        return "identifier"
    if number.unit is None and is_label(before, masked[number.start : number.end]):
        return "identifier"
    if whole and number.unit is None and is_year(number.value, before, after):
        return "date"
    return "value"


def _sign(masked: str, start: int, end: int, previous_tail: int) -> tuple[bool, int | None]:
    """Whether the number at `start` is negative, and where it begins; None as start: it belongs to a name (lag-1)."""
    before, outer = masked[start - 1 : start], masked[max(start - 2, 0) : max(start - 1, 0)]
    if before == "+" and not outer.isalnum():
        return False, start if outer == "+" else start - 1
    if before and before in DASHES:
        if not outer or outer.isspace() or outer in _OPENERS or outer in DASHES:
            return True, start - 1
        if outer.isalpha() and previous_tail != start - 1 and not is_year(_integer(masked, start), "", ""):
            return False, None
        return False, start
    if before and before in " \u00a0\u2009\u202f" and outer and outer in DASHES:
        window = masked[max(start - 2 - _WINDOW, 0) : start - 2]
        left = window.rstrip(" \t")[-1:]
        if left in _SPACED_OPENERS and left:
            return True, start - 2
        if left in ("", "\n"):
            return (True, start - 2) if outer == "−" or _alone(masked, end) else (False, start)
        if outer == "−" and not left.isdigit() and left not in "%)]" and previous_tail < start - 3:
            return True, start - 2
    return False, start


def _integer(masked: str, start: int) -> float:
    found = re.compile("[0-9]{4}(?![0-9])").match(masked, start)
    return float(found[0]) if found else 0.0


def _alone(masked: str, end: int) -> bool:
    """Whether nothing but white space follows on the line: then a dash in front is a sign, not a bullet."""
    return not masked[end : (masked.find("\n", end) + 1 or len(masked) + 1) - 1].strip()


def _unit(masked: str, end: int) -> tuple[bool, str | None, int]:
    """Percent, unit, and the end of both."""
    percent = _PERCENT.match(masked, end)
    if percent is None:
        found = unit_after(masked, end)
        return (False, *found) if found else (False, None, end)
    rate = unit_after(masked, percent.end())
    if rate and rate[0].startswith(("per ", "/")):
        return True, f"%{'' if rate[0].startswith('/') else ' '}{rate[0]}", rate[1]
    return True, "%", percent.end()


def _continues_as_name(masked: str, end: int, tail: int) -> bool:
    """Whether letters follow at once that are no unit: 3D, 2nd, 1990s. A factor (2.5x) is a number."""
    following = masked[end : end + 2]
    if tail > end or not following or not (following[0].isalpha() or following[0] == "_"):
        return False
    return not (following[0] in "x×" and not following[1:].isalnum())


def _spread(number: Asserted, spread: str, position: int) -> Asserted:
    """The uncertainty in 3.1(2): 0.2."""
    unit = 2 * number.half_width
    return replace(
        number,
        start=position + 1,
        end=position + len(spread) - 1,
        value=int(spread[1:-1]) * unit,
        digits=len(spread) - 2,
        role="uncertainty",
        comparator=None,
    )


def _join_ranges(tokens: list[_Token], masked: str) -> None:
    """Give both ends of a range their roles and one unit; ranges of years are dates."""
    for low, high in pairwise(tokens):
        a, b = low.number, high.number
        if a.role not in ("value", "date", "identifier") or b.role not in ("value", "date"):
            continue
        if a.role == "identifier":
            continues_label = a.unit is None and re.fullmatch(r"\s*(?:,|and|&|to|[-–])\s*", masked[low.tail : b.start])
            if continues_label and b.decimals == a.decimals and b.unit is None:
                high.number = replace(b, role="identifier")
            continue
        found = range_between(masked, a.start, low.tail, b.start, high.tail)
        if found is None:
            continue
        dashed = found == "dash" and b.unit is None and b.decimals == 0
        if within_dates(a.value, b.value, a.role == "date", b.role == "date", dashed):
            low.number, high.number = replace(a, role="date"), replace(b, role="date")
            continue
        if "date" in (a.role, b.role) or (found in ("spaced", "round") and not _matching(a, b)):
            continue
        if a.unit is None:
            a = replace(a, unit=b.unit, percent=b.percent)
        ascending = a.value <= b.value
        low.number = replace(a, role="range_low" if ascending else "range_high")
        high.number = replace(b, role="range_high" if ascending else "range_low")


def _matching(a: Asserted, b: Asserted) -> bool:
    """Whether two numbers look like the ends of one interval: ascending, and alike in their digits."""
    return a.value < b.value and (a.decimals == b.decimals or min(a.decimals, b.decimals) > 0)
