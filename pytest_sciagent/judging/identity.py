"""Judges as users write them: `kind:model` and `name=value` parameters."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import JsonValue, ValidationError

from ..errors import SciagentError
from ..models import JudgeIdentity

MOST_JUDGES = 10


def parse_judges(text: str, parameters: Sequence[str] = ()) -> tuple[JudgeIdentity, ...]:
    """The judges written as `kind:model,kind:model`: a panel, led by the first.

    Each parameter `name=value` is every judge's; one written as `kind:model:name=value` is that judge's alone.

    Raises:
        SciagentError: not of this form, one judge twice, or more than `MOST_JUDGES`.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if names.count(name) > 1:
            raise SciagentError(f"judge {name!r} is named twice: to ask it several times, use draws")
    if len(names) > MOST_JUDGES:
        raise SciagentError(f"{len(names)} judges are named; a panel has {MOST_JUDGES} at most")
    return tuple(parse_identity(name, _parameters_of(name, names, parameters)) for name in names)


def _parameters_of(name: str, names: Sequence[str], parameters: Sequence[str]) -> list[str]:
    """Those of `parameters` that are every judge's, then those of the judge `name` alone."""
    owners = {p: max((n for n in names if p.startswith(f"{n}:")), key=len, default=None) for p in parameters}
    every = [p for p, owner in owners.items() if owner is None]
    return every + [p.removeprefix(f"{name}:") for p, owner in owners.items() if owner == name]


def parse_identity(text: str, parameters: Sequence[str] = ()) -> JudgeIdentity:
    """The judge written as `kind:model`, with parameters written as `name=value` (the value as JSON, else as text).

    Raises:
        SciagentError: not of this form.
    """
    if "," in text:
        raise SciagentError(f"judge {text!r}: one judge is wanted here, not several with commas between them")
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
