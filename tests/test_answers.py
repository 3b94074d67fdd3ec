"""Reading a judge's answer: strict, or not at all."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from pytest_sciagent.judging.answers import (
    CRITERION_ANSWER_SCHEMA,
    BadAnswer,
    CriterionAnswer,
    level_of,
    parse_answer,
    parse_object,
)
from pytest_sciagent.models import Anchors, Model

GOOD: dict[str, Any] = {
    "rationale": "The table gives 12 rows.",
    "citations": [{"file": "output/results.csv", "quote": "n,12"}],
    "zero": False,
    "full": True,
    "half": False,
}


def code_of(text: str) -> str:
    with pytest.raises(BadAnswer) as caught:
        parse_answer(text)
    assert caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) <= 220
    return caught.value.reason_code


def changed(**values: Any) -> str:
    return json.dumps(GOOD | values)


def test_a_good_answer() -> None:
    answer = parse_answer(json.dumps(GOOD))
    assert answer.rationale == "The table gives 12 rows."
    assert [(c.file, c.quote) for c in answer.citations] == [("output/results.csv", "n,12")]
    assert answer.anchors == Anchors(zero=False, full=True, half=False)


@pytest.mark.parametrize(
    "frame", ["{}", "\n {} \n", "```json\n{}\n```", "```\n{}\n```\n", "```JSON \r\n{}\r\n```", "```json\n{}```"]
)
def test_white_space_and_one_fence_are_taken_off(frame: str) -> None:
    assert parse_answer(frame.replace("{}", json.dumps(GOOD, indent=1))).full


def test_a_fence_within_a_quote_stays() -> None:
    inner = json.dumps(GOOD | {"rationale": "```python\nx\n```"})
    assert parse_answer(f"```json\n{inner}\n```").rationale == "```python\nx\n```"


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_empty(text: str) -> None:
    assert code_of(text) == "empty"


@pytest.mark.parametrize(
    "text",
    [
        "Here it is: " + json.dumps(GOOD),
        json.dumps(GOOD) + "\nI hope this helps.",
        json.dumps(GOOD) + json.dumps(GOOD),
        "```json\n" + json.dumps(GOOD),
        json.dumps(GOOD) + "\n```",
        "Answer:\n```json\n" + json.dumps(GOOD) + "\n```",
        "```json\n```json\n" + json.dumps(GOOD) + "\n```\n```",
        json.dumps(GOOD)[:-1],
        json.dumps(GOOD)[:-1] + ",}",
        json.dumps(GOOD)[:-1] + ', "full": false}',
        '{"zero": true, "zero": true}',
        json.dumps(GOOD).replace("true", "NaN"),
        json.dumps(GOOD).replace("true", "Infinity"),
        json.dumps(GOOD).replace("true", "True"),
        json.dumps(GOOD).replace('"', "'"),
        "\ufeff" + json.dumps(GOOD),
        "[" * 100_000,
        "```json\n```",
        changed(rationale="1")[:-1] + ', "x": ' + "9" * 5000 + "}",
        "I can't judge this.",
    ],
)
def test_not_json(text: str) -> None:
    assert code_of(text) == "not_json"


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "[]",
        "{}",
        f"[{json.dumps(GOOD)}]",
        changed(rationale=None),
        changed(rationale=["a"]),
        changed(citations=None),
        changed(citations={}),
        changed(citations=["n,12"]),
        changed(citations=[{"file": "a"}]),
        changed(citations=[{"file": "a", "quote": "b", "line": 3}]),
        changed(citations=[{"file": "a", "quote": 12}]),
        changed(verified=True),
        json.dumps({name: value for name, value in GOOD.items() if name != "half"}),
        changed(**{"\x1b[31m\n" + "k" * 9000: 1}),
    ],
)
def test_wrong_shape(text: str) -> None:
    assert code_of(text) == "wrong_shape"


@pytest.mark.parametrize("given", [{"full": value} for value in ("true", 1, None, 1.0, 0.75)])
def test_a_condition_is_true_or_false(given: dict[str, Any]) -> None:
    assert code_of(changed(**given)) == "outside_levels"


@pytest.mark.parametrize("given", [{"level": 1}, {"score": "1"}, {"level": 0.75}])
def test_a_level_of_the_judges_own_is_refused(given: dict[str, Any]) -> None:
    assert code_of(changed(**given)) == "outside_levels"


def test_a_lone_surrogate_is_no_text() -> None:
    assert code_of(changed(rationale="\ud800")) in {"not_json", "wrong_shape"}


def test_length_is_bounded() -> None:
    room = 200_000 - len(changed(rationale=""))
    assert parse_answer(changed(rationale="x" * room)).full
    assert code_of(changed(rationale="x" * (room + 1))) == "too_long"


class Loose(Model):
    anything: JsonValue


def nested(depth: int) -> str:
    return '{"anything": ' + "[" * depth + "]" * depth + "}"


def test_nesting_is_bounded() -> None:
    assert parse_object(nested(50), Loose).anything != []
    with pytest.raises(BadAnswer) as caught:
        parse_object(nested(400), Loose)
    assert caught.value.reason_code == "not_json"


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_no_text_is_read_by_chance(text: str) -> None:
    with pytest.raises(BadAnswer):
        parse_answer(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(GOOD)), json_values)
def test_a_changed_value_is_read_as_it_stands_or_refused(name: str, value: Any) -> None:
    text = changed(**{name: value})
    try:
        read = parse_answer(text).as_json()
    except BadAnswer:
        return
    assert read == json.loads(text)


texts = st.text(st.characters(codec="utf-8"), max_size=60)


@given(texts, st.lists(st.tuples(texts, texts), max_size=3), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_every_whole_answer_is_read_back(
    rationale: str, quotes: list[tuple[str, str]], zero: bool, full: bool, half: bool, ascii_only: bool
) -> None:
    answer = {
        "rationale": rationale,
        "citations": [{"file": file, "quote": quote} for file, quote in quotes],
        "zero": zero,
        "full": full,
        "half": half,
    }
    text = json.dumps(answer, ensure_ascii=ascii_only)
    assert parse_answer(text).as_json() == answer
    assert parse_answer(f"```json\n{text}\n```").as_json() == answer


@pytest.mark.parametrize(
    ("holding", "expected"),
    [("", (0.0, "no_anchor")), ("z", (0.0, "zero")), ("f", (1.0, "full")), ("h", (0.5, "half"))],
)
def test_the_level_follows_the_condition_that_holds(holding: str, expected: tuple[float, str]) -> None:
    assert level_of(Anchors(zero="z" in holding, full="f" in holding, half="h" in holding)) == expected


@pytest.mark.parametrize("holding", ["zf", "zh", "fh", "zfh"])
def test_two_conditions_contradict_each_other(holding: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        level_of(Anchors(zero="z" in holding, full="f" in holding, half="h" in holding))
    assert caught.value.reason_code == "contradictory"


def test_the_schema_is_strict_and_asks_for_evidence_first() -> None:
    jsonschema.Draft202012Validator.check_schema(CRITERION_ANSWER_SCHEMA)
    jsonschema.validate(GOOD, CRITERION_ANSWER_SCHEMA)
    names = ["rationale", "citations", "zero", "full", "half"]
    assert list(CRITERION_ANSWER_SCHEMA["properties"]) == CRITERION_ANSWER_SCHEMA["required"] == names
    assert list(CriterionAnswer.model_fields) == names
    citation = CRITERION_ANSWER_SCHEMA["properties"]["citations"]["items"]
    assert list(citation["properties"]) == citation["required"] == ["file", "quote"]
    assert CRITERION_ANSWER_SCHEMA["additionalProperties"] is citation["additionalProperties"] is False
