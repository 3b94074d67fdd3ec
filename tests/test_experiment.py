"""Arms of an experiment: the recorded one gives its tables without a harness; what is missing of it is made again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sample import sciagent

pytestmark = pytest.mark.usefixtures("shared_bytecode")
EXAMPLE = Path(__file__).parent.parent / "examples" / "experiment"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the recorded experiment on one of its tasks, whose agent can't be started."""
    shutil.copytree(EXAMPLE, tmp_path / "lab")
    path = tmp_path / "lab" / "experiment.yaml"
    text = path.read_text().replace("[earth_carbon_record, life_bill_shape]", "[life_bill_shape]")
    path.write_text(text.replace("../../tasks", (EXAMPLE.parent.parent / "tasks").as_posix()))
    monkeypatch.chdir(tmp_path / "lab")
    monkeypatch.delenv("DEMO_AGENT", raising=False)
    return tmp_path / "lab"


def go(*args: str, code: int = 0) -> tuple[str, dict[str, dict[str, Any]]]:
    got, out, err = sciagent("experiment", "experiment.yaml", "--json", "arms.json", *args)
    assert got == code, out + err
    found = json.loads(Path("arms.json").read_text()) if code == 0 else []
    return out + err, {one["arm"]: one for one in found}


def cells(out: str, table: str, row: str) -> list[str]:
    """The cells of a row of one of the printed tables."""
    lines = out.split(f"\n{table}")[1].splitlines()
    return next(line for line in lines if line.strip().startswith(row)).split()


def test_recorded_experiment_is_told_without_a_harness(lab: Path) -> None:
    before = {p: p.read_bytes() for p in (lab / "results").rglob("*") if p.is_file()}
    out, arms = go()
    assert "works" not in out
    assert {one["validity"] for one in arms.values()} == {"no judge: code alone decides"}
    assert out.count("no judge: code alone decides") == 1
    assert {p: p.read_bytes() for p in (lab / "results").rglob("*") if p.is_file()} == before
    assert list(arms) == ["vanilla", "skeleton", "rubric", "rubric+revise", "self-refine", "compute-matched"]
    assert len({one["runs"][0] for one in arms.values()}) == 1  # one round 0 for all
    revised, refined, matched = arms["rubric+revise"], arms["self-refine"], arms["compute-matched"]
    assert revised["runs"][1] == arms["rubric"]["runs"][1]  # what they share is the same run
    assert refined["turns"] == revised["turns"]
    assert matched["runs"][: len(refined["runs"])] == refined["runs"]
    assert matched["tokens"] >= revised["tokens"]
    assert revised["stopped"] == "all satisfied"
    assert revised["recovered"] == 3
    assert arms["vanilla"]["gain"] == {"low": 0, "high": 0}
    for arm in arms.values():
        assert arm["gain"]["low"] == pytest.approx(arm["scores"][-1]["low"] - arm["scores"][0]["high"])
    difference = revised["scores"][-1]["low"] - matched["scores"][-1]["high"]
    assert f"{difference:.1f} points on 1 task" in out.split("AT EQUAL COMPUTE")[1]
    assert f"{100 * matched['tokens'] / revised['tokens']:.0f} % of the {revised['tokens']:,}" in out
    each = f"{revised['tokens'] / revised['recovered']:,.0f}"
    assert each in cells(out, "COST", "rubric+revise")
    assert "1 task: too few for an interval" in " ".join(out.split())
    assert "[" not in out  # no interval anywhere


def test_a_missing_turn_is_made_again(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = json.loads((lab / "results/program/life_bill_shape/revise/revision.json").read_text())
    shutil.rmtree(lab / "results/program/life_bill_shape/revise")
    monkeypatch.setenv("DEMO_AGENT", str(lab / "agent.py"))
    out, after = go()
    assert out.count("program works") == 1
    again = json.loads((lab / "results/program/life_bill_shape/revise/revision.json").read_text())
    assert [t["gained"] for t in again["tried"]] == [t["gained"] for t in before["tried"]]
    assert after["rubric+revise"]["turns"] == 1 + len(before["tried"])


@pytest.mark.parametrize(
    ("program", "code", "told"),
    [
        ("sh", 0, "skeleton on life_bill_shape: 1 of 1 turn failed: the harness ended with exit code 2"),
        ("no-such-program", 4, "program-skeleton: the harness is not installed: no program 'no-such-program'"),
    ],
    ids=["fails", "not installed"],
)
def test_turns_that_come_to_nothing_are_told(
    lab: Path, monkeypatch: pytest.MonkeyPatch, program: str, code: int, told: str
) -> None:
    shutil.rmtree(lab / "results")
    path = lab / "experiment.yaml"
    path.write_text(path.read_text().replace("max_turns: 6", "arms: [vanilla, skeleton]"))
    system = lab / "agent.yaml"
    system.write_text(system.read_text().replace("[sh,", f"[{program},"))
    monkeypatch.setenv("DEMO_AGENT", str(lab / "nowhere.py"))
    out, arms = go(code=code)
    assert told in " ".join(out.split())
    if code == 0:
        assert arms["skeleton"]["gain"] == {"low": 0, "high": 0}
        assert arms["skeleton"]["failed"] == ["the harness ended with exit code 2"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("demo-final", "demo-loop", ":9: loop and final are one examiner, so the arms with a rubric would be tuned"),
        ("max_turns: 6", "arms: [compute-matched]", ":7: arms: compute-matched spends the tokens"),
        ("[life_bill_shape]", "[nowhere]", ":3: no task named 'nowhere'"),
        ("[life_bill_shape]", "[life_bill_shape, life_bill_shape]", ":3: tasks: life_bill_shape stands there twice"),
        ("max_turns: 6", "max_turn: 6", ":7: unknown key 'max_turn'; did you mean 'max_turns'"),
        ("rounds: 2", "rounds: 0", ":6: rounds: input should be greater than or equal to 1"),
        ("[agent.yaml]", "[nobody.yaml]", ":4: no system file"),
        ("demo-loop.yaml", "nothing.yaml", ":8: loop: "),
        ("demo-final.yaml", "demo-final.yaml, judge: openai", ":9: final: judge 'openai': write KIND:MODEL"),
        ("start: runs", "start: [", ":7: not readable as YAML"),
        ("max_turns: 6", "results: runs", "lies inside the frozen run program/life_bill_shape"),
    ],
)
def test_bad_files_are_told_plainly(lab: Path, old: str, new: str, told: str) -> None:
    path = lab / "experiment.yaml"
    path.write_text(path.read_text().replace(old, new))
    before = sorted(lab.rglob("*"))
    out, _ = go(code=4)
    assert told in out
    assert not told.startswith(":") or f"experiment.yaml{told}" in out
    assert "Traceback" not in out
    assert sorted(lab.rglob("*")) == before


def test_changed_round_0_is_refused(lab: Path) -> None:
    (lab / "runs/program/life_bill_shape/output/Result.md").write_text("# Report\n")
    out, _ = go(code=4)
    assert "not what was frozen" in out
