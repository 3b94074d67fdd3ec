"""A question for a judge, and the key under which its answer is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..digest import sha256_bytes
from ..ledger import Ledger
from ..models import JudgeIdentity, LedgerEntry, Model, QuestionKind
from ..models.base import Sha256
from ..models.verdict import Parts
from .clients import Prompt
from .prompts import PACKAGED
from .template_set import TemplateSet

Asking = Literal["missing", "again", "never"]
KEY_VERSION = 1


class Asked(Model):
    """What is recorded of a question: enough to take its answer in later."""

    key: Sha256
    kind: QuestionKind
    criterion_id: str
    finding: str | None
    template_digest: Sha256
    evidence_digest: Sha256
    parts: Parts | None = None
    draw: int


@dataclass(frozen=True)
class Request:
    """One question. The prompt is made only when somebody is asked; the key never needs it.

    subject: digest of the words that are asked about: the criterion, the card, or the findings' texts.
    evidence_digest: digest of all material the prompt shows, and of the facts given.
    prefix: tells apart what the prompts of one finding show first; those of one prefix can be asked together.
    make_parts: makes the short digests by which it can be told later what has changed (`models.verdict.Parts`).
    """

    kind: QuestionKind
    criterion_id: str
    finding: str | None
    subject: str
    evidence_digest: str
    make_prompt: Callable[[], Prompt] = field(compare=False, repr=False)
    draw: int = 1
    templates: TemplateSet = field(default=PACKAGED, compare=False, repr=False)
    prefix: str = ""
    make_parts: Callable[[], str] | None = field(default=None, compare=False, repr=False)

    @property
    def template_digest(self) -> str:
        return self.templates.digest(self.kind)

    @property
    def parts(self) -> str | None:
        """What the question is made of; None where that is not told."""
        return None if self.make_parts is None else self.make_parts()

    def key(self, judge: JudgeIdentity) -> str:
        """The ledger key: what was asked, of whom, by which words; never paths, times, addresses or retries.

        The SHA-256 of canonical JSON (RFC 8785) of draw, evidence, judge, kind, subject, template, version.
        """
        # Written out: a replay makes every key, and all values but the judge are digests, numbers and plain words.
        before = f'{{"draw":{self.draw},"evidence":"{self.evidence_digest}","judge":'
        after = f',"kind":"{self.kind}","subject":"{self.subject}","template":"{self.template_digest}"'
        end = f',"version":{KEY_VERSION}}}'
        return sha256_bytes(before.encode() + judge.canonical + after.encode() + end.encode())

    def asked(self, judge: JudgeIdentity) -> Asked:
        """What is recorded of this question, put to `judge`."""
        return Asked(
            key=self.key(judge),
            kind=self.kind,
            criterion_id=self.criterion_id,
            finding=self.finding,
            template_digest=self.template_digest,
            evidence_digest=self.evidence_digest,
            parts=self.parts,
            draw=self.draw,
        )


class Reader(Protocol):
    """Reads answers about one thing: what they are checked against (see `settle.RunReader` for a run)."""

    def read(self, asked: Asked, judge: JudgeIdentity, text: str) -> dict[str, Any]:
        """The fields of the ledger entry that hold the answer in `text`.

        Raises:
            BadAnswer: it can't be used.
        """


@dataclass(frozen=True)
class AnswerContext:
    """Where answers about one thing (a run; a task, as its rubric is made) are recorded, and who reads them.

    asking: whether a judge is asked what is `missing`, everything `again` (once a session), or `never`.
    tried: the keys of what the controller of this session has asked a provider, whatever came of it.
    """

    ledger: Ledger
    reader: Reader
    record: Callable[[LedgerEntry], None]
    asking: Asking = "missing"
    tried: set[str] = field(default_factory=set)
    _asked: set[str] = field(default_factory=set)

    def is_open(self, key: str) -> bool:
        """Whether the question of this key is to be asked."""
        if self.asking == "never":
            return False
        if self.asking == "again":
            return key not in self._asked
        known = self.ledger.get(key)
        return known is None or not known.settles

    def is_due(self, key: str) -> bool:
        """Whether the question of this key is to be asked, and is not among those that this session has `tried`."""
        return key not in self.tried and self.is_open(key)

    def keep(self, entry: LedgerEntry) -> None:
        """Take in and record a new answer.

        Raises:
            SciagentError: it can't be recorded.
        """
        self.take_in([entry])
        self.record(entry)

    def collect(self, entry: LedgerEntry) -> None:
        """Take in and record what came of a question that an earlier session has asked: a failure leaves it open.

        Raises:
            SciagentError: it can't be recorded.
        """
        if entry.settles:
            self.keep(entry)
        else:
            self.ledger.add(entry)
            self.record(entry)

    def take_in(self, entries: Iterable[LedgerEntry]) -> None:
        """Know answers that another process of this session has recorded."""
        for entry in entries:
            self.ledger.add(entry)
            self._asked.add(entry.key)


@dataclass(frozen=True)
class Question:
    """An open question. Questions of one `group` share a prompt prefix.

    run: the label of the run that it belongs to; empty for a question about a task.
    """

    request: Request
    context: AnswerContext
    group: str
    run: str = ""
