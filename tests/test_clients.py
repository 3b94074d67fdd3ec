"""The clients, with the real SDKs, against a server on 127.0.0.1."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from loopback import Answer, Behaviour, Loopback, Raw

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.judging.clients import Client, Prompt, Reply, make_client
from pytest_sciagent.models import JudgeIdentity, JudgeUsage

KEY = "sk-test-0123456789abcdef"
SCHEMA = {
    "type": "object",
    "properties": {"rationale": {"type": "string"}},
    "required": ["rationale"],
    "additionalProperties": False,
}
PROMPT = Prompt(system="You judge.", shared="The evidence.", last="The criterion.", schema_name="answer", schema=SCHEMA)
FINE = {"rationale": "seen"}
SOON = {"retry-after-ms": "10"}

both = pytest.mark.parametrize("kind", ["openai", "anthropic"])
pytestmark = pytest.mark.usefixtures("no_settings")


def client_for(server: Loopback, kind: str, **given: Any) -> Client:
    settings: dict[str, Any] = {"api_key": KEY, "timeout_s": 5.0, "max_retries": 2}
    parameters = given.pop("parameters", {})
    identity = JudgeIdentity(kind=kind, model="judge-model", parameters=parameters)
    return make_client(identity, base_url=server.openai_url, **(settings | given))


def ask_once(make: Callable[[], Client], prompt: Prompt = PROMPT) -> Reply:
    async def once() -> Reply:
        client = make()
        try:
            return await client.ask(prompt)
        finally:
            await client.close()

    return asyncio.run(once())


def ask(server: Loopback, kind: str, prompt: Prompt = PROMPT, **given: Any) -> Reply:
    return ask_once(lambda: client_for(server, kind, **given), prompt)


def replies_to(responses: Sequence[Answer | Raw], kind: str, **given: Any) -> list[Reply]:
    """The reply to each response, asked for in turn by one client without retries."""

    async def all_of_them(server: Loopback) -> list[Reply]:
        client = client_for(server, kind, max_retries=0, **given)
        try:
            return [await client.ask(PROMPT) for _ in responses]
        finally:
            await client.close()

    with Loopback(lambda request, n: responses[n - 1]) as server:
        return asyncio.run(all_of_them(server))


def reply_to(behaviour: Behaviour, kind: str, prompt: Prompt = PROMPT, **given: Any) -> Reply:
    with Loopback(behaviour) as server:
        return ask(server, kind, prompt, **given)


def request_of(kind: str, prompt: Prompt = PROMPT, **given: Any) -> dict[str, Any]:
    with Loopback(lambda request, n: FINE) as server:
        assert ask(server, kind, prompt, **given).status == "assessed"
        return server.requests[0].json


# What is sent


def test_openai_sends_system_then_shared_then_last_and_a_strict_schema() -> None:
    assert request_of("openai") == {
        "model": "judge-model",
        "messages": [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": "The evidence.\n\nThe criterion."},
        ],
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}},
    }


def test_anthropic_marks_the_shared_block_for_the_cache() -> None:
    assert request_of("anthropic") == {
        "model": "judge-model",
        "max_tokens": 8192,
        "system": "You judge.",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "The evidence.", "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": "The criterion."},
                ],
            }
        ],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }


def test_without_a_shared_part_the_user_message_is_the_last_part_alone() -> None:
    prompt = Prompt(system="", shared="", last="The question.", schema_name="answer", schema=SCHEMA)
    assert request_of("openai", prompt)["messages"][1]["content"] == "The question."
    sent = request_of("anthropic", prompt)
    assert sent["messages"][0]["content"] == [{"type": "text", "text": "The question."}]
    assert "system" not in sent


def test_openai_parameters_are_sent_where_set() -> None:
    parameters = {
        "temperature": 0,
        "seed": 7,
        "top_p": None,
        "reasoning_effort": "low",
        "verbosity": "low",
        "max_output_tokens": 900,
        "extra_body": {"min_p": 0.1},
    }
    sent = request_of("openai", parameters=parameters)
    assert {name: sent[name] for name in sent.keys() - request_of("openai").keys()} == {
        "temperature": 0,
        "seed": 7,
        "reasoning_effort": "low",
        "verbosity": "low",
        "max_completion_tokens": 900,
        "min_p": 0.1,
    }


def test_anthropic_parameters_are_sent_where_set() -> None:
    parameters = {
        "temperature": 0.2,
        "top_k": 3,
        "reasoning_effort": "low",
        "max_output_tokens": 900,
        "extra_body": {"thinking": {"type": "adaptive"}},
    }
    sent = request_of("anthropic", parameters=parameters)
    assert sent["max_tokens"] == 900
    assert sent["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"}
    assert (sent["temperature"], sent["top_k"], sent["thinking"]) == (0.2, 3, {"type": "adaptive"})


@pytest.mark.parametrize(("form", "expected"), [("json_object", {"type": "json_object"}), ("prompt", None)])
def test_openai_tells_the_schema_in_words_where_it_is_not_enforced(form: str, expected: dict[str, str] | None) -> None:
    sent = request_of("openai", parameters={"format": form})
    assert sent.get("response_format") == expected
    assert sent["messages"][0]["content"].startswith("You judge.\n\nAnswer with one JSON object")
    assert '"additionalProperties": false' in sent["messages"][0]["content"]


def test_anthropic_tells_the_schema_in_words_where_it_is_not_enforced() -> None:
    sent = request_of("anthropic", parameters={"format": "prompt"})
    assert "output_config" not in sent
    assert '"additionalProperties": false' in sent["system"]


def test_the_official_api_is_given_a_cache_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two prompts with the same prefix share the key, another prefix has another."""
    real = openai.AsyncOpenAI
    other = Prompt(system="You judge.", shared="Other evidence.", last="x", schema_name="answer", schema=SCHEMA)
    same = Prompt(system="You judge.", shared="The evidence.", last="x", schema_name="answer", schema=SCHEMA)
    with Loopback(lambda request, n: FINE) as server:
        monkeypatch.setattr(openai, "AsyncOpenAI", lambda **given: real(**(given | {"base_url": server.openai_url})))

        async def official() -> None:
            client = make_client(JudgeIdentity(kind="openai", model="m"), base_url=None, api_key=KEY)
            for prompt in (PROMPT, same, other):
                assert (await client.ask(prompt)).status == "assessed"
            await client.close()

        asyncio.run(official())
        keys = [request.json["prompt_cache_key"] for request in server.requests]
    assert keys[0] == keys[1] != keys[2]
    assert keys[0].startswith("sciagent:")


