"""Before the items run, the controller asks what the ledger does not know."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from functools import partial

from ..errors import SciagentError
from ..evaluation.questions import CANARY
from ..judging.decisions import is_decisions
from ..judging.pump import Progress, pump
from ..judging.requests import Question, Request
from .batching import submit, take_batches_in
from .state import SessionState


def ask_open_questions(state: SessionState, selected: Collection[str]) -> None:
    """Put every open question of the `selected` items (node ids) to the judge named, and record the answers.

    Raises:
        SciagentError: the provider says that no call can succeed, or an answer can't be recorded.
    """
    chosen = frozenset(selected)
    in_flight = take_batches_in(state)
    if state.options.how.batch:
        submit(state, [q for about_run in (True, False) for q in _open(state, chosen, about_run, in_flight)])
        return
    # First what is asked about whole runs: facts that criteria show to the judge follow from those answers.
    for about_run in (True, False):
        client = state.client()
        if client is None:
            return
        questions = list(_open(state, chosen, about_run, in_flight))
        with _ProgressLine(len(questions)) as line:
            progress = pump(questions, client, state.terms, partial(_show, state, line))
        if progress.fatal is not None:
            raise SciagentError(f"the judge {client.identity.label} can't be asked: {progress.fatal}")


def _show(state: SessionState, line: _ProgressLine, progress: Progress) -> None:
    """Keep what is being spent, which counts also where the session is interrupted, and show it."""
    if not any(progress is known for known in state.asked):
        state.asked.append(progress)
    line.show(progress)


def _open(
    state: SessionState, selected: frozenset[str], about_run: bool, in_flight: Collection[tuple[str, str]]
) -> Iterator[Question]:
    identity = state.judge.identity
    assert identity is not None  # there is a client
    for path, index in state.indexes.items():
        mine = {nodeid for nodeid in selected if nodeid.startswith(f"{index.nodeid}::")}
        if index.state != "sound" or not mine:
            continue
        case = state.case(path)
        if not about_run:
            requests = case.criterion_questions(state.rubrics_of(index), state.judge)
        elif len(mine) > 1 and not is_decisions(identity):  # a single item is not asked for the score of its run
            requests = case.questions.about_run()
        else:
            continue
        for request in requests:
            wanted = about_run or _is_asked(index.nodeid, request, mine)
            key = request.key(identity)
            if wanted and (case.run.label, key) not in in_flight and case.answers.is_open(key):
                group = f"{index.nodeid}::{request.finding}::{request.kind}"
                yield Question(request, case.answers, group, case.run.label)


def _is_asked(run: str, request: Request, selected: Collection[str]) -> bool:
    """Whether a selected item asks this; the canary is asked for every finding that has a selected item."""
    finding = f"{run}::{request.finding}::"
    if request.criterion_id == CANARY:
        return any(nodeid.startswith(finding) for nodeid in selected)
    return f"{finding}{request.criterion_id}" in selected


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
            cost = f", {progress.cost_usd:.2f} USD" if progress.cost_usd else ""
            left = self._total - progress.done - progress.asking
            told = f"{progress.done} answered{failed}, {progress.in_flight} in flight, {max(left, 0)} left{cost}"
            sys.stderr.write(f"\rjudge: {told} ")
            sys.stderr.flush()

    def __exit__(self, *exc: object) -> None:
        if self._live:
            sys.stderr.write("\n")
