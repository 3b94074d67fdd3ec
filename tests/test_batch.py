"""Batches, with the real SDKs, against the batch APIs of a server on 127.0.0.1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import openai
import pytest
from loopback import Answer, Batch, Behaviour, Loopback, Lost, Raw
from test_clients import KEY, ask, replies_to

from pytest_sciagent.digest import sha256_bytes
from pytest_sciagent.errors import SciagentError
from pytest_sciagent.judging import batch, batch_api
from pytest_sciagent.judging.batch import (
    BatchOutcome,
    BatchState,
    collect_batch,
    forget_batch,
    keys_in_flight,
    open_batches,
    submit_batch,
)
from pytest_sciagent.judging.batch_api import BATCH_APIS
from pytest_sciagent.judging.clients import Prompt
from pytest_sciagent.ledger.store import write_atomically
from pytest_sciagent.models import JudgeIdentity, JudgeUsage

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
CREATE = {"openai": "POST /v1/batches", "anthropic": "POST /v1/messages/batches"}
LIST = {"openai": "GET /v1/batches", "anthropic": "GET /v1/messages/batches"}
SOON = {"retry-after-ms": "1"}

both = pytest.mark.parametrize("kind", ["openai", "anthropic"])
pytestmark = pytest.mark.usefixtures("no_settings")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "batches"


def key_of(n: int) -> str:
    return sha256_bytes(str(n).encode())


def prompt_of(n: int) -> Prompt:
    return Prompt(system="You judge.", shared="The evidence.", last=f"Criterion {n}.", schema_name="a", schema=SCHEMA)


def prompts_of(count: int) -> dict[str, Prompt]:
    return {key_of(n): prompt_of(n) for n in range(1, count + 1)}


def identity_of(kind: str, **parameters: Any) -> JudgeIdentity:
    return JudgeIdentity(kind=kind, model="judge-model", parameters=parameters)


def submit(
    server: Loopback, kind: str, folder: Path, prompts: Mapping[str, Prompt], **parameters: Any
) -> list[BatchState]:
    return submit_batch(
        prompts, identity_of(kind, **parameters), base_url=server.openai_url, api_key=KEY, folder=folder
    )


def number(request: dict[str, Any], n: int) -> dict[str, Any]:
    return {"n": n}


def outcome_of(kind: str, folder: Path, behaviour: Behaviour, count: int, status: str = "completed") -> BatchOutcome:
    """What a batch of `count` questions, answered by `behaviour` and ended in `status`, comes to."""
    with Loopback(behaviour) as server:
        (state,) = submit(server, kind, folder, prompts_of(count))
        server.batches[0].end(status)
        return collect_batch(state, api_key=KEY)


# Submitting


@both
def test_the_lines_are_the_requests_of_the_live_client(kind: str, folder: Path) -> None:
    parameters = {"max_output_tokens": 900, "extra_body": {"min_p": 0.1}}
    with Loopback(number) as server:
        submit(server, kind, folder, prompts_of(2), **parameters)
        sent = server.batches[0].requests
        for n in (1, 2):
            ask(server, kind, prompt_of(n), parameters=parameters)
        live = [request.json for request in server.requests]
    assert list(sent) == [key_of(1)[:60], key_of(2)[:60]]
    assert list(sent.values()) == live
    assert live[0]["min_p"] == 0.1


@both
def test_a_submitted_batch_is_one_file_that_reads_back(kind: str, folder: Path) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, kind, folder, prompts_of(3))
        assert state.base_url.startswith(server.url)
    assert (state.batch_id, state.status, state.judge) == ("batch_1", "submitted", identity_of(kind))
    assert state.keys == tuple(prompts_of(3))
    assert [path.name for path in folder.iterdir()] == ["batch_1.json"]
    assert open_batches(folder) == [state]
    assert KEY not in (folder / "batch_1.json").read_text()


def test_without_prompts_or_a_folder_there_is_nothing(folder: Path) -> None:
    assert submit_batch({}, identity_of("openai"), base_url=None, api_key=None, folder=folder) == []
    assert open_batches(folder) == []
    assert keys_in_flight(folder, identity_of("openai")) == set()


@both
def test_questions_in_flight_are_not_asked_again(kind: str, folder: Path) -> None:
    with Loopback(number) as server:
        (first,) = submit(server, kind, folder, prompts_of(2))
        assert keys_in_flight(folder, identity_of(kind)) == {key_of(1), key_of(2)}
        assert keys_in_flight(folder, identity_of(kind, temperature=0.0)) == set()
        (second,) = submit(server, kind, folder, prompts_of(3))
        assert second.keys == (key_of(3),)
        assert submit(server, kind, folder, prompts_of(3)) == []
        forget_batch(folder, first)
        assert keys_in_flight(folder, identity_of(kind)) == {key_of(3)}
        assert len(server.batches) == 2


@both
def test_batches_hold_at_most_so_many_questions(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BATCH_APIS[kind], "max_requests", 2)
    with Loopback(number) as server:
        states = submit(server, kind, folder, prompts_of(5))
        assert [len(sent.requests) for sent in server.batches] == [2, 2, 1]
    assert [key for state in states for key in state.keys] == list(prompts_of(5))
    assert open_batches(folder) == sorted(states, key=lambda state: state.batch_id)


@both
def test_batches_hold_at_most_so_many_bytes(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def size(request: dict[str, Any]) -> int:
        around = {"method": "POST", "url": "/v1/chat/completions"} if kind == "openai" else {}
        line = {"custom_id": key_of(1)[:60], ("body" if kind == "openai" else "params"): request} | around
        return len(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode()) + 1

    prompts = prompts_of(4)
    # Two bytes for each character, and larger than a batch may be: it goes alone.
    prompts[key_of(5)] = Prompt(system="", shared="é" * 4000, last="x", schema_name="a", schema=SCHEMA)
    with Loopback(number) as server:
        submit(server, kind, folder / "measured", prompts_of(1))
        limit = 2 * size(next(iter(server.batches[0].requests.values())))
        monkeypatch.setattr(BATCH_APIS[kind], "max_bytes", limit)
        submit(server, kind, folder, prompts)
        assert [len(sent.requests) for sent in server.batches[1:]] == [2, 2, 1]
        monkeypatch.setattr(BATCH_APIS[kind], "max_bytes", limit - 1)
        submit(server, kind, folder / "other", prompts_of(4))
        assert [len(sent.requests) for sent in server.batches[4:]] == [1, 1, 1, 1]


@both
def test_a_refusal_is_told_in_the_providers_words(kind: str, folder: Path) -> None:
    words = Raw(401, {"error": {"message": f"No such key: {KEY}"}})
    with Loopback(number) as server:
        server.refuse = {CREATE[kind]: words, "POST /v1/files": words}
        with pytest.raises(SciagentError, match=r"HTTP 401: No such key: \[key\]"):
            submit(server, kind, folder, prompts_of(2))
        assert server.batches == []
    assert open_batches(folder) == []


@both
def test_what_was_submitted_before_a_refusal_is_on_record(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BATCH_APIS[kind], "max_requests", 2)
    prompts = prompts_of(3) | {key_of(4): Prompt(system="", shared="\ud800", last="x", schema_name="a", schema=SCHEMA)}
    with Loopback(number) as server:
        with pytest.raises(SciagentError, match=f"{key_of(4)} holds text that is not Unicode"):
            submit(server, kind, folder, prompts)
        assert [state.keys for state in open_batches(folder)] == [(key_of(1), key_of(2))]
        server.refuse[CREATE[kind]] = Raw(429, {"error": {"message": "Too many batches."}}, SOON)
        with pytest.raises(SciagentError, match="HTTP 429: Too many batches"):
            submit(server, kind, folder, prompts_of(3))
        assert [state.keys for state in open_batches(folder)] == [(key_of(1), key_of(2))]
        del server.refuse[CREATE[kind]]
        assert [state.keys for state in submit(server, kind, folder, prompts_of(3))] == [(key_of(3),)]


@both
def test_nobody_listens(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BATCH_APIS[kind], "prepare", _nothing_to_prepare)
    with Loopback(number) as server:
        pass
    with pytest.raises(SciagentError, match="onnection"):
        submit(server, kind, folder, prompts_of(1))
    assert open_batches(folder) == []


async def _nothing_to_prepare(self: Any, requests: Any) -> Any:
    return requests


def test_bad_settings_are_told(folder: Path) -> None:
    with pytest.raises(SciagentError, match="OPENAI_API_KEY"):
        submit_batch(prompts_of(1), identity_of("openai"), base_url=None, api_key=None, folder=folder)
    with pytest.raises(SciagentError, match="kinds: openai, anthropic"):
        submit_batch(prompts_of(1), identity_of("handoff"), base_url=None, api_key=None, folder=folder)


@both
def test_a_folder_that_can_not_be_written_to_costs_no_batch(kind: str, folder: Path) -> None:
    folder.parent.joinpath("file").write_text("")
    with Loopback(number) as server:
        with pytest.raises(SciagentError, match="can't be written"):
            submit(server, kind, folder.parent / "file" / "batches", prompts_of(1))
        assert server.batches == []


# Collecting


@both
def test_a_running_batch_has_no_replies(kind: str, folder: Path) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, kind, folder, prompts_of(2))
        for status in ("in_progress", "canceling" if kind == "anthropic" else "finalizing"):
            server.batches[0].status = status
            outcome = collect_batch(state, api_key=KEY)
            assert (outcome.status, outcome.replies) == ("running", {})
            assert outcome.detail.startswith(status)
    assert open_batches(folder) == [state]


@both
def test_an_ended_batch_gives_each_key_its_own_answer(kind: str, folder: Path) -> None:
    outcome = outcome_of(kind, folder, number, 4)
    assert outcome.status == "ended"
    assert {key: reply.text for key, reply in outcome.replies.items()} == {
        key_of(n): f'{{"n": {n}}}' for n in (1, 2, 3, 4)
    }
    reply = outcome.replies[key_of(1)]
    assert (reply.status, reply.model_returned) == ("assessed", "judge-model-2026")
    assert reply.usage == JudgeUsage(input_tokens=100, output_tokens=20, cached_tokens=60)


@both
def test_a_batch_is_collected_where_it_was_submitted(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(number) as server:
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", server.openai_url)
        submit_batch(prompts_of(1), identity_of(kind), base_url=None, api_key=KEY, folder=folder)
        server.batches[0].end()
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", "http://127.0.0.1:9")
        (state,) = open_batches(folder)
        assert collect_batch(state, api_key=KEY).status == "ended"


def test_the_official_address_is_recorded_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = openai.AsyncOpenAI
    seen: list[Any] = []
    with Loopback(number) as server:

        def redirected(**given: Any) -> openai.AsyncOpenAI:
            seen.append(given["base_url"])
            return real(**(given | {"base_url": server.openai_url}))

        monkeypatch.setattr(openai, "AsyncOpenAI", redirected)
        submit_batch(prompts_of(1), identity_of("openai"), base_url=None, api_key=KEY, folder=folder)
        (state,) = open_batches(folder)
        collect_batch(state, api_key=KEY)
    assert seen == [None, state.base_url]


@both
@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_what_a_cut_batch_left_open_is_no_answer(kind: str, folder: Path, status: Any) -> None:
    lines: list[Answer | Lost] = [Answer({"n": 1}), Lost(status), Lost("missing"), Answer({"n": 4})]
    outcome = outcome_of(kind, folder, lambda request, n: lines[n - 1], 4, status)
    assert outcome.status == "ended"
    assert {key: (reply.text, reply.status) for key, reply in outcome.replies.items()} == {
        key_of(1): ('{"n": 1}', "assessed"),
        key_of(2): (None, "timeout" if status == "expired" else "provider_error"),
        key_of(4): ('{"n": 4}', "assessed"),
    }
    assert status in outcome.replies[key_of(2)].detail
    assert not outcome.replies[key_of(2)].fatal


@both
def test_a_batch_of_which_nothing_is_left(kind: str, folder: Path) -> None:
    assert outcome_of(kind, folder, lambda request, n: Lost("missing"), 2, "expired").replies == {}


@both
def test_lines_end_as_messages_of_the_live_client_do(kind: str, folder: Path) -> None:
    def error(code: int, name: str, words: str) -> Raw:
        return Raw(code, {"type": "error", "error": {"type": name, "message": words}})

    lines: list[Answer | Raw] = [
        Answer({"n": 1}),
        Answer("{", end="length" if kind == "openai" else "max_tokens"),
        Answer(None, refusal="Not this."),
        Answer(" "),
        error(400, "invalid_request_error", "prompt is too long: 9 tokens > 5 maximum"),
        error(400, "invalid_request_error", "Output blocked by content filtering policy"),
        error(400, "invalid_request_error", "Unknown parameter"),
        error(404, "not_found_error", "No such model"),
        error(429, "rate_limit_error", "Slow down."),
        error(500, "api_error", f"Oops {KEY}"),
        error(529, "overloaded_error", "Overloaded"),
    ]
    outcome = outcome_of(kind, folder, lambda request, n: lines[n - 1], len(lines))
    collected = [outcome.replies[key_of(n)] for n in range(1, len(lines) + 1)]
    live = replies_to(lines, kind)
    assert [(r.text, r.status, r.detail, r.fatal, r.usage) for r in collected] == [
        (r.text, r.status, r.detail, r.fatal, r.usage) for r in live
    ]
    assert {r.status for r in live} == {
        "assessed", "truncated", "refused", "invalid", "provider_error", "rate_limited"
    }  # fmt: skip


@both
def test_lines_that_say_nothing_are_no_reply(kind: str, folder: Path) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, kind, folder, prompts_of(3))
        sent = server.batches[0]
        sent.end()
        good = sent.results["output"].split(b"\n")[0]
        assert key_of(3)[:60].encode() in good
        stranger = good.replace(key_of(3)[:60].encode(), b"somebody-else")
        odd: list[Any] = [[], 7, None, {}, {"custom_id": 1}, {"custom_id": key_of(1)[:60]}]
        odd += [{"custom_id": key_of(1)[:60], "result": {"type": "new"}, "response": [], "error": "x"}]
        odd += [{"result": {"type": "expired"}, "error": {"code": "batch_expired"}}]
        rest = [json.dumps(line).encode() for line in odd]
        sent.results = {"output": b"\n".join([b"\xff{", b"[" * 100_000, stranger, *rest, b"", good, good[:40]])}
        outcome = collect_batch(state, api_key=KEY)
    assert (outcome.status, list(outcome.replies)) == ("ended", [key_of(3)])
    assert outcome.replies[key_of(3)].text == '{"n": 3}'


@both
def test_a_succeeded_line_without_a_message_is_a_providers_error(kind: str, folder: Path) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, kind, folder, prompts_of(2))
        sent = server.batches[0]
        sent.end()
        bodies: list[Any] = [None, {}]
        lines = [
            {"custom_id": key_of(n)[:60], "response": {"status_code": 200, "body": body}}
            if kind == "openai"
            else {"custom_id": key_of(n)[:60], "result": {"type": "succeeded", "message": body}}
            for n, body in enumerate(bodies, start=1)
        ]
        sent.results = {"output": b"\n".join(json.dumps(line).encode() for line in lines)}
        outcome = collect_batch(state, api_key=KEY)
    assert [reply.status for reply in outcome.replies.values()] == ["provider_error"] * 2


def test_an_answer_wins_over_an_error(folder: Path) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, "openai", folder, prompts_of(1))
        server.batches[0].end()
        line = {"custom_id": key_of(1)[:60], "error": {"code": "batch_expired", "message": "late"}}
        server.batches[0].results["error"] = json.dumps(line).encode()
        assert collect_batch(state, api_key=KEY).replies[key_of(1)].status == "assessed"


def test_a_batch_that_fails_its_validation(folder: Path) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, "openai", folder, prompts_of(1))
        sent = server.batches[0]
        sent.status = "failed"
        sent.errors = [{"code": "x", "line": 1, "message": "No such\nmodel."}, {"message": "Limit reached."}]
        assert collect_batch(state, api_key=KEY) == BatchOutcome("failed", {}, "No such model.; Limit reached.")
        sent.errors = []
        assert "did not say why" in collect_batch(state, api_key=KEY).detail


def test_results_that_are_no_longer_kept(folder: Path) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, "anthropic", folder, prompts_of(1))
        server.batches[0].status = "ended"
        outcome = collect_batch(state, api_key=KEY)
    assert (outcome.status, outcome.replies) == ("failed", {})
    assert "no longer keeps" in outcome.detail


@both
@pytest.mark.parametrize(
    ("response", "words"),
    [
        (Raw(401, {"error": {"message": f"Wrong key {KEY}"}}), r"HTTP 401: Wrong key \[key\]"),
        (Raw(404, {"error": {"message": "No such batch"}}), "HTTP 404: No such batch"),
        (Raw(200, "<html>Maintenance</html>"), "Maintenance"),
        (Raw(200, {"error": {"message": "upstream lost"}}), "upstream lost"),
    ],
)
def test_a_batch_that_can_not_be_looked_at_stays_open(kind: str, folder: Path, response: Raw, words: str) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, kind, folder, prompts_of(1))
        server.refuse[f"{LIST[kind]}/batch_1"] = response
        with pytest.raises(SciagentError, match=f"batch_1 can't be looked at: .*{words}"):
            collect_batch(state, api_key=KEY)
    assert open_batches(folder) == [state]


@both
def test_answers_that_can_not_be_fetched_stay_where_they_are(kind: str, folder: Path) -> None:
    results = {
        "openai": "GET /v1/files/batch_1-output/content",
        "anthropic": "GET /v1/messages/batches/batch_1/results",
    }[kind]
    with Loopback(number) as server:
        (state,) = submit(server, kind, folder, prompts_of(1))
        server.batches[0].end()
        server.refuse[results] = Raw(403, {"error": {"message": "Not yours."}})
        with pytest.raises(SciagentError, match="answers of the batch batch_1 can't be fetched: HTTP 403: Not yours"):
            collect_batch(state, api_key=KEY)
        del server.refuse[results]
        assert list(collect_batch(state, api_key=KEY).replies) == [key_of(1)]


@both
def test_passing_errors_are_tried_again_when_looking(kind: str, folder: Path) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, kind, folder, prompts_of(1))
        looked = f"{LIST[kind]}/batch_1"
        server.refuse[looked] = Raw(503, "busy", SOON)
        with pytest.raises(SciagentError, match="HTTP 503"):
            collect_batch(state, api_key=KEY)
        assert server.calls.count(looked) == 5


@both
def test_a_provider_that_does_not_answer_is_told(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(number) as server:
        (state,) = submit(server, kind, folder, prompts_of(1))
        server.refuse[f"{LIST[kind]}/batch_1"] = Raw(429, "", {"retry-after": "60"})
        monkeypatch.setattr(batch_api, "DEADLINE_S", 0.2)
        with pytest.raises(SciagentError, match=r"no answer within 0\.2 s"):
            collect_batch(state, api_key=KEY)


# State files


def test_ids_that_are_no_file_names(folder: Path) -> None:
    with Loopback(number) as server:
        server.garble[CREATE["openai"]] = Raw(body={"id": "../batches/x y"})
        (state,) = submit(server, "openai", folder, prompts_of(1))
    assert open_batches(folder) == [state]
    assert [path.parent for path in folder.parent.rglob("*.json")] == [folder]
    forget_batch(folder, state)
    forget_batch(folder, state)
    assert open_batches(folder) == []


def test_a_state_file_that_can_not_be_read_is_named(folder: Path) -> None:
    folder.mkdir()
    (folder / "batch_9.json").write_text('{"batch_id": ')
    with pytest.raises(SciagentError, match=r"batch_9\.json"):
        keys_in_flight(folder, identity_of("openai"))


# A session that is killed


def killed_after_the_batch_was_made(
    server: Loopback, kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> BatchState:
    """The state that is left when the batch was made and its id was never written down."""

    def killed(path: Path, text: str) -> None:
        if not path.name.startswith("submitting-"):
            raise KeyboardInterrupt
        write_atomically(path, text)

    with monkeypatch.context() as patched:
        patched.setattr("pytest_sciagent.judging.batch.write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            submit(server, kind, folder, prompts_of(2))
    (state,) = open_batches(folder)
    assert state.status == "submitting"
    assert keys_in_flight(folder, identity_of(kind)) == {key_of(1), key_of(2)}
    return state


@both
def test_killed_before_the_batch_was_made(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def killed(self: Any, requests: Any) -> Any:
        raise KeyboardInterrupt

    with Loopback(number) as server:
        with monkeypatch.context() as patched:
            patched.setattr(BATCH_APIS[kind], "prepare", killed)
            with pytest.raises(KeyboardInterrupt):
                submit(server, kind, folder, prompts_of(2))
        assert open_batches(folder) == []
        assert len(submit(server, kind, folder, prompts_of(2))) == 1


@both
def test_killed_after_the_batch_was_made(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(number) as server:
        # Two more of the same size and time, before and after it.
        submit(server, kind, folder / "other", {key_of(8): prompt_of(8), key_of(9): prompt_of(9)})
        state = killed_after_the_batch_was_made(server, kind, folder, monkeypatch)
        submit(server, kind, folder / "third", {key_of(6): prompt_of(6), key_of(7): prompt_of(7)})
        assert submit(server, kind, folder, prompts_of(2)) == []
        assert collect_batch(state, api_key=KEY).status == "running"
        for sent in server.batches:
            sent.end()
        outcome = collect_batch(state, api_key=KEY)
        assert outcome.status == "ended"
        assert {key: reply.text for key, reply in outcome.replies.items()} == {
            key_of(1): '{"n": 1}',
            key_of(2): '{"n": 2}',
        }
        forget_batch(folder, state)
        assert open_batches(folder) == []


@both
def test_killed_before_the_mark_was_removed(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(folder: Path, state: BatchState) -> None:
        raise KeyboardInterrupt

    with Loopback(number) as server:
        with monkeypatch.context() as patched:
            patched.setattr(batch, "forget_batch", killed)
            with pytest.raises(KeyboardInterrupt):
                submit(server, kind, folder, prompts_of(2))
        server.batches[0].end()
        states = open_batches(folder)
        assert {state.status for state in states} == {"submitting", "submitted"}
        first, second = (collect_batch(state, api_key=KEY) for state in states)
    assert first == second
    assert len(first.replies) == 2


@both
def test_a_lost_answer_makes_no_second_batch(kind: str, folder: Path) -> None:
    """The connection breaks after the batch was made: it is not made again, and its answers are found later."""
    with Loopback(number) as server:
        for lost in (Raw(drop=True), Raw(502, "bad gateway"), Raw(200, "<html>"), Raw(200, {"object": "batch"})):
            server.garble[CREATE[kind]] = lost
            with pytest.raises(SciagentError, match="no batch can be made"):
                submit(server, kind, folder, prompts_of(2))
            assert len(server.batches) == 1
            assert submit(server, kind, folder, prompts_of(2)) == []
            server.batches[0].end()
            (state,) = open_batches(folder)
            assert len(collect_batch(state, api_key=KEY).replies) == 2
            forget_batch(folder, state)
            server.batches.clear()


@both
def test_a_submission_that_never_arrived_is_open_again(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Loopback(number) as server:
        state = killed_after_the_batch_was_made(server, kind, folder, monkeypatch)
        _make_it_somebody_elses(server.batches[0])
        server.batches[0].end()
        assert collect_batch(state, api_key=KEY).status == "running"  # it may be under way just now
        old = state.model_copy(update={"submitted_at": state.submitted_at - timedelta(hours=1)})
        outcome = collect_batch(old, api_key=KEY)
        assert (outcome.status, outcome.replies) == ("failed", {})
        assert "cut short" in outcome.detail


def _make_it_somebody_elses(sent: Batch) -> None:
    sent.metadata = None
    sent.requests = {f"other-{n}": request for n, request in enumerate(sent.requests.values())}


def test_odd_lists_hold_no_candidates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd: list[Any] = [None, 7, {}, {"id": "a"}, {"id": "b", "request_counts": {"processing": 2}, "created_at": "soon"}]
    with Loopback(number) as server:
        for kind in ("openai", "anthropic"):
            state = killed_after_the_batch_was_made(server, kind, folder / kind, monkeypatch)
            for data in (odd, None):
                server.refuse[LIST[kind]] = Raw(body={"data": data})
                assert collect_batch(state, api_key=KEY).detail == "perhaps it is being submitted just now"
