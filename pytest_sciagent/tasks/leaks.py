"""What a task hides, searched in any text: the source's DOI, arXiv id, title, authors, fingerprints, reference values.

Words are compared folded: Unicode and case normalised, everything but letters and digits as one space. A needle is
found whatever stands between its words, also in a file's name or in a percent-encoded address.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import unquote

from ..models import Source
from ..text import one_line
from .task import Task

LeakKind = Literal[
    "doi",
    "arxiv",
    "title",
    "author",
    "fingerprint",
    "reference value",
    "hidden file",
    "outside read",
    "network read",
    "late literature",
]
MAX_PASSAGE = 160
TITLE_SIMILARITY = 88.0
_TITLE_SHARE = 0.75
_MAX_LINE = 200_000
_COMBINING = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_FOLD = re.compile(r"[^a-z0-9]+")
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+\.\d+(?!\w|\.\d)|(?<![\w.])[-+−]?\d{3,}(?!\w|\.\d)")
_ARXIV = re.compile(
    r"(?<![\d.])(\d{4}[._]\d{4,5})(?:v\d+)?(?!\d)|\b([a-z-]+(?:\.[a-z]{2})?/\d{7})(?!\d)", re.IGNORECASE
)
_PERSON = r"(?<![A-Za-z]){name}(?![a-z])"
_COMMON = frozenset(
    "the a an of in on at and or for from to by with within as is are its their this that new study using based under"  # noqa: SIM905
    " between into via over among toward towards".split()
)


@dataclass(frozen=True, slots=True)
class Leak:
    """One place where something hidden shows: the file, the line (from 1; None for the file's name), and the words."""

    kind: LeakKind
    file: str
    line: int | None
    what: str
    passage: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line is not None else f"{self.file} (its name)"


def fold(text: str) -> str:
    """`text` as words are compared: `Wolf number` and `wolf_NUMBER` are one."""
    if not text.isascii():
        text = _COMBINING.sub("", unicodedata.normalize("NFKD", text)).casefold()
    return _FOLD.sub(" ", text.lower()).strip()


def _words(text: str) -> str:
    return fold(unquote(text) if "%" in text else text)


class Lines:
    """Numbered lines of a text, folded into one string that still knows where each line starts."""

    def __init__(self, lines: Sequence[tuple[int, str]]) -> None:
        self.lines = [(number, line[:_MAX_LINE]) for number, line in lines]

    @classmethod
    def of(cls, text: str) -> Lines:
        return cls(list(enumerate(text.split("\n"), 1)))

    @cached_property
    def words(self) -> str:
        """All words, one space between them."""
        return _words("\n".join(line for _, line in self.lines))

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        """Where in `words` each line starts that has any, and which line that is. Made where something is found."""
        starts, owners, at = [], [], 0
        for index, (_, line) in enumerate(self.lines):
            words = _words(line)
            if words:
                starts.append(at)
                owners.append(index)
                at += len(words) + 1
        return starts, owners

    def owner(self, at: int) -> tuple[int, str]:
        """The line that holds position `at` of `words`."""
        starts, owners = self._starts
        return self.lines[owners[max(0, bisect_right(starts, at) - 1)]]

    def places(self, needle: str, plural: bool = False) -> Iterator[tuple[int, str]]:
        """The lines on which the folded `needle` starts, each once; `plural`: also with an s at its end."""
        if needle not in self.words:
            return
        pattern = re.compile(rf"(?<![a-z0-9]){re.escape(needle)}{'s?' if plural else ''}(?![a-z0-9])")
        seen = set()
        for match in pattern.finditer(self.words):
            number, line = self.owner(match.start())
            if number not in seen:
                seen.add(number)
                yield number, line


class SourceTraces:
    """What gives a study away: its DOI, arXiv id, title, authors and fingerprints."""

    def __init__(self, source: Source | None) -> None:
        self.source = source
        self._doi = fold(source.doi) if source is not None and source.doi else ""
        self._arxiv = source.arxiv.lower().removeprefix("arxiv:") if source is not None and source.arxiv else ""
        self._title = fold(source.title) if source is not None else ""
        self.authors = tuple(_surname(author) for author in source.authors) if source is not None else ()
        self._fingerprints = tuple(fold(f) for f in source.fingerprints) if source is not None else ()

    def sources(self, file: str, lines: Lines) -> Iterator[Leak]:
        """Traces of the source study in `lines`: DOI, arXiv id, title and fingerprints."""
        if self._doi:
            yield from self._all("doi", file, lines, self._doi, self.source.doi)  # type: ignore[union-attr, arg-type]
        if self._arxiv:
            for number, line in lines.lines:
                found = {(m[1] or m[2]).lower().replace("_", ".") for m in _ARXIV.finditer(line)}
                if re.sub(r"v\d+$", "", self._arxiv) in found:
                    yield Leak("arxiv", file, number, f"arXiv id {self._arxiv}", passage(line, self._arxiv))
        for fingerprint in self._fingerprints:
            if fingerprint:
                yield from self._all("fingerprint", file, lines, fingerprint, fingerprint, plural=True)
        yield from self._titles(file, lines)

    def _all(
        self, kind: LeakKind, file: str, lines: Lines, needle: str, shown: str, plural: bool = False
    ) -> Iterator[Leak]:
        for number, line in lines.places(needle, plural):
            yield Leak(kind, file, number, f"{kind} {shown}", passage(line, shown))

    def _titles(self, file: str, lines: Lines) -> Iterator[Leak]:
        """Passages that are the title but for a few letters."""
        telling = _telling(self._title)
        if len(telling) < 3:
            return
        from rapidfuzz import fuzz

        text, size = lines.words, 8 * len(self._title)
        seen = set()
        for start in range(0, max(1, len(text)), size):
            chunk = text[start : start + size + 2 * len(self._title)]
            if sum(word[:4] in chunk for word in telling) < len(telling) / 2:
                continue
            found = fuzz.partial_ratio_alignment(self._title, chunk, score_cutoff=TITLE_SIMILARITY)
            if found is not None and found.dest_end - found.dest_start >= 0.7 * len(self._title):
                number, line = lines.owner(start + found.dest_start)
                if number not in seen:
                    seen.add(number)
                    yield Leak("title", file, number, f"title of the source ({found.score:.0f} % alike)", passage(line))

    def title_words(self, file: str, lines: Lines) -> Iterator[Leak]:
        """Lines of a short text that hold most of the title's telling words, in any order (three at least)."""
        telling = _telling(self._title)
        for number, line in lines.lines if len(telling) >= 3 else ():
            words = set(fold(line).split())
            shared = [word for word in telling if word in words]
            if len(shared) >= 3 and len(shared) >= _TITLE_SHARE * len(telling):
                yield Leak("title", file, number, f"words of the title: {', '.join(shared)}", passage(line))

    def any_author(self, file: str, lines: Lines, any_case: bool = False) -> Iterator[Leak]:
        """Every line that names an author of the source, with a capital letter unless `any_case`."""
        for name in self.authors:
            pattern = re.compile(_PERSON.format(name=re.escape(name)), re.IGNORECASE if any_case else 0)
            for number, line in lines.lines:
                if pattern.search(line):
                    yield Leak("author", file, number, f"author {name}", passage(line, name))

    def cited_authors(self, file: str, lines: Lines) -> Iterator[Leak]:
        """Lines that cite the source's authors: two of them on one line, or one with `et al.`, a partner or a year.

        A surname alone is a common word of statistics and geography too often to show anything.
        """
        for number, line in lines.lines:
            named = [n for n in self.authors if n in line and re.search(_PERSON.format(name=re.escape(n)), line)]
            if not named:
                continue
            name = re.escape(named[0])
            cited = re.search(
                rf"{name}(?:\s+et\s+al|,?\s+\(?(?:1[89]|20)\d\d|,?\s+[A-Z]\.\s|'s\s+(?:paper|study))", line
            )
            if len(named) > 1 or cited:
                yield Leak("author", file, number, f"authors {', '.join(named)}", passage(line, named[0]))


class Hidden(SourceTraces):
    """What the hidden half of one task would give away: the study behind it, and the reference values."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.source)
        self.task = task
        self.quantities = [(q.key, q.value) for card in task.cards for q in card.quantities]

    def values(self, file: str, lines: Lines, digits: int) -> Iterator[Leak]:
        """Numbers that are a reference value, digit by digit, with at least `digits` significant digits."""
        wanted = {}
        for key, value in self.quantities:
            text = f"{value:.12g}"
            if significant(text) >= digits:
                wanted[text.lstrip("+")] = key
        for number, line in lines.lines if wanted else ():
            for match in _NUMBER.finditer(line):
                text = match[0].replace("−", "-").lstrip("+")
                known = wanted.get(text) or wanted.get(f"-{text}")
                if known is not None:
                    yield Leak("reference value", file, number, f"{known} = {match[0]}", passage(line, match[0]))

    def keys(self, file: str, lines: Lines) -> Iterator[Leak]:
        """Lines that give a reference quantity under its hidden key, with its value."""
        for key, value in self.quantities:
            if key.count("_") < 1:
                continue
            for number, line in lines.places(fold(key)):
                text = f"{value:.12g}"
                if significant(text) >= 2 and re.search(rf"(?<![\d.]){re.escape(text.lstrip('-'))}(?!\d)", line):
                    yield Leak("reference value", file, number, f"hidden key {key} with its value", passage(line, key))


def significant(text: str) -> int:
    """Significant digits of a number as written: `0.0311` has 3, `11.0` has 3, `1700` has 4."""
    return len(re.sub(r"[^0-9]", "", text.split("e")[0]).lstrip("0"))


def passage(line: str, around: str = "") -> str:
    """The part of `line` to show, about `around`."""
    at = line.casefold().find(around.casefold()) if around else 0
    start = max(0, at - MAX_PASSAGE // 3)
    return one_line(line[start : start + MAX_PASSAGE], MAX_PASSAGE)


def _surname(author: str) -> str:
    """`Hathaway, D. H.` and `D. H. Hathaway` both give Hathaway."""
    first = author.split(",")[0].strip()
    return first.split()[-1] if first.split() else author


def _telling(title: str) -> list[str]:
    return list(dict.fromkeys(word for word in title.split() if len(word) > 3 and word not in _COMMON))
