"""Who verifies: a rubric and a judge, asked by a session of pytest in a process of its own.

The items are those of any session on the run. A process of its own keeps judge and author apart, leaves no state of
one session to the next, and its end, however it comes, is an exit code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..digest import sha256_bytes
from ..errors import SciagentError
from ..ledger.store import Ledger, ledger_folder, write_atomically, write_record
from ..models import JudgeIdentity, Rubric
from ..models.results import ResultsFile, RunScored
from ..models.revision import ExaminerUsed
from ..reporting.validity import not_calibrated
from ..rubrics import load_rubric
from ..runs import Run
from ..text import counted
from .standing import Verification

EXIT_INTERRUPTED = 2
SESSION_ENDED = (0, 1, 10)
"""Exit codes of a session that went through: failing and unassessed criteria are what it is there to find."""

NOT_NEEDED = ("cacheprovider", "html", "metadata", "anyio", "hypothesispytest")
"""Plugins that take most of the time of a small session, and no part in it."""


class Waiting(Exception):
    """The revision can't go on before something outside has happened; the text says what, and how to go on."""


@dataclass(frozen=True)
class Examiner:
    """Rubrics by file, and a judge; None: code and recorded verdicts only. `name`: how its files are called."""

    name: str
    rubrics: tuple[Path, ...]
    loaded: tuple[Rubric, ...]
    judge: JudgeIdentity | None = None
    base_url: str | None = None

    @classmethod
    def of(
        cls, name: str, rubrics: Sequence[Path], judge: JudgeIdentity | None = None, base_url: str | None = None
    ) -> Examiner:
        """The examiner by these rubrics; where they ask no judge, there is none.

        Raises:
            SciagentError: a rubric that can't be read.
        """
        paths = tuple(dict.fromkeys(path.absolute() for path in rubrics))
        loaded = tuple(load_rubric(str(path), path.parent, path.parent) for path in paths)
        if any(criterion.judge for rubric in loaded for criterion in rubric.criteria):
            return cls(name, paths, loaded, judge, base_url)
        return cls(name, paths, loaded)

    @property
    def is_handoff(self) -> bool:
        """Whether its judge is asked by hand-off."""
        return self.judge is not None and self.judge.kind == "handoff"

    @property
    def used(self) -> ExaminerUsed:
        """As records name it."""
        return ExaminerUsed(rubrics={r.id: r.digest for r in self.loaded}, judge=self.judge)

    def rubric_for(self, task_id: str) -> Rubric:
        """The rubric that gives a run on this task its score.

        Raises:
            SciagentError: none of them judges runs of this task.
        """
        for rubric in self.loaded:
            if rubric.task_id in (None, task_id):
                return rubric
        raise SciagentError(f"no rubric of the {self.name} examiner is made for the task {task_id}")

    def is_same_as(self, other: Examiner) -> bool:
        """Whether a judge and a rubric are shared: what the one wants is then what the other scores.

        A judge is known by kind and model, whatever its parameters; a rubric by its criteria, whatever it is called.
        Where code decides alone, a shared rubric makes two examiners the same.
        """
        shared = self._asked & other._asked
        return bool(shared) and self._who == other._who

    @property
    def _asked(self) -> set[frozenset[str]]:
        return {frozenset(criterion.digest for criterion in rubric.criteria) for rubric in self.loaded}

    @property
    def _who(self) -> tuple[str, str] | None:
        return (self.judge.kind, self.judge.model) if self.judge is not None else None


def _hooks(root: Path) -> dict[Path, str]:
    """What pytest loads of the user's own code for a session in `root`, by digest; a link by where it leads."""
    found = {}
    for path in sorted([root / "conftest.py", *root.glob("test*/conftest.py")]):
        if path.is_symlink():
            found[path] = str(path.readlink())
        elif path.is_file():
            found[path] = sha256_bytes(path.read_bytes())
    return found