@both
def test_the_key_may_come_from_the_environment(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", f"{KEY}\n")
    with Loopback(lambda request, n: FINE) as server:
        assert ask(server, kind, api_key=None).status == "assessed"
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@both
def test_a_base_url_may_come_from_the_environment(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(lambda request, n: FINE) as server:
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", server.openai_url)
        identity = JudgeIdentity(kind=kind, model="m")
        assert ask_once(lambda: make_client(identity, base_url=None, api_key=None)).status == "assessed"
        assert "prompt_cache_key" not in server.requests[0].json


def test_a_local_server_needs_no_key() -> None:
    with Loopback(lambda request, n: FINE) as server:
        assert ask(server, "openai", api_key=None).status == "assessed"
        assert server.requests[0].headers["authorization"] == "Bearer none"


# Settings that are refused


@pytest.mark.parametrize(
    ("kind", "base_url", "named"),
    [
        ("openai", None, "OPENAI_API_KEY"),
        ("anthropic", None, "ANTHROPIC_API_KEY"),
        ("openai", "https://models.example/v1", "OPENAI_API_KEY"),
    ],
)
def test_a_missing_key_names_the_variable(kind: str, base_url: str | None, named: str) -> None:
    with pytest.raises(SciagentError, match=named):
        make_client(JudgeIdentity(kind=kind, model="m"), base_url=base_url, api_key=None)


def test_a_key_that_no_header_can_hold_is_refused_without_showing_it() -> None:
    with pytest.raises(SciagentError, match="characters that no key has") as caught:
        make_client(JudgeIdentity(kind="openai", model="m"), base_url=None, api_key="sk-abc\ndef")
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("openai", {"temprature": 0}, "unknown parameter 'temprature'; known: .*temperature"),
        ("anthropic", {"seed": 1}, "unknown parameter 'seed'"),
        ("anthropic", {"format": "json_object"}, "parameter 'format'"),
        ("openai", {"temperature": "0"}, "parameter 'temperature'"),
        ("openai", {"max_output_tokens": 0}, "parameter 'max_output_tokens'"),
        ("openai", {"extra_body": {"model": "another"}}, "can't hold model"),
    ],
)
def test_bad_parameters_are_refused(kind: str, parameters: dict[str, Any], message: str) -> None:
    identity = JudgeIdentity(kind=kind, model="m", parameters=parameters)
    with pytest.raises(SciagentError, match=message):
        make_client(identity, base_url=None, api_key=KEY)


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, float("nan")])
def test_a_timeout_must_be_positive(timeout_s: float) -> None:
    with pytest.raises(SciagentError, match="timeout"):
        make_client(JudgeIdentity(kind="openai", model="m"), base_url=None, api_key=KEY, timeout_s=timeout_s)


