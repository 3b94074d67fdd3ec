"""The workers of a Dask cluster run tasks' verification scripts; results are the same as on one machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sample import Cohort

from pytest_sciagent.digest import sha256_bytes
from pytest_sciagent.errors import SciagentError
from pytest_sciagent.harnesses import script_cluster, script_worker
from pytest_sciagent.harnesses.parcels import Parcel, pack_scripts
from pytest_sciagent.harnesses.script_cluster import run_scripts
from pytest_sciagent.harnesses.script_worker import Errand, Findings
from pytest_sciagent.ledger.trusted_files import KeptFiles
from pytest_sciagent.tasks import Task
from pytest_sciagent.tasks.verification import Scripts, Verification

distributed = pytest.importorskip("distributed")

ROOT = Path(__file__).parents[1]
SUM = """
import json, sys
from pathlib import Path
import common
print(json.dumps({"values": {"rows": common.rows(sys.argv[1])}}))
"""
COMMON = """
from pathlib import Path

def rows(folder):
    return sum(len(p.read_text().splitlines()) for p in Path(folder).iterdir())
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = str(tmp_path_factory.mktemp("dask"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=folder
    ) as found:
        yield found


def write_scripts(task: Path, **scripts: str) -> Task:
    folder = task / "hidden" / "verify"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"common": COMMON, **scripts}.items():
        (folder / f"{name}.py").write_text(text)
    return Task.load(task)


def ignore(done: int, total: int) -> None:
    """Nobody is told."""


def not_here(self: Scripts, script: str) -> dict[str, Any]:
    raise AssertionError(f"{script} was run here")


