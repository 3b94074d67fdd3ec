"""Samples of AstaBench: the task that an agent is given, and its rubric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ...models import Criterion, Dimension, Levels, Rubric
from ...models.rubric import EvidenceHints, Provenance
from ...models.run import Role
from ...text import one_line, slug
from ..foreign import Folder, Foreign, parse_list
from ..frames import as_page, curated, plain_manifest, task_files
from ..gathering import Gathering

_LEVELS = Levels(
    full="Met: the report says so, the code does it and the artifacts show it, each of the three wherever it should; "
    "none contradicts another.",
    half="The report says so, and a source that should show it as well, code or artifacts, holds nothing about it; no "
    "source contradicts another.",
    zero="Not met, not mentioned, or contradicted by the code or the artifacts.",
)

SOURCES = "sources"
_ROLES: tuple[Role, ...] = ("report", "analysis_source", "notebook", "result", "other")


def _alone(source: str) -> Levels:
    return Levels(
        full=f"Met, by {source} alone.",
        half=f"No information: {source} says nothing about it.",
        zero=f"Not met: {source} speaks of it, and shows that it is not so.",
    )


_APART: dict[str, tuple[str, Levels, tuple[Role, ...]]] = {
    "report": ("the report", _alone("the report"), ("report",)),
    "code": ("the code", _alone("the code"), ("analysis_source", "notebook")),
    "artifacts": ("the artifacts", _alone("the artifacts"), ("result", "figure", "log", "other")),
    "consistency": (
        "whether the sources agree",
        Levels(
            full="At least two of report, code and artifacts speak of it, and none contradicts another.",
            half="At most one of report, code and artifacts speaks of it, so there is nothing to compare.",
            zero="One of report, code and artifacts contradicts another.",
        ),
        _ROLES,
    ),
}
"""What is asked of each source apart: what it is called, the levels, and the files that hold it."""


class _Element(Foreign):
    criteria_name: str = Field(min_length=1)
    criteria_met_question: str = Field(min_length=1)
    required_or_optional: Literal["required", "optional"] = "required"


class _Sample(Foreign):
    id: str = Field(min_length=1)
    problem_description: str = Field(min_length=1)
    evaluation_rubric: tuple[_Element, ...] = Field(min_length=1)


def import_samples(folder: Folder, name: str, into: Gathering) -> dict[str, Rubric]:
    """Import the samples of a file as tasks; gives their rubrics by task id.

    Raises:
        SciagentError: a file that can't be read, or an entry that is no sample.
    """
    samples = parse_list(folder, name, _Sample)
    found = {}
    for sample in samples:
        with into.attempt("task", sample.id, folder.path / name):
            id = slug(sample.id)
            rubric = _rubric(id, sample)
            found[id] = rubric
            with into.attempt("rubric", rubric.id, folder.path / name):
                into.write_rubric(rubric)
            into.write_task(id, _task_files(id, sample))
    return found


def _task_files(id: str, sample: _Sample) -> dict[str, bytes]:
    manifest = plain_manifest(id, sample.id, "machine_learning", {})
    return task_files(manifest, as_page(sample.problem_description), b"The task brings no data of its own.\n", {})


def _rubric(task_id: str, sample: _Sample) -> Rubric:
    criteria = [
        criterion
        for number, element in enumerate(sample.evaluation_rubric, 1)
        for criterion in _criteria(f"{task_id}.c{number}", number, element)
    ]
    kinds = list(dict.fromkeys(criterion.dimension for criterion in criteria))
    counts = {kind: sum(criterion.dimension == kind for criterion in criteria) for kind in kinds}
    dimensions = [Dimension(id=kind, weight=counts[kind]) for kind in kinds]
    return curated("astabench", task_id, f"AstaBench rubric of {sample.id}", "required", dimensions, criteria)


def _criteria(id: str, number: int, element: _Element) -> Iterator[Criterion]:
    """The criterion itself; then what each source alone says, and whether they agree, which do not count."""
    yield Criterion(
        id=id,
        number=str(number),
        title=one_line(element.criteria_name, 200),
        dimension=element.required_or_optional,
        weight=1,
        question=element.criteria_met_question,
        boundary="Judge the report, the code and the artifacts each by itself first, then whether they agree.",
        levels=_LEVELS,
        judge=True,
        required=element.required_or_optional == "required",
        evidence=EvidenceHints(roles=_ROLES),
        provenance=Provenance(sources=("evaluation_rubric",)),
    )
    for source, (title, levels, roles) in _APART.items():
        yield Criterion(
            id=f"{id}.{source}",
            number=f"{number}.{source}",
            title=one_line(f"{element.criteria_name}: {title}", 200),
            dimension=SOURCES,
            weight=1,
            question=f"{element.criteria_met_question} Judge {title} only.",
            levels=levels,
            judge=True,
            required=False,
            evidence=EvidenceHints(roles=roles),
            provenance=Provenance(sources=("evaluation_rubric",)),
        )
