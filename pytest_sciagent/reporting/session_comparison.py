"""What a session with several systems says about them: their scores compared, as `sciagent compare` does it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .comparison import compare_scores
from .comparison_text import score_sections

if TYPE_CHECKING:
    from .results import Results


MOST = 6
"""Of more systems there are more pairs than anyone reads in passing."""


def comparison_lines(results: Results) -> Iterator[str]:
    """Lines for the terminal; none where fewer than two systems have a score."""
    if len(results.systems) < 2:
        return
    if len(results.systems) > MOST:
        yield ""
        yield f"{len(results.systems)} systems: compare them with sciagent compare and the same runs"
        return
    rows = [
        {
            "system": run.index.system,
            "task": run.index.task_id,
            "score_low": float(run.total.low),
            "score_high": float(run.total.high),
        }
        for run in results.runs
        if run.total is not None
    ]
    for title, lines in score_sections(compare_scores(rows)):
        yield ""
        yield title
        yield from lines
    yield "  more: sciagent compare, with the same runs"
