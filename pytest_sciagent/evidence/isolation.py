"""Readers of binary formats run in child processes with limits on memory and time: they may die, the session does not.

One process waits for files, and forks a child for each: so a file never meets what another has left in memory, the
libraries are loaded once, and a file that kills its reader kills no other's.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

from ..text import one_line
from .drawings import LIBRARIES, draw_svg
from .media import decode_image
from .readers import Artifact, Table, Unreadable, libraries, needs_isolation, read_artifact
from .tables import Stopped

MAX_ANSWER_BYTES = 512 * 1024 * 1024
MAX_SECONDS = 30.0
MAX_MEMORY = 2 << 30
_PACKAGE = Path(__file__).resolve().parents[1]
# The very package of this process, which need not be the one that is installed; nothing else comes from its folder.
_START = """
import importlib.util as util
import sys
folder = sys.argv[1]
spec = util.spec_from_file_location("pytest_sciagent", f"{folder}/__init__.py", submodule_search_locations=[folder])
sys.modules["pytest_sciagent"] = package = util.module_from_spec(spec)
spec.loader.exec_module(package)
from pytest_sciagent.evidence.isolation import main
main()
"""
# Nothing of the session's environment: no keys, no proxies. One thread each keeps the address space small.
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "HDF5_PLUGIN_PRELOAD": "::",
}


@dataclass(frozen=True)
class _Process:
    """The process that waits for files. `answer` and `complaint` are files to which it and its children write."""

    popen: subprocess.Popen[bytes]
    answer: IO[bytes]
    complaint: IO[bytes]

    @classmethod
    def start(cls) -> _Process:
        answer, complaint = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        command = [sys.executable, "-I", "-W", "ignore", "-c", _START, str(_PACKAGE), str(answer.fileno())]
        popen = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaint,
            pass_fds=[answer.fileno()],
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        return cls(popen, answer, complaint)

    def end(self) -> None:
        """End it and what it has forked."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        for stream in (self.popen.stdin, self.popen.stdout, self.answer, self.complaint):
            assert stream is not None
            with contextlib.suppress(OSError):  # bytes that were not yet written to a dead process
                stream.close()

    def ask(self, request: dict[str, Any], data: bytes, seconds: float) -> tuple[int, float] | None:
        """Exit code of the child that read `data`, and its seconds of processor time; None where time ran out.

        Raises:
            OSError, ValueError: the process is dead.
        """
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        ends = time.monotonic() + seconds
        self.popen.stdin.write(json.dumps({**request, "bytes": len(data)}).encode() + b"\n" + data)
        self.popen.stdin.flush()
        if not select.select([self.popen.stdout], [], [], max(ends - time.monotonic(), 0))[0]:
            return None
        code, used = json.loads(self.popen.stdout.readline())
        return code, used


class Readers:
    """Reads files of binary formats in children of one process, which is started on first use.

    used_s: the processor time that all files together have taken.
    """

    def __init__(self) -> None:
        self.used_s = 0.0
        self._process: _Process | None = None
        self._end: weakref.finalize[..., Any] | None = None
        self._lock = threading.Lock()

    def read(self, path: str, data: bytes, seconds: float = MAX_SECONDS, memory_bytes: int = MAX_MEMORY) -> Artifact:
        """As `read_artifact`; binary formats are parsed in a child process.

        Args:
            seconds: the child is killed after this time.
            memory_bytes: the most memory that the child may take for itself.

        Raises:
            Unreadable: with the reason; also where the child died or was stopped.
        """
        if not needs_isolation(path):
            return read_artifact(path, data)
        return self._in_child({"path": path}, data, seconds, memory_bytes)

    def check_image(self, data: bytes, max_side: int, max_pixels: int) -> dict[str, Any]:
        """Format, width and height of an image whose pixels can all be decoded, which a child process has tried.

        Raises:
            Unreadable: larger than allowed, broken, no image; or the child died or was stopped.
        """
        return self._in_child({"image": [max_side, max_pixels]}, data, MAX_SECONDS, MAX_MEMORY).facts

    def draw(self, data: bytes, max_side: int, max_pixels: int) -> bytes:
        """An SVG as PNG (`draw_svg`), drawn in a child process that can open no file and no connection.

        Raises:
            Unreadable: as `draw_svg`; or the child died or was stopped.
        """
        facts = self._in_child({"draw": [max_side, max_pixels]}, data, MAX_SECONDS, MAX_MEMORY).facts
        try:
            return base64.b64decode(str(facts["png"]), validate=True)
        except (KeyError, ValueError):
            raise Stopped("the reader was stopped: its answer makes no sense") from None

    def close(self) -> None:
        """End the process. The next file starts another."""
        if self._end is not None:
            self._end()
        self._process = self._end = None

    def _in_child(self, what: dict[str, Any], data: bytes, seconds: float, memory_bytes: int) -> Artifact:
        request = {**what, "seconds": seconds, "memory": memory_bytes}
        with self._lock:
            if self._process is None:
                self._process = _Process.start()
                self._end = weakref.finalize(self, self._process.end)
            try:
                answer = self._answer(self._process, request, data, seconds)
            except BaseException:  # it may be dead, or out of step with what it is asked
                self.close()
                raise
        return _unpack(answer)

    def _answer(self, process: _Process, request: dict[str, Any], data: bytes, seconds: float) -> bytes:
        try:
            ended = process.ask(request, data, seconds)
        except (OSError, ValueError):
            raise Stopped(f"the reader was stopped: {_cause(process.popen.wait(), process.complaint)}") from None
        if ended is None:
            self.used_s += seconds
            raise Stopped(f"the reader was stopped: it took longer than {seconds:g} seconds")
        code, used = ended
        self.used_s += used
        try:
            size = process.answer.seek(0, os.SEEK_END)
            if code != 0 or not 0 < size <= MAX_ANSWER_BYTES:
                raise Stopped(f"the reader was stopped: {_cause(code, process.complaint)}")
            process.answer.seek(0)
            return process.answer.read()
        finally:
            for written in (process.answer, process.complaint):
                written.seek(0)
                written.truncate()


