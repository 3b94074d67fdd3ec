"""Text of agents and judges made fit to be shown: secrets masked first, then made visible, then cut.

The order matters: a secret that is cut before it is masked leaves half of itself behind. Where an earlier writer has
cut a text, its last word may be such a half, and goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..runs.secrets import MIN_KNOWN, known_secrets, mask_secrets
from ..text import clean, one_line, shorten

if TYPE_CHECKING:
    from ..models import Verdict
    from .results import RunResult

_FREE = ("reason", "votes", "citations", "receipt")
"""The parts of a verdict that hold words of others; status, level, ids and digests are the program's own."""
_MOST_KEPT, _LONGEST_KEPT = 50_000, 2_000
_LONGEST_WORD = 200
_CUT = "…"
_NO_WORD = re.compile(r".*[\s\"'`\\,;<>&=…]", re.DOTALL)


@dataclass(frozen=True)
class Words:
    """Masks by shape and by what this process knows to be secret (`known`, see `runs.secrets.known_secrets`)."""

    known: tuple[str, ...] = ()
    _kept: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Words:
        """With the secrets that `environ` holds."""
        return cls(tuple(known_secrets(environ)))

    def mask(self, text: str) -> str:
        """`text` with its secrets masked; its lines keep their numbers."""
        if len(text) < MIN_KNOWN:
            return text
        return _without_cut_word(mask_secrets(text, self.known, keep_lines=True)[0])

    def text(self, text: str, limit: int | None = None) -> str:
        """`text` masked and made visible, its lines kept, in at most `limit` characters."""
        shown = self._kept.get(text)
        if shown is None:
            shown = clean(self.mask(text))
            if len(text) <= _LONGEST_KEPT:  # the same words come again and again
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                self._kept[text] = shown
        return shown if limit is None else shorten(shown, limit)

    def line(self, text: str, limit: int) -> str:
        """As `text`, on one line."""
        return shorten(one_line(self.text(text)), limit)

    def verdict(self, verdict: Verdict) -> Verdict:
        """`verdict` with its reason, votes, citations and receipt masked; itself where there is nothing to mask."""
        # One search over everything is far cheaper than one for each of many short texts.
        texts = list(_texts_of(verdict))
        if not any(text.endswith(_CUT) for text in texts) and not mask_secrets("\n".join(texts), self.known)[1]:
            return verdict
        told = verdict.model_dump(include=set(_FREE))
        return type(verdict).model_validate(verdict.model_dump() | _map(told, self.mask))

    def run(self, run: RunResult) -> RunResult:
        """`run` with its titles, its problems and all of its verdicts masked."""
        findings = tuple(
            replace(found, title=self.mask(found.title), verdicts=tuple(map(self.verdict, found.verdicts)))
            for found in run.findings
        )
        index = replace(run.index, problems=tuple(map(self.mask, run.index.problems)))
        return replace(run, index=index, findings=findings, verdicts=tuple(map(self.verdict, run.verdicts)))


def _without_cut_word(text: str) -> str:
    """`text` without the last word where an earlier writer has cut it."""
    if not text.endswith(_CUT):
        return text
    end = text[:-1][-_LONGEST_WORD:]
    before = _NO_WORD.match(end)
    return text[: len(text) - 1 - len(end)] + (before[0] if before is not None else "") + _CUT


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
