"""The grammar of a finding's label: `Finding 1`, `Finding #1`, `Finding: 1`, `Finding One`, `Discovery 1`, `D1:`."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_NUMBER = 999
_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty"
)
_SECTION_NUMBER = r"(?:[0-9]+(?:\.[0-9]+)*[.):]?\s+)?"  # "## 4.1 Finding 1"

_NAMED = re.compile(
    rf"\s*{_SECTION_NUMBER}(?:finding|discovery)"
    r"(?P<joint>\s*(?:[:_–—‑-]\s*|\s(?:no\.?|nr\.?|number)\s*)?[#(\[]?\s*)"
    rf"(?P<letter>[DF])?(?:(?P<digits>[0-9]+)|(?P<word>{_WORDS})(?!\w))[)\]]?",
    re.IGNORECASE,
)
# A bare D needs its colon, full stop or a spaced dash: "D2 receptor" and "D2-like" are science, not labels.
_SHORT = re.compile(rf"\s*{_SECTION_NUMBER}D(?P<digits>[0-9]+)(?=\s*:(?![0-9])|\.\s|\s+[–—-]\s)")

# What makes a label one of several findings: "1-3", "1/2", "1 – 3: overview", "1, 2 and 3", "1 vs Finding 2".
_SEVERAL = re.compile(
    r"[–‑/-][#DF]?[0-9]"
    r"|\s*[–—‑-]\s*(?:finding\s*|discovery\s*)?[#DF]?[0-9]{1,3}\s*(?:$|[:.,;)](?![0-9]))"
    r"|(?:\s*[&+/,;]|\s+(?:and|or|to|vs\.?|versus|through)(?!\w))\s*[#DF]?[0-9]"
    r"|(?:\s*[&+/,;]|\s+(?:and|or|to|vs\.?|versus|through|with|against)(?!\w))"
    rf"\s*(?:finding|discovery)\s*[:#]?\s*(?:[0-9]|(?:{_WORDS})(?!\w))",
    re.IGNORECASE,
)
_OTHER = re.compile(rf"(?:finding|discovery)s?\s*[:#]?\s*(?:[0-9]|(?:{_WORDS})(?!\w))", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*(?:[:|!,→]|\.(?![0-9])|[)\]])|\s*[–—]|\s+[‑-]|[‑-]\s|\s+[(\[]")
_PUNCTUATION = re.compile(r"\s*[:|!,.→)\]]*\s*(?:[–—]+|[‑-]+(?=\s))?\s*")


@dataclass(frozen=True, slots=True)
class FindingLabel:
    """A label at the start of a line: its number, the rest without punctuation, and where the number ends.

    `separated`: punctuation, or nothing at all, follows the number, so the label can't be part of a sentence.
    """

    number: int
    title: str
    end: int
    separated: bool


def read_label(text: str) -> FindingLabel | None:
    """The label with which a heading or bold line starts, or None if it names no single finding.

    `text` is plain and its white space folded: the patterns here are slow on long runs of it.
    """
    short = _SHORT.match(text)
    match = short or _NAMED.match(text)
    if match is None:
        return None
    number = _number(match)
    rest = text[match.end() :]
    if number is None or _SEVERAL.match(rest):
        return None
    separated = not rest.strip() or _SEPARATOR.match(rest) is not None
    if not separated and (short or not _runs_on(match, rest)):
        return None
    return FindingLabel(number, _PUNCTUATION.sub("", rest, count=1).rstrip(" \t\n:"), match.end(), separated)


def resembles_label(text: str) -> bool:
    """Whether `text` starts like a numbered finding, be it one label, several ("Finding 1-3") or none of use."""
    return _NAMED.match(text) is not None


def _number(match: re.Match[str]) -> int | None:
    digits = match["digits"]
    if digits is not None:
        return int(digits) if len(digits) < 10 and int(digits) <= MAX_NUMBER else None
    return _WORDS.split("|").index(match["word"].lower()) + 1 if match["joint"] else None


def _runs_on(match: re.Match[str], rest: str) -> bool:
    """Whether a title may follow the number without punctuation: "Finding 1 Growth accelerates"."""
    # "Finding one more cycle" and "Finding F1 scores" are a verb and its object
    if match["word"] or match["letter"] or not rest[0].isspace():
        return False
    if ":" in match["joint"]:  # "Finding: 3 of 5 sites differ" counts sites
        return rest.lstrip()[0].isupper()
    return _OTHER.search(rest) is None  # "Finding 1 contradicts Finding 2"
