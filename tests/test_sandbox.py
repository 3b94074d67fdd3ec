"""The sandbox: what a command sees and can do, how each limit stops it, and that nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import sysconfig
import textwrap
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_sciagent.evidence import sandbox
from pytest_sciagent.evidence.sandbox import (
    Limits,
    Outcome,
    SandboxUnavailable,
    isolation_available,
    layout,
    run_sandboxed,
)

isolated = pytest.mark.skipif(isolation_available() == "none", reason="no bubblewrap or user namespaces here")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
QUICK = Limits(wall_s=20, cpu_s=20)


class Runner:
    """Runs Python code as `/verify/script.py`; the marker in its command line finds what is left of it."""

    def __init__(self, folder: Path) -> None:
        self.marker = f"marker-{uuid.uuid4().hex}"
        self.verify = folder / "verify"
        self.verify.mkdir()

    def __call__(
        self,
        code: str,
        *,
        limits: Limits = QUICK,
        inputs: dict[Path, str] | None = None,
        scratch: Path | None = None,
        network: bool = False,
        unsafe: bool = False,
    ) -> Outcome:
        (self.verify / "script.py").write_text(textwrap.dedent(code), encoding="utf-8")
        argv = [sys.executable, "/verify/script.py", self.marker]
        places = {self.verify: "/verify", **(inputs or {})}
        return run_sandboxed(argv, inputs=places, scratch=scratch, limits=limits, network=network, unsafe=unsafe)

    def left(self) -> list[int]:
        """Processes with the marker: the script, what it started, and those that set the sandbox up."""
        return [pid for pid in _pids() if self.marker.encode() in _command_line(pid)]

    def started(self) -> None:
        """Wait until the script itself is seen."""
        deadline = time.monotonic() + 20
        while all(b"enter.py" in _command_line(pid) for pid in self.left()):
            assert time.monotonic() < deadline, "it never started"
            time.sleep(0.02)

    def gone(self) -> None:
        """Wait until none is left."""
        deadline = time.monotonic() + 10
        while self.left():
            assert time.monotonic() < deadline, "it is still there"
            time.sleep(0.02)


def _pids() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.fixture
def without_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "isolation_available", lambda: "none")


# What it sees


@isolated
def test_scientific_python_works(run: Runner) -> None:
    outcome = run("""
        import numpy, pandas, scipy.stats
        frame = pandas.DataFrame({"x": numpy.arange(4.0)})
        print(frame.x.mean(), round(scipy.stats.norm.cdf(0.0), 3))
    """)
    assert (outcome.returncode, outcome.stdout, outcome.stopped) == (0, "1.5 0.5\n", None), outcome.stderr
    assert outcome.isolation == isolation_available()
    assert 0 < outcome.duration_s < QUICK.wall_s


@isolated
def test_modules_next_to_the_script_can_be_imported(run: Runner) -> None:
    (run.verify / "common.py").write_text("ANSWER = 42\n", encoding="utf-8")
    assert run("import common; print(common.ANSWER)").stdout == "42\n"
    assert not (run.verify / "__pycache__").exists()


@isolated
def test_the_isolated_mode_of_python_works(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys, numpy; print(sys.argv[1])", encoding="utf-8")
    outcome = run_sandboxed([sys.executable, "-I", "/verify.py", "/data"], inputs={script: "/verify.py"}, limits=QUICK)
    assert outcome.stdout == "/data\n"


@isolated
def test_inputs_are_readable_even_if_only_their_owner_may_read_them(run: Runner, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    table = data / "table.csv"
    table.write_text("a\n1\n", encoding="utf-8")
    table.chmod(0o600)
    assert run("print(open('/data/table.csv').read().split())", inputs={data: "/data"}).stdout == "['a', '1']\n"
    assert run("print(open('/one.csv').read().split())", inputs={table: "/one.csv"}).stdout == "['a', '1']\n"


@isolated
def test_inputs_cannot_be_changed(run: Runner, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "table.csv").write_text("a\n", encoding="utf-8")
    for attack in (
        "open('/data/table.csv', 'a').write('x')",
        "open('/data/new.csv', 'w')",
        "os.unlink('/data/table.csv')",
        "os.chmod('/data/table.csv', 0)",
        "os.utime('/data/table.csv', (0, 0))",
    ):
        outcome = run(f"import os\n{attack}", inputs={data: "/data"})
        assert outcome.returncode == 1
        assert "Read-only file system" in outcome.stderr
    assert [path.name for path in data.iterdir()] == ["table.csv"]
    assert (data / "table.csv").read_text(encoding="utf-8") == "a\n"


@isolated
def test_nothing_else_can_be_read(run: Runner, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden", encoding="utf-8")
    (run.verify / "link.txt").symlink_to(secret)
    outcome = run(f"""
        import os
        for path in ({str(secret)!r}, "/verify/link.txt", "/verify/../secret.txt", os.path.expanduser("~/.ssh"),
                     {str(Path.home() / ".bashrc")!r}, "/etc/passwd", "/etc/shadow", "/var", "/sys"):
            try:
                print(open(path).read() if not os.path.isdir(path) else os.listdir(path))
            except OSError:
                pass
        print("end", sorted(os.listdir("/tmp") + os.listdir("/scratch")))
    """)
    assert outcome.stdout == "end []\n"


@isolated
def test_the_answers_installed_with_this_package_are_hidden(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(sysconfig.get_path("purelib")) / "pytest"
    code = f"import os; print(os.listdir({str(folder)!r})); open({str(folder / 'x')!r}, 'w')"
    assert "__init__.py" in run(code).stdout
    monkeypatch.setattr(layout, "SHIPPED", folder)
    outcome = run(code)
    assert outcome.stdout == "[]\n"
    assert "Read-only file system" in outcome.stderr


@isolated
def test_writing_outside_scratch_fails(run: Runner, tmp_path: Path) -> None:
    target = tmp_path / "written.txt"
    outcome = run(f"open({str(target)!r}, 'w').write('x')")
    assert outcome.returncode == 1
    assert "No such file or directory" in outcome.stderr
    assert not target.exists()
    outcome = run(f"""
        import os, sys
        places = ["/", "/etc", "/usr", "/usr/lib", "/dev", "/proc", "/verify", "/root", "/home", "/run"]
        places += [os.path.dirname(os.__file__), os.path.dirname(sys.executable), {str(Path(sys.prefix))!r}]
        for place in places:
            try:
                open(place + "/sciagent-was-here", "w")
                print("written in", place)
            except OSError:
                pass
        try:
            open("/proc/sys/kernel/core_pattern", "w").write("x")
            print("kernel settings changed")
        except OSError:
            pass
    """)
    assert (outcome.returncode, outcome.stdout) == (0, "")


@isolated
def test_scratch_is_writable_and_lost_or_kept(run: Runner, tmp_path: Path) -> None:
    code = "import os, tempfile; print(os.getcwd(), tempfile.gettempdir()); open('x', 'w').write('kept')"
    assert run(code).stdout == "/scratch /scratch\n"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert run(code, scratch=scratch).returncode == 0
    assert (scratch / "x").read_text(encoding="utf-8") == "kept"


@isolated
def test_the_environment_does_not_leak(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-12345")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    outcome = run("""
        import os, glob
        print(sorted(os.environ))
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                print("sk-12345" in open(path).read())
            except OSError:
                pass
    """)
    names = outcome.stdout.splitlines()[0]
    assert "'HOME'" in names
    assert "SECRET" not in names
    assert "PYTHONPATH" not in names
    assert "True" not in outcome.stdout


@isolated
def test_no_rights_are_left(run: Runner) -> None:
    outcome = run("""
        import os, subprocess, ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        print("user", os.getuid() != 0)
        print("unshare", libc.unshare(0x10000000), libc.unshare(0x20000))
        print("mount", libc.mount(b"none", b"/scratch", b"tmpfs", 0, None))
        print("chroot", libc.chroot(b"/scratch"))
        print("others", [pid for pid in os.listdir("/proc") if pid.isdecimal() and int(pid) > 20])
        print("new privileges", [line.split()[1] for line in open("/proc/self/status") if "NoNewPrivs" in line])
    """)
    assert outcome.stdout.splitlines() == [
        "user True",
        "unshare -1 -1",
        "mount -1",
        "chroot -1",
        "others []",
        "new privileges ['1']",
    ], outcome.stderr


# The network


@isolated
def test_a_socket_reaches_nothing(run: Runner) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), timeout=5)"
        outcome = run(code)
        assert outcome.returncode == 1
        assert "OSError" in outcome.stderr or "ConnectionRefusedError" in outcome.stderr
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
        assert run(code, network=True).returncode == 0


@isolated
@linux
def test_unnamed_sockets_and_other_families_reach_nothing(run: Runner) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        name = f"\0sciagent-{uuid.uuid4().hex}"
        server.bind(name)
        server.listen()
        outcome = run(f"""
            import socket
            with socket.socket(socket.AF_UNIX) as client:
                try:
                    client.connect({name!r})
                    print("connected")
                except OSError:
                    pass
            try:
                socket.socket(socket.AF_VSOCK)
                print("opened")
            except OSError:
                pass
            left, right = socket.socketpair()
            left.send(b"fine")
            print(right.recv(4).decode())
        """)
    assert outcome.stdout == "fine\n", outcome.stderr


# Limits


@isolated
def test_a_sleeper_is_stopped(run: Runner) -> None:
    outcome = run("import time; print('asleep', flush=True); time.sleep(60)", limits=Limits(wall_s=1))
    assert (outcome.stopped, outcome.returncode, outcome.stdout) == ("wall time", None, "asleep\n")
    assert outcome.duration_s < 4
    assert run.left() == []


@isolated
def test_a_sleeper_that_ignores_signals_and_closed_its_streams_is_stopped(run: Runner) -> None:
    outcome = run(
        """
        import os, signal, time
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.close(1), os.close(2)
        time.sleep(60)
        """,
        limits=Limits(wall_s=1),
    )
    assert outcome.stopped == "wall time"
    assert run.left() == []


@isolated
def test_a_spinner_is_stopped(run: Runner) -> None:
    outcome = run("while True: pass", limits=Limits(wall_s=20, cpu_s=1))
    assert outcome.stopped == "cpu time"
    assert outcome.duration_s < 10


@isolated
def test_a_spinner_that_ignores_the_warning_is_killed(run: Runner) -> None:
    code = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    outcome = run(code, limits=Limits(wall_s=20, cpu_s=1))
    assert outcome.stopped == "killed"


@isolated
def test_a_memory_hog_fails(run: Runner) -> None:
    outcome = run("held = [bytearray(8 << 20) for _ in range(500)]", limits=Limits(wall_s=20, memory_bytes=256 << 20))
    assert (outcome.returncode, outcome.stopped) == (1, None)
    assert "MemoryError" in outcome.stderr


@isolated
def test_memory_of_all_processes_together_is_limited(run: Runner) -> None:
    outcome = run(
        """
        import os, time
        for _ in range(5):
            if os.fork() == 0:
                break
        held = bytearray(os.urandom(1) * (60 << 20))
        time.sleep(60)
        """,
        limits=Limits(wall_s=20, memory_bytes=200 << 20),
    )
    assert outcome.stopped == "memory"
    assert run.left() == []


@isolated
def test_memory_that_children_have_in_common_counts_once(run: Runner) -> None:
    outcome = run(
        """
        import os, time
        held = bytearray(os.urandom(1) * (60 << 20))
        children = 0
        for _ in range(5):
            if os.fork() == 0:
                time.sleep(1)
                os._exit(0)
            children += 1
        print(children, [os.wait()[1] for _ in range(children)])
        """,
        limits=Limits(wall_s=20, memory_bytes=200 << 20),
    )
    assert outcome.stdout == "5 [0, 0, 0, 0, 0]\n", outcome


@isolated
def test_memory_of_no_process_cannot_be_had(run: Runner) -> None:
    outcome = run("import os; os.memfd_create('hidden')")
    assert "PermissionError" in outcome.stderr


@isolated
def test_a_fork_bomb_fails_and_leaves_nothing(run: Runner) -> None:
    outcome = run(
        """
        import os, time
        for number in range(300):
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            print(number + 1, flush=True)
        """,
        limits=Limits(wall_s=20, processes=20),
    )
    assert outcome.returncode == 1
    assert "BlockingIOError" in outcome.stderr
    assert outcome.stdout.split()[-1] in ("18", "19")
    assert run.left() == []


@isolated
def test_a_fork_bomb_that_does_not_give_up_is_stopped(run: Runner) -> None:
    outcome = run(
        """
        import os, time
        for number in range(300):
            try:
                if os.fork() == 0:
                    time.sleep(60)
            except OSError:
                time.sleep(0.01)
        time.sleep(60)
        """,
        limits=Limits(wall_s=2, processes=20),
    )
    assert outcome.stopped == "wall time"
    assert run.left() == []


@isolated
def test_two_sandboxes_do_not_count_each_others_processes(tmp_path: Path) -> None:
    code = """
        import os, time
        for _ in range(15):
            if os.fork() == 0:
                time.sleep(1)
                os._exit(0)
        time.sleep(1)
        print("fine")
    """
    outcomes: list[Outcome] = []
    threads = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        run = Runner(tmp_path / name)
        threads.append(
            threading.Thread(target=lambda run=run: outcomes.append(run(code, limits=Limits(wall_s=20, processes=20))))
        )
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.stdout for outcome in outcomes] == ["fine\n", "fine\n"], outcomes


@isolated
def test_a_daemon_does_not_outlive_its_script(run: Runner) -> None:
    outcome = run("""
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]])
            os._exit(0)
        os.wait()
        time.sleep(0.3)
        print("done")
    """)
    assert (outcome.returncode, outcome.stdout, outcome.stopped) == (0, "done\n", None)
    assert outcome.duration_s < 10
    assert run.left() == []


@isolated
def test_endless_output_is_stopped(run: Runner) -> None:
    outcome = run("while True: print('x' * 1000)", limits=Limits(wall_s=20, output_bytes=100_000))
    assert outcome.stopped == "output"
    assert len(outcome.stdout) == 100_000


@isolated
def test_output_up_to_the_limit_is_kept_and_decoded(run: Runner) -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xff' * 1000); sys.stderr.write('y' * 1000)"
    outcome = run(code, limits=Limits(wall_s=20, output_bytes=2000))
    assert (outcome.stdout, outcome.stderr, outcome.stopped) == ("\N{REPLACEMENT CHARACTER}" * 1000, "y" * 1000, None)


@isolated
@pytest.mark.parametrize("place", ["/scratch", "/tmp", "/dev/shm"])
def test_a_huge_file_fails(run: Runner, place: str) -> None:
    code = f"with open('{place}/x', 'wb') as f:\n    for _ in range(100): f.write(bytes(1 << 20))"
    outcome = run(code, limits=Limits(wall_s=20, file_bytes=4 << 20))
    assert outcome.returncode == 1
    assert "File too large" in outcome.stderr or "No space left" in outcome.stderr


@isolated
def test_many_files_fill_scratch_no_further(run: Runner, tmp_path: Path) -> None:
    code = """
        import time
        for number in range(20):
            with open(f"/scratch/{number}", "wb") as file:
                file.write(bytes(1 << 20))
        time.sleep(60)
    """
    limits = Limits(wall_s=20, file_bytes=4 << 20)
    outcome = run(code, limits=limits)
    assert "No space left" in outcome.stderr
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert run(code, limits=limits, scratch=scratch).stopped == "scratch"


@isolated
def test_the_end_by_a_signal_shows_in_the_exit_code(run: Runner) -> None:
    assert run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)").returncode == 128 + signal.SIGSEGV
    assert run("raise SystemExit(7)").returncode == 7


@isolated
def test_a_signal_to_everyone_stays_inside(run: Runner) -> None:
    outcome = run("""
        import contextlib, os, signal
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(1, signal.SIGKILL)
        os.kill(0, signal.SIGKILL)
    """)
    assert outcome.stopped == "killed"


@isolated
def test_a_command_that_is_not_there_is_named() -> None:
    outcome = run_sandboxed(["/nowhere/program"], inputs={}, limits=QUICK)
    assert outcome.returncode == 127
    assert outcome.stderr == "/nowhere/program: No such file or directory\n"


# Its end, seen from the caller


@isolated
@linux
def test_an_interrupt_ends_the_command_too(run: Runner) -> None:
    def interrupt() -> None:
        run.started()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run("import time; time.sleep(60)", limits=Limits(wall_s=30))
    thread.join()
    assert run.left() == []


@isolated
@linux
@pytest.mark.parametrize("unsafe", [False, True])
def test_the_death_of_the_caller_ends_the_command_too(run: Runner, unsafe: bool) -> None:
    (run.verify / "script.py").write_text("import time; time.sleep(60)", encoding="utf-8")
    caller = f"""if True:
        import sys
        from pathlib import Path
        from pytest_sciagent.evidence import sandbox
        if {unsafe}:
            sandbox.isolation_available = lambda: "none"
        argv = [sys.executable, "/verify/script.py", "{run.marker[:20]}" + "{run.marker[20:]}"]
        sandbox.run_sandboxed(argv, inputs={{Path({str(run.verify)!r}): "/verify"}}, unsafe=True)
    """
    environment = {**os.environ, "TMPDIR": str(run.verify.parent)}
    with subprocess.Popen([sys.executable, "-c", caller], env=environment) as process:
        run.started()
        process.kill()
    run.gone()


@isolated
def test_nothing_is_left_in_the_temporary_folder(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert run("open('/scratch/x', 'w').write('x')").returncode == 0
    assert list(temporary.iterdir()) == []


# Mistakes of the caller


@isolated
@pytest.mark.parametrize(
    "inside", ["data", "/", "/data/../x", "/data/", "/usr/data", "/scratch", "/proc/x", "/tmp", sys.prefix, "/dev/shm"]
)
def test_an_unfit_place_inside_is_refused(tmp_path: Path, inside: str) -> None:
    with pytest.raises(ValueError, match="inside the sandbox"):
        run_sandboxed([sys.executable, "-c", ""], inputs={tmp_path: inside})


@isolated
def test_inputs_within_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(ValueError, match="two things"):
        run_sandboxed([sys.executable, "-c", ""], inputs={tmp_path: "/data", tmp_path / "x": "/data/x"})


@isolated
def test_inputs_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_sandboxed([sys.executable, "-c", ""], inputs={tmp_path / "absent": "/data"})
    with pytest.raises(FileNotFoundError):
        run_sandboxed([sys.executable, "-c", ""], inputs={}, scratch=tmp_path / "absent")


@isolated
def test_no_command_is_refused() -> None:
    with pytest.raises(ValueError, match="no command"):
        run_sandboxed([], inputs={})


# Without isolation


@pytest.mark.usefixtures("without_isolation")
def test_without_isolation_nothing_runs(run: Runner, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with pytest.raises(SandboxUnavailable, match="--sciagent-unsafe-rerun"):
        run(f"open({str(ran)!r}, 'w')")
    assert not ran.exists()


@pytest.mark.usefixtures("without_isolation")
def test_the_unsafe_mode_runs_with_paths_of_the_host(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-12345")
    data = tmp_path / "data"
    data.mkdir()
    (data / "table.csv").write_text("a\n", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, os; print(open(sys.argv[1]).read().strip(), sys.argv[2], 'SECRET_API_KEY' in os.environ);"
        "open('x', 'w').write('kept')",
        encoding="utf-8",
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    outcome = run_sandboxed(
        [sys.executable, "/script.py", "/data/table.csv", "/database"],
        inputs={script: "/script.py", data: "/data"},
        scratch=scratch,
        limits=QUICK,
        unsafe=True,
    )
    assert (outcome.stdout, outcome.isolation) == ("a /database False\n", "none"), outcome.stderr
    assert (scratch / "x").read_text(encoding="utf-8") == "kept"
    assert run("open('x', 'w').write('lost')", unsafe=True).returncode == 0


@linux
@pytest.mark.usefixtures("without_isolation")
def test_the_unsafe_mode_has_limits(run: Runner) -> None:
    assert run("import time; time.sleep(60)", limits=Limits(wall_s=1), unsafe=True).stopped == "wall time"
    assert run("while True: pass", limits=Limits(wall_s=20, cpu_s=1), unsafe=True).stopped == "cpu time"
    hog = run("bytearray(1 << 30)", limits=Limits(wall_s=20, memory_bytes=256 << 20), unsafe=True)
    assert "MemoryError" in hog.stderr
    outcome = run("while True: print('x' * 1000)", limits=Limits(wall_s=20, output_bytes=1000), unsafe=True)
    assert outcome.stopped == "output"
    assert run.left() == []


@linux
@pytest.mark.usefixtures("without_isolation")
def test_the_unsafe_mode_stops_a_fork_bomb(run: Runner) -> None:
    outcome = run(
        """
        import os, time
        for _ in range(100):
            if os.fork() == 0:
                time.sleep(60)
        time.sleep(60)
        """,
        limits=Limits(wall_s=20, processes=20),
        unsafe=True,
    )
    assert outcome.stopped == "processes" or "BlockingIOError" in outcome.stderr
    assert run.left() == []


@linux
@pytest.mark.usefixtures("without_isolation")
def test_the_unsafe_mode_ends_daemons(run: Runner) -> None:
    outcome = run(
        """
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]])
            os._exit(0)
        os.wait()
        time.sleep(0.3)
        print("done")
        """,
        unsafe=True,
    )
    assert outcome.stdout == "done\n"
    assert run.left() == []


def test_an_isolation_that_fails_to_start_is_not_an_outcome(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "isolation_available", lambda: "bubblewrap")
    folder = run.verify.parent / "bin"
    folder.mkdir()
    broken = folder / "bwrap"
    broken.write_text("#!/bin/sh\necho no namespaces >&2\nexit 0\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(SandboxUnavailable, match="no namespaces"):
        run("print('never')")


@isolated
def test_shipped_tasks_are_hidden_by_every_path_to_the_packages() -> None:
    """A venv's lib64 is often a link to lib: what is hidden by one name must not be open by the other."""
    code = (
        "import pathlib, sys\n"
        "found = [p for r in {sys.prefix, sys.base_prefix} for p in pathlib.Path(r).glob("
        "'lib*/python*/*-packages/pytest_sciagent/_shipped/tasks/*/hidden/*')]\n"
        "print(len(found))\n"
    )
    outcome = run_sandboxed([sys.executable, "-I", "-c", code], inputs={})
    assert (outcome.returncode, outcome.stdout.strip()) == (0, "0"), outcome.stderr
