"""Hooks that other plugins and conftest files may implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .checks import Check
    from .judging.judge import Judge
    from .models import Rubric, Verdict
    from .reporting.results import Results


@pytest.hookspec
def pytest_sciagent_checks(config: pytest.Config) -> Mapping[str, Check] | None:
    """Deterministic checks to add, by the name that a criterion's `check` gives. A shipped name can't be replaced."""


@pytest.hookspec(firstresult=True)
def pytest_sciagent_judge(config: pytest.Config, kind: str, model: str) -> Judge | None:
    """The judge for `--sciagent-judge kind:model`, asked for each member of a panel. The first answer wins; None leaves
    it to the shipped kinds. Named as it is, its answers are recorded."""


@pytest.hookspec
def pytest_sciagent_rubrics(config: pytest.Config) -> Sequence[Rubric | Path | str] | None:
    """Rubrics to apply beside those of `--sciagent-rubric`: models, files or names."""


@pytest.hookspec
def pytest_sciagent_verdict(config: pytest.Config, run: str, finding: str | None, verdict: Verdict) -> None:
    """Called in the controller for each verdict as it comes in. `run` is `system/task`."""


@pytest.hookspec
def pytest_sciagent_scores(config: pytest.Config, results: Results) -> None:
    """Called once in the controller, when all scores and the gate's decision are known."""
