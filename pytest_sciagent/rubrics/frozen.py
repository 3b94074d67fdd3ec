"""Frozen rubrics: a digest and a time for each version, in a record beside the file. An edit is another version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ..documents import is_there, load_json
from ..errors import SciagentError
from ..models import Model, Rubric
from ..models.base import Name, Sha256

SUFFIX = ".frozen.json"


class FrozenVersion(Model):
    """One version of a rubric: the digest of its canonical JSON, and when it was frozen (ISO 8601, UTC)."""

    version: str
    digest: Sha256
    frozen_at: str


class FreezeRecord(Model):
    """`NAME.frozen.json` (schema sciagent-freeze/1): every version of a rubric that was frozen, oldest first."""

    schema_: Literal["sciagent-freeze/1"] = Field("sciagent-freeze/1", alias="schema")
    rubric: Name
    versions: tuple[FrozenVersion, ...] = Field(min_length=1)


def record_of(path: Path) -> Path:
    """Where the record of the rubric in `path` lies."""
    return path.with_name(path.stem + SUFFIX)


def check_frozen(rubric: Rubric, path: Path) -> None:
    """Check that a rubric which says it is frozen is what was frozen.

    Raises:
        SciagentError: there is no record of it, or it was changed since.
    """
    if rubric.frozen_at is None:
        return
    record = record_of(path)
    how = f"freeze it as a new version: sciagent rubric freeze {path}"
    if not is_there(record):
        raise SciagentError(
            f"it says that it is frozen, but there is no record {record.name} beside it; {how}", path=path
        )
    if all(version.digest != rubric.digest for version in load_json(record, FreezeRecord).versions):
        raise SciagentError(f"it was changed after it was frozen ({rubric.frozen_at}); {how}", path=path)


def freeze(rubric: Rubric, known: FreezeRecord | None, now: datetime) -> tuple[Rubric, FreezeRecord]:
    """`rubric` as its next frozen version, and the record of all. What is frozen already, in the same words, keeps its
    version and time."""
    versions = known.versions if known is not None else ()
    for version in versions:
        same = _stamped(rubric, version.version, version.frozen_at)
        if known is not None and same.digest == version.digest:
            return same, known
    time = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    frozen = _stamped(rubric, str(len(versions) + 1), time)
    new = FrozenVersion(version=frozen.version, digest=frozen.digest, frozen_at=time)
    return frozen, FreezeRecord(rubric=rubric.id, versions=(*versions, new))


def _stamped(rubric: Rubric, version: str, time: str) -> Rubric:
    # Made anew: a copy would keep the digest that the old one has made of itself.
    return Rubric.model_validate(rubric.as_json() | {"version": version, "frozen_at": time})


def load_record(path: Path) -> FreezeRecord | None:
    """The record beside the rubric in `path`, where there is one.

    Raises:
        SciagentError: it can't be read.
    """
    record = record_of(path)
    return load_json(record, FreezeRecord) if is_there(record) else None


def rubric_yaml(rubric: Rubric) -> str:
    """A rubric as a YAML document, without what is empty, in the order of its model."""
    import yaml

    plain = rubric.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    plain = {"schema": rubric.schema_, **plain}
    text: str = yaml.safe_dump(_tidy(plain), sort_keys=False, allow_unicode=True, width=110)
    return text


def _tidy(value: Any) -> Any:
    """Plain data with whole numbers written as such: a weight of 3, not 3.0."""
    if isinstance(value, dict):
        return {key: _tidy(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_tidy(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def record_text(record: FreezeRecord) -> str:
    """The record as its file holds it."""
    return json.dumps(record.as_json(), indent=1) + "\n"


def problem_with_time(rubric: Rubric, started_at: str | None) -> str | None:
    """Why an induced rubric can't be shown to have been fixed before a run began; None where it was."""
    if rubric.kind != "induced":
        return None
    if rubric.frozen_at is None:
        return f"rubric {rubric.id} is induced and not frozen"
    if started_at is None:
        return f"rubric {rubric.id} was frozen at {rubric.frozen_at}, and the run does not tell when it began"
    if _time(rubric.frozen_at) >= _time(started_at):
        return f"rubric {rubric.id} was frozen at {rubric.frozen_at}, after the run began ({started_at})"
    return None


def late_note(rubric: Rubric, started_at: str | None) -> str | None:
    """What to know about a score under a rubric that was not fixed before the run began; None where it was."""
    problem = problem_with_time(rubric, started_at)
    return None if problem is None else f"{problem}: it could have been written with the outcome in view"


def late_notes(
    rubrics: Iterable[Rubric], run: str, started_at: str | None, *, allowed: bool, option: str
) -> Iterator[str]:
    """What to tell of the induced rubrics of `run` that were not fixed before it began.

    allowed: whether the user takes them all the same, by `option`.

    Raises:
        SciagentError: there is one, and it is not allowed.
    """
    for rubric in rubrics:
        told = late_note(rubric, started_at)
        if told is None:
            continue
        if not allowed:
            raise SciagentError(f"{run}: {told}. Judge runs that began later, or take it all the same with {option}")
        yield told


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise SciagentError(f"not a time (ISO 8601): {text!r}") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
