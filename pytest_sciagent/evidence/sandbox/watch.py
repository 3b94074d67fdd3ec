"""Watches a running sandbox: reads what it writes within bounds, adds up what it uses, and ends all of it."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_sciagent.evidence.sandbox.enter import parents

if TYPE_CHECKING:
    from pytest_sciagent.evidence.sandbox import Limits

_PERIOD_S = 0.1
_CHUNK = 1 << 16
_MOST_ENTRIES = 100_000
_PSS = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)


def watch(
    process: subprocess.Popen[bytes], limits: Limits, scratch: Path | None, wanted: Callable[[], None] | None
) -> tuple[bytes, bytes, str | None]:
    """Read from `process` until it has ended or a limit is passed; then, or on any exception, end it and its children.
    `wanted` is called every now and then, and may raise one.

    Returns:
        Standard output, standard error, and the limit that was passed, or None.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    written = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    try:
        stopped = _until_limit(process, written, limits, scratch, wanted)
    finally:
        _end(process)
        process.stdout.close()
        process.stderr.close()
    stdout, stderr = (bytes(text) for text in written.values())
    return stdout, stderr, stopped


def _until_limit(
    process: subprocess.Popen[bytes],
    written: dict[int, bytearray],
    limits: Limits,
    scratch: Path | None,
    wanted: Callable[[], None] | None,
) -> str | None:
    deadline = time.monotonic() + limits.wall_s
    kept = _disk_use(scratch)
    looked = time.monotonic()
    with selectors.DefaultSelector() as selector:
        for stream in written:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map() or process.poll() is None:
            if not selector.get_map():
                time.sleep(_PERIOD_S / 10)  # it closed its streams and runs on
            for key, _ in selector.select(_PERIOD_S):
                room = limits.output_bytes - sum(map(len, written.values()))
                chunk = os.read(key.fd, _CHUNK)
                written[key.fd] += chunk[:room]
                if len(chunk) > room:
                    return "output"
                if not chunk:
                    selector.unregister(key.fd)
            now = time.monotonic()
            if now > deadline:
                return "wall time"
            if now - looked > _PERIOD_S:
                looked = now
                if wanted is not None:
                    wanted()
                if passed := _passed(process.pid, limits, scratch, kept):
                    return passed
    return None


def _passed(pid: int, limits: Limits, scratch: Path | None, kept: int) -> str | None:
    """The limit on all processes together that the descendants of `pid` have passed, if any."""
    members = _descendants(pid)
    if len(members) > limits.processes + 2:  # two that belong to the sandbox itself
        return "processes"
    if sum(map(_resident, members)) > limits.memory_bytes and sum(map(_share, members)) > limits.memory_bytes:
        return "memory"
    if scratch is not None and _disk_use(scratch) - kept > limits.file_bytes:
        return "scratch"
    return None


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for child, parent in parents().items():
        children.setdefault(parent, []).append(child)
    found = list(children.get(pid, ()))
    for member in found:
        found += children.get(member, ())
    return found


def _resident(pid: int) -> int:
    """Bytes that are in memory for `pid`; pages it has in common with others count in full."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0  # it has just ended


def _share(pid: int) -> int:
    """Bytes that are in memory for `pid`; pages in common with others are divided among them. Exact, but slow."""
    try:
        match = _PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_bytes())
    except OSError:
        return _resident(pid)
    return int(match.group(1)) * 1024 if match else 0


def _disk_use(folder: Path | None) -> int:
    """Bytes on disk below `folder`, links not followed; a file over `_MOST_ENTRIES` in number counts as endless."""
    total, entries, waiting = 0, 0, [] if folder is None else [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as listing:
            for entry in listing:
                entries += 1
                if entries > _MOST_ENTRIES:
                    return 1 << 62
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what `process` started, and wait until all of it is gone.

    Its child is the first process of the sandbox, and everything in there dies with it, before it is itself reaped by
    `process`, which then ends. Nothing inside gets a chance to delay that, so there is no polite signal first.
    """
    deadline = time.monotonic() + 2
    while process.poll() is None:
        children = [pid for pid, parent in parents().items() if parent == process.pid]
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not children and time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
