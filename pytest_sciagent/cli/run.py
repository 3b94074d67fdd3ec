"""The command that runs a system on tasks."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..text import clean
from .common import PATH, doubts, named_task


@click.command()
@click.argument("task_ids", metavar="TASK...", nargs=-1, required=True)
@click.option("--system-file", required=True, type=PATH, help="YAML: harness, model, limits (sciagent-system/1).")
@click.option("-o", "--output", "folder", required=True, type=PATH, help="Where the runs go: FOLDER/TASK.")
@click.option("-n", "--repeats", default=1, show_default=True, type=click.IntRange(1, 1000), help="Runs of each task.")
@click.option("--tasks", multiple=True, type=PATH, help="Where tasks are looked up first (repeatable).")
@click.option("--rerun-failed", is_flag=True, help="Run failed ones again; the old run is moved to .replaced/.")
@click.option("--work", type=PATH, default=None, help="Where workspaces are made (default: the temporary folder).")
def run(
    task_ids: tuple[str, ...],
    system_file: Path,
    folder: Path,
    repeats: int,
    tasks: tuple[Path, ...],
    rerun_failed: bool,
    work: Path | None,
) -> int:
    """Run a system on each TASK, and freeze what comes out.

    Each run gets a workspace of its own, outside this folder. A run that goes wrong is frozen as failed, with the
    reason, and counts as 0; one whose harness could not be started is run again next time. Interrupted, the command
    goes on where it stopped.

    \b
    A system file:
        schema: sciagent-system/1
        name: my-agent
        harness: claude_code        # codex, openscience, deepseek_harness, openclaw, argv
        model: some-model
        endpoint: {url: https://models.example/v1, key_variable: MODEL_KEY}
        limits: {wall_s: 3600, tokens: 5000000}
        fixing_turns: 2

    Exit code 0: all runs completed. 1: one did not. 2: interrupted. 4: bad input.
    """
    from ..digest import sha256_bytes
    from ..documents import read_text
    from ..harnesses.suite import jobs, run_suite
    from ..harnesses.system import load_system

    system = load_system(system_file)
    digest = sha256_bytes(read_text(system_file).encode())
    wanted = jobs([named_task(task, tasks) for task in task_ids], system, folder, repeats, digest)
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
    failed = 0
    for result in run_suite(wanted, os.environ, _tell, again=rerun_failed, work=work):
        failed += result.problem is not None
        if result.state == "done":
            for warning in (*result.warnings, *doubts(result.run, tasks)):
                click.echo(f"  warning: {clean(warning)}", err=True)
    click.echo(f"{len(wanted)} runs in {folder}: {len(wanted) - failed} completed, {failed} not")
    return 1 if failed else 0


def _tell(text: str) -> None:
    click.echo(clean(text))
