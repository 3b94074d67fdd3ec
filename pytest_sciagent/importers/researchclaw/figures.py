"""Which figures of a run speak to a criterion about a figure: told by their captions and by where the report refers to
them, never by their order on disk."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...runs import Run
from ...text import one_line
from .tasks import Checklist, Item

MOST = 5
_IMAGE = re.compile(r"!\[([^\]\n]{0,500})\]\(\s*<?([^)\s>]{1,500})>?[^)\n]{0,200}\)")
_CAPTION = re.compile(r"^\W{0,4}(?:fig(?:ure|\.)?)\s*\.?\s*(\d{1,3})\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]{3,}")
_CAPTION_WEIGHT, _NAME_WEIGHT, _TEXT_WEIGHT = 3, 2, 1
_AROUND = 2
_COMMON = frozenset({"this", "that", "with", "from", "figure", "shows", "show", "between", "results", "using", "than"})


@dataclass(frozen=True)
class Figure:
    """A figure that the report shows. `text` is what the report says where it refers to it."""

    path: str
    line: int
    caption: str
    text: str


def match_figures(run: Run, checklist: Checklist) -> dict[str, list[dict[str, Any]]]:
    """For each criterion about a figure, the run's figures that speak to it, best first, with the words they share.

    A criterion to which no figure speaks has none. Figures of the run that the report does not show are not candidates.
    """
    found = figures_in(run.report_text or "", run.manifest.report or "")
    figures = [figure for figure in found if figure.path in run.files]
    return {
        id: list(_matches(item, figures))
        for id, item in zip(checklist.ids, checklist.items, strict=True)
        if item.type == "image"
    }


def figures_in(report: str, path: str) -> list[Figure]:
    """The figures shown in the text of the report at `path`, each once, with caption and the lines that refer to it."""
    lines = report.replace("\r\n", "\n").split("\n")
    found: dict[str, Figure] = {}
    for number, line in enumerate(lines):
        for match in _IMAGE.finditer(line[:5_000]):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2]))
            if place not in found:
                caption = _caption(lines, number, match[1])
                found[place] = Figure(place, number + 1, caption, _references(lines, number, caption))
    return list(found.values())


def _caption(lines: list[str], number: int, alt: str) -> str:
    """The alternative text, and the line below or above that starts like a caption."""
    near = [*lines[number + 1 : number + 1 + _AROUND], *lines[max(number - _AROUND, 0) : number]]
    captions = [one_line(line, 500) for line in near if _CAPTION.match(line.strip())]
    return " ".join(part for part in (one_line(alt, 500), *captions[:1]) if part)


def _references(lines: list[str], number: int, caption: str) -> str:
    """The paragraphs' lines around the figure, and every line that names it by its number."""
    match = _CAPTION.search(caption)
    chosen = set(range(max(number - _AROUND, 0), min(number + _AROUND + 1, len(lines))))
    if match is not None:
        named = re.compile(rf"\bfig(?:ure|\.)?\s*\.?\s*{match[1]}\b", re.IGNORECASE)
        chosen |= {n for n, line in enumerate(lines) if named.search(line[:5_000])}
    return " ".join(lines[n][:2_000] for n in sorted(chosen))


def _matches(item: Item, figures: list[Figure]) -> Iterator[dict[str, Any]]:
    wanted = _words(" ".join((item.content, *item.keywords, posixpath.basename(item.path or "").replace("_", " "))))
    scored = []
    for figure in figures:
        parts = (
            (_CAPTION_WEIGHT, _words(figure.caption)),
            (_NAME_WEIGHT, _words(re.sub(r"[_./]", " ", posixpath.basename(figure.path)))),
            (_TEXT_WEIGHT, _words(figure.text)),
        )
        shared = {word for _, words in parts for word in words & wanted}
        scored.append((sum(weight * len(words & wanted) for weight, words in parts), figure, shared))
    scored.sort(key=lambda one: (-one[0], one[1].line))
    for points, figure, shared in scored[:MOST]:
        if points:
            yield {
                "path": figure.path,
                "line": figure.line,
                "caption": figure.caption,
                "points": points,
                "shared": sorted(shared)[:20],
            }


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _COMMON
