"""Plain text in columns, at most 100 wide, and numbers as people read them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from fractions import Fraction

from ..scoring.interval import format_fraction

WIDTH = 100
INDENT = "  "
NOTHING = "-"


def columns(head: Sequence[str], rows: Iterable[Sequence[str] | str]) -> list[str]:
    """A table: the first column to the left, the others to the right. A row that is a text is a heading by itself.

    Columns that do not fit go into further tables below, each with the first column again.
    """
    all_rows = list(rows)
    cells = [row for row in all_rows if not isinstance(row, str)]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    lines: list[str] = []
    start = 1
    while start < len(head):
        end, used = start, len(INDENT) + widths[0]
        while end < len(head) and (end == start or used + 2 + widths[end] <= WIDTH):
            used += 2 + widths[end]
            end += 1
        shown = [0, *range(start, end)]
        lines += [""] if lines else []
        lines += [
            _line([row[n] for n in shown], [widths[n] for n in shown]) if not isinstance(row, str) else row
            for row in (head, *all_rows)
        ]
        start = end
    return lines


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = [f"{cells[0]:<{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(cells[1:], widths[1:], strict=True))]
    return (INDENT + "  ".join(shown)).rstrip()


def paragraph(text: str) -> list[str]:
    """One statement, wrapped; its further lines are indented."""
    return textwrap.wrap(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT * 2, break_on_hyphens=False)


def number(value: float | None, digits: int = 1) -> str:
    """`value` with `digits` decimals, halves to even in decimals as written; a dash for None."""
    return NOTHING if value is None else format_fraction(Fraction(repr(float(value))), digits)


def signed(value: float | None, digits: int = 1) -> str:
    """As `number`, with a plus sign where it is not negative."""
    shown = number(value, digits)
    return shown if value is None or shown.startswith("-") else f"+{shown}"


def span(low: float | None, high: float | None, digits: int = 1) -> str:
    """Two ends: `71.0`, or `71.0..74.2` where they differ."""
    return number(low, digits) if low == high else f"{number(low, digits)}..{number(high, digits)}"


def percent(low: float | None, high: float | None, digits: int = 0) -> str:
    """Two ends of a share (0..1) in percent."""
    shown = [None if end is None else end * 100 for end in (low, high)]
    return span(shown[0], shown[1], digits)


def interval(low: float | None, high: float | None) -> str:
    """A confidence interval; a dash where there is none."""
    return NOTHING if low is None or high is None else f"[{number(low)}, {number(high)}]"


def probability(p: float | None) -> str:
    """A p-value."""
    return NOTHING if p is None else "<0.001" if p < 0.001 else number(p, 3)
