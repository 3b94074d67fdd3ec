"""From a shipped task to a score: assembled, run by a scripted agent, frozen, released, frozen again, scored."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from sample import Cohort, sciagent

from pytest_sciagent.harnesses.stages import record_path
from pytest_sciagent.models import RunManifest
from pytest_sciagent.runs import Run

AGENT = Path(__file__).parent / "scripted_agent.py"
TASK = "life_bill_shape"


def system_file(root: Path, fake: str = "") -> Path:
    path = root / "system.yaml"
    content = {
        "schema": "sciagent-system/1",
        "name": "scripted",
        "harness": "argv",
        "command": [sys.executable, str(AGENT), "{prompt_file}"],
        "version_command": [sys.executable, "--version"],
        "environment": {"FAKE": fake},
        "limits": {"wall_s": 120},
    }
    path.write_text(json.dumps(content))
    return path


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the frozen first stage of the scripted agent, in `runs/scripted/`."""
    root = tmp_path_factory.mktemp("stages")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        code, out, err = sciagent("run", TASK, "--system-file", system_file(root), "-o", "runs/scripted")
    assert code == 0, out + err
    assert "warning" not in err
    return root


@pytest.fixture
def cohort(first: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    """A copy of the first stage, to go on with."""
    import shutil

    cohort = Cohort(pytester)
    (cohort.root / "pytest.ini").write_text("[pytest]\n")
    shutil.copytree(first / "runs", cohort.root / "runs")
    monkeypatch.chdir(cohort.root)
    return cohort


def run_path(cohort: Cohort) -> Path:
    return cohort.root / "runs" / "scripted" / TASK


def manifest(cohort: Cohort, suffix: str = "") -> RunManifest:
    run = Run.load(run_path(cohort).with_name(TASK + suffix))
    assert run.problems() == []
    return run.manifest


def levels(cohort: Cohort, system: str) -> dict[str, Any]:
    """The level of each criterion of the first finding, by a whole pytest session."""
    results = cohort.results("--sciagent-run=runs/scripted")
    run = next(r for r in results["runs"] if r["system"] == system)
    return {c["criterion_id"]: c["level"] for finding in run["findings"] for c in finding["criteria"]}


def test_two_stages_end_to_end(cohort: Cohort) -> None:
    code, out, err = sciagent("release", run_path(cohort), "--system-file", system_file(cohort.root))
    assert code == 0, out + err
    one, two = manifest(cohort), manifest(cohort, ".stage2")
    stage = two.stage
    assert stage is not None
    assert stage.first_tree_sha256 == one.tree_sha256
    assert str(one.finished_at) < stage.checked_at < stage.released_at < str(two.finished_at)
    assert two.started_at == one.started_at
    assert set(stage.holdout) == {"individuals.csv"}
    assert stage.shared_rows == 0
    assert two.system.name == "scripted-stage2"
    assert two.inputs.before == one.inputs.before
    for path, digest in stage.first.items():
        assert path == "output/Result.md" or {f.path: f.sha256 for f in two.files}[path] == digest

    before, after = levels(cohort, "scripted"), levels(cohort, "scripted-stage2")
    separated = [f"separated_validation.{name}" for name in ("provenance", "execution", "prefrozen_decision")]
    assert [before[name] for name in separated] == [0, 0, 0]
    assert [after[name] for name in separated] == [1, 1, 1]
    assert before["evidence.data_identity"] == after["evidence.data_identity"] == 1


def test_a_rule_changed_after_the_release_is_not_from_before(cohort: Cohort) -> None:
    """The changed rule still says the early time; its file is not the frozen one."""
    code, out, err = sciagent("release", run_path(cohort), "--system-file", system_file(cohort.root, "cheats"))
    assert code == 0, out + err
    after = levels(cohort, "scripted-stage2")
    assert after["separated_validation.prefrozen_decision"] == 0.5
    assert after["separated_validation.execution"] == 0


def test_a_second_stage_that_failed_is_run_anew_and_a_complete_one_is_not(cohort: Cohort) -> None:
    path = system_file(cohort.root)
    whole = path.read_text()
    path.write_text(whole.replace(str(AGENT), str(cohort.root / "none.py")))
    assert sciagent("release", run_path(cohort), "--system-file", path)[0] == 1
    told = record_path(run_path(cohort)).read_text()
    path.write_text(whole)
    assert sciagent("release", run_path(cohort), "--system-file", path)[0] == 0
    assert record_path(run_path(cohort)).read_text() == told
    code, _, err = sciagent("release", run_path(cohort), "--system-file", path)
    assert (code, "frozen already" in err) == (4, True)


def test_by_hand_in_two_steps(cohort: Cohort) -> None:
    import subprocess

    assert sciagent("release", run_path(cohort), "--from", "work")[0] == 4
    code, out, err = sciagent("release", run_path(cohort), "--to", "work")
    assert code == 0, err
    told = record_path(run_path(cohort)).read_text()
    assert (cohort.root / "work/holdout/individuals.csv").is_file()
    subprocess.run([sys.executable, str(AGENT)], cwd=cohort.root / "work", check=True)
    code, out, err = sciagent("release", run_path(cohort), "--from", "work")
    assert code == 0, out + err
    assert manifest(cohort, ".stage2").stage == Run.load(run_path(cohort).with_name(f"{TASK}.stage2")).manifest.stage
    assert record_path(run_path(cohort)).read_text() == told


def test_the_time_of_the_first_release_stays(cohort: Cohort) -> None:
    assert sciagent("release", run_path(cohort), "--to", "w1")[0] == 0
    told = record_path(run_path(cohort)).read_text()
    assert sciagent("release", run_path(cohort), "--to", "w2")[0] == 0
    assert record_path(run_path(cohort)).read_text() == told


@pytest.mark.parametrize("change", ["changed", "no report", "twice", "none"])
def test_what_is_not_released(cohort: Cohort, change: str) -> None:
    path = run_path(cohort)
    if change == "changed":
        (path / "output/Result.md").write_text("other\n")
    if change == "no report":
        data = json.loads((path / "run.json").read_text())
        (path / "run.json").write_text(json.dumps({**data, "status": "failed"}))
    if change == "twice":
        assert sciagent("release", path, "--system-file", system_file(cohort.root))[0] == 0
        path = path.with_name(f"{TASK}.stage2")
    args = [] if change == "none" else ["--to", "out"]
    code, _, err = sciagent("release", path, *args)
    assert code == 4
    assert {"changed": "not what was frozen", "no report": "did not complete"}.get(change, "") in err
    assert not (cohort.root / "out").exists()
    assert not record_path(path).exists()


def test_a_changed_holdout_is_not_taken_in(cohort: Cohort) -> None:
    assert sciagent("release", run_path(cohort), "--to", "work")[0] == 0
    held = cohort.root / "work/holdout/individuals.csv"
    held.chmod(0o644)
    held.write_text("x\n")
    code, _, err = sciagent("release", run_path(cohort), "--from", "work")
    assert (code, "holdout/ is not what was handed out" in err) == (4, True)


def test_a_workspace_holds_the_visible_half_only(cohort: Cohort) -> None:
    code, _, err = sciagent("assemble", TASK, "work")
    assert code == 0, err
    receipt = json.loads((cohort.root / "work/receipt.json").read_text())
    names = sorted(
        p.relative_to(cohort.root / "work").as_posix() for p in (cohort.root / "work").rglob("*") if p.is_file()
    )
    assert names == sorted([*receipt["files"], "receipt.json"])
    assert not any("hidden" in name or "holdout" in name or "reference" in name for name in names)
    assert (cohort.root / "work/data/individuals.csv").stat().st_mode & 0o222 == 0
    assert sciagent("assemble", TASK, "work")[0] == 4
    work = cohort.root / "work"
    (work / "output/Result.md").write_text("# Report\n\n## Finding 1: x\n\nY.\n")
    (work / "notes.txt").write_text("z\n")
    code, _, err = sciagent("freeze", work, "--task", TASK, "--system", "s", "-o", "runs/s/one")
    assert (code, "outside output/, not frozen: added: notes.txt" in err) == (0, True)
    about = Run.load(cohort.root / "runs/s/one").manifest
    assert (
        about.inputs.before == about.inputs.after == {"data/individuals.csv": receipt["files"]["data/individuals.csv"]}
    )
    assert set(about.system.prompts) == {"CONTRACT.md", "PROMPT.md"}
    assert "{t0}" not in (cohort.root / "work/CONTRACT.md").read_text()


def test_freezing_warns_of_an_unknown_task_and_of_no_finding(cohort: Cohort) -> None:
    (cohort.root / "w/output").mkdir(parents=True)
    (cohort.root / "w/output/Result.md").write_text("# Report\n\nNothing.\n")
    code, _, err = sciagent("freeze", "w", "--task", "no_such", "--system", "s", "-o", "runs/s/no_such")
    assert code == 0
    assert "no task named 'no_such' is known here" in err
    assert "the report registers no finding" in err
