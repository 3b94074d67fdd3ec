"""Text of agents and judges made fit to be shown: secrets masked first, then made visible, then cut.

The order matters: a secret that is cut before it is masked leaves half of itself behind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

from ..runs.secrets import mask_secrets
from ..text import clean, one_line

if TYPE_CHECKING:
    from ..models import Verdict

_FREE = ("reason", "votes", "citations", "receipt")
"""The parts of a verdict that hold words of others; status, level, ids and digests are the program's own."""


class Words:
    """Masks by shape and by what this process knows to be secret (`known`, see `runs.secrets.known_secrets`)."""

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = tuple(known)

    def mask(self, text: str) -> str:
        """`text` with its secrets masked."""
        return mask_secrets(text, self._known)[0]

    def line(self, text: str, limit: int) -> str:
        """`text` on one line of at most `limit` characters."""
        return one_line(self.mask(text), limit)

    def text(self, text: str, limit: int) -> str:
        """`text` in at most `limit` characters, its lines kept."""
        return clean(self.mask(text), limit)

    def verdict(self, verdict: Verdict) -> Verdict:
        """`verdict` with the secrets in its reason, votes, citations and receipt masked; itself where there is none."""
        # One search over everything is far cheaper than one for each of many short texts.
        if not mask_secrets("\n".join(_texts_of(verdict)), self._known)[1]:
            return verdict
        told = verdict.model_dump(include=set(_FREE))
        return type(verdict).model_validate(verdict.model_dump() | _map(told, self.mask))


def _texts_of(verdict: Verdict) -> Iterator[str]:
    yield verdict.reason
    yield from (vote.reason for vote in verdict.votes)
    for citation in verdict.citations:
        yield from (citation.file, citation.place or "", citation.quote)
    if verdict.receipt is not None:
        yield from _texts(verdict.receipt.facts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _map(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)): _map(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_map(inner, change) for inner in value]
    return value
