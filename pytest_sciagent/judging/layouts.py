"""Layouts: how many criteria of one finding a prompt asks, and how one answer to several is taken apart again.

`item`: a prompt for each criterion. `group:N`: N criteria of a finding in one prompt. `finding`: all that are open.
The shared material stands first and the criteria last, in the order of their ledger keys: as these are hashes over
criterion, material and judge, each finding has another order, and on every machine the same. A criterion's answer is
read, checked and recorded as if it had come alone; what is missing or unusable costs that criterion only.

The layout is a parameter of the judge, and so part of every key. `item` is no parameter of a provider's judge.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..digest import sha256_bytes
from ..errors import SciagentError
from ..models import JudgeIdentity, JudgeUsage
from ..text import one_line
from .answers import MAX_CHARS, BadAnswer, bare
from .clients import Prompt, Reply, failed
from .decisions import is_decisions
from .requests import Question

T = TypeVar("T")
PARAMETER = "layout"
ITEM = "item"
MAX_DECISIONS = 400
"""How many questions one request of the Decisions API may hold."""
_FORM = re.compile(r"item|finding|group:([1-9][0-9]{0,3})")
_EACH = "Answer each of the criteria above by itself, as if it were the only one.\n"


def with_layout(judge: JudgeIdentity, layout: str) -> JudgeIdentity:
    """`judge`, asked in this layout.

    Raises:
        SciagentError: no such layout, or a judge that has none to choose.
    """
    if not _FORM.fullmatch(layout):
        raise SciagentError(f"layout {layout!r}: choose item, group:N (N criteria in one prompt) or finding")
    if is_decisions(judge) and layout != ITEM:
        raise SciagentError(f"{judge.label} is asked all criteria of a finding at once: it has no layout to choose")
    if judge.kind == "handoff" and layout.startswith("group"):
        raise SciagentError("a hand-off has the layouts item and finding")
    if layout == ITEM and judge.kind != "handoff":
        return judge
    # Made anew: a copy would keep the texts that the old one has made of itself.
    return JudgeIdentity(kind=judge.kind, model=judge.model, parameters={**judge.parameters, PARAMETER: layout})


def has_layouts(judge: JudgeIdentity) -> bool:
    """Whether a judge that can be asked has a layout to choose."""
    return not is_decisions(judge) and judge.kind != "handoff"


def criteria_in_prompt(judge: JudgeIdentity) -> int | None:
    """How many criteria of a finding one prompt to `judge` may hold; None where each has a prompt of its own form."""
    if is_decisions(judge):
        return MAX_DECISIONS
    layout = judge.parameters.get(PARAMETER)
    found = _FORM.fullmatch(layout) if isinstance(layout, str) else None
    if found is None or layout == ITEM:
        return None
    return int(found[1]) if found[1] else sys.maxsize


@dataclass(frozen=True)
class Call:
    """Questions that are asked in one prompt. Where they share it, the answer is an object of answers by criterion."""

    questions: tuple[Question, ...]
    shared: bool = False

    @property
    def group(self) -> str:
        """Calls of one group share a prompt prefix."""
        return self.questions[0].group

    def name(self, judge: JudgeIdentity) -> str:
        """The ledger key of the one question, or a digest of those of all."""
        keys = [question.request.key(judge) for question in self.questions]
        return keys[0] if len(keys) == 1 else sha256_bytes("".join(sorted(keys)).encode())

    def prompt(self) -> Prompt:
        """The prompt that asks all questions."""
        prompts = {q.request.criterion_id: q.request.make_prompt() for q in self.questions}
        return shared_prompt(prompts) if self.shared else next(iter(prompts.values()))

    def repair(self, reasons: Sequence[str]) -> Prompt:
        """The prompt again, with what was wrong with the form of each first answer."""
        told, what = (f" {reasons[0]}\n", "question")
        if self.shared:
            named = zip(self.questions, reasons, strict=True)
            told = "".join(f"\n- {question.request.criterion_id}: {reason}" for question, reason in named) + "\n"
            what = "questions"
        note = (
            f"\nYour last answer could not be used:{told}"
            f"Answer the same {what} again, as one JSON object of the form asked for, and nothing else.\n"
        )
        prompt = self.prompt()
        return replace(prompt, last=prompt.last + note)

    def replies(self, reply: Reply) -> list[Reply]:
        """What `reply` says to each question."""
        if not self.shared:
            return [reply]
        return take_apart(reply, [question.request.criterion_id for question in self.questions])


def calls_of(questions: Sequence[Question], judge: JudgeIdentity) -> list[Call]:
    """The calls that ask `questions` of `judge`, in the judge's layout; those about a whole run go alone."""
    size = criteria_in_prompt(judge)
    if size is None:
        return [Call((question,)) for question in questions]
    calls, groups = [], dict[tuple[str, int], list[Question]]()
    for question in questions:
        if question.request.kind == "criterion":
            groups.setdefault((question.group, question.request.draw), []).append(question)
        else:
            calls.append(Call((question,)))
    for group in groups.values():
        group.sort(key=lambda question: question.request.key(judge))
        calls += [Call(tuple(part), shared=True) for part in even_parts(group, size)]
    return calls


