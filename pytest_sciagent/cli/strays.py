"""Answers that fit no question now: where they belong, or what has changed since they were asked for."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..text import one_line

if TYPE_CHECKING:
    from ..evaluation import Case
    from ..judging.exports import Export, Exported, ExportOptions
    from ..judging.handoff import Answer
    from ..judging.requests import Request
    from .handed import Given

Place = tuple[str, str, str, str | None]
"""Which question: its run, kind, criterion and finding."""


def why_strays(
    path: Path,
    runs: Sequence[Path],
    asked: Given,
    stale: Sequence[Answer],
    present: Mapping[Place, Request],
    cases: Sequence[Case],
) -> list[str]:
    """Why the answers `stale` of the file `path` fit no question of `runs` now, each reason once. present: every
    question as it is asked now."""
    from ..judging.exports import remembered

    known = remembered(asked.exports, {answer.key for answer in stale})
    guessed = _guesses(asked, cases, {answer.key for answer in stale if answer.key not in known})
    reasons: dict[str, list[int]] = {}
    for answer in stale:
        if answer.key in known:
            why = _why(*known[answer.key], path, runs, asked, present)
        elif answer.key in guessed:
            why = _elsewhere(guessed[answer.key], path, runs)
        else:
            why = f"no such prompt (any more): {one_line(answer.key, 80)}. {_UNKNOWN}"
        reasons.setdefault(why, []).append(answer.line)
    return [f"{path}:{lines[0]}{_and_more(lines)}: {why}" for why, lines in reasons.items()]


_UNKNOWN = (
    "No export from this folder has it; give import the RUNS, --as, --layout, --rubric, --templates, --tasks, --canary "
    "and --draw that export had"
)


def _and_more(lines: Sequence[int]) -> str:
    return f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""


def _why(
    export: Export,
    question: Exported,
    path: Path,
    runs: Sequence[Path],
    asked: Given,
    present: Mapping[Place, Request],
) -> str:
    from ..judging.earlier import changes

    if export.options != asked.options:
        return _elsewhere(export.options, path, runs)
    request = present.get((question.run, question.kind, question.criterion_id, question.finding))
    if request is None:
        what = f"{question.criterion_id} of {question.finding or 'the run'}"
        return f"exported {export.time}, but {what} in {question.run} is no question of these RUNS now"
    changed = ", ".join(changes(question, request)) or "how questions are made"
    return f"exported {export.time}, but the prompt is another one now; changed since: {changed}. Export it again"


def _elsewhere(options: ExportOptions, path: Path, runs: Iterable[Path]) -> str:
    words = ["sciagent", "ledger", "import", str(path), *map(str, runs), *options.arguments()]
    who = f"exported as {one_line(options.name, 80)!r} with layout {options.layout}"
    return f"{who}, under other options than these; to take it in: {' '.join(map(shlex.quote, words))}"


def _guesses(asked: Given, cases: Sequence[Case], keys: set[str]) -> dict[str, ExportOptions]:
    """Under which other layout, or name that is recorded, questions have these keys."""
    from ..judging.handoff import LAYOUTS, handoff_identity

    found: dict[str, ExportOptions] = {}
    recorded = {judge.model for case in cases for judge in case.ledger.judges().values() if judge.kind == "handoff"}
    names = dict.fromkeys([asked.options.name, *sorted(recorded)])
    for name, layout in ((name, layout) for name in names for layout in LAYOUTS) if keys else ():
        judge = handoff_identity(name, layout)
        options = asked.options.model_copy(update={"name": name, "layout": layout})
        for case in cases:
            for request in asked.questions(case, judge):
                key = request.key(judge)
                if key in keys:
                    found.setdefault(key, options)
    return found
