"""How often each judge is asked the same question, and by which rule the votes become one level. Light to import."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import SciagentError

Rule = Literal["majority", "median", "strict", "mean", "weighted"]
RULES: tuple[Rule, ...] = ("majority", "median", "strict", "mean", "weighted")
WEIGHTED: Rule = "weighted"
DEFAULT_RULE: Rule = "majority"
AUTO_MOST = 5
AUTO_LEAST = 2
MOST_DRAWS = 20
_DRAWS = re.compile(r"auto(?::(?P<most>[0-9]{1,3}))?|(?P<fixed>[0-9]{1,3})")


def parse_rule(text: str) -> Rule:
    """The rule called `text`.

    Raises:
        SciagentError: there is none.
    """
    found = next((rule for rule in RULES if rule == text), None)
    if found is None:
        raise SciagentError(f"combine {text!r}: choose from {', '.join(RULES)}")
    return found


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
    match = _DRAWS.fullmatch(text.strip())
    if match is not None:
        number = int(match["most"] or match["fixed"] or AUTO_MOST)
        least = number if match["fixed"] else AUTO_LEAST
        if (1 if match["fixed"] else AUTO_LEAST + 1) <= number <= MOST_DRAWS:
            return Draws(least, number)
    raise SciagentError(
        f"draws {text!r}: write a number from 1 to {MOST_DRAWS}, auto (two, and up to {AUTO_MOST} where they differ), "
        f"or auto:N with N from {AUTO_LEAST + 1} to {MOST_DRAWS}"
    )
