"""One verdict as a line of a JSON lines file (schema sciagent-verdict/1), and the points it concerns."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Model, Name, Sha256
from .verdict import Citation, JudgeIdentity, Level, Status


class Points(Model):
    """All values that something can have, from `low` to `high`; equal where everything is assessed."""

    low: float
    high: float


class VerdictLine(Model):
    """A verdict with all that is needed to read it alone.

    node_id: the item in pytest. finding: null for a criterion of the run. effect: points (0 or less) of 100 that the
    level takes from the finding's score, null for a criterion that does not count for it. citations: at most 50;
    `more_citations` counts the rest.
    """

    schema_: Literal["sciagent-verdict/1"] = Field("sciagent-verdict/1", alias="schema")
    run: str
    system: str
    task_id: str
    repeat: int = Field(ge=1)
    node_id: str
    finding: Name | None
    title: str | None
    criterion_id: Name
    dimension: Name | None
    weight: float | None
    status: Status
    level: Level | None
    effect: Points | None
    reason: str
    reason_code: str
    citations: tuple[Citation, ...] = ()
    more_citations: int = Field(0, ge=0)
    judge: JudgeIdentity | None
    key: Sha256 | None
    rubric: str | None
    rubric_digest: Sha256 | None
