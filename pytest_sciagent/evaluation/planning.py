"""Which questions of a run are open, and how large their prompts are: what `sciagent plan` reckons with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..judging.decisions import is_decisions
from ..judging.estimate import Open, Size
from ..judging.judge import RecordedJudge
from ..judging.requests import Request
from ..models import JudgeIdentity, Rubric
from .case import Case


class Planner:
    """Finds open questions. Prompts are made by the code that makes them for judges, each once and not kept."""

    def __init__(self, rubrics: Sequence[Rubric]) -> None:
        self._rubrics = rubrics
        self._sizes: dict[tuple[str, str, str], Size] = {}

    def open_questions(self, case: Case, judge: JudgeIdentity) -> Iterator[Open]:
        """What `judge` would be asked about the run of `case`, by what it has answered so far.

        Facts shown with criteria follow from answers about the run. Where those are missing, a criterion is reckoned
        without facts, and marked as one that waits.
        """
        known = judge if judge in case.ledger.judges().values() else None
        about_run = () if is_decisions(judge) else case.questions.about_run()
        for request in about_run:
            if case.answers.is_open(request.key(judge)):
                yield Open(request.kind, self._size(request), None)
        for request, waits in case.foreseen_questions(self._rubrics, RecordedJudge(known)):
            if case.answers.is_open(request.key(judge)):
                yield Open(request.kind, self._size(request), f"{case.run.path}::{request.finding}", waits)

    def _size(self, request: Request) -> Size:
        name = (request.kind, request.subject, request.evidence_digest)
        if name not in self._sizes:
            self._sizes[name] = Size.of(request.make_prompt())
        return self._sizes[name]
