"""Systems run on tasks: each harness by a program of ours that speaks its command line and its output."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from sample import sciagent, write_task
from test_faults import small_disk

from pytest_sciagent.documents import parse_yaml
from pytest_sciagent.harnesses import process
from pytest_sciagent.harnesses.adapters import KNOWN_VERSIONS
from pytest_sciagent.models import RunManifest
from pytest_sciagent.models.system import SystemFile
from pytest_sciagent.runs import Run

FAKE = Path(__file__).parent / "fake_harness.py"
KEY = "sk-test-Zq8Rk2Lm9Xw4Vb7Nc1Ty6Pd3"
PROGRAMS = {
    "claude_code": "claude",
    "codex": "codex",
    "openscience": "openscience",
    "openclaw": "openclaw",
    "argv": "agent",
}
SDK = """
import os, runpy, sys
class DeepSeekHarness:
    def __init__(self, cwd=None, model=None):
        assert cwd == os.getcwd() and model == "m-1" and os.environ["DEEPSEEK_API_KEY"]
    def __enter__(self): return self
    def __exit__(self, *args): pass
    def run(self, prompt, session_id):
        sys.argv = ["deepseek", prompt]
        import io; sys.stdin = io.StringIO("")
        code = runpy.run_path(os.environ["FAKE_PROGRAM"])["main"]()
        if code: raise SystemExit(code)
        key = os.environ["DEEPSEEK_API_KEY"] if os.environ["FAKE"] == "spills" else ""
        return type("R", (), {"final_response": f"done {key}", "usage": {"input_tokens": 1500, "output_tokens": 200}})()
"""
ALL = sorted([*PROGRAMS, "deepseek_harness"])


class Lab:
    """A folder with a task, fake harnesses on the search path, and a key in the environment."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        write_task(root / "tasks" / "t1")
        self.bin = root / "bin"
        self.bin.mkdir()
        for program in PROGRAMS.values():
            path = self.bin / program
            path.write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        (self.bin / "deepseek_harness.py").write_text(SDK)
        info = self.bin / "deepseek_harness_sdk-0.1.0rc7.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deepseek-harness-sdk\nVersion: 0.1.0rc7\n")
        monkeypatch.setenv("PATH", f"{self.bin}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("MODEL_KEY", KEY)
        monkeypatch.setattr(process, "GRACE_S", 0.3)
        monkeypatch.chdir(root)

    def system(self, harness: str = "argv", fake: str = "works", **more: Any) -> Path:
        content: dict[str, Any] = {
            "schema": "sciagent-system/1",
            "name": "sys",
            "harness": harness,
            "model": "m-1",
            "endpoint": {"url": "http://127.0.0.1:9/v1", "key_variable": "MODEL_KEY"},
            "environment": {"FAKE": fake, "CALLS": str(self.root / "calls"), "CHILD": str(self.root / "child")},
            "limits": {"wall_s": 60},
        }
        if harness == "argv":
            content |= {
                "command": ["agent", "--work", "{workspace}", "{prompt}"],
                "version_command": ["agent", "--version"],
            }
            content["usage"] = {"input_tokens": "/usage/in", "output_tokens": "/usage/out", "cost_usd": "/usage/usd"}
        if harness == "deepseek_harness":
            content["environment"] |= {"PYTHONPATH": str(self.bin), "FAKE_PROGRAM": str(self.bin / "agent")}
        path = self.root / "system.yaml"
        path.write_text(json.dumps({**content, **more}))
        return path

    def run(self, *args: str, code: int | None = None, **how: Any) -> tuple[str, str]:
        path = self.system(**how)
        got, out, err = sciagent("run", "t1", "--system-file", path, "-o", "runs/sys", "--tasks", "tasks", *args)
        assert code is None or got == code, out + err
        return out, err

    def frozen(self, name: str = "t1") -> RunManifest:
        run = Run.load(self.root / "runs/sys" / name)
        assert run.problems() == []
        return run.manifest

    def problem(self) -> str:
        session = self.frozen().session
        assert session is not None
        return session.problem or ""

    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.root / "calls").read_text().splitlines()]

    def logs(self) -> str:
        return "".join(path.read_text() for path in (self.root / "runs/sys/t1/logs").iterdir())


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, monkeypatch)


