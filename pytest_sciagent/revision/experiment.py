"""An experiment: arms x tasks x systems x repeats, done as far as it is not done, and scored by the final examiner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..documents import line_of, load_yaml
from ..errors import SciagentError
from ..harnesses.agent import Job, Tell
from ..harnesses.suite import run_suite
from ..judging.identity import parse_identity
from ..layout import MANIFEST
from ..models.results import Ends
from ..models.revision import ARMS, Arm, ExaminerFile, ExperimentFile
from ..rubrics import find_rubric
from ..runs import Run
from ..tasks import Task, find_task, task_folders
from .arms import Budget, Cell, Trajectory
from .examiner import Desk, Examiner, Waiting
from .loop import LEDGER, QUESTIONS, check_outside
from .standing import Verification, difference
from .told import gained
from .turns import Author


@dataclass(frozen=True)
class Scored:
    """One arm of one cell, scored: `scores` after each turn, round 0 first.

    recovered: criteria of the loop's rubric that failed in round 0 and hold at the end; None where it can't be told.
    validity: how far the judge of the scores may be believed.
    """

    system: str
    task: str
    repeat: int
    domain: str
    trajectory: Trajectory
    scores: tuple[Ends, ...]
    recovered: int | None
    validity: str

    @property
    def arm(self) -> Arm:
        return self.trajectory.arm

    @property
    def gain(self) -> Ends:
        """The gain over round 0."""
        return self.between(0, -1)

    def between(self, first: int, last: int) -> Ends:
        """The gain from the run that stood after one turn to the one after another; none where it is the same run."""
        runs = self.trajectory.runs
        is_same = runs[first].label == runs[last].label
        return Ends(low=0, high=0) if is_same else gained(self.scores[first], self.scores[last])


class Experiment:
    """One experiment file and what lies in its folders. calibration: how far judges agree with people.

    Raises:
        SciagentError: the file, or a task, system, rubric or judge that it names, can't be used.
    """

    def __init__(self, path: Path, environ: Mapping[str, str], tell: Tell, calibration: Path | None = None) -> None:
        self.file = load_yaml(path, ExperimentFile)
        self.path, self.base = path, path.absolute().parent
        self.environ, self.tell = environ, tell
        self.folders = tuple((self.base / folder).resolve() for folder in self.file.task_folders)
        self.tasks = [self._task(place, name) for place, name in enumerate(self.file.tasks)]
        self.authors = [self._author(place, name) for place, name in enumerate(self.file.systems)]
        names = [author.system.name for author in self.authors]
        if len(set(names)) < len(names):
            raise self._problem("two systems have one name: give each its own", "systems")
        self.loop = self._examiner("loop", self.file.loop)
        self.final = self._examiner("final", self.file.final)
        if self.loop.is_same_as(self.final):
            raise self._problem(
                "loop and final are one examiner, so the arms with a rubric would be tuned to their own score: give "
                "final another judge or another rubric",
                "final",
            )
        self.results = self.base / self.file.results
        late = self.file.allow_late_rubric
        ledger = self.results / LEDGER
        self.desk = Desk.at(Path.cwd(), ledger, self.folders, allow_late=late, calibration=calibration)

    def _problem(self, message: str, *steps: int | str) -> SciagentError:
        """What is wrong with a value of the file, at its line."""
        return SciagentError(message, path=self.path, line=line_of(self.path, *steps))

    def _task(self, place: int, name: str) -> Task:
        task = find_task(name, task_folders(self.folders, Path.cwd()))
        if task is None:
            raise self._problem(f"no task named {name!r}: name its folder in task_folders", "tasks", place)
        return task

    def _author(self, place: int, name: str) -> Author:
        path = self.base / name
        if not path.is_file():
            raise self._problem(f"no system file {path}", "systems", place)
        return Author.load(path)

    def _examiner(self, name: Literal["loop", "final"], given: ExaminerFile) -> Examiner:
        try:
            paths = [find_rubric(given.rubric.replace("{task}", t.id), Path.cwd(), self.base) for t in self.tasks]
            judge = parse_identity(given.judge) if given.judge is not None else None
        except SciagentError as error:
            raise self._problem(f"{name}: {error}", name) from None
        if judge is not None:
            judge = judge.model_copy(update={"parameters": given.judge_params})
        examiner = Examiner.of(name, paths, judge, given.base_url)
        for task in self.tasks:
            examiner.rubric_for(task.id)
        return examiner

    # ---- work

    def go(self) -> tuple[list[Scored], list[Waiting]]:
        """Do what is left, and score all that is there; and what has to happen outside before the rest can be done.

        Raises:
            SciagentError: bad input, or a session that could not go through.
            KeyboardInterrupt: what is frozen stays.
        """
        done: list[tuple[Cell, Trajectory]] = []
        waits: list[Waiting] = []
        for cell in self._cells():
            for arm in (arm for arm in ARMS if arm in self.file.arms):
                try:
                    done.append((cell, cell.go(arm, as_many="rubric+revise" in self.file.arms)))
                except Waiting as waiting:
                    if str(waiting) not in map(str, waits):  # two arms may wait for one turn
                        waits.append(waiting)
        try:
            return list(self._scored(done)), waits
        except Waiting as waiting:
            return [], [*waits, waiting]

    def _cells(self) -> Iterator[Cell]:
        file = self.file
        budget = Budget(file.rounds, file.max_turns, file.on_regression)
        for author in self.authors:
            for task in self.tasks:
                for repeat in range(1, file.repeats + 1):
                    name = task.id if repeat == 1 else f"{task.id}.r{repeat}"
                    base = self._round_0(author, task, repeat, name)
                    self.desk.take_over(base, (self.loop, self.final))
                    place = self.results / author.system.name / name
                    check_outside(base, place)
                    self._try_final(base, place)
                    yield Cell(base, task, author, self.loop, place, budget, self.desk, self.environ, self.tell)

    def _try_final(self, base: Run, place: Path) -> None:
        """Score round 0 before any arm works, so that a final examiner that is no use is told at no expense."""
        if not self.final.is_handoff and not place.exists():
            self.desk.verify(self.final, [base])

    def _round_0(self, author: Author, task: Task, repeat: int, name: str) -> Run:
        """The frozen round 0 of a cell; where there is none yet, it is run.

        Raises:
            SciagentError: it is not sound, did not complete, or can't be run.
        """
        target = self.base / self.file.start / author.system.name / name
        if not (target / MANIFEST).is_file():
            job = Job(task, author.system, target, repeat, author.digest)
            for result in run_suite([job], self.environ, self.tell):
                self.tell(f"round 0 of {result.run.label}: {result.run.manifest.status}")
        run = Run.load(target)
        if (run.manifest.task_id, run.manifest.repeat) != (task.id, repeat):
            raise SciagentError(f"is {run.label}, not repeat {repeat} of {task.id}", path=target)
        problems = run.problems()
        if problems:
            raise SciagentError(f"is not what was frozen: {problems[0]}", path=target)
        if run.manifest.status != "completed" or run.manifest.report is None:
            raise SciagentError("round 0 did not complete, so no arm can start from it: remove it", path=target)
        return run

    # ---- scores

    def _scored(self, done: list[tuple[Cell, Trajectory]]) -> Iterator[Scored]:
        runs = list({run.label: run for _, trajectory in done for run in trajectory.runs}.values())
        if self.final.is_handoff and runs:
            place = self.results / QUESTIONS / "final.jsonl"
            if waiting := self.desk.ask(self.final, runs, place, whole=True):
                raise waiting
        final = self.desk.verify(self.final, runs)
        by_loop = self._by_loop(done, runs)
        for cell, trajectory in done:
            scores = [final[run.label].scored.score for run in trajectory.runs]
            if None in scores:
                raise SciagentError(f"the final examiner gave {cell.label} no score: a run is not what was frozen")
            yield Scored(
                system=cell.author.system.name,
                task=cell.task.id,
                repeat=cell.base.manifest.repeat,
                domain=cell.task.manifest.domain,
                trajectory=trajectory,
                scores=tuple(score for score in scores if score is not None),
                recovered=_recovered(trajectory, by_loop),
                validity=final[trajectory.runs[-1].label].validity,
            )

    def _by_loop(self, done: list[tuple[Cell, Trajectory]], runs: list[Run]) -> dict[str, Verification]:
        """The first and the last run of each arm by the loop's rubric, to count what was recovered.

        A hand-off judge is asked by the revisions alone; without one nothing is recorded that could be replayed.
        """
        ends = {t.runs[n].label for _, t in done for n in (0, -1)}
        if self.loop.is_handoff and not any(t.record is not None for _, t in done):
            return {}
        return self.desk.verify(self.loop, [run for run in runs if run.label in ends])


def _recovered(trajectory: Trajectory, found: Mapping[str, Verification]) -> int | None:
    first, last = (found.get(trajectory.runs[n].label) for n in (0, -1))
    if first is None or last is None or first.open or last.open:
        return None
    changed = difference(first, last)
    return sum(c.after == 1 and c.before is not None for c in changed.levels)
