"""What a run and its verdicts cost, as far as it is recorded: money, tokens, time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..words import Words

if TYPE_CHECKING:
    from ...models import RunManifest
    from ..results import RunResult
    from .runs import Material

COST_HEAD = ("Runs", "Agent", "Tokens in", "Tokens out", "Time", "Judging")
UNKNOWN = "not recorded"


def about_run(run: RunResult, manifest: RunManifest | None, words: Words) -> list[tuple[str, str]]:
    """What produced the run, and what it and its verdicts cost."""
    told: list[tuple[str, str | None]] = []
    if manifest is not None:
        system, usage = manifest.system, manifest.usage
        harness = " ".join(part for part in (system.harness, system.harness_version) if part)
        counted = [(usage.input_tokens, "in"), (usage.output_tokens, "out")]
        seconds = seconds_of(manifest)
        told = [
            ("Model", system.model and words.line(system.model, 120)),
            ("Harness", harness and words.line(harness, 120)),
            ("Took", None if seconds is None else duration(seconds)),
            ("Agent’s cost", None if usage.cost_usd is None else dollars(usage.cost_usd)),
            ("Agent’s tokens", ", ".join(f"{count:,} {what}" for count, what in counted if count is not None)),
        ]
    known = [cost for cost in run.costs if cost is not None]
    unknown = len(run.costs) - len(known)
    if known:
        told.append(("Judging", dollars(sum(known)) + (f" and {unknown} answers of unknown cost" if unknown else "")))
    return [(name, value) for name, value in told if value]


def system_costs(runs: Sequence[RunResult], material: Material) -> tuple[str, ...]:
    """The columns of `COST_HEAD`: sums over the runs of a system; `at least` where some runs do not say."""
    manifests = [material.manifest(run) for run in runs]
    usages = [None if manifest is None else manifest.usage for manifest in manifests]
    judging = [_judging(run) for run in runs]
    return (
        f"{len(runs):,}",
        _sum([None if u is None else u.cost_usd for u in usages], dollars),
        _sum([None if u is None else u.input_tokens for u in usages], _count),
        _sum([None if u is None else u.output_tokens for u in usages], _count),
        _sum([None if m is None else seconds_of(m) for m in manifests], duration),
        _sum(judging, dollars),
    )


def _judging(run: RunResult) -> float | None:
    """The cost of the recorded answers; None where one is not known, or there are none."""
    known = [cost for cost in run.costs if cost is not None]
    return sum(known) if known and len(known) == len(run.costs) else None


def _sum(values: Sequence[float | None], show: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return UNKNOWN
    return ("at least " if len(known) < len(values) else "") + show(sum(known))


def _count(number: float) -> str:
    return f"{number:,.0f}"


def seconds_of(manifest: RunManifest) -> float | None:
    """How long the run took, by its own account."""
    if manifest.started_at is None or manifest.finished_at is None:
        return None
    try:
        took = datetime.fromisoformat(manifest.finished_at) - datetime.fromisoformat(manifest.started_at)
    except (ValueError, TypeError):
        return None
    return took.total_seconds() if took.total_seconds() >= 0 else None


def duration(seconds: float) -> str:
    """`1 h 5 min`, `15 min`, `40 s`."""
    hours, minutes = divmod(round(seconds) // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{round(seconds)} s"


def dollars(amount: float) -> str:
    """US dollars with cents; below one dollar, with four digits."""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"