@pytest.fixture(scope="module", params=ALL)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Lab]:
    """A run that works, prints its key and leaves a child behind."""
    harness = request.param
    with pytest.MonkeyPatch.context() as monkeypatch:
        lab = Lab(tmp_path_factory.mktemp(harness), monkeypatch)
        version = KNOWN_VERSIONS.get(harness, "1.2.3")
        out, _ = lab.run(harness=harness, fake="spills", harness_version=version, code=0)
        assert "1 completed" in out
    return harness, lab


def test_a_run_that_works_is_frozen_with_version_usage_and_prompts(ran: tuple[str, Lab]) -> None:
    harness, lab = ran
    manifest = lab.frozen()
    assert manifest.status == "completed"
    assert manifest.system.harness_version == KNOWN_VERSIONS.get(harness, "1.2.3")
    assert set(manifest.system.prompts) == {"CONTRACT.md", "PROMPT.md"}
    assert (manifest.usage.input_tokens, manifest.usage.output_tokens) == (1500, 200)
    assert manifest.usage.cost_usd == (0.25 if harness in ("claude_code", "openscience", "argv") else None)
    assert manifest.inputs.before == manifest.inputs.after
    assert manifest.inputs.before
    assert manifest.report == "output/Result.md"
    session = manifest.session
    assert session is not None
    assert (session.problem, session.fixing_turns, session.fixing_turns_used, session.delivery) == (None, 2, 0, ())


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="strays of a run are found by /proc")
def test_a_child_left_behind_is_ended(ran: tuple[str, Lab]) -> None:
    _, lab = ran
    state = Path(f"/proc/{int((lab.root / 'child').read_text())}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"
    turn = json.loads((lab.root / "runs/sys/t1/logs/turns.jsonl").read_text().splitlines()[0])
    assert turn["left_behind"] >= 1


def test_a_printed_secret_is_masked(ran: tuple[str, Lab]) -> None:
    _, lab = ran
    assert "[masked]" in lab.logs()
    for path in (lab.root / "runs").rglob("*"):
        assert path.is_dir() or KEY not in path.read_text()


COMMAND_LINES = {
    "claude_code": "--print --bare --dangerously-skip-permissions --model m-1 --tools default "
    "--output-format stream-json --verbose",
    "codex": "exec --skip-git-repo-check --ignore-rules --dangerously-bypass-approvals-and-sandbox --json -m m-1 -C",
    "openscience": "run --model sciagent/m-1 --agent research --format json",
    "openclaw": "agent --local --agent main --session-id sciagent --message",
}


def test_the_command_line_is_the_one_that_the_documentation_tells(ran: tuple[str, Lab]) -> None:
    harness, lab = ran
    if harness not in COMMAND_LINES:
        return
    calls = lab.calls()
    expected = COMMAND_LINES[harness].split()
    assert calls[-1]["args"][: len(expected)] == expected
    assert "CONTRACT.md" in calls[-1]["stdin"] + " ".join(calls[-1]["args"])
    assert calls[-1]["cwd"].endswith("/workspace")
    setup = {"openscience": ["local"], "openclaw": ["onboard", "setup"]}
    assert [call["args"][0] for call in calls[:-1]] == ["--version", *setup.get(harness, [])]
    docs = (Path(__file__).parent.parent / "docs" / "tasks.md").read_text()
    assert f"{COMMAND_LINES[harness].split(' --model')[0].split(' -m ')[0]}" in docs


@pytest.mark.parametrize("harness", ALL)
def test_a_harness_that_fails_is_a_failed_run(lab: Lab, harness: str) -> None:
    out, _ = lab.run(harness=harness, fake="fails", code=1)
    assert "exit code 3" in out
    assert lab.frozen().status == "failed"
    assert lab.frozen().exit_code == 3
    assert "out of luck" in lab.logs()


@pytest.mark.parametrize("harness", ALL)
def test_a_harness_that_hangs_is_stopped(lab: Lab, harness: str) -> None:
    began = time.monotonic()
    lab.run(harness=harness, fake="hangs", limits={"wall_s": 1.5}, code=1)
    assert time.monotonic() - began < 20
    assert lab.frozen().status == "timed_out"
    assert lab.problem() == "stopped: wall time"


def test_a_delivered_secret_is_withheld_and_fails_the_run(lab: Lab) -> None:
    lab.run(fake="delivers-secret", code=1)
    assert lab.problem() == "output/env.txt is a file that holds a secret"
    session = lab.frozen().session
    assert session is not None
    assert session.withheld == ("output/env.txt",)
    assert not (lab.root / "runs/sys/t1/output/env.txt").exists()
    assert (lab.root / "runs/sys/t1/output/Result.md").exists()


@pytest.mark.parametrize(
    ("fake", "problem"),
    [
        ("changes-data", "files of data/ were changed"),
        ("no-report", "the run delivered no report"),
        ("links", "output/link.csv is a symbolic link"),
    ],
)
def test_what_cannot_be_taken_fails_the_run(lab: Lab, fake: str, problem: str) -> None:
    lab.run(fake=fake, code=1)
    assert lab.problem() == problem


def test_a_delivery_that_cannot_be_frozen_is_a_failed_run_without_one(lab: Lab) -> None:
    lab.run(fake="odd-name", code=1)
    assert lab.problem().startswith("the delivery can't be frozen")
    assert not [f for f in lab.frozen().files if f.path.startswith("output/")]


@pytest.mark.parametrize(
    ("script", "gone"),
    [
        ('cd / && rm -rf "$1"', "workspace"),
        ('cd / && rm -rf "$1" && echo text > "$1"', "workspace"),
        ('cd / && mv "$1" "$1.old" && ln -s "$2" "$1"', "workspace"),
        ('cd / && rm -rf "$(dirname "$1")"/*', "workspace, home, workspace-logs"),
        ('cd / && rm -rf "$(dirname "$1")"', "sciagent-*, workspace, home, workspace-logs"),
    ],
    ids=["removed", "a file", "a link", "all folders", "the folder of all"],
)
def test_a_harness_that_takes_its_folders_away_is_a_failed_run(lab: Lab, script: str, gone: str) -> None:
    elsewhere = lab.root / "elsewhere"
    (elsewhere / "output").mkdir(parents=True)
    (elsewhere / "output" / "link").symlink_to(elsewhere)
    (elsewhere / "output" / "Result.md").write_text("# Somebody's own\n")
    lab.run(command=["/bin/sh", "-c", script, "sh", "{workspace}", str(elsewhere)], version_command=[], code=1)
    manifest = lab.frozen()
    assert (manifest.status, manifest.report) == ("failed", None)
    assert not any(file.path.startswith("output/") for file in manifest.files)
    assert fnmatch(lab.problem(), f"the harness took away the folder of the run: {gone}")
    # What a link leads to is neither taken in nor tidied up.
    assert (elsewhere / "output" / "link").is_symlink()
    assert list(elsewhere.iterdir()) == [elsewhere / "output"]


@pytest.mark.parametrize("place", ["file", "file/below", "link/t1", "/proc/nothing"])
def test_a_place_where_nothing_can_be_frozen_is_told_before_anything_is_spent(lab: Lab, place: str) -> None:
    (lab.root / "file").write_text("no folder")
    (lab.root / "link").mkdir()
    (lab.root / "link" / "t1").symlink_to(lab.root / "nowhere")
    output = "link" if place == "link/t1" else place
    code, out, err = sciagent("run", "t1", "--system-file", lab.system(), "-o", output, "--tasks", "tasks")
    assert (code, out) == (4, "")
    assert place in err
    assert len(err.splitlines()) == 1
    assert not (lab.root / "calls").exists()


def test_what_an_agent_left_is_kept_where_nothing_can_be_frozen(lab: Lab) -> None:
    """The place is there when the run starts, and a file when it ends."""
    script = 'mkdir -p "$1/output"; echo "# Costly" > "$1/output/Result.md"; rmdir runs/sys; echo x > runs/sys'
    script = f"cd {lab.root} && {script}"
    command = ["/bin/sh", "-c", script, "sh", "{workspace}"]
    _, err = lab.run("--work", str(lab.root / "work"), command=command, version_command=[], fixing_turns=0, code=4)
    assert "freeze it with sciagent freeze" in err
    kept = Path(err.partition("is kept in ")[2].partition(";")[0])
    assert (kept / "output" / "Result.md").read_text() == "# Costly\n"
    assert sciagent("freeze", kept, "--task", "t1", "--system", "sys", "-o", "saved")[0] == 0


def test_a_full_disk_never_makes_an_empty_run_of_an_agents_work(lab: Lab) -> None:
    """A run without its delivery would fit on the disk, and would count as 0."""
    script = 'mkdir -p "$1/output"; echo "# Costly" > "$1/output/Result.md"; head -c 300000 /dev/zero > "$1/output/z"'
    command = ["/bin/sh", "-c", script, "sh", "{workspace}"]
    with small_disk(lab.root / "runs", "128k"):
        _, err = lab.run("--work", str(lab.root / "work"), command=command, version_command=[], fixing_turns=0, code=4)
        assert not list((lab.root / "runs").rglob("run.json"))
    assert "No space left on device" in err
    kept = Path(err.partition("is kept in ")[2].partition(";")[0])
    assert (kept / "output" / "Result.md").read_text() == "# Costly\n"


def test_a_command_that_cannot_be_started_is_no_run_of_the_system(lab: Lab) -> None:
    out, _ = lab.run(environment={"BAD": "nul \0"}, version_command=[], code=1)
    assert "can't be started" in out
    session = lab.frozen().session
    assert session is not None
    assert session.started is False
    out, _ = lab.run(code=0)  # run again, though the system file is another one now
    assert "the failed run is moved to" in out


@pytest.mark.parametrize("command", [("assemble", "t1", "file/below"), ("schema", "file/below")])
def test_a_folder_that_cannot_be_made_is_one_message(lab: Lab, command: tuple[str, ...]) -> None:
    (lab.root / "file").write_text("no folder")
    code, _, err = sciagent(*command)
    assert code == 4
    assert "file" in err
    assert len(err.splitlines()) == 1


def test_a_task_named_twice_is_run_once(lab: Lab) -> None:
    out, _ = lab.run("t1", code=0)
    assert out.splitlines()[-1].startswith("1 run ")


def test_a_full_disk_stops_the_harness(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    streams = process.Streams(full, tmp_path / "err", (), lambda line: None, 1_000)
    ended = process.run_command(
        ["sh", "-c", "echo x; sleep 60"],
        cwd=tmp_path,
        environment={},
        stdin=None,
        streams=streams,
        deadline=None,
        passed=lambda: None,
    )
    assert ended.stopped == "the logs can't be written: No space left on device"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_ends_the_harness_and_leaves_nothing(lab: Lab, number: signal.Signals) -> None:
    work = lab.root / "work"
    args = ["run", "t1", "--system-file", str(lab.system(fake="hangs")), "-o", "runs/sys", "--tasks", "tasks"]
    command = [sys.executable, "-c", "from pytest_sciagent.cli import main; main()", *args, "--work", str(work)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    child = lab.root / "child"
    deadline = time.monotonic() + 30
    while not (child.exists() and child.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(number)
    _, err = running.communicate(timeout=30)
    assert (running.returncode, "interrupted" in err) == (2, True)
    assert not list(work.iterdir())
    assert not (lab.root / "runs/sys/t1").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(child.read_text()), 0)


def test_files_outside_output_are_told_and_fail_nothing(lab: Lab) -> None:
    lab.run(fake="strays", code=0)
    session = lab.frozen().session
    assert session is not None
    assert session.strays == ("added: scratch.txt",)


@pytest.mark.parametrize("harness", ALL)
def test_the_delivery_is_mended_in_as_many_turns_as_all_get(lab: Lab, harness: str) -> None:
    lab.run(harness=harness, fake="needs-mending", code=0)
    session = lab.frozen().session
    assert session is not None
    assert (session.fixing_turns_used, session.delivery) == (1, ())
    assert lab.frozen().usage.input_tokens == 3000
    turns = [call for call in lab.calls() if "names no code file" in json.dumps(call)]
    assert len(turns) == 1
    resumed = {
        "claude_code": ["--resume", "s-1"],
        "codex": ["exec", "resume"],
        "openscience": ["--continue"],
        "openclaw": ["--session-id", "sciagent"],
    }
    for word in resumed.get(harness, []):
        assert word in turns[0]["args"]


def test_without_turns_the_delivery_stays_as_it_is(lab: Lab) -> None:
    lab.run(fake="needs-mending", fixing_turns=0, code=0)
    session = lab.frozen().session
    assert session is not None
    assert session.fixing_turns_used == 0
    assert "names no code file" in session.delivery[0]


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"harness": "codex", "harness_version": "0.150.0"}, "has version 0.149.0, the system file asks for 0.150.0"),
        ({"version_command": ["false"]}, "does not tell its version"),
    ],
)
def test_a_harness_of_another_version_is_a_failed_run(lab: Lab, how: dict[str, Any], problem: str) -> None:
    out, _ = lab.run(code=1, **how)
    assert problem in out
    assert problem in lab.problem()
    lab.run(code=0, harness=how.get("harness", "argv"))  # by a system file that was put right
    assert lab.frozen().status == "completed"


