"""The manifest of a frozen run, `run.json` (schema sciagent-run/1)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Model, Name, NonEmpty, Sha256, Size

Role = Literal["report", "analysis_source", "result", "figure", "notebook", "reproduction", "log", "other"]
RunStatus = Literal["completed", "failed", "timed_out"]


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


class RunManifest(Model):
    """`run.json`. `tree_sha256` is the digest of `files` (see `pytest_sciagent.digest.sha256_tree`)."""

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
    inputs: Inputs = Inputs()
    files: tuple[FileEntry, ...] = ()
    tree_sha256: Sha256
