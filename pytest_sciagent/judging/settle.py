"""From a judge's reply to a ledger entry, and from an entry to a verdict. Code decides the level, each time anew."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from ..evidence import QuoteIndex
from ..evidence.citations import QUOTE_RULE
from ..models import Anchors, Citation, Criterion, Finding, JudgeIdentity, LedgerEntry, Model, Receipt, Status, Verdict
from ..text import one_line
from .answers import BadAnswer, CriterionAnswer, level_of, parse_answer, parse_object
from .clients import Reply
from .decisions import decision_values, is_decisions, read_decision
from .requests import AnswerContext, Asked, Request
from .run_answers import RUN_ANSWERS, check_run_answer

MAX_REASON = 2000
UNVERIFIED = "no cited passage above level 0 was found in the frozen files"


def now() -> str:
    """The time as entries carry it: ISO 8601, UTC, whole seconds."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@cache
def _plugin_version() -> str:
    # Read from the installed package's files, which takes as long as a good part of a call.
    return version("pytest-sciagent")


def settle(
    request: Request,
    judge: JudgeIdentity,
    reply: Reply,
    context: AnswerContext,
    *,
    time: str | None = None,
) -> LedgerEntry:
    """The entry to record for `reply`: an answer with its checked citations, or the status of its failure."""
    return settle_asked(request.asked(judge), judge, reply, context, time=time)


def settle_asked(
    asked: Asked,
    judge: JudgeIdentity,
    reply: Reply,
    context: AnswerContext,
    *,
    time: str | None = None,
) -> LedgerEntry:
    """As `settle`, where the question itself is not at hand any more, only what was asked."""
    values: dict[str, Any] = {}
    if reply.text is None:
        values = {"status": reply.status, "reason": reply.detail, "reason_code": reply.code or reply.status}
    else:
        try:
            values = context.reader.read(asked, judge, reply.text)
        except BadAnswer as error:
            told = one_line(f"{error.reason_code}: {error}", 500)
            values = {"status": "invalid", "reason": told, "reason_code": error.reason_code}
    return LedgerEntry(
        **asked.model_dump(),
        judge=judge,
        model_returned=reply.model_returned,
        usage=reply.usage,
        latency_s=reply.latency_s,
        time=time or now(),
        plugin_version=_plugin_version(),
        **values,
    )


@dataclass(frozen=True)
class RunReader:
    """Reads answers about one run: its quotes and findings, and the ids of the publications in its task's snapshot."""

    quotes: QuoteIndex
    findings: Sequence[Finding]
    publications: Sequence[str]

    def read(self, asked: Asked, judge: JudgeIdentity, text: str) -> dict[str, Any]:
        """See `Reader`."""
        if asked.kind == "criterion":
            return read_decision(text) if is_decisions(judge) else _read_criterion(parse_answer(text), self.quotes)
        answer = parse_object(text, RUN_ANSWERS[asked.kind])
        check_run_answer(answer, self.findings, self.publications)
        return plain_answer(answer)


def plain_answer(answer: Model) -> dict[str, Any]:
    """The fields of a ledger entry that hold an answer which is no level; its `rationale` is the entry's reason."""
    plain = answer.as_json()
    reason = one_line(plain.pop("rationale"), MAX_REASON)
    return {"status": "assessed", "level": None, "reason": reason, "answer": plain}


def _read_criterion(answer: CriterionAnswer, quotes: QuoteIndex) -> dict[str, Any]:
    anchors = Anchors(zero=answer.zero, full=answer.full, half=answer.half)
    level, _ = level_of(anchors)
    citations = tuple(quotes.verify(Citation(file=c.file, quote=c.quote)) for c in answer.citations)
    status, shown = _earned(level, citations)
    return {
        "status": status,
        "level": shown,
        "anchors": anchors,
        "reason": one_line(answer.rationale, MAX_REASON),
        "reason_code": "unverified" if status == "unverified" else None,
        "citations": citations,
    }


def _earned(level: float, citations: Sequence[Citation]) -> tuple[Status, float | None]:
    """A level above 0 needs one verified citation; without it there is no level at all."""
    if level > 0 and not any(c.verified for c in citations):
        return "unverified", None
    return "assessed", level


def missing_quotes(citations: Sequence[Citation], quotes: QuoteIndex) -> str:
    """What is told of an answer whose level no passage carries."""
    return f"{UNVERIFIED} ({why_quotes_fail(citations, quotes)})"


def why_quotes_fail(citations: Sequence[Citation], quotes: QuoteIndex) -> str:
    """Of citations none of which counts: what was quoted, from where, why that does not count, and what would."""
    said = [f"{one_line(c.quote, 80)!r} in {one_line(c.file, 80)}: {quotes.problem(c)}" for c in citations]
    return "; ".join([*(said or ["nothing is cited"]), QUOTE_RULE])


def verdict_from_entry(
    entry: LedgerEntry, criterion: Criterion, quotes: QuoteIndex, *, at_most: float = 1.0, facts: Receipt | None = None
) -> Verdict:
    """The verdict that `entry` carries. Its citations are looked up and its level derived again: a record edited by
    hand earns nothing that the answer in it does not. `at_most` is the bound that code's facts set."""
    base = {
        "criterion_id": criterion.id,
        "finding": entry.finding,
        "judge": entry.judge,
        "key": entry.key,
        "receipt": facts,
    }
    if is_decisions(entry.judge):
        return Verdict(**base | decision_values(entry, facts))
    if entry.anchors is None:
        status: Status = entry.status if entry.status != "assessed" else "invalid"
        why = entry.reason_code or status if entry.status != "assessed" else "no_anchors"
        return Verdict(**base, status=status, reason=entry.reason or status, reason_code=why)
    try:
        level, code = level_of(entry.anchors)
    except BadAnswer as error:
        return Verdict(**base, status="invalid", reason=entry.reason, reason_code=error.reason_code)
    citations = tuple(quotes.verify(c) for c in entry.citations)
    status, earned = _earned(level, citations)
    reason = entry.reason
    if status == "unverified":
        reason, code = one_line(f"{missing_quotes(citations, quotes)}: {reason}", MAX_REASON), "unverified"
    elif earned is not None and earned > at_most:
        earned, code = at_most, "bounded_by_facts"
    return Verdict(
        **base, status=status, level=earned, anchors=entry.anchors, reason=reason, reason_code=code, citations=citations
    )


def unrecorded(
    criterion: Criterion, finding: str | None, key: str | None, why: str, reason_code: str = "unrecorded"
) -> Verdict:
    """The verdict where nobody has answered; `earlier.STALE` is the code where somebody has answered another prompt."""
    return Verdict(
        criterion_id=criterion.id, finding=finding, status="unrecorded", reason=why, reason_code=reason_code, key=key
    )
