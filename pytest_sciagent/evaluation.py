"""Runs, rubrics and a judge in; verdicts and scores out. Knows no pytest."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from .checks import CheckContext, CheckResult, find_check
from .digest import sha256_json
from .evidence import EvidencePackage, QuoteIndex, build_package
from .evidence.artifacts import Artifacts
from .findings import ParsedReport, parse_findings
from .judging.answers import BadAnswer, parse_object
from .judging.clients import Prompt
from .judging.judge import AnswerContext, Judge
from .judging.prompts import (
    answer_schema,
    criterion_text,
    grouping_text,
    plan_text,
    shared_text,
    system_text,
    target_text,
)
from .judging.requests import Request
from .judging.run_answers import GroupingAnswer, TargetAnswer, check_run_answer, complete_groups
from .judging.settle import unrecorded, verdict_from_entry
from .judging.targets import target_level
from .ledger import Ledger, ledger_folder, read_work
from .models import Card, Criterion, Finding, LedgerEntry, Model, Receipt, Rubric, Verdict
from .runs import Run
from .scoring import RunFacts
from .tasks import Task, find_task, task_folders
from .text import one_line

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Sources:
    """Where tasks and recorded answers are looked up: the folders given, then the defaults below `rootdir`."""

    rootdir: Path
    tasks: Sequence[Path] = ()
    ledger: Path | None = None
    ignore_ledger: bool = False

    @cached_property
    def task_folders(self) -> list[Path]:
        return task_folders(self.tasks, self.rootdir)

    @property
    def work(self) -> Path:
        """Where work ledgers are written."""
        return self.rootdir / ".sciagent" / "work"

    @cached_property
    def work_entries(self) -> dict[str, list[LedgerEntry]]:
        return read_work(self.work)

    def ledger_of(self, run_path: Path) -> Path:
        """The ledger folder for the run in `run_path`."""
        return ledger_folder(run_path, self.ledger, self.rootdir)


def open_case(
    path: Path,
    sources: Sources,
    record: Callable[[str, LedgerEntry], None],
    find_check: Callable[[str], Callable[[CheckContext], CheckResult]] = find_check,
) -> Case:
    """The run in the folder `path`, ready to be evaluated. New answers go to `record`, with the run's label.

    Raises:
        SciagentError: its manifest, its task or its ledger can't be read.
    """
    run = Run.load(path)
    task = find_task(run.manifest.task_id, sources.task_folders)
    ledger = Ledger()
    if not sources.ignore_ledger:
        ledger = Ledger.load(sources.ledger_of(path), run.manifest, sources.work_entries.get(run.label, ()))
    return Case(run, task, ledger, partial(record, run.label), find_check)


@dataclass
class Case:
    """One run under evaluation: everything that its criteria look at, read on first use and kept."""

    run: Run
    task: Task | None
    ledger: Ledger
    record: Callable[[LedgerEntry], None]
    find_check: Callable[[str], Callable[[CheckContext], CheckResult]] = find_check
    _facts: dict[tuple[str, str | None], CheckResult] = field(default_factory=dict)
    _packages: dict[str, EvidencePackage] = field(default_factory=dict)
    _nonces: dict[str, str] = field(default_factory=dict)

    @cached_property
    def report(self) -> ParsedReport:
        return parse_findings(self.run)

    @cached_property
    def artifacts(self) -> Artifacts:
        return Artifacts(self.run)

    @cached_property
    def quotes(self) -> QuoteIndex:
        return QuoteIndex(self.run)

    @cached_property
    def findings(self) -> dict[str, Finding]:
        return {finding.id: finding for finding in self.report.findings}

    @cached_property
    def answers(self) -> AnswerContext:
        return AnswerContext(self.ledger, self.quotes, self.report.findings, self.record)

    # ---- criteria

    def check(self, criterion: Criterion, finding_id: str | None) -> CheckResult | None:
        """The facts of the criterion's deterministic check, computed once; None where it has no check."""
        if criterion.check is None:
            return None
        key = (criterion.check, finding_id)
        if key not in self._facts:
            finding = self.findings[finding_id] if finding_id is not None else None
            context = CheckContext(self.run, self.task, self.report, finding, self.artifacts)
            self._facts[key] = self.find_check(criterion.check)(context)
        return self._facts[key]

    def verdict(self, criterion: Criterion, finding_id: str | None, judge: Judge) -> Verdict:
        """The verdict of one criterion: by its check, by the judge within the check's facts, or the reason for none."""
        try:
            result = self.check(criterion, finding_id)
        except Exception as error:
            reason = one_line(f"the check {criterion.check!r} failed: {type(error).__name__}: {error}", 500)
            return Verdict(
                criterion_id=criterion.id,
                finding=finding_id,
                status="check_error",
                reason=reason,
                reason_code="check_error",
            )
        if result is not None and result.outcome != "facts":
            return self._from_check(criterion, finding_id, result)
        if not criterion.judge:
            raise ValueError(f"the check {criterion.check!r} left {criterion.id!r} open, but no judge is asked")
        request = self.request(criterion, finding_id)
        key = request.key(judge.identity) if judge.identity is not None else None
        entry = judge.answer(request, self.answers)
        if entry is None:
            who = judge.identity.label if judge.identity is not None else "any judge"
            return unrecorded(criterion, finding_id, key, f"no recorded verdict of {who}")
        receipt = Receipt(source=f"check:{criterion.check}", facts=dict(result.facts)) if result else None
        at_most = result.at_most if result is not None else 1.0
        return verdict_from_entry(entry, criterion, self.quotes, at_most=at_most, facts=receipt)

    def _from_check(self, criterion: Criterion, finding_id: str | None, result: CheckResult) -> Verdict:
        citations = tuple(self.quotes.verify(c) for c in result.citations)
        receipt = Receipt(source=f"check:{criterion.check}", facts=dict(result.facts))
        assessed = result.outcome == "decided"
        if assessed and result.level and not any(c.verified for c in citations):
            reason = f"the check found no passage that stands in a frozen file: {result.reason}"
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

    def package(self, finding: Finding) -> EvidencePackage:
        """The evidence package of a finding, built once."""
        if finding.id not in self._packages:
            self._packages[finding.id] = build_package(self.run, finding, self.report.shared)
        return self._packages[finding.id]

    def request(self, criterion: Criterion, finding_id: str | None) -> Request:
        """The question that `criterion` puts to a judge."""
        if finding_id is None:
            raise ValueError(f"criterion {criterion.id!r} of scope 'run' can't be asked of a judge yet")
        finding = self.findings[finding_id]
        package = self.package(finding)
        result = self.check(criterion, finding_id)
        facts = dict(result.facts) if result is not None else {}
        task_text = [self.task.objective, self.task.data_guide, self.task.manifest.t0] if self.task else None
        return Request(
            kind="criterion",
            criterion_id=criterion.id,
            finding=finding_id,
            subject=criterion.digest,
            evidence_digest=sha256_json({"package": package.digest, "task": task_text, "facts": facts}),
            make_prompt=lambda: self._criterion_prompt(criterion, finding, facts),
        )

    def _criterion_prompt(self, criterion: Criterion, finding: Finding, facts: Mapping[str, object]) -> Prompt:
        nonce = self._nonces.setdefault(finding.id, secrets.token_hex(8))
        shared = shared_text(nonce, self.task, finding, self.package(finding))
        return Prompt(
            system_text(nonce), shared, criterion_text(criterion, facts), "verdict", answer_schema("criterion")
        )

    def grouping_request(self) -> Request | None:
        """Which findings state the same claim; no question where there are fewer than two."""
        findings = self.report.findings
        if len(findings) < 2:
            return None
        return self._run_request("grouping", "grouping", None, findings, lambda nonce: grouping_text(nonce, findings))

    def target_requests(self) -> list[tuple[Card, Request]]:
        """For each reference card, which finding matches it."""
        findings = self.report.findings
        if self.task is None or not findings:
            return []
        requests = []
        for card in self.task.cards:
            make = _bound(target_text, card, findings)
            requests.append(
                (card, self._run_request("target", f"target.{card.id}", None, findings, make, card.as_json()))
            )
        return requests

    def plan_request(self, finding: Finding) -> Request | None:
        """Which of a finding's numbers can be recalculated from the task's data."""
        task = self.task
        if task is None:
            return None
        about = {"guide": task.data_guide, "variables": {n: list(v) for n, v in task.manifest.variables.items()}}
        return self._run_request(
            "plan", "plan", finding.id, (finding,), lambda nonce: plan_text(nonce, task, finding), about
        )

    def _run_request(
        self,
        kind: str,
        criterion_id: str,
        finding: str | None,
        findings: Sequence[Finding],
        make: Callable[[str], str],
        about: object = None,
    ) -> Request:
        def prompt() -> Prompt:
            nonce = secrets.token_hex(8)
            return Prompt(system_text(nonce), "", make(nonce), kind, answer_schema(kind))

        return Request(
            kind=kind,  # type: ignore[arg-type]
            criterion_id=criterion_id,
            finding=finding,
            subject=sha256_json({"about": about}),
            evidence_digest=sha256_json([[f.id, f.section.text] for f in findings]),
            make_prompt=prompt,
        )

    def requests(self, rubrics: Sequence[Rubric]) -> Iterator[Request]:
        """Every question that this run puts to a judge under `rubrics`, criteria first, finding by finding."""
        for finding in self.report.findings:
            for rubric in rubrics:
                for criterion in rubric.criteria:
                    if criterion.judge and criterion.scope == "finding":
                        result = self.check(criterion, finding.id)
                        if result is None or result.outcome == "facts":
                            yield self.request(criterion, finding.id)
        yield from self.run_questions()

    def run_questions(self) -> Iterator[Request]:
        """The questions about the whole run and its numbers: grouping, targets, recompute plans."""
        grouping = self.grouping_request()
        if grouping is not None:
            yield grouping
        for _, request in self.target_requests():
            yield request
        for finding in self.report.findings:
            plan = self.plan_request(finding)
            if plan is not None:
                yield plan

    # ---- facts about the run

    def run_facts(self, judge: Judge) -> RunFacts:
        """Groups, target levels and refutations, as far as they are known."""
        ids = [f.id for f in self.report.findings]
        groups: Sequence[Sequence[str]] | None = [[i] for i in ids]
        grouping = self.grouping_request()
        if grouping is not None:
            answer = self._answer(grouping, judge, GroupingAnswer)
            groups = complete_groups(answer, ids) if answer is not None else None
        targets: dict[str, float | None] | None = None
        if self.task is not None and self.task.cards:
            targets = {}
            for card, request in self.target_requests():
                match = self._answer(request, judge, TargetAnswer)
                targets[card.id] = None if match is None else target_level(match, card, self.findings)
        refuted: dict[str, bool | None] = dict.fromkeys(ids)
        return RunFacts(groups=groups, targets=targets, refuted=refuted)

    def _answer(self, request: Request, judge: Judge, model: type[M]) -> M | None:
        """The answer to a question about the run, read anew and checked; None where there is none that holds."""
        entry = judge.answer(request, self.answers)
        if entry is None or entry.status != "assessed" or entry.answer is None:
            return None
        try:
            answer = parse_object(json.dumps({"rationale": entry.reason, **entry.answer}), model)
            check_run_answer(answer, self.report.findings)
        except BadAnswer:
            return None
        return answer


def _bound(
    make: Callable[[str, Card, Sequence[Finding]], str], card: Card, findings: Sequence[Finding]
) -> Callable[[str], str]:
    return lambda nonce: make(nonce, card, findings)
