"""Revision from end to end: a shipped task, a scripted agent, rounds verified by the pytest items, a final examiner."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sample import CRITERION, sciagent

from pytest_sciagent.documents import load_json
from pytest_sciagent.models.revision import RevisionRecord
from pytest_sciagent.runs import Run

pytestmark = pytest.mark.usefixtures("shared_bytecode")
AGENT = Path(__file__).parent / "scripted_reviser.py"
TASK = "life_bill_shape"
HEAD = """\
schema: sciagent-rubric/1
id: {id}
version: '1'
kind: curated
dimensions:
  - {{id: robustness, weight: 1}}
criteria:
"""
BY_CODE = """\
  - id: {id}
    dimension: robustness
    weight: {weight}
    question: Does a result stand for {id}?
    levels: {{1: it stands in a file, 0.5: half of it does, 0: nothing does}}
    check: {id}
"""


def write_rubric(root: Path, name: str, *criteria: str) -> None:
    (root / "rubrics").mkdir(exist_ok=True)
    body = "".join(BY_CODE.format(id=id, weight=weight) for weight, id in enumerate(criteria, start=1))
    (root / "rubrics" / f"{name}.yaml").write_text(HEAD.format(id=name) + body)


def write_system(root: Path, fake: str, **more: Any) -> Path:
    path = root / f"{fake}.yaml"
    content = {
        "schema": "sciagent-system/1",
        "name": "scripted",
        "harness": "argv",
        "command": [sys.executable, str(AGENT), "{prompt_file}"],
        "environment": {"FAKE": fake},
        "usage": {"input_tokens": "/usage/in", "output_tokens": "/usage/out"},
        "fixing_turns": 0,
        "limits": {"wall_s": 60},
    }
    path.write_text(json.dumps({**content, **more}))
    return path


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rubrics and the frozen round 0 of the scripted agent."""
    root = tmp_path_factory.mktemp("revise")
    write_rubric(root, "loop", "stability.uncertainty", "stability.sample_perturbation")
    write_rubric(root, "other", "stability.sample_perturbation", "stability.uncertainty", "stability.replication")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        code, out, err = sciagent("run", TASK, "--system-file", write_system(root, "improves"), "-o", "runs/scripted")
    assert code == 0, out + err
    return root


