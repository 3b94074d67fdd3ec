"""A memory probe (schema sciagent-probe/1): what a model says of a task's findings without seeing any data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Model, Name, NonEmpty
from .verdict import JudgeIdentity


class Said(Model):
    """A number that the model gave: of what, and in which unit."""

    what: str
    value: float
    unit: str = ""


class Recalled(Model):
    """A reference quantity that the model named a value for, within the tolerance of the reference."""

    key: Name
    said: Said


class ProbeAnswer(Model):
    """One answer. `status` is `assessed` where there is one; else nothing is known from it.

    traces: kinds of traces of the source study in it (title, author, fingerprint, doi, arxiv).
    """

    status: str
    text: str = ""
    numbers: tuple[Said, ...] = ()
    recalled: tuple[Recalled, ...] = ()
    traces: tuple[str, ...] = ()


class Probe(Model):
    """All answers of one model about one task; `quantities` is how many reference quantities the task has."""

    schema_: Literal["sciagent-probe/1"] = Field("sciagent-probe/1", alias="schema")
    task_id: Name
    model: JudgeIdentity
    made_at: NonEmpty
    quantities: int = Field(ge=0)
    answers: tuple[ProbeAnswer, ...]

    @property
    def answered(self) -> list[ProbeAnswer]:
        return [answer for answer in self.answers if answer.status == "assessed"]

    @property
    def recalled(self) -> list[str]:
        """Keys of the reference quantities that any answer had."""
        return sorted({one.key for answer in self.answered for one in answer.recalled})

    @property
    def names_source(self) -> int:
        """How many answers show a trace of the source study."""
        return sum(bool(answer.traces) for answer in self.answered)
