"""Readers of binary formats run in a child process with limits on memory and time: it may die, the session does not."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..text import one_line
from .media import decode_image
from .readers import Artifact, Table, Unreadable, needs_isolation, read_artifact

MAX_ANSWER_BYTES = 512 * 1024 * 1024
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


def read_isolated(path: str, data: bytes, seconds: float = 30, memory_bytes: int = 2 << 30) -> Artifact:
    """As `read_artifact`; binary formats are parsed in a child process.

    Args:
        seconds: the child is killed after this time.
        memory_bytes: the most address space the child may use.

    Raises:
        Unreadable: with the reason; also where the child died or was stopped.
    """
    if not needs_isolation(path):
        return read_artifact(path, data)
    return _in_child({"path": path}, data, seconds, memory_bytes)


def check_image(
    data: bytes, max_side: int, max_pixels: int, seconds: float = 30, memory_bytes: int = 2 << 30
) -> dict[str, Any]:
    """Format, width and height of an image whose pixels can all be decoded, which a child process has tried.

    Raises:
        Unreadable: larger than allowed, broken, no image; or the child died or was stopped.
    """
    return _in_child({"image": [max_side, max_pixels]}, data, seconds, memory_bytes).facts


def _in_child(what: dict[str, Any], data: bytes, seconds: float, memory_bytes: int) -> Artifact:
    request = {**what, "seconds": seconds, "memory": memory_bytes}
    command = [sys.executable, "-I", "-W", "ignore", "-c", _START, str(_PACKAGE)]
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as complaint:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=answer, stderr=complaint, env=_ENVIRONMENT)
        try:
            child.communicate(json.dumps(request).encode() + b"\n" + data, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Unreadable(f"the reader was stopped: it took longer than {seconds:g} seconds") from None
        finally:
            child.kill()
            child.wait()
        size = answer.seek(0, os.SEEK_END)
        answer.seek(0)
        if child.returncode != 0 or not 0 < size <= MAX_ANSWER_BYTES:
            raise Unreadable(f"the reader was stopped: {_cause(child.returncode, complaint)}")
        return _unpack(answer.read())


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
        raise Unreadable("the reader was stopped: its answer makes no sense") from None


def _limit(seconds: float, memory: int) -> None:
    import resource

    limits = (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, math.ceil(seconds)),
        (resource.RLIMIT_FSIZE, MAX_ANSWER_BYTES),
        (resource.RLIMIT_CORE, 0),
    )
    for name, value in limits:
        # Not every system enforces every limit; the time limit of the parent always holds.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(name, (value, value))


def main() -> None:
    """The child: a line of JSON and the artifact's bytes on standard input, JSON on standard output."""
    request = json.loads(sys.stdin.buffer.readline())
    _limit(request["seconds"], request["memory"])
    try:
        data = sys.stdin.buffer.read()
        image = request.get("image")
        answer = _pack(decode_image(data, *image) if image else read_artifact(request["path"], data))
    except Unreadable as error:
        answer = json.dumps({"unreadable": error.reason}).encode()
    except MemoryError:
        answer = json.dumps({"unreadable": f"it needs more than {request['memory'] >> 20:,} MB of memory"}).encode()
    sys.stdout.buffer.write(answer)
