"""Markers of criterion items, shared between items: thousands of items need only dozens of marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..models import Criterion
    from .index import RunIndex

MARKERS = (
    "sciagent: a criterion of a frozen run",
    "dimension(id): the dimension of a criterion, selected by -m 'dimension(id=\"robustness\")' or -k robustness",
    "criterion(id): the id of a criterion",
    "weight(value): the weight of a criterion",
    "task(id): the task of the run",
    "system(name): the system that produced the run",
)


class Marks:
    """The marks of one run's items, and the words by which -k finds all of them."""

    def __init__(self, index: RunIndex) -> None:
        self.run = (
            pytest.mark.sciagent.mark,
            pytest.mark.task(id=index.task_id).mark,
            pytest.mark.system(name=index.system).mark,
        )
        self.keywords = frozenset({index.system, index.task_id, index.label})
        self._by_criterion: dict[str, tuple[pytest.Mark, ...]] = {}

    def of(self, criterion: Criterion) -> tuple[pytest.Mark, ...]:
        """The marks of a criterion: shared by all findings of the run."""
        if criterion.id not in self._by_criterion:
            self._by_criterion[criterion.id] = (
                *self.run,
                pytest.mark.dimension(id=criterion.dimension).mark,
                pytest.mark.criterion(id=criterion.id).mark,
                pytest.mark.weight(value=criterion.weight).mark,
            )
        return self._by_criterion[criterion.id]
