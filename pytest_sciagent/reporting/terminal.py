"""The terminal section: a line a run, a bar a dimension, the costliest failures, the gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..collection.status import HALF, NOT_ASSESSED
from ..collection.told import told_by
from ..gates.decision import NOT_TESTED
from ..gates.thresholds import verdicts_of
from ..scoring.interval import Interval, format_fraction
from ..scoring.layers import LAYERS
from ..text import clean, counted, one_line
from .agreement import agreement_line, who_judged
from .gaps import names_of, what_to_do, why_open
from .junit import WORDS, level_name
from .spending import spending_lines

if TYPE_CHECKING:
    import pytest

    from .results import Results, RunResult
    from .words import Words

BAR = 20
WORST = 5
DETAILS = 10


class _Reason(str):
    """The reason of a failing criterion, in the form from which pytest's own summary (-rf) takes one line."""

    __slots__ = ("reprcrash",)
    reprcrash: SimpleNamespace


def _give_reasons(reporter: pytest.TerminalReporter, words: Words) -> None:
    """Have pytest's summary show the reason of each failing criterion behind its name."""
    for report in reporter.getreports("failed"):
        told = told_by(report) if type(report.longrepr) is str else None
        if told is not None and not isinstance(told.outcome, str):
            reason = _Reason(report.longrepr)
            reason.reprcrash = SimpleNamespace(message=words.line(told.outcome.reason, 200))
            report.longrepr = reason


def write_outcomes(reporter: pytest.TerminalReporter, words: Words) -> None:
    """What -r shows of half and not assessed, by their letters in the progress (-rh, -rn), with passed and with skipped
    ones (-rp, -rs), and with all but passed ones or all (-ra, -rA)."""
    _give_reasons(reporter, words)
    lines = []
    asked = set(reporter.reportchars)
    asked |= {"h"} if asked >= set("sxXEf") else set()  # what pytest makes of -ra: all but passed
    for category, word, letters in ((HALF, "HALF", "hp"), (NOT_ASSESSED, "NOT ASSESSED", "ns")):
        for report in reporter.getreports(category) if asked & set(letters) else []:
            text = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
            told = told_by(report) if category == HALF else None
            if told is not None and not isinstance(told.outcome, str):
                text = words.line(told.outcome.reason, 200)
            lines.append(f"{word} {report.nodeid}{' - ' if text else ''}{one_line(text, 200)}")
    if lines:
        reporter.section("half and not assessed")
        for line in lines:
            reporter.write_line(line)


def write_summary(reporter: pytest.TerminalReporter, results: Results, verbosity: int) -> None:
    """Write the section. With `-q` the scores of systems and the gates only; with `-v` the findings too."""
    from .session_comparison import comparison_lines

    reporter.section("sciagent")
    if verbosity >= 0:
        for line in _head(results):
            reporter.write_line(line)
        for system in results.systems:
            reporter.write_line("")
            reporter.write_line(system.name, bold=True)
            for line in _runs([r for r in results.runs if r.index.system == system.name], verbosity):
                reporter.write_line(line)
        for line in (*_dimensions(results), *_layers(results)):
            reporter.write_line(line)
        for line in (*_feasible(results), *_perturbations(results)):
            reporter.write_line(line)
        for line in comparison_lines(results):
            reporter.write_line(line)
        for line in (*_reruns(results), *_worst(results), *_own(results)):
            reporter.write_line(line)
        for line in _notes(results):
            reporter.write_line(line)
        for line in ("", *spending_lines(results.spending), ""):
            reporter.write_line(line)
    for system in results.systems:
        tasks = f"mean of {counted(system.tasks, 'task')}"
        reporter.write_line(f"{system.name}: {system.score.show()} ({tasks})", bold=True)
    reporter.write_line(clean(results.believed.sentence))
    _write_gates(reporter, results)


def _write_gates(reporter: pytest.TerminalReporter, results: Results) -> None:
    """A line for each gate, its details below, and a last one for all of them together where there are several."""
    colours = {"met": "green", "not met": "red", "inconclusive": "yellow"}
    told = [("gate", decision) for decision in results.decisions]
    if results.decision is not None and len(results.decisions) > 1:
        told.append(("gates", results.decision))
    for what, decision in told:
        markup = {colours[decision.outcome]: True, "bold": True}
        reporter.write_line(f"{what} {decision.outcome}: {decision.sentence}", **markup)
        for detail in decision.details[:DETAILS]:
            reporter.write_line(f"  {detail}")
        if len(decision.details) > DETAILS:
            reporter.write_line(f"  and {len(decision.details) - DETAILS} more (see --sciagent-json)")
    if told and (results.incomplete or "").endswith(NOT_TESTED):
        reporter.write_line("a part of the criteria decides no gate: --sciagent-no-gates leaves gates out")


