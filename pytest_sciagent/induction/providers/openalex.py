"""OpenAlex: works, by cursor."""

from __future__ import annotations

import os
from typing import Any

from .base import Publication, publication
from .http import Http, items_of, read_json

URL = "https://api.openalex.org"
PAGE = 50


class OpenAlex:
    """Searches titles, abstracts and full texts. OPENALEX_MAILTO, where set, is sent along, as the service asks for."""

    name = "openalex"
    local = False

    def __init__(self, http: Http, url: str | None) -> None:
        self._http = http
        self._url = f"{(url or URL).rstrip('/')}/works"

    def search(self, query: str, limit: int) -> list[Publication]:
        """See `Provider`."""
        found: list[Publication] = []
        cursor: Any = "*"
        while len(found) < limit and isinstance(cursor, str):
            params = {"search": query, "per-page": str(min(PAGE, limit)), "cursor": cursor}
            if mail := os.environ.get("OPENALEX_MAILTO"):
                params["mailto"] = mail
            data = read_json(self._http.get(self._url, params))
            works = items_of(data, "results")
            found += [p for p in map(_read, works) if p is not None]
            meta = data.get("meta")
            cursor = meta.get("next_cursor") if isinstance(meta, dict) and works else None
        return found[:limit]


def _read(work: dict[str, Any]) -> Publication | None:
    ids = work.get("ids")
    location = work.get("primary_location")
    page = location.get("landing_page_url") if isinstance(location, dict) else None
    return publication(
        "openalex",
        work.get("display_name") or work.get("title"),
        _abstract(work.get("abstract_inverted_index")),
        date=work.get("publication_date") or str(work.get("publication_year") or ""),
        doi=work.get("doi") or (ids.get("doi") if isinstance(ids, dict) else None),
        arxiv=page if isinstance(page, str) and "arxiv" in page else None,
        url=page or work.get("id"),
        authors=[_name(a) for a in work.get("authorships") or () if isinstance(a, dict)],
    )


def _name(authorship: dict[str, Any]) -> str:
    author = authorship.get("author")
    return str(author.get("display_name") or "") if isinstance(author, dict) else ""


def _abstract(index: Any) -> str:
    """OpenAlex gives an abstract as the places of each of its words."""
    if not isinstance(index, dict):
        return ""
    places = [(at, str(word)) for word, found in index.items() if isinstance(found, list) for at in found]
    return " ".join(word for _, word in sorted((at, word) for at, word in places if isinstance(at, int)))
