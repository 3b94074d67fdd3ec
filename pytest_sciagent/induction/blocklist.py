"""What the inducing model must never see: the target studies, kept by the evaluator, outside states and prompts.

A publication is blocked by DOI, arXiv id, fuzzy title, authors with year, domain, or date; a text by any trace of a
target in it. What was blocked, and why, goes to a file for the evaluator alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field

from ..documents import load_yaml
from ..judging.settle import now
from ..models import Model, Source
from ..models.base import Date
from ..tasks import Task
from ..tasks.leaks import Lines, SourceTraces, fold
from .providers.base import Publication, bare_arxiv, bare_doi

TITLE_ALIKE = 88.0
SHORT_TITLE = 4
"""Titles of fewer words are compared as wholes only: their words stand in any other title too easily."""
LONG_ENOUGH = 0.7
YEARS_APART = 2


class TargetPaper(Model):
    """A study that must not be found. year: of its publication; first_public is as good."""

    title: str = ""
    doi: str | None = None
    arxiv: str | None = None
    authors: tuple[str, ...] = ()
    year: int | None = None
    fingerprints: tuple[str, ...] = ()


class BlocklistFile(Model):
    """A blocklist (schema sciagent-blocklist/1): targets, domains, and the day from which nothing may be used."""

    schema_: Literal["sciagent-blocklist/1"] = Field(alias="schema")
    targets: tuple[TargetPaper, ...] = ()
    domains: tuple[str, ...] = ()
    t0: Date | None = None


class _Target:
    def __init__(self, paper: TargetPaper) -> None:
        self.doi = bare_doi(paper.doi)
        self.arxiv = bare_arxiv(paper.arxiv) or (bare_arxiv(self.doi) if self.doi and "arxiv" in self.doi else None)
        self.title = fold(paper.title)
        self.year = paper.year
        source = Source(
            schema_="sciagent-source/1",
            title=paper.title or "-",
            doi=self.doi,
            arxiv=self.arxiv,
            authors=paper.authors,
            first_public="0001-01-01",
            fingerprints=paper.fingerprints,
        )
        self.traces = SourceTraces(source)
        self.authors = {fold(name) for name in self.traces.authors if fold(name)}

    def why(self, found: Publication) -> str | None:
        """Why a publication is this one, or a version of it."""
        if self.doi is not None and found.doi is not None and _same_doi(self.doi, found.doi):
            return "doi"
        if self.arxiv is not None and self.arxiv == found.arxiv:
            return "arxiv id"
        if self._same_title(fold(found.title)):
            return "title"
        surnames = {fold(name.split(",")[0].split()[-1]) for name in found.authors if name.split(",")[0].split()}
        shared = self.authors & surnames
        near = self.year is not None and found.year is not None and abs(self.year - found.year) <= YEARS_APART
        if near and shared and len(shared) >= min(2, len(self.authors)):
            return "authors and year"
        return None

    def _same_title(self, title: str) -> bool:
        if not self.title:
            return False
        from rapidfuzz import fuzz

        if fuzz.ratio(self.title, title) >= TITLE_ALIKE:
            return True
        words = len(self.title.split())
        if words < SHORT_TITLE or len(title.split()) < LONG_ENOUGH * words:
            return False  # a few of its words alone are the words of any title
        return fuzz.token_set_ratio(self.title, title) >= TITLE_ALIKE + 4

    def why_text(self, text: str) -> str | None:
        """Which trace of this study stands in a text."""
        lines = Lines.of(text)
        leak = next(iter([*self.traces.sources("", lines), *self.traces.cited_authors("", lines)]), None)
        return f"{leak.kind} in the text" if leak is not None else None


def _same_doi(one: str, other: str) -> bool:
    """Whether two DOIs are of one work: versions such as `/v2` or `.v1` don't tell them apart."""
    shorter, longer = sorted((one, other), key=len)
    rest = longer.removeprefix(shorter)
    return longer.startswith(shorter) and (not rest or (rest.lstrip("/._-").startswith("v") and rest[-1].isdigit()))


@dataclass
class Blocklist:
    """Decides what is blocked, and keeps account of it. log: where that is written; None: nowhere."""

    targets: Sequence[TargetPaper] = ()
    domains: Sequence[str] = ()
    t0: str | None = None
    log: Path | None = None
    _made: list[_Target] = field(default_factory=list)
    _told: list[dict[str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._made = [_Target(paper) for paper in self.targets]

    def blocks(self, found: Publication, *, whole: str | None = None, dated: bool = True) -> bool:
        """Whether a publication must not be read. whole: its text, where more is known than it shows; `dated`: whether
        it needs a date before the cut-off."""
        why = self._why(found, whole, dated)
        if why is not None:
            self._note({"why": why, "title": found.title, "doi": found.doi, "provider": found.provider})
        return why is not None

    def blocks_text(self, text: str, what: str) -> bool:
        """Whether a text for the model (`what` it is) holds a trace of a target."""
        why = next((why for target in self._made if (why := target.why_text(text)) is not None), None)
        if why is not None:
            self._note({"why": why, "text": what})
        return why is not None

    def _why(self, found: Publication, whole: str | None, dated: bool) -> str | None:
        if found.url is not None and found.provider != "local" and self._domain(found.url):
            return "domain"
        if dated and self.t0 is not None and not _before(found.date, self.t0):
            return "no date before the cut-off"
        # Sources of people write names and titles in fields of their own, which the text must not be searched for.
        text = "\n".join((found.title, found.text, found.url or "", found.doi or "", found.arxiv or "", whole or ""))
        for target in self._made:
            if (why := target.why(found) or target.why_text(text)) is not None:
                return why
        return None

    def _domain(self, url: str) -> bool:
        host = (urlsplit(url).hostname or "").lower()
        return any(host == name or host.endswith(f".{name}") for name in map(str.lower, self.domains))

    def _note(self, told: dict[str, str | None]) -> None:
        if told in self._told:  # found by several searches
            return
        self._told.append(told)
        if self.log is None:
            return
        line = json.dumps({"time": now(), **told}, ensure_ascii=False)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a", encoding="utf-8") as handle:
            handle.write(line + "\n")


def _before(date: str | None, t0: str) -> bool:
    """Whether a date is certainly before the cut-off: a year alone only where the whole year is."""
    return date is not None and date + "-99-99"[: len("YYYY-MM-DD") - len(date)] < t0


def task_blocklist(task: Task, files: Iterable[Path], log: Path | None) -> Blocklist:
    """The blocklist of a task: the study its hidden half names, its T0, and what `files` add.

    Raises:
        SciagentError: a file that can't be read.
    """
    read = [load_yaml(path, BlocklistFile) for path in files]
    targets = [*_of_source(task.source), *(paper for one in read for paper in one.targets)]
    days = [day for day in (task.manifest.t0, *(one.t0 for one in read)) if day is not None]
    return Blocklist(targets, [d for one in read for d in one.domains], min(days, default=None), log)


def _of_source(source: Source | None) -> Iterator[TargetPaper]:
    if source is not None:
        year = int(source.first_public[:4])
        yield TargetPaper(
            title=source.title,
            doi=source.doi,
            arxiv=source.arxiv,
            authors=source.authors,
            year=year,
            fingerprints=source.fingerprints,
        )
