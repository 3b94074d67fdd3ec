"""Where literature is searched: a local folder, arXiv, OpenAlex, Semantic Scholar, Tavily."""

from __future__ import annotations

from pathlib import Path

from ...errors import SciagentError
from .base import Provider, Publication, SearchFailed
from .http import Http

__all__ = ["REMOTE", "Http", "Provider", "Publication", "SearchFailed", "make_provider"]

REMOTE = ("arxiv", "openalex", "semantic-scholar", "tavily")


def make_provider(text: str, http: Http) -> Provider:
    """The provider written as NAME or NAME=URL (another server), or as local=FOLDER.

    Raises:
        SciagentError: no such provider, no such folder, or a key that is not in the environment.
    """
    name, _, value = text.partition("=")
    if name == "local":
        from .local import LocalFolder

        if not Path(value).is_dir():
            raise SciagentError("no such folder of literature", path=value)
        return LocalFolder(Path(value))
    if value and not value.startswith(("http://", "https://")):
        raise SciagentError(f"provider {text!r}: write NAME=URL with http or https")
    if name == "arxiv":
        from .arxiv import Arxiv

        return Arxiv(http, value or None)
    if name == "openalex":
        from .openalex import OpenAlex

        return OpenAlex(http, value or None)
    if name == "semantic-scholar":
        from .semantic_scholar import SemanticScholar

        return SemanticScholar(http, value or None)
    if name == "tavily":
        from .tavily import Tavily

        return Tavily(http, value or None)
    raise SciagentError(f"no provider {name!r}; there are local=FOLDER, {', '.join(REMOTE)}")
