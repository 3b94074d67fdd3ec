"""Markdown out of words that others chose: inert wherever GitHub or GitLab show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_LOOKALIKE = str.maketrans({"`": "'", "|": "¦"})


def code(text: str) -> str:
    """One line of text as a code span: in it nothing is HTML, a link, an @mention, a #reference or an emoji.

    What could end the span or a cell of a table is replaced by its lookalike. `text` is on one line already
    (`Words.line`, `text.one_line`).
    """
    plain = " ".join(text.translate(_LOOKALIKE).split())
    return f"`{plain}`" if plain else "` `"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table: the first column to the left, the others to the right. Cells are Markdown already."""
    ruler = ["---", *["---:"] * (len(head) - 1)]
    return ["| " + " | ".join(cells) + " |" for cells in (head, ruler, *rows)]


def fit(lines: Iterable[str], limit: int, note: str) -> str:
    """The lines as one text of at most `limit` bytes of UTF-8: cut between two lines, and `note` says so."""
    kept: list[str] = []
    room = limit - len(note.encode()) - 2
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            return "\n".join([*kept, "", note]) + "\n"
        kept.append(line)
    return "\n".join(kept) + "\n"
