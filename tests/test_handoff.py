"""The hand-off: open prompts go out as JSON lines, answers come back, and only those to the very same prompt count."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from sample import QUOTE, WEIGHTS, Cohort, answer, outcomes

AS = ("--as", "me", "--rubric", "small")


def export(cohort: Cohort, *more: str) -> list[dict[str, Any]]:
    code, _, err = cohort.sciagent("ledger", "export", "runs", *AS, "-o", "out.jsonl", *more)
    assert (code, err) == (0, "")
    return [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").split("\n") if line]


def send_back(lines: list[dict[str, Any]]) -> None:
    Path("in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def take_in(cohort: Cohort, lines: list[dict[str, Any]], *more: str) -> tuple[int, dict[str, int], str]:
    send_back(lines)
    code, out, err = cohort.sciagent("ledger", "import", "in.jsonl", "runs", *AS, *more)
    return code, json.loads(out.strip().splitlines()[-1]), err


def reply(line: dict[str, Any], level: Any = 1) -> dict[str, Any]:
    """An answer to any exported prompt."""
    other = {
        "plan": {"rationale": "none", "plans": []},
        "grouping": {"rationale": "apart", "groups": []},
    }
    content = other.get(line["kind"], answer(level))
    jsonschema.validate(content, line["answer_schema"])
    return {"id": line["id"], "answer": content}


def test_export_import_and_replay(cohort: Cohort) -> None:
    cohort.run("alpha")
    lines = export(cohort)
    assert sorted(line["kind"] for line in lines) == ["criterion"] * 8 + ["grouping", "plan", "plan"]
    assert len({line["id"] for line in lines}) == 11
    code, told, err = take_in(cohort, [reply(line) for line in lines])
    assert (code, told, err) == (0, {"answers": 11, "stale": 0, "assessed": 11}, "")
    found = cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight", code=0)
    assert found["judge"] == {"kind": "handoff", "model": "me", "parameters": {"layout": "item"}}
    assert found["runs"][0]["score"] == {"low": 86, "high": 96}
    assert export(cohort) == []
    again = cohort.results("--sciagent-run=runs", "--sciagent-judge=handoff:me", code=0)
    assert again["judge"] == found["judge"]


def test_prompts_name_neither_system_nor_other_judges(cohort: Cohort) -> None:
    cohort.run("secretsystem")
    cohort.record()
    text = json.dumps(export(cohort))
    assert "secretsystem" not in text
    assert "tester" not in text
    assert str(cohort.root) not in text


def test_one_line_a_finding(cohort: Cohort) -> None:
    cohort.run("alpha")
    lines = export(cohort, "--layout=finding")
    groups = [line for line in lines if line["kind"] == "criteria"]
    assert [list(g["keys"]) for g in groups] == [list(WEIGHTS)] * 2
    back = [reply(line) for line in lines if line["kind"] != "criteria"]
    for group in groups:
        answers = {name: answer(0.5) for name in group["keys"]}
        jsonschema.validate(answers, group["answer_schema"])
        back.append({"keys": group["keys"], "answers": answers, "answered_at": "2026-01-02T03:04:05Z"})
    code, told, _ = take_in(cohort, back, "--layout=finding")
    assert (code, told["assessed"]) == (0, 11)
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"half": 8}
    record = json.loads((cohort.root / "verdicts" / "alpha" / "t1.json").read_text())
    assert {e["time"] for e in record["entries"] if e["kind"] == "criterion"} == {"2026-01-02T03:04:05Z"}


def test_the_layouts_are_different_judges(cohort: Cohort) -> None:
    cohort.run("alpha")
    take_in(cohort, [reply(line) for line in export(cohort)])
    assert export(cohort, "--layout=finding")
    code, told, err = take_in(cohort, [reply(line) for line in export(cohort, "--layout=item")][:0])
    assert (code, told, err) == (0, {"answers": 0, "stale": 0}, "")


def test_answers_that_can_not_be_used_are_told_and_asked_for_again(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    lines = [line for line in export(cohort) if line["kind"] == "criterion"]
    assert len(lines) == 4
    back = [
        reply(lines[0], "unverified"),
        reply(lines[1], "invalid"),
        {"id": lines[2]["id"], "answer": "not json at all"},
        {"id": lines[3]["id"], "answer": {"zero": True}},
    ]
    code, told, err = take_in(cohort, back)
    assert code == 1
    assert told == {"answers": 4, "stale": 0, "invalid": 3, "unverified": 1}
    assert err.splitlines()[0].startswith("alpha/t1 finding_1 ev.full: unverified: ")
    assert "contradictory" in err
    assert "not_json" in err
    assert "wrong_shape" in err
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"not assessed": 4}
    assert len([line for line in export(cohort) if line["kind"] == "criterion"]) == 4
    assert take_in(cohort, [reply(line) for line in lines])[0] == 0
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": 4}


def test_an_answer_to_another_prompt_is_stale(cohort: Cohort) -> None:
    path = cohort.run("alpha", findings=1)
    lines = export(cohort)
    import shutil

    shutil.rmtree(path)
    cohort.run(
        "alpha",
        findings=1,
        files={"results/more.csv": "a,b\n1,2\n"},
        report=f"# R\n\n## Finding 1: other\n\n{QUOTE}.\n",
    )
    code, told, err = take_in(cohort, [reply(line) for line in lines])
    assert code == 1
    assert told["stale"] == len(lines)
    assert "in.jsonl:1: no such prompt (any more): " in err
    assert not (cohort.root / "verdicts").exists()


def test_prompts_change_with_the_rubric_but_not_with_weights(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    before = {line["id"] for line in export(cohort)}
    rubric = cohort.root / "rubrics" / "small.yaml"
    text = rubric.read_text()
    rubric.write_text(text.replace("weight: 40", "weight: 41"))
    assert {line["id"] for line in export(cohort)} == before
    rubric.write_text(text.replace("{1: all of it", "{1: nearly all of it"))
    after = {line["id"] for line in export(cohort)}
    assert len(after - before) == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{not json", "in.jsonl:2: not readable as JSON: *"),
        ('{"id": "a"}', 'in.jsonl:2: an answer is {"id": KEY*'),
        ('{"id": 5, "answer": {}}', 'in.jsonl:2: an answer is {"id": KEY*'),
        ('{"keys": {}, "answers": {"ev.full": {}}}', 'in.jsonl:2: an answer is {"id": KEY*'),
        ('{"keys": [], "answers": {}}', 'in.jsonl:2: an answer is {"id": KEY*'),
        ('{"id": "a", "answer": {}, "answered_at": 5}', 'in.jsonl:2: an answer is {"id": KEY*'),
        ('{"id": "a", "answer": {}, "answered_at": "yesterday"}', 'in.jsonl:2: an answer is {"id": KEY*'),
        ("[1]", 'in.jsonl:2: an answer is {"id": KEY*'),
        ('{"id": "a", "id": "b", "answer": 1}', "in.jsonl:2: not readable as JSON: duplicate key 'id'"),
    ],
)
def test_a_broken_line_of_answers_is_told_by_its_number(cohort: Cohort, line: str, message: str) -> None:
    cohort.run("alpha", findings=1)
    good = json.dumps(reply(export(cohort)[0]))
    Path("in.jsonl").write_text(f"{good}\n{line}\n")
    code, out, err = cohort.sciagent("ledger", "import", "in.jsonl", "runs", *AS)
    assert code == 4
    assert out == ""
    import fnmatch

    assert fnmatch.fnmatch(err.strip(), f"sciagent: {message}".replace("[", "[[]")), err
    assert not (cohort.root / "verdicts").exists()


def test_line_separators_inside_an_answer_do_not_break_lines(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    back = reply(export(cohort)[0])
    back["answer"]["rationale"] = "one\u2028two\u0085three"
    Path("in.jsonl").write_text(json.dumps(back, ensure_ascii=False) + "\n", "utf-8")
    code, out, _ = cohort.sciagent("ledger", "import", "in.jsonl", "runs", *AS)
    assert (code, json.loads(out.splitlines()[-1])["answers"]) == (0, 1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["runs", "--as", "me", "--rubric", "smal", "-o", "o"], "no rubric named 'smal'; did you mean 'small'?"),
        (["nowhere", *AS, "-o", "o"], "there is no such file or folder"),
        (["tasks", *AS, "-o", "o"], "no frozen run at or below tasks"),
        (["runs", *AS, "-o", "pytest.ini/o"], "can't be written"),
        (["runs", "--as", "", "--rubric", "small", "-o", "o"], None),
    ],
)
def test_bad_input_of_export(cohort: Cohort, args: list[str], message: str | None) -> None:
    cohort.run("alpha", findings=1)
    code, _, err = cohort.sciagent("ledger", "export", *args)
    assert "Traceback" not in err
    if message is not None:
        assert code == 4
        assert message in err


def test_a_tampered_run_is_not_handed_out(cohort: Cohort) -> None:
    path = cohort.run("alpha")
    (path / "output" / "Result.md").write_text("changed")
    code, _, err = cohort.sciagent("ledger", "export", "runs", *AS, "-o", "out.jsonl")
    assert code == 4
    assert "run alpha/t1 is not what was frozen: changed: output/Result.md" in err


def test_the_installed_command(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    command = Path(sys.executable).with_name("sciagent")
    done = subprocess.run([command, "ledger", "export", "runs", *AS, "-o", "out.jsonl"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "5 open questions in 5 prompts, written to out.jsonl\n"
