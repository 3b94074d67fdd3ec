"""The manifest of a frozen run, `run.json` (schema sciagent-run/1)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

from pydantic import Field

from .base import Model, Name, NonEmpty, Sha256, Size

Role = Literal["report", "analysis_source", "result", "figure", "notebook", "reproduction", "log", "other"]
RunStatus = Literal["completed", "failed", "timed_out"]
_ROLES = frozenset(get_args(Role))


def check_roles(roles: Collection[str]) -> None:
    """Whether all are roles that a file can have: a wrong word would find nothing, and nobody would see why.

    Raises:
        ValueError: one is not.
    """
    for role in roles if not _ROLES.issuperset(roles) else ():
        if role not in _ROLES:
            raise ValueError(f"files have no role {role!r}: choose from {', '.join(sorted(_ROLES))}")


class System(Model):
    """What produced the run: harness, model and prompts under one name."""

    name: Name
    harness: str | None = None
    harness_version: str | None = None
    model: str | None = None
    prompts: dict[str, Sha256] = {}


class Usage(Model):
    """Tokens and cost of the run; null where unknown."""

    input_tokens: int | None = Field(None, ge=0)
    output_tokens: int | None = Field(None, ge=0)
    cost_usd: float | None = Field(None, ge=0)


class Inputs(Model):
    """Hashes of the input files {path: sha256} before and after the run; null where nobody took them."""

    before: dict[str, Sha256] | None = None
    after: dict[str, Sha256] | None = None


class FileEntry(Model):
    """One frozen file. `mtime` is as found when frozen (ISO 8601, UTC): self-declared evidence."""

    path: NonEmpty
    bytes: Size
    sha256: Sha256
    mtime: str | None = None
    role: Role


class Session(Model):
    """How a harness was started and how it ended, where this program ran it.

    command: as it was started, the prompt shown as {prompt} and secrets masked.
    started: whether the harness ran at all; where it did not, `problem` says why.
    stopped: the limit that ended it; None where it ended by itself.
    problem: why the run did not complete; None where it did.
    fixing_turns: turns it was allowed to mend its delivery in; `fixing_turns_used` of them were needed.
    delivery: what the validator still told at the end.
    strays: files outside output/ that were added, changed or removed.
    withheld: files of output/ that held a secret; they are not frozen.
    workspace: the folder it worked in, as absolute path: what it read elsewhere is outside.
    """

    adapter: Name
    command: tuple[str, ...] = ()
    started: bool = True
    stopped: str | None = None
    problem: str | None = None
    fixing_turns: int = Field(0, ge=0)
    fixing_turns_used: int = Field(0, ge=0)
    limits: dict[str, float | None] = {}
    delivery: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    workspace: str | None = None
    environment: dict[str, str] = {}
    system_file: Sha256 | None = None


class Stage(Model):
    """The second stage of a run: what was frozen before the hold-out was handed out, and when that was.

    first: files of the first stage's output by path; `first_tree_sha256` is the digest of that run.
    checked_at: when the frozen first stage was verified; `released_at`: when the hold-out was handed out, after it.
    holdout: files of the hold-out by path. shared_rows: how many of its rows stand in the task's data.
    """

    number: Literal[2] = 2
    first_tree_sha256: Sha256
    first: dict[str, Sha256]
    checked_at: str
    released_at: str
    holdout: dict[str, Sha256]
    shared_rows: int = Field(ge=0)

    def holds(self, path: str, sha256: str) -> bool:
        """Whether a file was frozen with the first stage, just as it is."""
        return self.first.get(path) == sha256


class Release(Model):
    """`RUN.release.json` (schema sciagent-release/1): that a hold-out was handed out, against what, and when."""

    schema_: Literal["sciagent-release/1"] = Field("sciagent-release/1", alias="schema")
    run: str
    stage: Stage


class RunManifest(Model):
    """`run.json`. `tree_sha256` is the digest of `files` (see `pytest_sciagent.digest.sha256_tree`).

    `unit` is what is judged: each finding that the report registers, or, for benchmarks that register none, the report
    as a whole.
    """

    schema_: Literal["sciagent-run/1"] = Field("sciagent-run/1", alias="schema")
    task_id: Name
    system: System
    repeat: int = Field(1, ge=1)
    status: RunStatus
    exit_code: int | None = None
    started_at: str | None = None
    finished_at: str | None = None
    usage: Usage = Usage()
    report: str | None = None
    unit: Literal["finding", "report"] = "finding"
    inputs: Inputs = Inputs()
    session: Session | None = None
    stage: Stage | None = None
    files: tuple[FileEntry, ...] = ()
    tree_sha256: Sha256
