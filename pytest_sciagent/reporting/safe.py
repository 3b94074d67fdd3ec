"""Text of agents and judges made fit for a report: secrets masked first, then controls made visible, then cut."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..runs.secrets import known_secrets, mask_secrets
from ..text import clean, one_line, shorten

_SHORTEST_SECRET = 8
_MOST_KEPT, _LONGEST_KEPT = 50_000, 2_000
_LONGEST_WORD = 200
_NO_WORD = re.compile(r".*[\s\"'`\\,;<>&=…]", re.DOTALL)
_ENDS = "".join(chr(plane << 16 | end) for plane in range(17) for end in (0xFFFE, 0xFFFF))
_NONCHARACTERS = re.compile(f"[\ufdd0-\ufdef{_ENDS}]")


@dataclass
class Safe:
    """Makes text safe for one report. `known` are values that are masked wherever they stand."""

    known: tuple[str, ...] = ()
    _kept: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Safe:
        """With the secrets that `environ` holds."""
        return cls(tuple(known_secrets(environ)))

    def masked(self, text: str) -> str:
        """`text` with each secret masked; line numbers stay what they are."""
        if len(text) < _SHORTEST_SECRET:
            return text
        return _without_cut_word(mask_secrets(text, self.known, keep_lines=True)[0])

    def text(self, text: str, limit: int | None = None) -> str:
        """Several lines: masked, controls and bidirectional marks shown as text, cut at `limit`."""
        shown = self._kept.get(text)
        if shown is None:
            shown = _NONCHARACTERS.sub(lambda match: f"\\U{ord(match[0]):08x}", clean(self.masked(text)))
            if len(text) <= _LONGEST_KEPT:  # the same words come again and again
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                self._kept[text] = shown
        return shown if limit is None else shorten(shown, limit)

    def line(self, text: str, limit: int) -> str:
        """As `text`, on one line."""
        return shorten(one_line(self.text(text)), limit)


def _without_cut_word(text: str) -> str:
    """`text` without the last word, where an earlier writer has cut it: that may be the first half of a secret."""
    if not text.endswith("…"):
        return text
    end = text[:-1][-_LONGEST_WORD:]
    before = _NO_WORD.match(end)
    return text[: len(text) - 1 - len(end)] + (before[0] if before is not None else "") + "…"
