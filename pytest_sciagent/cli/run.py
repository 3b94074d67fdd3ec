"""The command that runs a system on tasks."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..extras import need
from ..text import clean, counted
from .common import PATH, doubts, named_task, tasks_option, warn

if TYPE_CHECKING:
    from ..harnesses.agent import Job
    from ..harnesses.suite import Result


@click.command()
@click.argument("task_ids", metavar="TASK...", nargs=-1, required=True)
@click.option("--system-file", required=True, type=PATH, help="YAML: harness, model, limits (sciagent-system/1).")
@click.option("-o", "--output", "folder", required=True, type=PATH, help="Where the runs go: FOLDER/TASK.")
@click.option("-n", "--repeats", default=1, show_default=True, type=click.IntRange(1, 1000), help="Runs of each task.")
@tasks_option
@click.option("--rerun-failed", is_flag=True, help="Run failed ones again; the old run is moved to .replaced/.")
@click.option("--work", type=PATH, default=None, help="Where workspaces are made (default: the temporary folder).")
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run on the workers of the Dask cluster with this scheduler, or this file of its address (docs/scale.md).",
)
def run(
    task_ids: tuple[str, ...],
    system_file: Path,
    folder: Path,
    repeats: int,
    tasks: tuple[Path, ...],
    rerun_failed: bool,
    work: Path | None,
    dask: str | None,
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

    With --dask, workers of a cluster make the runs, several at a time, and this command alone writes them. Keys are
    those of the workers' own environment. Stopped, it ends what goes on, and the next time makes what is missing.

    \b
    Examples:
        sciagent run my_task --system-file agent.yaml -o runs/agent -n 3
        sciagent run my_task --system-file agent.yaml -o runs/agent -n 30 --dask tcp://10.0.0.5:8786
    """
    from ..harnesses.suite import jobs
    from ..harnesses.system import digest_of, load_system
    from ..tasks import unfinished_tasks

    system = load_system(system_file)
    digest = digest_of(system_file, system)
    known = [named_task(task, tasks) for task in dict.fromkeys(task_ids)]
    warn(unfinished_tasks(known))
    wanted = jobs(known, system, folder, repeats, digest)
    failed = 0
    signal.signal(signal.SIGTERM, interrupt)  # so that being ended ends the harness, too
    for result in _results(wanted, dask, rerun_failed, work):
        failed += result.problem is not None
        if result.state == "done":
            for warning in (*result.warnings, *doubts(result.run, tasks)):
                click.echo(f"  warning: {clean(warning)}", err=True)
    click.echo(f"{counted(len(wanted), 'run')} in {folder}: {len(wanted) - failed} completed, {failed} not")
    return 1 if failed else 0


def _results(wanted: Sequence[Job], dask: str | None, again: bool, work: Path | None) -> Iterator[Result]:
    """The runs as they are made: here, or on a cluster."""
    if dask is None:
        from ..harnesses.suite import run_suite

        if work is not None:
            work.mkdir(parents=True, exist_ok=True)
        return run_suite(wanted, os.environ, _tell, again=again, work=work)
    need("dask", "--dask")
    from ..harnesses.cluster import run_on_cluster

    return run_on_cluster(wanted, dask, os.environ, _tell, again=again, work=work)


def interrupt(number: int, frame: object) -> None:
    """Take a signal to end as Ctrl-C."""
    raise KeyboardInterrupt


def _tell(text: str) -> None:
    click.echo(clean(text))


@click.command()
@click.argument("run_path", metavar="RUN", type=PATH)
@click.option("--system-file", type=PATH, default=None, help="Run the second stage with this system.")
@click.option("--to", "folder", type=PATH, default=None, help="Hand the hold-out out: make a workspace here.")
@click.option("--from", "left", type=PATH, default=None, help="Freeze what an agent left in this workspace.")
@click.option("--tasks", multiple=True, type=PATH, help="Where the task is looked up first (repeatable).")
def release(
    run_path: Path, system_file: Path | None, folder: Path | None, left: Path | None, tasks: tuple[Path, ...]
) -> int:
    """Give the frozen RUN a second stage, on data of its task that it has not seen.

    The frozen first stage is verified, its digest and both times are recorded in RUN.release.json, and only then is the
    hold-out handed out, with the first stage's files. What comes of it is frozen as RUN.stage2. Criteria 4.1 to 4.4
    then rest on these times instead of those that a run gives itself.

    \b
    Examples (by a system file; or by hand, in two steps):
        sciagent release runs/my-agent/my_task --system-file my-agent.yaml
        sciagent release runs/my-agent/my_task --to work2/
        sciagent release runs/my-agent/my_task --from work2/

    Exit code 0: handed out, or frozen. 1: the second stage did not complete.
    """
    from ..harnesses import stages
    from ..harnesses.system import load_system
    from ..runs import Run

    if sum(given is not None for given in (system_file, folder, left)) != 1:
        raise click.UsageError("give one of --system-file, --to and --from")
    run = Run.load(run_path)
    task = named_task(run.manifest.task_id, tasks)
    if folder is not None:
        made = stages.hand_out(run, task, folder)
        click.echo(f"handed out: {made.path}; recorded in {stages.record_path(run_path)}")
        return 0
    if left is not None:
        frozen = stages.take_in(run, task, left, os.environ)
    else:
        assert system_file is not None
        frozen = stages.run_second(run, task, load_system(system_file), os.environ, _tell)
    manifest = frozen.run.manifest
    problem = manifest.session.problem if manifest.session is not None else None
    click.echo(f"second stage of {run.label}: {manifest.status}{f': {clean(problem)}' if problem else ''}")
    click.echo(f"frozen in {frozen.run.path}")
    for warning in (*frozen.warnings, *doubts(frozen.run, tasks)):
        click.echo(f"  warning: {clean(warning)}", err=True)
    return 0 if manifest.status == "completed" else 1
