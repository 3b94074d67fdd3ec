"""The workers of a Dask cluster run tasks' verification scripts; results are the same as on one machine."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sample import Cohort

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.harnesses.script_cluster import run_scripts
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
SLOW = SUM.replace("import common", "import time\nimport common\ntime.sleep(3)")


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


def test_the_script_of_a_lost_worker_is_run_on_another(tmp_path: Path, cohort: Cohort, cluster: Any) -> None:
    task = write_scripts(cohort.root / "tasks" / "t1", recompute=SLOW)
    killed: list[int] = []

    def kill() -> None:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            pids, ends = client.run(os.getpid), time.monotonic() + 60
            while not killed and time.monotonic() < ends:
                for worker, keys in client.processing().items():
                    if any(str(key).startswith("sciagent-script-") for key in keys):
                        killed.append(pids[worker])
                        os.kill(pids[worker], signal.SIGKILL)
                        return
                time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    run_scripts([task], cluster.scheduler_address, KeptFiles(tmp_path, b"mine"), lambda done, total: None)
    thread.join()
    assert killed
    assert len(list(tmp_path.glob("verify-*"))) == 1


def test_workers_with_other_packages_are_not_believed(
    tmp_path: Path, cohort: Cohort, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = write_scripts(cohort.root / "tasks" / "t1", recompute=SUM)
    monkeypatch.setattr("pytest_sciagent.tasks.verification.interpreter", lambda: "another")
    with pytest.raises(SciagentError, match=r"recompute\.py: on .*: another Python, or other packages"):
        run_scripts([task], cluster.scheduler_address, KeptFiles(tmp_path, b"mine"), lambda done, total: None)
    assert not list(tmp_path.glob("verify-*"))


def test_a_cluster_that_is_not_there(cohort: Cohort) -> None:
    cohort.run(findings=1)
    write_scripts(cohort.root / "tasks" / "t1", recompute=SUM)
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-dask-scripts=nonsense://x")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the Dask cluster nonsense://x: *"])
    assert "Traceback" not in result.stderr.str()
