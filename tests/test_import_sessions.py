"""`sciagent import` on the command line, and sessions over folders of other benchmarks."""

from __future__ import annotations

import json
import re

import pytest
from foreign_samples import RCB_TASK, TIB_TASK, put, rcb_run, rcb_task, tib_evaluator, tib_run, tib_task
from sample import Cohort, outcomes

from pytest_sciagent.evaluation import Sources, open_case
from pytest_sciagent.importers import Gathering
from pytest_sciagent.models import Label


def test_the_command_tells_counts_and_refusals_and_its_exit_code(cohort: Cohort) -> None:
    source = cohort.root / "bench"
    tib_task(source)
    tib_run(source, "good")
    code, out, err = cohort.sciagent("import", "auto", "bench", "-o", "imported")
    assert (code, err) == (0, "")
    assert re.search(r"bench: TruthInsightBench\n  task +1 in\n  run +1 in\n", out)
    assert f"run good/{TIB_TASK}: output tree" in out
    put(tib_run(source, "bad"), {"workspace/output/x.csv": "new"})
    code, out, _ = cohort.sciagent("import", "truthinsightbench", "bench", "-o", "again", "-q")
    assert code == 1
    assert "  run         1 in, 1 refused\n" in out
    assert "refused: run" in out
    assert "good/" not in out
    account = json.loads((cohort.root / "again/import.json").read_text())
    assert account["counts"]["run"] == {"loaded": 1, "refused": 1}
    assert account["refused"][0]["file"].endswith("bad/Energy_01_photocatalytic_tradeoffs/run_receipt.json")
    assert cohort.sciagent("verify", "again/runs")[0] == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("auto", "nowhere", "-o", "out"), "there is no such folder"),
        (("auto", "empty", "-o", "out"), "nothing here is of any known format"),
        (("paperbench", "bench", "-o", "out"), "nothing here is of the format paperbench"),
        (("papers", "bench", "-o", "out"), "no format 'papers'; choose from auto, truthinsightbench"),
        (("auto", "bench", "-o", "bench/out"), "lies inside what is to be imported"),
        (("auto", "bench", "-o", "pytest.ini"), "is not a folder"),
        (("auto", "bench", "-o", "done"), "something was imported here before"),
    ],
)
def test_bad_input_is_one_plain_message(cohort: Cohort, args: tuple[str, ...], message: str) -> None:
    tib_run(cohort.root / "bench")
    (cohort.root / "empty").mkdir()
    put(cohort.root / "done", {"import.json": {"complete": True}})
    code, out, err = cohort.sciagent("import", *args)
    assert (code, out) == (4, "")
    assert err.startswith("sciagent: ")
    assert message in err
    assert len(err.splitlines()) == 1


def test_what_is_there_already_is_never_overwritten(cohort: Cohort) -> None:
    rcb_task(cohort.root / "bench")
    put(cohort.root / "out", {f"tasks/{RCB_TASK}/mine.txt": "mine"})
    code, out, _ = cohort.sciagent("import", "auto", "bench", "-o", "out", "-q")
    assert code == 1
    assert "exists already: import into another folder" in out
    assert [path.name for path in (cohort.root / "out/tasks" / RCB_TASK).iterdir()] == ["mine.txt"]