@pytest.mark.parametrize(
    "base_url", ["localhost:8000", "ftp://host/v1", "http://", "http://host:99999", "http://user:word@host"]
)
def test_bad_urls_are_refused(base_url: str) -> None:
    with pytest.raises(SciagentError, match="URL"):
        make_client(JudgeIdentity(kind="openai", model="m"), base_url=base_url, api_key=KEY)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(SciagentError, match="kinds: openai, anthropic"):
        make_client(JudgeIdentity(kind="oracle", model="m"), base_url=None, api_key=KEY)


# What comes back


@both
def test_an_answer(kind: str) -> None:
    reply = reply_to(lambda request, n: FINE, kind)
    assert (reply.text, reply.status, reply.detail) == ('{"rationale": "seen"}', "assessed", "")
    assert reply.model_returned == "judge-model-2026"
    assert reply.usage == JudgeUsage(input_tokens=100, output_tokens=20, cached_tokens=60)
    assert 0 < reply.latency_s < 5
    assert not reply.fatal


@both
def test_usage_that_is_no_count_is_unknown(kind: str) -> None:
    odd = {"prompt_tokens": "many", "input_tokens": -1, "completion_tokens": True, "output_tokens": None}
    assert reply_to(lambda request, n: Answer(FINE, usage=odd), kind).usage == JudgeUsage()


@pytest.mark.parametrize(
    ("kind", "answer", "status", "detail"),
    [
        ("openai", Answer("{", end="length"), "truncated", "output limit"),
        ("openai", Answer("", end="content_filter"), "refused", "content filter"),
        ("openai", Answer(None, refusal="I can't help with that."), "refused", "I can't help with that."),
        ("openai", Answer(" \n"), "invalid", "empty"),
        ("openai", Answer(None), "invalid", "empty"),
        ("openai", Answer("{", end="error"), "provider_error", "failed while answering"),
        ("anthropic", Answer("{", end="max_tokens"), "truncated", "max_tokens"),
        ("anthropic", Answer("{", end="model_context_window_exceeded"), "truncated", "context_window"),
        ("anthropic", Answer("{", end="pause_turn"), "truncated", "paused"),
        ("anthropic", Answer(None, refusal="Not this."), "refused", "bio: Not this."),
        ("anthropic", Answer(None, end="refusal"), "refused", "refused"),
        ("anthropic", Answer(None), "invalid", "empty"),
        ("anthropic", Answer(" "), "invalid", "empty"),
    ],
)
def test_ends_of_a_message(kind: str, answer: Answer, status: str, detail: str) -> None:
    reply = reply_to(lambda request, n: answer, kind)
    assert (reply.text, reply.status) == (None, status)
    assert detail in reply.detail
    assert reply.usage.output_tokens == 20
    assert not reply.fatal


