"""Commands about batches on their way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..text import clean
from .common import PATH, cases_of, ledger_option, sources_of, tasks_option, templates_option
from .told import Told, tells

if TYPE_CHECKING:
    from ..judging.prices import Price
    from ..models import JudgeIdentity

_root = click.option(
    "--rootdir", type=PATH, default=Path(), help="Where .sciagent/batches lies (default: the current folder)."
)
_base_url = click.option("--base-url", default=None, metavar="URL", help="The server, if not the provider's own.")


@click.group()
def batch() -> None:
    """Batches of questions, submitted by `pytest --sciagent-batch`: how they stand, and their answers.

    \b
    Example:
        pytest --sciagent-run=runs/ --sciagent-judge=openai:MODEL --sciagent-batch
        sciagent batch status
        sciagent batch collect runs/
    """


@batch.command("status")
@_root
@_base_url
@tells("batch-status", "batches")
def batch_status(told: Told, rootdir: Path, base_url: str | None) -> int:
    """Ask the providers how all open batches stand. Takes nothing in.

    Exit code 0: all have ended, or there is none. 1: one is still running.

    \b
    Example:
        sciagent batch status --rootdir .
    """
    from ..evaluation.batches import look_at_batches

    lines = look_at_batches(_folder(rootdir), base_url)
    for line, running in lines:
        told.each("batches", {"running": running, "text": clean(line)}, clean(line))
    if not lines:
        told.say("no batch is on its way")
    return 1 if any(running for _, running in lines) else 0


@batch.command("collect")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@tasks_option
@ledger_option
@templates_option
@_root
@_base_url
@click.option("--price", default=None, metavar="IN/OUT", help="Price of the batch, dollars for a million tokens.")
def batch_collect(
    runs: tuple[Path, ...],
    tasks: tuple[Path, ...],
    folder: Path | None,
    templates: Path | None,
    rootdir: Path,
    base_url: str | None,
    price: str | None,
) -> int:
    """Take the answers of batches that have ended into the ledger of RUNS.

    Citations are looked up and levels derived by code, as of any answer. What failed or never came is open again. A
    batch stays on its list until the answers to all its runs are taken in.

    Exit code 0: nothing is left on its way. 1: a batch is still running, or waits for other runs.

    \b
    Example:
        sciagent batch collect runs/
    """
    from ..evaluation.batches import collect_batches, forget_what_is_over
    from ..judging.prices import find_price, parse_price
    from ..ledger import write_record

    given = parse_price(price) if price is not None else None

    def price_of(judge: JudgeIdentity) -> Price | None:
        listed = find_price(judge) if given is None else None
        return given or (listed.of_batch() if listed is not None else None)

    batches, sources = _folder(rootdir), sources_of(tasks, folder, templates)
    cases = cases_of(runs, sources)
    before = {case.run.label: case.ledger.entries for case in cases}
    contexts = {case.run.label: case.answers for case in cases}
    found = collect_batches(batches, contexts, None, base_url=base_url, price_of=price_of)
    for case in cases:
        known = before[case.run.label]
        entries = [entry for entry in case.ledger.entries if entry.settles or entry in known]
        if entries != list(known):
            click.echo(f"written: {write_record(sources.ledger_of(case.run.path), case.run.manifest, entries)}")
    forget_what_is_over(batches, found)
    for one in found:
        click.echo(clean(one.told()))
    if not found:
        click.echo("no batch is on its way")
    return 0 if all(one.is_over for one in found) else 1


def _folder(rootdir: Path) -> Path:
    return rootdir.absolute() / ".sciagent" / "batches"
