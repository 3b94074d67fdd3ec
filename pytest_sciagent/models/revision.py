"""The record of a revision (schema sciagent-revision/1) and the file of an experiment (sciagent-experiment/1)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, field_validator

from .base import Model, Name, NonEmpty, Sha256
from .results import Ends
from .run import Usage
from .verdict import JudgeIdentity, Level

Outcome = Literal["accepted", "rejected", "no progress", "failed"]
Stopped = Literal["all satisfied", "rounds spent", "tokens spent", "no progress", "harness failed"]
Arm = Literal["vanilla", "skeleton", "rubric", "rubric+revise", "self-refine", "compute-matched"]
ARMS: tuple[Arm, ...] = ("vanilla", "skeleton", "rubric", "rubric+revise", "self-refine", "compute-matched")


class ExaminerUsed(Model):
    """Who decides by what: rubrics by id with their digests, and the judge; None where only code and records decide."""

    rubrics: dict[str, Sha256]
    judge: JudgeIdentity | None = None


class Standing(Model):
    """How the criteria of a run stand: satisfied (level 1), failed (below it), not assessed, and without a verdict."""

    satisfied: int
    failed: int
    not_assessed: int
    open: int
    score: Ends | None = None


class LevelChange(Model):
    """A criterion that another level was given to; None: no level, as for a finding that is new or gone."""

    finding: str
    criterion_id: str
    before: Level | None
    after: Level | None


class ClaimChange(Model):
    """What became of a finding. `withdrawn` with `unsupported`: less than half of its assessed points had held."""

    kind: Literal["reworded", "added", "withdrawn"]
    finding: str
    before: str | None = None
    after: str | None = None
    unsupported: bool = False


class FileChanges(Model):
    """Files of `output/` by what became of them."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class RoundRecord(Model):
    """One try of one round. `run`: where it is frozen, relative to the record.

    gained, lost: criteria (`finding/criterion`) that were raised, and that held before and do not now.
    plan, summary: what the agent wrote of its plan and its changes, as files beside; None where it wrote none.
    """

    number: int = Field(ge=1)
    attempt: Literal["first", "repair"] = "first"
    outcome: Outcome
    run: str
    tree_sha256: Sha256
    usage: Usage
    standing: Standing | None = None
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    levels: tuple[LevelChange, ...] = ()
    files: FileChanges = FileChanges()
    claims: tuple[ClaimChange, ...] = ()
    plan: str | None = None
    summary: str | None = None
    problem: str | None = None


class FinalScore(Model):
    """Round 0 and the last accepted round, by the final examiner; points of 0..100. validity: how far its judge may be
    believed."""

    examiner: ExaminerUsed
    before: Ends
    after: Ends
    validity: str | None = None


class RevisionRecord(Model):
    """`revision.json`: what was revised by whom, each round, and why it ended. stopped None: it waits for something.

    validity: how far the judge of the rounds may be believed, as it was last known.
    """

    schema_: Literal["sciagent-revision/1"] = Field("sciagent-revision/1", alias="schema")
    run: str
    task_id: Name
    base_tree_sha256: Sha256
    system: Name
    model: str | None = None
    system_file: Sha256
    examiner: ExaminerUsed
    validity: str | None = None
    rounds: int
    tokens: int | None = None
    on_regression: Literal["reject", "repair"] = "reject"
    same_examiner: bool = False
    start: Standing
    tried: tuple[RoundRecord, ...] = ()
    stopped: Stopped | None = None
    why: str = ""
    last: str
    final: FinalScore | None = None


class ExaminerFile(Model):
    """An examiner in an experiment file. `{task}` in a rubric stands for the task's id."""

    rubric: NonEmpty
    judge: NonEmpty | None = None
    judge_params: dict[str, JsonValue] = {}
    base_url: str | None = None


class ExperimentFile(Model):
    """Arms x tasks x systems x repeats. Paths are relative to the file.

    start: folder with the frozen rounds 0, as `start/SYSTEM/TASK` (`TASK.rN` for a repeat); those missing are run.
    results: folder for everything that the experiment makes.
    allow_late_rubric: whether a rubric may have been frozen after a round 0 began.
    """

    schema_: Literal["sciagent-experiment/1"] = Field(alias="schema")
    name: Name
    tasks: tuple[NonEmpty, ...] = Field(min_length=1)
    systems: tuple[NonEmpty, ...] = Field(min_length=1)
    arms: tuple[Arm, ...] = ARMS
    repeats: int = Field(1, ge=1, le=1000)
    rounds: int = Field(3, ge=1, le=50)
    on_regression: Literal["reject", "repair"] = "reject"
    max_turns: int = Field(20, ge=1, le=1000)
    loop: ExaminerFile
    final: ExaminerFile
    start: NonEmpty = "start"
    results: NonEmpty = "results"
    task_folders: tuple[NonEmpty, ...] = ()
    allow_late_rubric: bool = False

    @field_validator("tasks", "systems", "arms")
    @classmethod
    def _once(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice} stands there twice")
        return values

    @field_validator("arms")
    @classmethod
    def _matched(cls, arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
        if "compute-matched" in arms and "rubric+revise" not in arms:
            raise ValueError("compute-matched spends the tokens of rubric+revise, so it needs that arm")
        return arms
