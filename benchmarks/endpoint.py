"""A judge's endpoint for benchmarks, in a process of its own: answers every call after a fixed time, and costs little.

    python benchmarks/endpoint.py --latency-ms 200 [--core 1]

It prints its port on the first line. `POST …/chat/completions` and `POST …/messages` are answered in the form of
their API. The text of an answer follows from the last bytes of the request, where the schema stands; below `/peer/NAME`
it is the one that the peer tool of that name expects. `GET /stats` tells calls, the most at one time, and CPU seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUOTE = "least squares on all units"
ANSWERS: dict[bytes, dict[str, Any]] = {
    b"groups": {"rationale": "all differ", "groups": []},
    b"plans": {"rationale": "none", "plans": []},
    b"": {
        "rationale": "The section names its method, its units and its file, and the file holds the number. " * 3,
        "citations": [{"file": "output/Result.md", "quote": QUOTE}],
        "zero": False,
        "full": True,
        "half": False,
    },
}
PEERS: dict[bytes, str] = {
    b"deepeval": json.dumps({"reason": "The method and its file are named.", "score": 10}),
    b"inspect": "The method and its file are named.\n\nGRADE: C",
    b"autorubric": json.dumps({"explanation": "The method and its file are named.", "criterion_status": "MET"}),
}
SCHEMA_TAIL = 4096
"""The last bytes of a request, in which a schema is told from another."""


def _openai(text: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "bench",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": None}
        ],
        "usage": {"prompt_tokens": 6000, "completion_tokens": 120, "total_tokens": 6120},
    }


def _anthropic(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "bench",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 6000, "output_tokens": 120},
    }


def _http(body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


RENDER = {b"/chat/completions": _openai, b"/messages": _anthropic}
OURS = {
    path: {mark: _http(render(json.dumps(answer))) for mark, answer in ANSWERS.items()}
    for path, render in RENDER.items()
}
THEIRS = {name: _http(_openai(text)) for name, text in PEERS.items()}


class _State:
    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.calls = 0
        self.working = 0
        self.peak = 0


class _Connection(asyncio.Protocol):
    def __init__(self, state: _State) -> None:
        self._state = state
        self._data = bytearray()
        self._needed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._needed:
            end = self._data.find(b"\r\n\r\n")
            if end < 0:
                return
            self._needed = end + 4 + _length(bytes(self._data[:end]).lower())
        if len(self._data) >= self._needed:
            request, self._data, self._needed = bytes(self._data), bytearray(), 0
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        path = request.split(b" ", 2)[1]
        state = self._state
        if path == b"/stats":
            used = resource.getrusage(resource.RUSAGE_SELF)
            cpu = used.ru_utime + used.ru_stime
            self._transport.write(_http({"calls": state.calls, "peak": state.peak, "cpu_s": cpu}))
            return
        state.calls += 1
        state.working += 1
        state.peak = max(state.peak, state.working)
        asyncio.get_running_loop().call_later(state.latency, self._send, _response(path, request))

    def _send(self, response: bytes) -> None:
        self._state.working -= 1
        if not self._transport.is_closing():
            self._transport.write(response)


def _length(head: bytes) -> int:
    start = head.find(b"content-length:")
    return int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0


def _response(path: bytes, request: bytes) -> bytes:
    if path.startswith(b"/peer/"):
        return THEIRS[path.split(b"/")[2]]
    answers = next(answers for end, answers in OURS.items() if path.endswith(end))
    tail = request[-SCHEMA_TAIL:]
    return next(answer for mark, answer in answers.items() if not mark or b'"%s"' % mark in tail)


async def _serve(latency: float) -> None:
    state = _State(latency)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(state), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass(frozen=True)
class Endpoint:
    """A running endpoint; `url` has no /v1."""

    url: str

    def stats(self) -> dict[str, Any]:
        """Calls so far, the most at one time, and CPU seconds of the endpoint."""
        with urllib.request.urlopen(f"{self.url}/stats") as response:  # noqa: S310 - its own address
            found: dict[str, Any] = json.load(response)
        return found


@contextlib.contextmanager
def endpoint(latency_ms: int, core: int | None) -> Iterator[Endpoint]:
    """An endpoint in a process of its own, on one core where `core` says so."""
    command = [sys.executable, str(Path(__file__)), "--latency-ms", str(latency_ms)]
    command += [] if core is None else ["--core", str(core)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Endpoint(f"http://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency-ms", type=int, default=200)
    parser.add_argument("--core", type=int)
    arguments = parser.parse_args()
    if arguments.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {arguments.core})
    asyncio.run(_serve(arguments.latency_ms / 1000))


if __name__ == "__main__":
    main()
