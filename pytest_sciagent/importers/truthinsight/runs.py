"""Run roots of TruthInsightBench: the receipt's hashes are made again, then the workspace is frozen as a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...digest import sha256_bytes, sha256_tree
from ...errors import SciagentError
from ...models import System
from ...models.run import RunStatus
from ...runs.files import UnsafeFile, read_file, walk
from ...runs.freeze import FreezeOptions
from ...text import slug
from ..foreign import Folder, Foreign
from ..gathering import Gathering
from .tasks import GUIDE, MANIFEST, OBJECTIVE, Manifest, Material

RECEIPT = "run_receipt.json"
WORKSPACE = "workspace"
_LOGS = ("commands.log", "stdout.txt", "stderr.txt")


class Receipt(Foreign):
    """`run_receipt.json`."""

    task_id: str
    agent_id: str
    harness: str | None = None
    harness_version: str | None = None
    model: str | None = None
    status: RunStatus
    platform_exit_code: int | None = None
    started_at: str | None = None
    finished_at: str | None = None
    output_tree_sha256: str | None = None
    output_file_count: int | None = None
    output_bytes: int | None = None
    workspace_input_tree_sha256: str | None = None
    stdout_sha256: str | None = None
    stderr_sha256: str | None = None
    output_validation_passed: bool | None = None


class Tree(Foreign):
    """A tree of files by the benchmark's rule."""

    sha256: str
    count: int
    bytes: int


def tree_of(root: Path, *, without: str | None = None) -> Tree:
    """The tree of the files below `root`, those of its folder `without` left out: SHA-256 over the sorted lines
    `path NUL bytes NUL sha256 LF`.

    Raises:
        SciagentError: a link, or anything else that is no regular file.
    """
    lines = []
    for entry in walk(root):
        if without is not None and entry.path.split("/", 1)[0] == without:
            continue
        if entry.problem is not None:
            raise SciagentError(
                f"is {entry.problem}: the benchmark's trees hold regular files only", path=root / entry.path
            )
        try:
            data = read_file(root, entry.path)
        except UnsafeFile as error:
            raise SciagentError(str(error), path=root / entry.path) from None
        lines.append((entry.path, len(data), sha256_bytes(data)))
    return Tree(sha256=sha256_tree(lines), count=len(lines), bytes=sum(size for _, size, _ in lines))


def import_run(folder: Folder, material: Material, into: Gathering) -> None:
    """Freeze the run root in `folder`.

    Raises:
        SciagentError: a receipt that can't be read or belongs elsewhere, an output that is not what the receipt froze,
            or whatever keeps a workspace from being frozen.
    """
    receipt = folder.document(RECEIPT, Receipt)
    workspace = folder.inner(WORKSPACE)
    if workspace is None or "output" not in workspace.folders:
        raise SciagentError(f"there is no {WORKSPACE}/output/ beside it", path=folder.path / RECEIPT)
    notes = list(_receipt_notes(folder, workspace, receipt))
    before, more = _inputs(workspace, receipt, material)
    logs = tuple(folder.path / name for name in _LOGS if name in folder.files)
    prompts = {
        name: sha256_bytes(workspace.bytes(name))
        for name in workspace.files
        if name.endswith(".md") and name not in (OBJECTIVE, GUIDE)
    }
    options = FreezeOptions(
        task_id=receipt.task_id,
        system=System(
            name=slug(receipt.agent_id),
            harness=receipt.harness,
            harness_version=receipt.harness_version,
            model=receipt.model,
            prompts=prompts,
        ),
        status=receipt.status,
        exit_code=receipt.platform_exit_code,
        started_at=receipt.started_at,
        finished_at=receipt.finished_at,
        logs=logs,
        inputs_before=before,
    )
    into.freeze(workspace.path, options, *notes, *more)


def _receipt_notes(folder: Folder, workspace: Folder, receipt: Receipt) -> Iterator[str]:
    output = tree_of(workspace.path / "output")
    expected = (receipt.output_tree_sha256, receipt.output_file_count, receipt.output_bytes)
    if receipt.output_tree_sha256 is None:
        yield "the receipt holds no hash of the output"
    elif (output.sha256, output.count, output.bytes) != expected:
        raise SciagentError(
            f"the output is not what it froze: {output.count} files, {output.bytes} bytes, tree {output.sha256[:12]}; "
            f"the receipt has {expected[1]}, {expected[2]}, {str(expected[0])[:12]}",
            path=folder.path / RECEIPT,
        )
    else:
        yield f"output tree {output.sha256[:12]} as in the receipt"
    if receipt.workspace_input_tree_sha256 is not None:
        inputs = tree_of(workspace.path, without="output")
        same = inputs.sha256 == receipt.workspace_input_tree_sha256
        yield "input tree as in the receipt" if same else "the input tree is not that of the receipt"
    for name, hashed in (("stdout.txt", receipt.stdout_sha256), ("stderr.txt", receipt.stderr_sha256)):
        if hashed is not None and (name not in folder.files or sha256_bytes(folder.bytes(name)) != hashed):
            yield f"{name} is not that of the receipt"
    if receipt.output_validation_passed is not True:
        yield "the benchmark's own validator has not passed this output"


def _inputs(workspace: Folder, receipt: Receipt, material: Material) -> tuple[dict[str, str] | None, list[str]]:
    """Hashes of the data as the task registers them: those of the task itself, else of the workspace's own manifest."""
    task = material.visible.get(receipt.task_id)
    notes = []
    if task is None or task.path == workspace.path:
        if MANIFEST not in workspace.files:
            return None, []
        manifest = workspace.document(MANIFEST, Manifest)
        notes.append(f"the data are compared with the workspace's own {MANIFEST}: the task is not here")
    else:
        manifest = task.document(MANIFEST, Manifest)
    if manifest.task_id != receipt.task_id:
        raise SciagentError(
            f"is of {manifest.task_id}, the receipt of {receipt.task_id}", path=workspace.path / MANIFEST
        )
    return manifest.hashes(), notes
