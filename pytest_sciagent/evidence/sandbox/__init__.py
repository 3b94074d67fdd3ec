"""Runs a verification script or a rerun apart from everything else: limited, without network, killed with its children.

What the command sees is a private root: the system's libraries and this Python interpreter, the `inputs`, all of them
read-only, an own `/proc`, a `/dev` with no more than null, zero, full and random, and three writable places: `/scratch`
(where it starts), `/tmp` and `/dev/shm`. The tasks installed with this package are hidden. Its environment is built
here and nothing of the caller's gets in. Two ways lead there, tried for real by `isolation_available`: bubblewrap, or
namespaces of our own (`enter.py`). Root always takes the second, because only there the command can be given a user id
that the kernel's process limit applies to.

A script is best started as `[sys.executable, "/verify/recompute.py", "/data"]`, without `-I` or `-P`: its own folder is
then the first of `sys.path`, so that `import common` finds the file next to it. That folder is as trusted as the
script and mounted read-only; neither the working directory nor the user's site directory of `/scratch` are on the path.

Limits that make a call fail (memory of one process, size of a file, number of processes) leave it to the command to
end with an error: `returncode` and `stderr` say so. The others end it from outside, and `Outcome.stopped` says which.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_sciagent.evidence.sandbox import enter, layout, watch

_SIGNALLED = {128 + 24: "cpu time", 128 + 25: "file size", 128 + 9: "killed"}


@dataclass(frozen=True)
class Limits:
    """What a command may use.

    Attributes:
        wall_s: seconds from start to end.
        cpu_s: seconds of processor time, of each process.
        memory_bytes: address space of each process; also memory in use by all processes together.
        file_bytes: size of each file; also all files in `/scratch` together (and in `/tmp`, and in `/dev/shm`).
        processes: processes and threads at the same time.
        output_bytes: standard output and standard error together.
    """

    wall_s: float = 60
    cpu_s: int = 60
    memory_bytes: int = 2 << 30
    file_bytes: int = 256 << 20
    processes: int = 64
    output_bytes: int = 10 << 20


@dataclass(frozen=True)
class Outcome:
    """How a command ended.

    Attributes:
        returncode: its exit code, 128 + n if signal n ended it; None where it was stopped from outside.
        stdout: what it wrote, undecodable bytes replaced, at most `Limits.output_bytes` with `stderr`.
        stderr: likewise.
        duration_s: seconds from start to end.
        stopped: None if it ended by itself; else "wall time", "cpu time", "memory", "processes", "output",
            "file size", "scratch" (all files together) or "killed" (by the system, as when memory runs out).
        isolation: "bubblewrap", "namespaces" or "none".
    """

    returncode: int | None
    stdout: str
    stderr: str
    duration_s: float
    stopped: str | None
    isolation: str


class SandboxUnavailable(Exception):
    """Nothing here can keep a command apart, or setting its sandbox up failed."""


DEFAULT_LIMITS = Limits()


@functools.cache
def isolation_available() -> str:
    """How commands are kept apart here: "bubblewrap", "namespaces" or "none". Found out once, by starting one."""
    # Bubblewrap started by root runs the command as root, and root may start as many processes as it likes.
    if sys.platform != "linux":
        return "none"
    methods = ("namespaces",) if os.geteuid() == 0 else ("bubblewrap", "namespaces")
    return next((method for method in methods if _works(method)), "none")


@functools.cache
def interpreter() -> str:
    """What Python scripts run by, and which versions they may import: what their answers follow from beside inputs."""
    installed: set[str] = set()  # name and version of each distribution, as the folders of their metadata are named
    for folder in sys.path:
        with contextlib.suppress(OSError):
            installed |= {p.name for p in Path(folder).iterdir() if p.suffix in (".dist-info", ".egg-info")}
    return json.dumps([sys.version, sys.platform, sorted(installed)])


def run_sandboxed(
    argv: Sequence[str],
    *,
    inputs: Mapping[Path, str],
    scratch: Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
    network: bool = False,
    unsafe: bool = False,
    wanted: Callable[[], None] | None = None,
) -> Outcome:
    """Run `argv` in a sandbox and wait for its end; whatever it started has ended too when this returns or raises.

    Args:
        argv: the command, with paths as they are inside; its first element is an absolute path.
        inputs: file or folder here -> absolute path inside, read-only there.
        scratch: an existing folder that becomes `/scratch` and is kept, whatever the command leaves there; without
            it `/scratch` is empty and lost.
        limits: what the command may use.
        network: leave it the network of this machine.
        unsafe: where no isolation is available, run it all the same, with limits and an empty environment only.
            Elements of `argv` that are a path inside (`/data`, `/data/x.csv`, `/scratch`) become the path here.
        wanted: is called every now and then; whatever it raises ends the command, and is raised here.

    Raises:
        SandboxUnavailable: no isolation is available and `unsafe` is not set, or the sandbox could not be set up.
        ValueError: a path inside is relative, taken, or within another one; `argv` is empty.
        FileNotFoundError: an input or the scratch folder does not exist.
    """
    if os.name != "posix":
        raise SandboxUnavailable("scripts can only be run on Linux, or unprotected on another Unix")
    isolation = isolation_available()
    if isolation == "none" and not unsafe:
        raise SandboxUnavailable(
            "nothing on this machine can keep a script apart (neither bubblewrap nor user namespaces work); "
            "install bubblewrap, or run it unprotected with --sciagent-unsafe-rerun"
        )
    return _run(isolation, argv, inputs, scratch, limits, network, wanted)


def _works(method: str) -> bool:
    argv = [sys.executable, "-I", "-S", "-c", "print('ready')"]
    try:
        return _run(method, argv, {}, None, Limits(wall_s=20), False).stdout == "ready\n"
    except (SandboxUnavailable, OSError):
        return False


def _run(
    isolation: str,
    argv: Sequence[str],
    inputs: Mapping[Path, str],
    scratch: Path | None,
    limits: Limits,
    network: bool,
    wanted: Callable[[], None] | None = None,
) -> Outcome:
    if not argv:
        raise ValueError("no command to run")
    places = layout.places(inputs, scratch)
    mounts = layout.mounts(places, network=network)
    with tempfile.TemporaryDirectory(prefix="sciagent-", ignore_cleanup_errors=True) as own:
        spec = {
            "isolation": isolation,
            "argv": list(argv),
            "environment": layout.environment("/scratch"),
            "folder": "/scratch",
            "limits": asdict(limits),
            "mounts": mounts,
            "network": network,
            "root": own,
            "parent": os.getpid(),
        }
        if isolation == "none":
            folder = str(places.get("/scratch", own))
            spec |= {
                "argv": [layout.outside(argument, {**places, "/scratch": Path(folder)}) for argument in argv],
                "environment": layout.environment(folder),
                "folder": folder,
            }
        return _supervised(spec, limits, places.get("/scratch"), wanted)


def _supervised(
    spec: dict[str, object], limits: Limits, scratch: Path | None, wanted: Callable[[], None] | None
) -> Outcome:
    """Start what `spec` describes, and watch it to its end."""
    ready, ready_end = os.pipe()
    started = time.monotonic()
    with open(ready, "rb") as reading:
        with open(ready_end, "wb"):
            process = subprocess.Popen(
                _command({**spec, "ready": ready_end}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                pass_fds=(ready_end,),
                start_new_session=True,
            )
        stdout, stderr, stopped = watch.watch(process, limits, scratch, wanted)
        duration = time.monotonic() - started
        entered = stopped is not None or reading.read(1) == b"."
    code = process.returncode
    errors = stderr.decode(errors="replace")
    if not entered:
        raise SandboxUnavailable(f"the sandbox ({spec['isolation']}) could not be set up: {errors[-1000:].strip()}")
    return Outcome(
        returncode=None if stopped else code,
        stdout=stdout.decode(errors="replace"),
        stderr=errors,
        duration_s=duration,
        stopped=stopped or _SIGNALLED.get(code),
        isolation=str(spec["isolation"]),
    )


def _command(spec: dict[str, object]) -> list[str]:
    here = enter.__file__
    python = [sys.executable, "-I", "-S", "-B"]
    if spec["isolation"] != "bubblewrap":
        return [*python, here, json.dumps(spec)]
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise SandboxUnavailable("bubblewrap is not installed")
    return [*layout.bubblewrap(bubblewrap, spec, here), *python, layout.ENTER, json.dumps(spec)]
