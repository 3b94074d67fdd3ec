"""What every rubric and task that comes from another benchmark has in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..digest import sha256_bytes
from ..models import Criterion, DataFile, Dimension, Rubric, TaskManifest
from ..profile_names import ProfileName
from .gathering import as_yaml

NOT_STATED = "not stated"
RUBRIC_VERSION = "1"


def curated(
    benchmark: str,
    task_id: str,
    title: str,
    profile: ProfileName,
    dimensions: Iterable[Dimension],
    criteria: Iterable[Criterion],
) -> Rubric:
    """A benchmark's rubric of one task, as people wrote it."""
    return Rubric(
        schema_="sciagent-rubric/1",
        id=f"{benchmark}.{task_id}",
        version=RUBRIC_VERSION,
        title=title,
        kind="curated",
        task_id=task_id,
        profile=profile,
        dimensions=tuple(dimensions),
        criteria=tuple(criteria),
    )


def plain_manifest(id: str, title: str, domain: str, data: Mapping[str, bytes]) -> TaskManifest:
    """The manifest of a task whose benchmark tells nothing of its unit of analysis and its licence."""
    return TaskManifest(
        schema_="sciagent-task/1",
        id=id,
        title=title,
        domain=domain,
        analysis_unit=NOT_STATED,
        licence=NOT_STATED,
        files=data_files(data),
    )


def data_files(data: Mapping[str, bytes]) -> tuple[DataFile, ...]:
    """The entries of a manifest for data files by their path in the task."""
    return tuple(DataFile(path=path, bytes=len(b), sha256=sha256_bytes(b)) for path, b in data.items())


def task_files(manifest: TaskManifest, objective: bytes, guide: bytes, data: Mapping[str, bytes]) -> dict[str, bytes]:
    """The visible files of a task, by their path in it."""
    return {"task.yaml": as_yaml(manifest).encode(), "objective.md": objective, "DATA_GUIDE.md": guide, **data}


def as_page(text: str) -> bytes:
    """Somebody's text as a file that ends with one line end; what is no Unicode in it is replaced."""
    return (text.strip() + "\n").encode("utf-8", "replace")
