"""The results file that `--sciagent-json` writes (schema sciagent-results/1), as readers may rely on it.

It may hold more than is named here: what a later version adds does not make an earlier reader fail.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .base import Sha256
from .verdict import Citation, JudgeIdentity, Level, Status, Vote

Outcome = Literal["met", "not met", "inconclusive"]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Part(BaseModel):
    """A part of the file."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="allow")


class Ends(Part):
    """All values from `low` to `high`: equal where everything is assessed. Scores are points of 0..100."""

    low: Number
    high: Number


class RubricUsed(Part):
    id: str
    version: str
    digest: Sha256
    profile: str


class GateResult(Part):
    """One gate: its decision and the sentence with the numbers that decided it."""

    outcome: Outcome
    sentence: str
    details: tuple[str, ...]


class GatesResult(Part):
    """The one decision of all gates together, and each."""

    outcome: Outcome
    sentence: str
    gates: tuple[GateResult, ...]


class SystemBeside(Part):
    """A system and its opponent in the baseline: means over the tasks that both have."""

    system: str
    baseline_system: str
    tasks: int
    before: Ends
    after: Ends


class LevelChanged(Part):
    """A criterion with another level than in all of the baseline's runs on the task. `finding` null: of the run."""

    system: str
    task_id: str
    repeat: int
    finding: str | None
    criterion_id: str
    before: Level
    after: Level


class BaselineResult(Part):
    name: str
    systems: tuple[SystemBeside, ...]
    changes: tuple[LevelChanged, ...]


class SystemScore(Part):
    """Mean over tasks; `dimensions` and `layers` of acceptance are shares of points from 0 to 1."""

    name: str
    score: Ends
    tasks: int
    dimensions: dict[str, Ends]
    layers: dict[str, Ends] = {}


class CriterionResult(Part):
    """One verdict. votes: those of a panel, draw by draw, and their mean; none where one judge decided."""

    criterion_id: str
    status: Status
    level: Level | None
    reason: str
    reason_code: str
    citations: tuple[Citation, ...]
    judge: JudgeIdentity | None
    key: Sha256 | None
    votes: tuple[Vote, ...] = ()
    mean_level: Number | None = None


class EvidenceShown(Part):
    """What judges were shown of a run: files with figures, and what was cut or left out."""

    digest: Sha256
    shown: tuple[str, ...]
    figures: tuple[dict[str, str], ...]
    left_out: tuple[str, ...]


class FindingScored(Part):
    """One finding. `compound`: what in its registration says that it may state several claims."""

    id: str
    number: int
    title: str
    compound: tuple[str, ...] = ()
    score: Ends
    assessed: Number
    dimensions: dict[str, Ends]
    layers: dict[str, Ends] = {}
    evidence: EvidenceShown | None = None
    criteria: tuple[CriterionResult, ...]


class RunScored(Part):
    """One run. `id`: its node id. `state` tampered: changed or unreadable, no score; undelivered: counts as 0."""

    id: str
    system: str
    task_id: str
    repeat: int
    state: Literal["sound", "undelivered", "tampered"]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    score: Ends | None
    score_feasible_only: Ends | None
    assessed: Number
    terms: dict[str, Ends] | None
    groups: tuple[tuple[str, ...], ...] | None
    targets: dict[str, Any] | None
    refuted: dict[str, Any] | None
    findings: tuple[FindingScored, ...]
    criteria: tuple[CriterionResult, ...]

    @property
    def label(self) -> str:
        """`system/task`, as runs are called."""
        return f"{self.system}/{self.task_id}" + ("" if self.repeat == 1 else f".r{self.repeat}")


class AgreementCounts(Part):
    """How far the votes of a panel agree. flip_rate: share of answers that differ in a judge's first two draws.
    agreement: share of pairs of judges whose first draws give one level. Null where there are none to compare.
    """

    votes: int
    without_level: int
    drawn_twice: int
    flips: int
    pairs: int
    alike: int
    flip_rate: Number | None
    agreement: Number | None


class AgreementResult(AgreementCounts):
    """Over all criteria, and for each."""

    criteria: dict[str, AgreementCounts]


class KappaEnds(Part):
    """Weighted kappa with its 95 % interval; null where the labels leave it open."""

    value: Number | None
    low: Number | None
    high: Number | None


class ValidityResult(Part):
    """How far the judge of the scores agrees with people, in one sentence; numbers where a calibration holds.

    calibration: the file that tells it, or that has expired. measured_on: a day, as 2020-01-31.
    """

    judge: str | None
    state: Literal["calibrated", "expired", "not calibrated"]
    sentence: str
    calibration: str | None = None
    measured_on: str | None = None
    kappa: KappaEnds | None = None
    labels: int | None = None
    runs: int | None = None


class ResultsFile(Part):
    """All scores and verdicts of one session.

    incomplete_because: why no gate is decided by it. judge: one judge, or a panel (kind `panel`) by its
    members, draws and rule. notes: how the session scores and how judges were asked, where that is not as usual.
    validity: how far that judge may be believed. agreement: there where a panel has voted.
    spending: calls, tokens and dollars: `spent` by this session, and `saved` by replaying recorded answers.
    """

    schema_: Literal["sciagent-results/1"] = Field(alias="schema")
    plugin_version: str
    complete: bool
    incomplete_because: str | None
    judge: JudgeIdentity | None
    validity: ValidityResult | None = None
    rubrics: tuple[RubricUsed, ...]
    gate: GatesResult | None
    baseline: BaselineResult | None = None
    notes: tuple[str, ...] = ()
    agreement: AgreementResult | None = None
    spending: dict[str, dict[str, Number]] = {}
    systems: tuple[SystemScore, ...]
    runs: tuple[RunScored, ...]
