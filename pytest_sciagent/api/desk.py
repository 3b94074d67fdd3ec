"""Judges that are asked by a call in Python: their connections, their budget, and where answers are written."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence

from ..errors import SciagentError
from ..evaluation import Sources
from ..evaluation.open_questions import ask_all, open_about_criteria, open_about_run, share_out
from ..judging.clients import KEY_VARIABLES, Client, make_client
from ..judging.judge import Judge, RecordedJudge
from ..judging.layouts import PARAMETER, with_layout
from ..judging.panel import Poll, convene
from ..judging.prices import Price, find_price, parse_price
from ..judging.pump import Progress, Terms
from ..judging.quota import Budget
from ..judging.requests import Question
from ..ledger import WorkWriter, save_work, work_files
from ..models import JudgeIdentity, LedgerEntry, Rubric
from ..reporting.scored_runs import OpenRun

Limits = tuple[int | None, float | None, str | None]
"""Calls, US dollars, and a price that the user gives."""


class Desk:
    """One call of `judge`: who is asked, and what was answered. fresh: new answers; asked: what asking came to."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.session = uuid.uuid4().hex[:12]
        self.fresh: list[LedgerEntry] = []
        self.asked: list[Progress] = []
        self._writer: WorkWriter | None = None
        self._connect: Callable[[], list[tuple[Judge, Client, Terms]]] = list
        self._rounds = 0

    @property
    def own_answers(self) -> list[LedgerEntry]:
        """The new answers that no provider's client gave."""
        return [] if self._rounds else self.fresh

    def own(self, judge: Judge, poll: Poll) -> Judge:
        """A judge of the user's own, asked one question after another.

        Raises:
            SciagentError: it has no identity to record answers under.
        """
        if judge.identity is None:
            raise SciagentError(f"{type(judge).__name__} has no identity: set one, JudgeIdentity(kind=..., model=...)")
        return convene([judge], poll)

    def provided(
        self,
        named: Sequence[JudgeIdentity],
        layout: str,
        poll: Poll,
        base_url: str | None,
        limits: Limits,
        in_flight: int,
    ) -> Judge:
        """Judges of providers, asked many questions at a time.

        Raises:
            SciagentError: one that can't be asked, or settings that can't be used.
        """
        if in_flight < 1:
            raise SciagentError(f"in_flight {in_flight}: 1 or more calls at a time")
        for identity in named:
            if identity.kind not in KEY_VARIABLES:
                kinds = ", ".join(f"{kind}:MODEL" for kind in KEY_VARIABLES)
                raise SciagentError(
                    f"{identity.label} can't be asked; {kinds} can, and a Judge of your own. "
                    "To score by its recorded answers, call score(runs, judge=...)"
                )
            if PARAMETER in identity.parameters:
                raise SciagentError("the layout is no parameter of a provider: give it with layout=...")
        members = [RecordedJudge(with_layout(identity, layout)) for identity in named]
        terms = self._terms([m.identity for m in members if m.identity is not None], limits, in_flight)

        def connect() -> list[tuple[Judge, Client, Terms]]:
            return [
                (member, make_client(member.identity, base_url=base_url, api_key=None), terms[member.identity.text])
                for member in members
                if member.identity is not None
            ]

        connect()  # a missing key is told before anything is read
        self._connect = connect
        self._rounds = 1 + poll.draws.most - poll.draws.least
        return convene(members, poll)

    def _terms(self, judges: Iterable[JudgeIdentity], limits: Limits, in_flight: int) -> dict[str, Terms]:
        calls, dollars, given = limits
        for name, value in (("max_calls", calls), ("max_cost", dollars)):
            if value is not None and not 0 < value < float("inf"):
                raise SciagentError(f"{name} {value}: a number above 0")
        budget = None
        if calls is not None or dollars is not None:
            file = self.sources.rootdir / ".sciagent" / "budgets" / f"{self.session}.json"
            budget = Budget(file, max_calls=calls, max_cost_usd=dollars)
        found = {}
        for judge in judges:
            price: Price | None = parse_price(given) if given is not None else find_price(judge)
            if price is None and dollars is not None:
                raise SciagentError(f"max_cost: the price of {judge.label} is not known; give it with price='IN/OUT'")
            found[judge.text] = Terms(in_flight, price, budget)
        return found

    def record(self, label: str, entry: LedgerEntry) -> None:
        """Write an answer down at once.

        Raises:
            SciagentError: it can't be written.
        """
        if self._writer is None:
            self._writer = WorkWriter(self.sources.work, self.session)
        self._writer.append(label, entry)
        self.fresh.append(entry)

    def ask(
        self, opened: Sequence[OpenRun], rubric: Rubric, judge: Judge, on_progress: Callable[[Progress], None] | None
    ) -> None:
        """Put what is open to the judges of providers. One of the user's own is asked as verdicts are made.

        Raises:
            SciagentError: see `evaluation.open_questions.ask_all`.
        """
        if not self._rounds:
            return
        cases = [(run.index.nodeid, run.case) for run in opened if run.case is not None]
        about = [found for name, case in cases for found in open_about_run(case, name, judge)]
        self._put(about, on_progress)
        for _ in range(self._rounds):  # a further draw is asked for once it is known that others differ
            found = [found for name, case in cases for found in open_about_criteria(case, name, (rubric,), judge)]
            if not found:
                return
            self._put(found, on_progress)

    def _put(self, found: list[tuple[Judge, Question]], on_progress: Callable[[Progress], None] | None) -> None:
        if not found:
            return
        if self._writer is None:  # where nothing can be written down, nothing is paid for
            self._writer = WorkWriter(self.sources.work, self.session)

        def watch() -> Callable[[Progress], None]:
            def show(progress: Progress) -> None:
                if not any(progress is known for known in self.asked):
                    self.asked.append(progress)
                if on_progress is not None:
                    on_progress(progress)

            return show

        ask_all(share_out(found, self._connect()), watch)

    def save(self, opened: Iterable[OpenRun]) -> None:
        """Put the answers into the ledger.

        Raises:
            SciagentError: it can't be read or written; the work files stay.
        """
        if self._writer is None:
            return
        self._writer.close()
        runs = [run.case.run for run in opened if run.case is not None]
        save_work(self.sources.work, ((r.label, r.manifest, self.sources.ledger_of(r.path)) for r in runs))
        for file in work_files(self.sources.work, self.session):
            file.unlink()
