"""PaperBench: rubric trees as rubrics of their leaves, and gradings by people (JudgeEval) as labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal

from pydantic import Field

from ..errors import SciagentError
from ..models import Criterion, Dimension, Label, Levels, Rater, Rubric
from ..models.rubric import Provenance
from ..text import one_line, slug
from .foreign import Folder, Foreign
from .frames import curated
from .gathering import Gathering

DATASET = "paperbench"
GRADED, RUBRIC = "expected_result.json", "rubric.json"
MAX_DEPTH = 40
_MARKS = (b'"sub_tasks"', b'"requirements"')
_UNNAMED = "Other"
_LEVELS = Levels(
    full="The requirement is met.",
    half="Not in use: a leaf is met or it is not. What is met in part only is not met.",
    zero="The requirement is not met, or nothing shows that it is.",
)


class Node(Foreign):
    """A node of the tree; one without `sub_tasks` is a leaf. `score` only where somebody graded it."""

    id: str = Field(min_length=1)
    requirements: str = Field(min_length=1)
    weight: float = Field(1.0, ge=0)
    task_category: str | None = None
    score: float | None = Field(None, ge=0, le=1)
    valid_score: bool = True
    explanation: str | None = None
    sub_tasks: tuple[Node, ...] = ()


def recognises(folders: Sequence[Folder]) -> bool:
    """Whether anything of this format is among `folders`."""
    return any(_document(folder) is not None for folder in folders)


def bring_in(folders: Sequence[Folder], into: Gathering) -> None:
    """Import every tree among `folders`: its rubric, and its labels where it is graded."""
    labels: list[Label] = []
    done: set[str] = set()
    for folder in folders:
        name = _document(folder)
        if name is None:
            continue
        paper = slug(folder.path.name)
        with into.attempt("rubric", paper, folder.path / name):
            root = folder.document(name, Node)
            leaves = dict(shares(root))
            if paper not in done:
                done.add(paper)
                rubric = _rubric(paper, leaves)
                with into.attempt("rubric", rubric.id, folder.path / name):
                    into.write_rubric(rubric)
            if name == GRADED:
                labels += _labels(paper, root, leaves)
    if labels:
        with into.attempt("labels", DATASET, folders[0].path):
            into.write_labels(DATASET, labels, name=f"{DATASET}-judgeeval")


def _document(folder: Folder) -> Literal["expected_result.json", "rubric.json"] | None:
    for name in (GRADED, RUBRIC):
        if name in folder.files:
            with (folder.path / name).open("rb") as handle:
                head = handle.read(20_000)
            if all(mark in head for mark in _MARKS):
                return "expected_result.json" if name == GRADED else "rubric.json"
    return None


def shares(root: Node) -> Iterator[tuple[Node, Fraction]]:
    """Every leaf with its exact share of the root's score; shares add up to 1, leaves of no weight are left out.

    Raises:
        SciagentError: a tree too deep, or a node all of whose parts have no weight.
    """
    yield from _below(root, Fraction(1), 0)


def _below(node: Node, share: Fraction, depth: int) -> Iterator[tuple[Node, Fraction]]:
    if depth > MAX_DEPTH:
        raise SciagentError(f"the tree is deeper than {MAX_DEPTH}")
    if not node.sub_tasks:
        yield node, share
        return
    weights = [Fraction(str(part.weight)) for part in node.sub_tasks]
    total = sum(weights, Fraction(0))
    if not total:
        raise SciagentError(f"all parts of node {node.id} have no weight")
    for part, weight in zip(node.sub_tasks, weights, strict=True):
        if weight:
            yield from _below(part, share * weight / total, depth + 1)


def _rubric(paper: str, leaves: dict[Node, Fraction]) -> Rubric:
    categories = list(dict.fromkeys(leaf.task_category or _UNNAMED for leaf in leaves))
    weight = {
        category: float(
            sum(share for leaf, share in leaves.items() if (leaf.task_category or _UNNAMED) == category) * 100
        )
        for category in categories
    }
    dimensions = (Dimension(id=slug(category), title=category, weight=weight[category]) for category in categories)
    criteria = (_criterion(number, leaf, share) for number, (leaf, share) in enumerate(leaves.items(), 1))
    return curated("paperbench", paper, f"PaperBench rubric of {paper}", "weighted", dimensions, criteria)


def _criterion(number: int, leaf: Node, share: Fraction) -> Criterion:
    return Criterion(
        id=slug(leaf.id),
        number=str(number),
        title=one_line(leaf.requirements, 200),
        dimension=slug(leaf.task_category or _UNNAMED),
        weight=float(share * 100),
        question=f"Is this requirement met? {leaf.requirements}",
        levels=_LEVELS,
        judge=True,
        provenance=Provenance(sources=(f"leaf {leaf.id}",)),
    )


def _labels(paper: str, root: Node, leaves: dict[Node, Fraction]) -> list[Label]:
    """A person's grade of every leaf.

    Raises:
        SciagentError: the leaves' grades don't give the root's.
    """
    graded = {leaf: share for leaf, share in leaves.items() if leaf.score is not None and leaf.valid_score}
    again = sum((share * Fraction(str(leaf.score)) for leaf, share in graded.items()), Fraction(0))
    if root.score is not None and len(graded) == len(leaves) and abs(float(again) - root.score) > 1e-9:
        raise SciagentError(f"the root's score is {root.score:g}, and its leaves give {float(again):g}")
    rater = Rater(kind="human", name="JudgeEval")
    return [
        Label(
            dataset=DATASET,
            run=paper,
            criterion=slug(leaf.id),
            rater=rater,
            score=leaf.score or 0.0,
            scale=(0, 1),
            text=leaf.explanation or None,
        )
        for leaf in graded
    ]
