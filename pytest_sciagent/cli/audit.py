"""The leak audit as a command."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import SciagentError
from ..text import clean, counted
from .common import PATH, find, tasks_option
from .told import Told, tells


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@tasks_option
@tells("audit", "runs")
def audit(told: Told, runs: tuple[Path, ...], tasks: tuple[Path, ...]) -> int:
    """Search RUNS for traces of the source study and of the hidden half of their task.

    Outputs, logs and transcripts are searched for DOI, arXiv id, title, authors and fingerprints of the source, for
    reference values under their hidden names or written into code, for hidden files, for reads from outside the
    workspace and from a network, and for literature from T0 on. Each hit has its file and line. It is a fact, not a
    judgement: the judge of criterion 5.1 is shown what was found.

    Exit code 0: no hit. 1: there are hits.

    \b
    Example:
        sciagent audit runs/
    """
    from ..checks.audit import audit as audit_run
    from ..evidence.artifacts import Artifacts
    from ..evidence.isolation import Readers
    from ..runs import Run
    from ..tasks import find_task, task_folders

    total, readers = 0, Readers()
    for path in find(runs):
        run = Run.load(path)
        problems = run.problems()
        if problems:
            raise SciagentError(f"run {run.label} is not what was frozen: {problems[0]}", path=path)
        task = find_task(run.manifest.task_id, task_folders(tasks, Path.cwd()))
        if task is None:
            raise SciagentError(f"no task named {run.manifest.task_id!r}: name its folder with --tasks", path=path)
        found = audit_run(Artifacts(run, readers), task)
        total += len(found.leaks)
        unread = f", {len(found.unread)} could not be read" if found.unread else ""
        told.say(f"{run.label}: {counted(len(found.leaks), 'hit')} in {counted(len(found.read), 'file')}{unread}")
        hits = []
        for leak in found.leaks:
            told.say(f"  {clean(leak.place)}: {leak.kind}: {clean(leak.what)}: {clean(leak.passage)}")
            fact = {"kind": leak.kind, "file": leak.file, "line": leak.line, "what": leak.what, "passage": leak.passage}
            hits.append(fact)
        counts = {"files": len(found.read), "unread": len(found.unread)}
        told.each("runs", {"run": run.label, **counts, "hits": hits})
    return 1 if total else 0
