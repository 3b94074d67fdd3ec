"""Beside pytest-html: columns of ours, halves marked and counted, evidence in rows below level 1."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from sample import Cohort

KEPT_OUT = ("anyio", "hypothesispytest", "cacheprovider")


def session(cohort: Cohort, *args: str) -> tuple[str, list[dict[str, Any]]]:
    """The page and its rows."""
    path = cohort.root / "report.html"
    plugins = [part for name in KEPT_OUT for part in ("-p", f"no:{name}")]
    cohort.pytester.runpytest_subprocess(
        *plugins, "--sciagent-run=runs", f"--html={path}", "--self-contained-html", *args
    )
    text = path.read_text("utf-8")
    blob = re.search(r'data-jsonblob="([^"]*)"', text)
    assert blob is not None
    tests = json.loads(html.unescape(blob[1]))["tests"]
    return text, [row for rows in tests.values() for row in rows]


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_columns_halves_and_evidence(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    cohort.record()
    text, rows = session(cohort, "--sciagent-min-score=90", *extra)
    for name in ("level", "weight", "dimension"):
        assert f'data-column-type="{name}"' in text
    by_id = {row["testId"].rsplit("::", 1)[1]: row for row in rows}
    assert {name: (row["level"], row["weight"], row["dimension"]) for name, row in by_id.items()} == {
        "ev.full": ("1", "40", "evidence"),
        "ev.half": ("0.5", "30", "evidence"),
        "rob.zero": ("0", "20", "robustness"),
        "rob.open": ("unset", "10", "robustness"),
    }
    # A row of an outcome that pytest-html does not know would be hidden by its filters.
    assert {row["result"] for row in rows} == {"Passed", "Failed", "Skipped"}
    halves = [name for name, row in by_id.items() if "sciagent-half" in row["resultsTableRow"][0]]
    assert halves == ["ev.half"]
    assert "1 of the passed criteria have half credit (level 0.5)" in text
    assert "gate not met: minimum score 90: alpha has 55.0..65.0" in text
    evidence = {name: "".join(extra["content"] for extra in row["extras"]) for name, row in by_id.items()}
    assert "output/Result.md (found): The slope of the series" in evidence["rob.zero"]
    assert evidence["ev.full"] == ""


def test_evidence_is_escaped_and_cut(cohort: Cohort) -> None:
    evil = "<img src=x onerror=alert(1)> " + "a" * 5000
    cohort.run(findings=1, report=f"# R\n\n## Finding 1: rises\n\n{evil}\n")
    cohort.record(lambda run, finding, criterion: 0)
    record = cohort.root / "verdicts" / "alpha" / "t1.json"
    data = json.loads(record.read_text())
    for entry in data["entries"]:
        entry["citations"] = [{"file": "output/Result.md", "place": None, "quote": evil, "verified": None}] * 9
    record.write_text(json.dumps(data))
    _, rows = session(cohort)
    contents = [extra["content"] for row in rows for extra in row["extras"]]
    assert len(contents) == 4
    for content in contents:
        assert "<img" not in content
        assert "&lt;img src=x" in content
        assert "and 6 more" in content
        assert len(content) < 3 * 500


def test_without_pytest_html_nothing_is_missing(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record()
    (cohort.root / "conftest.py").write_text(
        "import sys\n\n"
        "def pytest_sessionfinish():\n"
        "    assert not any(name.endswith(('reporting.pytest_html', 'pytest_html.extras')) for name in sys.modules)\n"
    )
    result = cohort.pytest("--sciagent-run=runs", fresh=True)  # with -p no:html
    assert result.ret == 1
    assert not [line for line in result.outlines + result.errlines if "report" in line and "html" in line]


def test_own_tests_keep_their_rows(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record()
    (cohort.root / "test_own.py").write_text("def test_own(): pass\n")
    _, rows = session(cohort, str(Path("test_own.py")))
    own = next(row for row in rows if row["testId"].endswith("test_own"))
    assert (own["level"], own["weight"], own["dimension"]) == ("", "", "")