def test_text_blocks_are_joined_and_thinking_is_left_out() -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{"}, {"type": "text", "text": "}"}]
    body = {"type": "message", "model": "m", "content": blocks, "stop_reason": "end_turn"}
    assert reply_to(lambda request, n: Raw(body=body), "anthropic").text == "{}"


@both
def test_a_successful_status_with_another_body_is_a_providers_error(kind: str) -> None:
    bodies: list[Any] = [
        "<html><b>Monthly spending cap reached</b>",
        "[]",
        "null",
        "{" * 100_000,
        "[" * 100_000,
        {},
        {"choices": [], "content": None},
        {"choices": [7], "content": "text"},
        {"choices": {"0": 1}},
        b"\xff\xfe",
        b"",
    ]
    replies = replies_to([Raw(body=body) for body in bodies], kind)
    assert {(reply.text, reply.status, reply.fatal) for reply in replies} == {(None, "provider_error", False)}
    assert all(0 < len(reply.detail) <= 500 for reply in replies)
    assert "Monthly spending cap reached" in replies[0].detail


@both
def test_an_error_within_a_successful_status(kind: str) -> None:
    cases: list[tuple[Any, str, bool]] = [
        ({"message": "upstream lost"}, "provider_error", False),
        ("upstream lost", "provider_error", False),
        ({"message": "upstream lost", "code": 502}, "provider_error", False),
        ({"message": "upstream lost", "code": 429}, "rate_limited", False),
        ({"message": "upstream lost", "code": 401}, "provider_error", True),
        ({"message": "upstream lost", "code": "insufficient_quota"}, "provider_error", True),
    ]
    replies = replies_to([Raw(body={"error": error}) for error, _, _ in cases], kind)
    assert [(reply.text, reply.status, reply.detail, reply.fatal) for reply in replies] == [
        (None, status, "upstream lost", fatal) for _, status, fatal in cases
    ]


@both
def test_error_statuses(kind: str) -> None:
    cases: list[tuple[int, str, dict[str, str], str, bool]] = [
        (401, "No such key.", {}, "provider_error", True),
        (402, "Payment required.", {}, "provider_error", True),
        (403, "Region not supported.", {}, "provider_error", True),
        (403, "Moderation: your input was flagged", {}, "refused", False),
        (404, "The model does not exist.", {"code": "model_not_found"}, "provider_error", True),
        (400, "Unsupported parameter: 'temperature'.", {}, "provider_error", True),
        (400, "max_tokens is too large: 9 > 5", {}, "provider_error", True),
        (400, "prompt is too long: 9 tokens > 5 maximum", {}, "provider_error", False),
        (400, "the request exceeds the available context size", {}, "provider_error", False),
        (400, "Shorten it.", {"code": "context_length_exceeded"}, "provider_error", False),
        (400, "This was flagged.", {"code": "invalid_prompt"}, "refused", False),
        (400, "Output blocked by content filtering policy", {}, "refused", False),
        (413, "Request too large", {}, "provider_error", False),
        (422, "Unknown field seed", {}, "provider_error", True),
        (429, "Slow down.", {"type": "rate_limit_error"}, "rate_limited", False),
        (429, "No credit.", {"code": "insufficient_quota"}, "rate_limited", True),
        (500, "Oops.", {}, "provider_error", False),
        (529, "Overloaded", {"type": "overloaded_error"}, "provider_error", False),
    ]
    replies = replies_to([Raw(code, {"error": {"message": words} | more}) for code, words, more, _, _ in cases], kind)
    assert [(reply.text, reply.detail, reply.status, reply.fatal) for reply in replies] == [
        (None, f"HTTP {code}: {words}", status, fatal) for code, words, _, status, fatal in cases
    ]


@both
def test_error_statuses_with_bodies_of_other_servers(kind: str) -> None:
    bodies: list[Any] = [
        "<html>Bad gateway</html>",
        "",
        {"detail": [{"msg": "not allowed"}]},
        {"message": "plain"},
        "[1]",
    ]
    expected = ["<html>Bad gateway</html>", "", "not allowed", "plain", "1"]
    replies = replies_to([Raw(502, body) for body in bodies], kind)
    assert [reply.status for reply in replies] == ["provider_error"] * 5
    assert all(
        words in reply.detail and "HTTP 502" in reply.detail for words, reply in zip(expected, replies, strict=True)
    )


