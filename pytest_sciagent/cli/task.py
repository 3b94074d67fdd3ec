"""Commands about tasks: make one, register its data, check that it is whole and blind."""

from __future__ import annotations

from pathlib import Path

import click

from ..text import clean, counted
from .common import PATH, named_task
from .told import Told, tells


@click.group()
def task() -> None:
    """Make tasks, and check that they are whole and blind."""


@task.command("new")
@click.argument("folder", type=PATH)
@click.option("--data", "data", multiple=True, required=True, type=PATH, help="A data file to copy (repeatable).")
@click.option("--title", required=True, help="Neutral: it names neither the source nor its result.")
@click.option("--domain", required=True, metavar="WORD")
@click.option(
    "--t0",
    default=None,
    metavar="YYYY-MM-DD",
    help="Nothing published on or after this day may be used. Without: no published study stands behind the task, and "
    "it gets no hidden half.",
)
@click.option("--licence", required=True, metavar="NAME", help="Licence of the data, such as CC0-1.0.")
@tells("task-made")
def task_new(
    told: Told, folder: Path, data: tuple[Path, ...], title: str, domain: str, t0: str | None, licence: str
) -> None:
    """Make the task FOLDER; the folder's name becomes the task's id.

    Every place that needs your words says REPLACE; `sciagent task check` lists what is left. To test your own agent on
    data of your own, leave out --t0: the task is then its visible half.

    \b
    Examples:
        sciagent task new tasks/river_levels --data levels.csv --title "Levels of a river" \\
            --domain hydrology --t0 2020-01-01 --licence CC0-1.0
        sciagent task new tasks/mine --data levels.csv --title "Levels of a river" --domain hydrology --licence own
    """
    from ..tasks.new import new_task

    made = new_task(folder, data, title=title, domain=domain, t0=t0, licence=licence)
    count = len(made.manifest.files)
    told.say(f"made: {folder} ({count} data files)", task=made.id, path=str(folder), files=count)
    then = f"sciagent assemble {made.id} work/" if t0 is None else f"sciagent task check {folder}"
    told.say(f"next: fill in what says REPLACE, then run: {then}")


@task.command("contract")
@click.argument("task_id", metavar="[TASK]", default=None, required=False)
@click.option("--tasks", multiple=True, type=PATH, help="Where the task is looked up first (repeatable).")
def task_contract(task_id: str | None, tasks: tuple[Path, ...]) -> None:
    """Print the contract that an agent's report has to follow; with TASK, as the agent gets it with that task.

    \b
    Examples:
        sciagent task contract
        sciagent task contract my_task > work/CONTRACT.md
    """
    from ..tasks.workspace import CONTRACT, contract, handed_out

    text = contract(None) if task_id is None else handed_out(named_task(task_id, tasks))[CONTRACT]
    click.echo(text, nl=False)


@task.command("hash")
@click.argument("folder", type=PATH)
@tells("task-registered")
def task_hash(told: Told, folder: Path) -> None:
    """Register the files in FOLDER/data: write their bytes and SHA-256 into task.yaml.

    \b
    Example:
        sciagent task hash tasks/my_task
    """
    from ..tasks.new import register_data

    count, path = register_data(folder), folder / "task.yaml"
    told.say(f"registered: {counted(count, 'file')} in {path}", path=str(path), files=count)


@task.command("check")
@click.argument("folders", nargs=-1, required=True, type=PATH)
@click.option("--rubric", default=None, help="Rubric whose dimensions feasibility labels may name.")
@tells("task-check", "tasks")
def task_check(told: Told, folders: tuple[Path, ...], rubric: str | None) -> int:
    """Check the tasks in FOLDERS: files and hashes, blindness, cut-off, licence, recomputing, perturbations.

    The scripts in hidden/verify are run in a sandbox over the task's data. Exit code 0: whole and blind. 1: not.

    \b
    Example:
        sciagent task check tasks/my_task
    """
    from ..tasks import Task
    from ..tasks.check import check_task
    from .common import rubrics_of

    chosen = rubrics_of((rubric,) if rubric else ())[0]
    bad = 0
    for folder in folders:
        loaded = Task.load(folder)
        told.say(f"{loaded.id}:")
        answers = []
        for answer in check_task(loaded, chosen):
            bad += not answer.ok
            problems = [clean(problem) for problem in answer.problems]
            found = {"ok": answer.ok, "question": answer.question, "found": clean(answer.found), "problems": problems}
            answers.append(found)
            told.say(f"  {'ok   ' if answer.ok else 'WRONG'} {answer.question}: {found['found']}")
            for problem in problems:
                told.say(f"          {problem}")
        told.each("tasks", {"task": loaded.id, "ok": all(one["ok"] for one in answers), "answers": answers})
    return 1 if bad else 0


@task.command("prior-art")
@click.argument("folder", type=PATH)
@click.option("--query", "queries", multiple=True, required=True, help="A few plain words to search for (repeatable).")
@click.option(
    "--provider",
    "providers",
    multiple=True,
    required=True,
    metavar="NAME[=URL]",
    help="arxiv, openalex, semantic-scholar, tavily, local=FOLDER (repeatable).",
)
@click.option("--until", default=None, metavar="YYYY-MM-DD", help="Leave out what is later, or has no date.")
@click.option("--pause", type=click.FloatRange(0), default=1.0, show_default=True, metavar="SECONDS")
@click.option("--force", is_flag=True, help="Replace the snapshot that is there.")
def task_prior_art(
    folder: Path, queries: tuple[str, ...], providers: tuple[str, ...], until: str | None, pause: float, force: bool
) -> int:
    """Fill the literature snapshot of the task in FOLDER (hidden/prior_art.yaml), which novelty is judged against.

    The study behind the task is left out. Look the snapshot through before you use it: the first twelve publications
    with a whole date before T0 are compared with findings. Exit code 1: a search failed, and is recorded as incomplete.

    \b
    Example:
        sciagent task prior-art tasks/my_task --query "river levels trend" --provider openalex --until 2019-12-31
    """
    import re

    import yaml

    from ..errors import SciagentError
    from ..induction.prior_art import search_prior_art
    from ..induction.providers import Http, make_provider
    from ..ledger.store import write_atomically
    from ..tasks import Task

    path = folder / "hidden" / "prior_art.yaml"
    if path.exists() and not force:
        raise SciagentError("there is a snapshot already; replace it with --force", path=path)
    if until is not None and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", until):
        raise SciagentError(f"--until {until}: write YYYY-MM-DD")
    http = Http(Path(".sciagent") / "http", pause_s=pause)
    made = search_prior_art(Task.load(folder), queries, [make_provider(name, http) for name in providers], until)
    plain = made.model_dump(mode="json", by_alias=True)
    write_atomically(path, yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=110))
    failed = sum(not query.complete for query in made.queries)
    searches = counted(len(made.queries), "search", "searches")
    click.echo(f"{counted(len(made.hits), 'publication')} from {searches} ({failed} failed), written to {path}")
    return 1 if failed else 0