def _head(results: Results) -> Iterator[str]:
    rubrics = ", ".join(f"{r.id} {r.version} ({r.profile})" for r in results.rubrics)
    judge = "none known" if results.judge is None else who_judged(results.judge)
    findings = sum(len(r.findings) for r in results.runs)
    yield f"{counted(len(results.runs), 'run')}, {counted(findings, 'finding')}; rubric {rubrics}; judge {judge}"
    yield "scores are points of 0..100; low..high where something is not assessed or in error"
    yield from agreement_line(results.verdicts)
    yield from map(clean, results.notes)


def _runs(runs: list[RunResult], verbosity: int) -> Iterator[str]:
    width = max([len(_task(r)) for r in runs] + [4])
    columns = ("score", "S1", "S2", "yield", "target", "penalty", "assessed")
    rows = [[_task(r), *_cells(r)] for r in runs]
    widths = [max(len(c), *(len(row[n]) for row in rows)) for n, c in enumerate(columns, start=1)]
    yield "  " + "  ".join([f"{'task':<{width}}", *(f"{c:>{w}}" for c, w in zip(columns, widths, strict=True))])
    for run, row in zip(runs, rows, strict=True):
        yield "  " + "  ".join([f"{row[0]:<{width}}", *(f"{c:>{w}}" for c, w in zip(row[1:], widths, strict=True))])
        if verbosity > 0:
            for finding in run.findings:
                yield f"    {finding.score.score.show():>12}  {finding.id}: {one_line(finding.title, 90)}"


def _task(run: RunResult) -> str:
    return run.index.task_id + ("" if run.index.repeat == 1 else f".r{run.index.repeat}")


def _cells(run: RunResult) -> list[str]:
    if run.total is None:
        return [run.index.state, *["-"] * 6]
    if run.terms is None:
        terms = ["-"] * 5
    else:
        t = run.terms
        terms = [i.show() for i in (t.s1, t.s2, t.yield_bonus, t.target, t.penalty)]
    assessed = f"{format_fraction(run.assessed * 100, 0)} %" if run.findings else run.index.state
    return [run.total.show(), *terms, assessed]


def _dimensions(results: Results) -> Iterator[str]:
    title = "share of points by dimension, mean over findings (= earned, . open)"
    return _bars(title, {s.name: s.dimensions for s in results.systems})


def _layers(results: Results) -> Iterator[str]:
    """The two layers of acceptance, where the rubric has them."""
    title = f"share of points by layer: {LAYERS['executed']} (1.1, 1.3, 1.4), then {LAYERS['tested']} (2, 3, 4 and 6)"
    return _bars(title, {s.name: {str(name): share for name, share in s.layers.items()} for s in results.systems})


def _bars(title: str, systems: Mapping[str, Mapping[str, Interval]]) -> Iterator[str]:
    """A bar for each share (0..1) of each system."""
    names = list(dict.fromkeys(name for shares in systems.values() for name in shares))
    if not names:
        return
    yield ""
    yield title
    width = max(len(n) for n in names)
    owner = max(len(system) for system in systems)
    for name in names:
        for position, (system, shares) in enumerate((s, d) for s, d in systems.items() if name in d):
            share = shares[name]
            low, high = int(share.low * BAR), int(share.high * BAR)
            bar = "=" * low + "." * (high - low) + " " * (BAR - high)
            shown = share.scaled(Fraction(100)).show(0)
            yield f"  {name if position == 0 else '':<{width}}  {system:<{owner}}  [{bar}] {shown} %"


def _perturbations(results: Results) -> Iterator[str]:
    """Which matched reference findings stand up to the task's own changes of sample, method and definition."""
    told = [(run, finding, p) for run in results.runs for finding, p in run.perturbations]
    if not told:
        return
    yield ""
    yield "perturbations of the task's data, for findings that match a reference"
    groups: dict[tuple[str, str, str], list[str]] = {}
    for run, finding, p in told:
        shown = f"{p.family} {'survives' if p.survive else 'BREAKS'}"
        groups.setdefault((run.index.label, finding, p.card), []).append(shown)
    for (label, finding, card), shown_ones in groups.items():
        yield f"  {label} {finding} (reference {card}): {', '.join(shown_ones)}"


