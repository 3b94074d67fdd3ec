"""Arms of an experiment: the recorded one gives its tables without a harness; what is missing of it is made again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sample import sciagent

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


def test_recorded_experiment_is_told_without_a_harness(lab: Path) -> None:
    before = {p: p.read_bytes() for p in (lab / "results").rglob("*") if p.is_file()}
    out, arms = go()
    assert "works" not in out
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
    assert f"{difference:.1f}" in out.split("AT EQUAL COMPUTE")[1]


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
    ("old", "new", "told"),
    [
        ("demo-final", "demo-loop", "tuned to their own score"),
        ("max_turns: 6", "arms: [compute-matched]", "needs that arm"),
        ("[life_bill_shape]", "[nowhere]", "no task named 'nowhere'"),
        ("max_turns: 6", "max_turn: 6", "max_turn"),
    ],
    ids=["one examiner", "arms", "task", "key"],
)
def test_bad_files_are_told_plainly(lab: Path, old: str, new: str, told: str) -> None:
    path = lab / "experiment.yaml"
    path.write_text(path.read_text().replace(old, new))
    out, _ = go(code=4)
    assert told in out


def test_changed_round_0_is_refused(lab: Path) -> None:
    (lab / "runs/program/life_bill_shape/output/Result.md").write_text("# Report\n")
    out, _ = go(code=4)
    assert "not what was frozen" in out
