"""What the README shows is what the program prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_comparison_is_as_printed() -> None:
    readme = (ROOT / "README.md").read_text()
    block = readme.split("    sciagent compare runs/plain runs/guided\n", 1)[1].split("```\n", 2)[1]
    main = "from pytest_sciagent.cli import main; main()"
    command = [sys.executable, "-c", main, "compare", "runs/plain", "runs/guided"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n\n")
    shown = block.removesuffix("\n").split("\n\n")
    assert [part.split(":")[0] for part in shown[1:]] == ["SYSTEMS", "PAIRS", "WEIGHTS", "YIELD"]
    assert [part for part in shown if part not in [p.rstrip("\n") for p in printed]] == []


def test_the_table_of_the_six_runs_is_as_printed() -> None:
    readme = (ROOT / "README.md").read_text()
    block = readme.split("```\n6 runs", 1)[1].split("```", 1)[0]
    command = [sys.executable, "-m", "pytest", "--sciagent-run=runs/", "-q", "--tb=no", "-r", "N", "-v"]
    done = subprocess.run([*command, "-p", "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout[-2000:]
    printed = {line.rstrip() for line in done.stdout.splitlines()}
    shown = [line.rstrip() for line in f"6 runs{block}".splitlines()]
    assert len(shown) > 20
    assert [line for line in shown if line not in printed] == []