def _cause(code: int, complaint: Any) -> str:
    """Why the child died: its signal, or the last line it wrote."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    complaint.seek(max(complaint.seek(0, os.SEEK_END) - 2000, 0))
    lines = complaint.read().decode("utf-8", "replace").strip().splitlines()
    return one_line(lines[-1], 200) if lines else f"exit code {code}"


def _pack(artifact: Artifact) -> bytes:
    tables = [[t.name, t.columns, t.rows] for t in artifact.tables]
    answer = {"kind": artifact.kind, "text": artifact.text, "facts": artifact.facts, "tables": tables}
    return json.dumps(answer).encode()


def _unpack(answer: bytes) -> Artifact:
    try:
        found = json.loads(answer)
        if "unreadable" in found:
            raise Unreadable(str(found["unreadable"]))
        tables = tuple(Table(name, tuple(columns), tuple(map(tuple, rows))) for name, columns, rows in found["tables"])
        return Artifact(found["kind"], found["text"], tables, found["facts"])
    except (ValueError, KeyError, TypeError):
        raise Stopped("the reader was stopped: its answer makes no sense") from None


def _limit(seconds: float, memory: int, closed: bool) -> None:
    """`closed`: nothing more can be opened."""
    import resource

    limits = (
        (resource.RLIMIT_AS, _address_space() + memory),
        (resource.RLIMIT_CPU, math.ceil(seconds)),
        (resource.RLIMIT_FSIZE, MAX_ANSWER_BYTES),
        (resource.RLIMIT_CORE, 0),
        *([(resource.RLIMIT_NOFILE, 0)] if closed else []),
    )
    for name, value in limits:
        # Not every system enforces every limit; the time limit of the parent always holds.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(name, (value, value))


def _address_space() -> int:
    """The bytes of address space that this process has, libraries and all; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """The process that waits: a line of JSON and a file's bytes on standard input, again and again.

    For each a child writes what it read to the file whose descriptor is the last argument; then a line of JSON on
    standard output tells how the child ended. It ends with its input.
    """
    answer = int(sys.argv[-1])
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        data = sys.stdin.buffer.read(request["bytes"])
        # Loaded here, once for all children: importing a library looks at no file of a run.
        for name in LIBRARIES if "draw" in request else libraries(request.get("path", ".png")):
            import_module(name)
        child = os.fork()
        if child == 0:
            _child(request, data, answer)
        _, status, used = os.wait4(child, 0)
        told = [os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime]
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def _child(request: dict[str, Any], data: bytes, answer: int) -> NoReturn:
    """Read one file, write what was read, and end. What takes over this child can't speak for the one that waits."""
    code = 1
    try:
        os.close(0)
        os.close(1)
        _limit(request["seconds"], request["memory"], closed="draw" in request)
        _write_all(answer, _read_packed(request, data))
        code = 0
    except Exception as error:
        os.write(2, f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace"))
    finally:
        os._exit(code)


def _read_packed(request: dict[str, Any], data: bytes) -> bytes:
    try:
        if "draw" in request:
            return _pack(draw_svg(data, *request["draw"]))
        image = request.get("image")
        return _pack(decode_image(data, *image) if image else read_artifact(request["path"], data))
    except Unreadable as error:
        return json.dumps({"unreadable": error.reason}).encode()
    except MemoryError:
        return json.dumps({"unreadable": f"it needs more than {request['memory'] >> 20:,} MB of memory"}).encode()


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
