"""Guidance to install: a skill folder from which an agent reads the rubric and verifies its own work as it goes.

It holds the visible half of the task only. What needs the hidden half, or a judge, is not assessed there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from ..documents import read_text
from ..errors import SciagentError
from ..ledger.store import write_atomically
from ..models import Rubric
from ..tasks import Task
from .feedback import text_of, whole

Convention = Literal["claude", "codex", "openclaw"]
FOLDERS: Mapping[Convention, str] = {
    "claude": ".claude/skills",
    "codex": ".agents/skills",
    "openclaw": "skills",
}
"""Where each harness looks for skills, below the workspace it is started in."""
_VISIBLE = ("objective.md", "DATA_GUIDE.md")


def write_guide(
    task: Task, rubric: Rubric, rubric_file: Path, folder: Path, conventions: tuple[Convention, ...]
) -> list[Path]:
    """Write the skill for `task` into the workspace `folder`, once for each convention; the skills' folders.

    Raises:
        SciagentError: the rubric is made for another task; a skill of this name is there already; it can't be written.
    """
    if rubric.task_id not in (None, task.id):
        raise SciagentError(f"judges runs of {rubric.task_id}, not of {task.id}", path=rubric_file)
    task.check()
    name = skill_name(task.id)
    made = [folder / FOLDERS[convention] / name for convention in conventions]
    for place in made:
        if place.exists():
            raise SciagentError("is there already: remove it first", path=place)
    for place in made:
        for path, text in _files(task, rubric, rubric_file, name).items():
            write_atomically(place / path, text)
        write_atomically(place / "task" / task.id / "task.yaml", _about(task))
        for path in (*_VISIBLE, *(file.path for file in task.manifest.files)):
            write_atomically(place / "task" / task.id / path, (task.path / path).read_bytes())
    return made


def _about(task: Task) -> str:
    """The manifest without the labels of what is feasible, which are for those who judge. JSON is YAML."""
    about = {key: value for key, value in task.manifest.as_json().items() if key != "feasibility"}
    return json.dumps(about, indent=2, ensure_ascii=False) + "\n"


def skill_name(task_id: str) -> str:
    """A name that all conventions take: lower case letters, digits and hyphens."""
    letters = "".join(c if c.isalnum() and c.isascii() else "-" for c in task_id.lower())
    return f"verify-{letters}"[:64].strip("-")


def _files(task: Task, rubric: Rubric, rubric_file: Path, name: str) -> dict[str, str]:
    criteria = len(rubric.criteria)
    by_code = sum(criterion.check is not None and not criterion.judge for criterion in rubric.criteria)
    values = {"name": name, "task": task.id, "criteria": str(criteria), "by_code": str(by_code)}
    skill, script = text_of("skill"), read_text(Path(__file__).parent / "texts" / "verify.py")
    for key, value in values.items():
        skill, script = skill.replace(f"{{{key}}}", value), script.replace(f"{{{key}}}", value)
    record = rubric_file.with_name(f"{rubric_file.stem}.frozen.json")  # a rubric that says it is frozen needs it
    return {
        **({"rubric.frozen.json": read_text(record)} if record.is_file() else {}),
        "SKILL.md": skill,
        "rubric.md": whole(rubric),
        "rubric.yaml": read_text(rubric_file),
        "scripts/verify.py": script,
    }
