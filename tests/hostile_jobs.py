"""Whole jobs of `sciagent` and pytest in processes of their own, measured, and stopped where they hang.

Run as a script this is a server: it imports what the first job needs and forks a child for each further one.
A job is a line of JSON on standard input, what came of it a line on standard output.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

HANG_S = 60
"""A job is killed after this time, however busy the machine is."""
ADDRESS_SPACE = 4 << 30


@dataclass(frozen=True)
class Outcome:
    """What came of a job.

    codes, outputs: exit code and output of each command that ran.
    cpu_s: processor time of the job and of the readers that it started.
    memory: the most that the job ever held, and the most that a process it started held, added up; bytes.
    """

    codes: list[int]
    outputs: list[str]
    cpu_s: float
    memory: int

    @property
    def text(self) -> str:
        return "\n".join(self.outputs)


class Jobs:
    """The server, as a test sees it: a context manager."""

    def __enter__(self) -> Jobs:
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and k != "PYTEST_ADDOPTS"}
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(30)

    def run(self, folder: Path, *commands: list[str], warm: bool = False) -> Outcome:
        """Carry out `commands` in `folder`, one after the other: `sciagent` or `pytest`, and arguments.

        With `warm` in the server itself, so that what they import is there for all jobs that follow.

        Raises:
            TimeoutError: it hung.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps({"folder": str(folder), "commands": commands, "warm": warm}) + "\n")
        self._server.stdin.flush()
        found = json.loads(self._server.stdout.readline())
        if "killed" in found:
            raise TimeoutError(f"{found['killed']}: {commands}")
        return Outcome(**found)


def _serve() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        if job["warm"]:
            import scipy.stats  # noqa: F401 - a session over two systems compares them, the first job has only one

            print(json.dumps(_work(Path(job["folder"]), job["commands"])), flush=True)
            gc.collect()
            gc.freeze()  # what is imported is there for good: no child looks through it, and so copies it, for garbage
            continue
        answer, told = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(answer)
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(null, 1)
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
            with os.fdopen(told, "w") as out:
                out.write(json.dumps(_work(Path(job["folder"]), job["commands"])))
            os._exit(0)
        os.close(told)
        print(json.dumps(_watch(child, answer)), flush=True)


def _watch(child: int, answer: int) -> dict[str, Any]:
    """What the child tells, or how it ended without telling."""
    end = time.monotonic() + HANG_S
    with os.fdopen(answer) as told:
        while True:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                text = told.read()
                return json.loads(text) if text else {"killed": f"ended with status {status}"}
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return {"killed": f"took longer than {HANG_S} s"}
            time.sleep(0.01)


def _work(folder: Path, commands: list[list[str]]) -> dict[str, Any]:
    os.chdir(folder)
    codes, outputs = [], []
    for name, *args in commands:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            codes.append(_sciagent(args) if name == "sciagent" else _pytest(args))
        outputs.append(output.getvalue())
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "codes": codes,
        "outputs": outputs,
        "cpu_s": own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime,
        "memory": (own.ru_maxrss + others.ru_maxrss) * 1024,
    }


def _sciagent(args: list[str]) -> int:
    from pytest_sciagent.cli import main

    sys.argv = ["sciagent", *args]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _pytest(args: list[str]) -> int:
    import pytest

    return int(pytest.main(args))


if __name__ == "__main__":
    _serve()
