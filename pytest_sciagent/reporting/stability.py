"""How stable scores are: what of their spread is the judge's, the runs' and the tasks', and what it hides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from ..evaluation.recorded import all_verdicts
from ..judging.judge import OneDraw
from ..models import JudgeIdentity, Rubric
from ..scoring.interval import Interval
from ..statistics import Components, mean_difference, smallest_difference, tasks_needed, variance_components
from ..statistics.base import mean_of
from ..text import counted
from .columns import columns, number, paragraph
from .results import run_result
from .scored_runs import OpenRun
from .validity import Validity

SCHEMA = "sciagent-stability/1"
POWER = 0.8

Drawn = Mapping[str, Sequence[Sequence[float]]]
"""By task, for each run of it, its score under each draw."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems on the tasks that both have, means over runs and draws (points).

    sd: of the differences by task. smallest: the difference that a one-sided test at 95 % shows with 80 % power.
    needed: tasks for a difference of the margin. sd_without_judge, sd_without_runs: what would be left of `sd` with
    endlessly many draws, and with endlessly many runs too; None where that noise is not known.
    """

    a: str
    b: str
    tasks: int
    mean: float | None
    sd: float | None
    smallest: float | None
    needed: int | None
    sd_without_judge: float | None
    sd_without_runs: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Stability:
    """flips: questions that the judge answers with another level in its second draw, of `twice` drawn twice.
    widest: how far apart the two ends of a score are, at most; scores are taken at the middle."""

    judge: JudgeIdentity
    draws: int
    margin: float
    systems: Mapping[str, Components]
    pairs: tuple[Pair, ...]
    flips: int
    twice: int
    widest: float


def stability(runs: Sequence[OpenRun], rubric: Rubric, judge: JudgeIdentity, draws: int, margin: float) -> Stability:
    """Score `runs` by each of the first `draws` draws that are recorded of `judge`, and split what differs."""
    scores: dict[str, dict[str, list[list[float]]]] = {}
    flips = twice = 0
    widest = 0.0
    for run in runs:
        drawn: list[float] = []
        levels: list[dict[object, float | None]] = []
        for draw in range(1, draws + 1):
            view = OneDraw(judge, draw)
            verdicts = all_verdicts(run.case, rubric, view) if run.case is not None else {}
            facts = run.case.about_run.facts(view) if run.case is not None else None
            total = run_result(run.index, run.case, verdicts, (rubric,), facts).total
            levels.append({key: v.level for key, v in verdicts.items() if v.judge is not None})
            if total is not None:
                drawn.append(_middle(total))
                widest = max(widest, float(total.high - total.low))
        if drawn:
            scores.setdefault(run.index.system, {}).setdefault(run.index.task_id, []).append(drawn)
        if draws > 1:
            both = [(levels[0][k], levels[1][k]) for k in levels[0] if levels[1].get(k) is not None]
            both = [pair for pair in both if pair[0] is not None]
            twice += len(both)
            flips += sum(a != b for a, b in both)
        run.case = None
    components = {system: variance_components(tasks) for system, tasks in sorted(scores.items())}
    pairs = tuple(
        compare_pair(a, scores[a], components[a], b, scores[b], components[b], margin)
        for a, b in combinations(sorted(scores), 2)
    )
    return Stability(judge, draws, margin, components, pairs, flips, twice, widest)


def _middle(score: Interval) -> float:
    return float((score.low + score.high) / 2)


def compare_pair(
    a: str, of_a: Drawn, noise_a: Components, b: str, of_b: Drawn, noise_b: Components, margin: float
) -> Pair:
    """What a comparison of two systems, paired by task, can show."""
    means = [{task: mean_of(map(mean_of, runs)) for task, runs in side.items()} for side in (of_a, of_b)]
    shared = sorted(set(means[0]) & set(means[1]))
    if len(shared) < 2:
        reason = "fewer than two shared tasks: the spread of differences is not known"
        return Pair(a, b, len(shared), None, None, None, None, None, None, reason)
    found = mean_difference(means[0], means[1])
    differences = [means[0][task] - means[1][task] for task in shared]
    centre = mean_of(differences)
    variance = sum((d - centre) ** 2 for d in differences) / (len(shared) - 1)
    judge = _noise(noise_a.judge, noise_a.runs * noise_a.draws, noise_b.judge, noise_b.runs * noise_b.draws)
    runs = _noise(noise_a.run, noise_a.runs, noise_b.run, noise_b.runs)
    sd = variance**0.5
    return Pair(
        a,
        b,
        len(shared),
        found.mean,
        sd,
        smallest_difference(sd / len(shared) ** 0.5, len(shared) - 1, power=POWER),
        tasks_needed(sd, margin, power=POWER),
        None if judge is None else max(0.0, variance - judge) ** 0.5,
        None if judge is None or runs is None else max(0.0, variance - judge - runs) ** 0.5,
    )


def _noise(a: Any, times_a: int, b: Any, times_b: int) -> float | None:
    """The variance that one component gives to the difference of two means; None where it is not known of both."""
    return None if a is None or b is None else a.value / times_a + b.value / times_b


def stability_text(found: Stability, validity: Validity) -> str:
    """All of it, ready to be printed."""
    return "\n".join(_lines(found, validity)) + "\n"


def _lines(found: Stability, validity: Validity) -> Iterator[str]:
    yield f"{found.judge.label}, {counted(found.draws, 'draw')}; scores are points of 0..100"
    yield from paragraph(validity.sentence)
    if found.widest > 0:
        yield from paragraph(f"scores are open by up to {found.widest:.1f} points; the middles are taken")
    if found.twice:
        yield from paragraph(
            f"flips: {found.flips} of {counted(found.twice, 'answer')} ({100 * found.flips / found.twice:.0f} %) have "
            "another level in the second draw"
        )
    yield from ("", "SPREAD: standard deviations in points, with 95 % intervals")
    rows = []
    for system, parts in found.systems.items():
        shown = [_sd(part) for part in (parts.judge, parts.run, parts.task)]
        rows.append((system, str(parts.tasks), str(parts.runs), str(parts.draws), *shown))
    yield from columns(("", "tasks", "runs", "draws", "judge", "run", "task"), rows)
    for system, parts in found.systems.items():
        if parts.reason is not None:
            yield from paragraph(f"{system}: {parts.reason}")
    if found.pairs:
        yield from ("", "DIFFERENCES: paired by task, a one-sided test at 95 % with 80 % power")
        for pair in found.pairs:
            yield from paragraph(_pair(pair, found.margin))


def _sd(part: Any) -> str:
    return "-" if part is None else f"{part.value**0.5:.1f} {part.low**0.5:.1f}..{part.high**0.5:.1f}"


def _pair(pair: Pair, margin: float) -> str:
    head = f"{pair.a} - {pair.b}, {counted(pair.tasks, 'shared task')}"
    if pair.smallest is None or pair.sd is None:
        return f"{head}: {pair.reason}"
    needed = "more than 100,000" if pair.needed is None else str(pair.needed)
    text = (
        f"{head}: mean {number(pair.mean)}, sd of differences {number(pair.sd)}; differences of "
        f"{number(pair.smallest)} points or more are shown; {needed} tasks would show {margin:g} points"
    )
    if pair.sd_without_judge is not None:
        text += f"; with ever more draws the sd would fall to {number(pair.sd_without_judge)}"
    if pair.sd_without_runs is not None:
        text += f", with ever more runs too to {number(pair.sd_without_runs)}"
    return text


def stability_json(found: Stability, validity: Validity) -> dict[str, Any]:
    """All of it as plain data."""
    told = {"judge": found.judge.as_json(), "validity": validity.as_json()}
    return {"schema": SCHEMA, "power": POWER, **asdict(found), **told}
