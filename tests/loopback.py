"""A judge's server on 127.0.0.1 that answers as a test tells it. No network, no key.

    with Loopback(lambda request, n: {"rationale": "…", …}) as server:
        client = make_client(identity, base_url=server.openai_url, api_key=None)

The behaviour is called for each POST to `/v1/chat/completions`, `/v1/messages` and `/v1/decisions` (where it returns
a `Raw`), in the server's threads, with the
request's JSON and its number (from 1). It returns

* a dict: the answer's JSON object, sent as the text of a finished message;
* an `Answer`: the same with another text, end state, refusal, usage or delay, in the form of whichever API was called;
* a `Raw`: any HTTP response at all, or a dropped or dripping connection.

An exception in the behaviour is answered by status 400 and raised again when the `with` block ends.

Both batch APIs are there as well. A batch that came in is in `server.batches`, and runs until the test calls its
`end()`; then the behaviour is called for each of its lines, and may also return a `Lost`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

MODEL = "loopback-1"


@dataclass(frozen=True)
class Answer:
    """A message of the model. `content` may be a dict (sent as JSON text), a text, or None for no text at all.

    end: `finish_reason` or `stop_reason`; by default what the API calls a normal end.
    refusal: words of a refusal (OpenAI: `message.refusal`; Anthropic: `stop_reason` refusal with `stop_details`).
    usage: in the API's own terms, in place of the usual numbers.
    """

    content: dict[str, Any] | str | None
    end: str | None = None
    refusal: str | None = None
    usage: dict[str, Any] | None = None
    delay_s: float = 0.0


@dataclass(frozen=True)
class Raw:
    """An HTTP response. A dict body is sent as JSON.

    drop: close the connection after half of the body, at once where there is none.
    drip_s: send the body one byte at a time, with this wait in between.
    """

    status: int = 200
    body: dict[str, Any] | str | bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drop: bool = False
    drip_s: float = 0.0


@dataclass(frozen=True)
class Lost:
    """What a line of a batch comes to without an answer. `missing`: no result at all."""

    how: Literal["expired", "cancelled", "missing"]


Behaviour = Callable[[dict[str, Any], int], "dict[str, Any] | Answer | Raw | Lost"]


@dataclass
class Batch:
    """A batch at the server.

    requests: the JSON of each line, by custom id, as `/v1/chat/completions` or `/v1/messages` would get it.
    status: in the API's own terms; may be set.
    results: file name to content, as it can be fetched; may be changed once the batch has ended.
    """

    id: str
    kind: Literal["openai", "anthropic"]
    requests: dict[str, dict[str, Any]]
    answer: Callable[[dict[str, Any], int], Any]
    metadata: dict[str, str] | None = None
    status: str = "in_progress"
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    errors: list[dict[str, Any]] = field(default_factory=list)
    results: dict[str, bytes] = field(default_factory=dict)

    def end(self, status: str = "completed") -> None:
        """Answer all lines, in another order than they came, and be over."""
        self.status = status if self.kind == "openai" else "ended"
        numbered = list(enumerate(self.requests.items(), start=1))
        lines = [
            self._line(custom_id, request, self.answer(request, n)) for n, (custom_id, request) in reversed(numbered)
        ]
        for name in ("output", "error"):
            texts = [json.dumps(line) for file, line in lines if file == name]
            if texts or (self.kind, name) == ("anthropic", "output"):
                self.results[name] = "\n".join([*texts, ""]).encode()

    def _line(self, custom_id: str, request: dict[str, Any], response: Any) -> tuple[str, dict[str, Any]]:
        """The file that a line's result is in, and the result."""
        if isinstance(response, Lost):
            if response.how == "missing":
                return "", {}
            if self.kind == "openai":
                error = {"code": f"batch_{response.how}", "message": f"The batch {response.how}."}
                return "error", {"custom_id": custom_id, "response": None, "error": error}
            kind = {"cancelled": "canceled"}.get(response.how, response.how)
            return "output", {"custom_id": custom_id, "result": {"type": kind}}
        if isinstance(response, Raw):
            code, body = response.status, response.body
        else:
            answer = response if isinstance(response, Answer) else Answer(response)
            code, body = 200, (_completion if self.kind == "openai" else _message)(answer, request)
        if self.kind == "openai":
            told = {"status_code": code, "request_id": "req_1", "body": body}
            return "output" if code == 200 else "error", {"custom_id": custom_id, "response": told, "error": None}
        result = {"type": "succeeded", "message": body} if code == 200 else {"type": "errored", "error": body}
        return "output", {"custom_id": custom_id, "result": result}

    def as_json(self, url: str) -> dict[str, Any]:
        """The batch as its API shows it."""
        if self.kind == "openai":
            return {
                "id": self.id,
                "object": "batch",
                "endpoint": "/v1/chat/completions",
                "status": self.status,
                "created_at": int(self.created_at.timestamp()),
                "metadata": self.metadata,
                "errors": {"object": "list", "data": self.errors} if self.errors else None,
                "output_file_id": f"{self.id}-output" if "output" in self.results else None,
                "error_file_id": f"{self.id}-error" if "error" in self.results else None,
                "request_counts": {"total": len(self.requests), "completed": 0, "failed": 0},
            }
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": self.status,
            "created_at": self.created_at.isoformat(),
            "request_counts": {"processing": len(self.requests), "succeeded": 0, "errored": 0},
            "results_url": f"{url}/v1/messages/batches/{self.id}/results" if "output" in self.results else None,
        }


