"""Sections of a comparison that ask whether the order of systems holds under other ways to score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..statistics import Bounds, Correlation, OrderComparison, compare_intervals
from .columns import NOTHING, columns, count, interval, number, paragraph, percent, signed, span

if TYPE_CHECKING:
    from ..statistics import RankQuality, SystemYield
    from ..statistics.ranking import Order
    from .comparison import Comparison, End, Ends, OrderCheck

LABELS: tuple[tuple[str, End], ...] = (("low ends", "low"), ("high ends", "high"))
TOP = 3


def ends_of(comparison: Comparison) -> tuple[tuple[str, End], ...]:
    """The ends to show, with their labels; one without a label where everything is assessed."""
    return LABELS if comparison.is_open else (("", "low"),)


def order_text(means: Mapping[str, Bounds]) -> str:
    """Systems from best to worst: `>` where the one before is ahead for sure, `=` for a tie, `~` where it is open."""
    names = sorted(means, key=lambda name: (-means[name][0], -means[name][1], name))
    text = names[0] if names else ""
    for place, name in enumerate(names[1:], start=1):
        above = (min(means[n][0] for n in names[:place]),) * 2
        below = (max(means[n][1] for n in names[place:]),) * 2
        apart = compare_intervals(above, below).winner == "a"
        last = means[names[place - 1]]
        tie = last == means[name] and last[0] == last[1]
        text += f"{' > ' if apart else ' = ' if tie else ' ~ '}{name}"
    return text


def holds(ends: Ends[OrderComparison], is_open: bool) -> str:
    """What both ends say about an order, as a sentence."""
    if ends.low.same_order is None or ends.high.same_order is None:
        return f"No order to look at: {ends.low.reason or ends.high.reason}."
    if ends.low.same_order != ends.high.same_order:
        return "Whether the order holds is open: it does at one end only."
    every = " at both ends" if is_open else ""
    return f"The order of the systems {'holds' if ends.low.same_order else 'changes'}{every}."


def _check(check: OrderCheck, title: str, comparison: Comparison) -> list[str]:
    if not check.before:
        return paragraph(holds(check.ends, comparison.is_open))
    rows = [(name, span(*check.before[name]), span(*check.after[name])) for name in check.before]
    lines = columns(("mean over shared tasks", "score", title), rows)
    if len(rows) > 1:
        lines += paragraph(f"score: {order_text(check.before)}; {title}: {order_text(check.after)}")
        lines += paragraph(f"{holds(check.ends, comparison.is_open)}{_taus(check.ends, comparison.is_open)}")
    return lines


def _taus(ends: Ends[OrderComparison], is_open: bool) -> str:
    shown = [number(end.tau, 2) for end in (ends.both if is_open else (ends.low,)) if end.tau is not None]
    return f" Kendall's tau-b {' and '.join(shown)}." if shown else ""


def main_body(comparison: Comparison) -> list[str]:
    """Scores by 0.60 S1 + 0.20 S2 only."""
    return _check(comparison.main_body, "main body", comparison) if comparison.main_body is not None else []


def feasibility(comparison: Comparison) -> list[str]:
    """Scores without criteria that cannot be met on a task."""
    if not comparison.infeasible:
        return paragraph("No task marks a dimension or criterion as infeasible: the scores stay as they are.")
    lines = []
    for task, names in comparison.infeasible.items():
        lines += paragraph(f"{task}: {', '.join(names.split(','))}")
    lines += paragraph("are left out there, and the rest is scaled to the same 100 points")
    return lines + _check(comparison.feasible, "feasible only", comparison)


def repeats(comparison: Comparison) -> list[str]:
    """Spread within and between tasks, where runs were repeated."""
    if all(s.repeats.low.within is None for s in comparison.systems.values()):
        return paragraph("No task was run twice by one system: the noise of a run is not known by itself.")
    rows: list[Sequence[str] | str] = []
    for name, system in comparison.systems.items():
        rows.append(name)
        for label, end in ends_of(comparison):
            found = system.repeats.at(end)
            deviations = [None if v is None else v**0.5 for v in (found.within, found.between)]
            rows.append(
                (
                    label,
                    f"{found.runs} of {count(found.tasks, 'task')}",
                    number(found.mean),
                    *map(number, deviations),
                    interval(found.low, found.high),
                    interval(found.noise_low, found.noise_high),
                )
            )
    head = ("", "runs", "mean", "sd within", "sd between", "95 %, other tasks", "95 %, these tasks again")
    return columns(head, rows) + paragraph("sd within, between: of runs of one task, and of the tasks' true means")


def weights(comparison: Comparison) -> list[str]:
    """How often the order holds, and who leads, when the weights of dimensions are drawn."""
    low, high = comparison.weights.both
    if low.holds is None or high.holds is None or len(low.first) < 2:
        return paragraph(f"Not known: {low.reason or high.reason}.")
    rows = [(name, percent(low.first[name], high.first[name], 1)) for name in low.first]
    if comparison.is_open:
        rows_ends = [(n, percent(low.first[n], low.first[n], 1), percent(high.first[n], high.first[n], 1)) for n in low.first]
        lines = columns(("leads alone, % of draws", "low ends", "high ends"), rows_ends)
    else:
        lines = columns(("", "leads alone, % of draws"), rows)
    for label, end in ends_of(comparison):
        found = comparison.weights.at(end)
        most = ", ".join(f"{show_order(o)} in {percent(s, s, 1)} %" for o, s in list(found.orders.items())[:TOP])
        lines += paragraph(f"{label}: {most}" if label else most)
    share = percent(min(low.holds, high.holds), max(low.holds, high.holds), 1)
    return lines + paragraph(
        f"The order under the rubric's weights is found in {share} % of {low.draws} draws (Dirichlet, concentration "
        f"{low.concentration:g}, seed {low.seed})."
    )


def show_order(order: Order) -> str:
    """An order at one end: `a > b = c`."""
    return " > ".join(" = ".join(place) for place in order)


def domains(comparison: Comparison) -> list[str]:
    """The order without each domain."""
    low, high = comparison.domains.both
    if low.holds is None or high.holds is None:
        return paragraph(f"Not known: {low.reason or high.reason}.")
    words = {True: "holds", False: "changes", None: NOTHING}
    if comparison.is_open:
        head: tuple[str, ...] = ("order without", "low ends", "high ends")
    else:
        head = ("order without", "")
    rows = []
    for name in low.without:
        told = [words[end.without[name].same_order] for end in low_high(comparison.domains, comparison.is_open)]
        rows.append((name, *told))
    kept = [name for name in low.without if low.without[name].same_order and high.without[name].same_order]
    every = " at both ends" if comparison.is_open else ""
    return columns(head, rows) + paragraph(
        f"The order holds{every} without {len(kept)} of {count(len(low.without), 'domain')}."
    )
