"""An excerpt of a long text: its beginning and the blocks that speak of the finding, in order, every gap marked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from .numbers import extract_numbers
from .wide import narrowed

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_BACKQUOTED = re.compile(r"`([^`\n]{1,200})`")
_TABLES = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".pq", ".npy", ".npz", ".h5", ".hdf5", ".hdf", ".nc", ".nc4")
_BY_LINE = (*_TABLES, ".log")
_RECORDS = (".jsonl", ".ndjson")
MAX_LINE = 4000
_PART = re.compile(r".{1,400}(?:[, ]|$)|.{1,400}", re.DOTALL)
"""A part of an endless line: 400 characters at most, up to a comma or space where there is one."""
HEAD_SHARE = 0.25
BLOCK_LINES = 12
NUMBER_WEIGHT, NAME_WEIGHT, WORD_WEIGHT = 8, 6, 1
MAX_CUES = 400
MAX_LOOKUPS = 50_000_000
"""Blocks of one text, times the numbers and names that are looked up in each."""
MAX_CODE = 500_000


@dataclass(frozen=True)
class Cues:
    """What a finding speaks of: the digits of its numbers, the names it quotes, its longer words."""

    numbers: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Cues:
        """The cues in the text of a finding."""
        quantities = [n for n in extract_numbers(text) if n.role not in {"date", "identifier"} and not n.weak]
        numbers = {n.text.lstrip("+-−~<>≤≥ ").replace(",", "") for n in quantities[:MAX_CUES]}
        names = {part for quoted in _BACKQUOTED.findall(text) for part in re.split(r"[\s/,]+", quoted) if len(part) > 3}
        words = {word.lower() for word in _WORD.findall(text)}
        return cls(frozenset(numbers), frozenset(sorted(names)[:MAX_CUES]), frozenset(sorted(words)[:MAX_CUES]))

    def score(self, block: str) -> int:
        """How much a block speaks of the finding."""
        # Without generators and, for most blocks, without a set: a table may have a million rows.
        score = NUMBER_WEIGHT * sum(map(block.__contains__, self.numbers))
        score += NAME_WEIGHT * sum(map(block.__contains__, self.names))
        found = _WORD.findall(block)
        return score + WORD_WEIGHT * len(self.words.intersection(map(str.lower, found))) if found else score


def excerpt(path: str, text: str, room: int, cues: Cues) -> tuple[str, int]:
    """`text` of the file `path` in about `room` characters, and how many characters were left out.

    Tables are cut by rows, and by columns where rows are endless; Python code by top-level statements (whole functions,
    classes by their methods), other text by blocks of lines. What stands on a line of its own that is too long is cut
    at commas and spaces.
    """
    if len(text) <= room:
        return text, 0
    narrow = narrowed(path, text, room, cues) if path.lower().endswith(_TABLES) else None
    if narrow is None:
        return _by_blocks(path, text, room, cues)
    removed = len(text) - len(narrow)
    note = f"[... {removed:,} characters are left out here: columns, and ends of long cells ...]\n"
    shown, cut = _by_blocks(path, narrow, max(room - len(note), 0), cues)
    return note + shown, removed + cut


def _by_blocks(path: str, text: str, room: int, cues: Cues) -> tuple[str, int]:
    if len(text) <= room:
        return text, 0
    blocks = _blocks(path, text)
    chosen = _choose(blocks, room, cues)
    if not chosen:
        cut = text[:room]
        return f"{cut}\n[... {len(text) - room:,} characters are left out here ...]\n", len(text) - room
    parts: list[str] = []
    left_out = gap = 0
    for number, block in enumerate(blocks):
        if number in chosen:
            if gap:
                parts.append(f"[... {gap:,} characters are left out here ...]\n")
            parts.append(block)
            gap = 0
        else:
            gap += len(block)
            left_out += len(block)
    if gap:
        parts.append(f"[... {gap:,} characters are left out here ...]\n")
    return "".join(parts), left_out


def _choose(blocks: Sequence[str], room: int, cues: Cues) -> set[int]:
    """The first blocks, up to a quarter of the room, then the best ones that fit; of equals the earlier.

    Of very many blocks only the first are compared with the cues: as many as `MAX_LOOKUPS` allows.
    """
    chosen: set[int] = set()
    used = 0
    for number, block in enumerate(blocks):
        if used + len(block) > room * HEAD_SHARE and chosen:
            break
        if len(block) > room:
            break
        chosen.add(number)
        used += len(block)
    compared = min(len(blocks), MAX_LOOKUPS // (len(cues.numbers) + len(cues.names) + 1))
    scores = [cues.score(block) for block in blocks[:compared]]
    # Sorting keeps the order of equals.
    for number in sorted((n for n in range(compared) if n not in chosen), key=lambda n: -scores[n]):
        if used + len(blocks[number]) <= room:
            chosen.add(number)
            used += len(blocks[number])
    return chosen


def _blocks(path: str, text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    if path.lower().endswith(_BY_LINE):
        return lines
    if path.lower().endswith(_RECORDS):
        return list(_short(lines))
    starts = _statements(text) if path.endswith(".py") else []
    return list(_short(_slices(lines, starts or range(0, len(lines), BLOCK_LINES))))


def _short(blocks: Iterable[str]) -> Iterable[str]:
    """`blocks`, those that hold one endless line cut at commas and spaces."""
    for block in blocks:
        if len(block) > MAX_LINE and "\n" not in block[:MAX_LINE]:
            yield from (part for part in _PART.findall(block) if part)
        else:
            yield block


@lru_cache(128)  # each finding of a run is shown the run's code
def _statements(text: str) -> list[int]:
    """The lines (from 0) at which top-level statements begin; none if the code can't be read, or is too long for it."""
    if len(text) > MAX_CODE:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    members = [node for whole in tree.body if isinstance(whole, ast.ClassDef) for node in whole.body]
    return sorted({0, *(_first_line(node) - 1 for node in [*tree.body, *members])})


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def _slices(lines: Sequence[str], starts: Iterable[int]) -> Iterable[str]:
    bounds = [*starts, len(lines)]
    for begin, end in pairwise(bounds):
        if end > begin:
            yield "".join(lines[begin:end])