@pytest.fixture
def root(start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to work in."""
    shutil.copytree(start, tmp_path / "lab")
    monkeypatch.chdir(tmp_path / "lab")
    return tmp_path / "lab"


@pytest.fixture(scope="module")
def done(start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with a revision that went through: the agent adds, breaks, and finishes."""
    root = tmp_path_factory.mktemp("done") / "lab"
    shutil.copytree(start, root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        revise(root, "improves", code=0)
    return root


@pytest.fixture
def finished(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to work in."""
    shutil.copytree(done, tmp_path / "lab")
    monkeypatch.chdir(tmp_path / "lab")
    return tmp_path / "lab"


def back_to(root: Path, rounds: int) -> None:
    """Take away what came after so many rounds."""
    for path in (root / "out/runs").iterdir():
        if int(path.name.split("-")[1]) > rounds:
            shutil.rmtree(path)
            shutil.rmtree(root / "out" / path.name)


def revise(root: Path, fake: str, *args: str, code: int, **more: Any) -> tuple[str, str]:
    system = write_system(root, fake, **more)
    given = ["revise", f"runs/scripted/{TASK}", "--rubric", "loop", "--system-file", str(system), "-o", "out", *args]
    if not any(arg.startswith(("--final-rubric", "--no-final")) for arg in args):
        given += ["--final-rubric", "other"]
    got, out, err = sciagent(*given)
    assert got == code, out + err
    return out, err


def record(root: Path) -> RevisionRecord:
    return load_json(root / "out" / "revision.json", RevisionRecord)


def test_adds_breaks_and_finishes(finished: Path) -> None:
    root = finished
    found = record(root)
    assert [r.outcome for r in found.tried] == ["accepted", "rejected", "accepted"]
    first, second, third = found.tried
    assert first.gained == ("finding_1/stability.uncertainty",)
    assert second.lost == ("finding_1/stability.uncertainty",)
    assert second.gained == ("finding_1/stability.sample_perturbation",)
    assert third.gained == second.gained
    assert third.lost == ()
    assert found.stopped == "all satisfied"
    assert found.last == f"scripted-round-3/{TASK}"
    assert third.files.added == ("output/results/leave_one_out.csv",)
    assert found.final is not None
    assert found.final.before.low == 0
    assert found.final.after.low == pytest.approx(50)  # weights 1 + 2 of 1 + 2 + 3
    told = (root / "out/round-2/FEEDBACK.md").read_text()
    assert "stability.sample_perturbation" in told
    assert "stability.uncertainty" not in told  # it held: failed criteria only
    assert "An earlier try was not taken" in (root / "out/round-3/FEEDBACK.md").read_text()
    assert (root / "out" / str(first.plan)).read_text() == "Mend what FEEDBACK.md lists.\n"
    assert (root / "out" / str(first.summary)).exists()
    assert Run.load(root / "out/runs/round-3").problems() == []
    assert Run.load(root / f"runs/scripted/{TASK}").problems() == []  # round 0 is never changed
    assert not [f.path for f in Run.load(root / "out/runs/round-1").manifest.files if "plan.md" in f.path]
    before = {p: p.read_bytes() for p in (root / "out").rglob("*") if p.is_file()}
    out, _ = revise(root, "improves", code=0)  # again: no harness starts, and all comes out the same
    assert "works" not in out
    assert "gain 50.0" in out
    assert {p: p.read_bytes() for p in (root / "out").rglob("*") if p.is_file()} == before


def test_never_improves_stops_early(root: Path) -> None:
    out, _ = revise(root, "stuck", code=1)
    found = record(root)
    assert [r.outcome for r in found.tried] == ["no progress"]
    assert found.stopped == "no progress"
    assert found.last == f"scripted/{TASK}"  # round 0 stays the result
    assert "gain 0.0" in out
    _, err = revise(root, "stuck", code=4, model="another")
    assert "another system file" in err
    write_rubric(root, "loop", "stability.replication")
    _, err = revise(root, "stuck", code=4)
    assert "another revision" in err


def test_repair_mends_what_a_round_broke(finished: Path) -> None:
    root = finished
    back_to(root, 1)
    revise(root, "improves", "--on-regression", "repair", "--no-final", code=0)
    tried = record(root).tried
    assert [(r.number, r.attempt, r.outcome) for r in tried] == [
        (1, "first", "accepted"),
        (2, "first", "rejected"),
        (2, "repair", "accepted"),
    ]
    assert "Your last changes can't be taken" in (root / "out/round-2-repair/FEEDBACK.md").read_text()


@pytest.mark.parametrize(
    ("args", "stopped", "rounds"),
    [(("--rounds", "1"), "rounds spent", 1), (("--tokens", "2000"), "tokens spent", 2)],
    ids=["rounds", "tokens"],
)
def test_budget_ends_it(finished: Path, args: tuple[str, ...], stopped: str, rounds: int) -> None:
    """Gone on with after as many rounds as it allows: no further one is started."""
    back_to(finished, rounds)
    out, _ = revise(finished, "improves", *args, "--no-final", code=1)
    found = record(finished)
    assert found.stopped == stopped
    assert len(found.tried) == rounds
    assert "works" not in out


def test_no_repair_is_begun_once_the_tokens_are_spent(finished: Path) -> None:
    back_to(finished, 2)
    out, _ = revise(finished, "improves", "--on-regression", "repair", "--tokens", "2200", "--no-final", code=1)
    assert [r.outcome for r in record(finished).tried] == ["accepted", "rejected"]
    assert record(finished).stopped == "tokens spent"
    assert "works" not in out


def test_limit_of_tokens_needs_a_harness_that_tells_them(root: Path) -> None:
    _, err = revise(root, "improves", "--tokens", "2000", "--no-final", code=4, usage={})
    assert "round-1: round 1 did not tell its tokens" in err
    assert "without --tokens" in err


def test_harness_that_fails_ends_it(root: Path) -> None:
    out, _ = revise(root, "fails", "--no-final", code=1)
    found = record(root)
    assert found.stopped == "harness failed"
    assert "exit code 3" in found.why
    assert found.last == f"scripted/{TASK}"
    assert "exit code 3" in out
    assert "remove its frozen run (runs/round-1" in " ".join(out.split())


def test_own_examiner_may_not_give_the_final_score(finished: Path) -> None:
    before = record(finished)
    _, err = revise(finished, "improves", "--final-rubric", "loop", code=4)
    assert "--same-examiner" in err
    assert record(finished) == before
    out, _ = revise(finished, "improves", "--final-rubric", "loop", "--same-examiner", code=0)
    assert "THE SAME as the loop's" in out
    assert record(finished).same_examiner


def test_the_calibration_that_the_configuration_names_is_looked_up(finished: Path) -> None:
    (finished / "pytest.ini").write_text("[pytest]\nsciagent_calibration = kept/none.json\n")
    _, err = revise(finished, "improves", code=4)
    assert "kept/none.json" in err


@pytest.mark.parametrize(
    "final",
    [
        ("--final-rubric", "renamed"),
        ("--final-rubric", "judged", "--final-judge", "handoff:me", "--final-judge-param", "layout=item"),
    ],
    ids=["rubric of another name", "parameter of the judge"],
)
def test_an_examiner_is_its_own_by_whatever_name(root: Path, final: tuple[str, ...]) -> None:
    judged_rubric(root)
    (root / "rubrics/renamed.yaml").write_text(
        (root / "rubrics/judged.yaml").read_text().replace("id: judged", "id: b")
    )
    loop = ("--rubric", "judged", "--judge", "handoff:me", "--judge-param", "layout=finding")
    _, err = revise(root, "improves", *loop, *final, code=4)
    assert "--same-examiner" in err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--rounds", "0"), "0 is not in the range 1<=x<=50"),
        (("-o", f"runs/scripted/{TASK}"), "lies inside the frozen run"),
        (("-o", f"runs/scripted/{TASK}/revised"), "lies inside the frozen run"),
        (("-o", "rubrics/loop.yaml"), "is no folder"),
        (("--final-judge", "openai"), "write KIND:MODEL"),
        (("--rubric", "lop"), "did you mean 'loop'"),
        (("--system-file", "nowhere.yaml"), "no such file"),
    ],
)
def test_bad_input_is_told_before_anything_is_done(root: Path, args: tuple[str, ...], told: str) -> None:
    before = sorted(root.rglob("*"))
    out, err = revise(root, "improves", *args, code=4)
    assert told in out + err
    assert "Traceback" not in out + err
    assert sorted(root.rglob("*")) in (before, sorted({*before, root / "improves.yaml"}))
    assert Run.load(root / f"runs/scripted/{TASK}").problems() == []


def test_final_judge_that_is_no_use_is_told_before_the_system_works(root: Path) -> None:
    judged_rubric(root)
    out, err = revise(root, "improves", "--final-rubric", "judged", "--final-judge", "nobody:model", code=4)
    assert "nobody" in err
    assert "works" not in out


# ---- systems that do what they should not


ADD = "open('output/Result.md', 'a').write('\\nMore.\\n')\n"


def acts(root: Path, code: str) -> dict[str, Any]:
    """A system that does no more than `code`, in which LAB is the folder of the lab."""
    text = f"import os, shutil, time\nfrom pathlib import Path\nLAB = Path({str(root)!r})\n{ADD}{code}"
    return {"command": [sys.executable, "-c", text, "{prompt_file}"], "usage": {}}


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("shutil.rmtree('data')", "files of data/ were changed"),
        ("[shutil.rmtree(p) if p.is_dir() else p.unlink() for p in Path().iterdir()]", "files of data/ were changed"),
        ("shutil.rmtree('output'); os.symlink('/etc', 'output')", "output/ is not a folder any more"),
        ("os.symlink('/etc/passwd', 'output/passwd')", "output/passwd is a symbolic link"),
        ("time.sleep(60)", "stopped: wall time"),
    ],
    ids=["data", "everything", "link", "file", "hangs"],
)
def test_a_round_that_breaks_the_workspace_or_hangs_has_failed(root: Path, code: str, told: str) -> None:
    out, _ = revise(root, "acts", "--no-final", code=1, limits={"wall_s": 2}, **acts(root, code))
    assert told in out
    found = record(root)
    assert (found.stopped, found.last) == ("harness failed", f"scripted/{TASK}")
    assert Run.load(root / f"runs/scripted/{TASK}").problems() == []


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "p = LAB / 'rubrics/loop.yaml'; p.write_text(p.read_text().replace('weight: 2', 'weight: 9'))",
            "rubrics/loop.yaml: was changed while the system worked",
        ),
        ("(LAB / 'conftest.py').write_text('raise SystemExit(0)')", "conftest.py: was written, changed or removed"),
        (f"(LAB / 'runs/scripted/{TASK}/output/Result.md').write_text('')", "changed: output/Result.md"),
    ],
    ids=["rubric", "conftest", "round 0"],
)
def test_a_round_that_touches_what_judges_it_is_refused(root: Path, code: str, told: str) -> None:
    _, err = revise(root, "acts", code=4, **acts(root, code))
    assert told in err


def test_no_module_beside_is_loaded_by_the_verifier(root: Path) -> None:
    revise(root, "acts", "--no-final", code=1, **acts(root, "(LAB / 'yaml.py').write_text('raise SystemExit(0)')"))
    assert record(root).stopped == "no progress"


def test_a_frozen_round_that_was_changed_is_refused(finished: Path) -> None:
    (finished / "out/runs/round-1/output/Result.md").write_text("# Report\n")
    _, err = revise(finished, "improves", code=4)
    assert "round-1: is not what was frozen: changed: output/Result.md" in err


def test_interrupted_in_a_round_it_goes_on(root: Path) -> None:
    code = "m = LAB / 'mark'\nif not m.exists():\n    m.touch()\n    time.sleep(60)\n"
    system = write_system(root, "acts", **acts(root, code))
    command = ["revise", f"runs/scripted/{TASK}", "--rubric", "loop", "--system-file", str(system), "-o", "out"]
    start = "from pytest_sciagent.cli import main; main()"
    command = [sys.executable, "-c", start, *command, "--no-final"]
    began = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        end = time.monotonic() + 60
        while not (root / "mark").exists() and began.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        began.send_signal(signal.SIGINT)
        told, _ = began.communicate(timeout=60)
    finally:
        began.kill()
    assert began.returncode == 2, told
    assert "interrupted" in told
    assert not list((root / "out").rglob("run.json"))  # nothing of a half round passes for one
    revise(root, "acts", "--no-final", code=1, **acts(root, code))
    assert [r.outcome for r in record(root).tried] == ["no progress"]


def two_findings(root: Path, what: str) -> None:
    """Give round 0 a second finding, which nothing supports."""
    code, out, err = sciagent("assemble", TASK, root / "work")
    assert code == 0, out + err
    namespace: dict[str, Any] = {"__name__": "reviser"}
    exec(compile(AGENT.read_text(), str(AGENT), "exec"), namespace)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root / "work")
        namespace["deliver"](namespace["PLAIN"], tail=namespace["SECOND"].format(what=what))
    shutil.rmtree(root / f"runs/scripted/{TASK}")
    code, out, err = sciagent(
        "freeze", root / "work", "--task", TASK, "--system", "scripted", "-o", f"runs/scripted/{TASK}"
    )
    assert code == 0, out + err


def test_unsupported_claim_taken_back_is_work_done(root: Path) -> None:
    two_findings(root, "birds of site A sing at dawn")
    revise(root, "withdraws", "--rounds", "1", "--no-final", code=1)
    (tried,) = record(root).tried
    assert tried.outcome == "accepted"
    assert tried.gained == ()
    (claim,) = tried.claims
    assert (claim.kind, claim.finding, claim.unsupported) == ("withdrawn", "finding_2", True)


# ---- by hand-off, without a key


def judged_rubric(root: Path) -> None:
    criteria = "".join(CRITERION % (id, "robustness", 1) for id in ("says.slope", "says.error"))
    (root / "rubrics" / "judged.yaml").write_text(HEAD.format(id="judged") + criteria)


def answers(path: Path, level: dict[str, bool]) -> None:
    """Answer the exported questions: whether each criterion holds."""
    lines = []
    for line in path.read_text().splitlines():
        question = json.loads(line)
        given = {
            name: {
                "rationale": "It is so." if level[name] else "No standard error is given.",
                "citations": [{"file": "output/Result.md", "quote": "bill depth falls with bill length"}],
                "zero": not level[name],
                "full": level[name],
                "half": False,
            }
            for name in question["keys"]
        }
        lines.append(json.dumps({"keys": question["keys"], "answers": given}))
    path.with_name("answers.jsonl").write_text("\n".join(lines) + "\n")


def test_hand_off_of_work_and_verdicts(root: Path) -> None:
    judged_rubric(root)
    judge = ["--rubric", "judged", "--judge", "handoff:me", "--judge-param", "layout=finding"]
    how = {"harness": "handoff", "command": [], "usage": {}, "environment": {}, "model": "some-model"}

    def go(code: int) -> str:
        return revise(root, "improves", *judge, "--final-rubric", "other", code=code, **how)[0]

    def answer(label: str, level: dict[str, bool]) -> None:
        path = root / "out/questions" / f"loop-{label}-{TASK}.jsonl"
        answers(path, level)
        run = f"runs/scripted/{TASK}" if label == "scripted" else "out/runs/round-1"
        code, out, err = sciagent(
            *("ledger", "import", path.with_name("answers.jsonl"), run, "--ledger", "out/verdicts"),
            *("--rubric", "judged", "--as", "me", "--layout", "finding"),
        )
        assert code == 0, out + err

    assert "2 questions" in go(10)
    assert record(root).stopped is None if (root / "out/revision.json").exists() else True
    answer("scripted", {"says.slope": True, "says.error": False})
    out = go(10)
    work = root / "out/round-1/handoff/workspace"
    assert str(work) in out
    assert "says.error" in (work / "FEEDBACK.md").read_text()
    assert "No standard error is given." in (work / "FEEDBACK.md").read_text()
    assert not (work / "hidden").exists()
    assert go(10) == out  # nothing is done before done.json says so
    report = work / "output/Result.md"
    report.write_text(report.read_text() + "\nThe standard error is 0.1.\n")
    (work / "revision").mkdir()
    (work / "revision/plan.md").write_text("Add the error.\n")
    (work.parent / "done.json").write_text(json.dumps({"model": "a person", "usage": {"input_tokens": 7}}))
    assert "questions" in go(10)
    assert not work.exists()
    answer("scripted-round-1", {"says.slope": True, "says.error": True})
    go(0)
    found = record(root)
    assert found.stopped == "all satisfied"
    assert found.tried[0].usage.input_tokens == 7
    assert (root / "out/round-1/plan.md").read_text() == "Add the error.\n"
    manifest = Run.load(root / "out/runs/round-1").manifest
    assert manifest.system.model == "a person"
    assert manifest.session is not None
    assert manifest.session.strays == ("added: revision/plan.md",)


def test_a_reason_that_tells_what_is_hidden_is_kept_back(root: Path) -> None:
    from pytest_sciagent.revision.feedback import tells_hidden
    from pytest_sciagent.tasks import find_task, task_folders
    from pytest_sciagent.tasks.leaks import Hidden

    task = find_task(TASK, task_folders((), root))
    assert task is not None
    assert task.source is not None
    hidden = Hidden(task)
    assert tells_hidden(hidden, f"See {task.source.title}.")
    value = next(q.value for card in task.cards for q in card.quantities if len(f"{q.value:g}") > 4)
    assert tells_hidden(hidden, f"The value should be {value:.12g}.")
    assert not tells_hidden(hidden, "The result file holds no standard error.")


def test_handoff_harness_is_not_started_by_run(root: Path) -> None:
    path = write_system(root, "improves", harness="handoff", command=[], usage={}, environment={})
    code, _, err = sciagent("run", TASK, "--system-file", path, "-o", "elsewhere")
    assert code == 4
    assert "sciagent assemble" in err


REPOSITORY = Path(__file__).parent.parent


def test_recorded_revision_by_a_language_model_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(REPOSITORY / "examples" / "revision", tmp_path / "revision")
    shutil.copytree(REPOSITORY / "runs" / "plain" / "earth_carbon_record", tmp_path / "round-0")
    before = load_json(tmp_path / "revision/earth_carbon_record/revision.json", RevisionRecord)
    monkeypatch.chdir(tmp_path)
    code, out, err = sciagent(
        *("revise", "round-0", "--rubric", "revision/rubric/earth_carbon_record.yaml", "--allow-late-rubric"),
        *("--system-file", "revision/claude.yaml", "--rounds", "2", "-o", "revision/earth_carbon_record"),
        *("--judge", "handoff:claude-loop", "--judge-param", "layout=finding"),
        *("--final-judge", "handoff:claude-fresh", "--final-judge-param", "layout=finding"),
    )
    assert code == 0, out + err
    after = load_json(tmp_path / "revision/earth_carbon_record/revision.json", RevisionRecord)
    assert after == before
    assert after.final is not None
    assert after.validity == "judge handoff:claude-loop, not calibrated against people: sciagent calibrate"
    assert after.final.validity == "judge handoff:claude-fresh, not calibrated against people: sciagent calibrate"
    assert after.validity in out
    assert after.final.validity in out
    low, high = (after.final.after.low - after.final.before.high, after.final.after.high - after.final.before.low)
    assert f"between {low:.0f} and {high:.1f} points" in recorded_readme()
    assert "judge and author are of one family by their names (claude, claude-fresh)" in out


def recorded_readme() -> str:
    return " ".join((REPOSITORY / "examples/revision/README.md").read_text().split())


def test_recorded_verdicts_are_what_their_readme_says() -> None:
    def entries(path: str, judge: str) -> dict[tuple[str, str], dict[str, Any]]:
        record = json.loads((REPOSITORY / path / "earth_carbon_record.json").read_text())
        mine = [e for e in record["entries"] if e["kind"] == "criterion" and e["judge"]["model"] == judge]
        return {(e["finding"], e["criterion_id"]): e for e in mine}

    place = "examples/revision/earth_carbon_record/verdicts"
    first = entries(f"{place}/claude-plain", "claude-fresh")
    second = entries(f"{place}/claude-plain-round-1", "claude-fresh")
    earlier = entries("verdicts/claude-plain", "claude")
    readme = recorded_readme()
    assert first.keys() == second.keys() == earlier.keys()
    assert f"Of the {len(first)} levels that this judge gave to each round, none differs" in readme
    assert all(first[place]["level"] == second[place]["level"] for place in first)
    equal = sum(first[place]["reason"] == second[place]["reason"] for place in first)
    assert f"{equal} of the {len(first)} reasons are equal" in readme
    agreed = sum(first[place]["level"] == earlier[place]["level"] for place in first)
    assert f"agree with them in {agreed} of {len(first)} levels" in readme
    assert {e["time"][:10] for e in (*first.values(), *second.values())} == {"2026-12-01"}
