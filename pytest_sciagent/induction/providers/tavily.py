"""Tavily: a search of the web for programs. Off unless it is named, since it needs a key and finds anything."""

from __future__ import annotations

import os

from ...errors import SciagentError
from .base import Publication, publication
from .http import Http, items_of, read_json

URL = "https://api.tavily.com"
KEY = "TAVILY_API_KEY"
MOST = 20


class Tavily:
    """Searches by POST; TAVILY_API_KEY is needed."""

    name = "tavily"
    local = False

    def __init__(self, http: Http, url: str | None) -> None:
        key = os.environ.get(KEY)
        if not key and not http.offline:
            raise SciagentError(f"the provider tavily needs a key: set the environment variable {KEY}")
        self._headers = {"Authorization": f"Bearer {key}"}
        self._http = http
        self._url = f"{(url or URL).rstrip('/')}/search"

    def search(self, query: str, limit: int) -> list[Publication]:
        """See `Provider`."""
        body = {"query": query, "max_results": min(limit, MOST), "search_depth": "basic", "include_answer": False}
        data = read_json(self._http.post(self._url, body, self._headers))
        found = [
            publication(
                self.name,
                item.get("title"),
                item.get("content"),
                date=item.get("published_date"),
                doi=item.get("url"),
                arxiv=item.get("url") if "arxiv" in str(item.get("url")) else None,
                url=item.get("url"),
            )
            for item in items_of(data, "results")
        ]
        return [p for p in found if p is not None][:limit]
