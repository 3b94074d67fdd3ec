"""The outputs that a session leaves when all scores are known, each asked for by its own option."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..text import counted, one_line

if TYPE_CHECKING:
    from ..collection.state import SessionState
    from ..gates.decision import Asked
    from .board import Board
    from .results import Results

Writer: TypeAlias = Callable[[], str | None]
"""Writes an output; gives a line for the terminal, where there is something to tell."""


def prepare(board: Board) -> None:
    """Before anything runs: see that what an output needs is installed, and be ready for pytest-html's page.

    Raises:
        SciagentError: packages that an output needs.
    """
    config = board.state.config
    if board.state.options.outputs.otel:
        from .otel import check_otel

        check_otel()
    if config.pluginmanager.hasplugin("html") and config.getoption("htmlpath", None):
        from .pytest_html import HtmlColumns

        config.pluginmanager.register(HtmlColumns(board), "sciagent-html-columns")


def writers(results: Results, state: SessionState, gates: Sequence[Asked]) -> Iterator[Writer]:
    """What writes each output that was asked for. Each may raise SciagentError; the others are written all the same."""
    outputs, words = state.options.outputs, state.words
    if outputs.json is not None:
        from .json_file import write_json

        yield partial(write_json, outputs.json, results)
    if outputs.jsonl is not None:
        from .lines_file import write_lines

        yield partial(write_lines, outputs.jsonl, results, words)
    if outputs.summary is not None:
        from .summary import write_summary_file

        yield partial(write_summary_file, outputs.summary, results, words)
    if outputs.code_quality is not None:
        from .code_quality import write_code_quality
        from .places import Places

        places = Places(state.options.rubrics, state.options.rootdir, state.options.base)
        yield partial(write_code_quality, outputs.code_quality, results, words, places)
    if outputs.otel:
        from .otel import send_events

        yield partial(send_events, results, words)
    if outputs.html is not None:
        yield partial(_write_pages, outputs.html, state, results, gates)


def _write_pages(path: Path, state: SessionState, results: Results, gates: Sequence[Asked]) -> str:
    from .html.session import write_session_html

    first, *others = write_session_html(path, state, results, gates)
    beside = f" (and {counted(len(others), 'page')} beside it)" if others else ""
    return f"HTML report: {one_line(str(first))}{beside}"
