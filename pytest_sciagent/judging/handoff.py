"""The hand-off judge: open prompts out as JSON lines, answers in as JSON lines. Batch services and people work alike.

Two layouts: `item`, one line for each question; `finding`, one line for each finding with all its open criteria, so
that the shared material stands there once. The layout is a parameter of the judge, and so part of every key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from ..digest import sha256_json
from ..documents import plain_json, read_text
from ..errors import SciagentError
from ..models import JudgeIdentity, JudgeUsage, LedgerEntry
from ..models.handoff import Asks, PromptLine
from ..text import one_line
from .clients import Prompt, Reply
from .layouts import shared_prompt
from .requests import AnswerContext, Request
from .settle import settle

Layout = Literal["item", "finding"]
LAYOUTS: tuple[Layout, ...] = ("item", "finding")
_FORM = 'an answer is {"id": KEY, "answer": {...}} or {"keys": {...}, "answers": {criterion: {...}}}'


def handoff_identity(model: str, layout: Layout) -> JudgeIdentity:
    """The judge behind a hand-off: who is said to answer, and in which layout."""
    return JudgeIdentity(kind="handoff", model=model, parameters={"layout": layout})


def open_requests(requests: Iterable[Request], judge: JudgeIdentity, context: AnswerContext) -> list[Request]:
    """Those of `requests` that have no recorded answer of `judge`."""
    return [r for r in requests if context.is_open(r.key(judge))]


@dataclass(frozen=True, slots=True)
class About:
    """What questions are about, for the reader of an export: a run, by a code that tells nothing of its system; its
    task; and the titles of its findings by their ids.
    """

    run: str
    task: str
    titles: Mapping[str, str]


def export_lines(requests: Sequence[Request], judge: JudgeIdentity, about: About | None = None) -> Iterator[str]:
    """The open requests of one run, or of a task, as JSON lines. Neither the run's system nor any level is in them."""
    grouped = judge.parameters.get("layout") == "finding"
    by_finding: dict[str, list[Request]] = {}
    for request in requests:
        if grouped and request.kind == "criterion":
            by_finding.setdefault(request.finding or "", []).append(request)
        else:
            yield _line(request, judge, about)
    for group in by_finding.values():
        yield _grouped_line(group, judge, about)


def _asks(requests: Sequence[Request], about: About | None) -> Asks:
    """What a line asks, for its reader: ignored where it comes back with an answer."""
    finding = requests[0].finding
    title = about.titles.get(finding) if about is not None and finding is not None else None
    return Asks(
        task=about.task if about is not None else None,
        run=about.run if about is not None else None,
        finding=finding,
        title=None if title is None else one_line(title, 200),
        criteria=tuple(request.criterion_id for request in requests),
    )


def _line(request: Request, judge: JudgeIdentity, about: About | None) -> str:
    prompt = request.make_prompt()
    user = f"{prompt.shared}\n{prompt.last}".lstrip("\n")
    return _dump(request.key(judge), request.kind, _asks([request], about), None, prompt, user)


def _grouped_line(group: Sequence[Request], judge: JudgeIdentity, about: About | None) -> str:
    prompt = shared_prompt({request.criterion_id: request.make_prompt() for request in group})
    keys = {request.criterion_id: request.key(judge) for request in group}
    id = sha256_json(sorted(keys.values()))
    return _dump(id, "criteria", _asks(group, about), keys, prompt, f"{prompt.shared}\n{prompt.last}")


def _dump(id: str, kind: str, asks: Asks, keys: dict[str, str] | None, prompt: Prompt, user: str) -> str:
    line = PromptLine(
        id=id, kind=kind, asks=asks, keys=keys, system=prompt.system, user=user, answer_schema=prompt.schema
    )
    return json.dumps(line.as_json(), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of an answers file: the key of its question, the answer itself, and when it was given."""

    key: str
    text: str
    time: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Answers:
    """What an answers file holds. refused: what of it can't be read, each with its file, line and reason."""

    given: tuple[Answer, ...] = ()
    refused: tuple[SciagentError, ...] = ()


class _BadLine(Exception):
    """A line, or a part of one, that holds no answer."""


def read_answers(path: Path) -> Answers:
    """The answers in a file of JSON lines: {"id", "answer"} for one question, {"keys", "answers"} for a group (the
    `keys` of the exported line, copied), each with an optional "answered_at" (ISO 8601). Other fields are ignored. A
    line that is not of this form spoils no other.

    Raises:
        SciagentError: the file can't be read.
    """
    given: list[Answer] = []
    refused: list[SciagentError] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            for name, key, answer, time in _in_line(plain_json(line, path)):
                if isinstance(key, str):
                    given.append(Answer(key, _text(answer), time, number))
                else:
                    refused.append(
                        SciagentError(f"answers {name!r:.80}, which keys does not hold", path=path, line=number)
                    )
        except SciagentError as error:
            refused.append(SciagentError(error.message, path=path, line=number))
        except _BadLine as error:
            refused.append(SciagentError(str(error), path=path, line=number))
    return Answers(tuple(given), tuple(refused))


def _in_line(data: Any) -> Iterator[tuple[str, Any, Any, str | None]]:
    """Name, key, answer and time of each answer in a line; a key that is no text is not there."""
    if not isinstance(data, dict):
        raise _BadLine(f"{_FORM}; this is no object")
    keys, answers = data.get("keys"), data.get("answers")
    if answers is None:
        if "answer" not in data or not isinstance(data.get("id"), str):
            absent = " and ".join(name for name in ("id", "answer") if name not in data) or "a text as id"
            raise _BadLine(f"{_FORM}; missing: {absent}")
        keys, answers = {"": data["id"]}, {"": data["answer"]}
    elif not isinstance(keys, dict) or not isinstance(answers, dict):
        raise _BadLine(f"{_FORM}; keys and answers are objects, and keys is copied from the exported line")
    time = data.get("answered_at")
    if time is not None and not _is_time(time):
        raise _BadLine(f"answered_at is a time such as 2026-01-31T12:00:00Z, not {time!r:.60}")
    for name, answer in answers.items():
        yield name, keys.get(name), answer, time


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def settle_answers(
    answers: Iterable[Answer], requests: Sequence[Request], judge: JudgeIdentity, context: AnswerContext
) -> tuple[list[LedgerEntry], set[str]]:
    """The entries that `answers` give to the `requests` of one run, and the keys that were answered."""
    by_key = {request.key(judge): request for request in requests}
    entries, taken = [], set()
    for answer in answers:
        request = by_key.get(answer.key)
        if request is None:
            continue
        reply = Reply(answer.text, "assessed", "", judge.model, JudgeUsage(), 0.0)
        entries.append(settle(request, judge, reply, context, time=answer.time))
        taken.add(answer.key)
    return entries, taken
