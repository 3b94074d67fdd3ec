"""Every number of benchmarks/README.md, by one command, which writes them there.

    python benchmarks/all.py [--peers PYTHON] [--only SECTION ...] [--items 5075 21025 100050 200100] [--resume] [--dry]

The plan and its time are told first. Variants of a table take turns; tables give medians, and say what was measured
once. `--peers` names an interpreter that has deepeval, inspect-ai and autorubric; without it the rows of those tools
are left out. Every measurement is kept in build/benchmarks/ at once: `--resume` goes on where a command that
was ended has stopped. `--dry` prints the tables and leaves the page as it is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from judging import Judged, evidence_table, judging_table, replay_table
from measuring import HERE, Kept, Step
from sizes import Growing, collection_table, compare_table, items_table, reports_table

PAGE = HERE / "README.md"
START, END = "<!-- numbers -->", "<!-- end of numbers -->"
PLACE = HERE.parent / "build" / "benchmarks"
BUSY = 0.7
"""A load above which other programs are at work."""
SECTIONS: dict[str, tuple[str, Callable[[Kept], str]]] = {
    "items": ("Criteria replayed", items_table),
    "collection": ("Collection alone", collection_table),
    "replay": ("The same judgements replayed by other tools", replay_table),
    "judging": ("Live judging", judging_table),
    "evidence": ("Evidence packages", evidence_table),
    "reports": ("The HTML report", reports_table),
    "compare": ("Comparing systems", compare_table),
}


def start_step() -> Step:
    """What `import pytest_sciagent` takes in a fresh interpreter."""

    def run() -> float:
        code = "import time; t = time.perf_counter(); import pytest_sciagent; print(time.perf_counter() - t)"
        done = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(9)]
        return statistics.median(float(one.stdout) for one in done) * 1000

    return Step("start/import_ms", 1, run)


def plan(arguments: argparse.Namespace, work: Path) -> list[Step]:
    """All steps, in order."""
    growing = Growing(work, arguments.rounds, arguments.workers, arguments.more)
    judged = Judged(work, arguments.judgements, arguments.rounds, arguments.peers)
    sections = arguments.only
    return [
        start_step(),
        *judged.steps(sections),
        *growing.steps(arguments.items, arguments.compared, sections),
    ]


def follow(steps: Sequence[Step], kept: Kept) -> None:
    """Make what is not kept yet, and tell how far it is. What is left is reckoned at the pace so far."""
    left = [step for step in steps if step.key not in kept]
    if all(step.key.startswith("cohort/") for step in left):  # which nothing needs any more
        left = []
    total = sum(step.estimate_s for step in left)
    say(f"{len(left)} steps of {len(steps)}, about {minutes(total)} on two quiet cores")
    done, started = 0.0, time.monotonic()
    for number, step in enumerate(left, 1):
        pace = (time.monotonic() - started) / done if done > 20 else 1
        say(f"[{number}/{len(left)}] {step.key.replace('/', ', ')} (about {minutes((total - done) * pace)} left)")
        kept.add(step.key, step.run())
        done += step.estimate_s
    say(f"done in {minutes(time.monotonic() - started)}")


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def write(parts: dict[str, str]) -> None:
    """Put the sections measured into the page; those that were not measured keep what stands there."""
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(START)
    old, _, after = rest.partition(END)
    known = dict(part.split("\n", 1) for part in old.split("\n### ")[1:])
    known |= {SECTIONS[name][0]: text for name, text in parts.items()}
    shown = "".join(f"\n### {title}\n\n{known[title].strip()}\n" for title, _ in SECTIONS.values() if title in known)
    PAGE.write_text(f"{before}{START}\n{shown}\n{END}{after}", "utf-8")


def begin(place: Path, resume: bool) -> tuple[Path, Kept]:
    """The folder in which cohorts are made, and what was measured; both new unless `resume`."""
    work, file = place / "work", place / "measured.json"
    if not resume:
        shutil.rmtree(work, ignore_errors=True)
        file.unlink(missing_ok=True)
    kept = Kept(file)
    if not work.is_dir():
        kept.forget("cohort")
        work.mkdir(parents=True)
    load = os.getloadavg()[0]
    if load > BUSY:
        say(f"warning: this machine is busy (load {load:.1f}): times will be too long")
    if "start/load" not in kept:
        kept.add("start/load", load)
    return work, kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[5075, 21025, 100050, 200100])
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 8])
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each variant, except of the slow ones")
    parser.add_argument("--more", action="store_true", help="the parametrised test at the largest sizes, too")
    parser.add_argument("--judgements", type=int, default=540)
    parser.add_argument("--compared", type=int, default=1000, help="runs that are compared")
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--resume", action="store_true", help="go on where a command that was ended has stopped")
    parser.add_argument("--place", type=Path, default=PLACE, help="where measurements are kept and cohorts are made")
    parser.add_argument("--dry", action="store_true")
    arguments = parser.parse_args()
    work, kept = begin(arguments.place.resolve(), arguments.resume)
    follow(plan(arguments, work), kept)
    start = kept.of("start")
    told = f"Measured {kept.day} on {kept.machine}; load before the start {start['load']:.1f}."
    told += f" `import pytest_sciagent` takes {start['import_ms']:.1f} ms (median of 9)."
    parts = {name: f"{told}\n\n{SECTIONS[name][1](kept)}" for name in SECTIONS if name in arguments.only}
    for name, text in parts.items():
        print(f"### {SECTIONS[name][0]}\n\n{text}", flush=True)
    if not arguments.dry:
        write(parts)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