def test_a_missing_harness_is_a_failed_run_and_blocks_nothing(lab: Lab) -> None:
    (lab.bin / "agent").rename(lab.bin / "later")
    lab.run(code=1)
    assert "the harness is not installed: no program 'agent'" in lab.problem()
    (lab.bin / "later").rename(lab.bin / "agent")
    lab.run(code=0)
    assert lab.frozen().status == "completed"


def test_prompts_of_the_system_are_told_first_and_recorded(lab: Lab) -> None:
    (lab.root / "prompts").mkdir()
    prompt = lab.root / "prompts" / "agent.md"
    prompt.write_bytes(b"Be careful.\r\nState every number with its file.\n")
    lab.run(prompts=["prompts/agent.md"], code=0)
    recorded = lab.frozen().system.prompts
    assert set(recorded) == {"CONTRACT.md", "PROMPT.md", "agent.md"}
    assert recorded["agent.md"] == hashlib.sha256(prompt.read_bytes()).hexdigest()
    told = lab.calls()[-1]["args"][-1]
    assert told.startswith("Be careful.")
    assert "CONTRACT.md" in told, "the task's own prompt follows"
    out, _ = lab.run(prompts=["prompts/agent.md"], code=0)
    assert "kept" in out
    prompt.write_text("Be quick.\n")
    _, err = lab.run(prompts=["prompts/agent.md"], code=4)
    assert "was run with another system file" in err, "a run by other words is another run"


