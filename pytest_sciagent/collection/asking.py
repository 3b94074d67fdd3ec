"""Before the items run, the controller asks what the ledger does not know."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator

from ..evaluation import Case
from ..evaluation.open_questions import ask_all, open_about_criteria, open_about_run, share_out
from ..judging.judge import Judge
from ..judging.pump import Progress
from ..judging.requests import Question, Request
from ..models import CANARY
from .batching import submit, take_batches_in
from .index import RunIndex
from .providers import make_clients, terms_of
from .state import SessionState


def ask_open_questions(state: SessionState, selected: Collection[str]) -> None:
    """Put every open question of the `selected` items (node ids) to the judges named, and record the answers.

    Raises:
        SciagentError: a provider says that no call can succeed, or an answer can't be recorded.
    """
    chosen = frozenset(selected)
    in_flight = take_batches_in(state)

    def about_runs() -> Iterator[tuple[Judge, Question]]:
        return _open(_about_runs(state, chosen), in_flight)

    def about_criteria() -> Iterator[tuple[Judge, Question]]:
        return _open(_about_criteria(state, chosen), in_flight)

    if state.options.how.batch:
        submit(state, [*about_runs(), *about_criteria()])
        return
    # First what is asked about whole runs: facts that criteria show to the judge follow from those answers.
    _ask(state, about_runs)
    draws = state.options.panel.draws
    for _ in range(1 + draws.most - draws.least):  # a further draw is asked for once it is known that others differ
        if not _ask(state, about_criteria):
            return


def _ask(state: SessionState, find: Callable[[], Iterable[tuple[Judge, Question]]]) -> int:
    """Ask the questions that `find` gives for judges of providers, all judges at the same time; returns how many."""
    shared = share_out(find(), ((judge, client, terms_of(state, judge)) for judge, client in make_clients(state)))
    total = sum(len(questions) for questions, *_ in shared)
    if total:
        state.recording.writer(state.sources.work)  # where nothing can be written down, nothing is paid for
    with _ProgressLine(total, state.asked) as line:
        ask_all(shared, line.watch)
    return total


def _open(
    found: Iterable[tuple[Judge, Question]], in_flight: Collection[tuple[str, str]]
) -> Iterator[tuple[Judge, Question]]:
    """Those of the questions `found` that no batch is on its way with."""
    for judge, question in found:
        assert judge.identity is not None
        if (question.run, question.request.key(judge.identity)) not in in_flight:
            yield judge, question


def _about_runs(state: SessionState, selected: frozenset[str]) -> Iterator[tuple[Judge, Question]]:
    """What is open about whole runs, for the lead of the panel."""
    for index, case, mine in _runs(state, selected):
        if len(mine) > 1:  # a single item is not asked for the score of its run
            yield from open_about_run(case, index.nodeid, state.judge)


def _about_criteria(state: SessionState, selected: frozenset[str]) -> Iterator[tuple[Judge, Question]]:
    """What is open about the selected criteria, for every judge."""
    for index, case, mine in _runs(state, selected):
        for judge, question in open_about_criteria(case, index.nodeid, state.rubrics_of(index), state.judge):
            if _is_asked(index.nodeid, question.request, mine):
                yield judge, question


def _runs(state: SessionState, selected: frozenset[str]) -> Iterator[tuple[RunIndex, Case, set[str]]]:
    """The runs that can be judged, each with its selected items."""
    for index in state.indexes.values():
        mine = {nodeid for nodeid in selected if nodeid.startswith(f"{index.nodeid}::")}
        if index.state == "sound" and mine:
            yield index, state.case_of(index), mine


def _is_asked(run: str, request: Request, selected: Collection[str]) -> bool:
    """Whether a selected item asks this; the canary is asked for every finding that has a selected item."""
    finding = f"{run}::{request.finding}::"
    if request.criterion_id == CANARY:
        return any(nodeid.startswith(finding) for nodeid in selected)
    return f"{finding}{request.criterion_id}" in selected


class _ProgressLine:
    """One line on a terminal that tells how far the judges are; nothing where there is no terminal."""

    def __init__(self, total: int, asked: list[Progress]) -> None:
        self._total = total
        self._asked = asked
        self._live = sys.stderr.isatty()
        self._parts: list[Progress] = []

    def __enter__(self) -> _ProgressLine:
        return self

    def watch(self) -> Callable[[Progress], None]:
        """To be called with the progress of one judge, again and again."""
        place = len(self._parts)
        self._parts.append(Progress(0))

        def show(progress: Progress) -> None:
            # Kept: what is being spent counts also where the session is interrupted.
            if not any(progress is known for known in self._asked):
                self._asked.append(progress)
            self._parts[place] = progress
            self._show()

        return show

    def _show(self) -> None:
        if self._live:
            asking = sum(p.asking for p in self._parts)
            counts = ((p.done, p.in_flight, p.failed, p.cost_usd) for p in self._parts)
            done, in_flight, failures, dollars = map(sum, zip(*counts, strict=True))
            failed = f", {failures} failed" if failures else ""
            cost = f", {dollars:.2f} USD" if dollars else ""
            left = max(self._total - done - asking, 0)
            sys.stderr.write(f"\rjudge: {done} answered{failed}, {in_flight} in flight, {left} left{cost} ")
            sys.stderr.flush()

    def __exit__(self, *exc: object) -> None:
        if self._live:
            sys.stderr.write("\n")
