"""A session that takes a part of the runs: which part is told by their labels alone, so that every machine agrees."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

MOST = 10_000


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` (from 1) of `count`."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def has(self, label: str) -> bool:
        """Whether the run called `label` belongs to this part."""
        return int(hashlib.sha256(label.encode()).hexdigest()[:8], 16) % self.count == self.number - 1

    def has_run(self, path: Path) -> bool:
        """Whether the run in `path` does."""
        from .index import label_of

        return self.has(label_of(path))


def parse_shard(text: str) -> Shard:
    """The shard written as `i/n`.

    Raises:
        pytest.UsageError: it is none.
    """
    match = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= MOST:
        raise pytest.UsageError(f"--sciagent-shard {text!r}: write I/N with I from 1 to N, such as 2/4")
    return Shard(int(match[1]), int(match[2]))