def test_limits_on_tokens_and_cost_stop_a_run(lab: Lab) -> None:
    lab.run(fake="talks", usage_sum=True, limits={"wall_s": 60, "tokens": 6000}, code=1)
    assert lab.problem() == "stopped: tokens"
    lab.run("--rerun-failed", fake="talks", usage_sum=True, name="sys2", limits={"wall_s": 60, "cost_usd": 1}, code=4)


def test_a_suite_goes_on_where_it_was_interrupted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_sciagent.harnesses import session

    begun = []
    whole = session.take_turns

    def interrupted(state: Any) -> None:
        begun.append(state)
        if len(begun) == 2:
            raise KeyboardInterrupt
        whole(state)

    monkeypatch.setattr(session, "take_turns", interrupted)
    _, err = lab.run("-n", "3", code=2)
    assert "interrupted" in err
    assert sorted(p.name for p in (lab.root / "runs/sys").iterdir()) == ["t1"]
    monkeypatch.setattr(session, "take_turns", whole)
    out, _ = lab.run("-n", "3", code=0)
    assert "[1/3] t1: kept, completed" in out
    assert [lab.frozen(name).repeat for name in ("t1", "t1.r2", "t1.r3")] == [1, 2, 3]


def test_a_failed_run_is_run_again_when_asked(lab: Lab) -> None:
    state = lab.root / "state"
    state.write_text("fails")
    script = lab.bin / "agent"
    script.write_text(
        script.read_text().replace('fake = os.environ["FAKE"]', f"fake = Path({str(state)!r}).read_text()")
    )
    lab.run(code=1)
    state.write_text("works")
    out, _ = lab.run(code=1)
    assert "kept, failed" in out
    out, _ = lab.run("--rerun-failed", code=0)
    assert len(list((lab.root / "runs/sys/.replaced").iterdir())) == 1
    assert lab.frozen().status == "completed"


