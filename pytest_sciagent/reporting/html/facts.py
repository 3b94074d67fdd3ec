"""Receipts for people: facts of any shape as named texts, lists and small tables, each bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...models import GAPS, Verdict
from ..words import Words
from .views import SIGNS, Fact, Grid, Outcome, Votes

MAX_FACTS = 24
MAX_ROWS = 8
MAX_COLUMNS = 6
MAX_DEPTH = 3
MAX_VOTES = 20
TEXT = 300
CELL = 120
_TOLD_ELSEWHERE = frozenset({"instructions_in_evidence"})
_OUTCOMES: dict[float, Outcome] = {0: "zero", 0.5: "half", 1: "full"}


def outcome_of(level: float | None, is_error: bool) -> Outcome:
    """How a level is shown."""
    return ("error" if is_error else "open") if level is None else _OUTCOMES[level]


def more(count: int, what: str = "more") -> str:
    """`3 more in the JSON file`, or nothing."""
    return f"{count:,} {what} in the full JSON (--sciagent-json)" if count > 0 else ""


def facts_of(facts: Mapping[str, Any], words: Words) -> tuple[Fact, ...]:
    """The facts of a receipt, without those that are told in a place of their own."""
    return _mapping({name: value for name, value in facts.items() if name not in _TOLD_ELSEWHERE}, words, 0)


def _mapping(facts: Mapping[str, Any], words: Words, depth: int) -> tuple[Fact, ...]:
    shown = [_fact(_name(name, words), value, words, depth) for name, value in list(facts.items())[:MAX_FACTS]]
    left = len(facts) - MAX_FACTS
    return (*shown, Fact("", more=more(left))) if left > 0 else tuple(shown)


def _fact(name: str, value: Any, words: Words, depth: int) -> Fact:
    if isinstance(value, Mapping) and value:
        if depth < MAX_DEPTH:
            return Fact(name, facts=_mapping(value, words, depth + 1))
    elif isinstance(value, list) and value:
        if all(isinstance(row, Mapping) for row in value):
            return Fact(name, grid=_grid(value, words))
        left = more(len(value) - MAX_ROWS)
        if depth < MAX_DEPTH:
            return Fact(name, facts=tuple(_fact("", one, words, depth + 1) for one in value[:MAX_ROWS]), more=left)
    return Fact(name, text=_text(value, words, TEXT))


def _grid(rows: Sequence[Mapping[str, Any]], words: Words) -> Grid:
    columns = list(dict.fromkeys(name for row in rows[:MAX_ROWS] for name in row))
    kept = columns[:MAX_COLUMNS]
    cells = [
        ("", tuple(_text(row.get(name), words, CELL) for name in kept), frozenset[int]()) for row in rows[:MAX_ROWS]
    ]
    left = [more(len(columns) - MAX_COLUMNS, "more columns"), more(len(rows) - MAX_ROWS, "more rows")]
    return Grid(tuple(_name(name, words) for name in kept), tuple(cells), "; ".join(part for part in left if part))


def _name(name: str, words: Words) -> str:
    """A fact's name as words; one that is a path stays as it is."""
    return words.line(name.replace("_", " ") if name.isidentifier() else name, 80)


def _text(value: Any, words: Words, limit: int) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | dict):
        return words.line(str(value), limit) if value else "none"
    return words.line(str(value), limit) or "(empty)"


def votes_of(verdict: Verdict, words: Words) -> Votes | None:
    """The votes of a panel or of several draws; None where a single answer decided."""
    votes = verdict.votes
    if not votes:
        return None
    rows = []
    for vote in votes[:MAX_VOTES]:
        outcome = outcome_of(vote.level, vote.status not in GAPS)
        shown = words.line(vote.status.replace("_", " "), 40) if vote.level is None else SIGNS[outcome]
        weight = f" (weight {vote.weight:.2f})" if vote.weight is not None else ""
        who = words.line(vote.judge, 80) + weight
        rows.append((who, str(vote.draw), outcome, shown, words.line(vote.reason, TEXT)))
    given = [vote.level for vote in votes if vote.level is not None]
    told = [f"{len(votes)} votes"]
    if verdict.level is not None:
        told.append(f"{sum(level == verdict.level for level in given)} for this level")
    if without := len(votes) - len(given):
        told.append(f"{without} without a level")
    agreed = len({vote.level for vote in votes}) == 1
    return Votes(tuple(rows), agreed, ", ".join(told), more(len(votes) - MAX_VOTES))


def warnings_of(facts: Mapping[str, Any], words: Words) -> tuple[str, ...]:
    """What in the evidence reads like an instruction to the judge."""
    flags = facts.get("instructions_in_evidence")
    if not isinstance(flags, list):
        return ()
    told = [
        f"{flag.get('file')}, line {flag.get('line')} of what was shown: {flag.get('excerpt')}"
        for flag in flags
        if isinstance(flag, Mapping)
    ]
    left = [more(len(told) - 3)] if len(told) > 3 else []
    return (*(words.line(line, TEXT) for line in told[:3]), *left)
