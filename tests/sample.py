"""A small user's repository: one task, one rubric, frozen runs, and verdicts recorded at will.

The sample rubric has four criteria, each answered by a judge and named after the level it is given unless a test says
otherwise: `ev.full` 1, `ev.half` 0.5, `rob.zero` 0, and `rob.open`, which nobody has answered.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pytest_sciagent.cli import main
from pytest_sciagent.evaluation import Sources, open_case
from pytest_sciagent.judging.clients import Reply
from pytest_sciagent.judging.handoff import handoff_identity
from pytest_sciagent.judging.settle import settle
from pytest_sciagent.ledger import merge_entries, write_record
from pytest_sciagent.models import JudgeIdentity, JudgeUsage, LedgerEntry, System
from pytest_sciagent.models.run import RunStatus
from pytest_sciagent.rubrics import load_rubric
from pytest_sciagent.runs.discover import find_runs
from pytest_sciagent.runs.freeze import FreezeOptions, freeze

TESTER = handoff_identity("tester", "item")
OTHER = handoff_identity("other", "item")
WEIGHTS = {"ev.full": 40, "ev.half": 30, "rob.zero": 20, "rob.open": 10}
LEVELS: dict[str, Any] = {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0}
PER_FINDING = len(WEIGHTS)
UNUSED = ("anyio", "hypothesispytest", "html", "metadata")
"""Plugins that take most of the time of a small session, and no part in it."""
QUOTE = "The slope of the series is 2.50 units per year"

RUBRIC = """\
schema: sciagent-rubric/1
id: small
version: '1'
kind: curated
profile: weighted
dimensions:
  - {id: evidence, weight: 70}
  - {id: robustness, weight: 30}
criteria:
"""
CRITERION = """\
  - id: %s
    dimension: %s
    weight: %s
    question: Is it so?
    levels: {1: all of it, 0.5: some of it, 0: none of it}
    judge: true
"""

Level = float | str | None
Levels = Callable[[str, str, str], Level]
"""From run label, finding id and criterion id to 1, 0.5, 0, None (nobody answers), `unverified` or `invalid`."""


def rubric_text(head: str = RUBRIC, weights: Mapping[str, Any] = WEIGHTS) -> str:
    """The sample rubric, or one like it."""
    dimension = {"ev": "evidence", "evidence": "evidence", "rob": "robustness"}
    criteria = [CRITERION % (id, dimension[id.split(".", 1)[0]], weight) for id, weight in weights.items()]
    return head + "".join(criteria)


def report_text(findings: int) -> str:
    """A report that registers `findings` findings."""
    source = "from `output/results/table.csv` by `output/code/fit.py`"
    parts = [
        f"## Finding {number}: series {number} rises\n\n{QUOTE} in series {number}, {source}.\n"
        for number in range(1, findings + 1)
    ]
    return "\n".join(["# Report\n", *parts, "## Methods\n\nLeast squares on all rows.\n"])


def answer(level: Level, quote: str = QUOTE) -> dict[str, Any]:
    """What a judge answers to give `level`."""
    earned = 1 if level == "unverified" else level
    return {
        "rationale": f"The report speaks for level {earned}.",
        "citations": [
            {"file": "output/Result.md", "quote": quote if level != "unverified" else "no such words at all"}
        ],
        "zero": earned == 0 or level == "invalid",
        "full": earned == 1 or level == "invalid",
        "half": earned == 0.5,
    }


def write_task(folder: Path) -> None:
    """A task with one data file and no hidden half."""
    (folder / "data").mkdir(parents=True)
    data = b"year,value\n2000,1.0\n2001,3.5\n"
    (folder / "data" / "series.csv").write_bytes(data)
    (folder / "objective.md").write_text("Find what the series says.\n")
    (folder / "DATA_GUIDE.md").write_text("series.csv: one row a year.\n")
    (folder / "task.yaml").write_text(
        f"""\
schema: sciagent-task/1
id: {folder.name}
title: A series
domain: testing
t0: 2020-01-01
analysis_unit: year
licence: CC0-1.0
variables:
  series.csv:
    year: {{unit: year, meaning: year}}
    value: {{unit: '1', meaning: value}}
files:
  - {{path: data/series.csv, bytes: {len(data)}, sha256: {hashlib.sha256(data).hexdigest()}}}
