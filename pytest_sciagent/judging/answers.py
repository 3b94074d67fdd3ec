"""Answers of judges: read strictly, so that nothing but a whole and unambiguous answer becomes a level."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..documents import plain_json
from ..errors import SciagentError
from ..models import Anchors, Model
from ..text import one_line

M = TypeVar("M", bound=BaseModel)

MAX_CHARS = 200_000
_CONDITIONS = frozenset({"zero", "full", "half"})
_LEVEL_NAMES = frozenset({"level", "score"})
_FENCE = re.compile(r"```[A-Za-z0-9_+-]*[ \t]*\r?\n(?P<inside>.*)```", re.DOTALL)


class BadAnswer(Exception):
    """An answer that can't be used: the verdict is an error, never a level.

    Attributes:
        reason_code: empty, too_long, not_json, wrong_shape, outside_levels or contradictory; of a shared answer also
            missing, wrong_ids or duplicate_id.
        message: what is wrong, on one line.
    """

    def __init__(self, reason_code: str, message: str) -> None:
        self.reason_code = reason_code
        self.message = message
        super().__init__(message)


class Quotation(Model):
    """A passage a judge names; code looks for it in the file later."""

    file: str
    quote: str


class CriterionAnswer(Model):
    """What a judge says about one criterion: its reasons, its evidence, and which level conditions hold."""

    rationale: str
    citations: tuple[Quotation, ...]
    zero: bool
    full: bool
    half: bool

    @property
    def anchors(self) -> Anchors:
        """The three conditions alone."""
        return Anchors(zero=self.zero, full=self.full, half=self.half)


def _condition(level: str) -> dict[str, str]:
    return {"type": "boolean", "description": f"Whether the condition of level {level} holds, as it is written."}


# Evidence first, conclusions last: a model that writes in this order judges what it has just quoted.
CRITERION_ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rationale": {"type": "string", "description": "What the evidence shows about this criterion, in brief."},
        "citations": {
            "type": "array",
            "description": "The passages that the judgement rests on.",
            "items": {
                "type": "object",
                "properties": {
                    "file": {"type": "string", "description": "The file's path as the evidence gives it."},
                    "quote": {"type": "string", "description": "A passage copied from that file word for word."},
                },
                "required": ["file", "quote"],
                "additionalProperties": False,
            },
        },
        "zero": _condition("0"),
        "full": _condition("1"),
        "half": _condition("0.5"),
    },
    "required": ["rationale", "citations", "zero", "full", "half"],
    "additionalProperties": False,
}


def parse_answer(text: str) -> CriterionAnswer:
    """The answer about one criterion in `text`.

    Raises:
        BadAnswer: as `parse_object`.
    """
    return parse_object(text, CriterionAnswer)


def parse_object(text: str, model: type[M]) -> M:
    """The one JSON object that `text` consists of, as `model`, without any conversion of types.

    One Markdown code fence around the object is taken off; any other text beside it is refused.

    Raises:
        BadAnswer: empty; too_long (over 200,000 characters); not_json (also NaN, duplicate keys, deep nesting, text
            around the object); wrong_shape (missing or unknown keys, wrong types); outside_levels (a condition of a
            level that is not true or false, or a level of the judge's own).
    """
    if len(text) > MAX_CHARS:
        raise BadAnswer("too_long", f"the answer has more than {MAX_CHARS:,} characters")
    text = bare(text)
    try:
        plain_json(text, "answer")
    except SciagentError as error:
        raise BadAnswer("not_json", error.message) from None
    try:
        # From the text, not from the plain data: strict and yet with arrays as tuples, and with a bound on nesting.
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        code = "not_json" if first["type"] == "json_invalid" else _shape_code(first["type"], first["loc"])
        where = ".".join(str(step) for step in first["loc"]) or "answer"
        raise BadAnswer(code, one_line(f"{where}: {first['msg']}", 200)) from None


def bare(text: str) -> str:
    """`text` without white space around it and without one Markdown code fence.

    Raises:
        BadAnswer: empty.
    """
    text = text.strip()
    if not text:
        raise BadAnswer("empty", "the answer is empty")
    fenced = _FENCE.fullmatch(text)
    return fenced["inside"] if fenced else text


def _shape_code(problem: str, place: tuple[int | str, ...]) -> str:
    name = place[0] if len(place) == 1 else None
    if (name in _CONDITIONS and problem != "missing") or (name in _LEVEL_NAMES and problem == "extra_forbidden"):
        return "outside_levels"
    return "wrong_shape"


def level_of(anchors: Anchors) -> tuple[float, str]:
    """The level that the conditions yield, and its reason code: zero, full, half, or no_anchor (level 0).

    Raises:
        BadAnswer: contradictory, where more than one condition is said to hold.
    """
    levels = {"zero": 0.0, "full": 1.0, "half": 0.5}
    holding = [name for name in levels if getattr(anchors, name)]
    if len(holding) > 1:
        raise BadAnswer("contradictory", f"more than one level condition is said to hold: {', '.join(holding)}")
    return (levels[holding[0]], holding[0]) if holding else (0.0, "no_anchor")
