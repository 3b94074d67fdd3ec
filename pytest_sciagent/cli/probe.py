"""The memory probe as a command."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..text import clean
from .common import PATH, named_task, tasks_option


@click.command()
@click.argument("task_ids", metavar="TASK...", nargs=-1, required=True)
@click.option("--model", required=True, metavar="KIND:MODEL", help="openai:MODEL or anthropic:MODEL.")
@click.option("--param", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter to send (repeatable).")
@click.option("--base-url", default=None, help="Another server than the provider's own.")
@click.option("--as", "name", default=None, metavar="NAME", help="The model's name in runs, if it is another.")
@click.option("-n", "--draws", default=3, show_default=True, type=click.IntRange(1, 100), help="Answers to ask for.")
@click.option(
    "-o", "--output", "folder", type=PATH, default=Path("probes"), show_default=True, help="Where results are written."
)
@tasks_option
def probe(
    task_ids: tuple[str, ...],
    model: str,
    parameters: tuple[str, ...],
    base_url: str | None,
    name: str | None,
    draws: int,
    folder: Path,
    tasks: tuple[Path, ...],
) -> None:
    """Ask a model, without data, what an analysis of each TASK will find, and record how much it already knows.

    The result lies in probes/TASK/MODEL.json. In a session of the same folder it stands in the receipt of criterion 5.2
    of every run of that model on that task. It changes no level: a number can be right by chance.

    \b
    Example:
        sciagent probe my_task --model openai:MODEL
    """
    from ..evaluation.memory import probe_path
    from ..harnesses.probe import probe as ask
    from ..judging.clients import make_client
    from ..judging.identity import parse_identity
    from ..ledger.store import write_atomically

    identity = parse_identity(model, parameters)
    for task_id in task_ids:
        task = named_task(task_id, tasks)
        made = ask(task, make_client(identity, base_url=base_url, api_key=None), draws)
        path = probe_path(folder, task.id, name or identity.model)
        write_atomically(path, json.dumps(made.as_json(), indent=2, ensure_ascii=False) + "\n")
        click.echo(
            f"{task.id}: {len(made.answered)} of {draws} answered; {made.names_source} name the source; "
            f"{len(made.recalled)} of {made.quantities} reference values named"
        )
        for key in made.recalled:
            click.echo(f"  {clean(key)}")
        click.echo(f"  written to {path}")
