"""What an installed wheel has to do, outside of the checkout: `python smoke.py` in its environment, without any extra.

Uses only the standard library and the installed commands, in a new folder that is left behind where something fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

BIN = Path(sys.executable).parent
REPORT = """\
# Report

## Finding 1: the series rises

The slope of the series is 2.50 units per year, from `output/results/table.csv` by `output/code/fit.py`.
"""


def run(*command: str | Path, code: int = 0) -> str:
    """Run a command of the environment in the folder; gives all that it says."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    command = (BIN / command[0], *command[1:])
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    said = done.stdout + done.stderr
    told = " ".join(map(str, command))
    if done.returncode != code:
        sys.exit(f"{told}\nended with {done.returncode}, not {code}, in {Path.cwd()}:\n{said[-3000:]}")
    if "Traceback (most recent call last)" in said:
        sys.exit(f"{told}\nprinted a traceback:\n{said[-3000:]}")
    print(f"ok: {Path(command[0]).name} {' '.join(map(str, command[1:]))}", flush=True)
    return said


def expect(text: str, said: str) -> None:
    """End unless `said` holds `text`."""
    if text not in said:
        sys.exit(f"expected {text!r} in:\n{said[-3000:]}")


def workspace(folder: Path) -> None:
    """What an agent might have left."""
    for name, content in {
        "output/Result.md": REPORT,
        "output/results/table.csv": "year,value\n2000,2.50\n",
        "output/code/fit.py": "print('slope', 2.5)\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def main() -> None:
    """Go the newcomer's way, and look that each step did what it says."""
    folder = Path(tempfile.mkdtemp(prefix="sciagent-smoke-"))
    os.chdir(folder)
    expect(version("pytest-sciagent"), run("sciagent", "--version"))
    expect("sciagent init", run("sciagent"))
    expect("--sciagent-run", run("pytest", "--help"))
    said = run("sciagent", "init", ".")
    expect("pytest.ini", said)
    expect("sciagent.yml", said)
    run("sciagent", "init", ".", code=4)  # nothing is overwritten

    # Tasks, rubrics, templates, contracts and schemas come out of the wheel.
    run("sciagent", "assemble", "life_bill_shape", "work")
    workspace(folder / "work")
    expect("frozen:", run("sciagent", "freeze", "work", "--task=life_bill_shape", "--system=me", "-o", "runs/me/bills"))
    expect("sound", run("sciagent", "verify", "runs"))
    # The gate of the new configuration is open: nobody judged.
    run("pytest", "--sciagent-run=runs", "--sciagent-html=report.html", "--sciagent-json=results.json", code=10)
    expect("<html", Path("report.html").read_text("utf-8"))
    results = json.loads(Path("results.json").read_text("utf-8"))
    if results["schema"] != "sciagent-results/1":
        sys.exit(f"not a results file: {results['schema']}")
    expect("2 workers", run("pytest", "--sciagent-run=runs", "-n", "2", "-v", code=10))
    run("sciagent", "compare", "runs", "--csv=table.csv")
    run("sciagent", "ledger", "export", "runs", "--as=me", "-o", "prompts.jsonl")
    if not Path("prompts.jsonl").stat().st_size:
        sys.exit("no open question was handed out")
    run("sciagent", "schema", "schemas")
    run("sciagent", "selfcheck", "life_bill_shape")
    run("sciagent", "doctor", "runs")

    # No extra is installed here, and each says so when it is needed.
    missing = {
        "signing": ("sciagent", "seal", "--new-key=lab.pem"),
        "ro-crate": ("sciagent", "export", "ro-crate", "runs/me/bills", "-o", "crate"),
        "otel": ("pytest", "--sciagent-run=runs", "--sciagent-otel"),
        "science": ("sciagent", "compare", "runs", "--parquet=table.parquet"),
    }
    for extra, command in missing.items():
        expect(f"pip install 'pytest-sciagent[{extra}]'", run(*command, code=4))
    os.chdir("/")
    shutil.rmtree(folder)
    print("the installed wheel works")


if __name__ == "__main__":
    main()
