"""Answers that were given to another form of a question: who gave them, and what has changed since."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol

from ..ledger import Ledger
from ..models import CANARY, JudgeIdentity, LedgerEntry, QuestionKind
from .requests import Request

STALE = "stale"
"""The reason code of a gap where the judge has answered, but another prompt."""
_SUBJECTS = {
    "criterion": "the criterion's text",
    "target": "the reference finding",
    "plan": "the task's data guide or variables",
    "novelty": "the earlier publications",
}
_NOTHING = "-"
_SHOWN = "what is shown of task or run, the facts, or the criterion"
"""What may have changed where it was not recorded what a question was made of."""


class Put(Protocol):
    """A question as it once was put to somebody: an entry of a ledger, or of an export."""

    @property
    def kind(self) -> QuestionKind: ...
    @property
    def criterion_id(self) -> str: ...
    @property
    def template_digest(self) -> str: ...
    @property
    def evidence_digest(self) -> str: ...
    @property
    def parts(self) -> str | None: ...


def changes(then: Put, now: Request) -> tuple[str, ...]:
    """What has changed in a question since it was put, as far as that is known."""
    found = [] if then.template_digest == now.template_digest else ["the prompt's own words (template or examples)"]
    parts = now.parts
    if then.parts is not None and parts is not None:
        found += _changed_parts(then, then.parts.split("."), parts.split("."))
    elif then.evidence_digest != now.evidence_digest:
        found.append(_SHOWN if then.kind == "criterion" else "the findings' text")
    elif not found and then.kind in _SUBJECTS:
        found.append(_SUBJECTS[then.kind])
    return tuple(found)


def _changed_parts(then: Put, old: list[str], new: list[str]) -> Iterator[str]:
    subject, task, run, facts = (a != b for a, b in zip(old, new, strict=True))
    if subject and then.kind in _SUBJECTS and then.criterion_id != CANARY:
        yield _SUBJECTS[then.kind]
    if task:
        unknown = "was not known then" if old[1] == _NOTHING else "is not known now" if new[1] == _NOTHING else None
        yield "the task's text" if unknown is None else f"the task, which {unknown}"
    if run:
        yield "what is shown of the run" if then.kind == "criterion" else "the findings' text"
    if facts:
        yield "the facts that code found"


def earlier_answer(ledger: Ledger, request: Request, judge: JudgeIdentity) -> LedgerEntry | None:
    """The answer of `judge` to another form of `request`: of this very judge first, of one of its name else; the
    latest."""
    told = [
        entry
        for entry in ledger.about(request.kind, request.criterion_id, request.finding, request.draw)
        if entry.settles and entry.judge.label == judge.label
    ]
    return max(told, key=lambda entry: (entry.judge == judge, entry.time), default=None)


def why_open(ledger: Ledger, request: Request, judge: JudgeIdentity) -> str | None:
    """Why `judge`, who has answered a question, is asked again; None where there is no answer of this judge."""
    entry = earlier_answer(ledger, request, judge)
    if entry is None:
        return None
    return told_changes(judge.label, (*_other_judge(entry.judge, judge), *changes(entry, request)))


def told_changes(who: str, causes: tuple[str, ...]) -> str:
    """One sentence: who has answered, and what has changed since."""
    return f"{who} answered another prompt; changed since: {', '.join(causes) or 'how questions are made'}"


def _other_judge(then: JudgeIdentity, now: JudgeIdentity) -> Iterator[str]:
    """Parameters of the judge that were others then."""
    for name in sorted(then.parameters.keys() | now.parameters.keys()):
        old, new = (json.dumps(j.parameters.get(name), sort_keys=True) for j in (then, now))
        if old != new:
            yield f"the judge's {name} ({old}, now {new})"
