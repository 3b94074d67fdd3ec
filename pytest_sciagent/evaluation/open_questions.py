"""What is open about runs, and how it is put to providers: for a session, and for a call in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..errors import SciagentError
from ..judging.clients import Client
from ..judging.decisions import is_decisions
from ..judging.judge import Judge
from ..judging.panel import panel_of
from ..judging.pump import Job, Progress, Terms, pump_all
from ..judging.requests import Question, Request
from ..models import Rubric
from .case import Case

Asked = tuple[Sequence[Question], Client, Terms]


def open_about_run(case: Case, name: str, judge: Judge) -> Iterator[tuple[Judge, Question]]:
    """What is open about the run as a whole, for the lead of the panel. `name` keeps prompts of one run together."""
    lead = panel_of(judge).lead
    if lead.identity is None or is_decisions(lead.identity):
        return
    for request in case.questions.about_run():
        if case.answers.is_due(request.key(lead.identity)):
            yield lead, _question(case, name, request)


def open_about_criteria(
    case: Case, name: str, rubrics: Sequence[Rubric], judge: Judge
) -> Iterator[tuple[Judge, Question]]:
    """What is open about the criteria, for every judge of the panel."""
    for member, request in case.due(rubrics, judge):
        yield member, _question(case, name, request)


def _question(case: Case, name: str, request: Request) -> Question:
    group = f"{name}::{request.finding}::{request.kind}::{request.prefix}"
    return Question(request, case.answers, group, case.run.label)


def share_out(found: Iterable[tuple[Judge, Question]], clients: Iterable[tuple[Judge, Client, Terms]]) -> list[Asked]:
    """The questions `found`, each for the client of its judge. They count as tried from now on."""
    by_judge: dict[int, list[Question]] = {}
    for judge, question in found:
        by_judge.setdefault(id(judge), []).append(question)
    shared: list[Asked] = []
    for judge, client, terms in clients:
        mine = by_judge.get(id(judge), [])
        for question in mine:
            question.context.tried.add(question.request.key(client.identity))
        shared.append((mine, client, terms))
    return shared


def ask_all(shared: Sequence[Asked], watch: Callable[[], Callable[[Progress], None]]) -> None:
    """Ask all judges at the same time. `watch` gives what is called with the progress of one judge, again and again.

    Raises:
        SciagentError: a provider says that no call can succeed, or an answer can't be recorded.
    """
    done = pump_all([Job(*one, watch()) for one in shared])
    for progress, (_, client, _) in zip(done, shared, strict=True):
        if progress.fatal is not None:
            raise SciagentError(f"the judge {client.identity.label} can't be asked: {progress.fatal}")
