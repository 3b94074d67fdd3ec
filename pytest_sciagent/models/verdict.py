"""Verdicts: a level with its evidence, or the plain statement why there is none."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, StringConstraints, model_validator

from ..digest import canonical_json
from .base import Model, Name, Sha256
from .sharing import share

LEVELS = (1.0, 0.5, 0.0)


def _is_level(value: float) -> float:
    if value not in LEVELS:
        raise ValueError("a level is 1, 0.5 or 0")
    return value


Level = Annotated[float, AfterValidator(_is_level)]

Status = Literal[
    "assessed",
    "not_assessed",
    "unrecorded",
    "refused",
    "truncated",
    "invalid",
    "unverified",
    "timeout",
    "rate_limited",
    "provider_error",
    "budget",
    "check_error",
]
"""`assessed` carries a level. `not_assessed` and `unrecorded` are gaps; every other status is an error."""

GAPS: frozenset[str] = frozenset({"not_assessed", "unrecorded"})


class Citation(Model):
    """A passage of a frozen file. `verified`: code found the quote there; null before it looked."""

    file: str
    place: str | None = None
    quote: str
    verified: bool | None = None


class Anchors(Model):
    """Which of the three level conditions a judge found to hold."""

    zero: bool
    full: bool
    half: bool


class JudgeIdentity(Model):
    """Who answers: kind (openai, anthropic, handoff, ...), the model asked for, and every parameter sent."""

    kind: Name
    model: str
    parameters: dict[str, JsonValue] = {}

    @property
    def label(self) -> str:
        """`kind:model`, as a user writes it."""
        return f"{self.kind}:{self.model}"

    @cached_property
    def canonical(self) -> bytes:
        """The whole identity as canonical JSON (RFC 8785), as ledger keys hold it."""
        return canonical_json(self.as_json())

    @cached_property
    def text(self) -> str:
        """The whole identity as one text: what tells judges apart."""
        return json.dumps(self.as_json(), sort_keys=True)


class JudgeUsage(Model):
    """Tokens of one answer; null where the provider did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None


class Receipt(Model):
    """The facts a check or a judge left behind."""

    source: str
    facts: dict[str, JsonValue] = {}


class Vote(Model):
    """One answer of a panel to one question: of whom (`kind:model`), in which draw; without a level it is no vote.

    weight: of the judge, where votes are weighed, by people's labels; without: the labelled run that it was learnt
    without, since that is the one being judged; null where it was learnt from all.
    """

    judge: str
    draw: int = Field(ge=1)
    status: Status
    level: Level | None = None
    reason: str
    key: Sha256 | None = None
    weight: Annotated[float, Field(ge=0)] | None = None
    without: str | None = None


class Verdict(Model):
    """The outcome of one criterion for one finding (or for the run).

    votes: what the judges of a panel answered, draw by draw; empty where one judge was asked once.
    """

    criterion_id: Name
    finding: Name | None = None
    status: Status
    level: Level | None = None
    reason: str
    reason_code: str
    citations: tuple[Citation, ...] = ()
    anchors: Anchors | None = None
    receipt: Receipt | None = None
    judge: JudgeIdentity | None = None
    key: Sha256 | None = None
    votes: tuple[Vote, ...] = ()

    @model_validator(mode="after")
    def _level_if_assessed(self) -> Verdict:
        if (self.status == "assessed") != (self.level is not None):
            raise ValueError("a verdict has a level exactly when its status is 'assessed'")
        return self

    @property
    def is_error(self) -> bool:
        """Whether judging failed, as opposed to a level or a plain gap."""
        return self.level is None and self.status not in GAPS


QuestionKind = Literal[
    "criterion",
    "grouping",
    "target",
    "plan",
    "novelty",
    "goals",
    "merge",
    "queries",
    "grounding",
    "meaning",
    "criteria",
    "critique",
    "quality",
    "coverage",
]
"""What is asked: about a finding; about a whole run (up to `novelty`); about a task, as its rubric is made."""


Parts = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}(\.([0-9a-f]{12}|-)){3}$")]
"""Short digests of what a question was made of, joined by dots: what it asks about (criterion, card, ...), what it
shows of the task, of the run, and the facts given; `-` for what it does not show. They say what has changed since."""


class LedgerEntry(Model):
    """One recorded answer (see architecture, "The ledger"). `kind` tells criteria from the prompts of a whole run.

    reason_code: what kind of failure it was; null for an answer, and where it was not recorded.
    answer: what was answered about a whole run or a task; of a judge of kind `decisions` the probability of each level.
    parts: what the question was made of; null where that was not recorded.
    """

    key: Sha256
    kind: QuestionKind = "criterion"
    criterion_id: str
    finding: str | None = None
    status: Status
    level: Level | None = None
    anchors: Anchors | None = None
    reason: str = ""
    reason_code: str | None = None
    citations: tuple[Citation, ...] = ()
    answer: dict[str, Any] | None = None
    judge: JudgeIdentity
    model_returned: str | None = None
    template_digest: Sha256
    evidence_digest: Sha256
    parts: Parts | None = None
    draw: int = Field(1, ge=1)
    usage: JudgeUsage = JudgeUsage()
    cost_usd: float | None = None
    latency_s: float | None = None
    time: str
    plugin_version: str

    @property
    def settles(self) -> bool:
        """Whether the question need not be asked again: an answer or a plain gap, not a failure."""
        return self.status == "assessed" or self.status in GAPS


class LedgerFile(Model):
    """`verdicts/<system>/<task>.json`: the recorded answers for one run, sorted by criterion, finding and key."""

    schema_: Literal["sciagent-verdicts/1"] = Field("sciagent-verdicts/1", alias="schema")
    system: Name
    task_id: Name
    repeat: int = Field(1, ge=1)
    entries: tuple[LedgerEntry, ...] = ()

    @model_validator(mode="after")
    def _share(self) -> LedgerFile:
        share(self.entries, "judge", "anchors", "usage")
        return self

    def as_json(self) -> dict[str, Any]:
        """Plain JSON data. What was not recorded of old entries is left out, so that they are written as they were."""
        plain = super().as_json()
        for entry in plain["entries"]:
            if entry["parts"] is None:
                del entry["parts"]
        return plain
