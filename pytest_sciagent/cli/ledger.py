"""Commands about recorded verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..text import clean, counted
from .common import PATH, cases_of, rubrics_of, sources_of
from .desk import with_options
from .handed import OPTIONS
from .handoff import ledger_export, ledger_import
from .settings import flag_set
from .told import Told, tells

if TYPE_CHECKING:
    from ..evaluation.unasked import Unasked


@click.group()
def ledger() -> None:
    """Recorded verdicts: hand open prompts out, take answers in, look at what is there."""


ledger.add_command(ledger_export)
ledger.add_command(ledger_import)


@ledger.command("show")
@click.argument("folder", type=PATH)
@click.option("--run", "run_filter", default="", help="Only runs whose system/task contains this.")
@click.option("--criterion", default="", help="Only criteria whose id contains this.")
@tells("ledger-show", "answers")
def ledger_show(told: Told, folder: Path, run_filter: str, criterion: str) -> None:
    """Show the recorded answers in FOLDER, such as verdicts/: level, criterion, reason.

    \b
    Example:
        sciagent ledger show verdicts/ --run my-agent --criterion robustness
    """
    from ..ledger.folders import records

    for _, record in records(folder):
        label = f"{record.system}/{record.task_id}" + ("" if record.repeat == 1 else f".r{record.repeat}")
        for entry in record.entries:
            if run_filter not in label or criterion not in entry.criterion_id:
                continue
            level = entry.status if entry.level is None else f"{entry.level:g}"
            where = f"{label} {entry.finding or 'run'} {entry.criterion_id}"
            told.each("answers", {"run": label, **entry.as_json()}, f"{level:>8}  {where}: {clean(entry.reason, 160)}")


@ledger.command("stats")
@click.argument("folder", type=PATH)
@tells("ledger-stats")
def ledger_stats(told: Told, folder: Path) -> None:
    """Count what is recorded in FOLDER: by judge, by status, and what it cost.

    \b
    Example:
        sciagent ledger stats verdicts/
    """
    from collections import Counter

    from ..ledger.folders import records

    judges: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    cost, tokens, unknown = 0.0, 0, 0
    for _, record in records(folder):
        for entry in record.entries:
            judges[entry.judge.label] += 1
            statuses[entry.status] += 1
            cost += entry.cost_usd or 0.0
            unknown += entry.cost_usd is None
            tokens += (entry.usage.input_tokens or 0) + (entry.usage.output_tokens or 0)
    for name, counts in (("judge", judges), ("status", statuses)):
        for value, count in sorted(counts.items()):
            told.say(f"{name:<8} {value:<40} {count:>8}")
    told.say(
        f"tokens   {tokens:,}; cost {cost:.4f} USD, not known for {counted(unknown, 'answer')}",
        judges=dict(sorted(judges.items())),
        statuses=dict(sorted(statuses.items())),
        tokens=tokens,
        cost_usd=cost,
        answers_without_cost=unknown,
    )


@ledger.command("merge")
@click.argument("folders", nargs=-1, required=True, type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="The ledger folder to write.")
@tells("ledger-merge")
def ledger_merge(told: Told, folders: tuple[Path, ...], output: Path) -> None:
    """Merge ledger FOLDERS (such as those of CI shards) into one. Two answers under one key are refused.

    \b
    Example:
        sciagent ledger merge part-1/verdicts part-2/verdicts -o verdicts
    """
    from ..ledger.folders import merge_folders

    count = merge_folders(folders, output)
    told.say(f"{counted(count, 'record')} written to {output}", records=count, path=str(output))


@ledger.command("diff")
@click.argument("left", type=PATH)
@click.argument("right", type=PATH)
@tells("ledger-diff", "differences")
def ledger_diff(told: Told, left: Path, right: Path) -> int:
    """List the questions that two ledger folders answer differently. Exit code 1: they differ.

    \b
    Example:
        sciagent ledger diff verdicts/ verdicts-second/
    """
    from ..ledger.folders import diff_folders

    differences = diff_folders(left, right)
    for d in differences:
        line = f"{d.left:>8} -> {d.right:<8} {d.run} {d.finding or 'run'} {d.criterion_id}"
        told.each("differences", asdict(d), line)
    told.say(f"{counted(len(differences), 'difference')}")
    return 1 if differences else 0


@ledger.command("prune")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@with_options(*OPTIONS)
@click.option("--images", is_flag=True, default=flag_set("images"), help="As --sciagent-images (default: as set).")
@click.option("--as", "name", default=None, metavar="NAME", help="Only what NAME answered to a hand-off.")
@click.option("--judge", default=None, metavar="KIND:MODEL", help="Only what this judge answered.")
@click.option("--yes", is_flag=True, help="Move them out of the ledger; without it they are only listed.")
@tells("ledger-prune", "answers")
def ledger_prune(
    told: Told,
    runs: tuple[Path, ...],
    tasks: tuple[Path, ...],
    folder: Path | None,
    rubrics: tuple[str, ...],
    templates: Path | None,
    images: bool,
    name: str | None,
    judge: str | None,
    yes: bool,
) -> None:
    """List recorded answers of RUNS that no prompt asks for any more, and what has changed since.

    With --yes they are moved out of the ledger, into a folder of records beside it (verdicts-pruned/ beside verdicts/):
    nothing is deleted, and sciagent ledger merge brings them back. Answers to criteria that no rubric given here has,
    or that depend on answers which are missing, are told and stay. Give the rubrics and options that sessions have.

    \b
    Examples:
        sciagent ledger prune runs/
        sciagent ledger prune runs/ --as NAME --yes
    """
    from ..evaluation.unasked import unasked
    from ..ledger.folders import move_out

    # The answer to a canary is never stale, whoever asks for it now.
    sources = sources_of(tasks, folder, templates, canary=True, images=images)
    wanted = {label for label in (judge, f"handoff:{name}" if name is not None else None) if label is not None}
    chosen, found, moved = rubrics_of(rubrics), [], 0
    for case in cases_of(runs, sources):
        mine = [one for one in unasked(case, chosen) if not wanted or one.entry.judge.label in wanted]
        found += mine
        keys = {one.entry.key for one in mine if one.state != "unknown"}
        moved += len(keys)
        if yes and keys:
            ledger = sources.ledger_of(case.run.path)
            target = move_out(ledger, case.run.manifest, case.ledger.entries, keys)
            told.say(f"moved: {counted(len(keys), 'answer')} about {case.run.label} to {target}")
    for line, facts in _stale_lines(found):
        told.document["answers"] += facts
        if not told.as_json:
            click.echo(line)
    kept = len(found) - moved
    end = "moved" if yes else "found (--yes moves them out of the ledger)"
    more = f"; {kept} more can't be told from here and stay" if kept else ""
    told.say(f"{counted(moved, 'stale answer')} {end}{more}", stale=moved, kept=kept, removed=yes)


def _stale_lines(found: Sequence[Unasked]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A line for each reason, and below it one for each finding; with the facts of its answers for programs."""
    by_why: dict[tuple[str, str], list[Unasked]] = {}
    for one in found:
        by_why.setdefault((one.state, one.why), []).append(one)
    for (state, why), group in sorted(by_why.items()):
        told = {"open": "open again", "answered": "answered anew", "gone": "gone", "unknown": "stays"}[state]
        yield clean(f"{counted(len(group), 'answer')} ({told}): {why}"), []
        places: dict[str, list[Unasked]] = {}
        for one in group:
            places.setdefault(f"{one.run} {one.entry.finding or 'run'}", []).append(one)
        for place, answers in places.items():
            facts = [_stale_fact(one) for one in answers]
            yield clean(f"    {place}: {', '.join(one.entry.criterion_id for one in answers)}"), facts


def _stale_fact(one: Unasked) -> dict[str, Any]:
    entry = one.entry
    return {
        "run": one.run,
        "finding": entry.finding,
        "criterion": entry.criterion_id,
        "judge": entry.judge.as_json(),
        "key": entry.key,
        "state": one.state,
        "why": one.why,
    }
