"""A baseline out of a results file that an earlier session wrote by `--sciagent-json`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..documents import load_json
from ..errors import SciagentError
from ..models import JudgeIdentity
from ..models.base import Name
from ..models.verdict import Level
from ..scoring.interval import Interval
from ..text import one_line
from .baseline import RunOutcome, ScoredBy

MOST = 120
Points = Annotated[float, Field(ge=0, le=100)]


class _Part(BaseModel):
    """What is read of a part of the file; it holds more."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class _Score(_Part):
    low: Points
    high: Points

    @model_validator(mode="after")
    def _upwards(self) -> _Score:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class _Criterion(_Part):
    criterion_id: Name
    level: Level | None


class _Finding(_Part):
    id: Name
    criteria: tuple[_Criterion, ...]


class _Run(_Part):
    system: Name | Literal[""]
    task_id: str
    repeat: int
    state: Literal["sound", "undelivered", "tampered"]
    score: _Score | None
    findings: tuple[_Finding, ...]
    criteria: tuple[_Criterion, ...]

    def outcome(self) -> RunOutcome:
        levels: dict[tuple[str | None, str], float | None] = {(None, c.criterion_id): c.level for c in self.criteria}
        levels |= {(f.id, c.criterion_id): c.level for f in self.findings for c in f.criteria}
        score = None
        if self.score is not None:
            score = Interval(Fraction(str(self.score.low)), Fraction(str(self.score.high)))
        task = one_line(self.task_id, MOST)
        return RunOutcome(self.system, task, self.repeat, self.state == "sound", score, levels)


class _Rubric(_Part):
    id: str
    version: str
    digest: str
    profile: str


class _Results(_Part):
    schema_: Literal["sciagent-results/1"] = Field(alias="schema")
    judge: JudgeIdentity | None
    rubrics: tuple[_Rubric, ...]
    runs: tuple[_Run, ...]


def read_results(path: Path) -> tuple[tuple[ScoredBy, ...], JudgeIdentity | None, tuple[RunOutcome, ...]]:
    """Rubrics, judge and runs of a results file.

    Raises:
        SciagentError: not such a file, none of its runs has a score, or it holds a run twice.
    """
    found = load_json(path, _Results)
    runs = tuple(run.outcome() for run in found.runs)
    scored = [(run.system, run.task, run.repeat) for run in runs if run.score is not None]
    if not scored:
        raise SciagentError("none of its runs has a score", path=path)
    if len(set(scored)) < len(scored):
        twice = next(name for name in scored if scored.count(name) > 1)
        raise SciagentError(f"it holds {twice[0]}/{twice[1]}, repeat {twice[2]}, twice", path=path)
    return tuple(ScoredBy(r.id, r.version, r.profile, r.digest) for r in found.rubrics), found.judge, runs
