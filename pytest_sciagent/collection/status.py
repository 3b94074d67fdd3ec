"""How outcomes are called: half and not assessed have their own category, letter and word."""

from __future__ import annotations

from typing import Any

import pytest

from .reports import TestReport

PROPERTY = "sciagent"
"""The property of a report that carries the verdict to the controller."""
HALF, NOT_ASSESSED = "half", "not assessed"

_STATUS: dict[float | None, tuple[str, str, Any]] = {
    None: (NOT_ASSESSED, "n", ("NOT ASSESSED", {"cyan": True})),
    0.5: (HALF, "h", ("HALF", {"yellow": True})),
}


def test_status(report: pytest.TestReport) -> tuple[str, str, Any] | None:
    """Category, letter and word of a criterion's report; None for every other report."""
    if isinstance(report, TestReport):
        return _STATUS.get(report.verdict.level)
    expected = hasattr(report, "wasxfail")  # pytest has its own words for what was expected to fail
    if report.when != "call" or expected or not any(name == PROPERTY for name, _ in report.user_properties):
        return None
    if report.skipped:
        return _STATUS[None]
    if report.passed and ("level", "0.5") in [tuple(p) for p in report.user_properties]:
        return _STATUS[0.5]
    return None
