"""The files that a session leaves when all scores are known, each asked for by its own option."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..collection.state import SessionState
    from .results import Results


def writers(results: Results, state: SessionState) -> Iterator[Callable[[], None]]:
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
