"""Time and memory of the whole job over hostile runs: frozen, verified, judged, and every report written.

    python benchmarks/hostile.py [NAME ...] [--files 100000]

Each run of the corpus of the tests, or those named, then one of very many files. The aim is 10 s of processor time and
1 GB of memory a run; what is over it is marked, and the exit code is then 1. Creating the files is not measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from hostile_jobs import Jobs, Outcome
from hostile_place import Flatterer, Place, write_many_files, write_output, write_repository
from hostile_runs import CORPUS, Hostile, Trap
from loopback import Loopback

AIM_S, AIM_MB = 10.0, 1024.0


def job(place: Place, make: Callable[[Path], None], plant: Callable[[Path], None] = lambda run: None) -> list[Outcome]:
    """What came of freezing the workspace that `make` fills, and of verifying and judging the runs."""
    workspace = place.root / "work"
    make(workspace)
    outcomes = [place.jobs.run(place.root, place.freeze(workspace))]
    if outcomes[0].codes == [0]:
        plant(place.root / "runs" / "evil" / "t1")
        outcomes += [place.jobs.run(place.root, args) for args in (["sciagent", "verify", "runs"], place.session())]
    return outcomes


def told(name: str, outcomes: Sequence[Outcome]) -> bool:
    """Print a line of what `outcomes` took; whether it is within the aim."""
    steps = "  ".join(f"{outcome.cpu_s:5.1f}" for outcome in outcomes)
    seconds = sum(outcome.cpu_s for outcome in outcomes)
    memory = max(outcome.memory for outcome in outcomes) / 2**20
    within = seconds <= AIM_S and memory <= AIM_MB
    print(f"{name:34} {seconds:6.1f} s  {memory:6.0f} MB  {'' if within else 'OVER'}  ({steps})", flush=True)
    return within


def in_repository(jobs: Jobs, run: Callable[[Place], list[Outcome]]) -> list[Outcome]:
    """`run` in a new repository, on a disk in memory where there is one."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own below it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        root = Path(folder)
        write_repository(root)
        flatterer = Flatterer()
        with Loopback(flatterer) as server:
            return run(Place(root, jobs, server))


def hostile_job(place: Place, hostile: Hostile) -> list[Outcome]:
    trap = Trap(place.root / "mark", place.root / "secret.txt", "http://127.0.0.1:9/")

    def make(workspace: Path) -> None:
        write_output(workspace, hostile.files(trap))
        hostile.prepare(workspace / "output", trap)

    return job(place, make, lambda run: hostile.plant(run, trap))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of the name of a run of the corpus")
    parser.add_argument("--files", type=int, default=100_000, help="files of the run of very many; 0 leaves it out")
    wanted = parser.parse_args()
    corpus = [run for run in CORPUS if not wanted.names or any(name in run.name for name in wanted.names)]
    within = True
    with Jobs() as jobs:
        # What all jobs import is imported once, in the process that the jobs are forked from.
        in_repository(jobs, lambda place: [jobs.run(place.root, place.session(), warm=True)])
        print(f"{'run':34} {'CPU':>8}  {'memory':>9}  (freeze  verify  session)")
        for hostile in corpus:
            within &= told(hostile.name, in_repository(jobs, lambda place, run=hostile: hostile_job(place, run)))  # type: ignore[misc]
        if wanted.files:
            many = in_repository(jobs, lambda place: job(place, lambda folder: write_many_files(folder, wanted.files)))
            within &= told(f"{wanted.files:,} files", many)
    sys.exit(0 if within else 1)


if __name__ == "__main__":
    main()
