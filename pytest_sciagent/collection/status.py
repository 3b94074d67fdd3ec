"""How outcomes are called: half and not assessed have their own category, letter and word."""

from __future__ import annotations

from typing import Any

import pytest

from ..reporting.wire import PROPERTY


def test_status(report: pytest.TestReport) -> tuple[str, str, Any] | None:
    """Category, letter and word of a criterion's report; None for every other report."""
    if report.when != "call" or not report.user_properties:
        return None
    properties = dict(report.user_properties)
    if PROPERTY not in properties:
        return None
    if report.passed and properties.get("level") == "0.5":
        return "half", "h", ("HALF", {"yellow": True})
    if report.skipped:
        return "not assessed", "n", ("NOT ASSESSED", {"cyan": True})
    return None
