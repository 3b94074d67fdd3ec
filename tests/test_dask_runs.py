"""Runs made by the workers of a Dask cluster: the same frozen runs as on one machine, and nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sample import sciagent, write_task

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.harnesses.parcels import Parcel
from pytest_sciagent.runs import Run

distributed = pytest.importorskip("distributed")
BOUND_S = 60.0
KEY = "sk-test-Zq8Rk2Lm9Xw4Vb7Nc1Ty6Pd3"
MAIN = "from pytest_sciagent.cli import main; main()"
AGENT = """
import json, os, sys, time
from pathlib import Path

LAB = Path(os.environ["LAB"])
with (LAB / "begun").open("a") as handle:
    handle.write(f"{os.getpid()} {os.getppid()}\\n")
how = (LAB / "how").read_text()
if how == "waits":
    while not (LAB / "go").exists():
        time.sleep(0.05)
if how == "fails":
    sys.exit(3)
for path, text in {
    "output/code/mean.py": "print(1)\\n",
    "output/results/mean.csv": "mean,mean_se\\n2.0,0.1\\n",
    "output/Result.md": "# Report\\n\\n## Finding 1: the values differ\\n\\nThe mean of the first column, "
    "from `output/results/mean.csv` by `output/code/mean.py`.\\n",
}.items():
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)
    os.utime(path, (1e9, 1e9))
if how == "hostile":
    Path("output/link.csv").symlink_to("/etc/hostname")
