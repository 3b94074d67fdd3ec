"""What is measured on one cohort that grows from size to size: items, collection, the HTML report, comparisons.

What a first session works out is left for the next ones (docs/scale.md): after each growth, sessions that are not
measured work out what is new, so that *replayed* measures what a later session costs.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from cohort import CRITERIA, FINDINGS, make_runs, record_runs
from measuring import HERE, PYTEST, SERIAL, Kept, Measured, Step, aim, environment, measure, often, once, table

SYSTEMS = tuple(f"system_{n}" for n in range(5))
PER_TASK = len(SYSTEMS) * FINDINGS * CRITERIA
MIDDLE = 10_000
"""From it on, collection and criteria worked out again are measured once."""
LARGE = 30_000
"""Above it, bare items and replayed criteria are measured once; up to it all variants, most of them three times."""
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
OURS = "--sciagent-run=runs"
Medians = dict[tuple[str, ...], tuple[Measured, int]]


@dataclass(frozen=True)
class Variant:
    """One way to test a number of items: command, folder, rounds, and quiet seconds to start and for each item."""

    name: str
    command: Sequence[str]
    folder: str
    rounds: int
    start_s: float
    item_s: float


def variants(items: int, rounds: int, workers: Sequence[int], more: bool) -> list[Variant]:
    """What is measured at a size, and how often at most; `more` adds the parametrised test at large sizes."""
    large = items > LARGE
    most = 1 if large else rounds
    found = [
        Variant("bare item", SERIAL, "bare", most, 0.5, 0.00056),
        Variant("replayed, -n 0", [*SERIAL, OURS], "cohort", most, 0.8, 0.0004),
    ]
    if not large or more:
        found.append(Variant("parametrised test", SERIAL, "param", most, 0.5, 0.00095))
    if not large:
        again = rounds if items < MIDDLE else 1
        found.append(Variant("worked out again, -n 0", [*SERIAL, OURS, "--sciagent-fresh"], "cohort", again, 1, 0.001))
        found += [
            Variant(f"replayed, -n {n}", [*PYTEST, f"-n{n}", OURS], "cohort", 1, 1 + n * 0.5, 0.0014) for n in workers
        ]
    return found


class Growing:
    """The cohort below `work`, with as many bare items and parametrised tests beside it at each size."""

    def __init__(self, work: Path, rounds: int, workers: Sequence[int], more: bool) -> None:
        self.work = work
        self.cohort = work / "cohort"
        self._rounds = rounds
        self._workers = workers
        self._more = more

    def steps(self, sizes: Sequence[int], compared: int, sections: Sequence[str]) -> Iterator[Step]:
        """All steps of these sections, from the smallest cohort to the largest."""
        stops: list[tuple[int, list[Step]]] = []
        numbers = sorted(max(1, round(size / PER_TASK)) for size in sizes)
        small = [number for number in numbers if number * PER_TASK <= LARGE]
        for tasks in numbers:
            steps = [*self._items(tasks)] if "items" in sections else []
            steps += self._collection(tasks) if "collection" in sections and tasks in small else []
            if "reports" in sections and tasks == max(small, default=None):
                steps.append(self._report(tasks))
            stops.append((tasks, steps))
        if "compare" in sections:
            tasks = max(2, round(compared / len(SYSTEMS)))
            stops.append((tasks, self._compare(tasks)))
        grown = 0
        for tasks, steps in sorted(stops, key=lambda stop: stop[0]):
            if steps:
                yield from self._grow(grown, tasks)
                yield from steps
                grown = tasks

    def _grow(self, before: int, tasks: int) -> Iterator[Step]:
        if tasks == before:
            return
        new = (tasks - before) * PER_TASK
        yield Step(f"cohort/{tasks:05d} tasks", 1 + new * 0.0004, lambda: self._make(before, tasks))
        yield Step(f"cohort/{tasks:05d} tasks, first sessions", 2 + new * 0.0006, self._first_sessions)

    def _make(self, before: int, tasks: int) -> None:
        """Runs of the tasks from `before` on, half of them by each of two processes."""
        for number in range(before, tasks):  # what a run of this program that was ended has left
            for folder in ("tasks", *(f"{kind}/{system}" for kind in ("runs", "verdicts") for system in SYSTEMS)):
                shutil.rmtree(self.cohort / folder / f"task_{number:03d}", ignore_errors=True)
        halves = [range(before, (before + tasks) // 2), range((before + tasks) // 2, tasks)]
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            for make in (make_runs, record_runs):  # a rubric and sources are read only when all tasks are there
                for done in [pool.submit(make, self.cohort, half, "", SYSTEMS) for half in halves]:
                    done.result()

    def _first_sessions(self) -> None:
        command, place = [*SERIAL, OURS], {"cwd": self.cohort, "env": environment()}
        started = [
            subprocess.Popen([*command, f"--sciagent-shard={n}/2"], stdout=subprocess.DEVNULL, **place) for n in (1, 2)
        ]
        for process in started:
            if process.wait() not in (0, 1, 5):  # 5: no run of a small cohort falls into this part
                raise SystemExit(f"{command} ended with {process.returncode}")

    def _folder(self, name: str, tasks: int) -> Path:
        if name == "cohort":
            return self.cohort
        folder = self.work / f"{name}_{tasks}"
        if not folder.is_dir():
            folder.mkdir(parents=True)
            file, text = ("conftest.py", BARE) if name == "bare" else ("test_criteria.py", PARAMETRISED)
            (folder / file).write_text(text.format(criteria=CRITERIA, groups=tasks * PER_TASK // CRITERIA))
            (folder / "pytest.ini").write_text("[pytest]\n")
            (folder / "runs.bare").write_text("")
        return folder

    def _run(self, command: Sequence[str], name: str, tasks: int) -> Callable[[], dict[str, float]]:
        return lambda: once(command, self._folder(name, tasks))()

    def _items(self, tasks: int) -> Iterator[Step]:
        items = tasks * PER_TASK
        wanted = variants(items, self._rounds, self._workers, self._more)
        if items <= LARGE:  # modules are compiled and files read once before anything counts
            for one in wanted:
                if one.folder != "cohort":  # whose first sessions have done it
                    yield Step(f"cohort/{items} warm-up of {one.name}", one.start_s + 0.5, self._warm_up(one, tasks))
        for turn in range(1, self._rounds + 1):
            for one in wanted:
                if turn <= one.rounds:
                    run = self._run(one.command, one.folder, tasks)
                    yield Step(f"items/{items}/{one.name}/{turn}", one.start_s + one.item_s * items, run)

    def _warm_up(self, one: Variant, tasks: int) -> Callable[[], None]:
        """A session of this variant that only collects: all modules that it needs, all files that it reads."""

        def run() -> None:
            measure([*one.command, "--collect-only"], self._folder(one.folder, tasks))

        return run

    def _collection(self, tasks: int) -> Iterator[Step]:
        items = tasks * PER_TASK
        for turn in range(1, (self._rounds if items < MIDDLE else 1) + 1):
            for name, folder, more in (
                ("bare item", "bare", ()),
                ("parametrised test", "param", ()),
                ("criteria", "cohort", (OURS,)),
            ):
                run = self._run([*SERIAL, "--collect-only", *more], folder, tasks)
                yield Step(f"collection/{items}/{name}/{turn}", 1 + items * 0.00015, run)

    def _report(self, tasks: int) -> Step:
        def run() -> str:
            command = [sys.executable, str(HERE / "reports.py"), "--cohort", str(self.cohort)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(
                    f"reports.py ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
                )
            return done.stdout[done.stdout.rindex("measured:\n") :].partition("\n")[2].strip()

        return Step("reports/page", 12 + tasks * PER_TASK * 0.0012, run)

    def _compare(self, tasks: int) -> list[Step]:
        runs = tasks * len(SYSTEMS)
        compare = [sys.executable, "-c", "from pytest_sciagent.cli import main; main()", "compare"]
        csv = str(self.work / "cohort.csv")
        ways = {"from runs": (0.04, ["runs", "--csv", csv]), "from its table": (0.002, [csv])}
        return [
            Step(f"compare/{runs}/{name}/1", 2 + runs * each, self._run([*compare, *more], "cohort", tasks))
            for name, (each, more) in ways.items()
        ]


# Tables


def items_table(kept: Kept) -> str:
    """Criteria beside bare items and one parametrised function."""
    found = kept.medians("items")
    sizes = sorted({int(size) for size, _ in found})
    rows: list[list[str]] = []
    wall: dict[int, float] = {}
    for size in sizes:
        here = _at(found, size)
        bare, param = here["bare item"][0], here.get("parametrised test")
        wall[size] = here["replayed, -n 0"][0].seconds
        for name, (one, rounds) in here.items():
            numbers = [f"{one.seconds:.1f}", f"{one.cpu_s:.1f}", f"{one.seconds / size * 1000:.2f}"]
            ratios = [f"{one.seconds / bare.seconds:.2f}", f"{one.seconds / param[0].seconds:.2f}" if param else ""]
            rows.append([f"{size:,}", name, *numbers, *ratios, f"{one.memory_mb:.0f}", often(rounds)])
    head = ["items", "variant", "s", "CPU s", "ms an item", "to bare", "to parametrised", "MB, largest process", "how"]
    return table(head, rows) + "\n" + "\n".join([*_item_aims(found, sizes), *_growth(wall)]) + "\n"


def _at(found: Medians, size: int) -> dict[str, tuple[Measured, int]]:
    return {name: pair for (of, name), pair in found.items() if int(of) == size}


def _item_aims(found: Medians, sizes: Sequence[int]) -> list[str]:
    """Time at the largest size at which all variants are measured, memory at the largest of all."""
    told = []
    whole = max((size for size in sizes if size <= LARGE), default=None)
    if whole is not None:
        here = _at(found, whole)
        ours = here["replayed, -n 0"][0].seconds
        for aimed, name in (("to bare", "bare item"), ("to parametrised", "parametrised test")):
            told.append(f"- {whole:,}, replayed: time to a {name} {aim(aimed, ours / here[name][0].seconds)}")
    here = _at(found, sizes[-1])
    memory = here["replayed, -n 0"][0].memory_mb / here["bare item"][0].memory_mb
    return [*told, f"- {sizes[-1]:,}, replayed: memory to bare items {aim('memory', memory)}"]


def _growth(wall: dict[int, float]) -> list[str]:
    """How time grows with the number of criteria, above sizes at which the start of Python counts."""
    least, most = min((size for size in wall if size > MIDDLE), default=min(wall)), max(wall)
    if least == most:
        return []
    growth = math.log(wall[most] / wall[least]) / math.log(most / least)
    return [f"- replayed: growth exponent from {least:,} to {most:,} criteria {aim('exponent', growth)}"]


def collection_table(kept: Kept) -> str:
    """Collection alone."""
    rows = [
        [f"{int(size):,}", name, f"{one.seconds:.2f}", f"{one.cpu_s:.2f}", often(rounds)]
        for (size, name), (one, rounds) in kept.medians("collection").items()
    ]
    return table(["items", "variant", "s", "CPU s", "how"], rows)


def reports_table(kept: Kept) -> str:
    """The HTML report, as `reports.py` tells it."""
    return f"```\n{kept.of('reports')['page']}\n```\n"


def compare_table(kept: Kept) -> str:
    """`sciagent compare` over five systems: from frozen runs and recorded verdicts, and from the table it made."""
    rows = [
        [f"{int(runs):,}", name, f"{one.seconds:.1f}", f"{one.memory_mb:.0f}", often(rounds)]
        for (runs, name), (one, rounds) in kept.medians("compare").items()
    ]
    return table(["runs", "variant", "s", "MB", "how"], rows)
