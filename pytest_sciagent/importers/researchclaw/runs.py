"""Runs of ResearchClawBench: a workspace with its `_meta.json`, or a run as its site exports it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import Field

from ...digest import sha256_bytes
from ...ledger.store import record_path
from ...models import System
from ...models.run import RunStatus
from ...runs import Run
from ...runs.figure_record import FIGURES
from ...runs.files import MAX_FILE_BYTES
from ...runs.freeze import FreezeOptions
from ...text import counted, slug
from ..foreign import Folder, Foreign, parse_list, regular_files
from ..gathering import Gathering, staged
from .figures import match_figures
from .scores import Scored, Scores
from .tasks import Checklist

META, EXPORTED, SCORE, LISTING = "_meta.json", "data.json", "_score.json", "files.json"
_WORKSPACE = "workspace"
_INSTRUCTIONS = "INSTRUCTIONS.md"
_TRANSCRIPT = "_agent_output.jsonl"
_NOT_DELIVERED = frozenset({"data", "related_work", _INSTRUCTIONS, META, SCORE, _TRANSCRIPT})
_REPORT = "report/report.md"

MAX_TIME = 32_503_680_000.0
"""The year 3000, in seconds since 1970."""

File = tuple[str, bytes, float | None]


class _Meta(Foreign):
    run_id: str
    task_id: str
    agent_name: str = "Unknown"
    status: str
    model: str | None = None
    exit_code: int | None = None
    error: str | None = None
    score: dict[str, Any] | None = None
    report: str | None = None


class _Listed(Foreign):
    path: str
    type: str = "file"
    mtime: float | None = Field(None, ge=0, le=MAX_TIME)


@dataclass(frozen=True)
class Source:
    """Where a run lies: its document, and the folder that was its workspace."""

    document: str
    workspace: Folder


def find_source(folder: Folder) -> Source | None:
    """The run in `folder`, or None where it holds none."""
    if META in folder.files:
        return Source(META, folder)
    workspace = folder.inner(_WORKSPACE) if EXPORTED in folder.files else None
    return Source(EXPORTED, workspace) if workspace is not None else None


def import_run(folder: Folder, source: Source, checklists: Mapping[str, Checklist], into: Gathering) -> Scored | None:
    """Freeze the run; gives its scores, where it has been scored.

    Raises:
        SciagentError: a document that can't be read, or what keeps a workspace from being frozen.
    """
    meta = folder.document(source.document, _Meta)
    times = _times(folder)
    with staged(_files(source.workspace, times)) as workspace:
        report, notes = _report(workspace, meta)
        absent = [path for path in times if _is_delivered(path) and not (workspace / "output" / path).is_file()]
        if absent:
            notes.append(f"not here, though its listing names them: {counted(len(absent), 'file')}")
        options = FreezeOptions(
            task_id=slug(meta.task_id),
            system=System(name=slug(meta.agent_name), model=meta.model or None, prompts=_prompts(source.workspace)),
            status=_status(meta, report, notes),
            exit_code=meta.exit_code,
            report=report,
            unit="report",
        )
        place = into.freeze(workspace, options, f"was {meta.run_id}", *notes)
    label = into.loaded[-1].name
    checklist = checklists.get(meta.task_id)
    if report is not None and checklist is not None:
        run = Run.load(place)
        if figures := match_figures(run, checklist):
            told = sum(bool(found) for found in figures.values())
            note = f"figures found for {told} of {len(figures)} criteria about figures"
            into.write_json("figures", label, record_path(Path(FIGURES), run.manifest).parts, figures, note)
    return _scored(folder, source, meta, label)


def _times(folder: Folder) -> dict[str, float | None]:
    """Times of change by path, as the site's listing tells them; those of a copy say nothing."""
    if LISTING not in folder.files:
        return {}
    return {entry.path: entry.mtime for entry in parse_list(folder, LISTING, _Listed) if entry.type == "file"}


def _is_delivered(path: str) -> bool:
    return PurePosixPath(path).parts[0] not in _NOT_DELIVERED


def _files(workspace: Folder, times: Mapping[str, float | None]) -> Iterator[File]:
    """What is frozen: all that the agent left as `output/...`, its transcript as a log, and the data, to be hashed."""
    for part in (name for name in workspace.folders if _is_delivered(name)):
        for path, data, mtime in regular_files(workspace, part):
            yield f"output/{path}", data, times.get(path) or mtime
    for name in workspace.files:
        if _is_delivered(name):
            yield f"output/{name}", workspace.bytes(name, MAX_FILE_BYTES), times.get(name)
    if _TRANSCRIPT in workspace.files:
        yield f"logs/{_TRANSCRIPT.lstrip('_')}", workspace.bytes(_TRANSCRIPT, MAX_FILE_BYTES), None
    if "data" in workspace.folders:
        yield from regular_files(workspace, "data")


def _report(workspace: Path, meta: _Meta) -> tuple[str | None, list[str]]:
    """The report in the staged `workspace`: where the benchmark looks for it, else another Markdown file there, else
    the exported text; and what there is to tell about it."""
    place = workspace / "output" / _REPORT
    told = (meta.report or "").strip()
    if place.is_file():
        same = not told or place.read_bytes().decode("utf-8", "replace").strip() == told
        return f"output/{_REPORT}", [] if same else [f"{_REPORT} is not the report that {EXPORTED} holds"]
    others = sorted(path.name for path in place.parent.glob("*.md"))
    if others:
        return f"output/report/{others[0]}", [f"no {_REPORT}: report/{others[0]} is taken for the report"]
    if not told:
        return None, []
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(told.encode("utf-8", "replace") + b"\n")
    return f"output/{_REPORT}", [f"no report in the workspace: the text in {EXPORTED} is taken for it"]


def _status(meta: _Meta, report: str | None, notes: list[str]) -> RunStatus:
    if meta.error:
        notes.append(f"its error: {meta.error}")
    if meta.status == "completed" and report is None:
        notes.append("called completed by its benchmark, and there is no report: a failed run")
        return "failed"
    if "timeout" in meta.status.replace("_", "").replace("d", ""):
        return "timed_out"
    return "completed" if meta.status == "completed" else "failed"


def _prompts(workspace: Folder) -> dict[str, str]:
    if _INSTRUCTIONS not in workspace.files:
        return {}
    return {_INSTRUCTIONS: sha256_bytes(workspace.bytes(_INSTRUCTIONS))}


def _scored(folder: Folder, source: Source, meta: _Meta, label: str) -> Scored | None:
    if meta.score is not None:
        return Scored(label, meta.task_id, Scores.model_validate(meta.score), folder.path / source.document)
    if SCORE in source.workspace.files:
        return Scored(label, meta.task_id, source.workspace.document(SCORE, Scores), source.workspace.path / SCORE)
    return None