"""
    )


class Cohort:
    """A user's repository at `pytester.path`."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.root = pytester.path
        (self.root / "rubrics").mkdir()
        (self.root / "rubrics" / "small.yaml").write_text(rubric_text())
        (self.root / "pytest.ini").write_text("[pytest]\nsciagent_rubric = small\n")
        write_task(self.root / "tasks" / "t1")

    # ---- runs

    def run(
        self,
        system: str = "alpha",
        task: str = "t1",
        *,
        findings: int = 2,
        place: str | None = None,
        repeat: int = 1,
        status: RunStatus = "completed",
        exit_code: int | None = None,
        report: str | None = "",
        files: Mapping[str, str | bytes] = {},
    ) -> Path:
        """Freeze a run. `report` replaces the report's text; None leaves it out. `files` come below `output/`."""
        workspace = self.root / ".workspaces" / f"{len(list(self.root.glob('.workspaces/*')))}"
        given: dict[str, str | bytes] = {
            "results/table.csv": "year,value\n2000,2.50\n",
            "code/fit.py": "print('slope', 2.5)\n",
            **({} if report is None else {"Result.md": report or report_text(findings)}),
            **files,
        }
        for name, content in given.items():
            path = workspace / "output" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        options = FreezeOptions(task, System(name=system), repeat=repeat, status=status, exit_code=exit_code)
        target = self.root / (place or f"runs/{system}/{task}{'' if repeat == 1 else f'.r{repeat}'}")
        return freeze(workspace, target, options, {}).run.path

    def record(
        self,
        levels: Levels | None = None,
        *,
        runs: str = "runs",
        judge: JudgeIdentity = TESTER,
        rubrics: tuple[str, ...] = ("small",),
        about_run: Mapping[str, dict[str, Any]] = {},
        draw: int = 1,
    ) -> None:
        """Record verdicts of `judge` on every run below `runs`. `about_run` answers the other prompts, by kind."""
        for path in find_runs(self.root / runs):
            sources = Sources(self.root)
            case = open_case(path, sources, lambda label, entry: None)
            entries: list[LedgerEntry] = [
                settle(request, judge, _reply(about_run[request.kind]), case.answers)
                for request in case.questions.about_run()
                if request.kind in about_run
            ]
            chosen = [load_rubric(name, self.root, self.root) for name in rubrics]
            for finding in case.report.findings:
                for criterion in (c for rubric in chosen for c in rubric.criteria if c.judge):
                    given = (
                        LEVELS.get(criterion.id) if levels is None else levels(case.run.label, finding.id, criterion.id)
                    )
                    if given is not None:
                        request = replace(case.questions.criterion(criterion, finding, {}), draw=draw)
                        entries.append(settle(request, judge, _reply(answer(given)), case.answers))
            entries = list(merge_entries(case.ledger.entries, entries))
            write_record(sources.ledger_of(path), case.run.manifest, entries)

    # ---- sessions

    def pytest(self, *args: str | Path, fresh: bool = False, cache: bool = False) -> pytest.RunResult:
        """Run pytest in the root: in this process, or in one of its own where `fresh`."""
        run = self.pytester.runpytest_subprocess if fresh else self.pytester.runpytest_inprocess
        left_out = UNUSED if cache else (*UNUSED, "cacheprovider")
        return run(*(part for name in left_out for part in ("-p", f"no:{name}")), *args)

    def sciagent(self, *args: str | Path) -> tuple[int, str, str]:
        """Run the command `sciagent`; give its exit code, what it printed and what it complained of."""
        return sciagent(*args)

    def results(self, *args: str | Path, code: int | None = None, **how: Any) -> dict[str, Any]:
        """Run pytest with `--sciagent-json` and give what it wrote."""
        path = self.root / "results.json"
        path.unlink(missing_ok=True)
        result = self.pytest(*args, f"--sciagent-json={path}", **how)
        if code is not None:
            assert result.ret == code, result.stdout.str() + result.stderr.str()
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return found


def without_spending(results: dict[str, Any]) -> dict[str, Any]:
    """What a session found out, whatever it spent on it and saved."""
    return {name: value for name, value in results.items() if name not in ("spending", "notes")}


def sciagent(*args: str | Path) -> tuple[int, str, str]:
    """Run the command `sciagent` here; give its exit code, what it printed and what it complained of."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["sciagent", *map(str, args)]),
        pytest.raises(SystemExit) as end,
    ):
        main()
    return int(end.value.code or 0), out.getvalue(), err.getvalue()


def _reply(content: dict[str, Any]) -> Reply:
    return Reply(json.dumps(content), "assessed", "", "tester", JudgeUsage(), 0.0)


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    """The numbers of the last line: passed, failed, half, not assessed, error."""
    last = next(line for line in reversed(result.outlines) if " in " in line and any(c.isdigit() for c in line))
    counts = last.strip("= ").rsplit(" in ", 1)[0]
    return {words.split(" ", 1)[1].removesuffix("s"): int(words.split(" ", 1)[0]) for words in counts.split(", ")}