def _feasible(results: Results) -> Iterator[str]:
    """Scores without what tasks make impossible, where they differ."""
    told = [run for run in results.runs if run.feasible is not None and run.total is not None]
    if told:
        yield ""
        yield "without the criteria that the task makes impossible"
    for run in told:
        assert run.feasible is not None
        assert run.total is not None
        yield f"  {run.index.label}: {run.feasible.show()} (published profile: {run.total.show()})"


def _reruns(results: Results) -> Iterator[str]:
    """What runs' own scripts did when they were run again."""
    told = [(run.index.label, run.rerun) for run in results.runs if run.rerun is not None]
    if told:
        yield ""
        yield "runs' own scripts, run again over the task's data and over other data"
    for label, found in told:
        problem = f"; {one_line(found.problem, 200)}" if found.problem else ""
        if not found.commands:
            yield f"  {label}: nothing was run{problem}"
            continue
        results_of = ((found.reproduced, "the same"), (found.different, "otherwise"), (found.missing, "not written"))
        counts = ", ".join(f"{len(paths)} {how}" for paths, how in results_of)
        scripts = f"{counted(len(found.commands), 'script')} in {found.seconds:g} s"
        yield f"  {label}: {scripts}; results {counts}{problem}"


def _worst(results: Results) -> Iterator[str]:
    weights = {c.id: Fraction(str(c.weight)) for r in results.rubrics for c in r.criteria}
    names = names_of(results.rubrics)
    lost = [
        (weights[v.criterion_id], run.index.label, finding.id, v)
        for run in results.runs
        for finding in run.findings
        for v in finding.verdicts
        if v.level == 0 and v.criterion_id in weights
    ]
    if not lost:
        return
    lost.sort(key=lambda entry: (-entry[0], entry[1], entry[2], entry[3].criterion_id))
    yield ""
    yield f"costliest failing criteria ({min(WORST, len(lost))} of {len(lost)})"
    for weight, label, finding_id, verdict in lost[:WORST]:
        reason = one_line(verdict.reason, 140)
        yield f"  -{format_fraction(weight, 0)}  {label} {finding_id} {names[verdict.criterion_id]}: {reason}"


def _own(results: Results) -> Iterator[str]:
    """The levels of criteria that no rubric of the session has: those of a conftest file."""
    rubrics = names_of(results.rubrics)
    counts: dict[str, Counter[str]] = {}
    for verdict in (v for run in results.runs for v in verdicts_of(run)):
        if verdict.criterion_id not in rubrics:
            counts.setdefault(verdict.criterion_id, Counter())[level_name(verdict)] += 1
    if counts:
        yield ""
        yield "criteria of your own (beside the score; -m own_criterion selects them)"
    for id in sorted(counts):
        told = ", ".join(f"{counts[id][name]} {word}" for name, word in WORDS.items() if counts[id][name])
        yield f"  {id}: {told}"


def _notes(results: Results) -> Iterator[str]:
    notes = [
        f"  {r.index.label}: {note}" for r in results.runs for note in (*r.index.problems, *r.index.notes, *r.notes)
    ]
    notes += [f"  {r.index.label}: {told}" for r in results.runs if (told := _compound(r)) is not None]
    verdicts = [v for run in results.runs for v in verdicts_of(run)]
    open_counts = why_open(verdicts, lambda text: one_line(text, 180), names_of(results.rubrics))
    if notes or open_counts or results.incomplete:
        yield ""
        yield "not assessed, and notes"
    if results.incomplete:
        yield f"  the session is incomplete: {results.incomplete}"
    for reason, count in open_counts[:12]:
        yield f"  {count} x {clean(reason)}"
    if len(open_counts) > 12:
        yield f"  and {counted(len(open_counts) - 12, 'more reason')} (see --sciagent-json)"
    yield from (f"  {line}" for line in what_to_do(verdicts))
    yield from notes


def _compound(run: RunResult) -> str | None:
    """Which findings may be compound, by the form of their registration."""
    ids = [finding.id for finding in run.findings if finding.compound]
    return f"{', '.join(ids)} may state several claims (told, not scored; why: --sciagent-json)" if ids else None