@both
def test_a_fatal_error_is_not_tried_again(kind: str) -> None:
    with Loopback(lambda request, n: Raw(401, {"error": {"message": "No such key."}})) as server:
        assert ask(server, kind).fatal
        assert len(server.requests) == 1


@both
@pytest.mark.parametrize("code", [429, 500])
def test_passing_errors_are_tried_again(kind: str, code: int) -> None:
    with Loopback(lambda request, n: Raw(code, "busy", SOON) if n < 3 else FINE) as server:
        assert ask(server, kind).status == "assessed"
        assert len(server.requests) == 3


@both
def test_retry_after_is_honoured(kind: str) -> None:
    with Loopback(lambda request, n: Raw(429, "busy", {"retry-after": "1"}) if n == 1 else FINE) as server:
        reply = ask(server, kind)
        first, second = (request.arrived for request in server.requests)
    assert reply.status == "assessed"
    assert second - first >= 0.95
    assert reply.latency_s >= 0.95


@both
def test_retries_are_bounded(kind: str) -> None:
    with Loopback(lambda request, n: Raw(429, "busy", {"retry-after-ms": "1"})) as server:
        assert ask(server, kind, max_retries=1000).status == "rate_limited"
        assert len(server.requests) == 11


@both
@pytest.mark.parametrize(
    "slow", [Answer(FINE, delay_s=30), Raw(body={"rationale": "seen"}, drip_s=0.05), Raw(429, "", {"retry-after": "9"})]
)
def test_the_deadline_ends_what_is_too_slow(kind: str, slow: Answer | Raw) -> None:
    started = time.monotonic()
    reply = reply_to(lambda request, n: slow, kind, timeout_s=0.15, max_retries=1)
    assert (reply.text, reply.status, reply.fatal) == (None, "timeout", False)
    assert "0.3 s" in reply.detail
    assert time.monotonic() - started < 3


