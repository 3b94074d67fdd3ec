"""The loop: verify, tell what failed, let the harness revise a copy, freeze the round, verify again.

Everything is read from what lies on disk: started again, the loop goes through the frozen rounds and the recorded
verdicts, and goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..documents import json_text, load_json
from ..errors import SciagentError
from ..harnesses.agent import Tell
from ..ledger.store import write_atomically
from ..models.revision import FinalScore, RevisionRecord, RoundRecord, Stopped
from ..runs import Run
from ..tasks import Task
from .examiner import Desk, Examiner, Waiting
from .feedback import PLAN, SUMMARY, revise_texts
from .standing import Difference, Place, Verification, difference, file_changes
from .turns import Author, Turn, take_turn
from .verifier import Verifier

RECORD, RUNS, LEDGER, QUESTIONS = "revision.json", "runs", "verdicts", "questions"


@dataclass(frozen=True)
class Plan:
    """A revision as it is asked for. `place`: the folder that holds all it makes; `label`: how rounds are named.

    tokens: what the rounds may use together; a round is not started once they are spent. None: no limit.
    """

    base: Run
    task: Task
    author: Author
    loop: Examiner
    final: Examiner | None
    place: Path
    label: str
    rounds: int = 3
    tokens: int | None = None
    on_regression: Literal["reject", "repair"] = "reject"
    same_examiner: bool = False


@dataclass
class Progress:
    """How far a revision has come. `best` is the last accepted round, round 0 at first."""

    start: Verification
    best: Run
    found: Verification
    tried: list[RoundRecord] = field(default_factory=list)
    lost: tuple[Place, ...] = ()
    """What the last try broke, if it was rejected for it."""

    @property
    def tokens(self) -> int:
        return sum((r.usage.input_tokens or 0) + (r.usage.output_tokens or 0) for r in self.tried)


class Revision:
    """One revision."""

    def __init__(self, plan: Plan, desk: Desk, environ: Mapping[str, str], tell: Tell) -> None:
        self.plan, self.desk, self.environ, self.tell = plan, desk, environ, tell
        self.verifier = Verifier(plan.loop, desk, plan.place / RUNS, plan.place / QUESTIONS)

    def go(self) -> RevisionRecord:
        """Do what is left to do; the record, which is also written.

        Raises:
            Waiting: something outside has to happen first. The record tells how far it came.
            SciagentError: bad input, or what lies at the place is of another revision.
            KeyboardInterrupt: nothing that is frozen is lost.
        """
        plan = self.plan
        self._check()
        self._try_final()
        examiners = [plan.loop, *([plan.final] if plan.final is not None else [])]
        self.desk.take_over(plan.base, examiners)
        start = self.verifier.verify(plan.base)
        progress = Progress(start, plan.base, start)
        try:
            stopped, why = self._rounds(progress)
            self._write(progress, stopped, why)
            final = self._score(progress)
        except Waiting as error:
            self._write(progress, None, str(error))
            raise
        return self._write(progress, stopped, why, final)

    # ---- before the first round

    def _check(self) -> None:
        plan = self.plan
        about = plan.base.manifest
        if plan.final is not None and plan.loop.is_same_as(plan.final) and not plan.same_examiner:
            raise SciagentError(
                "the final score would be given by the examiner of the loop, to which the run was tuned: name another "
                "judge (--final-judge) or another rubric (--final-rubric), or say that you want this (--same-examiner)"
            )
        problems = plan.base.problems()
        if problems:
            raise SciagentError(f"is not what was frozen: {problems[0]}", path=plan.base.path)
        if about.report is None:
            raise SciagentError("delivered no report, so there is nothing to revise", path=plan.base.path)
        check_outside(plan.base, plan.place)
        plan.task.check()
        plan.loop.rubric_for(plan.task.id)
        place = plan.place / RECORD
        if not place.exists():
            return
        before = load_json(place, RevisionRecord)
        if before.base_tree_sha256 != about.tree_sha256 or before.examiner != plan.loop.used:
            raise SciagentError(
                "is the record of another revision (other run, rubric or judge): choose another place with -o",
                path=place,
            )

    # ---- rounds

    def _rounds(self, progress: Progress) -> tuple[Stopped, str]:
        """Round after round, until one of the reasons to stop holds: which, and in words."""
        plan = self.plan
        for number in range(1, plan.rounds + 2):
            standing = progress.found.standing
            if standing.failed == 0 and standing.open:
                raise self.verifier.waiting(progress.best)
            if standing.failed == 0:
                gap = f"; {standing.not_assessed} can't be assessed here" if standing.not_assessed else ""
                return "all satisfied", f"nothing that was assessed fails{gap}"
            if number > plan.rounds:
                return "rounds spent", f"{plan.rounds} rounds are done, and {standing.failed} criteria still fail"
            if self._is_spent(progress):
                return "tokens spent", f"{progress.tokens:,} of {plan.tokens:,} tokens are used"
            last = self._round(number, progress)
            self._write(progress, None, f"round {number} is done")
            if last.outcome == "failed":
                return "harness failed", f"round {number}: {last.problem}"
            if not last.gained and not any(claim.unsupported for claim in last.claims):
                return "no progress", f"round {number} raised no criterion and withdrew no unsupported claim"
        raise AssertionError("the last pass ends in a reason")

    def _round(self, number: int, progress: Progress) -> RoundRecord:
        """One round with its repair, where there is one; the record of its last try."""
        record = self._try(number, "first", progress, progress.best, progress.found)
        broke = record.outcome == "rejected"
        if broke and self.plan.on_regression == "repair" and not self._is_spent(progress):
            tried = Run.load(self.plan.place / record.run)
            repaired = self._try(number, "repair", progress, tried, self.verifier.verify(tried))
            return record if repaired.outcome == "failed" else repaired
        return record

    def _is_spent(self, progress: Progress) -> bool:
        """Whether the tokens are used that the rounds may use.

        Raises:
            SciagentError: there is a limit, and a round did not tell what it used.
        """
        if self.plan.tokens is None:
            return False
        for tried in progress.tried:
            if tried.usage.input_tokens is None and tried.usage.output_tokens is None:
                raise SciagentError(
                    f"round {tried.number} did not tell its tokens, so --tokens can't be kept: give the system file a "
                    "usage, or start the command again without --tokens",
                    path=self.plan.place / tried.run,
                )
        return progress.tokens >= self.plan.tokens

    def _try(
        self, number: int, attempt: Literal["first", "repair"], progress: Progress, base: Run, found: Verification
    ) -> RoundRecord:
        """Let the harness work from `base`, and take its result in, if nothing is lost against the best so far."""
        plan = self.plan
        suffix = f"round-{number}" + ("-repair" if attempt == "repair" else "")
        beside = plan.place / suffix
        texts = revise_texts(found, plan.task, progress.lost, is_repair=attempt == "repair")
        name, target = f"{plan.label}-{suffix}", plan.place / RUNS / suffix
        run = take_turn(
            Turn(plan.task, plan.author, base, texts, target, name, beside, plan.base.manifest.started_at),
            self.environ,
            self.tell,
        )
        about = run.manifest
        record = RoundRecord(
            number=number,
            attempt=attempt,
            outcome="failed",
            run=target.relative_to(plan.place).as_posix(),
            tree_sha256=about.tree_sha256,
            usage=about.usage,
            files=file_changes(progress.best, run),
            plan=self._note(beside / PLAN),
            summary=self._note(beside / SUMMARY),
            problem=None,
        )
        if about.status != "completed":
            problem = about.session.problem if about.session is not None else None
            record = record.model_copy(update={"problem": problem or about.status})
            progress.tried.append(record)
            return record
        verified = self.verifier.verify(run)
        changed = difference(progress.found, verified)
        if changed.unsure:
            raise self.verifier.waiting(run)
        record = _judged(record, changed, verified)
        progress.tried.append(record)
        progress.lost = changed.lost
        if record.outcome == "accepted":
            progress.best, progress.found, progress.lost = run, verified, ()
        self.tell(_line(record))
        return record

    def _note(self, path: Path) -> str | None:
        return path.relative_to(self.plan.place).as_posix() if path.is_file() else None

    # ---- the final score

    def _try_final(self) -> None:
        """Score round 0 before any work is done, so that a final examiner that is no use is told at no expense.

        A hand-off is not asked before its questions are known.
        """
        final = self.plan.final
        if final is not None and not final.is_handoff and not self.plan.place.exists():
            self.desk.verify(final, [self.plan.base])

    def _score(self, progress: Progress) -> FinalScore | None:
        """Both ends of the revision by the final examiner. What is not assessed leaves its score an interval."""
        plan = self.plan
        if plan.final is None:
            return None
        runs = list({run.label: run for run in (plan.base, progress.best)}.values())
        if plan.final.is_handoff:
            place = plan.place / QUESTIONS / f"{plan.final.name}.jsonl"
            if waiting := self.desk.ask(plan.final, runs, place, whole=True):
                raise waiting
        found = self.desk.verify(plan.final, runs)
        before, after = (found[run.label].scored.score for run in (plan.base, progress.best))
        if before is None or after is None:
            raise SciagentError(f"the {plan.final.name} examiner gave no score: the run is not what was frozen")
        validity = found[progress.best.label].validity
        return FinalScore(examiner=plan.final.used, before=before, after=after, validity=validity)

    # ---- the record

    def _write(
        self, progress: Progress, stopped: Stopped | None, why: str, final: FinalScore | None = None
    ) -> RevisionRecord:
        plan = self.plan
        record = RevisionRecord(
            run=plan.base.label,
            task_id=plan.task.id,
            base_tree_sha256=plan.base.manifest.tree_sha256,
            system=plan.author.system.name,
            model=plan.author.system.model,
            system_file=plan.author.digest,
            examiner=plan.loop.used,
            validity=progress.found.validity,
            rounds=plan.rounds,
            tokens=plan.tokens,
            on_regression=plan.on_regression,
            same_examiner=plan.same_examiner,
            start=progress.start.standing,
            tried=tuple(progress.tried),
            stopped=stopped,
            why=why,
            last=progress.best.label,
            final=final,
        )
        write_atomically(plan.place / RECORD, json_text(record.as_json()))
        return record


def check_outside(base: Run, place: Path) -> None:
    """Frozen runs stay as they are: nothing is written into one.

    Raises:
        SciagentError: `place` is no folder, or is the run's own or one inside it.
    """
    if place.exists() and not place.is_dir():
        raise SciagentError("is no folder: name one to write to", path=place)
    if place.resolve().is_relative_to(base.path.resolve()):
        raise SciagentError(
            f"lies inside the frozen run {base.label}, which is never changed: name another", path=place
        )


def _line(record: RoundRecord) -> str:
    again = ", repaired" if record.attempt == "repair" else ""
    lost = f"; lost {', '.join(record.lost[:3])}{' and more' if len(record.lost) > 3 else ''}" if record.lost else ""
    return f"round {record.number}{again}: {record.outcome}; {len(record.gained)} criteria raised{lost}"


def _judged(record: RoundRecord, changed: Difference, verified: Verification) -> RoundRecord:
    """`record` with what the verification says. What held must still hold, whatever else was gained."""
    outcome = "rejected" if changed.lost else "accepted" if changed.is_progress else "no progress"
    return record.model_copy(
        update={
            "outcome": outcome,
            "standing": verified.standing,
            "gained": tuple("/".join(place) for place in changed.gained),
            "lost": tuple("/".join(place) for place in changed.lost),
            "levels": changed.levels,
            "claims": changed.claims,
        }
    )
