"""Every number of benchmarks/README.md, by one command, which writes them there.

    python benchmarks/all.py [--items 5220 21025 100050 200100] [--peers PYTHON] [--only SECTION ...] [--dry]

All variants of a table take turns within one run; tables give medians. `--peers` names an interpreter that has
deepeval, inspect-ai and autorubric; without it the rows of those tools are left out. `--dry` writes nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cohort import CRITERIA, FINDINGS, make_cohort
from endpoint import endpoint
from items import BARE, PARAMETRISED, import_ms
from judge import METHODS, PEERS, write_material

HERE = Path(__file__).parent
PAGE = HERE / "README.md"
START, END = "<!-- numbers -->", "<!-- end of numbers -->"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
SERIAL = [*PYTEST, "-p", "no:xdist"]
AIMS = {"to bare": 0.7, "to parametrised": 0.6, "memory": 1.3, "exponent": 1.05, "peers": 3.0}


@dataclass(frozen=True)
class Measured:
    """One command from start to end: wall and CPU seconds, and the memory of its largest process in MB."""

    seconds: float
    cpu_s: float
    memory_mb: float


def measure(command: Sequence[str], folder: Path, allowed: Sequence[int] = (0, 1)) -> Measured:
    """Run `command` in `folder`."""
    # As on a user's machine: modules are compiled once, not by every session.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as told:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=told, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in allowed:
            told.seek(0)
            raise SystemExit(f"{command} ended with {process.returncode}:\n{told.read().decode()[-3000:]}")
    return Measured(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def in_turns(variants: dict[str, Callable[[], Measured]], rounds: int) -> dict[str, Measured]:
    """The medians of each variant, measured in turns, after one turn that does not count."""
    found: dict[str, list[Measured]] = {name: [] for name in variants}
    for turn in range(rounds + 1):
        for name, once in variants.items():
            print(f"  {name}, round {turn} of {rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
            measured = once()
            if turn:
                found[name].append(measured)
    return {name: _middle(values) for name, values in found.items()}


def _middle(values: Sequence[Measured]) -> Measured:
    return Measured(
        *(statistics.median(getattr(v, part) for v in values) for part in ("seconds", "cpu_s", "memory_mb"))
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)) + "\n"


def aim(name: str, value: float, *, least: bool = False) -> str:
    """Whether an aim is reached, as a sentence."""
    reached = value >= AIMS[name] if least else value <= AIMS[name]
    bound = "at least" if least else "at most"
    return f"{value:.2f} (aim: {bound} {AIMS[name]:g}; {'reached' if reached else 'not reached'})"


@contextlib.contextmanager
def folders(runs: int) -> Iterator[Path]:
    """A cohort in `ours`, and as many bare items and parametrised tests in `bare` and `param`."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make_cohort(root / "ours", runs)
        for folder, file, text in (("bare", "conftest.py", BARE), ("param", "test_criteria.py", PARAMETRISED)):
            (root / folder).mkdir()
            (root / folder / file).write_text(text.format(criteria=CRITERIA, groups=runs * FINDINGS))
            (root / folder / "pytest.ini").write_text("[pytest]\n")
        (root / "bare" / "runs.bare").write_text("")
        yield root


# Sections: each gives its part of the page