@dataclass(frozen=True)
class Desk:
    """Where sessions look things up: tasks, the ledger of the revision, and the folder that names are relative to.

    allow_late: whether a rubric may have been frozen after the run began, as every rubric is that is made for a run
    which is there already (`--sciagent-allow-late-rubric`).
    hooks: the user's own code that sessions load, by digest: what a system leaves there while it works is never run.
    calibration: how far judges agree with people (`--sciagent-calibration`); None: where sessions look for it.
    """

    root: Path
    ledger: Path
    tasks: tuple[Path, ...]
    allow_late: bool
    hooks: Mapping[Path, str]
    calibration: Path | None = None

    @classmethod
    def at(
        cls,
        root: Path,
        ledger: Path,
        tasks: tuple[Path, ...] = (),
        *,
        allow_late: bool = False,
        calibration: Path | None = None,
    ) -> Desk:
        """The desk in the folder `root`, whose own code is taken to be the user's as it is now."""
        return cls(root, ledger, tasks, allow_late, _hooks(root), calibration)

    def take_over(self, run: Run, examiners: Iterable[Examiner]) -> None:
        """Copy what is recorded for `run` where it lies, as far as these examiners' judges gave it."""
        manifest = run.manifest
        theirs = ledger_folder(run.path, None, self.root)
        if theirs.resolve() == self.ledger.resolve():
            return
        judges = [examiner.judge for examiner in examiners]
        known = Ledger.load(self.ledger, manifest)
        wanted = [e for e in Ledger.load(theirs, manifest).entries if None in judges or e.judge in judges]
        fresh = [entry for entry in wanted if known.get(entry.key) is None]
        if fresh:
            write_record(self.ledger, manifest, [*known.entries, *fresh])

    def verify(self, examiner: Examiner, runs: Sequence[Run]) -> dict[str, Verification]:
        """What `examiner` finds in each of `runs`, by the run's label. Verdicts that are recorded are replayed.

        Raises:
            SciagentError: the session could not go through.
            KeyboardInterrupt: it was interrupted.
        """
        if not runs:
            return {}
        results = self._session(examiner, runs)
        used = {rubric.id: rubric.digest for rubric in results.rubrics}
        for rubric, path in zip(examiner.loaded, examiner.rubrics, strict=True):
            if used.get(rubric.id) != rubric.digest:
                raise SciagentError(
                    "was changed while the system worked: what was found before and after it can't be "
                    "compared. Put it back, and start the command again",
                    path=path,
                )
        scored: dict[str, RunScored] = {run.label: run for run in results.runs}
        told = results.validity.sentence if results.validity is not None else not_calibrated(results.judge).sentence
        rubrics = {run.label: examiner.rubric_for(run.manifest.task_id) for run in runs}
        return {label: Verification(scored[label], rubric, told) for label, rubric in rubrics.items()}

    def _session(self, examiner: Examiner, runs: Sequence[Run]) -> ResultsFile:
        self._check_hooks()
        with tempfile.TemporaryDirectory(prefix="sciagent-verify-") as folder:
            told = Path(folder) / "results.json"
            given = [f"--sciagent-run={run.path.absolute()}" for run in runs]
            given += [f"--sciagent-rubric={path}" for path in examiner.rubrics]
            given += [f"--sciagent-tasks={path}" for path in self.tasks]
            given += [f"--sciagent-ledger={self.ledger}", f"--sciagent-json={told}"]
            if examiner.judge is not None:
                given.append(f"--sciagent-judge={examiner.judge.label}")
                for name, value in examiner.judge.parameters.items():
                    given.append(f"--sciagent-judge-param={name}={json.dumps(value)}")
            given += [f"--sciagent-base-url={examiner.base_url}"] if examiner.base_url else []
            given += ["--sciagent-allow-late-rubric"] if self.allow_late else []
            given += [f"--sciagent-calibration={self.calibration}"] if self.calibration is not None else []
            quiet = [
                "-q",
                "--no-header",
                "--tb=no",
                "-rN",
                "--assert=plain",
                *(f"-pno:{plugin}" for plugin in NOT_NEEDED),
            ]
            quiet += ["-c", os.devnull, f"--rootdir={self.root}"]  # gates of the user's own are not for rounds
            command = [
                sys.executable,
                "-P",
                "-m",
                "pytest",
                *quiet,
                *given,
            ]  # -P: as `pytest`, without this folder's modules
            done = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode == EXIT_INTERRUPTED:
                raise KeyboardInterrupt
            if done.returncode not in SESSION_ENDED or not told.is_file():
                tail = " ".join(line for line in done.stdout.splitlines()[-4:] if line.strip())
                raise SciagentError(f"verification ended with exit code {done.returncode}: {tail}")
            return ResultsFile.model_validate_json(told.read_bytes())

    def _check_hooks(self) -> None:
        now = _hooks(self.root)
        for path in sorted({*now, *self.hooks}):
            if now.get(path) != self.hooks.get(path):
                raise SciagentError(
                    "was written, changed or removed while the system worked, and verification would load it: look at "
                    "it, then start the command again",
                    path=path,
                )

    def ask(self, examiner: Examiner, runs: Sequence[Run], place: Path, *, whole: bool) -> Waiting | None:
        """What is to be done where `examiner` has not answered all about `runs`; None where nothing can be.

        A hand-off judge's open questions are written to `place`. whole: also those about runs as a whole, which a score
        needs, and a criterion only where its check waits for one.
        """
        judge = examiner.judge
        names = ", ".join(run.label for run in runs)
        if judge is None or not examiner.is_handoff:
            return Waiting(
                f"criteria of {names} have no verdict of the {examiner.name} examiner: start the command again to ask "
                "anew, or name a judge that can be asked"
            )
        count = self._export(examiner, judge, runs, place, whole)
        if count == 0:
            return None
        paths = " ".join(str(run.path) for run in runs)
        layout = judge.parameters.get("layout", "item")
        rubrics = " ".join(f"--rubric {path}" for path in examiner.rubrics)
        return Waiting(
            f"{counted(count, 'question')} about {names} to be answered by {judge.label} in {place}. Take the answers "
            f"in, then start this command again:\n  sciagent ledger import ANSWERS.jsonl {paths} "
            f"--ledger {self.ledger} {rubrics} "
            f"--as {judge.model} --layout {layout}"
        )

    def _export(self, examiner: Examiner, judge: JudgeIdentity, runs: Sequence[Run], place: Path, whole: bool) -> int:
        from ..evaluation import Sources, open_case
        from ..judging.handoff import export_lines, open_requests
        from ..judging.judge import RecordedJudge

        sources = Sources(self.root, self.tasks, self.ledger)
        lines: list[str] = []
        count = 0
        for run in runs:
            case = open_case(run.path, sources, lambda label, entry: None)
            rubrics = [examiner.rubric_for(run.manifest.task_id)]
            recorded = RecordedJudge(judge)
            asked = case.requests(rubrics, recorded) if whole else case.criterion_questions(rubrics, recorded)
            requests = open_requests(asked, judge, case.answers)
            count += len(requests)
            lines += export_lines(requests, judge)
        if lines:
            write_atomically(place, "".join(f"{line}\n" for line in lines))
        return count
