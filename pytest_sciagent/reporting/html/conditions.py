"""Criteria in full for people: the lettered parts of a condition each by itself."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from ..words import Words
from .views import CriterionText, Outcome, Part

if TYPE_CHECKING:
    from ...models import Criterion

MAX_TEXT = 2_500

_LETTER = re.compile(r"(?:^|(?<=\s))\(([a-z])\)\s+")
_LAST = re.compile(r"\.\s+(?=[A-Z])")


@cache
def parts_of(text: str) -> tuple[Part, ...]:
    """`All of these are true: (a) this; (b) that. And so on.` as its lead, its parts and its last words."""
    found = list(_LETTER.finditer(text))
    letters = [match[1] for match in found]
    wanted = [chr(ord("a") + n) for n in range(len(found))]
    if len(found) < 2 or letters != wanted:
        return (Part("", text),)
    starts = [match.end() for match in found]
    stops = [*(match.start() for match in found[1:]), len(text)]
    parts = [text[start:stop].strip() for start, stop in zip(starts, stops, strict=True)]
    end = _LAST.search(parts[-1])
    tail = parts[-1][end.end() :] if end is not None else ""
    parts[-1] = parts[-1][: end.start() + 1] if end is not None else parts[-1]
    lead = text[: found[0].start()].strip()
    shown = [Part("", lead)] if lead else []
    shown += [Part(letter, part) for letter, part in zip(letters, parts, strict=True)]
    return (*shown, Part("", tail)) if tail else tuple(shown)


def text_of(criterion: Criterion, outcome: Outcome) -> str:
    """The condition of a level; nothing where all levels have the same one, which says nothing."""
    levels = criterion.levels
    if outcome in ("open", "error") or levels.full == levels.half == levels.zero:
        return ""
    return {"zero": levels.zero, "half": levels.half, "full": levels.full}[outcome]


def criterion_text(criterion: Criterion, words: Words) -> CriterionText:
    """A criterion in full."""
    levels: tuple[Outcome, ...] = ("full", "half", "zero")
    told = [(outcome, text_of(criterion, outcome)) for outcome in levels]
    return CriterionText(
        anchor=anchor_of(criterion.id),
        number=words.line(criterion.number or "", 20),
        title=words.line(criterion.title or criterion.id, 200),
        question=words.text(criterion.question, MAX_TEXT),
        boundary=words.text(criterion.boundary, MAX_TEXT),
        conditions=tuple((outcome, parts_of(words.text(text, MAX_TEXT))) for outcome, text in told if text),
    )


def anchor_of(criterion: str) -> str:
    """Where a page holds a criterion in full."""
    return f"criterion--{criterion}"
