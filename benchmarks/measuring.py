"""How benchmarks measure a command, keep what was measured, and put it into tables."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
"""Without a plugin that only this project's own tests need: it imports hypothesis at the end of every session."""
SERIAL = [*PYTEST, "-p", "no:xdist"]
AIMS = {"to bare": 0.7, "to parametrised": 0.6, "memory": 1.3, "exponent": 1.05, "peers": 3.0, "live": 1.0}


@dataclass(frozen=True)
class Measured:
    """One command from start to end: wall and CPU seconds, and the memory of its largest process in MB."""

    seconds: float
    cpu_s: float
    memory_mb: float


def environment() -> dict[str, str]:
    """As on a user's machine: modules are compiled once, not by every session."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(command: Sequence[str], folder: Path, allowed: Sequence[int] = (0, 1)) -> Measured:
    """Run `command` in `folder`."""
    with tempfile.TemporaryFile() as told:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=told, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in allowed:
            told.seek(0)
            raise SystemExit(f"{command} ended with {process.returncode}:\n{told.read().decode()[-3000:]}")
    return Measured(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


@dataclass(frozen=True)
class Step:
    """One measurement of the plan, or what has to be made before one.

    key: its name among what is kept, `SECTION/…`. estimate_s: what it takes on two quiet cores. run: gives a JSON
    value.
    """

    key: str
    estimate_s: float
    run: Callable[[], Any]


def once(command: Sequence[str], folder: Path, allowed: Sequence[int] = (0, 1)) -> Callable[[], dict[str, float]]:
    """What a step runs to measure `command` once."""
    return lambda: asdict(measure(command, folder, allowed))


class Kept:
    """What was measured so far, in a JSON file that is written anew after every step.

    Raises:
        SystemExit: what is there was measured on another machine or Python.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.machine = machine()
        self.day = f"{datetime.now(UTC).date()}"
        self._steps: dict[str, Any] = {}
        if path.is_file():
            found = json.loads(path.read_text("utf-8"))
            if found["machine"] != self.machine:
                raise SystemExit(f"{path}: measured on {found['machine']}, this is {self.machine}: leave out --resume")
            self.day, self._steps = found["day"], found["steps"]

    def __contains__(self, key: str) -> bool:
        return key in self._steps

    def add(self, key: str, value: Any) -> None:
        """Keep what a step gave."""
        self._steps[key] = value
        content = json.dumps({"machine": self.machine, "day": self.day, "steps": self._steps}, indent=1)
        part = self._path.with_suffix(".part")
        part.write_text(content + "\n", "utf-8")
        part.replace(self._path)

    def forget(self, section: str) -> None:
        """Leave out what steps of this section gave."""
        self._steps = {key: value for key, value in self._steps.items() if not key.startswith(f"{section}/")}

    def of(self, section: str) -> dict[str, Any]:
        """What the steps of a section gave, by what follows `SECTION/` in their keys."""
        return {k.removeprefix(f"{section}/"): v for k, v in self._steps.items() if k.startswith(f"{section}/")}

    def medians(self, section: str) -> dict[tuple[str, ...], tuple[Measured, int]]:
        """The medians of all rounds, and how many these were, by the parts of the key before a round's number."""
        rounds: dict[tuple[str, ...], list[Measured]] = {}
        for key, value in self.of(section).items():
            rounds.setdefault(tuple(key.split("/")[:-1]), []).append(Measured(**value))
        return {key: (middle(values), len(values)) for key, values in rounds.items()}


def middle(values: Sequence[Measured]) -> Measured:
    """The medians of several measurements, part by part."""
    return Measured(
        *(statistics.median(getattr(v, part) for v in values) for part in ("seconds", "cpu_s", "memory_mb"))
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)) + "\n"


def often(rounds: int) -> str:
    """How often something was measured, as a cell."""
    return "1 measurement" if rounds == 1 else f"median of {rounds}"


def aim(name: str, value: float, *, least: bool = False) -> str:
    """Whether an aim is reached, as a sentence."""
    reached = value >= AIMS[name] if least else value <= AIMS[name]
    bound = "at least" if least else "at most"
    return f"{value:.2f} (aim: {bound} {AIMS[name]:g}; {'reached' if reached else 'not reached'})"


def machine() -> str:
    """What is measured on: processor, cores, memory, system, Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = [_processor(), f"{os.cpu_count()} cores", f"{memory:.0f} GB", platform.system()]
    return ", ".join([*parts, f"Python {platform.python_version()}"])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
