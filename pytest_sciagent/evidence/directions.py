"""Amounts whose sign stands in words: "falls by 0.3" where a table holds -0.3."""

from __future__ import annotations

import re

SIGNS = frozenset("+-−–")
"""A number whose first character is one of these is written with its sign."""
_MARKUP = "*_ \t\n\u00a0(~≈=:"
_WINDOW = 80
_FALL = (
    r"(?:fall(?:s|ing|en)?|fell|drop(?:s|ped|ping)?|declin(?:e|es|ed|ing)|decreas(?:e|es|ed|ing)"
    r"|reduc(?:e|es|ed|ing|tion)|shr(?:ink|inks|inking|ank|unk)|s(?:ink|inks|inking|ank|unk)|down)"
)
_ABOUT = r"(?:\s(?:about|around|roughly|nearly|almost|only|at least))?"
_FALLING = re.compile(
    rf"\b(?:{_FALL}\s(?:by|of)(?:\s(?:an?|the)\s[\w-]{{1,20}}\sof)?{_ABOUT}"
    rf"|(?<!false\s)(?<!true\s)negative(?:\s[\w-]{{1,20}}){{0,2}}?(?:\s(?:of|is|was|by|at))?{_ABOUT}"
    rf"|minus)$",
    re.IGNORECASE,
)
_LESS = re.compile(r"(?:[\w%/²³^·-]{1,20}\s){0,3}?(?:below|lower|less|smaller|fewer)\b", re.IGNORECASE)


def falling(text: str, start: int) -> str | None:
    """The words in front of the amount at `start` that say that it is one of falling, or below zero, or None.

    "falls by" 0.3 and "a negative slope of" 0.3 stand for -0.3. "falls to" 0.3 does not.
    """
    found = _FALLING.search(text[max(start - _WINDOW, 0) : start].rstrip(_MARKUP))
    return " ".join(found[0].split()) if found else None


def lessening(text: str, end: int) -> bool:
    """Whether what follows an amount that ends at `end` says that one thing is so much below another: 0.3 mm lower."""
    return _LESS.match(text[end : end + _WINDOW].lstrip(_MARKUP + ")")) is not None
