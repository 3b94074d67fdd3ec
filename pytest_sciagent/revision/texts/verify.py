#!/usr/bin/env python3
"""Tests the work in output/ of the current folder by the rubric beside this script. Needs pytest-sciagent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SKILL = Path(__file__).resolve().parent.parent
TASK = "{task}"


def main() -> int:
    """Freeze a copy, run the criteria, print what fails. Exit code 0: nothing that was assessed fails."""
    with tempfile.TemporaryDirectory() as folder:
        run, told = Path(folder) / "run", Path(folder) / "results.json"
        freeze = [
            sys.executable,
            "-c",
            "from pytest_sciagent.cli import main; main()",
            "freeze",
            ".",
            "--task",
            TASK,
            "--system",
            "self",
        ]
        tasks = str(SKILL / "task")
        done = subprocess.run([*freeze, "--tasks", tasks, "-o", str(run)], capture_output=True, text=True)
        if done.returncode:
            print(done.stderr.strip())
            return done.returncode
        session = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-rN", "-p", "no:cacheprovider"]
        session += ["-c", os.devnull, f"--rootdir={folder}", f"--sciagent-run={run}", f"--sciagent-tasks={tasks}"]
        session += [f"--sciagent-rubric={SKILL / 'rubric.yaml'}", f"--sciagent-json={told}"]
        done = subprocess.run(session, cwd=folder, capture_output=True, text=True)
        if done.returncode not in (0, 1, 10):
            print(done.stdout.strip()[-2000:], done.stderr.strip()[-2000:])
            return done.returncode
        return tell(json.loads(told.read_text(encoding="utf-8")))


def tell(results: dict[str, Any]) -> int:
    """Print each criterion that fails, and count the others."""
    (run,) = results["runs"]
    verdicts = [(None, v) for v in run["criteria"]]
    verdicts += [(finding["number"], v) for finding in run["findings"] for v in finding["criteria"]]
    failed = [(number, v) for number, v in verdicts if v["level"] is not None and v["level"] < 1]
    for number, verdict in failed:
        where = "the work" if number is None else f"finding {number}"
        print(f"{where}: {verdict['criterion_id']}: level {verdict['level']}: {verdict['reason']}")
    held = sum(v["level"] == 1 for _, v in verdicts)
    gaps = sorted({v["criterion_id"] for _, v in verdicts if v["level"] is None})
    print(f"{held} hold, {len(failed)} fail, not assessed here: {', '.join(gaps) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
