"""What is known about a run as a whole, and its numbers: which findings state one claim, which match a reference, what
the task's data say, and what the run's own code does when it is run again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property
from typing import TypeVar

from ..checks.recompute import Recalculated, Recomputation, StatedQuantity, from_card, from_plans
from ..checks.rerun import Rerun, from_rerun, rerun
from ..evidence.artifacts import Artifacts
from ..findings import ParsedReport
from ..judging.answers import BadAnswer, parse_object
from ..judging.judge import Judge
from ..judging.requests import AnswerContext, Request
from ..judging.run_answers import GroupingAnswer, PlanAnswer, TargetAnswer, check_run_answer, complete_groups
from ..judging.targets import stated_quantities, target_level
from ..ledger.trusted_files import KeptFiles
from ..models import Card, Finding, Model
from ..models.novelty import NoveltyAnswer
from ..runs import Run
from ..scoring import RunFacts
from ..tasks import Task
from ..tasks.verification import Perturbation, Verification, VerificationFailed
from ..text import one_line
from .questions import Questions

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class RerunWish:
    """That runs' own code be run again: for how many seconds at most, and whether without isolation."""

    seconds: float
    unsafe: bool = False


def name_of(judge: Judge) -> str:
    """What tells judges apart: facts follow from the plans and matches of one judge."""
    return "" if judge.identity is None else judge.identity.text


@dataclass
class AboutRun:
    """What a judge's answers about a run, the task's scripts and, where `wish` says so, the run's own code tell.

    publications: ids of those that findings are compared with.
    """

    run: Run
    task: Task | None
    report: ParsedReport
    artifacts: Artifacts
    questions: Questions
    answers: AnswerContext
    publications: tuple[str, ...]
    cache: KeptFiles | None
    wish: RerunWish | None
    _numbers: dict[tuple[str, str], Recomputation | None] = field(default_factory=dict)
    _novelties: dict[tuple[str, str], NoveltyAnswer] = field(default_factory=dict)
    _problems: dict[str, None] = field(default_factory=dict)

    def facts(self, judge: Judge) -> RunFacts:
        """Groups, target levels and refutations, as far as they are known."""
        findings = {finding.id: finding for finding in self.report.findings}
        ids = list(findings)
        groups: Sequence[Sequence[str]] | None = [[i] for i in ids]
        grouping = self.questions.grouping()
        if grouping is not None:
            answer = self._answer(grouping, judge, GroupingAnswer)
            groups = complete_groups(answer, ids) if answer is not None else None
        targets: dict[str, float | None] | None = None
        if self.task is not None and self.task.reference:
            matches = self.matches(judge)
            targets = {
                card.id: None if match is None else target_level(match, card, findings) for card, match in matches
            }
        refuted: dict[str, bool | None] = {}
        quotes: dict[str, Sequence[str] | None] = {}
        for finding in self.report.findings:
            numbers = self.recomputation(finding, judge)
            refuted[finding.id] = numbers.refuted if numbers is not None else None
            told = numbers is not None and numbers.refuted is not None
            quotes[finding.id] = [n.quote for n in numbers.of("core", "refuted")] if numbers and told else None
        return RunFacts(groups=groups, targets=targets, refuted=refuted, refuted_quotes=quotes)

    def matches(self, judge: Judge) -> list[tuple[Card, TargetAnswer | None]]:
        """For each reference card, the recorded match; None where there is none."""
        return [(card, self._answer(request, judge, TargetAnswer)) for card, request in self.questions.targets()]

    def novelty(self, finding: Finding, judge: Judge) -> NoveltyAnswer | None:
        key = (finding.id, name_of(judge))
        if key not in self._novelties:
            request = self.questions.novelty(finding)
            answer = self._answer(request, judge, NoveltyAnswer) if request is not None else None
            if answer is None:  # it may be answered yet
                return None
            self._novelties[key] = answer
        return self._novelties[key]

    def perturbations(self, judge: Judge) -> list[tuple[str, Perturbation]]:
        """For each reference card that a finding matches, whether it survives the task's perturbations.

        Empty where no card is matched, or the task has no such scripts, or they fail (`problems` tell).
        """
        found: list[tuple[str, Perturbation]] = []
        for card, match in self.matches(judge):
            if self.task is None or match is None or match.finding is None or not match.object:
                continue
            try:
                survived = Verification(self.task, self.cache).perturbations(card.id)
            except VerificationFailed as error:
                self._note(self.task, error)
                continue
            found += [(match.finding, perturbation) for perturbation in survived]
        return found

    def recomputation(self, finding: Finding, judge: Judge) -> Recomputation | None:
        """What the task's data say about a finding's numbers; None where the task is not known."""
        key = (finding.id, name_of(judge))
        if key not in self._numbers:
            numbers = self._recompute(finding, judge)
            if numbers is not None and not numbers.known:
                return numbers
            self._numbers[key] = numbers
        return self._numbers[key]

    def _recompute(self, finding: Finding, judge: Judge) -> Recomputation | None:
        request = self.questions.plan(finding)
        if self.task is None or request is None:
            return None
        numbers: list[Recalculated] = []
        matches = self.matches(judge)
        for card, match in matches:
            if match is not None and match.object and match.finding == finding.id:
                stated = [StatedQuantity(*astuple(s)) for s in stated_quantities(match, card, finding)]
                numbers += from_card(card, stated, self._reference_values)
        numbers += from_rerun(
            self.rerun_found or Rerun(), [e.path for e in self.artifacts.of(finding.artifacts, "result")]
        )
        answer = self._answer(request, judge, PlanAnswer)
        if answer is not None:
            numbers += from_plans(answer.plans, finding, self.task)
        return Recomputation(tuple(numbers), answer is not None and all(match is not None for _, match in matches))

    @cached_property
    def rerun_found(self) -> Rerun | None:
        """What the run's own code does on the task's data; None where the user did not ask for it."""
        wish = self.wish
        if wish is None:
            return None
        if self.task is None:
            return Rerun(problem=f"the task {self.run.manifest.task_id} is not known, so there are no data to run on")
        return rerun(self.artifacts, self.task, self.report, wish.seconds, unsafe=wish.unsafe, cache=self.cache)

    @cached_property
    def _reference_values(self) -> dict[str, float]:
        """What the task's verification script finds; nothing where it has none or it fails (`problems` tell)."""
        assert self.task is not None
        try:
            return Verification(self.task, self.cache).values()
        except VerificationFailed as error:
            self._note(self.task, error)
            return {}

    def _note(self, task: Task, error: VerificationFailed) -> None:
        self._problems[one_line(f"verification of task {task.id}: {error}", 300)] = None

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not work so far in the task's own verification scripts; none of it is the run's fault."""
        return tuple(self._problems)

    def _answer(self, request: Request, judge: Judge, model: type[M]) -> M | None:
        """The answer to a question about the run, read anew and checked; None where there is none that holds."""
        entry = judge.answer(request, self.answers)
        if entry is None or entry.status != "assessed" or entry.answer is None:
            return None
        try:
            answer = parse_object(json.dumps({"rationale": entry.reason, **entry.answer}), model)
            check_run_answer(answer, self.report.findings, self.publications)
        except BadAnswer:
            return None
        return answer
