"""Headings and lines of a report that look like a finding's label and are none, each with what would make it one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count

from ..text import one_line
from .grammar import read_label
from .report import MAX_REPORT_CHARS, ParsedReport, headings_of

MAX_SHOWN = 10
_MAX_LINE = 300
_LEAD = r"(?:(?:key|main|core|central|major)\s+)?"
_NOUNS = "(?:result|claim|conclusion|insight|observation|hypothesis|takeaway|discovery|finding)"
# "Finding: the slope", "Key finding A", "Main discovery"; not "Findings", which stands above findings.
_FINDING = re.compile(rf"{_LEAD}(?:finding|discovery)(?!\w)", re.IGNORECASE)
# "Result 2: the slope", "Key claim #1", "F1: the slope"
_NUMBERED = re.compile(rf"(?:{_LEAD}{_NOUNS}s?\s*[#(]?|F(?=\d+\s*:))(?P<number>\d{{1,3}})(?!\d)", re.IGNORECASE)
_LABEL = re.compile(rf"{_LEAD}(?:{_NOUNS}s?|F)\s*[#(]?(?:\d+|[A-Z](?!\w))?\)?\s*[:.–—-]*\s*", re.IGNORECASE)
_SECTION_NUMBER = re.compile(r"^\d+(?:\.\d+)*[.):]?\s+")
_LISTED = re.compile(r"\s{0,9}(?:[-*+>|]|\d{1,3}[.)])\s+[*_`]*")

_Near = tuple[int, str, int | None, str]
"""Line, text, the number that it names if any, and what follows its label."""


@dataclass(frozen=True)
class Lookalike:
    """A line (counted from 1) that registers no finding, as it stands, and the heading that would."""

    line: int
    text: str
    fix: str

    def told(self) -> str:
        """It in words."""
        return f'line {self.line} ("{self.text}") registers no finding; to make it one, write: {self.fix}'


def lookalikes(text: str, parsed: ParsedReport) -> list[Lookalike]:
    """What looks like a finding in the report `text` and is none: headings of another form, and labels in lists,
    quotes and tables of findings that no heading registers. The first of them, by their lines.
    """
    registered = {finding.number for finding in parsed.findings}
    near = sorted({*_headings(text), *_listed(text, registered)}, key=lambda one: one[:2])[:MAX_SHOWN]
    free = (n for n in count(1) if n not in registered and n not in {number for _, _, number, _ in near})
    found, taken = [], set(registered)
    for line, shown, number, title in near:
        chosen = number if number is not None and number not in taken else next(free)
        taken.add(chosen)
        fix = f"## Finding {chosen}: {one_line(title, 60) or 'what holds'}"
        found.append(Lookalike(line, one_line(shown, 80), fix))
    return found


def _headings(text: str) -> Iterator[_Near]:
    for line, heading in headings_of(text):
        plain = _SECTION_NUMBER.sub("", heading[:_MAX_LINE].strip())
        numbered = _NUMBERED.match(plain)
        if read_label(heading[:_MAX_LINE]) is None and (numbered or _FINDING.match(plain)):
            number = int(numbered["number"]) if numbered else None
            yield line, heading, number, _LABEL.sub("", plain, count=1)


def _listed(text: str, registered: Collection[int]) -> Iterator[_Near]:
    """Labels in lists, quotes and tables, of findings that are not registered: of others they are mentions."""
    for number, line in enumerate(text[:MAX_REPORT_CHARS].split("\n"), 1):
        start = _LISTED.match(line[:_MAX_LINE])
        label = read_label(" ".join(line[start.end() : _MAX_LINE].replace("*", "").split())) if start else None
        if label is not None and label.separated and label.number not in registered:
            yield number, line, label.number, label.title.strip(" |")
