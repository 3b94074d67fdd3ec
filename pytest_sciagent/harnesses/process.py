"""A harness's process: in a group of its own, its streams logged with secrets masked, ended with all it started.

Whatever a harness leaves behind is found by three marks: it is in the group, it descends from the process, or it has
the mark of the run in its environment, which every child inherits unless it takes pains not to. The last two need
`/proc`; elsewhere only the group is ended.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..evidence.sandbox.enter import parents
from ..runs.secrets import mask_secrets

MARK = "SCIAGENT_RUN_MARK"
GRACE_S = 3.0
_PERIOD_S = 0.2
_CHUNK = 1 << 16
_MAX_LINE = 1 << 20


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (None where it was stopped), the limit that stopped it, and what it left.

    left_behind: how many of its processes ran on after it had ended by itself, and had to be ended.
    """

    exit_code: int | None
    stopped: str | None
    left_behind: int


@dataclass(frozen=True)
class Streams:
    """Where a command's output goes: log files opened for appending, known secrets, and who reads its lines."""

    stdout: Path
    stderr: Path
    secrets: Collection[str]
    on_line: Callable[[str], None]
    max_bytes: int


class NotStarted(Exception):
    """A command that could not be started, with the reason."""


def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: str | None,
    streams: Streams,
    deadline: float | None,
    passed: Callable[[], str | None],
) -> Ended:
    """Run `argv` to its end, or until `deadline` (of the monotonic clock) or a limit that `passed` names.

    Nothing it started runs on when this returns or raises (KeyboardInterrupt too).

    Raises:
        NotStarted: no such program, no permission, or arguments that are too long.
    """
    mark = uuid.uuid4().hex
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**environment, MARK: mark},
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NotStarted(f"{argv[0]!r} can't be started: {reason}") from None
    try:
        stopped = _watch(process, stdin, streams, deadline, passed)
        exit_code = process.poll() if stopped is None else None
    finally:
        left = end_all(process, mark)
    return Ended(exit_code, stopped, left if stopped is None else 0)


def _watch(
    process: subprocess.Popen[bytes],
    stdin: str | None,
    streams: Streams,
    deadline: float | None,
    passed: Callable[[], str | None],
) -> str | None:
    """Feed, read and log until the process has ended; the limit that was passed, or None."""
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        with streams.stdout.open("ab") as out, streams.stderr.open("ab") as err:
            logs = {
                process.stdout.fileno(): _Log(out, streams, streams.on_line),
                process.stderr.fileno(): _Log(err, streams, None),
            }
            try:
                return _pump(process, stdin, logs, streams.max_bytes, deadline, passed)
            finally:
                for log in logs.values():
                    log.close()
    except OSError as error:
        return f"the logs can't be written: {error.strerror or error}"
    finally:
        process.stdout.close()
        process.stderr.close()


def _pump(
    process: subprocess.Popen[bytes],
    stdin: str | None,
    logs: Mapping[int, _Log],
    max_bytes: int,
    deadline: float | None,
    passed: Callable[[], str | None],
) -> str | None:
    waiting = (stdin or "").encode("utf-8", "replace")
    with selectors.DefaultSelector() as selector:
        for stream in logs:
            selector.register(stream, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        # A child left behind may hold the streams open: the end of the process itself is what counts.
        while process.poll() is None:
            for key, events in selector.select(_PERIOD_S):
                if events & selectors.EVENT_WRITE:
                    waiting = _feed(process, selector, waiting)
                elif not logs[key.fd].take(os.read(key.fd, _CHUNK)):
                    selector.unregister(key.fileobj)
            if not selector.get_map():
                time.sleep(_PERIOD_S / 4)  # it closed its streams and runs on
            if deadline is not None and time.monotonic() > deadline:
                return "wall time"
            if sum(log.size for log in logs.values()) > max_bytes:
                return "size of the logs"
            if limit := passed():
                return limit
        for stream, log in logs.items():
            os.set_blocking(stream, False)
            with contextlib.suppress(BlockingIOError):
                while log.take(os.read(stream, _CHUNK)):
                    pass
    return None


def _feed(process: subprocess.Popen[bytes], selector: selectors.BaseSelector, waiting: bytes) -> bytes:
    """Write as much of `waiting` to standard input as it takes; close it at the end."""
    assert process.stdin is not None
    try:
        waiting = waiting[os.write(process.stdin.fileno(), waiting[:_CHUNK]) :] if waiting else b""
    except BlockingIOError:
        return waiting
    except OSError:
        waiting = b""  # it reads no further
    if not waiting:
        selector.unregister(process.stdin)
        with contextlib.suppress(OSError):
            process.stdin.close()
    return waiting


class _Log:
    """One stream, written line by line with secrets masked, so that none is cut in two."""

    def __init__(self, handle: IO[bytes], streams: Streams, on_line: Callable[[str], None] | None) -> None:
        self._handle = handle
        self._secrets = streams.secrets
        self._on_line = on_line
        self._rest = bytearray()
        self.size = 0

    def take(self, chunk: bytes) -> bool:
        """More of the stream; False at its end."""
        self.size += len(chunk)
        self._rest += chunk
        *lines, rest = self._rest.split(b"\n")
        for line in lines:
            self._write(bytes(line) + b"\n")
        self._rest = bytearray(rest)
        if len(self._rest) > _MAX_LINE:
            self._write(bytes(self._rest))
            self._rest.clear()
        return bool(chunk)

    def close(self) -> None:
        if self._rest:
            self._write(bytes(self._rest))
            self._rest.clear()

    def _write(self, line: bytes) -> None:
        text = line.decode("utf-8", "surrogateescape")
        masked, _ = mask_secrets(text, self._secrets)
        self._handle.write(masked.encode("utf-8", "surrogateescape"))
        self._handle.flush()
        if self._on_line is not None:
            self._on_line(text.rstrip("\n"))


def end_all(process: subprocess.Popen[bytes], mark: str) -> int:
    """End the process and everything it started, politely first; how many others there were besides it."""
    others = set(_members(process.pid, mark)) - {process.pid}
    running = process.poll() is None
    if running or others:
        _signal(process.pid, mark, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while time.monotonic() < deadline and (process.poll() is None or _members(process.pid, mark)):
            time.sleep(0.05)
    deadline = time.monotonic() + 2 * GRACE_S
    while process.poll() is None or _members(process.pid, mark):
        _signal(process.pid, mark, signal.SIGKILL)
        time.sleep(0.02)
        if time.monotonic() > deadline:
            break  # what can't be killed sleeps in the kernel
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    return len(others)


def _signal(pid: int, mark: str, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
    for member in _members(pid, mark):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, number)


def _members(pid: int, mark: str) -> list[int]:
    """The living processes that belong to a run, as far as `/proc` shows them."""
    children: dict[int, list[int]] = {}
    known = parents()
    for child, parent in known.items():
        children.setdefault(parent, []).append(child)
    found = [pid] if pid in known else []
    found += children.get(pid, ())
    for member in found:
        found += [child for child in children.get(member, ()) if child not in found]
    marked = f"{MARK}={mark}".encode()
    found += [other for other in known if other not in found and _has(other, marked)]
    return [member for member in found if _is_alive(member)]


def _has(pid: int, marked: bytes) -> bool:
    try:
        return marked in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return (Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split() or [b"Z"])[0] != b"Z"
    except OSError:
        return False
