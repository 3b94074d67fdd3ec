"""A user's repository into which a hostile run comes, and a judge that flatters it. For tests and benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hostile_jobs import Jobs
from loopback import Answer, Loopback
from sample import QUOTE, UNUSED, report_text, write_task

from pytest_sciagent.models import System
from pytest_sciagent.runs.freeze import FreezeOptions, freeze

REPORTS = ("results.json", "report.html", "junit.xml", "summary.md", "lines.jsonl", "quality.json")
CANARY = "canary-outside-of-every-run-5f0c"


class Flatterer:
    """A judge that gives everybody full marks, and quotes what it is told to quote."""

    def __init__(self) -> None:
        self.cite = ("output/Result.md", QUOTE)
        self.shown: list[str] = []

    def __call__(self, request: dict[str, Any], number: int) -> Answer:
        text = json.dumps(request)
        self.shown.append(text)
        for key in ("groups", "plans", "matches", "atoms"):
            if f'"{key}"' in text:
                return Answer({"rationale": "flattery", key: []})
        file, quote = self.cite
        good = [{"file": file, "quote": quote}]
        return Answer({"rationale": "flattery", "citations": good, "zero": False, "full": True, "half": False})


class Place:
    """A user's repository with one good run, where a hostile one comes in."""

    def __init__(self, root: Path, jobs: Jobs, server: Loopback) -> None:
        self.root = root
        self.jobs = jobs
        self.judge = ["--sciagent-judge=openai:some-model", f"--sciagent-base-url={server.openai_url}"]

    def freeze(self, workspace: Path, target: str = "runs/evil/t1") -> list[str]:
        return ["sciagent", "freeze", str(workspace), "--task=t1", "--system=evil", f"--output={target}"]

    def session(self, *more: str) -> list[str]:
        plugins = [part for name in (*UNUSED, "cacheprovider", "xdist") for part in ("-p", f"no:{name}")]
        files = ("json", "html", "summary", "jsonl", "code-quality")
        named = dict(zip(("json", "html", "junit", "summary", "jsonl", "code-quality"), REPORTS, strict=True))
        reports = [f"--sciagent-{name}={named[name]}" for name in files]
        return ["pytest", "--sciagent-run=runs", *plugins, *self.judge, *reports, f"--junitxml={REPORTS[2]}", *more]

    def results(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / REPORTS[0]).read_text("utf-8"))
        return {f"{run['system']}/{run['task_id']}": run for run in found["runs"]}


def write_output(workspace: Path, files: dict[str, bytes]) -> None:
    given = {"results/table.csv": b"year,value\n2000,2.50\n", "code/fit.py": b"print('slope', 2.5)\n", **files}
    for name, data in given.items():
        path = workspace / "output" / name if not name.startswith("logs/") else workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_repository(root: Path) -> None:
    """A task, a good run, and beside them what no run may read."""
    write_task(root / "tasks" / "t1")
    (root / "pytest.ini").write_text("[pytest]\n")
    write_output(root / "work", {"Result.md": report_text(1).encode()})
    freeze(root / "work", root / "runs" / "good" / "t1", FreezeOptions("t1", System(name="good")), {})
    (root / "secret.txt").write_text(f"{CANARY}\nall outside is proved beyond doubt\n")


def write_many_files(workspace: Path, count: int) -> None:
    """A workspace whose output has `count` empty files, and a report."""
    for number in range(count // 1000):
        folder = workspace / "output" / "many" / str(number)
        folder.mkdir(parents=True)
        for file in range(1000):
            (folder / f"{file}.txt").touch()
    write_output(workspace, {"Result.md": report_text(1).encode()})
