"""The skill that an agent verifies itself by: what is in it, and what its script tells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from sample import sciagent

from pytest_sciagent.tasks import find_task, task_folders

RUBRIC = Path(__file__).parent.parent / "examples/experiment/rubrics/demo-loop.yaml"
TASK = "life_bill_shape"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with the skill in it, and a small delivery."""
    monkeypatch.chdir(tmp_path)
    assert sciagent("assemble", TASK, "work")[0] == 0
    code, out, err = sciagent("guide", TASK, "--rubric", RUBRIC, "-o", "work")
    assert code == 0, out + err
    output = tmp_path / "work" / "output"
    (output / "results").mkdir()
    (output / "results" / "fit.csv").write_text("quantity,slope\npooled,-0.085\n")
    (output / "fit.py").write_text("print(-0.085)\n")
    (output / "Result.md").write_text(
        "# Report\n\n## Finding 1: bills\n\nBy `output/fit.py`: `output/results/fit.csv`.\n"
    )
    return tmp_path / "work"


def test_skill_has_no_hidden_half_and_valid_front_matter(work: Path) -> None:
    task = find_task(TASK, task_folders((), work))
    assert task is not None
    assert task.source is not None
    places = [work / ".claude/skills", work / ".agents/skills", work / "skills"]
    for place in places:
        (skill,) = place.iterdir()
        head = yaml.safe_load((skill / "SKILL.md").read_text().split("---")[1])
        assert head["name"] == skill.name == "verify-life-bill-shape"
        assert head["description"]
        assert not list(skill.rglob("hidden*"))
        assert "feasib" not in next(skill.rglob("task.yaml")).read_text()
        everything = "".join(p.read_text() for p in skill.rglob("*") if p.is_file())
        assert task.source.title not in everything
        assert "How uncertain is the slope?" in (skill / "rubric.md").read_text()


def test_script_tells_what_fails(work: Path) -> None:
    script = work / ".claude/skills/verify-life-bill-shape/scripts/verify.py"
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, script], cwd=work, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "finding 1: stability.uncertainty: level 0" in done.stdout
    assert "0 hold, 3 fail, not assessed here: none" in done.stdout
    assert not list(work.glob("*.json.tmp"))


def test_rubric_of_another_task_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.yaml").write_text(RUBRIC.read_text().replace("kind: curated", "kind: induced\ntask_id: other"))
    code, _, err = sciagent("guide", TASK, "--rubric", "other.yaml", "-o", "work")
    assert code == 4
    assert "not of life_bill_shape" in err


def test_existing_skill_is_kept(work: Path) -> None:
    code, _, err = sciagent("guide", TASK, "--rubric", RUBRIC, "-o", "work", "--for", "claude")
    assert code == 4
    assert "is there already" in err
