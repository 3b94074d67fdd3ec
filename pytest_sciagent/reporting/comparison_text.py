"""A comparison as text: a section for each question, numbers first, then what they allow to say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ..statistics import Bounds
from ..text import counted, one_line
from .cohort import Row, as_rows
from .columns import NOTHING, columns, interval, number, paragraph, percent, probability, signed, span
from .comparison import ALPHA
from .comparison_orders import (
    correlation_text,
    domains,
    ends_of,
    feasibility,
    judges,
    main_body,
    order_text,
    per_end,
    repeats,
    weights,
    yields,
)
from .comparison_results import Comparison, End, PairEnd, PairSummary, ScoreComparison

if TYPE_CHECKING:
    import pandas as pd

PAIR_NAMES: Mapping[PairEnd, str] = {"low": "low ends", "high": "high ends", "against": "least", "for": "most"}
NO_NAME: Mapping[PairEnd, str] = {"low": ""}

Section = tuple[str, list[str]]
"""Title and lines."""


def comparison_text(table: pd.DataFrame, comparison: Comparison) -> str:
    """All of it, ready to be printed."""
    return "\n\n".join("\n".join([title, *lines]) for title, lines in comparison_sections(table, comparison)) + "\n"


def comparison_sections(table: pd.DataFrame, comparison: Comparison) -> Iterator[Section]:
    """The sections in their order; those that do not apply are left out."""
    rows = as_rows(table)
    sections: list[Section] = [
        _head(rows, comparison),
        ("RUNS", _runs(rows)),
        *score_sections(comparison),
        ("TASKS: difficulty against disagreement", _tasks(comparison)),
        ("MAIN BODY: without yield, targets and penalty", main_body(comparison)),
        ("REPEATS: noise of a run", repeats(comparison)),
        ("FEASIBILITY: without what a task makes impossible", feasibility(comparison)),
        ("JUDGES: the same runs by other recorded verdicts", judges(comparison)),
        ("WEIGHTS: drawn around those of the rubric", weights(comparison)),
        ("DOMAINS: each left out in turn", domains(comparison)),
        ("YIELD: whether registering more findings pays", yields(comparison)),
        ("DIMENSIONS: % of points over all findings", _shares(comparison.dimensions)),
        ("LAYERS OF ACCEPTANCE: % of points over all findings", _shares(comparison.layers)),
        ("CRITERIA: mean level in % over all findings", _shares(comparison.items)),
        ("COST AND TIME: means over the runs that tell", _usage(comparison)),
        ("NOT SCORED, OR COUNTED AS 0", _problems(rows)),
    ]
    yield from (section for section in sections if section[1])


def score_sections(comparison: ScoreComparison) -> list[Section]:
    """The sections that need nothing but scores."""
    return [
        ("SYSTEMS: mean over tasks", _systems(comparison)),
        ("PAIRS: differences on shared tasks", _pairs(comparison)),
    ]


def _head(rows: Sequence[Row], comparison: Comparison) -> Section:
    first = rows[0]
    runs = sum(row["state"] != "missing" for row in rows)
    systems, tasks = counted(len(comparison.systems), "system"), counted(len(comparison.tasks), "task")
    title = f"{systems}, {tasks}, {counted(runs, 'run')}"
    lines = paragraph(f"rubric {first['rubric']}, profile {first['profile']}, judge {first['judge'] or 'none'}")
    for sentence in comparison.believed:
        lines += paragraph(sentence)
    lines += paragraph("points of 0..100; low..high where something is not assessed or in error")
    if comparison.is_open:
        told = (
            "every statistic is made at the low and at the high ends; a conclusion is drawn only where all ends agree"
        )
        lines += paragraph(told)
    return title, lines


# ---- runs, systems


def _runs(rows: Sequence[Row]) -> list[str]:
    terms = {"score": "score", "S1": "s1", "S2": "s2", "yield": "yield", "target": "target", "penalty": "penalty"}
    told = {title: name for title, name in terms.items() if any(row[f"{name}_low"] is not None for row in rows)}
    scores: list[Sequence[str] | str] = []
    delivered: list[Sequence[str] | str] = []
    system = None
    for row in (row for row in rows if row["system"] is not None):
        if row["system"] != system:
            system = row["system"]
            scores.append(system)
            delivered.append(system)
        task = row["task"] if row["repeat"] == 1 else f"{row['task']}.r{row['repeat']}"
        scores.append((task, *(span(row[f"{name}_low"], row[f"{name}_high"]) for name in told.values())))
        minutes = None if row["seconds"] is None else row["seconds"] / 60
        assessed = percent(row["assessed"], row["assessed"])
        delivered.append((task, _status(row), _findings(row), assessed, number(minutes), number(row["cost_usd"], 2)))
    lines = [*columns(("task", *told), scores), ""]
    lines += columns(("task", "status", "findings", "assessed %", "minutes", "US dollars"), delivered)
    return lines + paragraph("findings: after and before duplicates are merged; assessed: share of the rubric's weight")


def _findings(row: Row) -> str:
    before = row["findings"]
    return NOTHING if before is None else f"{span(row['distinct_low'], row['distinct_high'], 0)}/{before}"


def _status(row: Row) -> str:
    told = row["state"] if row["state"] in {"tampered", "missing"} or row["status"] == "completed" else row["status"]
    return "completed" if told == "sound" else str(told or row["state"]).replace("_", " ")


def _systems(comparison: ScoreComparison) -> list[str]:
    lines: list[Sequence[str] | str] = []
    for name, system in comparison.systems.items():
        lines.append(name)
        for label, end in ends_of(comparison):
            t, bootstrap, spread = system.t.at(end), system.bootstrap.at(end), system.range.at(end)
            lines.append(
                (
                    label,
                    str(system.tasks),
                    number(t.mean),
                    interval(t.low, t.high),
                    interval(bootstrap.low, bootstrap.high),
                    span(spread.low, spread.high),
                    _led(system.led.at(end)),
                    str(system.led_for_sure),
                )
            )
    found = columns(("", "tasks", "mean", "95 % t", "95 % bootstrap", "range", "leads", "for sure"), lines)
    found += paragraph(
        f"leads: of the {counted(len(comparison.shared), 'task')} that all systems have, those on which a system is "
        "first (ties shared); for sure: whatever is not assessed turns out to be"
    )
    if len(comparison.means) > 1:
        found += paragraph(f"{order_text(comparison.means)} (>: ahead for sure; =: tied; ~: open)")
    reasons: dict[str, list[str]] = {}
    for name, system in comparison.systems.items():
        for reason in {end.reason for end in system.t.both if end.reason is not None}:
            reasons.setdefault(reason, []).append(name)
    for reason, names in sorted(reasons.items()):
        found += paragraph(f"{', '.join(names)}: {reason}.")
    return found + paragraph(_leader(comparison))


def _led(led: Fraction | None) -> str:
    if led is None or led.denominator == 1:
        return NOTHING if led is None else str(led)
    whole, part = divmod(led, 1)
    return f"{whole} {part}" if whole else str(part)


def _leader(comparison: ScoreComparison) -> str:
    if len(comparison.systems) < 2:
        return "One system: there is nothing to compare it with."
    if not comparison.shared:
        return "There is no task that every system has a score on, so no order of all systems is given."
    where = f"On the {counted(len(comparison.shared), 'task')} that all systems have"
    if comparison.leader is not None:
        return (
            f"{where}, {comparison.leader} has the highest mean"
            + (", whatever is not assessed turns out to be" if comparison.is_open else "")
            + ". Whether that would hold on other tasks, the tests of pairs tell."
        )
    first = [name for name, s in comparison.systems.items() if s.places is not None and s.places[0] == 1]
    ends = {end for name in first for end in comparison.means[name]}
    if len(ends) == 1:
        return f"{where}, no system is named as leading: {', '.join(first)} have the same mean."
    told = "their intervals overlap, and what is not assessed could turn it"
    return f"{where}, no system is named as leading: {', '.join(first)} could each be first; {told}."


# ---- pairs


def _pairs(comparison: ScoreComparison) -> list[str]:
    if not comparison.pairs:
        return paragraph("One system: there is no pair.")
    rows: list[Sequence[str] | str] = []
    for pair in comparison.pairs:
        rows.append(f"{pair.a} - {pair.b}")
        for end, label in PAIR_NAMES.items() if comparison.is_open else NO_NAME.items():
            test = pair.ends[end]
            difference, ranks, tost = test.difference, test.wilcoxon, test.equivalence
            within = {True: "yes", False: "no", None: NOTHING}[tost.equivalent]
            rows.append(
                (
                    label,
                    str(difference.n),
                    signed(difference.mean),
                    interval(difference.low, difference.high),
                    number(ranks.w_plus),
                    number(ranks.w_minus),
                    probability(ranks.p),
                    probability(test.holm_p),
                    probability(tost.p),
                    within,
                )
            )
    head = ("", "tasks", "mean", "95 % t", "W+", "W-", "Wilcoxon p", "Holm p", "TOST p", "equivalent")
    lines = columns(head, rows)
    if comparison.is_open:
        lines += paragraph(
            "least: what is not assessed counts against the first system and for the second; most: the other way round"
        )
    lines += paragraph(
        "Wilcoxon's signed-rank test, exact up to 200 differences, zeros dropped; Holm's correction over the pairs; "
        f"TOST: within {comparison.margin:g} points either way"
    )
    for pair in comparison.pairs:
        lines += paragraph(f"{pair.a}, {pair.b}: {_verdict(pair, comparison)}")
    return lines


def _verdict(pair: PairSummary, comparison: ScoreComparison) -> str:
    low = pair.ends["low"]
    if not low.difference.n:
        return f"{low.difference.reason}."
    every = " at every end" if comparison.is_open else ""
    ends = list(pair.ends.values())
    told = []
    if pair.winner is not None:
        told.append(f"{pair.winner} scores higher, significant{every} (Holm p at most {ALPHA:g}).")
    elif any(end.significant for end in ends):
        told.append("significant at some ends only: what is not assessed could turn it, so no winner is named.")
    else:
        any_end = " at any end" if comparison.is_open else ""
        told.append(f"no difference is shown{any_end}{_least_p(low.wilcoxon.n)}.")
    if pair.equivalent:
        told.append(f"Equivalent within {comparison.margin:g} points{every}.")
    elif any(end.equivalence.equivalent for end in ends):
        told.append(f"Equivalent within {comparison.margin:g} points at some ends only, so it is left open.")
    elif any(end.equivalence.equivalent is not None for end in ends):
        told.append("Equivalence is not shown either." if pair.winner is None else "Equivalence is not shown.")
    reasons = dict.fromkeys(r for r in (low.difference.reason, low.wilcoxon.reason) if r)
    told += [f"Note: {reason}." for reason in reasons]
    return " ".join(told)


def _least_p(differences: int) -> str:
    """Where no outcome at all could be significant: how small p can get."""
    least = 2.0 ** (1 - differences)
    if not differences or least <= ALPHA:
        return ""
    few = counted(differences, "difference")
    return f"; {few} can't show one: the smallest p possible is {number(min(least, 1.0), 3)}"


# ---- tasks, shares, usage


def _tasks(comparison: Comparison) -> list[str]:
    low, high = comparison.difficulty.both
    if not low.tasks:
        return paragraph(f"Not known: {low.correlation.reason or 'no task that every system has'}.")
    ends = [(label, comparison.difficulty.at(end)) for label, end in ends_of(comparison)]
    rows: list[Sequence[str]] = [
        (task, span(low.means[n], high.means[n]), *(number(end.disagreement[n]) for _, end in ends))
        for n, task in enumerate(low.tasks)
    ]
    head = ("task", "mean of systems", *(f"spread, {label}" if label else "spread" for label, _ in ends))
    found = columns(head, rows) + per_end(comparison, lambda end: _correlation(comparison, end))
    return found + (paragraph(low.warning) if low.correlation.pearson is not None else [])


def _correlation(comparison: Comparison, end: End) -> str:
    return f"mean against spread: {correlation_text(comparison.difficulty.at(end).correlation, 'task')}"


def _shares(shares: Mapping[str, Mapping[str, Bounds]]) -> list[str]:
    systems = sorted({system for found in shares.values() for system in found})
    rows = [
        (name, *(percent(*found[s]) if s in found else NOTHING for s in systems))
        for name, found in shares.items()
        if found
    ]
    return columns(("", *systems), rows) if rows else []


def _usage(comparison: Comparison) -> list[str]:
    rows = [
        (
            system,
            str(used.runs),
            *_mean(used.seconds / 60, used.with_time, 1),
            *_mean(used.cost_usd, used.with_cost, 2),
            *_mean(used.tokens, used.with_tokens, 0),
        )
        for system, used in comparison.usage.items()
    ]
    head = ("", "runs", "minutes", "of runs", "US dollars", "of runs", "tokens", "of runs")
    return columns(head, rows)


def _mean(total: float, known: int, digits: int) -> tuple[str, str]:
    return number(total / known if known else None, digits), str(known)


def _problems(rows: Iterable[Row]) -> list[str]:
    found = []
    for row in rows:
        name = f"{row['system'] or 'a run that names no system'}/{row['task']}"
        name += "" if row["repeat"] == 1 else f".r{row['repeat']}"
        if row["state"] != "sound":
            effect = "counts as 0" if row["state"] == "undelivered" else "no score, left out"
            found += paragraph(f"{name}: {one_line(str(row['reason'] or row['state']), 200)} ({effect})")
        elif row["domain"] is None:
            found += paragraph(f"{name}: the task is not known here, so what needs it is not assessed")
    return found
