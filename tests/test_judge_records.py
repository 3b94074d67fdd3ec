"""What is recorded of judges and what is told about them: failed calls, canaries, rubrics that don't score, scripts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopback import Loopback, Raw
from sample import OTHER, RUBRIC, TESTER, Cohort, outcomes, rubric_text
from test_handoff import export, reply, take_in
from test_live_judge import good, options, work_files

RUN = "--sciagent-run=runs"
DOWN = Raw(200, "out of order")


# ---- failed calls


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_a_dead_judge_leaves_nothing_behind(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    cohort.record()
    record = cohort.root / "verdicts" / "alpha" / "t1.json"
    before, plain = record.read_bytes(), cohort.results(RUN)
    with Loopback(lambda request, number: DOWN) as server:
        found = cohort.results(*options("openai", server), *extra, code=1)
    criteria = found["runs"][0]["findings"][0]["criteria"]
    assert {c["status"] for c in criteria} == {"provider_error"}
    assert all(c["reason"] for c in criteria)
    assert record.read_bytes() == before
    assert not work_files(cohort)
    # The dead judge is no second judge: nobody has to be named.
    assert cohort.results(RUN) == plain


def test_failed_calls_beside_answers(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(lambda request, number: DOWN if number == 3 else good(request, number)) as server:
        cohort.results(*options("openai", server), "--sciagent-in-flight=1")
    entries = json.loads((cohort.root / "verdicts" / "alpha" / "t1.json").read_text())["entries"]
    assert (len(entries), {entry["status"] for entry in entries}) == (4, {"assessed"})
    assert outcomes(cohort.pytest(RUN)) == {"passed": 3, "not assessed": 1}


def test_a_spent_budget_is_no_record(cohort: Cohort) -> None:
    cohort.run(findings=1)
    with Loopback(good) as server:
        found = cohort.results(*options("openai", server), "--sciagent-max-calls=3")
    statuses = [c["status"] for c in found["runs"][0]["findings"][0]["criteria"]]
    assert sorted(statuses) == ["assessed", "assessed", "budget", "budget"]
    assert outcomes(cohort.pytest(RUN)) == {"passed": 2, "not assessed": 2}


def test_failures_of_a_killed_session_are_open_questions_to_the_next(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record()
    record = cohort.root / "verdicts" / "alpha" / "t1.json"
    entries = json.loads(record.read_text())["entries"]
    record.unlink()
    failed = {"status": "timeout", "level": None, "anchors": None, "citations": [], "reason": "too slow"}
    work = cohort.root / ".sciagent" / "work"
    work.mkdir(parents=True)
    left = [entries[0], entries[1] | failed]
    (work / "dead-1-x.jsonl").write_text(
        "".join(json.dumps({"run": "alpha/t1", "entry": entry}) + "\n" for entry in left)
    )
    assert outcomes(cohort.pytest(RUN)) == {"passed": 1, "not assessed": 3}
    assert json.loads(record.read_text())["entries"] == [entries[0]]


def test_a_failed_call_that_is_recorded_already_is_no_judge(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record(lambda run, finding, criterion: "invalid", judge=OTHER)
    cohort.record()
    assert cohort.results(RUN)["judge"] == TESTER.as_json()
    code, _, err = cohort.sciagent("compare", "runs", "--rubric", "small")
    assert code == 0, err


# ---- the canary


def test_the_canary_goes_out_and_comes_back(cohort: Cohort) -> None:
    cohort.run()
    plain = {line["id"] for line in export(cohort)}
    lines = export(cohort, "--canary")
    canaries = [line for line in lines if line["id"] not in plain]
    assert len(canaries) == 2
    assert all("Does a file of the run contain the word" in line["user"] for line in canaries)
    answers = [reply(line, 1 if line is canaries[0] or line not in canaries else 0) for line in lines]
    code, told, _ = take_in(cohort, answers, "--canary")
    assert (code, told["stale"]) == (0, 0)
    assert export(cohort, "--canary") == []
    # One finding's canary was taken for met: none of the levels there counts. Recorded, it counts without the option.
    result = cohort.pytest(RUN)
    assert outcomes(result) == {"passed": 4, "error": 4}
    code, out, _ = cohort.sciagent("ledger", "prune", "runs", "--as", "me", "--rubric", "small", "--yes")
    assert (code, out) == (0, "0 stale answers moved\n")


def test_an_answer_to_a_canary_that_is_not_asked_for_is_stale(cohort: Cohort) -> None:
    cohort.run(findings=1)
    lines = export(cohort, "--canary")
    code, told, _ = take_in(cohort, [reply(line, 0) for line in lines])
    assert (code, told["stale"]) == (1, 1)


@pytest.mark.parametrize("command", [[], ["compare"]], ids=["pytest", "compare"])
def test_a_rubric_can_not_have_a_criterion_named_as_the_canary(cohort: Cohort, command: list[str]) -> None:
    cohort.run(findings=1)
    path = cohort.root / "rubrics" / "small.yaml"
    path.write_text(path.read_text().replace("id: ev.full", "id: canary"))
    if command:
        code, _, message = cohort.sciagent(*command, "runs", "--rubric", "small")
    else:
        result = cohort.pytest(RUN)
        code, message = result.ret, result.stderr.str()
    assert code == 4
    assert "small.yaml" in message
    assert "criterion id 'canary' is taken by the question that tests judges (--sciagent-canary): rename" in message
    assert "Traceback" not in message


# ---- draws of a judge that nobody can ask


def test_a_second_draw_is_handed_out_and_taken_in(cohort: Cohort) -> None:
    cohort.run(findings=1)
    first = export(cohort)
    take_in(cohort, [reply(line) for line in first])
    second = export(cohort, "--draw", "2")
    assert [line["kind"] for line in second] == ["criterion"] * 4
    assert not {line["id"] for line in second} & {line["id"] for line in first}
    code, told, _ = take_in(cohort, [reply(line, 0.5) for line in second[:2]], "--draw", "2")
    assert (code, told["assessed"]) == (0, 2)
    found = cohort.results(RUN, "--sciagent-draws=2")
    assert (found["agreement"]["drawn_twice"], found["agreement"]["flip_rate"]) == (2, 1)
    assert [c["level"] for c in found["runs"][0]["findings"][0]["criteria"]] == [0.5, 0.5, None, None]
    assert outcomes(cohort.pytest(RUN)) == {"passed": 4}
    code, out, _ = cohort.sciagent("ledger", "prune", "runs", "--as", "me", "--rubric", "small")
    assert (code, out.split()[0]) == (0, "0")


# ---- several rubrics


def test_which_rubric_scores_is_told(cohort: Cohort) -> None:
    cohort.run(findings=1)
    second = rubric_text(RUBRIC.replace("id: small", "id: second"), {"ev.more": 100})
    (cohort.root / "rubrics" / "second.yaml").write_text(second)
    cohort.record(lambda run, finding, criterion: 0 if criterion == "ev.more" else 1, rubrics=("small", "second"))
    both = ["--sciagent-rubric=small", "--sciagent-rubric=second"]
    told = "the scores are those of rubric small; the levels of second stand beside them and do not count"
    found = cohort.results(RUN, *both)
    assert found["notes"] == [told]
    assert found["systems"][0]["score"] == {"low": 100, "high": 100}
    cohort.pytest(RUN, *both).stdout.fnmatch_lines([told])
    alone = cohort.pytest(RUN, "--sciagent-json=alone.json")
    assert "stand beside them" not in alone.stdout.str()
    assert "notes" not in json.loads((cohort.root / "alone.json").read_text())


# ---- a task's own scripts


def failing_task(cohort: Cohort) -> dict[str, Any]:
    """Give the sample task a reference whose scripts fail; the target answer that makes them run."""
    hidden = cohort.root / "tasks" / "t1" / "hidden"
    (hidden / "verify").mkdir(parents=True)
    (hidden / "reference.yaml").write_text(
        "schema: sciagent-reference/1\ncards:\n  - id: A\n    object: the series\n    scope: all of it\n"
        "    direction: rising\n    quantities:\n      - {key: slope, value: 2.5, unit: units per year,\n"
        "         tolerance: {relative: 0.1}, role: core}\n"
    )
    (hidden / "verify" / "recompute.py").write_text("raise SystemExit('no such column')\n")
    (hidden / "verify" / "perturb_A_sample.py").write_text("raise SystemExit('no sample')\n")
    quote = "The slope of the series is 2.50 units per year"
    stated = {"key": "slope", "quote": quote, "value": 2.5, "unit": "units per year"}
    same = {"object": True, "scope": True, "direction": True}
    return {"rationale": "the same", "finding": "finding_1", **same, "values": [stated]}


def test_of_a_reference_that_nobody_has_written_no_judge_is_asked(cohort: Cohort) -> None:
    """A card as `sciagent task new` leaves it is missed by every run: points would be lost by nobody's fault."""
    failing_task(cohort)
    path = cohort.root / "tasks/t1/hidden/reference.yaml"
    written = path.read_text("utf-8")
    cohort.run(findings=1)
    export = ("ledger", "export", "runs", "--as=me", "--rubric=small", "-o", "out.jsonl")
    for text, asked in ((written, True), (written.replace("the series", "REPLACE"), False)):
        path.write_text(text, "utf-8")
        code, _, err = cohort.sciagent(*export)
        assert code == 0
        assert ("hidden/reference.yaml still says REPLACE" in err) is not asked
        asks = [json.loads(line)["asks"] for line in (cohort.root / "out.jsonl").read_text("utf-8").splitlines()]
        assert any(ask["criteria"] == ["target.A"] for ask in asks) is asked


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_failing_scripts_of_the_task_are_told(cohort: Cohort, extra: list[str]) -> None:
    about = {"target": failing_task(cohort), "plan": {"rationale": "none", "plans": []}}
    cohort.run(findings=1)
    cohort.record(about_run=about)
    found = cohort.results(RUN, "--sciagent-profile=truthinsight", *extra)
    assert found["runs"][0]["perturbations"] == []
    notes = [note for note in found["runs"][0]["notes"] if note.startswith("verification of task t1: ")]
    assert len(notes) == 2
    assert any("no such column" in note for note in notes)
    assert any("no sample" in note for note in notes)
    cohort.pytest(RUN, "--sciagent-profile=truthinsight").stdout.fnmatch_lines(
        ["  alpha/t1: verification of task t1: *no such column*"]
    )