def test_a_log_that_cannot_be_written_stops_the_run(lab: Lab) -> None:
    lab.run(fake="talks", limits={"wall_s": 60, "log_bytes": 2000}, code=1)
    assert lab.problem() == "stopped: size of the logs"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"harness": "claude"}, "harness"),
        ({"nam": "x"}, "did you mean 'name'?"),
        ({"harness": "codex", "model": None}, "harness codex needs a model"),
        ({"endpoint": {"key_variable": "NO_SUCH_KEY"}}, "variable NO_SUCH_KEY is not set"),
        ({"command": ["agent", "{prmpt}"]}, "no placeholder {prmpt}"),
        ({"continue_command": ["agent", "{session}"]}, "no placeholder {session}"),
        ({"container": ["docker", "run", "-v", "{worspace}:/work"]}, "no placeholder {worspace}"),
        ({"limits": {"wall_s": 0}}, "wall_s"),
        ({"prompts": ["nowhere.md"]}, "nowhere.md: the prompt can't be read"),
        ({"prompts": ["bin"]}, "bin: the prompt can't be read"),
        ({"prompts": ["system.yaml", "./system.yaml"]}, "another one has it"),
        ({"prompts": ["PROMPT.md"]}, "another one has it"),
    ],
)
def test_a_bad_system_file_is_refused(lab: Lab, change: dict[str, Any], message: str) -> None:
    harness = change.pop("harness", "argv")
    out, err = lab.run(harness=harness, code=4, **change)
    assert message in err, out + err
    assert not (lab.root / "runs").exists()
    assert not (lab.root / "calls").exists()


def test_the_system_file_of_the_documentation_is_one() -> None:
    docs = (Path(__file__).parent.parent / "docs" / "tasks.md").read_text()
    shown = docs.split("```yaml\n")[1].split("```")[0]
    system = parse_yaml(shown, SystemFile, "docs/tasks.md")
    assert system.container[0] == "docker"
    assert system.fixing_turns == 2


def test_a_container_command_comes_first(lab: Lab) -> None:
    lab.run(container=["env", "INSIDE={home}"], code=0)
    assert lab.frozen().status == "completed"
