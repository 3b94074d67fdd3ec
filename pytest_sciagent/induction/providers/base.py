"""What every provider gives: publications in one form, or the reason why there are none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from ...text import one_line

MAX_TITLE = 400
MAX_TEXT = 6000
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"'<>]+", re.IGNORECASE)
_ARXIV = re.compile(
    r"(?<![\d.])(\d{4}\.\d{4,5})(?:v\d+)?(?![\d])|\b([a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?(?!\d)", re.IGNORECASE
)
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")


class SearchFailed(Exception):
    """A search that brought nothing usable; the message is its status, such as `http 503`."""


@dataclass(frozen=True, slots=True)
class Publication:
    """One publication, normalised.

    date: as exact as it is known (YYYY, YYYY-MM or YYYY-MM-DD). doi, arxiv: in small letters, without address and
    version. text: abstract, snippet, or the beginning of a local document.
    """

    provider: str
    title: str
    text: str = ""
    date: str | None = None
    doi: str | None = None
    arxiv: str | None = None
    url: str | None = None
    authors: tuple[str, ...] = ()

    @property
    def year(self) -> int | None:
        return int(self.date[:4]) if self.date else None


class Provider(Protocol):
    """A place to search."""

    name: str
    local: bool
    """Whether it is the user's own folder: what lies there needs no date."""

    def search(self, query: str, limit: int) -> list[Publication]:
        """At most `limit` publications, best first.

        Raises:
            SearchFailed: none could be had.
        """


def bare_doi(text: object) -> str | None:
    """The DOI in `text`, whatever address it is written as; None where there is none."""
    match = _DOI.search(text) if isinstance(text, str) else None
    return match[0].lower().rstrip(".,;)") if match else None


def bare_arxiv(text: object) -> str | None:
    """The arXiv id in `text`, without version; an arXiv DOI counts."""
    match = _ARXIV.search(text) if isinstance(text, str) else None
    return (match[1] or match[2]).lower() if match else None


def bare_date(text: object) -> str | None:
    """A date as exact as `text` begins with it."""
    match = _DATE.match(text) if isinstance(text, str) else None
    return match[0] if match else None


def publication(provider: str, title: object, text: object = "", **more: object) -> Publication | None:
    """A publication of untrusted fields; None without a title."""
    if not isinstance(title, str) or not title.strip():
        return None
    authors = more.get("authors") or ()
    doi = bare_doi(more.get("doi"))
    arxiv = bare_arxiv(more.get("arxiv")) or (bare_arxiv(doi) if doi and "arxiv" in doi else None)
    url = more.get("url")
    return Publication(
        provider=provider,
        title=one_line(title, MAX_TITLE),
        text=one_line(text, MAX_TEXT) if isinstance(text, str) else "",
        date=bare_date(more.get("date")),
        doi=doi,
        arxiv=arxiv,
        url=one_line(url, 400) if isinstance(url, str) else None,
        authors=tuple(one_line(a, 120) for a in authors if isinstance(a, str))
        if isinstance(authors, list | tuple)
        else (),
    )