def test_an_interrupted_import_goes_on(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    source = cohort.root / "bench"
    rcb_task(source, "Physics_001")
    rcb_task(source, "Physics_002")
    write, calls = Gathering.write_task, []

    def stop(self: Gathering, id: str, *rest: object) -> None:
        calls.append(id)
        if len(calls) == 2:
            raise KeyboardInterrupt
        write(self, id, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Gathering, "write_task", stop)
    assert cohort.sciagent("import", "auto", "bench", "-o", "out")[0] == 2
    assert not json.loads((cohort.root / "out/import.json").read_text())["complete"]
    code, out, _ = cohort.sciagent("import", "auto", "bench", "-o", "out", "-q")
    assert code == 1
    assert {path.name for path in (cohort.root / "out/tasks").iterdir()} == {"Physics_001", "Physics_002"}
    assert "task Physics_001: " in out
    assert "exists already" in out
    assert cohort.sciagent("import", "auto", "bench", "-o", "out")[0] == 4


def test_a_task_without_a_cut_off_can_be_assembled_and_is_told_by_task_check(cohort: Cohort) -> None:
    rcb_task(cohort.root / "bench")
    cohort.sciagent("import", "auto", "bench", "-o", "in")
    assert cohort.sciagent("assemble", RCB_TASK, "work", "--tasks", "in/tasks")[0] == 0
    assert "published before today" in (cohort.root / "work/CONTRACT.md").read_text()
    code, out, _ = cohort.sciagent("task", "check", f"in/tasks/{RCB_TASK}")
    assert code == 1
    assert "task.yaml gives no t0" in out


def test_nothing_hostile_reaches_the_terminal(cohort: Cohort) -> None:
    rcb_run(cohort.root / "bench", "Physics_000_20260101_000000", error="\x1b[2J\u202eevil\n# x")
    _, out, _ = cohort.sciagent("import", "auto", "bench", "-o", "out")
    assert "evil" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


# ---- sessions


def test_a_session_over_run_roots_takes_them_in_and_says_so(cohort: Cohort) -> None:
    (cohort.root / "pytest.ini").write_text("[pytest]\n")
    bench = cohort.root / "bench"
    tib_task(bench)
    tib_evaluator(bench)
    tib_run(bench)
    put(tib_run(bench, "bad"), {"workspace/output/x.csv": "new"})
    result = cohort.pytest("--sciagent-run=bench", "-q", "--tb=no", "-rN")
    assert outcomes(result)["not assessed"] > 20
    result.stdout.fnmatch_lines(["not imported: run *: *bad/*run_receipt.json: the output is not what it froze*"])
    first = cohort.pytest("--sciagent-run=bench", "--tb=no", "-rN")
    first.stdout.fnmatch_lines(
        ["sciagent: *bench is a layout of TruthInsightBench; 1 task, 1 run in *.sciagent/imported/*"]
    )
    (cache,) = (cohort.root / ".sciagent/imported").iterdir()
    assert (cache / "import.json").is_file()
    results = cohort.results("--sciagent-run=bench/runs/codex", "--tb=no")
    (run,) = results["runs"]
    assert (run["system"], run["task_id"], run["state"]) == ("codex", TIB_TASK, "sound")
    assert len(run["findings"]) == 2


def test_each_run_is_judged_by_the_rubric_of_its_task(cohort: Cohort) -> None:
    (cohort.root / "pytest.ini").write_text("[pytest]\n")
    bench = cohort.root / "bench"
    for task in (RCB_TASK, "Chemistry_001"):
        rcb_task(bench, task)
        rcb_run(bench, f"{task}_20260101_000000", task_id=task)
    rcb_run(bench, f"{RCB_TASK}_20260102_000000", report=None, agent_name="Silent")
    collected = cohort.pytest("--sciagent-run=bench", "--collect-only", "-q").outlines
    nodes = [line.split("run.json::")[1] for line in collected if "::" in line]
    assert sorted(nodes) == [
        "report::Chemistry_001.c0",
        "report::Chemistry_001.c1",
        "report::Physics_000.c0",
        "report::Physics_000.c1",
        "run::delivery",
    ]
    alone = cohort.results("--sciagent-run=bench", "--tb=no", "-q", "--sciagent-jsonl=lines.jsonl")
    lines = [json.loads(line) for line in (cohort.root / "lines.jsonl").read_text().splitlines()]
    assert {line["criterion_id"]: line["effect"]["low"] for line in lines} == {
        f"{task}.c{n}": -points for task in (RCB_TASK, "Chemistry_001") for n, points in ((0, 30), (1, 70))
    }
    spread = cohort.results("--sciagent-run=bench", "--tb=no", "-q", "-n2")
    assert alone == spread
    scores = {(run["system"], run["task_id"]): run["score"] for run in alone["runs"]}
    assert scores["Claude-Code", RCB_TASK] == {"low": 0, "high": 100}
    assert scores["Silent", RCB_TASK] == {"low": 0, "high": 0}


def test_recorded_answers_for_an_imported_checklist_give_points(cohort: Cohort) -> None:
    (cohort.root / "pytest.ini").write_text("[pytest]\n")
    rcb_task(cohort.root / "bench")
    rcb_run(cohort.root / "bench", "Physics_000_20260101_000000")
    assert cohort.sciagent("import", "auto", "bench", "-o", "in")[0] == 0
    rubric = f"in/rubrics/researchclawbench.{RCB_TASK}.yaml"
    args = ("in/runs", "--tasks", "in/tasks", "--rubric", rubric, "--as", "me", "-o", "prompts.jsonl")
    assert cohort.sciagent("ledger", "export", *args)[0] == 0
    prompts = [json.loads(line) for line in (cohort.root / "prompts.jsonl").read_text().splitlines()]
    asked = [prompt for prompt in prompts if "Physics_000.c1" in json.dumps(prompt)]
    assert "Figure 2 shows how the dispersion depends" in json.dumps(asked[0])
    assert "Find the gap." in json.dumps(asked[0])


def test_a_run_json_that_an_agent_left_in_a_foreign_run_is_no_run_of_ours(cohort: Cohort) -> None:
    (cohort.root / "pytest.ini").write_text("[pytest]\n")
    rcb_task(cohort.root / "bench")
    faked = {"schema": "sciagent-run/1", "task_id": "t1"}
    rcb_run(
        cohort.root / "bench", "Physics_000_20260101_000000", {"outputs/run.json": faked, "outputs/output/a.md": "x"}
    )
    (run,) = cohort.results("--sciagent-run=bench", "-q", "--tb=no")["runs"]
    assert (run["system"], run["state"]) == ("Claude-Code", "sound")


def test_a_file_of_a_known_name_alone_is_no_foreign_layout(cohort: Cohort) -> None:
    put(cohort.root / "bench", {"cohort.json": {"runs": []}})
    result = cohort.pytest("--sciagent-run=bench")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: no frozen run*"])


def test_a_folder_of_labels_alone_is_no_run(cohort: Cohort) -> None:
    put(cohort.root / "bench", {"a_review_ratings.tsv": "P\tS\tN\n"})
    result = cohort.pytest("--sciagent-run=bench")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *bench: holds no run of CodeScientist that can be tested*"])


def test_a_folder_of_nothing_known_keeps_its_plain_message(cohort: Cohort) -> None:
    put(cohort.root / "bench", {"a.txt": "x"})
    result = cohort.pytest("--sciagent-run=bench")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: no frozen run*freeze one with 'sciagent freeze'*"])


def test_a_rubric_made_for_another_task_is_told(cohort: Cohort) -> None:
    rcb_task(cohort.root / "bench")
    cohort.sciagent("import", "auto", "bench", "-o", "in")
    cohort.run()
    result = cohort.pytest("--sciagent-run=runs", f"--sciagent-rubric=in/rubrics/researchclawbench.{RCB_TASK}.yaml")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: no rubric of this session is made for alpha/t1: *(for Physics_000). *"])


# ---- freeze tells what it guessed


def test_freeze_takes_a_plain_folder_and_tells_its_guesses(cohort: Cohort) -> None:
    report = (
        "## Finding 1: x\n\nBy `fit.py`, not `gone.csv`.\n\n## Key result 2: y\n\n## Findings\n\n"
        "- Finding 1: x\n- **Finding 3**: z\n\n## Finding 4: bare\n"
    )
    files = {"report.md": report, "data/a.csv": "a\n", "fit.py": "1\n", "out/t.csv": "a\n", "x.bin": "?"}
    put(cohort.root / "work", files | {".git/config": "x", "commands.log": "ls\n"})
    code, out, err = cohort.sciagent("freeze", "work", "--task", "t1", "--system", "s", "-o", "runs/s/t1")
    assert code == 0
    assert "  finding_1 (line 1): x\n    output/fit.py\n    not there: gone.csv\n" in out
    assert "  finding_4 (line 12): bare\n    names no file of the run: " in out
    told = [line for line in err.splitlines() if "registers no finding" in line]
    assert told == [
        'warning: output/report.md: line 5 ("Key result 2: y") registers no finding; to make it one, write: '
        "## Finding 2: y",
        'warning: output/report.md: line 10 ("- **Finding 3**: z") registers no finding; to make it one, write: '
        "## Finding 3: z",
    ]
    assert "no output/ here: all of the folder but data/, logs and hidden files" in out
    assert "  report: output/report.md (by its name)\n" in out
    assert "  analysis source: 1 (code, by its suffix): output/fit.py\n" in out
    assert "  result: 1 (data files, by their suffix): output/out/t.csv\n" in out
    assert "  other: 1 (nothing is known of these" in out
    assert "  log: 1 (below logs/, or named like one): logs/commands.log\n" in out
    case = open_case(cohort.root / "runs/s/t1", Sources(cohort.root), lambda label, entry: None)
    assert set(case.run.files) == {
        *(f"output/{name}" for name in ("report.md", "fit.py", "out/t.csv", "x.bin")),
        "logs/commands.log",
    }
    assert list(case.run.manifest.inputs.after or ()) == ["data/a.csv"]


@pytest.mark.parametrize(
    ("files", "target", "message"),
    [
        ({"notes.md": "x"}, "runs/s/t1", "no folder output/ to freeze here, and no report"),
        ({"Result.md": "x"}, "work/frozen", "lies inside the folder that is to be frozen"),
    ],
)
def test_freeze_refuses_a_plain_folder_plainly(
    cohort: Cohort, files: dict[str, str], target: str, message: str
) -> None:
    put(cohort.root / "work", files)
    code, _, err = cohort.sciagent("freeze", "work", "--task", "t1", "--system", "s", "-o", target)
    assert code == 4
    assert message in err


def test_a_label_lies_on_its_scale() -> None:
    given = {"dataset": "d", "run": "r", "criterion": "c", "rater": {"kind": "human", "name": "n"}, "scale": [0, 1]}
    assert Label.model_validate({**given, "score": 1}).as_json()["schema"] == "sciagent-label/1"
    for wrong in ({"score": 2}, {"score": 0, "scale": [1, 0]}, {"score": float("nan")}):
        with pytest.raises(ValueError, match=r"scale|finite"):
            Label.model_validate({**given, **wrong})
