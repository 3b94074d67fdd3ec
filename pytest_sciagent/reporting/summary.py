"""The summary for people: a page of GitHub-flavoured Markdown, short enough for a step summary and a comment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..gates.decision import exact
from ..gates.thresholds import verdicts_of
from ..ledger.store import write_atomically
from ..scoring.interval import Interval, format_fraction
from .gaps import names_of, why_open
from .junit import COUNTED, WORDS, level_counts, level_name
from .markdown import code, fit, table
from .records import VerdictRecord, costliest, verdict_records
from .results import Results, RunResult
from .words import Words

if TYPE_CHECKING:
    from ..gates import Decision
    from ..gates.against import AgainstBaseline, LevelChange

LIMIT = 900_000
"""Bytes. GitHub drops a step summary of 1 MiB or more, and other steps write into the same one."""
CUT = "*Cut here: the summary is too long. The JSON file of the session has all of it.*"
MAX_GATES = 30
MAX_DETAILS = 10
MAX_SYSTEMS = 100
MAX_FALLEN = 25
MAX_COSTLIEST = 15
MAX_RUNS = 300
MAX_OPEN = 12
MAX_NOTES = 20
SENTENCE = 600
REASON = 220
_MARKS = {"met": "✅", "not met": "❌", "inconclusive": "⚠️"}


def write_summary_file(path: Path, results: Results, words: Words) -> None:
    """Write the summary to `path`.

    Raises:
        SciagentError: the place can't be written to.
    """
    write_atomically(path, summary(results, words))


def summary(results: Results, words: Words, limit: int = LIMIT) -> str:
    """The summary in at most `limit` bytes. All words of agents, judges and files are inert (see `markdown.code`)."""
    return fit(_lines(results, words), limit, CUT)


def _lines(results: Results, words: Words) -> Iterator[str]:
    records = list(verdict_records(results))
    yield from _gates(results, words)
    yield from _systems(results, words)
    if results.against is not None:
        yield from _fallen(results.against, records, words)
    yield from _costliest(records, words, names_of(results.rubrics))
    yield from _runs(results)
    yield from _notes(results, words)
    yield from _foot(results, words)


def _gates(results: Results, words: Words) -> Iterator[str]:
    if results.decision is None:
        yield "## sciagent: no gate"
        if results.incomplete:
            yield from ("", f"The session is incomplete: {code(words.line(results.incomplete, SENTENCE))}")
        return
    yield f"## sciagent: {_MARKS[results.decision.outcome]} gate {results.decision.outcome}"
    yield ""
    if len(results.decisions) > 1:
        yield from (code(words.line(results.decision.sentence, SENTENCE)), "")
    for decision in results.decisions[:MAX_GATES]:
        yield from _decision(decision, words)
    yield from _more(len(results.decisions) - MAX_GATES)


def _decision(decision: Decision, words: Words) -> Iterator[str]:
    sentence = code(words.line(decision.sentence, SENTENCE))
    yield f"- {_MARKS[decision.outcome]} **{decision.outcome}**: {sentence}"
    for detail in decision.details[:MAX_DETAILS]:
        yield f"  - {code(words.line(detail, REASON))}"
    yield from _more(len(decision.details) - MAX_DETAILS, indent="  ")


def _systems(results: Results, words: Words) -> Iterator[str]:
    if not results.systems:
        return
    before = {change.system: change for change in results.against.systems} if results.against is not None else {}
    head = ["system", "tasks", "score", *(["shared tasks", "baseline", "now", "change"] if before else [])]
    rows = []
    for system in results.systems[:MAX_SYSTEMS]:
        row = [code(system.name), str(system.tasks), system.score.show()]
        if before:
            change = before.get(system.name)
            row += ["-"] * 4 if change is None else [
                str(change.tasks),
                change.before.show(),
                change.after.show(),
                _signed(change.after - change.before),
            ]  # fmt: skip
        rows.append(row)
    yield from ("", *table(head, rows))
    yield from _more(len(results.systems) - MAX_SYSTEMS)
    yield from ("", code(words.line(results.believed.sentence, SENTENCE)))


def _signed(value: Interval) -> str:
    ends = [f"{'' if end < 0 else '+'}{format_fraction(end, 1)}" for end in (value.low, value.high)]
    return ends[0] if value.is_point else "..".join(ends)


def _fallen(against: AgainstBaseline, records: list[VerdictRecord], words: Words) -> Iterator[str]:
    now = {(r.run.index.label, r.verdict.finding, r.verdict.criterion_id): r for r in records}
    fallen = [(change, now.get((change.label, change.finding, change.criterion_id))) for change in against.changes]
    fallen = [(change, record) for change, record in fallen if change.fell]
    fallen.sort(key=lambda pair: (-_cost(*pair), pair[0].label))
    raised = len(against.changes) - len(fallen)
    yield from ("", f"### Fallen since the baseline ({len(fallen)}; raised: {raised})", "")
    yield f"Baseline: {code(words.line(against.name, REASON))}. Findings are matched by their ids."
    yield ""
    for change, record in fallen[:MAX_FALLEN]:
        where = code(f"{change.label} {change.finding or 'run'} {change.criterion_id}")
        reason = code(words.line(record.verdict.reason, REASON)) if record is not None else "nothing was delivered"
        yield f"- {where} {change.before:g} → {change.after:g}: {reason}"
    yield from _more(len(fallen) - MAX_FALLEN)


def _cost(change: LevelChange, record: VerdictRecord | None) -> Fraction:
    """Points of a finding that the fall costs; a run that delivered nothing comes first."""
    if record is None:
        return Fraction(100)
    return (record.value or Fraction(0)) * (exact(change.before) - exact(change.after))


def _costliest(records: list[VerdictRecord], words: Words, names: Mapping[str, str]) -> Iterator[str]:
    failing = costliest(records)
    if not failing:
        return
    yield from ("", f"### Costliest failing criteria ({min(MAX_COSTLIEST, len(failing))} of {len(failing)})", "")
    for record in failing[:MAX_COSTLIEST]:
        id = record.verdict.criterion_id
        where = code(f"{record.run.index.label} {record.verdict.finding or 'run'} {names.get(id, id)}")
        points = f"−{format_fraction(record.lost, 1)} " if record.effect is not None else ""
        yield f"- {points}{where}: {code(words.line(record.verdict.reason, REASON))}"
    yield from _more(len(failing) - MAX_COSTLIEST)


def _runs(results: Results) -> Iterator[str]:
    head = ["run", "score", "findings", "1", "0.5", "0", "not assessed", "errors"]
    yield from ("", "### Runs", "", *table(head, (_run(run) for run in islice(results.runs, MAX_RUNS))))
    yield from _more(len(results.runs) - MAX_RUNS)


def _run(run: RunResult) -> list[str]:
    counts = Counter(level_name(verdict) for verdict in verdicts_of(run))
    score = run.index.state if run.total is None else run.total.show()
    return [code(run.index.label), score, str(len(run.findings)), *(str(counts[name]) for name in COUNTED)]


def _notes(results: Results, words: Words) -> Iterator[str]:
    verdicts = (v for run in results.runs for v in verdicts_of(run))
    reasons = why_open(verdicts, lambda text: words.line(text, REASON), names_of(results.rubrics))
    notes = [f"{run.index.label}: {note}" for run in results.runs for note in run.index.problems]
    if not reasons and not notes:
        return
    yield from ("", "### Not assessed, and problems", "")
    for text, count in reasons[:MAX_OPEN]:
        yield f"- {count} × {code(text)}"
    yield from _more(len(reasons) - MAX_OPEN, what="reasons")
    for note in notes[:MAX_NOTES]:
        yield f"- {code(words.line(note, REASON))}"
    yield from _more(len(notes) - MAX_NOTES, what="problems")


def _foot(results: Results, words: Words) -> Iterator[str]:
    counts = level_counts(results)
    told = ", ".join(f"{counts[name]} {word}" for name, word in WORDS.items())
    rubrics = ", ".join(f"{r.id} {r.version} ({r.profile})" for r in results.rubrics)
    judge = "none known" if results.judge is None else results.judge.label
    yield from ("", f"Criteria: {told}. Scores are points of 0..100, low..high where something is open.")
    yield f"Rubric {code(words.line(rubrics, REASON))}, judge {code(words.line(judge, REASON))}."
    for note in results.notes[:MAX_NOTES]:
        yield f"- {code(words.line(note, REASON))}"


def _more(count: int, *, indent: str = "", what: str = "") -> Iterator[str]:
    if count > 0:
        yield ""
        yield f"{indent}… and {count} more{' ' if what else ''}{what} (see the JSON file)"
