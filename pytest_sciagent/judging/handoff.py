"""The hand-off judge: open prompts out as JSON lines, answers in as JSON lines. Batch services and people work alike.

Two layouts: `item`, one line for each question; `finding`, one line for each finding with all its open criteria, so
that the shared material stands there once. The layout is a parameter of the judge, and so part of every key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from ..digest import sha256_json
from ..documents import plain_json, read_text
from ..errors import SciagentError
from ..models import JudgeIdentity, JudgeUsage, LedgerEntry
from .clients import Reply
from .layouts import shared_prompt
from .requests import AnswerContext, Request
from .settle import settle

SCHEMA = "sciagent-handoff/1"
Layout = Literal["item", "finding"]
LAYOUTS: tuple[Layout, ...] = ("item", "finding")


def handoff_identity(model: str, layout: Layout) -> JudgeIdentity:
    """The judge behind a hand-off: who is said to answer, and in which layout."""
    return JudgeIdentity(kind="handoff", model=model, parameters={"layout": layout})


def open_requests(requests: Iterable[Request], judge: JudgeIdentity, context: AnswerContext) -> list[Request]:
    """Those of `requests` that have no recorded answer of `judge`."""
    return [r for r in requests if context.is_open(r.key(judge))]


def export_lines(requests: Sequence[Request], judge: JudgeIdentity) -> Iterator[str]:
    """The open requests of one run as JSON lines. Neither the run's system nor any level is in them."""
    grouped = judge.parameters.get("layout") == "finding"
    by_finding: dict[str, list[Request]] = {}
    for request in requests:
        if grouped and request.kind == "criterion":
            by_finding.setdefault(request.finding or "", []).append(request)
        else:
            yield _line(request, judge)
    for group in by_finding.values():
        yield _grouped_line(group, judge)


def _line(request: Request, judge: JudgeIdentity) -> str:
    prompt = request.make_prompt()
    return _dump(
        {
            "schema": SCHEMA,
            "id": request.key(judge),
            "kind": request.kind,
            "system": prompt.system,
            "user": f"{prompt.shared}\n{prompt.last}".lstrip("\n"),
            "answer_schema": prompt.schema,
        }
    )


def _grouped_line(group: Sequence[Request], judge: JudgeIdentity) -> str:
    prompt = shared_prompt({request.criterion_id: request.make_prompt() for request in group})
    keys = {request.criterion_id: request.key(judge) for request in group}
    return _dump(
        {
            "schema": SCHEMA,
            "id": sha256_json(sorted(keys.values())),
            "kind": "criteria",
            "keys": keys,
            "system": prompt.system,
            "user": f"{prompt.shared}\n{prompt.last}",
            "answer_schema": prompt.schema,
        }
    )


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of an answers file: the key of its question, the answer itself, and when it was given."""

    key: str
    text: str
    time: str | None
    line: int


def read_answers(path: Path) -> list[Answer]:
    """The answers in a file of JSON lines: {"id", "answer"} for one question, {"keys", "answers"} for a group (the
    `keys` of the exported line, copied), each with an optional "answered_at" (ISO 8601).

    Raises:
        SciagentError: a line that is not of this form, with its number.
    """
    found: list[Answer] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            data = plain_json(line, path)
        except SciagentError as error:
            raise SciagentError(error.message, path=path, line=number) from None
        try:
            found += _answers(data, number)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise SciagentError(
                'an answer is {"id": KEY, "answer": {...}} or {"keys": {...}, "answers": {criterion: {...}}}',
                path=path,
                line=number,
            ) from None
    return found


def _answers(data: dict[str, Any], number: int) -> list[Answer]:
    time = data.get("answered_at")
    keys, answers = (data["keys"], data["answers"]) if "answers" in data else ({"": data["id"]}, {"": data["answer"]})
    if time is not None:
        datetime.fromisoformat(time)
    if not all(isinstance(key, str) for key in keys.values()):
        raise TypeError("a key is text")
    return [Answer(keys[name], _text(answer), time, number) for name, answer in answers.items()]


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