def test_a_session_finds_the_answers_of_the_workers(
    pytester: pytest.Pytester, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, run = "life_bill_shape", "plain/life_bill_shape"
    for folder in (f"tasks/{task}", f"runs/{run}"):
        shutil.copytree(ROOT / folder, pytester.path / folder)
    shutil.copytree(ROOT / "verdicts", pytester.path / "verdicts")
    session = ("--sciagent-run=runs", "--sciagent-json=x.json", "-p", "no:cacheprovider")
    pytester.runpytest_inprocess(*session)
    alone = (pytester.path / "x.json").read_bytes()
    assert b'"perturbations": [{' in alone.replace(b"\n", b"").replace(b"  ", b"")
    cache = pytester.path / ".sciagent" / "cache"
    mine = {file.name: file.read_bytes() for file in cache.glob("verify-*")}
    shutil.rmtree(cache)
    monkeypatch.setattr(Scripts, "run", not_here)
    pytester.runpytest_inprocess(*session, f"--sciagent-dask-scripts={cluster.scheduler_address}")
    assert (pytester.path / "x.json").read_bytes() == alone
    theirs = {file.name: file.read_bytes() for file in cache.glob("verify-*")}
    assert len(theirs) == 7
    assert mine.items() <= theirs.items()
    # Nothing is open any more: nobody looks for a cluster.
    result = pytester.runpytest_inprocess(*session, "--sciagent-fresh", "--sciagent-dask-scripts=nonsense://x")
    assert result.ret == 1
    assert (pytester.path / "x.json").read_bytes() == alone


def test_what_a_script_prints_there_is_what_it_prints_here(tmp_path: Path, cohort: Cohort, cluster: Any) -> None:
    task = write_scripts(
        cohort.root / "tasks" / "t1",
        recompute=SUM,
        perturb_A_sample='print(\'{"family": "sample", "survive": true, "metrics": {"b": 1, "a": [2]}}\')',
        perturb_A_method="raise SystemExit('no such method')",
    )
    here, there = KeptFiles(tmp_path / "here", b"mine"), KeptFiles(tmp_path / "there", b"mine")
    told: list[tuple[int, int]] = []
    run_scripts([task], cluster.scheduler_address, there, lambda done, total: told.append((done, total)))
    assert told[-1] == (3, 3)
    scripts = Scripts.of(task)
    for name in ("recompute.py", "perturb_A_sample.py"):
        Verification(task, here)._answer(name)
        kept = f"verify-{scripts.key(name)[:32]}.json"
        assert (tmp_path / "there" / kept).read_bytes() == (tmp_path / "here" / kept).read_bytes()
    assert len(list((tmp_path / "there").iterdir())) == 2  # what failed has no answer


def test_a_script_with_more_data_than_is_sent_at_once_is_sent_alone(
    tmp_path: Path, cohort: Cohort, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = write_scripts(cohort.root / "tasks" / "t1", recompute=SUM, perturb_A_sample="print('{}')")
    monkeypatch.setattr(script_cluster, "BYTES_OUT", 1)
    run_scripts([task], cluster.scheduler_address, KeptFiles(tmp_path, b"mine"), ignore)
    assert len(list(tmp_path.glob("verify-*"))) == 2


def running(script: str) -> list[int]:
    """The processes that run a script, on any worker."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().endswith(f"{script}\0/data\0".encode()):
                found.append(int(entry.name))
    return found


def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def left_on(cluster: Any) -> list[Path]:
    """Folders of scripts below those of the workers."""
    folders = {Path(nanny.local_directory).parent for nanny in cluster.workers.values()}
    return [path for folder in folders for path in folder.rglob("sciagent-errand-*")]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(("losses", "seconds"), [(1, 3), (3, 90)])
def test_the_script_of_a_lost_worker_is_run_on_another_twice_at_most(
    tmp_path: Path, cohort: Cohort, cluster: Any, losses: int, seconds: int
) -> None:
    task = write_scripts(
        cohort.root / "tasks" / "t1",
        **{f"perturb_Lost{losses}_sample": f"import time; time.sleep({seconds}); print('{{}}')"},
    )
    script = f"perturb_Lost{losses}_sample.py"
    seen: set[int] = set()

    def kill() -> None:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            for _ in range(losses):
                until(lambda: set(running(script)) - seen)
                seen.update(running(script))
                (worker,) = [worker for worker, keys in client.processing().items() if keys]
                os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)

    with ThreadPoolExecutor() as pool:
        killing = pool.submit(kill)
        given_up = contextlib.nullcontext() if losses == 1 else pytest.raises(SciagentError, match="lost 3 times")
        with given_up:
            run_scripts([task], cluster.scheduler_address, KeptFiles(tmp_path, b"mine"), ignore)
        killing.result()
    assert len(list(tmp_path.glob("verify-*"))) == (losses == 1)
    until(lambda: not running(script))
    until(lambda: not left_on(cluster))


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc")
def test_stopped_it_keeps_what_is_finished_and_ends_what_goes_on(cohort: Cohort, cluster: Any) -> None:
    cohort.run(findings=1)
    task = write_scripts(
        cohort.root / "tasks" / "t1",
        perturb_Done_sample="print('{}')",
        perturb_Stopped_sample="import time; time.sleep(90)",
    )
    (done,) = [Scripts.of(task).key(name) for name in Scripts.of(task).names if "Done" in name]
    answer = cohort.root / ".sciagent" / "cache" / f"verify-{done[:32]}.json"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--sciagent-run=runs",
        "--sciagent-rubric=small",
        "-p",
        "no:cacheprovider",
    ]
    session = subprocess.Popen(
        [*command, f"--sciagent-dask-scripts={cluster.scheduler_address}"],
        cwd=cohort.root,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    until(lambda: answer.exists() and running("perturb_Stopped_sample.py"))
    session.send_signal(signal.SIGINT)
    out, _ = session.communicate(timeout=60)
    assert session.returncode == 2, out
    assert answer.exists()
    until(lambda: not running("perturb_Stopped_sample.py"))
    until(lambda: not left_on(cluster))


def test_workers_with_other_packages_are_not_believed(
    tmp_path: Path, cohort: Cohort, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = write_scripts(cohort.root / "tasks" / "t1", recompute=SUM)
    monkeypatch.setattr(script_worker, "interpreter", lambda: "another")
    with pytest.raises(SciagentError, match=r"recompute\.py: on .*: another Python, or other packages"):
        run_scripts([task], cluster.scheduler_address, KeptFiles(tmp_path, b"mine"), ignore)
    assert not list(tmp_path.glob("verify-*"))


def test_what_changes_on_its_way_is_not_believed(
    tmp_path: Path, cohort: Cohort, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = write_scripts(cohort.root / "tasks" / "t1", recompute=SUM)
    cache = KeptFiles(tmp_path, b"mine")
    code, data = pack_scripts(task)

    def other_answer(errand: Errand) -> Findings:
        return Findings(errand.key, '{"values": {"rows": 7}}', "0" * 64)

    def other_script(errand: Errand) -> Findings:
        return Findings("another", "{}", sha256_bytes(b"{}"))

    for function in (other_answer, other_script):
        monkeypatch.setattr(script_cluster, "run_errand", function)
        with pytest.raises(SciagentError, match=r"recompute\.py: what has arrived is not what a worker has found"):
            run_scripts([task], cluster.scheduler_address, cache, ignore)
    monkeypatch.undo()
    more = Parcel((*data.files, ("more.csv", 0.0, b"1\n")))
    monkeypatch.setattr(script_cluster, "pack_scripts", lambda task: (code, more))
    with pytest.raises(SciagentError, match=r"recompute\.py: on .*: other scripts or data arrived"):
        run_scripts([task], cluster.scheduler_address, cache, ignore)
    assert not list(tmp_path.glob("verify-*"))


def test_a_cluster_that_is_not_there(cohort: Cohort) -> None:
    cohort.run(findings=1)
    write_scripts(cohort.root / "tasks" / "t1", recompute=SUM)
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-dask-scripts=nonsense://x")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the Dask cluster nonsense://x: *"])
    assert "Traceback" not in result.stderr.str()
