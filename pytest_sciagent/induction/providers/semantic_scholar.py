"""Semantic Scholar: the Academic Graph API, by offset."""

from __future__ import annotations

import os
from typing import Any

from .base import Publication, publication
from .http import Http, items_of, read_json

URL = "https://api.semanticscholar.org"
PAGE = 50
_FIELDS = "title,abstract,year,publicationDate,externalIds,url,authors"


class SemanticScholar:
    """Relevance search. SEMANTIC_SCHOLAR_API_KEY, where set, is sent along."""

    name = "semantic-scholar"
    local = False

    def __init__(self, http: Http, url: str | None) -> None:
        self._http = http
        self._url = f"{(url or URL).rstrip('/')}/graph/v1/paper/search"

    def search(self, query: str, limit: int) -> list[Publication]:
        """See `Provider`."""
        key = os.environ.get("SEMANTIC_SCHOLAR_API_KEY")
        headers = {"x-api-key": key} if key else {}
        found: list[Publication] = []
        offset: Any = 0
        while len(found) < limit and isinstance(offset, int):
            size = min(PAGE, limit - len(found))
            params = {"query": query, "fields": _FIELDS, "limit": str(size), "offset": str(offset)}
            data = read_json(self._http.get(self._url, params, headers))
            if isinstance(data, dict) and data.get("total") == 0:  # then there is no list
                return []
            papers = items_of(data, "data")
            found += [p for p in map(_read, papers) if p is not None]
            following = data.get("next")
            offset = following if papers and isinstance(following, int) and following > offset else None
        return found[:limit]


def _read(paper: dict[str, Any]) -> Publication | None:
    ids = paper.get("externalIds")
    known = ids if isinstance(ids, dict) else {}
    authors = paper.get("authors")
    return publication(
        "semantic-scholar",
        paper.get("title"),
        paper.get("abstract"),
        date=paper.get("publicationDate") or str(paper.get("year") or ""),
        doi=known.get("DOI"),
        arxiv=known.get("ArXiv"),
        url=paper.get("url"),
        authors=[a.get("name") for a in authors if isinstance(a, dict)] if isinstance(authors, list) else [],
    )
