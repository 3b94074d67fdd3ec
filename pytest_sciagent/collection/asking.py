"""Before the items run, the controller asks what the ledger does not know."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..errors import SciagentError
from ..judging.pump import Progress, Question, pump
from ..judging.requests import Request
from ..judging.settle import answered
from .state import SessionState


def ask_open_questions(state: SessionState, session: pytest.Session) -> None:
    """Put every open question of the selected items to the judge named, and record the answers.

    Raises:
        SciagentError: the provider says that no call can succeed.
    """
    # First what is asked about whole runs: facts that criteria show to the judge follow from those answers.
    for about_run in (True, False):
        client = state.client()
        if client is None:
            return
        questions = list(_open(state, session, about_run))
        with _ProgressLine(len(questions)) as line:
            progress = pump(questions, client, state.options.in_flight, line.show)
        if progress.fatal is not None:
            raise SciagentError(f"the judge {client.identity.label} can't be asked: {progress.fatal}")


def _open(state: SessionState, session: pytest.Session, about_run: bool) -> Iterator[Question]:
    selected = {item.nodeid for item in session.items} or None  # under xdist only the workers know the selection
    for index in state.indexes.values():
        if index.state != "sound":
            continue
        case = state.case(Path(index.path))
        for request in (
            case.questions.about_run() if about_run else case.criterion_questions(state.rubrics, state.judge)
        ):
            if selected is not None and not _wanted(request, index.nodeid, selected):
                continue
            known = case.ledger.get(request.key(state.judge.identity)) if state.judge.identity else None
            if state.options.mode == "refresh" or not answered(known):
                yield Question(request, case.answers, f"{index.nodeid}::{request.finding}::{request.kind}")


def _wanted(request: Request, run: str, selected: set[str]) -> bool:
    """Whether an item asks this; questions about the run are asked when more than one item of it is selected."""
    if request.kind == "criterion":
        return f"{run}::{request.finding}::{request.criterion_id}" in selected
    return sum(nodeid.startswith(f"{run}::") for nodeid in selected) > 1


class _ProgressLine:
    """One line on a terminal that tells how far the judge is; nothing where there is no terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._live = sys.stderr.isatty()

    def __enter__(self) -> _ProgressLine:
        return self

    def show(self, progress: Progress) -> None:
        if self._live:
            failed = f", {progress.failed} failed" if progress.failed else ""
            sys.stderr.write(f"\rjudge: {progress.done} of {self._total} answered{failed} ")
            sys.stderr.flush()

    def __exit__(self, *exc: object) -> None:
        if self._live:
            sys.stderr.write("\n")
