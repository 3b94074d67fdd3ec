"""What a notebook shows: plain tables. Every word is cleaned, cut and escaped, as agents' names are words of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..text import clean, one_line, shorten

MAX_CELL = 200
MAX_TEXT = 100_000


def as_table_html(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption."""
    head = "".join(f"<th>{_cell(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows)
    caption = f"<caption>{_cell(title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def as_text_html(text: str) -> str:
    """Text as it stands, with its lines."""
    return f"<pre>{escape(shorten(clean(text), MAX_TEXT))}</pre>"


def _cell(value: object) -> str:
    return escape(shorten(one_line(str(value)), MAX_CELL))
