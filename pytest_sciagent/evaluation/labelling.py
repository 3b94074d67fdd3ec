"""People as judges: which questions they are asked, in which order, and how their answers are kept."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..digest import sha256_json
from ..errors import SciagentError
from ..judging.clients import Reply
from ..judging.judge import RecordedJudge
from ..judging.panel import Panel
from ..judging.requests import Request
from ..judging.settle import settle
from ..ledger import Ledger, write_record
from ..ledger.folders import records
from ..models import CANARY, JudgeIdentity, JudgeUsage, Label, LedgerEntry, Rater, Rubric
from .case import Case
from .labels import DATASET, LEVELS_SCALE

HUMAN = "human"
"""The kind of a person's identity as a judge."""
LOCK = ".lock"


def person(name: str) -> JudgeIdentity:
    """Who a person is in a ledger.

    Raises:
        SciagentError: a name by which nobody could be asked for.
    """
    if not name.strip() or "," in name or not name.isprintable():
        raise SciagentError(f"a rater's name is words without a comma, not {name!r}")
    return JudgeIdentity(kind=HUMAN, model=name)


@dataclass(frozen=True, slots=True)
class Question:
    """One criterion of one finding, put to a person. others: what those said between whom it is decided."""

    case: Case
    request: Request
    others: tuple[LedgerEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What a person has chosen: a level, why, and above 0 the file and the passage that earn it."""

    level: float
    reason: str
    file: str
    quote: str

    def as_reply(self) -> Reply:
        """The same as the answer of a judge."""
        citations = [{"file": self.file, "quote": self.quote}] if self.quote.strip() else []
        anchors = {"zero": self.level == 0, "full": self.level == 1, "half": self.level == 0.5}
        text = json.dumps({"rationale": self.reason or "no reason given", "citations": citations, **anchors})
        return Reply(text, "assessed", "", HUMAN, JudgeUsage(), 0.0)


class Labelling:
    """The questions that one person is asked by id, the most informative first, and the folder that takes the answers.

    lead: the judge whose recorded answers about runs say which facts are shown; the person sees no verdict of it.
    between: two raters; only what they judged differently is asked then, with what each said.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        rubric: Rubric,
        rater: str,
        folder: Path,
        *,
        lead: JudgeIdentity | None = None,
        between: tuple[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        self.rater = person(rater)
        self.folder = folder
        self._labels = {case.run.label: Ledger.load(folder, case.run.manifest) for case in cases}
        view = Panel([RecordedJudge(self.rater)], lead=RecordedJudge(lead))
        asked = [Question(case, request) for case in cases for request in case.criterion_questions([rubric], view)]
        asked = [question for question in asked if question.request.criterion_id != CANARY]
        if between is not None:
            asked = list(self._disputed(asked, [person(name) for name in between]))
        ranked = sorted(asked, key=lambda q: (_rank(q), sha256_json([seed, _id(q)])))
        self.questions = {_id(question): question for question in ranked}
        self.skipped: list[str] = []

    def _disputed(self, asked: Sequence[Question], raters: Sequence[JudgeIdentity]) -> Iterator[Question]:
        for question in asked:
            ledger = self._labels[question.case.run.label]
            found = [ledger.get(question.request.key(rater)) for rater in raters]
            said = tuple(entry for entry in found if entry is not None and entry.level is not None)
            if len(said) == len(raters) and len({entry.level for entry in said}) > 1:
                yield Question(question.case, question.request, said)

    def is_answered(self, id: str) -> bool:
        """Whether this person has answered a question."""
        question = self.questions[id]
        return self._labels[question.case.run.label].get(question.request.key(self.rater)) is not None

    @property
    def answered(self) -> int:
        return sum(map(self.is_answered, self.questions))

    def next(self) -> str | None:
        """The id of the next question; those that were skipped come last, in the order in which they were."""
        open_ = [id for id in self.questions if not self.is_answered(id)]
        later = [id for id in self.skipped if id in open_]
        return next((id for id in open_ if id not in later), later[0] if later else None)

    def take(self, id: str, given: Given) -> LedgerEntry:
        """Check an answer as a judge's is checked, and write it at once if it counts.

        Raises:
            SciagentError: the record can't be written.
        """
        question = self.questions[id]
        case = question.case
        entry = settle(question.request, self.rater, given.as_reply(), case.answers)
        if entry.settles:
            with _alone(self.folder):
                ledger = Ledger.load(self.folder, case.run.manifest)  # others may have labelled since
                ledger.add(entry)
                write_record(self.folder, case.run.manifest, ledger.entries)
            self._labels[case.run.label] = ledger
        return entry


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from writing labels in `folder` meanwhile.

    Raises:
        SciagentError: the folder can't be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / LOCK).open("w")
    except OSError as error:
        raise SciagentError(f"can't be written: {error.strerror}", path=folder) from None
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _id(question: Question) -> str:
    """What tells questions apart in one list; two runs may hold the same evidence, and so share a ledger key."""
    request = question.request
    return sha256_json([question.case.run.label, request.finding, request.criterion_id, request.evidence_digest])


def _rank(question: Question) -> int:
    """0: recorded judges, or draws, disagree. 1: a borderline level. 2: nothing is recorded. 3: all say 0, or all 1."""
    request = question.request
    levels = {
        entry.level
        for entry in question.case.ledger.entries
        if entry.kind == "criterion" and (entry.criterion_id, entry.finding) == (request.criterion_id, request.finding)
    }
    if len(levels) > 1:
        return 0
    return 2 if not levels else 1 if levels == {0.5} else 3


def labels_of_people(folder: Path) -> list[Label]:
    """What people have answered in a ledger folder, as labels: of two answers of one person to one criterion of a
    finding (asked in other words, say) the later.

    Raises:
        SciagentError: no such folder, or a record that can't be read.
    """
    found = []
    for _, record in records(folder):
        run = f"{record.system}/{record.task_id}" + ("" if record.repeat == 1 else f".r{record.repeat}")
        last: dict[tuple[str | None, str, str], LedgerEntry] = {}
        for entry in record.entries:
            if entry.kind == "criterion" and entry.judge.kind == HUMAN and entry.level is not None:
                thing = entry.finding, entry.criterion_id, entry.judge.model
                last[thing] = max(last.get(thing, entry), entry, key=lambda one: one.time)
        found += [
            Label(
                dataset=DATASET,
                run=run,
                finding=entry.finding,
                criterion=entry.criterion_id,
                rater=Rater(kind="human", name=entry.judge.model),
                score=entry.level,
                scale=LEVELS_SCALE,
                text=entry.reason or None,
            )
            for entry in last.values()
            if entry.level is not None
        ]
    return found
