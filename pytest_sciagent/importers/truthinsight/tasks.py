"""Tasks of TruthInsightBench: the visible half is checked against its manifest, the hidden half is the evaluator's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...digest import sha256_bytes
from ...documents import MAX_BYTES
from ...errors import SciagentError
from ...models import TaskManifest, Variable
from ...runs.files import MAX_FILE_BYTES, UnsafeFile, check_relative
from ..foreign import MAX_TOTAL, Folder, Foreign
from ..frames import NOT_STATED, data_files, task_files
from ..gathering import Gathering
from .hidden import hidden_half
from .registry import OTHER_NAMES, TASKS

MANIFEST = "data_manifest.json"
ANCHORS = "validation_anchors.json"
REGISTRY = "registry.json"
OBJECTIVE, GUIDE = "ResearchObjective.md", "DATA_GUIDE.md"


class _File(Foreign):
    path: str
    bytes: int
    sha256: str


class Manifest(Foreign):
    """`data_manifest.json`."""

    task_id: str
    title: str = NOT_STATED
    domain: str | None = None
    t0: str
    analysis_unit: str = NOT_STATED
    license_boundary: str = NOT_STATED
    variable_dictionary: dict[str, list[str] | dict[str, str]] | list[dict[str, str | list[str]]] = {}
    files: tuple[_File, ...]

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each data file by its path below the workspace."""
        return {f"data/{file.path}": file.sha256 for file in self.files}


class _Row(Foreign):
    task_id: str
    domain: str
    t0: str
    data_manifest_sha256: str | None = None
    research_objective_sha256: str | None = None


class _Registry(Foreign):
    schema_: str | None = None
    tasks: tuple[_Row, ...]


@dataclass
class Material:
    """What lies about in a source, by task: visible folders, the evaluator's folders, and rows of its registry."""

    visible: dict[str, Folder] = field(default_factory=dict)
    hidden: dict[str, Folder] = field(default_factory=dict)
    registries: list[Folder] = field(default_factory=list)
    rows: dict[str, _Row] = field(default_factory=dict)

    @classmethod
    def of(cls, folders: Sequence[Folder]) -> Material:
        """Sort `folders`, by name; nothing is read yet."""
        found = cls()
        for folder in folders:
            if MANIFEST in folder.files:
                found.visible.setdefault(folder.path.name, folder)
            if ANCHORS in folder.files:
                found.hidden.setdefault(folder.path.name, folder)
            if REGISTRY in folder.files:
                found.registries.append(folder)
        return found


def import_tasks(material: Material, into: Gathering) -> None:
    """Import every task of which the visible half is there; a hidden half alone is told of."""
    for folder in material.registries:
        with into.attempt("task", REGISTRY, folder.path / REGISTRY):
            material.rows |= {row.task_id: row for row in folder.document(REGISTRY, _Registry).tasks}
    for name, folder in material.visible.items():
        with into.attempt("task", name, folder.path / MANIFEST):
            _import_task(folder, material, into)
    for name in sorted(set(material.hidden) - set(material.visible)):
        into.notes.append(f"{name}: reference cards without the task itself (no {MANIFEST})")
    for name in sorted(set(material.rows) - set(material.visible)):
        into.notes.append(f"{name}: in {REGISTRY}, but its files are not here")


def _import_task(folder: Folder, material: Material, into: Gathering) -> None:
    manifest = folder.document(MANIFEST, Manifest)
    id = manifest.task_id
    if id != folder.path.name:
        raise SciagentError(
            f"names the task {id!r}, in a folder called {folder.path.name!r}", path=folder.path / MANIFEST
        )
    notes = list(registry_notes(folder, manifest, material.rows.get(id)))
    if sum(file.bytes for file in manifest.files) > MAX_TOTAL:
        raise SciagentError(f"names more than {MAX_TOTAL:,} bytes of data", path=folder.path / MANIFEST)
    data = {f"data/{file.path}": _data(folder, file) for file in manifest.files}
    objective, guide = folder.bytes(OBJECTIVE), folder.bytes(GUIDE)
    domain = manifest.domain or (TASKS[id][0] if id in TASKS else NOT_STATED)
    variables, unnamed = _variables(manifest)
    notes += unnamed
    task = TaskManifest(
        schema_="sciagent-task/1",
        id=id,
        title=manifest.title,
        domain=domain,
        t0=manifest.t0,
        analysis_unit=manifest.analysis_unit,
        licence=manifest.license_boundary,
        variables=variables,
        files=data_files(data),
    )
    files = task_files(task, objective, guide, data)
    if id in material.hidden:
        half = hidden_half(material.hidden[id], manifest)
        files |= half.files
        notes += half.notes
    else:
        notes.append("no reference cards: targets and recalculation from cards stay not assessed")
    into.write_task(id, files, *notes)


def registry_notes(folder: Folder, manifest: Manifest, row: _Row | None) -> Iterator[str]:
    """What the registry says about this task.

    Raises:
        SciagentError: another T0 or domain than the registry's, or a document of another hash.
    """
    id = manifest.task_id
    if id in OTHER_NAMES:
        yield f"an id of an earlier numbering: the registry calls this study {OTHER_NAMES[id]}"
    elif id not in TASKS:
        yield "not one of the forty registered tasks"
    known = TASKS.get(id) or (row and (row.domain, row.t0))
    if known and manifest.t0 != known[1]:
        raise SciagentError(f"T0 is {manifest.t0}, the registry has {known[1]}", path=folder.path / MANIFEST)
    if known and manifest.domain not in (None, known[0]):
        raise SciagentError(f"domain is {manifest.domain}, the registry has {known[0]}", path=folder.path / MANIFEST)
    if row is None:
        yield f"no row of {REGISTRY} to check the manifest's hash by"
        return
    for name, expected in ((MANIFEST, row.data_manifest_sha256), (OBJECTIVE, row.research_objective_sha256)):
        if expected is not None and sha256_bytes(folder.bytes(name)) != expected:
            raise SciagentError(f"is not the registered file: SHA-256 differs from {REGISTRY}", path=folder.path / name)


def _data(folder: Folder, file: _File) -> bytes:
    path = Path(folder.path / "data" / file.path)
    try:
        check_relative(file.path)
    except UnsafeFile as error:
        raise SciagentError(f"names a data file that can't be: {error}", path=folder.path / MANIFEST) from None
    data = folder.bytes(f"data/{file.path}", max(MAX_BYTES, MAX_FILE_BYTES))
    if len(data) != file.bytes or sha256_bytes(data) != file.sha256:
        raise SciagentError(f"is not the file of {MANIFEST}: size or SHA-256 differs", path=path)
    return data


def _variables(manifest: Manifest) -> tuple[dict[str, dict[str, Variable]], list[str]]:
    """Columns by data file, as far as the dictionary names files that exist; and notes on the rest."""
    given = manifest.variable_dictionary
    pairs: list[tuple[str, list[str] | dict[str, str]]] = []
    if isinstance(given, dict):
        pairs = list(given.items())
    else:
        for entry in given:
            measures = entry.get("measures", [])
            pairs.append((str(entry.get("file_or_pattern", "")), measures if isinstance(measures, list) else []))
    files = {file.path for file in manifest.files}
    variables: dict[str, dict[str, Variable]] = {}
    notes = []
    for name, columns in pairs:
        if name not in files:
            notes.append(f"variables of {name!r} are left out: no such data file")
            continue
        meanings = columns if isinstance(columns, dict) else dict.fromkeys(columns, NOT_STATED)
        variables[name] = {column: Variable(unit=NOT_STATED, meaning=text) for column, text in meanings.items()}
    return variables, notes
