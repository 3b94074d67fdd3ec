"""Judges as users write them: `kind:model` and `name=value` parameters."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import JsonValue, ValidationError

from ..errors import SciagentError
from ..models import JudgeIdentity


def parse_identity(text: str, parameters: Sequence[str] = ()) -> JudgeIdentity:
    """The judge written as `kind:model`, with parameters written as `name=value` (the value as JSON, else as text).

    Raises:
        SciagentError: not of this form.
    """
    kind, colon, model = text.partition(":")
    if not colon or not kind or not model:
        raise SciagentError(f"judge {text!r}: write KIND:MODEL, such as openai:MODEL or handoff:NAME")
    values: dict[str, JsonValue] = {}
    for parameter in parameters:
        name, equals, raw = parameter.partition("=")
        if not equals or not name:
            raise SciagentError(f"judge parameter {parameter!r}: write NAME=VALUE")
        try:
            values[name] = json.loads(raw)
        except ValueError:
            values[name] = raw
    try:
        return JudgeIdentity(kind=kind, model=model, parameters=values)
    except ValidationError:
        raise SciagentError(f"judge {text!r}: the kind is one word of letters and digits") from None
