"""The fixtures that criteria may ask for. Each can be overridden in a conftest file, `judge` above all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .state import STATE

if TYPE_CHECKING:
    from ..evidence.artifacts import Artifacts
    from ..judging.judge import Judge
    from ..models import Criterion, Finding
    from ..runs import Run
    from ..tasks import Task


def _item(request: pytest.FixtureRequest) -> Any:
    if not hasattr(request.node, "criterion"):
        raise pytest.UsageError(
            f"fixture {request.fixturename!r} of pytest-sciagent is for criteria; {request.node.nodeid} is none"
        )
    return request.node


@pytest.fixture(scope="session")
def judge(pytestconfig: pytest.Config) -> Judge:
    """Who answers what a rubric asks of a judge. Override it in a conftest file to bring your own."""
    return pytestconfig.stash[STATE].judge


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Run:
    """The frozen run under test."""
    found: Run = _item(request).case.run
    return found


@pytest.fixture
def task(request: pytest.FixtureRequest) -> Task | None:
    """The task of the run, or None where it is not known."""
    found: Task | None = _item(request).case.task
    return found


@pytest.fixture
def finding(request: pytest.FixtureRequest) -> Finding | None:
    """The finding under test; None for a criterion of the whole run."""
    item = _item(request)
    return None if item.finding_id is None else item.case.findings[item.finding_id]


@pytest.fixture
def artifacts(request: pytest.FixtureRequest) -> Artifacts:
    """The run's artifacts, read safely on first use."""
    found: Artifacts = _item(request).case.artifacts
    return found


@pytest.fixture
def criterion(request: pytest.FixtureRequest) -> Criterion:
    """The criterion under test."""
    found: Criterion = _item(request).criterion
    return found