@both
def test_an_attempt_that_times_out_by_itself(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_route(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectTimeout("no route", request=request)

    sdk: Any = openai if kind == "openai" else anthropic
    name = "AsyncOpenAI" if kind == "openai" else "AsyncAnthropic"
    real = getattr(sdk, name)
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(no_route))
    monkeypatch.setattr(sdk, name, lambda **given: real(**(given | {"http_client": http})))
    reply = reply_to(lambda request, n: FINE, kind, max_retries=0)
    assert (reply.status, reply.fatal) == ("timeout", False)
    assert "timed out" in reply.detail


@both
@pytest.mark.parametrize("body", [b"", {"rationale": "half of this arrives"}])
def test_a_dropped_connection(kind: str, body: Any) -> None:
    reply = reply_to(lambda request, n: Raw(body=body, drop=True), kind, max_retries=0)
    assert (reply.text, reply.status, reply.fatal) == (None, "provider_error", False)
    assert "onnection" in reply.detail


@both
def test_a_dropped_connection_is_tried_again(kind: str) -> None:
    with Loopback(lambda request, n: Raw(drop=True) if n == 1 else FINE) as server:
        assert ask(server, kind).status == "assessed"
        assert len(server.requests) == 2


BAD_HTTP: dict[str, bytes] = {
    "no HTTP": b"220 mail.example ESMTP\r\n",
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "a short body": b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{}",
    "a bad length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
    "bad chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "a bad header": b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n{}",
    "a huge header": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n{}",
    "a bad encoding": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    "a bad charset": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=rot13\r\nContent-Length: 2\r\n\r\n{}",
    "an odd status": b"HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\n{}",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "a redirect to itself": b"HTTP/1.1 307 x\r\nLocation: /v1/chat/completions\r\nContent-Length: 0\r\n\r\n",
    "a redirect to a file": b"HTTP/1.1 302 x\r\nLocation: file:///etc/hostname\r\nContent-Length: 0\r\n\r\n",
    "a redirect to nowhere": b"HTTP/1.1 302 x\r\nLocation: http://[::1\r\nContent-Length: 0\r\n\r\n",
}


@both
@pytest.mark.parametrize("response", BAD_HTTP.values(), ids=BAD_HTTP.keys())
def test_a_server_that_speaks_no_proper_http(kind: str, response: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)
        writer.close()

    async def once() -> Reply:
        server = await asyncio.start_server(serve, "127.0.0.1")
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        client = make_client(JudgeIdentity(kind=kind, model="m"), base_url=url, api_key=KEY, max_retries=0)
        try:
            return await client.ask(PROMPT)
        finally:
            await client.close()
            server.close()

    reply = asyncio.run(once())
    assert (reply.text, reply.status, reply.fatal) == (None, "provider_error", False)
    assert KEY not in reply.detail


@both
def test_nobody_listens(kind: str) -> None:
    with Loopback(lambda request, n: FINE) as server:
        pass
    assert ask(server, kind, max_retries=0).status == "provider_error"


@both
@pytest.mark.parametrize(
    "response",
    [
        Raw(401, {"error": {"message": f"Wrong key {KEY} given"}}),
        Raw(403, f"<html>{'x' * 480} {KEY}"),
        Raw(200, f"{'y' * 475}{KEY}"),
        Raw(200, {"error": {"message": f"Authorization: Bearer {KEY}"}}),
    ],
)
def test_the_key_is_in_no_detail(kind: str, response: Raw) -> None:
    reply = reply_to(lambda request, n: response, kind)
    assert reply.status == "provider_error"
    assert KEY[:8] not in repr(reply)


@both
def test_details_are_one_safe_line(kind: str) -> None:
    reply = reply_to(lambda request, n: Raw(401, {"error": {"message": "a\n\x1b[31mb\u202e" + "c" * 900}}), kind)
    assert reply.detail.startswith("HTTP 401: a \\x1b[31mb\\u202ec")
    assert len(reply.detail) == 500


@both
def test_a_prompt_that_is_not_unicode_is_a_status(kind: str) -> None:
    prompt = Prompt(system="s", shared="\ud800", last="x", schema_name="answer", schema=SCHEMA)
    reply = reply_to(lambda request, n: FINE, kind, prompt)
    assert (reply.text, reply.status) == (None, "invalid")


@both
def test_a_cancellation_is_let_through(kind: str) -> None:
    async def cancelled(server: Loopback) -> None:
        client = client_for(server, kind)
        task = asyncio.create_task(client.ask(PROMPT))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.close()

    with Loopback(lambda request, n: Answer(FINE, delay_s=30)) as server:
        asyncio.run(cancelled(server))


@both
def test_one_client_asks_many_questions_at_once(kind: str) -> None:
    async def many(server: Loopback) -> list[Reply]:
        client = client_for(server, kind)
        try:
            return await asyncio.gather(*(client.ask(PROMPT) for _ in range(8)))
        finally:
            await client.close()

    with Loopback(lambda request, n: Answer(FINE, delay_s=0.3)) as server:
        replies = asyncio.run(many(server))
    assert [reply.status for reply in replies] == ["assessed"] * 8
    assert server.peak == 8


def test_a_reply_has_text_or_a_failure() -> None:
    with pytest.raises(ValueError, match="exactly when"):
        Reply("text", "timeout", "", None, JudgeUsage(), 0.0)
    with pytest.raises(ValueError, match="exactly when"):
        Reply(None, "assessed", "", None, JudgeUsage(), 0.0)


# The server of the tests itself


def test_loopback_lists_its_model() -> None:
    with Loopback(lambda request, n: FINE) as server:
        assert [model.id for model in openai.OpenAI(api_key="x", base_url=server.openai_url).models.list()] == [
            "loopback-1"
        ]
        assert server.requests == []


def test_loopback_reports_an_error_of_its_behaviour() -> None:
    def broken(request: dict[str, Any], n: int) -> dict[str, Any]:
        raise KeyError("a mistake in a test")

    with pytest.raises(KeyError, match="a mistake in a test"), Loopback(broken) as server:
        assert ask(server, "openai").fatal
