"""The arms of an experiment: what one system does from one frozen round 0, with and without a rubric.

Arms share what they have in common, so that a difference between two of them is not a difference of luck before they
part: `rubric+revise` goes on from the result of `rubric`, and `compute-matched` is the sequence of `self-refine`, gone
on with until the tokens of `rubric+revise` are spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from ..errors import SciagentError
from ..harnesses.agent import Tell
from ..models import Usage
from ..models.revision import Arm, RevisionRecord
from ..runs import Run
from ..tasks import Task
from .examiner import Desk, Examiner
from .feedback import guided_texts, refine_texts
from .loop import RUNS, Plan, Revision
from .told import round_name
from .turns import Author, Turn, take_turn


@dataclass(frozen=True)
class Spent:
    """What turns used. None: at least one of them did not tell."""

    turns: int = 0
    tokens: int | None = 0
    cost_usd: float | None = 0.0

    def __add__(self, usage: Usage) -> Spent:
        tokens = None if usage.input_tokens is None and usage.output_tokens is None else _sum(usage)
        return Spent(
            self.turns + 1,
            None if self.tokens is None or tokens is None else self.tokens + tokens,
            None if self.cost_usd is None or usage.cost_usd is None else self.cost_usd + usage.cost_usd,
        )


def _sum(usage: Usage) -> int:
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


@dataclass(frozen=True)
class Trajectory:
    """What an arm came to: round 0, and after each turn the run that stands then; a turn that failed changes nothing.

    record: that of the revision, in the arm that has one. note: why it is no use for a comparison; None where it is.
    failed: what went wrong in each turn that failed.
    """

    arm: Arm
    runs: tuple[Run, ...]
    spent: Spent = Spent()
    record: RevisionRecord | None = None
    note: str | None = None
    failed: tuple[str, ...] = ()

    @property
    def turns(self) -> tuple[tuple[int, str], ...]:
        """The turns after round 0, in their order: a number to sort by, and a name. As many as `runs` has after it."""
        if self.arm in ("skeleton", "rubric", "rubric+revise"):
            tried = self.record.tried if self.record is not None else ()
            return ((0, "guided"), *((one.number, round_name(one)) for one in tried))
        return tuple((number, str(number)) for number in range(1, len(self.runs)))


@dataclass(frozen=True)
class Budget:
    """How far the arms of an experiment may go."""

    rounds: int
    max_turns: int
    on_regression: Literal["reject", "repair"] = "reject"


class Cell:
    """One system on one task, once: all its arms start from `base`."""

    def __init__(
        self,
        base: Run,
        task: Task,
        author: Author,
        loop: Examiner,
        place: Path,
        budget: Budget,
        desk: Desk,
        environ: Mapping[str, str],
        tell: Tell,
    ) -> None:
        self.base, self.task, self.author, self.loop = base, task, author, loop
        self.place, self.budget, self.desk, self.environ, self.tell = place, budget, desk, environ, tell

    @property
    def label(self) -> str:
        """System and task, as progress and tables name the cell."""
        repeat = self.base.manifest.repeat
        return f"{self.author.system.name}/{self.task.id}" + ("" if repeat == 1 else f".r{repeat}")

    def go(self, arm: Arm, *, as_many: bool) -> Trajectory:
        """Do what is left of an arm. as_many: self-refine takes as many turns as rubric+revise does here.

        Raises:
            Waiting: something outside has to happen first.
            SciagentError: bad input.
        """
        if arm == "vanilla":
            return Trajectory(arm, (self.base,))
        if arm == "skeleton":
            return self._guided("skeleton")
        if arm == "rubric":
            return self._by_rubric
        if arm == "rubric+revise":
            return self._revised
        return self._refined(arm, as_many)

    def _guided(self, arm: Literal["skeleton", "rubric"]) -> Trajectory:
        texts = guided_texts(self.loop.rubric_for(self.task.id), only_skeleton=arm == "skeleton")
        run = self._turn(self.base, texts, arm)
        after = (self.base, _standing(run, self.base))
        return Trajectory(arm, after, Spent() + run.manifest.usage, failed=_failures([run]))

    def _turn(self, base: Run, texts: Mapping[str, str], name: str) -> Run:
        turn = Turn(
            self.task,
            self.author,
            base,
            texts,
            self.place / RUNS / name,
            f"{self.author.system.name}-{name}",
            self.place / name,
            self.base.manifest.started_at,
        )
        run = take_turn(turn, self.environ, self.tell)
        session = run.manifest.session
        if session is not None and not session.started:
            raise SciagentError(f"{turn.name}: {session.problem}; the same command tries it again", path=run.path)
        return run

    @cached_property
    def _by_rubric(self) -> Trajectory:
        return self._guided("rubric")

    @cached_property
    def _revised(self) -> Trajectory:
        guided = self._by_rubric
        plan = Plan(
            base=guided.runs[-1],
            task=self.task,
            author=self.author,
            loop=self.loop,
            final=None,
            place=self.place / "revise",
            label=f"{self.author.system.name}-revise",
            rounds=self.budget.rounds,
            on_regression=self.budget.on_regression,
        )
        record = Revision(plan, self.desk, self.environ, self.tell).go()
        runs, spent = list(guided.runs), guided.spent
        failed = guided.failed + tuple(str(tried.problem) for tried in record.tried if tried.outcome == "failed")
        for tried in record.tried:
            spent += tried.usage
            accepted = tried.outcome == "accepted"
            runs.append(Run.load(plan.place / tried.run) if accepted else runs[-1])
        return Trajectory("rubric+revise", tuple(runs), spent, record, failed=failed)

    def _refined(self, arm: Arm, as_many: bool) -> Trajectory:
        matched = arm == "compute-matched"
        limit = self._revised.spent if matched or as_many else None
        if matched and (limit is None or limit.tokens is None):
            return Trajectory(arm, (self.base,), note="the harness does not tell its tokens, so none can be matched")
        turns = self.budget.max_turns if matched else limit.turns if limit is not None else 1 + self.budget.rounds
        stood, made, spent = [self.base], [], Spent()
        note = f"{turns} turns did not spend the tokens of rubric+revise" if matched else None
        while spent.turns < turns:
            run = self._turn(stood[-1], refine_texts(), f"refine-{spent.turns + 1}")
            spent += run.manifest.usage
            made.append(run)
            stood.append(_standing(run, stood[-1]))
            if matched and spent.tokens is None:
                note = "a turn did not tell its tokens"
                break
            if matched and limit is not None and (spent.tokens or 0) >= (limit.tokens or 0):
                note = None
                break
        return Trajectory(arm, tuple(stood), spent, note=note, failed=_failures(made))


def _failures(runs: Iterable[Run]) -> tuple[str, ...]:
    """What went wrong in each of the turns that failed."""
    failed = [run.manifest for run in runs if run.manifest.status != "completed"]
    return tuple((about.session.problem if about.session is not None else None) or about.status for about in failed)


def _standing(run: Run, before: Run) -> Run:
    """What stands after a turn: its run, or where it failed, what stood before."""
    return run if run.manifest.status == "completed" else before
