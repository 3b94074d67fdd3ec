"""How often each judge is asked the same question, and by which rule the votes become one level. Light to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import SciagentError

Rule = Literal["majority", "median", "strict", "mean"]
RULES: tuple[Rule, ...] = ("majority", "median", "strict", "mean")
DEFAULT_RULE: Rule = "majority"
AUTO_MOST = 5
AUTO_LEAST = 2
MOST_DRAWS = 20


@dataclass(frozen=True, slots=True)
class Draws:
    """Each judge answers a question `least` times; where those answers differ, up to `most` times."""

    least: int = 1
    most: int = 1

    def wants(self, levels: Sequence[float | None]) -> bool:
        """Whether one judge is to be asked once more, given the levels of its draws so far (None: it failed)."""
        if len(levels) < self.least:
            return True
        return len(levels) < self.most and len(set(levels)) > 1

    def __str__(self) -> str:
        """As a user writes it."""
        return str(self.least) if self.least == self.most else f"auto:{self.most}"


ONCE = Draws()


def parse_draws(text: str) -> Draws:
    """What `K`, `auto` or `auto:N` stands for.

    Raises:
        SciagentError: anything else.
    """
    word, colon, number = text.strip().partition(":")
    if word == "auto":
        if not colon:
            return Draws(AUTO_LEAST, AUTO_MOST)
        if number.isdecimal() and AUTO_LEAST < int(number) <= MOST_DRAWS:
            return Draws(AUTO_LEAST, int(number))
    elif not colon and word.isdecimal() and 1 <= int(word) <= MOST_DRAWS:
        return Draws(int(word), int(word))
    raise SciagentError(
        f"draws {text!r}: write a number from 1 to {MOST_DRAWS}, auto (two, and up to {AUTO_MOST} where they differ), "
        f"or auto:N with N from {AUTO_LEAST + 1} to {MOST_DRAWS}"
    )