def even_parts(group: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """`group` in as few parts of at most `size` as there can be, none larger than another by more than one."""
    number = -(-len(group) // size)
    for part in range(number):
        yield group[part * len(group) // number : (part + 1) * len(group) // number]


def shared_prompt(prompts: Mapping[str, Prompt]) -> Prompt:
    """One prompt out of those of several criteria of one finding, by criterion id."""
    first = next(iter(prompts.values()))
    schema = {
        "type": "object",
        "properties": {name: prompt.schema for name, prompt in prompts.items()},
        "required": list(prompts),
        "additionalProperties": False,
    }
    parts = {name: prompt.last for name, prompt in prompts.items()}
    return Prompt(
        first.system, first.shared, "\n".join([*parts.values(), _EACH]), "verdicts", schema, parts, first.images
    )


def take_apart(reply: Reply, ids: Sequence[str]) -> list[Reply]:
    """The reply to each of the criteria `ids`, out of one to all of them; tokens are divided so that sums are right.

    A failure of the whole is one of each. Else each has its own answer, or the status `invalid` with a reason code:
    `missing`, `wrong_ids` (missing, while there is an answer under an id that was not asked for) or `duplicate_id`.
    """
    usages = _divide(reply.usage, len(ids))
    if reply.text is None:
        return [replace(reply, usage=usage) for usage in usages]
    try:
        answers = _answers(reply.text, MAX_CHARS * len(ids))
    except BadAnswer as error:
        bad = [(error.reason_code, str(error))] * len(ids)
        return [_unusable(reply, usage, *why) for usage, why in zip(usages, bad, strict=True)]
    foreign = one_line(", ".join(sorted(set(answers) - set(ids))), 200)
    found = []
    for name, usage in zip(ids, usages, strict=True):
        texts = answers.get(name, [])
        if len(texts) == 1:
            found.append(replace(reply, text=texts[0], usage=usage))
        elif texts:
            found.append(_unusable(reply, usage, "duplicate_id", f"{len(texts)} answers under this id"))
        elif foreign:
            found.append(_unusable(reply, usage, "wrong_ids", f"no answer under this id, but under {foreign}"))
        else:
            found.append(_unusable(reply, usage, "missing", "no answer under this id"))
    return found


def _unusable(reply: Reply, usage: JudgeUsage, code: str, why: str) -> Reply:
    bad = failed("invalid", f"{code}: {why}", code=code)
    return replace(bad, model_returned=reply.model_returned, usage=usage, latency_s=reply.latency_s)


def _answers(text: str, most: int) -> dict[str, list[str]]:
    """The values of the one JSON object that `text` consists of, each as its own text; a key may stand there twice.

    Raises:
        BadAnswer: empty, too_long or not_json.
    """
    if len(text) > most:
        raise BadAnswer("too_long", f"the answer has more than {most:,} characters")
    text = bare(text)
    found: dict[str, list[str]] = {}
    decoder = json.JSONDecoder()
    try:
        place = _after(text, 0, "{")
        end = text[place] == "}"
        while not end:
            name, place = decoder.raw_decode(text, place)
            if not isinstance(name, str):
                raise ValueError("a key that is no text")
            start = _after(text, place, ":")
            _, place = decoder.raw_decode(text, start)
            found.setdefault(name, []).append(text[start:place])
            place = _space(text, place)
            end = text[place] == "}"
            place = place if end else _after(text, place, ",")
        if text[place + 1 :].strip():
            raise ValueError("text after the object")
    except (ValueError, IndexError, RecursionError) as error:
        raise BadAnswer("not_json", one_line(f"not one JSON object: {error}", 200)) from None
    return found


def _space(text: str, place: int) -> int:
    """Where the white space from `place` on ends."""
    while text[place] in " \t\r\n":
        place += 1
    return place


def _after(text: str, place: int, sign: str) -> int:
    """The first place after `sign`, with white space around it passed over."""
    place = _space(text, place)
    if text[place] != sign:
        raise ValueError(f"expected {sign!r} at character {place}")
    return _space(text, place + 1)


def _divide(usage: JudgeUsage, number: int) -> list[JudgeUsage]:
    def shares(total: int | None) -> list[int | None]:
        if total is None:
            return [None] * number
        return [total // number + (n < total % number) for n in range(number)]

    columns: dict[str, list[Any]] = {name: shares(total) for name, total in usage.model_dump().items()}
    return [JudgeUsage(**{name: column[n] for name, column in columns.items()}) for n in range(number)]
