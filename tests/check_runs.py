"""Small frozen runs for the tests of the checks, and one way to run a check that also holds it to its promises."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pytest_sciagent.checks import CheckContext, CheckResult, find_check
from pytest_sciagent.checks.recompute import Recomputation
from pytest_sciagent.evidence import QuoteIndex
from pytest_sciagent.evidence.artifacts import Artifacts
from pytest_sciagent.findings import parse_findings
from pytest_sciagent.models import System
from pytest_sciagent.models.run import RunStatus
from pytest_sciagent.runs import Run
from pytest_sciagent.runs.freeze import FreezeOptions, freeze, hash_inputs
from pytest_sciagent.tasks import Task

DATA = "id,x\n1,0.5\n2,0.7\n"
STARTED, FINISHED = "2026-01-02T10:00:00Z", "2026-01-02T11:00:00Z"
MTIME = 1_767_351_000  # between the two
MAX_FACTS = 20_000

Files = Mapping[str, str | bytes]


def report_of(*sections: str, shared: str = "") -> str:
    """A report whose findings 1, 2, ... have these texts."""
    parts = [f"# Report\n\n{shared}\n"]
    parts += [f"## Finding {n}: something holds\n\n{text}\n" for n, text in enumerate(sections, 1)]
    return "\n".join(parts)


def make_run(
    root: Path,
    files: Files,
    *sections: str,
    shared: str = "",
    log: str = "",
    status: RunStatus = "completed",
    exit_code: int | None = 0,
    times: tuple[str | None, str | None] = (STARTED, FINISHED),
    hashed: bool = True,
    after: Files | None = None,
) -> Run:
    """A frozen run: `files` below `output/`, a report with these findings, the data of the task beside them.

    after: what the agent did to files below the workspace, after the inputs were hashed.
    """
    workspace = Path(tempfile.mkdtemp(dir=root))
    _write(workspace, {"data/cases.csv": DATA})
    before = hash_inputs(workspace) if hashed else None
    _write(workspace, {"output/Result.md": report_of(*sections, shared=shared), **(after or {})})
    _write(workspace, {f"output/{path}": text for path, text in files.items()})
    if log:
        _write(workspace, {"commands.log": log})
    for path in workspace.rglob("*"):
        os.utime(path, (MTIME, MTIME))
    options = FreezeOptions(
        "small", System(name="tester"), 1, status, exit_code, times[0], times[1], inputs_before=before
    )
    return freeze(workspace, root / f"run-{workspace.name}", options, {}).run


def make_task(root: Path, variables: str = "id: {unit: '-', meaning: case}") -> Task:
    """The task that runs of `make_run` worked on."""
    folder = Path(tempfile.mkdtemp(dir=root)) / "small"
    _write(folder, {"data/cases.csv": DATA})
    digest = (hash_inputs(folder) or {})["data/cases.csv"]
    manifest = f"""
schema: sciagent-task/1
id: small
title: Small
domain: none
t0: '2020-01-01'
analysis_unit: case
licence: CC0
variables: {{cases.csv: {{{variables}}}}}
files: [{{path: data/cases.csv, bytes: {len(DATA)}, sha256: {digest}}}]
"""
    _write(folder, {"task.yaml": manifest})
    return Task.load(folder)


def run_check(
    name: str, run: Run, number: int = 1, task: Task | None = None, recomputation: Recomputation | None = None
) -> CheckResult:
    """The answer of the check `name`, held to what every check promises: plain bounded facts, and true citations."""
    report = parse_findings(run)
    finding = next(f for f in report.findings if f.number == number)
    result = find_check(name)(CheckContext(run, task, report, finding, Artifacts(run), recomputation))
    assert len(json.dumps(dict(result.facts), allow_nan=False)) < MAX_FACTS
    assert result.reason
    assert "\n" not in result.reason
    if result.level:
        quotes = QuoteIndex(Artifacts(run))
        assert any(quotes.verify(citation).verified for citation in result.citations), result.citations
    return result


def level(name: str, run: Run, number: int = 1, task: Task | None = None) -> float | None:
    return run_check(name, run, number, task).level


def _write(root: Path, files: Files) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
