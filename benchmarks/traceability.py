"""Share of the numbers asserted in reports that stand in a stored value of the same run, and the ones that do not.

    python benchmarks/traceability.py RUNS_OR_WORKSPACES... [--misses]

A path is a frozen run, a folder of runs, or a folder that holds workspaces (folders with `output/`), which are frozen
into a temporary place first.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from pytest_sciagent.checks import CheckContext
from pytest_sciagent.checks.traceability import trace_finding
from pytest_sciagent.evidence.artifacts import Artifacts
from pytest_sciagent.findings import parse_findings
from pytest_sciagent.models import System
from pytest_sciagent.runs import Run
from pytest_sciagent.runs.discover import find_runs
from pytest_sciagent.runs.freeze import FreezeOptions, freeze


def frozen(path: Path, scratch: Path) -> list[Run]:
    """The runs at or below `path`; workspaces are frozen below `scratch`."""
    found = find_runs(path)
    if found:
        return [Run.load(p) for p in found]
    runs = []
    for output in sorted(path.rglob("output")):
        if output.is_dir() and "output" not in output.relative_to(path).parts[:-1]:
            workspace = scratch / f"w{len(list(scratch.iterdir()))}"
            shutil.copytree(output.parent, workspace, copy_function=shutil.copy)
            name = "-".join(output.relative_to(path).parts[:-1])[-100:] or "workspace"
            options = FreezeOptions(task_id=name.strip("-."), system=System(name="workspace"))
            runs.append(freeze(workspace, scratch / "runs" / name, options, {}).run)
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--misses", action="store_true", help="print each number that was not found, with its context")
    arguments = parser.parse_args()
    total = found = 0
    with tempfile.TemporaryDirectory() as name:
        for path in arguments.paths:
            for run in frozen(path.absolute(), Path(name)):
                report = parse_findings(run)
                artifacts = Artifacts(run)
                traced = asserted = 0
                for finding in report.findings:
                    trace = trace_finding(CheckContext(run, None, report, finding, artifacts))
                    asserted += trace.total
                    traced += trace.total - len(trace.missing)
                    if arguments.misses:
                        text = finding.section.text
                        for match in trace.missing:
                            number = match.number
                            around = text[max(0, number.start - 60) : number.end + 40].replace("\n", " ")
                            print(f"    {run.label} {finding.id}: {number.text!r} in ...{around}...")
                share = traced / asserted if asserted else 1.0
                print(f"{run.label:<60} {traced:>4} of {asserted:>4}  {share:6.1%}")
                total += asserted
                found += traced
    print(f"{'all':<60} {found:>4} of {total:>4}  {found / max(total, 1):6.1%}")


if __name__ == "__main__":
    main()
