"""Answers that were given to another prompt: what has changed is told once, and nothing of them is lost."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample import OTHER, RUBRIC, TESTER, Cohort, outcomes, report_text, rubric_text
from test_doctor import doctor

from pytest_sciagent.evaluation import Sources, open_case
from pytest_sciagent.judging.handoff import handoff_identity
from pytest_sciagent.judging.prompts import packaged_source
from pytest_sciagent.models import Citation

RUN = "--sciagent-run=runs"
GROUPING = {"grouping": {"rationale": "apart", "groups": []}}
TOLD = "handoff:tester answered another prompt; changed since: "
UNKNOWN = "what is shown of task or run, the facts, or the criterion"


def task_file(cohort: Cohort, name: str = "objective.md") -> Path:
    return cohort.root / "tasks" / "t1" / name


def say_more(path: Path) -> None:
    path.write_text(path.read_text() + "\nMore is said.\n")


def change_criterion(cohort: Cohort) -> None:
    path = cohort.root / "rubrics" / "small.yaml"
    path.write_text(path.read_text().replace("all of it", "nearly all of it"))


def change_template(cohort: Cohort) -> None:
    (cohort.root / "words").mkdir()
    (cohort.root / "words" / "system.j2").write_text(packaged_source("system") + "\nTake your time.\n")
    say_more(task_file(cohort))  # two causes at once
    with (cohort.root / "pytest.ini").open("a") as settings:
        settings.write("sciagent_templates = words\n")


def change_run(cohort: Cohort) -> None:
    shutil.rmtree(cohort.root / "runs")
    cohort.run(files={"results/more.csv": "a,b\n1,2\n"})


def lose_task(cohort: Cohort) -> None:
    (cohort.root / "tasks").rename(cohort.root / "put_away")


def pruned(cohort: Cohort, *args: str) -> dict[str, Any]:
    code, out, err = cohort.sciagent("ledger", "prune", "runs", "--json", *args)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def records(cohort: Cohort, folder: str = "verdicts") -> list[dict[str, Any]]:
    path = cohort.root / folder / "alpha" / "t1.json"
    found: list[dict[str, Any]] = json.loads(path.read_text())["entries"] if path.is_file() else []
    return found


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda cohort: say_more(task_file(cohort)), "the task's text"),
        (change_criterion, "the criterion's text"),
        (change_template, "the prompt's own words (template or examples), the task's text"),
        (change_run, "what is shown of the run"),
        (lose_task, "the task, which is not known now"),
    ],
    ids=["task", "criterion", "template", "run", "no task"],
)
def test_what_has_changed_is_told(cohort: Cohort, change: Callable[[Cohort], None], told: str) -> None:
    cohort.run()
    cohort.record()
    assert pruned(cohort)["stale"] == 0
    change(cohort)
    found = pruned(cohort)
    assert (found["stale"], found["removed"]) == (6, False)
    assert {(one["why"], one["state"]) for one in found["answers"]} == {(TOLD + told, "open")}
    assert len(records(cohort)) == 6


def test_a_task_that_was_made_after_judging_is_told(cohort: Cohort) -> None:
    cohort.run()
    lose_task(cohort)
    cohort.record()
    (cohort.root / "put_away").rename(cohort.root / "tasks")
    assert {one["why"] for one in pruned(cohort)["answers"]} == {f"{TOLD}the task, which was not known then"}


def test_of_answers_recorded_by_earlier_versions_what_is_known_is_told(cohort: Cohort) -> None:
    cohort.run()
    cohort.record(about_run=GROUPING)
    path = cohort.root / "verdicts" / "alpha" / "t1.json"
    record = json.loads(path.read_text())
    for entry in record["entries"]:
        assert len(entry.pop("parts").split(".")) == 4
    path.write_text(json.dumps(record))
    assert pruned(cohort)["stale"] == 0
    change_criterion(cohort)
    assert {one["why"] for one in pruned(cohort)["answers"]} == {f"{TOLD}the criterion's text"}
    change_run(cohort)
    assert {one["why"] for one in pruned(cohort)["answers"]} == {TOLD + UNKNOWN}
    cohort.record()  # what was not recorded is not written
    assert Counter("parts" in entry for entry in records(cohort)) == {False: 7, True: 6}


def test_a_session_tells_the_cause_once_and_what_helps(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    cohort.run()
    cohort.record(
        lambda run, finding, criterion: None if finding + criterion in ("finding_2rob.open", "finding_2ev.full") else 1,
        about_run=GROUPING,
    )
    say_more(task_file(cohort))
    cohort.record(lambda run, finding, criterion: "unverified" if finding + criterion == "finding_2ev.full" else None)
    result = cohort.pytest(RUN, "--sciagent-json=found.json", "--sciagent-profile=truthinsight")
    assert outcomes(result) == {"not assessed": 7, "error": 1}
    notes = [line for line in result.outlines if line.endswith(f"{TOLD}the task's text")]
    assert notes == [f"  6 x {TOLD}the task's text"]
    result.stdout.fnmatch_lines(
        [
            "sciagent: recorded verdicts: verdicts (8 answers)",
            "  1 x rob.open: no recorded verdict of handoff:tester",
            "  unverified: a quote counts where it stands in the file word for word and in one piece, 12 characters*",
            "  answers to another prompt stay recorded and count again if the change is undone; ask again with *",
        ]
    )
    found = json.loads((cohort.root / "found.json").read_text())
    verdicts = [one for finding in found["runs"][0]["findings"] for one in finding["criteria"]]
    assert Counter((one["status"], one["reason_code"]) for one in verdicts) == {
        ("unrecorded", "stale"): 6,
        ("unrecorded", "unrecorded"): 1,
        ("unverified", "unverified"): 1,
    }
    # The same from a folder below, which reads the ledger further up; the findings' grouping is open again as well.
    (cohort.root / "below").mkdir()
    (cohort.root / "below" / "pytest.ini").write_text("[pytest]\nsciagent_rubric = ../rubrics/small.yaml\n")
    shutil.rmtree(cohort.root / "runs")
    cohort.run(report=report_text(2).replace("rises", "falls"))
    monkeypatch.chdir(cohort.root / "below")
    result = cohort.pytest("--sciagent-run=../runs", "--sciagent-tasks=../tasks", "--sciagent-profile=truthinsight")
    result.stdout.fnmatch_lines(
        [
            "sciagent: recorded verdicts: ../verdicts (8 answers)",
            f"1 question about runs: {TOLD}the findings' text",
            f"  6 x {TOLD}the task's text, what is shown of the run",
        ]
    )


def test_a_ledger_that_is_not_there_is_told(cohort: Cohort) -> None:
    cohort.run()
    shown = cohort.pytest(RUN, "--sciagent-ledger=verdict", "--collect-only").stdout
    shown.fnmatch_lines(["sciagent: recorded verdicts: verdict (no such folder, so no answer yet)"])


def test_the_other_layout_of_a_judge_is_told(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record()
    other = handoff_identity("tester", "finding")
    cohort.record(lambda run, finding, criterion: 1 if criterion == "ev.full" else None, judge=other)
    found = cohort.results(RUN, "--sciagent-judge=handoff:tester", "--sciagent-layout=finding")
    reasons = {c["criterion_id"]: c["reason"] for c in found["runs"][0]["findings"][0]["criteria"]}
    assert reasons["ev.half"] == TOLD + 'the judge\'s layout ("item", now "finding")'
    assert reasons["rob.open"] == "no recorded verdict of handoff:tester"


def test_the_doctor_warns_of_what_is_open_again_only(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    say_more(task_file(cohort))
    (line,) = [line for line in doctor(cohort, "runs")["verdicts"] if line["state"] == "warning"]
    assert line["text"] == f"of no use now: 6 recorded answers; {TOLD}the task's text"
    cohort.record()
    lines = doctor(cohort, "runs")["verdicts"]
    assert [line["state"] for line in lines] == ["ok", "ok"]
    assert lines[1]["text"].startswith("of no use now: 6 recorded answers")


def test_pruned_answers_move_and_can_be_brought_back(cohort: Cohort) -> None:
    cohort.run()
    second = rubric_text(RUBRIC.replace("id: small", "id: second"), {"ev.more": 100})
    (cohort.root / "rubrics" / "second.yaml").write_text(second)
    cohort.record()
    cohort.record(judge=OTHER)
    cohort.record(lambda run, finding, criterion: 1, rubrics=("second",))
    before = records(cohort)
    assert len(before) == 14
    say_more(task_file(cohort))
    code, out, _ = cohort.sciagent("ledger", "prune", "runs", "--as=tester")
    assert code == 0
    assert out.splitlines() == [
        f"6 answers (open again): {TOLD}the task's text",
        "    alpha/t1 finding_1: ev.full, ev.half, rob.zero",
        "    alpha/t1 finding_2: ev.full, ev.half, rob.zero",
        "2 answers (stays): handoff:tester answered criteria that no rubric given here has",
        "    alpha/t1 finding_1: ev.more",
        "    alpha/t1 finding_2: ev.more",
        "6 stale answers found (--yes moves them out of the ledger); 2 more can't be told from here and stay",
    ]
    assert records(cohort) == before
    found = pruned(cohort, "--judge=handoff:tester", "--yes")
    assert (found["stale"], found["kept"], found["removed"]) == (6, 2, True)
    left, moved = records(cohort), records(cohort, "verdicts-pruned")
    assert Counter(entry["judge"]["model"] for entry in left) == {"other": 6, "tester": 2}
    assert {entry["judge"]["model"] for entry in moved} == {TESTER.model}
    assert pruned(cohort, "--as=tester")["stale"] == 0
    assert pruned(cohort, "--yes")["stale"] == 6  # of the other judge: moved beside those that were there
    assert len(records(cohort, "verdicts-pruned")) == 12
    assert cohort.sciagent("ledger", "merge", "verdicts", "verdicts-pruned", "-o", "verdicts")[0] == 0
    assert records(cohort) == before


def test_words_left_to_somebody_are_warned_of_before_anybody_is_asked(cohort: Cohort) -> None:
    cohort.run()
    told = "task t1 still says REPLACE, also to judges; what is left: sciagent task check t1"
    commands: list[list[str]] = [
        ["plan", "runs", "--judge=openai:m"],
        ["ledger", "export", "runs", "--as=me", "-o", "out.jsonl"],
        ["assemble", "t1", "work"],
    ]
    for command in commands:
        assert "REPLACE" not in cohort.sciagent(*command)[2]
    task_file(cohort).write_text("REPLACE: say what to investigate.\n")
    commands[2][2] = "other_work"
    for command in commands:
        code, _, err = cohort.sciagent(*command)
        assert (code, f"warning: {told}" in err.splitlines()) == (0, True), command
    (line,) = [line for line in doctor(cohort, "runs")["task"] if line["state"] == "warning"]
    assert line["text"] == told


@pytest.mark.parametrize(
    ("file", "quote", "why"),
    [
        ("output/Result.md", "The slope of the series is 2.50", None),
        ("results/table.csv", "2.5", None),
        ("output/Nothing.md", "The slope of the series", "the run has no such file"),
        ("output/data.bin", "The slope of the series", "the file has no text that can be read"),
        ("output/Result.md", "The slope", "9 characters are too short"),
        ("output/Result.md", "The slope ... is 2.50", "nothing may be left out of a quote"),
        ("output/Result.md", "The slope of no series", "these words do not stand there"),
    ],
)
def test_why_a_quote_does_not_count(cohort: Cohort, file: str, quote: str, why: str | None) -> None:
    path = cohort.run(files={"data.bin": bytes(range(256))})
    quotes = open_case(path, Sources(cohort.root), lambda label, entry: None).quotes
    cited = Citation(file=file, quote=quote)
    assert quotes.problem(cited) == why
    assert quotes.verify(cited).verified == (why is None)
