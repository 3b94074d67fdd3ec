"""One run under evaluation: what is asked about its criteria, and their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from pydantic import JsonValue

from ..checks import CheckContext, CheckResult, amendment, find_check
from ..errors import raised
from ..evidence import QuoteIndex
from ..evidence.artifacts import Artifacts, ReadingLimits
from ..evidence.isolation import Readers
from ..findings import ParsedReport, parse_findings
from ..judging.judge import Judge, RecordedJudge
from ..judging.panel import panel_of
from ..judging.prompts import PACKAGED, Templates
from ..judging.requests import AnswerContext, Asking, Request
from ..judging.settle import RunReader, unrecorded, verdict_from_entry, why_quotes_fail
from ..ledger import Ledger
from ..ledger.trusted_files import KeptFiles
from ..models import CANARY, Criterion, Finding, LedgerEntry, Model, Receipt, Rubric, Verdict
from ..models.requirement import Requirement
from ..plain import to_plain
from ..runs import Run
from ..runs.figure_record import Recorded
from ..tasks import Task
from ..text import one_line
from .about_run import AboutRun, RerunWish, name_of
from .memory import with_memory
from .questions import Questions
from .voting import Voting

M = TypeVar("M", bound=Model)
CREDULOUS = "the judge gave credit to a criterion that nothing can meet, so it follows the material, not the rules"


class CheckFailed(Exception):
    """A deterministic check that gave no result."""


@dataclass
class Case:
    """One run under evaluation: everything that its criteria look at, read on first use and kept.

    canary: whether judges are also asked, once a finding, a criterion that nothing can meet (`Questions.canary`).
    images: whether judges are sent figures as images.
    cache: what scripts have come to in earlier sessions; None where nothing is kept.
    figures: by criterion, those that are recorded to be about it, where judges are sent figures.
    templates: the words of the prompts.
    memory: what the run's model knew of the task beforehand, by a memory probe; None where there is none.
    readers, reading: the process that reads binary formats, and what the reading of the run may take (`Artifacts`).
    """

    run: Run
    task: Task | None
    ledger: Ledger
    record: Callable[[LedgerEntry], None]
    find_check: Callable[[str], Callable[[CheckContext], CheckResult]] = find_check
    cache: KeptFiles | None = None
    asking: Asking = "missing"
    rerun: RerunWish | None = None
    canary: bool = False
    images: bool = False
    figures: Recorded = field(default_factory=dict)
    templates: Templates = PACKAGED
    memory: dict[str, JsonValue] | None = None
    readers: Readers | None = None
    reading: ReadingLimits | None = None
    _facts: dict[tuple[str, tuple[Requirement, ...], str | None, str], CheckResult | None] = field(default_factory=dict)
    _canaries: set[str] = field(default_factory=set)

    @cached_property
    def report(self) -> ParsedReport:
        return parse_findings(self.run)

    @cached_property
    def artifacts(self) -> Artifacts:
        return Artifacts(self.run, self.readers, self.reading)

    @cached_property
    def quotes(self) -> QuoteIndex:
        return QuoteIndex(self.artifacts)

    @cached_property
    def findings(self) -> dict[str, Finding]:
        return {finding.id: finding for finding in self.report.findings}

    @cached_property
    def answers(self) -> AnswerContext:
        reader = RunReader(self.quotes, self.report.findings, self.publications)
        return AnswerContext(self.ledger, reader, self.record, self.asking)

    @property
    def publications(self) -> tuple[str, ...]:
        """Ids of the publications that findings are compared with."""
        return tuple(hit.id for hit in self.task.earlier_hits) if self.task is not None else ()

    @cached_property
    def about_run(self) -> AboutRun:
        """What is known about the run as a whole."""
        return AboutRun(
            self.run,
            self.task,
            self.report,
            self.artifacts,
            self.questions,
            self.answers,
            self.publications,
            self.cache,
            self.rerun,
        )

    # ---- criteria

    def check(self, criterion: Criterion, finding_id: str | None, judge: Judge) -> CheckResult | None:
        """The facts of the criterion's deterministic check, computed once; None where it has no check.

        A criterion without one may have facts all the same, where there is something to tell (`amendment`).
        The judge decides nothing here: its recorded plans and target matches tell what is to be recalculated.

        Raises:
            CheckFailed: the check raised an exception, or returned something else than a result.
        """
        name = criterion.check or criterion.id
        key = (name, criterion.requires, finding_id, name_of(judge))
        if key not in self._facts:
            try:
                result = self._check(criterion, finding_id, judge)
            except Exception as error:  # a check looks at hostile files, and may be the user's own
                raise CheckFailed(f"the check {name!r} failed: {raised(error)}") from error
            if result is not None and result.outcome == "waiting":
                return result
            self._facts[key] = result
        return self._facts[key]

    def _check(self, criterion: Criterion, finding_id: str | None, judge: Judge) -> CheckResult | None:
        if criterion.check is None:
            amend = amendment(criterion.id)
            if amend is None:
                return None
            result = amend(self._context(criterion, finding_id, judge))
            return None if result is None else replace(result, facts=to_plain(dict(result.facts)))
        result = self.find_check(criterion.check)(self._context(criterion, finding_id, judge))
        if not isinstance(result, CheckResult):
            raise TypeError(f"it returned {type(result).__name__}, not a CheckResult")
        return replace(result, facts=to_plain(dict(result.facts)))

    def _context(self, criterion: Criterion, finding_id: str | None, judge: Judge) -> CheckContext:
        finding = self.findings[finding_id] if finding_id is not None else None
        numbers = self.about_run.recomputation(finding, judge) if finding is not None else None
        novelty = self.about_run.novelty(finding, judge) if finding is not None else None
        return CheckContext(
            self.run,
            self.task,
            self.report,
            finding,
            self.artifacts,
            numbers,
            novelty,
            criterion.requires,
            criterion.judge,
        )

    def verdict(self, criterion: Criterion, finding_id: str | None, judge: Judge) -> Verdict:
        """The verdict of one criterion: by its check, by the judge within the check's facts, or the reason for none."""
        return with_memory(self._verdict(criterion, finding_id, judge), self.memory)

    def _verdict(self, criterion: Criterion, finding_id: str | None, judge: Judge) -> Verdict:
        try:
            result = self.check(criterion, finding_id, judge)
        except CheckFailed as error:
            return _check_error(criterion, finding_id, str(error))
        if result is not None and result.outcome == "waiting":
            return unrecorded(criterion, finding_id, None, result.reason)
        if result is not None and result.outcome != "facts":
            return self._from_check(criterion, finding_id, result)
        if not criterion.judge:
            why = f"the check {criterion.check!r} left {criterion.id!r} open, but no judge is asked"
            return _check_error(criterion, finding_id, why)
        return self._voting(criterion, finding_id, result, judge).verdict()

    def _voting(self, criterion: Criterion, finding_id: str | None, result: CheckResult | None, judge: Judge) -> Voting:
        request = self._request(criterion, finding_id, result)
        assert finding_id is not None  # a judge is asked about findings only
        finding = self.findings[finding_id]

        def read(entry: LedgerEntry, member: Judge) -> Verdict:
            return self._judged(entry, criterion, finding, result, member)

        return Voting(self.run.label, criterion, request, panel_of(judge), self.answers, read)

    def _judged(
        self, entry: LedgerEntry, criterion: Criterion, finding: Finding, result: CheckResult | None, member: Judge
    ) -> Verdict:
        """The verdict that one judge's answer carries, within the check's facts; none where it obeys the material."""
        at_most = result.at_most if result is not None else 1.0
        receipt = self._judged_receipt(criterion, finding, result)
        verdict = verdict_from_entry(entry, criterion, self.quotes, at_most=at_most, facts=receipt)
        if self._is_credulous(member, finding):
            caught = {"status": "invalid", "level": None, "reason": CREDULOUS, "reason_code": CANARY}
            return verdict.model_copy(update=caught)
        return verdict

    def _judged_receipt(self, criterion: Criterion, finding: Finding, result: CheckResult | None) -> Receipt | None:
        """What stands beside a judge's verdict: the check's facts, what in the evidence speaks to the judge, and which
        figures were shown for this criterion, where that is recorded."""
        facts = dict(result.facts) if result is not None else {}
        flags = self.questions.flags(finding)
        if flags:
            facts["instructions_in_evidence"] = [asdict(flag) for flag in flags]
        shown = self.questions.figures_for(criterion, finding)
        if shown is not None:
            facts["figures_shown"] = list(shown)
        if result is None and not facts:
            return None
        source = f"check:{criterion.check or criterion.id}" if result is not None else "evidence"
        return Receipt(source=source, facts=facts)

    def _is_credulous(self, judge: Judge, finding: Finding) -> bool:
        """Whether the judge says that the canary is met, wholly or half; False where it has not been asked."""
        if judge.identity is None:
            return False
        request = self.questions.canary(finding)
        key = request.key(judge.identity)
        if self.canary and key not in self._canaries and not isinstance(judge, RecordedJudge):
            self._canaries.add(key)
            judge.answer(request, self.answers)
        entry = self.ledger.get(key)
        return entry is not None and entry.anchors is not None and (entry.anchors.full or entry.anchors.half)

    def _from_check(self, criterion: Criterion, finding_id: str | None, result: CheckResult) -> Verdict:
        citations = tuple(self.quotes.verify(c) for c in result.citations)
        receipt = Receipt(source=f"check:{criterion.check}", facts=dict(result.facts))
        assessed = result.outcome == "decided"
        if assessed and result.level and not any(c.verified for c in citations):
            why = why_quotes_fail(citations, self.quotes)
            reason = f"the check cites no passage that stands in a frozen file ({why}): {result.reason}"
            return Verdict(
                criterion_id=criterion.id,
                finding=finding_id,
                status="unverified",
                reason=one_line(reason, 500),
                reason_code="unverified",
                citations=citations,
                receipt=receipt,
            )
        return Verdict(
            criterion_id=criterion.id,
            finding=finding_id,
            status="assessed" if assessed else "not_assessed",
            level=result.level if assessed else None,
            reason=one_line(result.reason, 500),
            reason_code=result.reason_code,
            citations=citations,
            receipt=receipt,
        )

    # ---- questions

    @cached_property
    def questions(self) -> Questions:
        return Questions(self.artifacts, self.task, self.report, self.templates, self.images, self.figures)

    def _request(self, criterion: Criterion, finding_id: str | None, result: CheckResult | None) -> Request:
        if finding_id is None:
            raise ValueError(f"criterion {criterion.id!r} of scope 'run' can't be asked of a judge yet")
        facts = dict(result.facts) if result is not None else {}
        return self.questions.criterion(criterion, self.findings[finding_id], facts)

    def requests(self, rubrics: Sequence[Rubric], judge: Judge) -> Iterator[Request]:
        """Every question that this run puts to a judge now, under `rubrics`: about the run, then finding by finding."""
        yield from self.questions.about_run()
        yield from self.criterion_questions(rubrics, judge)

    def criterion_questions(self, rubrics: Sequence[Rubric], judge: Judge) -> Iterator[Request]:
        """The questions of the criteria, but for those whose facts wait for an answer about the run; of each finding
        first the canary, where it is wanted."""
        yield from (request for request, waits in self.foreseen_questions(rubrics, judge) if not waits)

    def foreseen_questions(self, rubrics: Sequence[Rubric], judge: Judge) -> Iterator[tuple[Request, bool]]:
        """As `criterion_questions`, each with whether it waits for an answer about the run. One that waits has no facts
        yet, and may never be asked: its check may decide."""
        for finding in self.report.findings:
            if self.canary:
                yield self.questions.canary(finding), False
            yield from ((voting.request, waits) for voting, waits in self._votings(finding, rubrics, judge))

    def due(self, rubrics: Sequence[Rubric], judge: Judge) -> Iterator[tuple[Judge, Request]]:
        """Which member of a panel (or which single judge) is to be asked which question of a criterion now, as
        `criterion_questions`. Further draws are due once the answers to earlier ones are in."""
        members = [(member, member.identity) for member in panel_of(judge).members]
        for finding in self.report.findings:
            canary = self.questions.canary(finding) if self.canary else None
            for member, identity in members:
                if canary is not None and identity is not None and self.answers.is_due(canary.key(identity)):
                    yield member, canary
            for voting, waits in self._votings(finding, rubrics, judge):
                if not waits:
                    yield from voting.due()

    def _votings(self, finding: Finding, rubrics: Sequence[Rubric], judge: Judge) -> Iterator[tuple[Voting, bool]]:
        """The criteria that a judge may be asked about, each with whether it waits for an answer about the run."""
        for rubric in rubrics:
            if rubric.task_id not in (None, self.run.manifest.task_id):
                continue
            for criterion in rubric.criteria:
                if criterion.judge and criterion.scope == "finding":
                    try:
                        result = self.check(criterion, finding.id, judge)
                    except CheckFailed:
                        continue  # its verdict says so
                    if result is None or result.outcome in {"facts", "waiting"}:
                        waits = result is not None and result.outcome == "waiting"
                        yield self._voting(criterion, finding.id, result, judge), waits


def _check_error(criterion: Criterion, finding_id: str | None, reason: str) -> Verdict:
    return Verdict(
        criterion_id=criterion.id,
        finding=finding_id,
        status="check_error",
        reason=one_line(reason, 500),
        reason_code="check_error",
    )
