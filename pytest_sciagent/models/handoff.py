"""Lines of a hand-off: a prompt, as it is given to whoever answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, JsonValue

from .base import Model, Name, Sha256


class Asks(Model):
    """What a line asks, for its reader; it is in no digest.

    run: a code for the run (the first digits of the digest of its files), since its system must not be known; null,
    as the task, where that is not told. title: that of the finding.
    criteria: what is asked, by the names that the ledger has: criteria of a rubric, or questions about a run.
    """

    task: Name | None = None
    run: str | None = None
    finding: str | None = None
    title: str | None = None
    criteria: tuple[str, ...]


class PromptLine(Model):
    """One prompt. An answer refers to it by `id`; to one of kind `criteria`, by the `keys` of its questions."""

    schema_: Literal["sciagent-handoff/1"] = Field("sciagent-handoff/1", alias="schema")
    id: Sha256
    kind: str
    asks: Asks
    keys: dict[str, Sha256] | None = None
    system: str
    user: str
    answer_schema: dict[str, JsonValue]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON data; without `keys` where there is one question."""
        plain = super().as_json()
        if self.keys is None:
            del plain["keys"]
        return plain
