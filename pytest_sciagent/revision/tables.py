"""The tables of an experiment: gains by arm, by domain, by round, what was verified, what it cost, at equal compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..models.results import Ends
from ..models.revision import ARMS, Arm
from ..reporting.columns import NOTHING, columns, number, paragraph, percent, span
from ..statistics.base import mean_of
from .experiment import Scored
from .told import gained

Rows = list[Sequence[str] | str]


def tables(scored: Sequence[Scored]) -> Iterator[str]:
    """All tables, as lines. Repeats of a task are averaged first, then tasks."""
    for system in dict.fromkeys(one.system for one in scored):
        mine = [one for one in scored if one.system == system]
        tasks = len({one.task for one in mine})
        yield f"ARMS of {system} on {tasks} task{'' if tasks == 1 else 's'} (gain: points over the same round 0)"
        yield from columns(
            ("", "tasks", "score", "gain", "up", "down", "turns", "tokens", "recovered", "tokens each"), _by_arm(mine)
        )
        yield from _notes(mine)
        yield "GAIN by domain"
        domains = sorted({one.domain for one in mine})
        yield from columns(("", *domains), _by_domain(mine, domains))
        yield "GAIN of each turn, on the tasks that remain"
        yield from columns(("", "turn", "tasks", "gain"), _by_turn(mine))
        yield from _verified(mine)
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
            "scores": [score.model_dump() for score in one.scores],
            "gain": one.gain.model_dump(),
            "turns": one.trajectory.spent.turns,
            "tokens": one.trajectory.spent.tokens,
            "cost_usd": one.trajectory.spent.cost_usd,
            "recovered": one.recovered,
            "stopped": one.trajectory.record.stopped if one.trajectory.record is not None else None,
            "note": one.trajectory.note,
        }
        for one in scored
    ]


def _arms(scored: Iterable[Scored]) -> dict[Arm, list[Scored]]:
    """What can be compared, arm by arm in the usual order."""
    usable = [one for one in scored if one.trajectory.note is None]
    return {arm: mine for arm in ARMS if (mine := [one for one in usable if one.arm == arm])}


def mean_ends(scored: Iterable[Scored], value: Callable[[Scored], Ends]) -> Ends:
    """The mean over tasks of the mean over repeats, at both ends."""
    by_task: dict[str, list[Ends]] = {}
    for one in scored:
        by_task.setdefault(one.task, []).append(value(one))
    lows = [mean_of([end.low for end in ends]) for ends in by_task.values()]
    highs = [mean_of([end.high for end in ends]) for ends in by_task.values()]
    return Ends(low=mean_of(lows), high=mean_of(highs))


def _shown(ends: Ends) -> str:
    return span(ends.low, ends.high)


def _by_arm(scored: Sequence[Scored]) -> Iterator[Sequence[str]]:
    for arm, mine in _arms(scored).items():
        gains = [one.gain for one in mine]
        recovered = [one.recovered for one in mine]
        known = None if None in recovered else sum(n for n in recovered if n is not None)
        tokens = _total([one.trajectory.spent.tokens for one in mine])
        yield (
            arm,
            str(len({one.task for one in mine})),
            _shown(mean_ends(mine, lambda one: one.scores[-1])),
            _shown(mean_ends(mine, lambda one: one.gain)),
            str(sum(gain.low > 0 for gain in gains)),
            str(sum(gain.high < 0 for gain in gains)),
            number(mean_of([float(one.trajectory.spent.turns) for one in mine])),
            NOTHING if tokens is None else f"{tokens:,}",
            NOTHING if known is None else str(known),
            NOTHING if not known or tokens is None else f"{tokens / known:,.0f}",
        )


def _total(values: Sequence[int | None]) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)


def _notes(scored: Sequence[Scored]) -> Iterator[str]:
    for one in scored:
        if one.trajectory.note is not None:
            yield from paragraph(f"left out: {one.arm} on {one.task}: {one.trajectory.note}")


def _by_domain(scored: Sequence[Scored], domains: Sequence[str]) -> Iterator[Sequence[str]]:
    for arm, mine in _arms(scored).items():
        parts = [[one for one in mine if one.domain == domain] for domain in domains]
        yield (arm, *(_shown(mean_ends(part, lambda one: one.gain)) if part else NOTHING for part in parts))


def _by_turn(scored: Sequence[Scored]) -> Rows:
    """Each turn by itself: the mean gain over the turn before, among those that took it."""
    rows: Rows = []
    for arm, mine in _arms(scored).items():
        for turn in range(1, max(len(one.scores) for one in mine)):
            there = [one for one in mine if len(one.scores) > turn]
            gain = mean_ends(there, lambda one, turn=turn: one.between(turn - 1, turn))  # type: ignore[misc]
            rows.append((arm if turn == 1 else "", str(turn), str(len({one.task for one in there})), _shown(gain)))
    return rows


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


def _rounds_of(record: Any) -> int:
    return max((tried.number for tried in record.tried), default=0)


def _equal_compute(scored: Sequence[Scored]) -> Iterator[str]:
    """What the rubric brings where the same tokens are spent without one."""
    arms = _arms(scored)
    if "rubric+revise" not in arms or "compute-matched" not in arms:
        return
    matched = {(one.task, one.repeat): one for one in arms["compute-matched"]}
    pairs = {
        (one.task, one.repeat): gained(matched[one.task, one.repeat].scores[-1], one.scores[-1])
        for one in arms["rubric+revise"]
        if (one.task, one.repeat) in matched
    }
    if not pairs:
        return
    both = [one for one in arms["rubric+revise"] if (one.task, one.repeat) in pairs]
    mean = mean_ends(both, lambda one: pairs[one.task, one.repeat])
    yield "AT EQUAL COMPUTE: rubric+revise over compute-matched"
    yield from paragraph(f"{_shown(mean)} points on {len({one.task for one in both})} tasks")
