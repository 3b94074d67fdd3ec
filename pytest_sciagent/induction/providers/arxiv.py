"""arXiv: its Atom API."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from .base import Publication, SearchFailed, publication
from .http import Http

URL = "https://export.arxiv.org"
PAGE = 50
_ATOM = "{http://www.w3.org/2005/Atom}"
_OWN = "{http://arxiv.org/schemas/atom}"


class Arxiv:
    """Searches all fields; pages of 50."""

    name = "arxiv"
    local = False

    def __init__(self, http: Http, url: str | None) -> None:
        self._http = http
        self._url = f"{(url or URL).rstrip('/')}/api/query"

    def search(self, query: str, limit: int) -> list[Publication]:
        """See `Provider`."""
        words = " AND ".join(f"all:{word}" for word in re.findall(r"\w+", query))
        found: list[Publication] = []
        while len(found) < limit:
            size = min(PAGE, limit - len(found))
            params = {"search_query": words, "start": str(len(found)), "max_results": str(size)}
            entries = _entries(self._http.get(self._url, params))
            found += [p for p in map(_read, entries) if p is not None]
            if len(entries) < size:
                break
        return found[:limit]


def _entries(body: bytes) -> list[ElementTree.Element]:
    try:
        text = body.decode("utf-8")
        if "<!DOCTYPE" in text:  # without one there are no entities that could grow or reach elsewhere
            raise SearchFailed("not an Atom feed")
        root = ElementTree.fromstring(text)  # noqa: S314
    except (UnicodeDecodeError, ElementTree.ParseError):
        raise SearchFailed("not XML") from None
    if root.tag != f"{_ATOM}feed":
        raise SearchFailed("not an Atom feed")
    return root.findall(f"{_ATOM}entry")


def _read(entry: ElementTree.Element) -> Publication | None:
    address = entry.findtext(f"{_ATOM}id") or ""
    if "/api/errors" in address:
        raise SearchFailed("the query was refused")
    names = [author.findtext(f"{_ATOM}name") or "" for author in entry.findall(f"{_ATOM}author")]
    return publication(
        "arxiv",
        entry.findtext(f"{_ATOM}title"),
        entry.findtext(f"{_ATOM}summary"),
        date=entry.findtext(f"{_ATOM}published"),
        doi=entry.findtext(f"{_OWN}doi"),
        arxiv=address,
        url=address,
        authors=names,
    )
