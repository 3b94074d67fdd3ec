"""Fixtures for tests that run pytest inside pytest."""

from __future__ import annotations

import importlib

import pytest
from sample import Cohort

pytest_plugins = ["pytester"]

# An inner session in this process drops the modules it imported; numpy and its like can't be imported twice.
for _module in (
    "anthropic",
    "numpy",
    "openai",
    "pandas",
    "pint",
    "pytest_sciagent.checks",
    "pytest_sciagent.cli",
    "pytest_sciagent.collection.nodes",
    "pytest_sciagent.evaluation",
    "pytest_sciagent.judging.anthropic_client",
    "pytest_sciagent.judging.openai_client",
    "rapidfuzz",
    "xdist.dsession",
):
    importlib.import_module(_module)


@pytest.fixture
def cohort(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    """An empty user's repository with a task and a rubric; the working folder is its root."""
    for name in ("PYTEST_ADDOPTS", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Cohort(pytester)
