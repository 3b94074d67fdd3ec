"""docs/limits.md says what the code does: every row of its tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_sciagent import documents
from pytest_sciagent.checks import scope, values
from pytest_sciagent.collection import judge_options, options, rerun_options
from pytest_sciagent.evidence import artifacts, excerpt, isolation, numbers, tables, wide
from pytest_sciagent.reporting.html import markdown
from pytest_sciagent.runs import files, run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "limits.md"
MIB, GIB = 1 << 20, 1 << 30
SECONDS = artifacts.ReadingLimits().seconds
ELSEWHERE = "characters, files and images that a judge is shown"
BOUNDS = {
    "one attempt to get an answer from a judge": f"{judge_options.DEFAULT_TIMEOUT_S:g} s",
    "questions at one time": f"{options.DEFAULT_IN_FLIGHT}",
    "calls and tokens a minute": "no bound",
    "dollars and calls of a session": "no bound",
    "the scripts of one run, run again": f"{rerun_options.DEFAULT_RERUN_S:g} s",
    "all readers of binary formats for one run": f"{SECONDS:g} s of processor time",
    "a file of a run": f"{files.MAX_FILE_BYTES // MIB} MiB",
    "files of a run": f"{files.MAX_FILES:,}",
    "folders within each other": f"{files.MAX_DEPTH}",
    "a file read as an artifact": f"{artifacts.MAX_ARTIFACT_BYTES // MIB} MiB",
    "all files of a run that are read as artifacts or text": f"{artifacts.MAX_RUN_BYTES // MIB:,} MiB, the smallest"
    " first",
    "a reader of a binary format": f"{isolation.MAX_SECONDS:g} s, {isolation.MAX_MEMORY // GIB} GiB of memory",
    "rows and columns of a table": f"{tables.MAX_ROWS:,} and {tables.MAX_COLUMNS:,}",
    "a row of a table that is too long to be shown to a judge whole": f"{wide.WIDE:,} characters, {wide.MAX_CELL} of a"
    " cell",
    "columns of a table that checks look at": f"{scope.MAX_TABLE_COLUMNS}",
    "keys of a JSON document that checks look at, and different names of keys": f"{values.MAX_KEYS:,} and"
    f" {values.MAX_NAMES:,}",
    "artifacts kept in memory for one run, and texts as much again": f"about {artifacts.KEPT_BYTES // MIB} MiB",
    "a file in which a quote is looked up": f"{artifacts.MAX_TEXT_BYTES:,} bytes",
    "a report": f"{run.MAX_REPORT_BYTES:,} bytes",
    "numbers taken from a text": f"{numbers.MAX_NUMBERS:,}",
    "rows or passages of a file, times names and numbers of a finding, compared for an excerpt": (
        f"{excerpt.MAX_LOOKUPS:,}"
    ),
    "a document: manifest, rubric, task, record": f"{documents.MAX_BYTES:,} bytes, nested {documents.MAX_DEPTH} deep",
    "the Markdown of a report in the HTML report": f"{markdown.MAX_CHARS:,} characters",
}


def rows() -> dict[str, list[str]]:
    lines = [line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1:] for cells in lines if cells[0] != "what"}


def test_every_row_has_a_bound_of_the_code() -> None:
    assert {*rows()} - {ELSEWHERE} == {*BOUNDS}


@pytest.mark.parametrize("what", BOUNDS)
def test_a_bound_is_that_of_the_code(what: str) -> None:
    assert rows()[what][0] == BOUNDS[what]


def test_every_setting_exists(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest("--help").stdout.str()
    named = re.findall(r"`(-?-?sciagent[-_][a-z_-]+)`", PAGE.read_text("utf-8"))
    assert len(named) > 8
    for setting in named:
        assert re.search(rf"{setting}(?![a-z_-])", shown), setting