print("key:", os.environ.get("MODEL_KEY"), sorted(os.listdir(".")), flush=True)
"""


class Lab:
    """A folder with a task, an agent that does what the file `how` says, and a cluster to run it on."""

    def __init__(self, root: Path, cluster: Any) -> None:
        self.root = root
        self.cluster = cluster
        write_task(root / "tasks" / "t1")
        (root / "agent.py").write_text(AGENT)
        (root / "note.md").write_text("Be brief.\n")
        self.how("works")
        self.system()

    def how(self, what: str) -> None:
        (self.root / "how").write_text(what)

    def system(self, **more: Any) -> None:
        content = {
            "schema": "sciagent-system/1",
            "name": "sys",
            "harness": "argv",
            "command": [sys.executable, str(self.root / "agent.py"), "{prompt}"],
            "endpoint": {"key_variable": "MODEL_KEY"},
            "environment": {"LAB": str(self.root)},
            "limits": {"wall_s": BOUND_S},
            "prompts": ["note.md"],
            "fixing_turns": 0,
        }
        (self.root / "system.yaml").write_text(json.dumps({**content, **more}))

    def start(self, *args: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", MAIN, "run", "t1", "--system-file", "system.yaml"]
        command += ["-o", "runs", "--tasks", "tasks", "--dask", self.cluster.scheduler_address, *args]
        environment = {name: value for name, value in os.environ.items() if name != "MODEL_KEY"}
        return subprocess.Popen(
            command, cwd=self.root, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def run(self, *args: str, code: int = 0) -> str:
        process = self.start(*args)
        out, _ = process.communicate(timeout=BOUND_S)
        assert process.returncode == code, out
        assert "Traceback" not in out
        return out

    def begun(self) -> list[list[int]]:
        """The processes of the agent that have begun, each with the one that started it."""
        path = self.root / "begun"
        return [list(map(int, line.split())) for line in path.read_text().splitlines()] if path.exists() else []

    def frozen(self, place: str = "runs") -> dict[str, Run]:
        runs = {path.parent.name: Run.load(path.parent) for path in (self.root / place).glob("*/run.json")}
        assert [problem for run in runs.values() for problem in run.problems()] == []
        return runs


def until(condition: Any) -> None:
    end = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two workers in processes of their own, with a key that commands are not given."""
    folder = str(tmp_path_factory.mktemp("dask"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MODEL_KEY", KEY)
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=folder
        ) as found:
            yield found


@pytest.fixture
def lab(tmp_path: Path, cluster: Any) -> Lab:
    return Lab(tmp_path, cluster)


def test_workers_freeze_what_one_machine_freezes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    out = lab.run("-n", "3")
    assert "3 runs in runs: 3 completed, 0 not" in out
    assert KEY not in out
    monkeypatch.chdir(lab.root)
    code, out, _ = sciagent("run", "t1", "--system-file", "system.yaml", "-o", "here", "--tasks", "tasks", "-n", "3")
    assert code == 0
    here, there = lab.frozen("here"), lab.frozen()
    assert here.keys() == there.keys() == {"t1", "t1.r2", "t1.r3"}
    for name, run in here.items():
        assert without_time_and_place(run) == without_time_and_place(there[name])
        assert run.read_text("logs/stdout.txt") == there[name].read_text("logs/stdout.txt")
        assert KEY not in run.read_text("logs/stdout.txt")
        times = {p: (run.path / p).stat().st_mtime for p in run.files if p.startswith("output/")}
        assert times == {p: (there[name].path / p).stat().st_mtime for p in times}

    assert "[1/3] t1: kept, completed" in lab.run("-n", "3")
    assert len(lab.begun()) == 6


def without_time_and_place(run: Run) -> dict[str, Any]:
    found = run.manifest.as_json()
    for name in ("started_at", "finished_at", "tree_sha256"):
        del found[name]
    del found["session"]["workspace"]
    found["files"] = [file for file in found["files"] if file["path"].startswith("output/")]
    return found


def test_what_an_agent_delivers_is_refused_as_on_one_machine(lab: Lab) -> None:
    lab.how("hostile")
    assert "failed" in lab.run(code=1)
    manifest = lab.frozen()["t1"].manifest
    assert manifest.status == "failed"
    assert manifest.session is not None
    assert "link" in (manifest.session.problem or "")


def test_a_failed_run_is_made_again_when_asked(lab: Lab) -> None:
    lab.how("fails")
    lab.run(code=1)
    lab.how("works")
    assert "kept, failed" in lab.run(code=1)
    lab.run("--rerun-failed")
    assert lab.frozen()["t1"].manifest.status == "completed"
    assert len(list((lab.root / "runs/.replaced").iterdir())) == 1


def test_stopped_it_keeps_what_is_finished_and_ends_what_goes_on(lab: Lab) -> None:
    lab.run()
    lab.how("waits")
    process = lab.start("-n", "3")
    until(lambda: len(lab.begun()) == 3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=BOUND_S)
    assert process.returncode == 2, out
    assert lab.frozen().keys() == {"t1"}
    until(lambda: not any(is_alive(pid) for pid, _ in lab.begun()))
    lab.how("works")
    assert "[1/3] t1: kept, completed" in lab.run("-n", "3")
    assert lab.frozen().keys() == {"t1", "t1.r2", "t1.r3"}


def test_the_run_of_a_lost_worker_begins_anew_twice(lab: Lab) -> None:
    lab.how("waits")
    process = lab.start("--work", str(lab.root / "work"))
    for times in (1, 2, 3):
        until(lambda times=times: len(lab.begun()) == times)  # type: ignore[misc]
        agent, worker = lab.begun()[-1]
        os.kill(worker, signal.SIGKILL)
        os.kill(agent, signal.SIGKILL)
    out, _ = process.communicate(timeout=BOUND_S)
    assert process.returncode == 4, out
    assert "the run begins anew (1 of 2)" in out
    assert "the run begins anew (2 of 2)" in out
    assert "t1: its workers were lost 3 times; what is finished is frozen" in out
    assert not lab.frozen()


def test_a_worker_without_the_key_is_one_message(lab: Lab) -> None:
    lab.system(endpoint={"key_variable": "NO_SUCH_KEY"})
    out = lab.run(code=4)
    assert "NO_SUCH_KEY is not set" in out
    assert not lab.frozen()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x"])
def test_a_cluster_that_is_not_there_is_one_message(lab: Lab, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_sciagent.harnesses import engine

    monkeypatch.setattr(engine, "CONNECT_S", 0.5)
    monkeypatch.chdir(lab.root)
    args = ("run", "t1", "--system-file", "system.yaml", "-o", "runs", "--tasks", "tasks", "--dask", address)
    code, _, err = sciagent(*args)
    assert code == 4
    assert f"the Dask cluster {address}: " in err


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ([("../out.csv", b"x")], "not a plain relative path"),
        ([("/tmp/out.csv", b"x")], "not a plain relative path"),
        ([("run.json", b"{}"), ("run.json", b"{}")], "is there twice"),
    ],
)
def test_files_that_a_worker_sends_stay_inside(tmp_path: Path, files: list[tuple[str, bytes]], told: str) -> None:
    parcel = Parcel(tuple((path, 0.0, data) for path, data in files))
    with pytest.raises(SciagentError, match=told):
        parcel.unpack(tmp_path / "run")
    assert not (tmp_path / "out.csv").exists()
