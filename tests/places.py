"""Where a citation's place leads: the other way round than the package, which only names places."""

from __future__ import annotations

import re
from typing import Any

from pytest_sciagent.evidence.readers import Artifact, Cell

_PLACE = re.compile(r"row ([1-9][0-9]{0,8}), column (.*)", re.DOTALL)
_INDEX = re.compile(r"0|[1-9][0-9]*")


def value_at(artifact: Artifact, place: str) -> Cell:
    """The value at a place as `Table.locator` or `json_values` name it.

    Raises:
        LookupError: there is no such place, or it holds no single value.
    """
    for table in artifact.tables:
        prefix = f"{table.name}: " if table.name else ""
        found = _PLACE.fullmatch(place.removeprefix(prefix)) if place.startswith(prefix) else None
        if found and table.layout == "grid":
            return table.cell(int(found[1]), found[2])
    if artifact.kind == "json":
        value = resolve_pointer(artifact.data, place)
        if value is None or isinstance(value, str | float | int | bool):
            return value
    raise LookupError(f"no single value at {place}")


def resolve_pointer(data: Any, pointer: str) -> Any:
    """The part of `data` that the JSON pointer names.

    Raises:
        LookupError: nothing is there.
    """
    if pointer and not pointer.startswith("/"):
        raise LookupError(f"{pointer} is not a JSON pointer")
    for token in pointer.split("/")[1:]:
        step = token.replace("~1", "/").replace("~0", "~")
        if isinstance(data, dict) and step in data:
            data = data[step]
        elif isinstance(data, list) and _INDEX.fullmatch(step) and int(step) < len(data):
            data = data[int(step)]
        else:
            raise LookupError(f"nothing at {pointer}")
    return data
