"""Frozen models that are read by the thousand share their equal parts: the memory of a cohort is mostly these."""

from __future__ import annotations

from collections.abc import Iterable

from .base import Model


def share(models: Iterable[Model], *names: str) -> None:
    """Let values of the fields `names` that are the same JSON, and equal sets of given fields, be one object."""
    values: dict[tuple[str, str], Model] = {}
    given: dict[frozenset[str], set[str]] = {}
    for model in models:
        fields = vars(model)
        for name in names:
            value = fields[name]
            if value is not None:
                fields[name] = values.setdefault((name, value.model_dump_json()), value)
        mine = model.__pydantic_fields_set__
        object.__setattr__(model, "__pydantic_fields_set__", given.setdefault(frozenset(mine), mine))
