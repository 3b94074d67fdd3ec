"""Judges of kind `decisions`: probabilities of levels, no citations, and so level 0 or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, Raw
from sample import Cohort, outcomes, without_spending
from test_live_judge import record_of

from pytest_sciagent.judging.answers import BadAnswer
from pytest_sciagent.judging.decisions import LEVELS, judged

SURE = {
    "ev.full": (0.05, 0.1, 0.85),
    "ev.half": (0.1, 0.7, 0.2),
    "rob.zero": (0.9, 0.1, 0.0),
    "rob.open": (0.4, 0.3, 0.3),
}


pytestmark = pytest.mark.usefixtures("no_proxy")


def told(name: str | None, chances: Any) -> dict[str, Any]:
    """An answer of the API to one question."""
    if chances is None:
        return {"type": "refusal", "name": name}
    pairs = [
        {"label": label, "probability": p, "value": n} for n, (label, p) in enumerate(zip(LEVELS, chances, strict=True))
    ]
    return {"type": "score", "name": name, "score": 1.0, "confidence": max(chances), "probabilities": pairs}


def body(answers: list[Any]) -> Raw:
    usage = {
        "input_tokens": 400,
        "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 400,
    }
    return Raw(body={"answers": answers, "model": "screen-1-2026", "usage": usage})


def screen(chances: dict[str, Any]) -> Callable[[dict[str, Any], int], Raw]:
    def behaviour(request: dict[str, Any], number: int) -> Raw:
        return body([told(q["name"], chances[q["name"]]) for q in request["questions"] if q["name"] in chances])

    return behaviour


def options(server: Loopback) -> list[str]:
    return ["--sciagent-run=runs", "--sciagent-judge=decisions:screen-1", f"--sciagent-base-url={server.openai_url}"]


def criteria(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {c["criterion_id"]: c for c in found["runs"][0]["findings"][0]["criteria"]}


def test_level_zero_or_none_and_the_probabilities_are_shown(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(screen(SURE)) as server:
        found = cohort.results(*options(server), code=1)
        (request,) = server.requests
        assert without_spending(cohort.results(*options(server), code=1)) == without_spending(found)
        assert len(server.requests) == 1, "no level is an answer too, and is not asked for again"
    assert request.path == "/v1/decisions"
    assert request.json["model"] == "screen-1"
    assert [m["role"] for m in request.json["input"]] == ["system", "user"]
    assert sorted(q["name"] for q in request.json["questions"]) == sorted(SURE)
    for question in request.json["questions"]:
        assert (question["type"], question["levels"]) == ("score", [{"label": "0"}, {"label": "0.5"}, {"label": "1"}])
        assert f"(criterion_id: {question['name']})" in question["instructions"]
    told = {n: (c["status"], c["level"], c["reason_code"]) for n, c in criteria(found).items()}
    assert told == {
        "ev.full": ("not_assessed", None, "no_citations"),
        "ev.half": ("not_assessed", None, "no_citations"),
        "rob.zero": ("assessed", 0, "zero"),
        "rob.open": ("not_assessed", None, "uncertain"),
    }
    assert criteria(found)["ev.full"]["reason"].startswith("level 1 is the likeliest (0.85), but a judge that cites")
    assert criteria(found)["ev.full"]["receipt"]["facts"]["probabilities"] == {"0": 0.05, "0.5": 0.1, "1": 0.85}
    entries = {e["criterion_id"]: e for e in record_of(cohort)}
    assert entries["ev.half"]["answer"] == {"probabilities": {"0": 0.1, "0.5": 0.7, "1": 0.2}}
    assert sum(e["usage"]["input_tokens"] for e in entries.values()) == 400
    assert {e["model_returned"] for e in entries.values()} == {"screen-1-2026"}
    assert without_spending(cohort.results("--sciagent-run=runs", code=1)) == without_spending(found), (
        "replayed without a server"
    )


def test_a_record_edited_by_hand_raises_nothing(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(screen(SURE)) as server:
        cohort.pytest(*options(server))
    path = cohort.root / "verdicts" / "alpha" / "t1.json"
    data = json.loads(path.read_text())
    for entry in data["entries"]:
        entry |= {"status": "assessed", "level": 1.0, "reason": "fine"}
        if entry["criterion_id"] == "ev.full":
            entry["anchors"] = {"zero": False, "full": True, "half": False}
        if entry["criterion_id"] == "ev.half":
            entry["answer"] = None
        if entry["criterion_id"] == "rob.open":
            entry["answer"] = {"probabilities": {"0": 0.2, "1": 3.0, "0.5": 0.0}}
    path.write_text(json.dumps(data))
    found = criteria(cohort.results("--sciagent-run=runs"))
    assert {n: (c["status"], c["level"]) for n, c in found.items()} == {
        "ev.full": ("not_assessed", None),
        "ev.half": ("invalid", None),
        "rob.zero": ("assessed", 0),
        "rob.open": ("invalid", None),
    }


BAD: dict[str, tuple[dict[str, Any] | None, str, str]] = {
    "declined": (told("ev.full", None), "refused", "refused"),
    "missing": (None, "invalid", "missing"),
    "another name": (told("ev.fool", (1, 0, 0)), "invalid", "wrong_ids"),
    "no name": (told(None, (1, 0, 0)), "invalid", "wrong_ids"),
    "a level outside the set": (
        {"type": "score", "name": "ev.full", "probabilities": [{"label": "2", "probability": 1.0}]},
        "invalid",
        "outside_levels",
    ),
    "above one": (told("ev.full", (1.5, 0, 0)), "invalid", "outside_levels"),
    "too little": (told("ev.full", (0.2, 0.2, 0.2)), "invalid", "outside_levels"),
    "no numbers": (told("ev.full", ("1", "0", "0")), "invalid", "wrong_shape"),
    "another type": ({"type": "predicate", "name": "ev.full", "probability": 1.0}, "invalid", "outside_levels"),
}


@pytest.mark.parametrize("name", BAD)
def test_one_bad_answer_costs_one_criterion(cohort: Cohort, name: str) -> None:
    cohort.run(findings=1)
    bad, status, code = BAD[name]
    good = {key: (1.0, 0.0, 0.0) for key in SURE if key != "ev.full"}

    def behaviour(request: dict[str, Any], number: int) -> Raw:
        found = screen(good)(request, number)
        assert isinstance(found.body, dict)
        asked = {q["name"] for q in request["questions"]}
        answers = [*found.body["answers"], *([bad] if bad and "ev.full" in asked else [])]
        return body(answers)

    with Loopback(behaviour) as server:
        found = criteria(cohort.results(*options(server), code=1))
        asked = [len(r.json["questions"]) for r in server.requests]
    assert asked == ([4] if status == "refused" else [4, 1])
    assert (found["ev.full"]["status"], found["ev.full"]["level"], found["ev.full"]["reason_code"]) == (
        status,
        None,
        code,
    )
    assert {found[key]["level"] for key in good} == {0}


@pytest.mark.parametrize(
    ("response", "status", "code"),
    [
        (Raw(200, "spending cap reached"), "provider_error", "spending_cap"),
        (Raw(200, {"answers": 7}), "provider_error", "provider_error"),
        (Raw(500, {"error": {"message": "Oops"}}, {"x-should-retry": "false"}), "provider_error", "http_500"),
    ],
)
def test_failures_of_the_call(cohort: Cohort, response: Raw, status: str, code: str) -> None:
    cohort.run(findings=1)
    with Loopback(lambda request, number: response) as server:
        found = criteria(cohort.results(*options(server), code=1))
    assert {(c["status"], c["level"], c["reason_code"]) for c in found.values()} == {(status, None, code)}


def test_no_such_endpoint_stops_at_once(cohort: Cohort) -> None:
    cohort.run(findings=1)
    missing = Raw(404, {"error": {"message": "Not Found"}})
    with Loopback(lambda request, number: missing) as server:
        result = cohort.pytest(*options(server))
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: the judge decisions:screen-1 can't be asked: HTTP 404: Not Found"])


def test_bad_settings(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(screen(SURE)) as server:
        result = cohort.pytest(*options(server), "--sciagent-judge-param=temperature=0")
        assert (result.ret, server.requests) == (4, [])
        result.stderr.fnmatch_lines(["ERROR: *unknown parameter 'temperature'; known: extra_body"])
        result = cohort.pytest(*options(server), "--sciagent-max-cost=1")
        result.stderr.fnmatch_lines(["ERROR: --sciagent-max-cost: the price of decisions:screen-1 is not known*"])
        result = cohort.pytest(*options(server), "--sciagent-max-cost=50", "--sciagent-price=1000/0")
        assert outcomes(result)["failed"] == 1
    assert sum(e["cost_usd"] for e in record_of(cohort)) == pytest.approx(400 * 1000 / 1e6)


@given(st.tuples(*[st.floats(0, 1)] * 3))
def test_no_probabilities_raise_a_level(chances: tuple[float, float, float]) -> None:
    probabilities = dict(zip(LEVELS, chances, strict=True))
    try:
        status, level, reason, _ = judged(probabilities)
    except BadAnswer:
        assert abs(sum(chances) - 1) > 0.019
        return
    assert level in (0.0, None)
    assert (level == 0.0) == (status == "assessed") == (chances[0] > 0.5)
    assert reason
