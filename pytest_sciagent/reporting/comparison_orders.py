"""Sections of a comparison that ask whether the order of systems holds under other ways to score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..statistics import Bounds, Correlation, OrderComparison, compare_intervals
from ..text import counted
from .columns import NOTHING, columns, interval, number, paragraph, percent, probability, signed, span
from .comparison_results import Comparison, End, Ends, OrderCheck, ScoreComparison

if TYPE_CHECKING:
    from ..statistics import SystemYield, WeightSensitivity
    from ..statistics.ranking import Order

LABELS: tuple[tuple[str, End], ...] = (("low ends", "low"), ("high ends", "high"))
TOP = 3
ENOUGH = 10


def ends_of(comparison: ScoreComparison) -> tuple[tuple[str, End], ...]:
    """The ends to show, with their labels; one without a label where everything is assessed."""
    return LABELS if comparison.is_open else (("", "low"),)


def per_end(comparison: Comparison, tell: Callable[[End], str]) -> list[str]:
    """What is told of each end; once where both say the same."""
    told = {label: tell(end) for label, end in ends_of(comparison)}
    if len(set(told.values())) == 1:
        return paragraph(next(iter(told.values())))
    return [line for label, text in told.items() for line in paragraph(f"{label}: {text}")]


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


def holds(ends: Ends[OrderComparison], is_open: bool, how: str = "") -> str:
    """What both ends say about an order that is made `how`, as a sentence."""
    if ends.low.same_order is None or ends.high.same_order is None:
        return f"No order to look at: {ends.low.reason or ends.high.reason}."
    if ends.low.same_order != ends.high.same_order:
        return f"Whether the order holds{how} is open: it does at one end only."
    every = " at both ends" if is_open else ""
    return f"The order of the systems {'holds' if ends.low.same_order else 'changes'}{how}{every}."


def _check(check: OrderCheck, title: str) -> list[str]:
    is_open = any(low != high for low, high in (*check.before.values(), *check.after.values()))
    if not check.before:
        return paragraph(holds(check.ends, is_open))
    rows = [(name, span(*check.before[name]), span(*check.after[name])) for name in check.before]
    lines = columns(("mean over shared tasks", "score", title), rows)
    if len(rows) > 1:
        lines += paragraph(f"score: {order_text(check.before)}; {title}: {order_text(check.after)}")
        taus = dict.fromkeys(number(end.tau, 2) for end in check.ends.both if end.tau is not None)
        lines += paragraph(holds(check.ends, is_open) + (f" Kendall's tau-b {' and '.join(taus)}." if taus else ""))
    return lines


def main_body(comparison: Comparison) -> list[str]:
    """Scores by 0.60 S1 + 0.20 S2 only."""
    return _check(comparison.main_body, "main body") if comparison.main_body is not None else []


def feasibility(comparison: Comparison) -> list[str]:
    """Scores without criteria that cannot be met on a task."""
    if not comparison.infeasible:
        return paragraph("No task marks a dimension or criterion as infeasible: the scores stay as they are.")
    lines = []
    for task, names in comparison.infeasible.items():
        lines += paragraph(f"{task}: {', '.join(names.split(','))}")
    lines += paragraph("are left out there, and the rest is scaled to the same 100 points")
    return lines + _check(comparison.feasible, "feasible only")


def judges(comparison: Comparison) -> list[str]:
    """Scores of the same runs by other judges."""
    lines: list[str] = []
    for name, check in comparison.judges.items():
        lines += _check(check, name)
    return lines


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
                    f"{found.runs} of {counted(found.tasks, 'task')}",
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
    if low.reason or high.reason or low.holds is None or high.holds is None:
        return paragraph(f"Not known: {low.reason or high.reason}.")
    ends = [(label, comparison.weights.at(end)) for label, end in ends_of(comparison)]
    rows = [(name, *(percent(end.first[name], end.first[name], 1) for _, end in ends)) for name in low.first]
    lines = columns(("leads alone, % of draws", *(label for label, _ in ends)), rows)
    lines += per_end(comparison, lambda end: _top_orders(comparison.weights.at(end)))
    share = percent(min(low.holds, high.holds), max(low.holds, high.holds), 1)
    lines += paragraph(
        f"The order under the rubric's weights is found in {share} % of {low.draws} draws (Dirichlet, concentration "
        f"{low.concentration:g}, seed {low.seed})."
    )
    return lines + _no_winner(comparison)


def _top_orders(found: WeightSensitivity) -> str:
    return ", ".join(f"{show_order(o)} in {percent(s, s, 1)} %" for o, s in list(found.orders.items())[:TOP])


def show_order(order: Order) -> str:
    """An order at one end: `a > b = c`."""
    return " > ".join(" = ".join(place) for place in order)


def _no_winner(comparison: Comparison) -> list[str]:
    """Where an order at one end must not be read as a result."""
    if comparison.leader is not None or not comparison.is_open:
        return []
    return paragraph("Intervals overlap, so an order at one end, or at both, names no winner.")


def domains(comparison: Comparison) -> list[str]:
    """The order without each domain."""
    low, high = comparison.domains.both
    if low.holds is None or high.holds is None:
        return paragraph(f"Not known: {low.reason or high.reason}.")
    ends = [(label, comparison.domains.at(end)) for label, end in ends_of(comparison)]
    words = {True: "holds", False: "changes", None: NOTHING}
    rows = [(name, *(words[end.without[name].same_order] for _, end in ends)) for name in low.without]
    kept = [name for name in low.without if low.without[name].same_order and high.without[name].same_order]
    every = " at both ends" if comparison.is_open else ""
    lines = columns(("order without", *(label for label, _ in ends)), rows)
    lines += paragraph(f"The order holds{every} without {len(kept)} of {counted(len(low.without), 'domain')}.")
    return lines + _no_winner(comparison)


def yields(comparison: Comparison) -> list[str]:
    """Scores with and without the yield bonus, and how good findings are by their rank."""
    if comparison.yields is None:
        return []
    if comparison.yields.low.reason:
        return paragraph(f"Not known: {comparison.yields.low.reason}.")
    ends = [(label, comparison.yields.at(end)) for label, end in ends_of(comparison)]
    ranks = max(len(system.by_rank) for _, end in ends for system in end.systems.values())
    rows: list[Sequence[str] | str] = []
    for name in comparison.yields.low.systems:
        rows.append(name)
        rows += [(label, *_yield_cells(end.systems[name], ranks)) for label, end in ends]
    head = ("", "distinct", "score", "without bonus", "gain", *(f"rank {n}" for n in range(1, ranks + 1)))
    lines = columns(head, rows)
    lines += paragraph("distinct: findings a run; rank n: mean quality of the n-th best finding, and of how many runs")
    for name in comparison.yields.low.systems:
        lines += per_end(comparison, partial(_count_effect, comparison, name))
    if len(comparison.systems) > 1:
        orders = Ends(comparison.yields.low.order, comparison.yields.high.order)
        lines += paragraph(holds(orders, comparison.is_open, " without the yield bonus")) + _no_winner(comparison)
    return lines


def _yield_cells(system: SystemYield, ranks: int) -> list[str]:
    found = [number(system.findings), number(system.score), number(system.without_bonus), signed(system.gain)]
    found += [f"{number(rank.mean)} ({rank.runs})" for rank in system.by_rank]
    return found + [NOTHING] * (ranks - len(system.by_rank))


def _count_effect(comparison: Comparison, system: str, end: End) -> str:
    assert comparison.yields is not None
    found = comparison.yields.at(end).systems[system].count_without_bonus
    return f"{system}, count against score without the bonus: {correlation_text(found, 'run')}"


def correlation_text(found: Correlation, what: str) -> str:
    """Both coefficients. Spearman's p is a coarse one, so that it is told from ten points on only."""
    if found.pearson is None:
        return f"no correlation, {found.reason}."
    coarse = f" (p {probability(found.spearman_p)})" if found.n >= ENOUGH else ""
    return (
        f"Pearson r {number(found.pearson, 2)} (p {probability(found.pearson_p)}), "
        f"Spearman {number(found.spearman, 2)}{coarse}, {counted(found.n, what)}."
    )
