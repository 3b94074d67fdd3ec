"""One criterion put to a panel: who is to be asked next, and what the votes come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..judging.earlier import STALE, why_open
from ..judging.judge import Judge, RecordedJudge
from ..judging.panel import Ballot, Panel, combine
from ..judging.reliability import Weighing
from ..judging.requests import AnswerContext, Request
from ..judging.settle import unrecorded
from ..models import Criterion, LedgerEntry, Verdict


@dataclass(frozen=True)
class Voting:
    """A criterion of a finding, its question, and the panel that answers it.

    run: what the run is called. read: the verdict that a recorded answer of one judge carries.
    """

    run: str
    criterion: Criterion
    request: Request
    panel: Panel
    answers: AnswerContext
    read: Callable[[LedgerEntry, Judge], Verdict]

    def verdict(self) -> Verdict:
        """What all members say together; those who can be asked are asked what they have not answered."""
        poll = self.panel.poll
        weighing = poll.weights.of(self.run, self.criterion.dimension) if poll.weights is not None else None
        ballots = [ballot for member in self.panel.members for ballot in self._ballots(member, weighing)]
        return combine(ballots, poll.rule)

    def _ballots(self, member: Judge, weighing: Weighing | None) -> Iterator[Ballot]:
        name = member.identity.label if member.identity is not None else "any judge"
        weight = weighing.weights[name] if weighing is not None else None
        without = weighing.without if weighing is not None else None
        levels: list[float | None] = []
        while self.panel.poll.draws.wants(levels):
            draw = len(levels) + 1
            verdict = self._vote(member, draw, name)
            levels.append(verdict.level)
            yield Ballot(name, draw, verdict, weight, without)

    def _vote(self, member: Judge, draw: int, name: str) -> Verdict:
        request = self._draw(draw)
        entry = member.answer(request, self.answers)
        if entry is not None:
            return self.read(entry, member)
        if member.identity is None:
            return unrecorded(self.criterion, request.finding, None, f"no recorded verdict of {name}")
        key = request.key(member.identity)
        stale = why_open(self.answers.ledger, request, member.identity)
        if stale is not None:
            return unrecorded(self.criterion, request.finding, key, stale, STALE)
        which = f", draw {draw}" if draw > 1 else ""
        return unrecorded(self.criterion, request.finding, key, f"no recorded verdict of {name}{which}")

    def _draw(self, draw: int) -> Request:
        return self.request if draw == 1 else replace(self.request, draw=draw)

    def due(self) -> Iterator[tuple[Judge, Request]]:
        """Whom to ask what now: of each member the draws that everybody gives; once these are through, one more where
        they differ. Nobody is asked here."""
        for member in self.panel.members:
            if member.identity is not None:
                yield from self._due_of(member, RecordedJudge(member.identity))

    def _due_of(self, member: Judge, recorded: RecordedJudge) -> Iterator[tuple[Judge, Request]]:
        assert recorded.identity is not None
        draws = self.panel.poll.draws
        levels: list[float | None] = []
        waiting = False
        while draws.wants(levels) and not (waiting and len(levels) >= draws.least):
            request = self._draw(len(levels) + 1)
            if self.answers.is_due(request.key(recorded.identity)):
                waiting = True
                levels.append(None)
                yield member, request
            else:
                levels.append(self._vote(recorded, len(levels) + 1, recorded.identity.label).level)
