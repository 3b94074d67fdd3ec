"""The command that writes a skill by which an agent can test its own work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .common import PATH, named_task, tasks_option

if TYPE_CHECKING:
    from ..revision.guide import Convention


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--rubric", required=True, help="What the work is tested by: a rubric's name or file.")
@click.option("-o", "--output", "folder", required=True, type=PATH, help="The workspace that the agent starts in.")
@click.option(
    "--for",
    "conventions",
    multiple=True,
    type=click.Choice(["claude", "codex", "openclaw"]),
    help="Whose convention (repeatable; default: all three).",
)
@tasks_option
def guide(task_id: str, rubric: str, folder: Path, conventions: tuple[Convention, ...], tasks: tuple[Path, ...]) -> int:
    """Write a skill folder for TASK, from which an agent reads the rubric and tests its own work.

    It goes to .claude/skills/ (Claude Code), .agents/skills/ (Codex) and skills/ (OpenClaw) of the workspace, and holds
    SKILL.md, the rubric, a script that verifies, and the visible half of the task. Nothing hidden is in it: criteria
    that need the hidden half or a judge are told as not assessed. The agent's environment needs pytest-sciagent. An
    installation holds the hidden halves of the tasks that this package ships: for those, keep agents from reading it.

    \b
    Example:
        sciagent assemble my_task work/
        sciagent guide my_task --rubric my_rubric -o work/ --for claude
    """
    from ..revision.guide import FOLDERS, write_guide
    from ..rubrics import find_rubric, load_rubric

    path = find_rubric(rubric, Path.cwd(), Path.cwd())
    loaded = load_rubric(rubric, Path.cwd(), Path.cwd())
    made = write_guide(named_task(task_id, tasks), loaded, path, folder, conventions or tuple(FOLDERS))
    for place in made:
        click.echo(f"written: {place}")
    return 0
