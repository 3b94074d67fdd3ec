"""Which questions of a run are open, and how large their prompts are: what `sciagent plan` reckons with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..judging.decisions import is_decisions
from ..judging.estimate import Open, Size
from ..judging.judge import RecordedJudge
from ..judging.requests import Request
from ..models import CANARY, JudgeIdentity, Rubric
from .case import Case


class Planner:
    """Finds open questions. Prompts are made by the code that makes them for judges, each once and not kept."""

    def __init__(self, rubrics: Sequence[Rubric]) -> None:
        self._rubrics = rubrics
        self._sizes: dict[tuple[str, str, str], Size] = {}

    def open_questions(
        self, case: Case, judge: JudgeIdentity, lead: JudgeIdentity | None = None, draws: int = 1
    ) -> Iterator[Open]:
        """What `judge` would be asked about the run of `case`, by what it has answered so far, in so many draws.

        `lead` is that of its panel, who alone is asked about the run as a whole; None where it leads itself. Facts
        shown with criteria follow from answers about the run. Where those are missing, a criterion is reckoned without
        facts, and marked as one that waits.
        """
        leads = lead or judge
        known = leads if leads in case.ledger.judges().values() else None
        about_run = () if lead is not None or is_decisions(judge) else case.questions.about_run()
        for request in about_run:
            if case.answers.is_open(request.key(judge)):
                yield Open(request.kind, self._size(request), None)
        for request, waits in case.foreseen_questions(self._rubrics, RecordedJudge(known)):
            for draw in range(1, 1 + (1 if request.criterion_id == CANARY else draws)):
                if case.answers.is_open(replace(request, draw=draw).key(judge)):
                    group = f"{case.run.path}::{request.finding}::{request.prefix}::{draw}"
                    yield Open(request.kind, self._size(request), group, waits)

    def _size(self, request: Request) -> Size:
        name = (request.kind, request.subject, request.evidence_digest)
        if name not in self._sizes:
            self._sizes[name] = Size.of(request.make_prompt())
        return self._sizes[name]
