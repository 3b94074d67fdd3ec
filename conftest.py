"""What a user of pytest-sciagent writes in a conftest file: a criterion in Python, and a judge of their own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_sciagent import Judge, JudgeIdentity, criterion

if TYPE_CHECKING:
    from pytest_sciagent import Finding, Prompt
    from pytest_sciagent.evidence.artifacts import Artifacts

MIN_ROWS = 3


@criterion("house.results_have_rows", dimension="house_rules", weight=1)
def results_have_rows(finding: Finding, artifacts: Artifacts) -> tuple[float, str]:
    """Does every result file that the finding names hold at least three rows, columns or values?"""
    results = artifacts.of(finding.artifacts, "result")
    if not results:
        return 0, "the finding names no result file"
    thin = [entry.path for entry in results if _size(artifacts, entry.path) < MIN_ROWS]
    if not thin:
        return 1, f"{len(results)} result files, each with {MIN_ROWS} rows or values or more"
    return (0.5 if len(thin) < len(results) else 0), f"too thin: {', '.join(thin)}"


def _size(artifacts: Artifacts, path: str) -> int:
    artifact = artifacts.get(path)
    if artifact is None:
        return 0
    tables = max((len(table.rows) for table in artifact.tables), default=0)
    return max(tables, len(artifact.data) if isinstance(artifact.data, dict | list) else 0)


class SevereJudge(Judge):
    """A judge that finds every level-0 condition met: useful to see what a rubric's checks alone are worth."""

    identity = JudgeIdentity(kind="house", model="severe")

    def ask(self, prompt: Prompt) -> dict[str, object]:
        return {"rationale": "severe by rule", "citations": [], "zero": True, "full": False, "half": False}


if os.environ.get("HOUSE_JUDGE") == "severe":

    @pytest.fixture(scope="session")
    def judge() -> Judge:
        """The judge of every criterion below this conftest file, instead of the one of the session."""
        return SevereJudge()
