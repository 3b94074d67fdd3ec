"""Cost of a replayed criterion beside a bare custom item and one parametrised function, and the package's import time.

    python benchmarks/items.py [--small]

All variants are timed in turns within one run; the table gives medians and ratios.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cohort import CRITERIA, FINDINGS, make_cohort

BARE = """
import pytest

class Bare(pytest.Item):
    def runtest(self): pass
    def reportinfo(self): return self.path, None, self.name

class Group(pytest.Collector):
    def collect(self):
        for n in range({criteria}): yield Bare.from_parent(self, name=f"criterion_{{n}}")

class Runs(pytest.File):
    def collect(self):
        for n in range({groups}): yield Group.from_parent(self, name=f"finding_{{n}}")

def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".bare": return Runs.from_parent(parent, path=file_path)
"""
PARAMETRISED = """
import pytest

@pytest.mark.parametrize("criterion", range({criteria}))
@pytest.mark.parametrize("finding", range({groups}))
def test_criterion(finding, criterion):
    pass
"""


def timed(command: list[str], folder: Path) -> float:
    """Seconds of wall time; the command must end with exit code 0 or 1."""
    # As on a user's machine: modules are compiled once, not by every session.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 1):
        raise SystemExit(
            f"{command} ended with {done.returncode}:\n{done.stdout.decode()[-2000:]}{done.stderr.decode()}"
        )
    return seconds


def import_ms(rounds: int) -> float:
    """Median milliseconds of `import pytest_sciagent` in a fresh interpreter."""
    code = "import time; t = time.perf_counter(); import pytest_sciagent; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(rounds)]
    return statistics.median(float(run.stdout) for run in runs) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="5,000 items only")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print(f"import pytest_sciagent: {import_ms(9):.1f} ms (median of 9)")
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    print(f"{'items':>7}  {'variant':<14} {'median s':>9} {'ms/item':>8} {'to bare':>8} {'to param':>9}")
    for runs in (36,) if arguments.small else (36, 145):
        groups = runs * FINDINGS
        items = groups * CRITERIA
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            make_cohort(root / "ours", runs)
            for folder, file, text in (("bare", "conftest.py", BARE), ("param", "test_criteria.py", PARAMETRISED)):
                (root / folder).mkdir()
                (root / folder / file).write_text(text.format(criteria=CRITERIA, groups=groups))
                (root / folder / "pytest.ini").write_text("[pytest]\n")
            (root / "bare" / "runs.bare").write_text("")
            variants = {
                "bare item": (pytest, root / "bare"),
                "parametrised": (pytest, root / "param"),
                "replayed": ([*pytest, "--sciagent-run=runs"], root / "ours"),
            }
            for command, folder in variants.values():  # not measured: modules are compiled, files come into the cache
                timed(command, folder)
            seconds: dict[str, list[float]] = {variant: [] for variant in variants}
            for _ in range(arguments.rounds):
                for variant, (command, folder) in variants.items():
                    seconds[variant].append(timed(command, folder))
            middle = {variant: statistics.median(values) for variant, values in seconds.items()}
            for variant, value in middle.items():
                ratios = f"{value / middle['bare item']:>8.2f} {value / middle['parametrised']:>9.2f}"
                print(f"{items:>7}  {variant:<14} {value:>9.2f} {value / items * 1000:>8.3f} {ratios}")


if __name__ == "__main__":
    main()
