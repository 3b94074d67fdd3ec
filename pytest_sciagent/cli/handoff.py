"""The hand-off: open prompts go out as JSON lines, answers come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..text import clean, counted
from .common import PATH, cases_of, warn
from .desk import EXIT_BAD_LINES, with_options
from .handed import OPTIONS, WHO, Given
from .strays import Place, why_strays
from .told import Told, tells

if TYPE_CHECKING:
    from ..errors import SciagentError
    from ..evaluation import Case
    from ..judging.exports import Exported
    from ..judging.handoff import Answer
    from ..judging.requests import Request
    from ..models import LedgerEntry

EXIT_NOT_TAKEN = 1
_TOLD = 20
"""Lines of one kind that are told one by one."""


@click.command("export")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@with_options(*OPTIONS, *WHO)
@click.option("-o", "--output", type=PATH, required=True, help="File to write the prompts to.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    show_default=True,
    help="JSON lines, one prompt a line, for programs; or a form that a person reads, fills in and gives to import.",
)
@tells("ledger-export", "runs")
def ledger_export(told: Told, runs: tuple[Path, ...], output: Path, form: str, **given: Any) -> None:
    """Write every open prompt of RUNS as JSON lines, for a batch service or another program, or as a form for a person.

    Each line has the system and user text, the schema of the answer, and the id (or keys) to send back with it; `asks`
    tells which task, run, finding and criteria it is about. Runs stand there by a code, so that who answers does not
    learn the system; which run that is, is printed here.

    \b
    Examples:
        sciagent ledger export runs/ --as NAME -o prompts.jsonl
        sciagent ledger export runs/ --as NAME --format markdown -o questions.md
    """
    from ..evaluation.handing import handed_out, run_code
    from ..judging.exports import Export, Exported, remember
    from ..judging.form import form_of
    from ..judging.handoff import open_requests
    from ..judging.settle import now
    from ..ledger.store import write_atomically
    from ..tasks import unfinished_tasks

    asked = Given.of(**given)
    judge = asked.judge
    lines: list[str] = []
    tasks = []
    out: list[Exported] = []
    for case in cases_of(runs, asked.sources):
        requests = open_requests(asked.questions(case), judge, case.answers)
        label = case.run.label
        out += [Exported(run=label, **request.asked(judge).model_dump()) for request in requests]
        lines += handed_out(case, requests, judge)
        tasks.append(case.task)
        code, count = run_code(case), len(requests)
        line = f"  run {code}: {label}, {counted(count, 'open question')}"
        told.each("runs", {"code": code, "run": label, "questions": count}, *([line] if requests else []))
    names = {criterion.id: criterion.name for rubric in asked.rubrics for criterion in rubric.criteria}
    write_atomically(output, form_of(lines, names) if form == "markdown" else "".join(f"{line}\n" for line in lines))
    remember(asked.exports, Export(time=now(), options=asked.options, questions=tuple(out)))
    told.say(
        f"{counted(len(out), 'open question')} in {counted(len(lines), 'prompt')}, written to {output}",
        questions=len(out),
        prompts=len(lines),
        path=str(output),
    )
    warn(unfinished_tasks(tasks))


@dataclass
class _TakenIn:
    """What came of an answers file. counts: of answers by status. present: each question now, by run and question."""

    taken: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    unchanged: int = 0
    replaced: int = 0
    older: int = 0
    open: int = 0
    present: dict[Place, Request] = field(default_factory=dict)


@click.command("import")
@click.argument("answers", type=PATH)
@click.argument("runs", nargs=-1, required=True, type=PATH)
@with_options(*OPTIONS, *WHO)
@tells("ledger-import", "written", "not_taken")
def ledger_import(told: Told, answers: Path, runs: tuple[Path, ...], **given: Any) -> int:
    """Take the ANSWERS (JSON lines, or a form filled in) to exported prompts of RUNS into the ledger.

    An answer counts only for the very prompt it was given to: where task, run, rubric or template have changed since,
    it is told as stale, and what has changed. Citations are looked up, levels derived by code. Taking the same file in
    again changes nothing.

    Exit code 0: all answers are taken. 1: some could not be used; they are told, and not recorded, so that their
    questions are exported again. 4: some lines can't be read as answers; they are told, the others are taken.

    \b
    Example:
        sciagent ledger import answers.jsonl runs/ --as NAME
    """
    from ..judging.form import read_form
    from ..judging.handoff import read_answers

    asked = Given.of(**given)
    read = read_form(answers) or read_answers(answers)
    _tell_repeated(answers, read.given)
    found = _TakenIn()
    cases = cases_of(runs, asked.sources)
    for case in cases:
        _take_in(told, asked, case, read.given, found)
    stale = [answer for answer in read.given if answer.key not in found.taken]
    _tell_refused(told, read.refused)
    for why in why_strays(answers, runs, asked, stale, found.present, cases):
        _tell(told, why)
    summary = {
        "answers": len(read.given),
        "stale": len(stale),
        "bad_lines": len(read.refused),
        "unchanged": found.unchanged,
        "replaced": found.replaced,
        "older": found.older,
        **dict(sorted(found.counts.items())),
    }
    told.say(_in_words(summary), **summary, open=found.open)
    if found.open:
        left = counted(found.open, "open question")
        click.echo(f"left: {left} to {asked.judge.label} (sciagent ledger export)", err=True)
    if read.refused:
        return EXIT_BAD_LINES
    return EXIT_NOT_TAKEN if stale or found.older or set(found.counts) - {"assessed"} else 0


_WORDS = (
    ("assessed", "taken"),
    ("unchanged", "of these as recorded before"),
    ("replaced", "in place of a recorded one"),
    ("older", "older than what is recorded"),
    ("stale", "to no prompt of these runs"),
    ("bad_lines", "not readable"),
)
"""How counts of answers are told to people; a status by its own name."""


def _in_words(counts: Mapping[str, int]) -> str:
    """What came of an answers file, in one line: what did not happen is left out."""
    words = dict(_WORDS)
    names = [*words, *(name for name in counts if name not in words and name != "answers")]
    told = ", ".join(f"{counts[name]:,} {words.get(name, name)}" for name in names if counts.get(name))
    return f"{counted(counts['answers'], 'answer')} read{': ' if told else ''}{told}"


def _take_in(told: Told, asked: Given, case: Case, given: Sequence[Answer], found: _TakenIn) -> None:
    """Record what answers say of one run."""
    from ..judging.handoff import open_requests, settle_answers
    from ..ledger import merge_entries, write_record

    requests = list(asked.questions(case))
    for request in requests:
        found.present[case.run.label, request.kind, request.criterion_id, request.finding] = request
    entries, keys = settle_answers(given, requests, asked.judge, case.answers)
    found.taken |= keys
    usable = []
    for entry in entries:
        found.counts[entry.status] = found.counts.get(entry.status, 0) + 1
        if entry.settles:
            usable.append(entry)
        else:
            _tell_unusable(told, case, entry)
    known = {entry.key: entry for entry in case.ledger.entries if entry.settles}
    other = [entry for entry in usable if entry.key not in known or _said(known[entry.key]) != _said(entry)]
    new = [entry for entry in other if entry.key not in known or known[entry.key].time <= entry.time]
    found.unchanged += len(usable) - len(other)
    found.older += len(other) - len(new)
    found.replaced += len({entry.key for entry in new} & known.keys())
    for entry in other:
        if entry not in new:
            _tell(told, f"{_place(case, entry)}: another answer, given later ({known[entry.key].time}), is recorded")
    if new:
        merged = merge_entries(case.ledger.entries, new)
        written = write_record(asked.sources.ledger_of(case.run.path), case.run.manifest, merged)
        told.each("written", str(written), f"written: {written}")
        case.answers.take_in(new)
    found.open += len(open_requests(asked.questions(case), asked.judge, case.answers))


def _said(entry: LedgerEntry) -> object:
    """What an answer says, whenever it was given."""
    citations = [(citation.file, citation.quote, citation.verified) for citation in entry.citations]
    return entry.status, entry.anchors, entry.answer, entry.reason, citations


def _place(case: Case, entry: LedgerEntry) -> str:
    return f"{case.run.label} {entry.finding or 'run'} {entry.criterion_id}"


def _tell(told: Told, text: str) -> None:
    """Tell of something that was not taken."""
    line = clean(text, 2000)
    told.each("not_taken", line)
    click.echo(line, err=True)


def _tell_unusable(told: Told, case: Case, entry: LedgerEntry) -> None:
    from ..judging.settle import missing_quotes

    why = f"{missing_quotes(entry.citations, case.quotes)}: " if entry.status == "unverified" else ""
    _tell(told, clean(f"{_place(case, entry)}: {entry.status}: {why}{entry.reason}", 800))


def _tell_repeated(path: Path, given: Sequence[Answer]) -> None:
    """Which questions a file answers more than once."""
    first: dict[str, Answer] = {}
    for answer in given:
        earlier = first.setdefault(answer.key, answer)
        if earlier.text != answer.text:
            told = f"{path}:{answer.line}: another answer to the question of line {earlier.line}; the later one counts"
            click.echo(clean(told), err=True)


def _tell_refused(told: Told, refused: Sequence[SciagentError]) -> None:
    for number, problem in enumerate(refused):
        line = clean(str(problem), 500)
        told.each("not_taken", line)
        if number < _TOLD:
            click.echo(line, err=True)
    if len(refused) > _TOLD:
        click.echo(f"and {counted(len(refused) - _TOLD, 'line')} more that can't be read as answers", err=True)
