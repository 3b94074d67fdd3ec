"""Task folders of ResearchClawBench: what the agent is given, and its checklist as a rubric (`checklist100`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from ...errors import SciagentError
from ...models import Criterion, Dimension, Levels, Rubric
from ...models.rubric import EvidenceHints, Provenance
from ...text import slug
from ..foreign import Folder, Foreign, parse_list, regular_files
from ..frames import NOT_STATED, as_page, curated, plain_manifest, task_files
from ..gathering import Gathering

_INFO = ("task_info.json", "info.json")
_CHECKLIST = ("target_study/checklist.json", "checklist.json")
_LEVELS = Levels(
    full="The report meets the criterion at least as well as the target study does: 50 points or more of 100.",
    half="The report answers the criterion by a fitting method, and clearly falls short of the target study: 25 to 49 "
    "points.",
    zero="The report leaves the criterion out, only mentions it, or answers it by a method with fundamental errors: "
    "fewer than 25 points.",
)


@dataclass(frozen=True, slots=True)
class Documents:
    """The names of a task's two documents in its folder."""

    info: str
    checklist: str


class _Data(Foreign):
    name: str = ""
    path: str
    type: str = ""
    description: str = ""


class Info(Foreign):
    """`task_info.json`."""

    task: str = Field(min_length=1)
    data: tuple[_Data, ...] = ()


class Item(Foreign):
    """One entry of `checklist.json`."""

    type: Literal["text", "image"] = "text"
    content: str = Field(min_length=1)
    path: str | None = None
    keywords: tuple[str, ...] = ()
    weight: float = Field(1.0, gt=0)


@dataclass(frozen=True)
class Checklist:
    """A checklist and the rubric it became: criterion `number` of the one is `ids[number]` of the other."""

    task_id: str
    items: tuple[Item, ...]
    rubric: Rubric

    @property
    def ids(self) -> list[str]:
        return [criterion.id for criterion in self.rubric.criteria]


def find_task(folder: Folder) -> Documents | None:
    """The documents of the task in `folder`, or None where it holds none."""
    info, checklist = folder.first(*_INFO), folder.first(*_CHECKLIST)
    return Documents(info, checklist) if info and checklist else None


def criterion_id(task_id: str, index: int) -> str:
    """The id of entry `index` (from 0) of a task's checklist."""
    return f"{slug(task_id)}.c{index}"


def import_task(folder: Folder, documents: Documents, into: Gathering) -> Checklist:
    """Import a task and its checklist; gives the checklist.

    Raises:
        SciagentError: documents that can't be read, or no criterion.
    """
    id = slug(folder.path.name)
    checklist = _checklist(folder, documents, id)
    with into.attempt("rubric", checklist.rubric.id, folder.path / documents.checklist):
        into.write_rubric(checklist.rubric, *_checklist_notes(folder, documents, checklist))
    info = folder.document(documents.info, Info)
    with into.attempt("task", id, folder.path / documents.info):
        data = {path: b for path, b, _ in regular_files(folder, "data")} if "data" in folder.folders else {}
        named = {entry.path.removeprefix("./") for entry in info.data}
        missing = sorted(path for path in named if path not in data and not any(p.startswith(f"{path}/") for p in data))
        domain = folder.path.name.rsplit("_", 1)[0] or NOT_STATED
        manifest = plain_manifest(id, folder.path.name, domain, dict(sorted(data.items())))
        files = task_files(manifest, as_page(info.task), _guide(info).encode("utf-8", "replace"), data)
        notes = [f"{len(missing)} of {len(named)} data files it names are not here: {', '.join(missing[:3])}"]
        into.write_task(id, files, *(notes if missing else ()))
    return checklist


def _guide(info: Info) -> str:
    if not info.data:
        return "The task names no data.\n"
    lines = [f"- `{d.path.removeprefix('./')}` ({d.type or 'file'}): {d.description or d.name}" for d in info.data]
    return "\n".join(["Data files:", "", *lines, ""])


def _checklist(folder: Folder, documents: Documents, task_id: str) -> Checklist:
    items = parse_list(folder, documents.checklist, Item)
    if not items:
        raise SciagentError("the checklist is empty", path=folder.path / documents.checklist)
    weights: Mapping[str, float] = {
        kind: round(sum(i.weight for i in items if i.type == kind), 9) for kind in ("text", "image")
    }
    rubric = curated(
        "researchclawbench",
        task_id,
        f"ResearchClawBench checklist of {folder.path.name}",
        "checklist100",
        (Dimension(id=kind, weight=weight) for kind, weight in weights.items() if weight),
        (_criterion(task_id, index, item) for index, item in enumerate(items)),
    )
    return Checklist(task_id, items, rubric)


def _criterion(task_id: str, index: int, item: Item) -> Criterion:
    is_image = item.type == "image"
    boundary = (
        "The target study's figure is not shown. Judge by the run's own figures that stand for this criterion, their "
        "captions, the data they were drawn from, and what the report says about them."
        if is_image
        else ""
    )
    words = [word for text in (item.content, *item.keywords) for word in re.findall(r"[A-Za-z][A-Za-z0-9-]{4,}", text)]
    return Criterion(
        id=criterion_id(task_id, index),
        number=str(index + 1),
        dimension=item.type,
        weight=item.weight,
        question=f"How does the report meet this criterion, compared with the published study? {item.content.strip()}",
        boundary=boundary,
        levels=_LEVELS,
        judge=True,
        metrics=tuple(keyword for keyword in item.keywords if keyword.strip()),
        evidence=EvidenceHints(
            roles=("report", "figure", "result") if is_image else ("report", "result", "analysis_source"),
            hints=tuple(dict.fromkeys(words))[:20],
        ),
        provenance=Provenance(sources=(f"checklist.json, entry {index}",)),
    )


def _checklist_notes(folder: Folder, documents: Documents, checklist: Checklist) -> Iterator[str]:
    images = [item for item in checklist.items if item.type == "image"]
    if images:
        home = Folder.at((folder.path / documents.checklist).parent)
        absent = sum(item.path is None or home.first(item.path) is None for item in images)
        share = sum(item.weight for item in images) / sum(item.weight for item in checklist.items)
        yield f"{len(images)} of {len(checklist.items)} criteria are about figures ({share:.0%} of the weight)"
        if absent:
            yield f"{absent} target figures are not here"
    total = sum(item.weight for item in checklist.items)
    if abs(total - 1) > 1e-6:
        yield f"the weights add up to {total:g}, not to 1"
