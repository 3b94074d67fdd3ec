"""What a check that found nothing says: which files and columns it looked at, and what would have done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ..text import one_line
from .code import Source
from .scope import Result, Scope

MAX_FILES, MAX_NAMES, MAX_NAME = 3, 6, 40


def among(results: Iterable[Result]) -> str:
    """Results by path, each with its columns or keys: "output/fit.csv (columns year, slope)"."""
    shown = [f"{one_line(result.path, 80)}{_named(result)}" for result in results]
    return some(shown) or "no result"


def through(sources: Iterable[Source]) -> str:
    """Programs by path."""
    return some([one_line(source.path, 80) for source in sources]) or "no code"


def unlinked(scope: Scope, what: str, example: str) -> str:
    """Why the finding leads to no `what`: what it names instead, and how to name one."""
    lost = [f"`{one_line(mention.text, 80)}`" for mention in scope.finding.mentions if not mention.paths]
    if scope.named_unread and what == "result":
        return f"it names {some([one_line(why, 160) for why in scope.named_unread])}"
    is_lost = f"it names {some(lost)}, which the run has not; " if lost else ""
    return f"{is_lost}name one in its section by its path in backticks, such as `{example}`"


def _named(result: Result) -> str:
    names = list(dict.fromkeys(one_line(name, MAX_NAME) for name in _names(result)))
    kind = "keys" if result.data is not None else "columns"
    return f" ({kind} {some(names, MAX_NAMES)})" if names else ""


def _names(result: Result) -> Iterator[str]:
    if result.data is not None:
        for _, node in result.objects[:50]:
            yield from islice(node, 50)
    else:
        for table in result.tables:
            yield from table.columns[:50]


def some(items: list[str], most: int = MAX_FILES) -> str:
    """The first items, and how many there are besides."""
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more:,} more" if more > 0 else "")