def items(arguments: argparse.Namespace) -> str:
    """Criteria replayed, beside bare items and one parametrised function."""
    rows, notes, wall = [], [], {}
    for size in arguments.items:
        with folders(round(size / FINDINGS / CRITERIA)) as root:
            ours = "--sciagent-run=runs"
            commands = {
                "bare item": (SERIAL, "bare"),
                "parametrised test": (SERIAL, "param"),
                "worked out again, -n 0": ([*SERIAL, ours, "--sciagent-fresh"], "ours"),
                "replayed, -n 0": ([*SERIAL, ours], "ours"),
                **{f"replayed, -n {n}": ([*PYTEST, f"-n{n}", ours], "ours") for n in arguments.workers},
            }
            variants = {
                name: lambda command=command, folder=root / folder: measure(command, folder)
                for name, (command, folder) in commands.items()
            }
            found = in_turns(variants, arguments.rounds)
        bare, param, replayed = found["bare item"], found["parametrised test"], found["replayed, -n 0"]
        wall[size] = replayed.seconds
        for name, one in found.items():
            ratios = [f"{one.seconds / bare.seconds:.2f}", f"{one.seconds / param.seconds:.2f}"]
            numbers = [f"{one.seconds:.1f}", f"{one.cpu_s:.1f}", f"{one.seconds / size * 1000:.2f}"]
            rows.append([f"{size:,}", name, *numbers, *ratios, f"{one.memory_mb:.0f}"])
        notes.append(f"- {size:,}: to a bare item {aim('to bare', replayed.seconds / bare.seconds)}")
        notes.append(f"- {size:,}: to a parametrised test {aim('to parametrised', replayed.seconds / param.seconds)}")
        notes.append(f"- {size:,}: memory to bare items {aim('memory', replayed.memory_mb / bare.memory_mb)}")
    if len(wall) > 1:
        least, most = min(wall), max(wall)
        growth = math.log(wall[most] / wall[least]) / math.log(most / least)
        notes.append(f"- growth exponent from {least:,} to {most:,} criteria {aim('exponent', growth)}")
    head = ["items", "variant", "s", "CPU s", "ms an item", "to bare", "to parametrised", "MB, largest process"]
    return table(head, rows) + "\n" + "\n".join(notes) + "\n"


def collection(arguments: argparse.Namespace) -> str:
    """Collection alone."""
    rows = []
    for size in arguments.items:
        with folders(round(size / FINDINGS / CRITERIA)) as root:
            commands = {"bare item": ("bare", []), "parametrised test": ("param", []), "criteria": ("ours", [])}
            commands["criteria"] = ("ours", ["--sciagent-run=runs"])
            variants = {
                name: lambda folder=root / folder, more=more: measure([*SERIAL, "--collect-only", *more], folder)
                for name, (folder, more) in commands.items()
            }
            found = in_turns(variants, arguments.rounds)
        rows += [[f"{size:,}", name, f"{one.seconds:.2f}", f"{one.cpu_s:.2f}"] for name, one in found.items()]
    return table(["items", "variant", "s", "CPU s"], rows)


