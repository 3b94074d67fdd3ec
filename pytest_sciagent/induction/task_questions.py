"""Questions about a task, put to a model by the judges' engine: recorded answers first, then client or hand-off."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..digest import sha256_json
from ..documents import load_json
from ..errors import SciagentError
from ..judging.answers import BadAnswer, parse_object
from ..judging.clients import Client, Prompt
from ..judging.handoff import Answer, export_lines, settle_answers
from ..judging.pump import Terms, pump
from ..judging.requests import AnswerContext, Asked, Question, Request
from ..judging.settle import plain_answer
from ..ledger import Ledger
from ..ledger.store import write_atomically
from ..models import JudgeIdentity, LedgerEntry, Model, QuestionKind
from .prompts import INDUCTION
from .states import InductionRecord, StateFolder

M = TypeVar("M", bound=Model)
RECORD = "answers"
OPEN_FILE = "open.jsonl"


class OpenQuestions(Exception):
    """Questions that nobody has answered; their prompts are in `path`."""

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        self.count = count
        super().__init__(f"{count} open questions in {path}")


@dataclass(frozen=True)
class Ask(Generic[M]):
    """A question about a task: the values its template shows, and the check that its answer has to pass.

    check: raises `BadAnswer` for an answer that does not hold.
    """

    kind: QuestionKind
    name: str
    values: Mapping[str, Any]
    answer: type[M]
    check: Callable[[M], None]
    draw: int = 1

    @property
    def request(self) -> Request:
        """The question as the engine takes it."""
        return Request(
            kind=self.kind,
            criterion_id=self.name,
            finding=None,
            subject=sha256_json({"about": self.name}),
            evidence_digest=sha256_json(dict(self.values)),
            make_prompt=self._prompt,
            draw=self.draw,
            templates=INDUCTION,
        )

    def _prompt(self) -> Prompt:
        nonce = secrets.token_hex(8)
        text = INDUCTION.render(self.kind, nonce, **self.values)
        return Prompt(INDUCTION.system(nonce), "", text, self.kind, INDUCTION.answer_schema(self.kind))

    def read(self, asked: Asked, judge: JudgeIdentity, text: str) -> dict[str, Any]:
        """See `Reader`."""
        return plain_answer(self.parse(text))

    def parse(self, text: str) -> M:
        """The answer in `text`.

        Raises:
            BadAnswer: it can't be used.
        """
        answer = parse_object(text, self.answer)
        self.check(answer)
        return answer


@dataclass
class Desk:
    """Where an induction's questions go. New answers are recorded in the state folder at once.

    judge: who answers. make_client: a connection to ask by; None for a hand-off. given: answers that came back;
    unread: how many lines beside them can't be read as answers.
    guard: whether a text (for the question it is given) must not be sent.
    used: keys of the answers that were read since it was last emptied.
    """

    task_id: str
    folder: StateFolder
    judge: JudgeIdentity | None
    make_client: Callable[[], Client] | None = None
    terms: Terms = field(default_factory=lambda: Terms(in_flight=4))
    given: Sequence[Answer] = ()
    unread: int = 0
    guard: Callable[[str, str], bool] = lambda text, what: False
    used: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        path = self.folder.file(RECORD)
        known = load_json(path, InductionRecord).entries if path.is_file() else ()
        self.ledger = Ledger(known)

    def _record(self, entry: LedgerEntry) -> None:
        if not entry.settles:  # a failure is told, and its question stays open
            self.problems.append(f"{entry.criterion_id}: {entry.status}: {entry.reason}")
            return
        settled = tuple(e for e in self.ledger.entries if e.settles)
        self.folder.save(RECORD, InductionRecord(task_id=self.task_id, judge=self.judge, entries=settled))

    def ask(self, asks: Sequence[Ask[M]]) -> list[M]:
        """The answers to `asks`, in their order.

        Raises:
            OpenQuestions: some are not answered; they were exported.
            SciagentError: nobody to ask, or a model that can't be asked.
        """
        judge = self.judge
        if judge is None:
            raise SciagentError("this stage asks a model: name one with --judge KIND:MODEL, such as handoff:NAME")
        pending = []
        for ask in asks:
            if any(self.guard(text, ask.name) for text in strings_in(dict(ask.values))):
                raise SciagentError(
                    f"what {ask.name!r} would show names a study that no model may know: it is not sent"
                )
            context = AnswerContext(self.ledger, ask, self._record)
            self._take_in(ask, judge, context)
            if context.is_open(ask.request.key(judge)):
                pending.append((ask, context))
        if pending:
            self._put(pending, judge)
        (self.folder.path / OPEN_FILE).unlink(missing_ok=True)
        return [self._answer(ask, judge) for ask in asks]

    def one(self, ask: Ask[M]) -> M:
        """The answer to one question; raises as `ask`."""
        return self.ask([ask])[0]

    def _take_in(self, ask: Ask[M], judge: JudgeIdentity, context: AnswerContext) -> None:
        entries, _ = settle_answers(self.given, [ask.request], judge, context)
        for entry in entries:
            if context.is_open(entry.key):
                context.keep(entry)

    def _put(self, pending: Sequence[tuple[Ask[M], AnswerContext]], judge: JudgeIdentity) -> None:
        requests = [ask.request for ask, _ in pending]
        if self.make_client is None:
            path = self.folder.path / OPEN_FILE
            write_atomically(path, "".join(f"{line}\n" for line in export_lines(requests, judge)))
            raise OpenQuestions(path, len(requests))
        questions = [Question(r, c, group=r.criterion_id) for r, (_, c) in zip(requests, pending, strict=True)]
        progress = pump(questions, self.make_client(), self.terms)
        if progress.fatal is not None:
            raise SciagentError(f"{judge.label} can't be asked: {progress.fatal}")

    def _answer(self, ask: Ask[M], judge: JudgeIdentity) -> M:
        key = ask.request.key(judge)
        entry = self.ledger.get(key)
        if entry is None or entry.answer is None or not entry.settles:
            told = self.problems[-1] if self.problems else f"{ask.name}: no answer"
            raise SciagentError(f"no usable answer of {judge.label}: {told}; run again to ask once more")
        try:  # read anew: a record edited by hand holds no more than an answer could
            answer = ask.parse(json.dumps({"rationale": entry.reason, **entry.answer}))
        except BadAnswer as error:
            raise SciagentError(
                f"the recorded answer {ask.name!r} does not hold: {error}", path=self.folder.file(RECORD)
            ) from None
        self.used.append(key)
        return answer

    def spent(self) -> tuple[str, ...]:
        """The keys of the answers read since the last call: what the state that is made now rests on."""
        keys, self.used = tuple(dict.fromkeys(self.used)), []
        return keys


def strings_in(value: object) -> Iterator[str]:
    """Every text in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings_in(inner)
