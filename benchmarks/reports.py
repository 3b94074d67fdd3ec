"""The HTML report of a large cohort: size of its pages, time to build it, time to first interaction in Chromium.

    python benchmarks/reports.py [--runs 145 | --cohort DIR] [--keep DIR]

145 runs of five findings with 29 criteria each are 21,025 criteria. Aims: no page above 2 MB, built in 20 s, and an
answer to the reader's first action within 2 s of opening a page. The last needs Debian's chromium and `playwright`.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from cohort import CRITERIA, FINDINGS, make_cohort

from pytest_sciagent.reporting.html import session

AIMS = {"largest page, MB": 2.0, "build, s": 20.0, "first interaction, index, s": 2.0, "first interaction, run, s": 2.0}

ALL = re.compile(r"^([\d,]+) of \1 ")
"""What the count says while no filter is chosen."""


def build(root: Path, report: Path) -> tuple[float, float]:
    """Run a session over the cohort in `root`; gives the seconds that writing `report` took, and those of the CPU."""
    seconds: list[tuple[float, float]] = []
    write = session.write_session_html

    def timed(*args: Any) -> list[Path]:
        started, worked = time.perf_counter(), time.process_time()
        pages = write(*args)
        seconds.append((time.perf_counter() - started, time.process_time() - worked))
        return pages

    os.chdir(root)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-r", "N", "--tb=no", "--no-summary"]
    with mock.patch.object(session, "write_session_html", timed):
        code = pytest.main([*options, "--sciagent-run=runs", f"--sciagent-html={report}"])
    if code not in (0, 1) or len(seconds) != 1:
        raise SystemExit(f"the session ended with {code}")
    return seconds[0]


def interaction(page: Path, browser: Any, rounds: int) -> float:
    """Median seconds from asking for `page` until a chosen filter has been answered."""
    from playwright.sync_api import expect

    times = []
    for _ in range(rounds):
        tab = browser.new_page()
        started = time.perf_counter()
        tab.goto(page.as_uri(), wait_until="commit")
        tab.select_option("select[name=level]", "zero")
        expect(tab.locator("#count")).not_to_have_text(ALL)
        times.append(time.perf_counter() - started)
        tab.close()
    return sorted(times)[len(times) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=145)
    parser.add_argument("--cohort", type=Path, help="a cohort that is there, instead of one of --runs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="leave the report in this folder")
    arguments = parser.parse_args()
    print(f"machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as name:
        root = arguments.cohort or Path(name) / "cohort"
        if arguments.cohort is None:
            make_cohort(root, arguments.runs)
        runs = len(list((root / "runs").glob("*/*/run.json")))
        folder = (arguments.keep or Path(name)).resolve()
        report = folder / "report.html"
        wall, cpu = build(root, report)
        found = {"build, s": wall}
        pages = [report, *sorted(folder.glob("report_files/*.html"))]
        sizes = [page.stat().st_size for page in pages]
        print(
            f"measured:\n{runs * FINDINGS * CRITERIA:,} criteria, {len(pages)} pages, {sum(sizes) / 1e6:.1f} MB in all"
        )
        print(f"built in {wall:.1f} s, of which {cpu:.1f} s were work of this process on the CPU")
        print(f"index {sizes[0] / 1e6:.2f} MB")
        found["largest page, MB"] = max(sizes) / 1e6
        chromium = shutil.which("chromium")
        if chromium is None:
            print("no chromium: interaction is not timed", file=sys.stderr)
        else:
            from playwright.sync_api import sync_playwright

            with sync_playwright() as play:
                browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                found["first interaction, index, s"] = interaction(report, browser, arguments.rounds)
                if len(pages) > 1:
                    found["first interaction, run, s"] = interaction(pages[1], browser, arguments.rounds)
                browser.close()
    for what, value in found.items():
        print(f"{what:<30} {value:>7.2f}  (aim {AIMS[what]:g}: {'reached' if value <= AIMS[what] else 'MISSED'})")


if __name__ == "__main__":
    main()