def evidence(arguments: argparse.Namespace) -> str:
    """Evidence packages made from frozen runs, every file read anew."""
    from pytest_sciagent.evaluation import Sources, open_case

    runs = max(2, arguments.judgements // 20)
    rates = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make_cohort(root, runs, METHODS)
        for _ in range(arguments.rounds):
            sources, made, started = Sources(root), 0, time.perf_counter()
            for run in sorted((root / "runs" / "bench").iterdir()):
                case = open_case(run, sources, lambda label, entry: None)
                made += len([case.questions.package(finding) for finding in case.report.findings])
            rates.append(made / (time.perf_counter() - started))
    return table(["packages", "a second"], [[f"{runs * FINDINGS}", f"{statistics.median(rates):.0f}"]])


def comparison(arguments: argparse.Namespace) -> str:
    """`sciagent compare` over ten systems, from frozen runs and recorded verdicts."""
    tasks = max(2, arguments.compared // 10)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make_cohort(root, tasks, systems=[f"system_{n}" for n in range(10)])
        compare = [sys.executable, "-c", "from pytest_sciagent.cli import main; main()", "compare"]
        variants = {
            "from runs": lambda: measure([*compare, "runs", "--csv", "cohort.csv"], root, (0,)),
            "from its table": lambda: measure([*compare, "cohort.csv"], root, (0,)),
        }
        found = in_turns(variants, min(arguments.rounds, 2))
    rows = [[f"{tasks * 10:,}", name, f"{m.seconds:.1f}", f"{m.memory_mb:.0f}"] for name, m in found.items()]
    return table(["runs", "variant", "s", "MB"], rows)


def replay(arguments: argparse.Namespace) -> str:
    """The same recorded judgements replayed by other tools, each from its own cache, start and imports included."""
    with tempfile.TemporaryDirectory() as name, endpoint(0, None) as at:
        root = Path(name)
        make_cohort(root, 1, METHODS)
        runs = max(1, round(arguments.judgements / write_material(root, 1)))
        make_cohort(root / "cohort", runs, METHODS)
        total = write_material(root / "cohort", runs)
        ours = [*SERIAL, "--sciagent-run=runs"]
        variants = {"pytest-sciagent": lambda: measure(ours, root / "cohort")}
        for tool in PEERS if arguments.peers else ():
            keep = root / tool
            keep.mkdir()
            material = str(root / "cohort" / "material.json")
            command = [arguments.peers, str(HERE / "judge_peers.py"), tool, f"{at.url}/peer/{tool}/v1", material]
            command += ["64", str(keep)]
            measure(command, root, (0,))  # fills the tool's cache

            def again(command: list[str] = command, tool: str = tool) -> Measured:
                before = at.stats()["calls"]
                measured = measure(command, root, (0,))
                asked[tool] = at.stats()["calls"] - before
                return measured

            variants[tool] = again
        asked: dict[str, int] = {}
        found = in_turns(variants, arguments.rounds)
    mine = found["pytest-sciagent"].seconds
    rows = [
        [n, f"{total}", f"{asked.get(n, 0)}", f"{m.seconds:.2f}", f"{m.cpu_s:.2f}", f"{m.seconds / mine:.1f}"]
        for n, m in found.items()
    ]
    notes = [
        f"- {n}: {aim('peers', m.seconds / mine, least=True)} times our time" for n, m in found.items() if n in asked
    ]
    head = ["tool", "judgements", "calls made all the same", "s", "CPU s", "to ours"]
    return table(head, rows) + "\n" + "\n".join(notes) + "\n"


def judging(arguments: argparse.Namespace) -> str:
    """Live judging, see judge.py."""
    more = ["--peers", arguments.peers] if arguments.peers else []
    return script("judge.py", "--rounds", str(arguments.rounds), "--judgements", str(arguments.judgements), *more)


def reports(arguments: argparse.Namespace) -> str:
    """The HTML report, see reports.py."""
    return script("reports.py", "--runs", str(round(max(arguments.items[:2]) / FINDINGS / CRITERIA)))


def script(name: str, *options: str) -> str:
    """What another benchmark prints, as it stands."""
    done = subprocess.run([sys.executable, str(HERE / name), *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return f"```\n{done.stdout.strip()}\n```\n"


SECTIONS = {
    "items": ("Criteria replayed", items),
    "collection": ("Collection alone", collection),
    "replay": ("The same judgements replayed by other tools", replay),
    "judging": ("Live judging", judging),
    "evidence": ("Evidence packages", evidence),
    "reports": ("The HTML report", reports),
    "compare": ("Comparing systems", comparison),
}


def machine() -> str:
    """What the numbers were measured on, and when."""
    day = datetime.datetime.now(datetime.UTC).date()
    python = platform.python_version()
    start = f"import pytest_sciagent: {import_ms(9):.1f} ms (median of 9)"
    return f"{day}: {os.cpu_count()} cores, {platform.machine()}, Python {python}. {start}.\n"


def write(parts: dict[str, str]) -> None:
    """Put the sections measured into the page; those that were not keep what stands there."""
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(START)
    old, _, after = rest.partition(END)
    known = dict(part.split("\n", 1) for part in old.split("\n### ")[1:])
    known |= {SECTIONS[name][0]: text for name, text in parts.items()}
    shown = "".join(f"\n### {title}\n\n{known[title].strip()}\n" for title, _ in SECTIONS.values() if title in known)
    PAGE.write_text(f"{before}{START}\n{shown}\n{END}{after}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[5220, 21025, 100050, 200100])
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 8])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--judgements", type=int, default=500)
    parser.add_argument("--compared", type=int, default=1000, help="runs that are compared")
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--dry", action="store_true")
    arguments = parser.parse_args()
    told = machine()
    print(told)
    parts = {}
    for name in arguments.only:
        title, section = SECTIONS[name]
        parts[name] = f"Measured {told}\n{section(arguments)}"
        print(f"### {title}\n\n{parts[name]}", flush=True)
        if not arguments.dry:
            write({name: parts[name]})


if __name__ == "__main__":
    main()
