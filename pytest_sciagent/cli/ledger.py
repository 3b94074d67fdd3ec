"""Commands about recorded verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..judging.draws import MOST_DRAWS
from ..text import clean, counted
from .common import PATH, cases_of, rubrics_of, sources_of, templates_option
from .told import Told, tells

if TYPE_CHECKING:
    from ..evaluation import Case
    from ..judging.handoff import Layout
    from ..judging.requests import Request
    from ..models import JudgeIdentity, Rubric


@click.group()
def ledger() -> None:
    """Recorded verdicts: hand open prompts out, take answers in, look at what is there."""


_COMMON = (
    click.option("--tasks", multiple=True, type=PATH, help="Where tasks are looked up first (repeatable)."),
    click.option(
        "--ledger", "folder", type=PATH, default=None, help="Ledger folder (default: verdicts/ beside the runs)."
    ),
    click.option(
        "--rubric", "rubrics", multiple=True, help="Rubric by name or file (repeatable; default: truthinsight)."
    ),
    templates_option,
    click.option("--as", "name", required=True, metavar="NAME", help="Who answers, as it will be recorded."),
    click.option("--layout", type=click.Choice(["item", "finding"]), default="item", show_default=True),
)


_CANARY = click.option(
    "--canary",
    is_flag=True,
    help="One more question a finding, which nothing can meet: a judge that gives credit for it obeys the material.",
)
_DRAW = click.option(
    "--draw",
    type=click.IntRange(1, MOST_DRAWS),
    default=1,
    show_default=True,
    help="Which answer of NAME to the same questions this is: from 2 on, to those about criteria only "
    "(see --sciagent-draws).",
)


def _questions(case: Case, rubrics: list[Rubric], judge: JudgeIdentity, draw: int) -> Iterator[Request]:
    """The questions of a run, of one draw: what is asked about the run, and the canary, is asked once."""
    from ..judging.judge import RecordedJudge
    from ..models import CANARY

    for request in case.requests(rubrics, RecordedJudge(judge)):
        if draw == 1:
            yield request
        elif request.kind == "criterion" and request.criterion_id != CANARY:
            yield replace(request, draw=draw)


def _common(command: Any) -> Any:
    for option in reversed(_COMMON):
        command = option(command)
    return command


@ledger.command("export")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@_common
@_CANARY
@_DRAW
@click.option("-o", "--output", type=PATH, required=True, help="File of JSON lines, one prompt a line.")
@tells("ledger-export")
def ledger_export(
    told: Told,
    runs: tuple[Path, ...],
    tasks: tuple[Path, ...],
    folder: Path | None,
    rubrics: tuple[str, ...],
    templates: Path | None,
    name: str,
    layout: Layout,
    canary: bool,
    draw: int,
    output: Path,
) -> None:
    """Write every open prompt of RUNS as JSON lines: for a batch service, another program, or a person.

    Each line has the system and user text, the schema of the answer, and the id (or keys) to send back with it.

    \b
    Example:
        sciagent ledger export runs/ --as NAME -o prompts.jsonl
    """
    from ..judging.handoff import export_lines, handoff_identity, open_requests
    from ..ledger.store import write_atomically

    judge = handoff_identity(name, layout)
    chosen = rubrics_of(rubrics)
    lines: list[str] = []
    warnings: set[str] = set()
    questions = 0
    for case in cases_of(runs, sources_of(tasks, folder, templates, canary=canary)):
        requests = open_requests(_questions(case, chosen, judge, draw), judge, case.answers)
        questions += len(requests)
        lines += export_lines(requests, judge)
        if case.task is not None and case.task.unfinished is not None:
            warnings.add(case.task.unfinished)
    write_atomically(output, "".join(f"{line}\n" for line in lines))
    told.say(
        f"{counted(questions, 'open question')} in {counted(len(lines), 'prompt')}, written to {output}",
        questions=questions,
        prompts=len(lines),
        path=str(output),
    )
    for warning in sorted(warnings):
        click.echo(f"warning: {warning}", err=True)


@ledger.command("import")
@click.argument("answers", type=PATH)
@click.argument("runs", nargs=-1, required=True, type=PATH)
@_common
@_CANARY
@_DRAW
@tells("ledger-import", "written")
def ledger_import(
    told: Told,
    answers: Path,
    runs: tuple[Path, ...],
    tasks: tuple[Path, ...],
    folder: Path | None,
    rubrics: tuple[str, ...],
    templates: Path | None,
    name: str,
    layout: Layout,
    canary: bool,
    draw: int,
) -> int:
    """Take the ANSWERS (JSON lines) to exported prompts of RUNS into the ledger.

    An answer counts only for the very prompt it was given to: where run, rubric or template have changed since, it is
    told as stale. Citations are looked up, levels derived by code. Exit code 1: some answers could not be used; they
    are told, and not recorded, so that their questions are exported again.

    \b
    Example:
        sciagent ledger import answers.jsonl runs/ --as NAME
    """
    from ..judging.handoff import handoff_identity, read_answers, settle_answers
    from ..judging.settle import missing_quotes
    from ..ledger import merge_entries, write_record

    judge = handoff_identity(name, layout)
    chosen = rubrics_of(rubrics)
    given = read_answers(answers)
    sources = sources_of(tasks, folder, templates, canary=canary)
    taken: set[str] = set()
    counts: dict[str, int] = {}
    for case in cases_of(runs, sources):
        entries, keys = settle_answers(given, list(_questions(case, chosen, judge, draw)), judge, case.answers)
        taken |= keys
        for entry in entries:
            counts[entry.status] = counts.get(entry.status, 0) + 1
            if entry.status != "assessed":
                who = f"{case.run.label} {entry.finding or 'run'} {entry.criterion_id}"
                why = f"{missing_quotes(entry.citations)}: " if entry.status == "unverified" else ""
                click.echo(f"{who}: {entry.status}: {clean(why + entry.reason, 400)}", err=True)
        if usable := [entry for entry in entries if entry.settles]:
            merged = merge_entries(case.ledger.entries, usable)
            written = write_record(sources.ledger_of(case.run.path), case.run.manifest, merged)
            told.each("written", str(written), f"written: {written}")
    stale = [a for a in given if a.key not in taken]
    summary = {"answers": len(given), "stale": len(stale), **dict(sorted(counts.items()))}
    told.say(json.dumps(summary), **summary)
    for answer in stale[:5]:
        click.echo(f"{answers}:{answer.line}: no such prompt (any more): {answer.key}", err=True)
    return 1 if stale or set(counts) - {"assessed"} else 0


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
@_common
@click.option("--yes", is_flag=True, help="Really remove; without it the count is told only.")
@tells("ledger-prune")
def ledger_prune(
    told: Told,
    runs: tuple[Path, ...],
    tasks: tuple[Path, ...],
    folder: Path | None,
    rubrics: tuple[str, ...],
    templates: Path | None,
    name: str,
    layout: Layout,
    yes: bool,
) -> None:
    """Remove recorded answers of RUNS that no prompt asks for any more (the criterion, template or run has changed).

    \b
    Example:
        sciagent ledger prune runs/ --as NAME --yes
    """
    from ..judging.handoff import handoff_identity
    from ..ledger import write_record

    judge = handoff_identity(name, layout)
    chosen = rubrics_of(rubrics)
    # The answer to a canary is never stale, whoever asks for it now.
    sources = sources_of(tasks, folder, templates, canary=True)
    total = 0
    for case in cases_of(runs, sources):
        draws = {entry.draw for entry in case.ledger.entries} | {1}
        asked = {r.key(judge) for draw in draws for r in _questions(case, chosen, judge, draw)}
        kept = [e for e in case.ledger.entries if e.key in asked or e.judge != judge]
        gone = len(case.ledger.entries) - len(kept)
        total += gone
        if yes and gone:
            write_record(sources.ledger_of(case.run.path), case.run.manifest, kept)
    told.say(
        f"{total} stale answers {'removed' if yes else 'found (remove them with --yes)'}", stale=total, removed=yes
    )
