"""A workspace: the visible half of a task, what is to be delivered, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from ..digest import sha256_bytes, sha256_tree
from ..documents import plain_json, read_text
from ..errors import SciagentError
from ..ledger.store import write_atomically
from ..runs.files import UnsafeFile, read_file, walk
from .task import Task

RECEIPT = "receipt.json"
PROMPT = "PROMPT.md"
CONTRACT = "CONTRACT.md"
OUTPUT = "output"
HOLDOUT = "holdout"
_HERE = Path(__file__).parent
NO_CUT_OFF = "today"
"""What the contract says where the task has no T0."""


@dataclass(frozen=True)
class Workspace:
    """An assembled workspace. `files` are the SHA-256 of everything in it when it was handed out."""

    path: Path
    files: Mapping[str, str]

    @property
    def prompt(self) -> str:
        return read_text(self.path / PROMPT)

    @property
    def output(self) -> Path:
        return self.path / OUTPUT

    @property
    def prompts(self) -> dict[str, str]:
        """The hashes of what the agent is told, by file: what a run records as its prompts."""
        return {name: self.files[name] for name in (CONTRACT, PROMPT) if name in self.files}

    def strays(self) -> list[str]:
        """Files outside `output/` that were added, changed or removed since the workspace was handed out."""
        found = []
        present = set()
        for entry in walk(self.path):
            if entry.path.split("/", 1)[0] in (OUTPUT, RECEIPT):
                continue
            present.add(entry.path)
            if entry.path not in self.files:
                found.append(f"added: {entry.path}")
            elif entry.problem is not None or not _is_same(self.path, entry.path, self.files[entry.path]):
                found.append(f"changed: {entry.path}")
        return found + [f"removed: {path}" for path in self.files if path not in present]


def contract(t0: str | None) -> str:
    """What an agent has to deliver, in a task with the cut-off `t0`."""
    return read_text(_HERE / "contract.md").replace("{t0}", t0 or NO_CUT_OFF)


def handed_out(task: Task) -> dict[str, str]:
    """The texts by which this version of the program tells an agent what to do on `task`, by their file names."""
    return {
        PROMPT: read_text(_HERE / "prompt.md"),
        CONTRACT: contract(task.manifest.t0),
    }


def assemble(task: Task, folder: Path) -> Workspace:
    """Make the workspace `folder` for `task`.

    Raises:
        SciagentError: the folder holds something; the task's data are not what it registers.
    """
    return _assemble(task, folder, handed_out(task), {})


def assemble_second(task: Task, folder: Path, delivered: Path) -> Workspace:
    """Make the workspace of the second stage: the first one, the frozen files of `delivered/output`, and the hold-out.

    Raises:
        SciagentError: as `assemble`; the task has no hold-out.
    """
    if not task.holdout_dir.is_dir():
        raise SciagentError(f"the task {task.id} has no second stage (no hidden/holdout)", path=task.path)
    texts = {
        PROMPT: read_text(_HERE / "second_stage.md"),
        CONTRACT: contract(task.manifest.t0),
    }
    trees = {HOLDOUT: task.holdout_dir, OUTPUT: delivered / OUTPUT}
    return _assemble(task, folder, texts, trees)


def assemble_again(task: Task, folder: Path, delivered: Path, texts: Mapping[str, str]) -> Workspace:
    """Make a workspace to go on in: the first one, the files of `delivered/output`, and `texts` by their file names.

    `texts` holds PROMPT.md, which takes the place of the first one, and what else the agent is to read.

    Raises:
        SciagentError: as `assemble`.
    """
    return _assemble(task, folder, {**handed_out(task), **texts}, {OUTPUT: delivered / OUTPUT})


def _assemble(task: Task, folder: Path, texts: Mapping[str, str], trees: Mapping[str, Path]) -> Workspace:
    task.check()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SciagentError("exists and is not empty: choose another, or remove it first", path=folder)
    everything = {
        **texts,
        "objective.md": task.objective,
        "DATA_GUIDE.md": task.data_guide,
        "task.json": _about(task),
        "validate.py": read_text(_HERE / "delivery.py"),
    }
    (folder / OUTPUT).mkdir(parents=True, exist_ok=True)
    for name, text in everything.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for file in task.manifest.files:
        _copy(task.path, file.path, folder / file.path)
    for name, source in trees.items():
        for entry in walk(source):
            _copy(source, entry.path, folder / name / entry.path)
    for name in ("data", HOLDOUT):
        _make_read_only(folder / name)
    files = {e.path: sha256_bytes(read_file(folder, e.path)) for e in walk(folder) if not e.path.startswith("output/")}
    _write_receipt(task, folder, files)
    return Workspace(folder, files)


def open_workspace(folder: Path) -> Workspace:
    """The workspace in `folder`, as its receipt describes it.

    Raises:
        SciagentError: no readable receipt.
    """
    data = plain_json(read_text(folder / RECEIPT), folder / RECEIPT)
    files = data.get("files") if isinstance(data, dict) else None
    if not isinstance(files, dict) or not all(isinstance(v, str) for v in files.values()):
        raise SciagentError("is not the receipt of a workspace", path=folder / RECEIPT)
    return Workspace(folder, files)


def remove_workspace(folder: Path) -> bool:
    """Remove a workspace with its read-only folders; whether all of it is gone."""
    for place, folders, _ in os.walk(folder):
        for inner in (Path(place) / name for name in folders):
            if not inner.is_symlink():
                with contextlib.suppress(OSError):
                    inner.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _about(task: Task) -> str:
    """What an agent may know of the manifest; feasibility labels are for those who judge."""
    about = task.manifest.as_json()
    shown = {key: about[key] for key in ("id", "title", "domain", "t0", "analysis_unit", "variables", "files")}
    return json.dumps(shown, indent=2, ensure_ascii=False) + "\n"


def _copy(root: Path, path: str, target: Path) -> None:
    try:
        data = read_file(root, path)
    except UnsafeFile as error:
        raise SciagentError(str(error), path=root) from None
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    status = (root / path).stat()
    os.utime(target, (status.st_mtime, status.st_mtime))


def _make_read_only(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True) if folder.is_dir() else ():
        path.chmod(0o555 if path.is_dir() else 0o444)
    if folder.is_dir():
        folder.chmod(0o555)


def _write_receipt(task: Task, folder: Path, files: Mapping[str, str]) -> None:
    sizes = {path: (folder / path).stat().st_size for path in files}
    receipt = {
        "schema": "sciagent-workspace/1",
        "task_id": task.id,
        "t0": task.manifest.t0,
        "assembled_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "program": f"pytest-sciagent {version('pytest-sciagent')}",
        "tree_sha256": sha256_tree((path, sizes[path], digest) for path, digest in files.items()),
        "files": dict(sorted(files.items())),
    }
    write_atomically(folder / RECEIPT, json.dumps(receipt, indent=2) + "\n")


def _is_same(root: Path, path: str, digest: str) -> bool:
    try:
        return sha256_bytes(read_file(root, path)) == digest
    except UnsafeFile:
        return False
