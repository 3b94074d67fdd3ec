"""Commands that write runs in the formats of others."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..errors import SciagentError
from .common import PATH, sources_of


@click.group()
def export() -> None:
    """Write a run and its verdicts in a format that other tools read."""


@export.command("ro-crate")
@click.argument("run", type=PATH)
@click.option("-o", "--output", "folder", required=True, type=PATH, help="The new folder of the crate.")
@click.option("--tasks", multiple=True, type=PATH, help="Where tasks are looked up first (repeatable).")
@click.option("--ledger", type=PATH, default=None, help="Ledger folder (default: verdicts/ beside the runs).")
@click.option("--rubric", default=None, help="Rubric by name or file (default: truthinsight).")
@click.option("--profile", default=None, help="Add levels up by this profile, not the rubric's own.")
@click.option(
    "--judge", default=None, metavar="KIND:MODEL", help="Whose recorded verdicts (default: the only judge's)."
)
def ro_crate(
    run: Path,
    folder: Path,
    tasks: tuple[Path, ...],
    ledger: Path | None,
    rubric: str | None,
    profile: str | None,
    judge: str | None,
) -> None:
    """Write the frozen RUN and its recorded verdicts as an RO-Crate. Nobody is asked.

    The crate holds every file of the run with its hash, run.json, verdicts.jsonl (schema sciagent-verdict/1), and says
    which system made the run and which rubric and judge gave which score. Needs pytest-sciagent[ro-crate].

    \b
    Example:
        sciagent export ro-crate runs/my-agent/my_task -o crate
    """
    from ..evaluation.recorded import read_rubric, recorded_judge
    from ..judging.identity import parse_judges
    from ..profile_names import PROFILES
    from ..reporting.results import Results, system_results
    from ..reporting.ro_crate import write_crate
    from ..reporting.scored_runs import open_runs, score_run
    from ..reporting.words import Words
    from ..rubrics import DEFAULT_RUBRIC
    from ..runs import MANIFEST, Run
    from ..runs.secrets import known_secrets

    if not (run / MANIFEST).is_file():
        raise SciagentError(f"is no frozen run: it has no {MANIFEST}", path=run)
    chosen = read_rubric(rubric or DEFAULT_RUBRIC, profile, PROFILES, Path.cwd())
    (opened,) = open_runs([run.absolute()], sources_of(tasks, ledger), chosen)
    named = parse_judges(judge) if judge is not None else ()
    ledgers = [opened.case.ledger] if opened.case is not None else []
    whose = recorded_judge(ledgers, named, "--judge KIND:MODEL")
    scored = score_run(opened, chosen, whose)
    results = Results((scored.result,), system_results([scored.result]), (chosen,), whose.identity, None)
    words = Words(known_secrets(os.environ))
    count = write_crate(folder, Run.load(run.absolute()), scored.task, results, words)
    click.echo(f"{count} files in the crate {folder}")
