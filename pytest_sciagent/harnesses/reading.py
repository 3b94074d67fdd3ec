"""Reading what harnesses print: lines of JSON, counts of tokens and cost; and filling in command lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from ..errors import SciagentError
from ..models import Usage


class Meter:
    """Adds up what a harness tells of tokens and cost, line by line."""

    def __init__(self) -> None:
        self.session_id: str | None = None
        self._turns: list[dict[str, float]] = [{}]

    def next_turn(self) -> None:
        """A new start of the harness: numbers that count up within a start begin again."""
        self._turns.append({})

    def add(self, **counts: object) -> None:
        """More on top of what this turn has used."""
        turn = self._turns[-1]
        for name, value in counts.items():
            if is_count(value):
                turn[name] = turn.get(name, 0) + value

    def set(self, **counts: object) -> None:
        """What this turn has used altogether."""
        self._turns[-1] |= {name: value for name, value in counts.items() if is_count(value)}

    def _total(self, name: str) -> float | None:
        told = [turn[name] for turn in self._turns if name in turn]
        return sum(told) if told else None

    @property
    def usage(self) -> Usage:
        tokens = {n: None if (t := self._total(n)) is None else int(t) for n in ("input_tokens", "output_tokens")}
        return Usage(**tokens, cost_usd=self._total("cost_usd"))

    @property
    def tokens(self) -> int:
        usage = self.usage
        return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def is_count(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with each {name} of `values` replaced, once and not again inside what was put in.

    Raises:
        SciagentError: a name in braces that is none of them.
    """

    def put(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise SciagentError(f"command: no placeholder {{{match[1]}}}; there are {', '.join(sorted(values))}")
        return values[match[1]]

    return re.sub(r"\{([a-z_]+)\}", put, text)


def json_object(line: str) -> dict[str, Any]:
    """The JSON object that a line holds; empty for anything else."""
    text = line.strip()
    if not text.startswith("{"):
        return {}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def pointed(data: Any, pointer: str) -> Any:
    """What a JSON pointer such as `/usage/input_tokens` leads to; None where there is nothing."""
    for step in _steps(pointer):
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and step.isdecimal() and int(step) < len(data):
            data = data[int(step)]
        else:
            return None
    return data


def text_at(data: Any, pointer: str) -> str | None:
    """The text that a pointer leads to, of a length that can be an id; None for anything else."""
    found = pointed(data, pointer)
    return found if isinstance(found, str) and 0 < len(found) <= 200 else None


def _steps(pointer: str) -> Iterable[str]:
    parts = pointer.split("/")
    return (part.replace("~1", "/").replace("~0", "~") for part in (parts[1:] if parts[0] == "" else parts))
