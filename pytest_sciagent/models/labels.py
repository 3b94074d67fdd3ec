"""Labels (JSON lines, schema sciagent-label/1): what a person or a judge of another benchmark said about a run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from .base import Model, Name, NonEmpty


class Rater(Model):
    """Who gave a label: a person or a judge, by the name the source has for it."""

    kind: Literal["human", "judge"]
    name: NonEmpty


class Label(Model):
    """One score that one rater gave one run on one criterion, on a scale [low, high] whose ends belong to it.

    `run`, `finding` (null where a run is judged as a whole) and `criterion` are the source's names, so that labels of
    several raters on one thing can be put together. Of runs of ours `run` is `system/task`, as they are called.
    What a rater left open ("not sure", a failed answer) is no label.
    """

    schema_: Literal["sciagent-label/1"] = Field("sciagent-label/1", alias="schema")
    dataset: Name
    run: NonEmpty
    finding: NonEmpty | None = None
    criterion: NonEmpty
    rater: Rater
    score: float
    scale: tuple[float, float]
    text: str | None = None

    @property
    def thing(self) -> tuple[str, str, str, str]:
        """What was judged: labels of one thing can be compared."""
        return self.dataset, self.run, self.finding or "", self.criterion

    @model_validator(mode="after")
    def _on_the_scale(self) -> Label:
        low, high = self.scale
        if not low < high:
            raise ValueError(f"a scale runs from low to high, not from {low:g} to {high:g}")
        if not low <= self.score <= high:
            raise ValueError(f"score {self.score:g} is not on the scale {low:g}..{high:g}")
        return self
