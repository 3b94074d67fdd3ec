"""The command that assembles a workspace."""

from __future__ import annotations

from pathlib import Path

import click

from ..text import counted
from .common import PATH, named_task, tasks_option, warn
from .told import Told, tells


@click.command()
@click.argument("task_id", metavar="TASK")
@click.argument("folder", type=PATH)
@tasks_option
@tells("assembled")
def assemble(told: Told, task_id: str, folder: Path, tasks: tuple[Path, ...]) -> None:
    """Assemble a workspace for TASK in FOLDER: the visible half of the task, read-only, and what to deliver.

    The agent starts in FOLDER, reads PROMPT.md and leaves its work in output/. `python validate.py` tells whether the
    delivery can be taken. receipt.json holds the hashes of everything that was handed out. TASK is an id, or a folder.

    \b
    Example:
        sciagent assemble life_bill_shape work/
        (run your agent in work/)
        sciagent freeze work/ --task life_bill_shape --system my-agent --prompt work/PROMPT.md \\
            --prompt work/CONTRACT.md -o runs/my-agent/life_bill_shape
    """
    from ..tasks import unfinished_tasks
    from ..tasks.workspace import assemble as assemble_workspace

    task = named_task(task_id, tasks)
    made = assemble_workspace(task, folder)
    count = len(made.files)
    told.say(f"assembled: {folder} ({counted(count, 'file')}; output/ is empty)", path=str(folder), files=count)
    warn(unfinished_tasks([task]))
