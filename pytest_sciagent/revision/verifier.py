"""What the loop's examiner finds in the rounds of a revision: each verified once, those of earlier calls in one go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import SciagentError
from ..layout import MANIFEST
from ..runs import Run
from .examiner import Desk, Examiner, Waiting
from .standing import Verification


@dataclass
class Verifier:
    """The loop's examiner at its desk. `rounds`: the folder of the frozen rounds; `questions`: where open ones go."""

    examiner: Examiner
    desk: Desk
    rounds: Path
    questions: Path
    _found: dict[str, Verification] = field(default_factory=dict)

    def verify(self, run: Run) -> Verification:
        """What the examiner finds in `run`; rounds that were frozen before are verified along with it.

        Raises:
            Waiting: nobody has been asked about some criteria. Without them nobody knows what failed.
            SciagentError: the session could not go through.
        """
        if self.examiner.is_handoff and (waiting := self._ask(run, whole=False)):
            raise waiting
        if run.label not in self._found:
            runs = {run.label: run, **{one.label: one for one in self._frozen(run.manifest.task_id)}}
            found = self.desk.verify(self.examiner, list(runs.values()))
            self._found |= {label: one for label, one in found.items() if label == run.label or not one.open}
        found_here = self._found[run.label]
        if found_here.unrecorded:
            raise self.waiting(run)
        return found_here

    def waiting(self, run: Run) -> Waiting:
        """What is to be done where judging `run` left something open."""
        gone = Waiting(f"judging {run.label} failed for some criteria, and nobody else can be asked")
        return self._ask(run, whole=True) or gone

    def _ask(self, run: Run, *, whole: bool) -> Waiting | None:
        place = self.questions / f"{self.examiner.name}-{run.label.replace('/', '-')}.jsonl"
        return self.desk.ask(self.examiner, [run], place, whole=whole)

    def _frozen(self, task_id: str) -> Iterator[Run]:
        """The rounds of earlier calls that can be verified. What is wrong with another is told when its turn comes."""
        for place in sorted(self.rounds.glob(f"*/{MANIFEST}")):
            try:
                run = Run.load(place.parent)
            except SciagentError:
                continue
            about = run.manifest
            usable = (about.task_id, about.status) == (task_id, "completed") and not run.problems()
            if usable and run.label not in self._found:
                yield run