@dataclass(frozen=True)
class Recorded:
    """A request as it came in; header names in lower case."""

    path: str
    headers: dict[str, str]
    json: dict[str, Any]
    arrived: float


class Loopback:
    """The server, as a context manager.

    url: root, as Anthropic's SDK wants it; openai_url: with /v1.
    requests: every POST so far, in order of arrival.
    peak: the largest number of requests that were in work at the same time.
    batches: every batch so far.
    calls: method and path of every request to a batch API, in order of arrival.
    refuse: what is sent for such a call ("POST /v1/batches") in place of carrying it out.
    garble: what is sent after such a call was carried out.
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self.requests: list[Recorded] = []
        self.peak = 0
        self.batches: list[Batch] = []
        self.calls: list[str] = []
        self.refuse: dict[str, Raw] = {}
        self.garble: dict[str, Raw] = {}
        self._files: dict[str, bytes] = {}
        self._behaviour = behaviour
        self._errors: list[Exception] = []
        self._working = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.openai_url = f"{self.url}/v1"

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        if self._errors and error is None:
            raise self._errors[0]

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than the server lives."""
        self._stopped.wait(seconds)

    def respond(self, request: Recorded) -> Raw:
        """Record `request` and ask the behaviour."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            self._working += 1
            self.peak = max(self.peak, self._working)
        try:
            response = self._behaviour(request.json, number)
            assert not isinstance(response, Lost), "only a line of a batch can be lost"
        except Exception as error:
            self._errors.append(error)
            return Raw(400, {"error": {"message": f"the behaviour raised {error!r}"}})
        if isinstance(response, dict):
            response = Answer(response)
        if isinstance(response, Answer):
            render = _message if request.path.endswith("/messages") else _completion
            response = Raw(body=render(response, request.json), delay_s=response.delay_s)
        return response

    def serve_batch(self, call: str, data: bytes) -> Raw:
        """Answer a call ("POST /v1/batches") of a batch API."""
        with self._lock:
            self.calls.append(call)
            response = self.refuse.get(call) or self._carry_out(call, data) or _unknown(call)
            return self.garble.get(call, response)

    def _carry_out(self, call: str, data: bytes) -> Raw | None:
        if call == "POST /v1/files":
            # The one file's content is what stands in braces; its form is of no interest here.
            self._files[f"file-{len(self._files)}"] = data[data.index(b"{") : data.rindex(b"}") + 1]
            return Raw(body={"id": f"file-{len(self._files) - 1}", "object": "file"})
        if call == "POST /v1/batches":
            given = json.loads(data)
            assert (given["endpoint"], given["completion_window"]) == ("/v1/chat/completions", "24h")
            lines = [json.loads(line) for line in self._files[given["input_file_id"]].split(b"\n")]
            assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
            return self._new("openai", {line["custom_id"]: line["body"] for line in lines}, given.get("metadata"))
        if call == "POST /v1/messages/batches":
            lines = json.loads(data)["requests"]
            return self._new("anthropic", {line["custom_id"]: line["params"] for line in lines}, None)
        for kind, root in (("openai", "GET /v1/batches"), ("anthropic", "GET /v1/messages/batches")):
            known = {f"{root}/{batch.id}": batch for batch in self.batches if batch.kind == kind}
            if call == root:
                return Raw(body={"data": [batch.as_json(self.url) for batch in reversed(known.values())]})
            if call in known:
                return Raw(body=known[call].as_json(self.url))
        for batch in self.batches:
            for name, content in batch.results.items():
                if call in {f"GET /v1/files/{batch.id}-{name}/content", f"GET /v1/messages/batches/{batch.id}/results"}:
                    return Raw(body=content)
        return None

    def _new(
        self, kind: Literal["openai", "anthropic"], requests: dict[str, dict[str, Any]], metadata: dict[str, str] | None
    ) -> Raw:
        self.batches.append(Batch(f"batch_{len(self.batches) + 1}", kind, requests, self._behaviour, metadata))
        return Raw(body=self.batches[-1].as_json(self.url))

    def done(self) -> None:
        """One request less in work."""
        with self._lock:
            self._working -= 1


def _text(answer: Answer) -> str | None:
    return json.dumps(answer.content) if isinstance(answer.content, dict) else answer.content


def _completion(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": _text(answer), "refusal": answer.refusal}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": f"{request.get('model')}-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": answer.end or "stop", "logprobs": None}],
        "usage": answer.usage
        or {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60},
        },
    }


def _message(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    text = _text(answer)
    refusal = {"type": "refusal", "category": "bio", "explanation": answer.refusal} if answer.refusal else None
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{request.get('model')}-2026",
        "content": [] if text is None else [{"type": "text", "text": text}],
        "stop_reason": answer.end or ("refusal" if refusal else "end_turn"),
        "stop_sequence": None,
        "stop_details": refusal,
        "usage": answer.usage
        or {
            "input_tokens": 30,
            "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 60,
            "output_tokens": 20,
        },
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    owner: Loopback

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        if "batches" in self.path or "files" in self.path:
            self._send(self.server.owner.serve_batch(f"GET {self.path.partition('?')[0]}", b""))
            return
        models = {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 1, "owned_by": "tests"}]}
        self._send(Raw(body=models) if self.path == "/v1/models" else _unknown(self.path))

    def do_POST(self) -> None:
        owner = self.server.owner
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path in {"/v1/files", "/v1/batches", "/v1/messages/batches"}:
            self._send(owner.serve_batch(f"POST {self.path}", data))
            return
        if self.path not in {"/v1/chat/completions", "/v1/messages", "/v1/decisions"}:
            self._send(_unknown(self.path))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = owner.respond(Recorded(self.path, headers, json.loads(data), time.monotonic()))
        try:
            owner.wait(response.delay_s)
        finally:
            owner.done()
        self._send(response)

    def _send(self, response: Raw) -> None:
        body = response.body
        kind = "application/json" if isinstance(body, dict) else "text/html; charset=utf-8"
        data = json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
        if response.drop and not data:
            self.close_connection = True
            return
        self.send_response(response.status)
        for name, value in ({"Content-Type": kind, "Content-Length": str(len(data))} | response.headers).items():
            self.send_header(name, value)
        self.end_headers()
        if response.drop:
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
        elif response.drip_s:
            for byte in data:
                self.wfile.write(bytes([byte]))
                self.server.owner.wait(response.drip_s)
        else:
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _unknown(path: str) -> Raw:
    return Raw(404, {"error": {"message": f"no such path: {path}", "type": "not_found_error"}})
