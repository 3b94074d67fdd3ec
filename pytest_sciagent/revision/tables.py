"""The tables of an experiment: gains by arm, by domain, by turn, what was verified, what it cost, at equal compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..models.results import Ends
from ..models.revision import ARMS, Arm, RevisionRecord
from ..reporting.columns import NOTHING, columns, interval, number, paragraph, percent, span
from ..reporting.validity import told_once
from ..statistics import MeanGain, mean_gain
from ..statistics.base import mean_of
from ..text import clean, counted
from .experiment import Scored
from .told import gained

Rows = list[Sequence[str] | str]
OVER: tuple[tuple[Arm, Arm], ...] = (
    ("rubric", "skeleton"),
    ("rubric+revise", "rubric"),
    ("rubric+revise", "self-refine"),
)
"""Which arm is set against which: what conditions add to questions, rounds to a rubric, and a rubric to rounds."""
GAIN = ("gain", "95 % t")


def tables(scored: Sequence[Scored]) -> Iterator[str]:
    """All tables, as lines. Repeats of a task are averaged first, then tasks."""
    for system in dict.fromkeys(one.system for one in scored):
        mine = [one for one in scored if one.system == system]
        yield f"ARMS of {system} on {counted(len(_tasks(mine)), 'task')} (gain: points over the same round 0)"
        yield from columns(("", "tasks", "score", *GAIN, "up", "down", "turns"), _by_arm(mine))
        for sentence in told_once([one.validity for one in mine]):
            yield from paragraph(sentence)
        yield from _without_interval(mine)
        yield from _notes(mine)
        if {one.arm for one in mine} == {"vanilla"}:
            continue
        yield "COST of each criterion that failed in round 0 and holds at the end"
        yield from columns(("", "recovered", "tokens", "tokens each", "USD", "USD each"), _costs(mine))
        yield "GAIN by domain"
        domains = sorted({one.domain for one in mine})
        yield from columns(("", *domains, "domains up"), _by_domain(mine, domains))
        yield "GAIN of each turn, on the tasks that remain"
        yield from columns(("", "turn", "tasks", *GAIN), _by_turn(mine))
        yield from _verified(mine)
        yield from _one_over_another(mine)
        yield from _equal_compute(mine)


def as_json(scored: Sequence[Scored]) -> list[dict[str, Any]]:
    """Every arm of every cell as plain data."""
    return [
        {
            "system": one.system,
            "task": one.task,
            "repeat": one.repeat,
            "domain": one.domain,
            "arm": one.arm,
            "runs": [run.label for run in one.trajectory.runs],
            "turn_names": [name for _, name in one.trajectory.turns],
            "scores": [score.model_dump() for score in one.scores],
            "gain": one.gain.model_dump(),
            "validity": one.validity,
            "turns": one.trajectory.spent.turns,
            "tokens": one.trajectory.spent.tokens,
            "cost_usd": one.trajectory.spent.cost_usd,
            "recovered": one.recovered,
            "stopped": one.trajectory.record.stopped if one.trajectory.record is not None else None,
            "note": one.trajectory.note,
            "failed": list(one.trajectory.failed),
        }
        for one in scored
    ]


# ---- over tasks


def _tasks(scored: Iterable[Scored]) -> set[str]:
    return {one.task for one in scored}


def _arms(scored: Iterable[Scored]) -> dict[Arm, list[Scored]]:
    """What can be compared, arm by arm in the usual order."""
    usable = [one for one in scored if one.trajectory.note is None]
    return {arm: mine for arm in ARMS if (mine := [one for one in usable if one.arm == arm])}


def _by_task(scored: Iterable[Scored], value: Callable[[Scored], Ends]) -> dict[str, tuple[float, float]]:
    """The mean over repeats of each task, at both ends."""
    found: dict[str, list[Ends]] = {}
    for one in scored:
        found.setdefault(one.task, []).append(value(one))
    return {task: (mean_of(e.low for e in ends), mean_of(e.high for e in ends)) for task, ends in found.items()}


def _mean(scored: Iterable[Scored], value: Callable[[Scored], Ends]) -> str:
    ends = _by_task(scored, value).values()
    return span(mean_of(low for low, _ in ends), mean_of(high for _, high in ends))


def _gain(scored: Iterable[Scored]) -> str:
    return _mean(scored, lambda one: one.gain)


def _told(mean: MeanGain) -> tuple[str, str]:
    return span(mean.mean_low, mean.mean_high), interval(mean.low, mean.high)


# ---- the tables


def _by_arm(scored: Sequence[Scored]) -> Iterator[Sequence[str]]:
    for arm, mine in _arms(scored).items():
        gains = _by_task(mine, lambda one: one.gain)
        yield (
            arm,
            str(len(gains)),
            _mean(mine, lambda one: one.scores[-1]),
            *_told(mean_gain(gains)),
            str(sum(low > 0 for low, _ in gains.values())),
            str(sum(high < 0 for _, high in gains.values())),
            number(mean_of(float(one.trajectory.spent.turns) for one in mine)),
        )


def _notes(scored: Sequence[Scored]) -> Iterator[str]:
    """What was left out, and which turns failed; such a turn leaves what stood before it."""
    for one in scored:
        again = "" if one.repeat == 1 else f", repeat {one.repeat}"
        where, found = f"{one.arm} on {one.task}{again}", one.trajectory
        if found.note is not None:
            yield from paragraph(f"left out: {where}: {found.note}")
        if found.failed:
            share = f"{len(found.failed)} of {counted(found.spent.turns, 'turn')} failed"
            yield from paragraph(f"{where}: {share}: {clean('; '.join(dict.fromkeys(found.failed)))}")


def _costs(scored: Sequence[Scored]) -> Iterator[Sequence[str]]:
    """What an arm used in all, and for each criterion recovered. Unknown where it is so of one run."""
    for arm, mine in _arms(scored).items():
        recovered = _total([one.recovered for one in mine])
        tokens = _total([one.trajectory.spent.tokens for one in mine])
        dollars = _total([one.trajectory.spent.cost_usd for one in mine])
        yield (
            arm,
            number(recovered, 0),
            _thousands(tokens),
            _thousands(tokens / recovered if recovered and tokens is not None else None),
            number(dollars, 2),
            number(dollars / recovered if recovered and dollars is not None else None, 2),
        )


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _thousands(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def _by_domain(scored: Sequence[Scored], domains: Sequence[str]) -> Iterator[Sequence[str]]:
    for arm, mine in _arms(scored).items():
        parts = [[one for one in mine if one.domain == domain] for domain in domains]
        lows = [mean_of(low for low, _ in _by_task(part, lambda one: one.gain).values()) for part in parts if part]
        up = f"{sum(low > 0 for low in lows)} of {len(lows)}"
        yield (arm, *(_gain(part) if part else NOTHING for part in parts), up)
    every = [[one for one in scored if one.domain == domain] for domain in domains]
    yield ("tasks", *(str(len(_tasks(part))) for part in every), "")


def _by_turn(scored: Sequence[Scored]) -> Rows:
    """Each turn by itself: the mean gain over what stood before, among those that took it."""
    rows: Rows = []
    for arm, mine in _arms(scored).items():
        gains: dict[tuple[int, str], list[tuple[Scored, Ends]]] = {}
        for one in mine:
            for place, turn in enumerate(one.trajectory.turns):
                gains.setdefault(turn, []).append((one, one.between(place, place + 1)))
        for place, turn in enumerate(sorted(gains)):
            found = mean_gain(_by_task_of(gains[turn]))
            rows.append((arm if place == 0 else "", turn[1], str(found.n), *_told(found)))
    return rows


def _by_task_of(pairs: Sequence[tuple[Scored, Ends]]) -> dict[str, tuple[float, float]]:
    values = {id(one): ends for one, ends in pairs}
    return _by_task((one for one, _ in pairs), lambda one: values[id(one)])


def _verified(scored: Sequence[Scored]) -> Iterator[str]:
    """How many revisions satisfied all that their loop verifies, within how many rounds."""
    records = [one.trajectory.record for one in scored if one.trajectory.record is not None]
    if not records:
        return
    yield "VERIFIED within so many rounds of revision (rubric+revise)"
    most = max(record.rounds for record in records)
    rows = []
    for rounds in range(most + 1):
        done = sum(r.stopped == "all satisfied" and _rounds_of(r) <= rounds for r in records)
        share = done / len(records)
        rows.append((str(rounds), f"{done} of {len(records)}", percent(share, share)))
    yield from columns(("rounds", "runs", "%"), rows)


def _rounds_of(record: RevisionRecord) -> int:
    return max((tried.number for tried in record.tried), default=0)


def _pairs(scored: Sequence[Scored], arm: Arm, other: Arm) -> list[tuple[Scored, Scored]]:
    """The runs of two arms that share their round 0."""
    arms = _arms(scored)
    theirs = {(one.task, one.repeat): one for one in arms.get(other, [])}
    return [(one, theirs[one.task, one.repeat]) for one in arms.get(arm, []) if (one.task, one.repeat) in theirs]


def _over(pairs: Sequence[tuple[Scored, Scored]]) -> MeanGain:
    return mean_gain(_by_task_of([(one, _difference(one, other)) for one, other in pairs]))


def _difference(one: Scored, other: Scored) -> Ends:
    """What one arm's result has over another's; none where both end with the same run."""
    if one.trajectory.runs[-1].label == other.trajectory.runs[-1].label:
        return Ends(low=0, high=0)
    return gained(other.scores[-1], one.scores[-1])


def _one_over_another(scored: Sequence[Scored]) -> Iterator[str]:
    rows: Rows = []
    for arm, other in OVER:
        if pairs := _pairs(scored, arm, other):
            found = _over(pairs)
            rows.append((arm, f"over {other}", str(found.n), *_told(found)))
    if rows:
        yield "GAIN of one arm over another, on the tasks that both have"
        yield from columns(("", "", "tasks", *GAIN), rows)


def _equal_compute(scored: Sequence[Scored]) -> Iterator[str]:
    """What the rubric brings where the same tokens are spent without one."""
    pairs = _pairs(scored, "rubric+revise", "compute-matched")
    if not pairs:
        return
    found = _over(pairs)
    used, matched = (_total([pair[n].trajectory.spent.tokens for pair in pairs]) for n in (0, 1))
    yield "AT EQUAL COMPUTE: rubric+revise over compute-matched"
    within = "" if found.low is None else f", 95 % t {interval(found.low, found.high)}"
    yield from paragraph(f"{span(found.mean_low, found.mean_high)} points on {counted(found.n, 'task')}{within}")
    if used and matched is not None:
        more = ": its last turn is taken whole" if matched > used else ""
        yield from paragraph(
            f"compute-matched spent {_thousands(matched)} tokens, {number(100 * matched / used, 0)} % of the "
            f"{_thousands(used)} of rubric+revise{more}"
        )


def _without_interval(scored: Sequence[Scored]) -> Iterator[str]:
    """Why the gain of an arm has no interval; of `vanilla`, which has no gain, none is expected."""
    reasons: dict[str, list[Arm]] = {}
    for arm, mine in _arms(scored).items():
        if arm != "vanilla" and (reason := mean_gain(_by_task(mine, lambda one: one.gain)).reason):
            reasons.setdefault(reason, []).append(arm)
    for reason, arms in reasons.items():
        yield from paragraph(f"no interval for {', '.join(arms)}: {reason}")
