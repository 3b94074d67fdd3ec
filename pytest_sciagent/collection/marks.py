"""Markers of criterion items, shared between items: thousands of items need only dozens of marks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pytest
from _pytest.mark.structures import NodeKeywords

if TYPE_CHECKING:
    from ..models import Criterion
    from .index import RunIndex

MARKERS = (
    "sciagent: a criterion of a frozen run",
    "dimension(id): the dimension of a criterion, selected by -m 'dimension(id=\"robustness\")' or -k robustness",
    "criterion(id): the id of a criterion",
    "weight(value): the weight of a criterion",
    "own_criterion: a criterion that a conftest file or plugin brings, beside those of the rubric",
    "task(id): the task of the run",
    "system(name): the system that produced the run",
)


def run_marks(index: RunIndex) -> list[pytest.Mark]:
    """The marks that all items of a run share."""
    return [
        pytest.mark.sciagent.mark,
        pytest.mark.task(id=index.task_id).mark,
        pytest.mark.system(name=index.system).mark,
    ]


@dataclass(frozen=True)
class CriterionMarks:
    """The marks of one criterion, for all findings of all runs."""

    criterion: Criterion

    @cached_property
    def marks(self) -> tuple[pytest.Mark, ...]:
        criterion = self.criterion
        return (
            pytest.mark.dimension(id=criterion.dimension).mark,
            pytest.mark.criterion(id=criterion.id).mark,
            pytest.mark.weight(value=criterion.weight).mark,
        )

    def keywords_of(self, item: pytest.Item) -> NodeKeywords:
        """The keywords of an item that has these marks."""
        keywords = NodeKeywords(item)
        keywords.update((mark.name, mark) for mark in self.marks)
        return keywords

    def give(self, item: pytest.Item) -> None:
        """Mark `item`, before any mark it has already."""
        item.own_markers[:0] = self.marks
        item.keywords.update((mark.name, mark) for mark in self.marks)
        item.extra_keyword_matches.add(self.criterion.dimension)
