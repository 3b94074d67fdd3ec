"""Recorded answers to prompts that nobody gives any more: which they are, and what has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..judging.earlier import changes, told_changes, why_open
from ..judging.judge import Judge, RecordedJudge
from ..judging.panel import panel_of
from ..judging.requests import Request
from ..models import CANARY, JudgeIdentity, LedgerEntry, Rubric
from .case import Case

_Question = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True)
class Unasked:
    """A recorded answer that counts for nothing now.

    why: what has changed. state: whether the question is `open` now, `answered` anew, no question any more (`gone`), or
    `unknown`, since it depends on answers that are missing, or on rubrics that are not at hand.
    """

    run: str
    entry: LedgerEntry
    why: str
    state: Literal["open", "answered", "gone", "unknown"]


def unasked(case: Case, rubrics: Sequence[Rubric]) -> list[Unasked]:
    """The recorded answers of a run that no question of it under `rubrics` asks for.

    The facts shown with criteria follow from what a judge, the lead of a panel, answered about the run. Any judge
    recorded may be the lead, so an answer is asked for if it is so under one of them.
    """
    entries = case.ledger.entries
    asked = _Asked.of(case, rubrics, entries)
    return [_why(case, rubrics, asked, entry) for entry in entries if entry.key not in asked.keys]


@dataclass(frozen=True)
class _Asked:
    """What is asked now. keys: of whomever. now: each question as it is asked, under each lead. waiting: those that
    can't be known before an answer about the run is in."""

    keys: set[str]
    now: dict[_Question, dict[str, Request]]
    waiting: set[_Question]

    @classmethod
    def of(cls, case: Case, rubrics: Sequence[Rubric], entries: Iterable[LedgerEntry]) -> _Asked:
        judges = {entry.judge.text: entry.judge for entry in entries}
        draws = sorted({entry.draw for entry in entries})
        found = cls(set(), {}, set())
        for lead in judges.values():
            for request, waits in _questions(case, rubrics, lead):
                question = (request.kind, request.criterion_id, request.finding)
                if waits:
                    found.waiting.add(question)
                    continue
                found.now.setdefault(question, {})[lead.text] = request
                drawn = [replace(request, draw=draw) for draw in draws]
                found.keys.update(one.key(judge) for one in drawn for judge in judges.values())
        return found


def _questions(case: Case, rubrics: Sequence[Rubric], lead: JudgeIdentity) -> Iterator[tuple[Request, bool]]:
    yield from ((request, False) for request in case.questions.about_run())
    yield from case.foreseen_questions(rubrics, RecordedJudge(lead))


def _why(case: Case, rubrics: Sequence[Rubric], asked: _Asked, entry: LedgerEntry) -> Unasked:
    question = (entry.kind, entry.criterion_id, entry.finding)
    requests = asked.now.get(question, {})
    request = requests.get(entry.judge.text) or next(iter(requests.values()), None)
    label, who = case.run.label, entry.judge.label
    if question in asked.waiting:
        return Unasked(label, entry, f"{who}: what is asked now waits for an answer about the run", "unknown")
    if request is not None:
        drawn = replace(request, draw=entry.draw)
        present = case.ledger.get(drawn.key(entry.judge))
        answered = present is not None and present.settles
        return Unasked(label, entry, told_changes(who, changes(entry, drawn)), "answered" if answered else "open")
    if entry.finding is not None and entry.finding not in case.findings:
        return Unasked(label, entry, f"{who} answered about a finding that the report does not register", "gone")
    if entry.kind != "criterion" or entry.criterion_id in {c.id for rubric in rubrics for c in rubric.criteria}:
        return Unasked(label, entry, f"{who} answered what is no question now: code decides it, or it is moot", "gone")
    if entry.criterion_id == CANARY:
        return Unasked(label, entry, f"{who} answered the canary, which is not asked for here", "unknown")
    return Unasked(label, entry, f"{who} answered criteria that no rubric given here has", "unknown")


def open_again_about_run(case: Case, judge: Judge) -> Iterator[str]:
    """For each question about the run that the lead of `judge` has answered in another form only: why it is open."""
    lead = panel_of(judge).lead.identity
    if lead is None:
        return
    for request in case.questions.about_run():
        known = case.ledger.get(request.key(lead))
        if known is None or not known.settles:
            why = why_open(case.ledger, request, lead)
            if why is not None:
                yield why
