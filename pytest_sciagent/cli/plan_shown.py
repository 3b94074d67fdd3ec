"""What asking judges would take, as people and as programs read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..text import counted, one_line

if TYPE_CHECKING:
    from ..evaluation import Case
    from ..judging.estimate import AnswerLengths, Estimate, Pace
    from ..judging.prices import Price
    from ..models import JudgeIdentity, Rubric

SCHEMA = "sciagent-plan/1"


@dataclass(frozen=True)
class JudgePlan:
    """What one judge would take, layout by layout. `price_from`: where the price is from, or why there is none."""

    judge: JudgeIdentity
    price: Price | None
    price_from: str
    lengths: AnswerLengths
    estimates: tuple[Estimate, ...]
    panel: str | None = None


def lines_of(cases: Sequence[Case], rubrics: Sequence[Rubric], plans: Sequence[JudgePlan], pace: Pace) -> list[str]:
    """The plans as tables, with what their numbers rest on."""
    findings = sum(len(case.report.findings) for case in cases)
    names = ", ".join(f"{rubric.id} {rubric.version}" for rubric in rubrics)
    limits = [f"{pace.in_flight} in flight"]
    limits += [f"{value:g} {name} a minute" for value, name in ((pace.rpm, "calls"), (pace.tpm, "tokens")) if value]
    lines = [f"{counted(len(cases), 'run')}, {counted(findings, 'finding')}; rubric {names}; {', '.join(limits)}"]
    for plan in plans:
        lines += ["", one_line(plan.judge.label, 100), *_table(plan)]
        lines += [f"  {note}" for note in _notes(plan)]
    for panel in dict.fromkeys(plan.panel for plan in plans if plan.panel is not None):
        lines += ["", f"panel {one_line(panel, 200)}", *_panel_lines([p for p in plans if p.panel == panel])]
    return [*lines, "", *_how()]


def _panel_lines(plans: Sequence[JudgePlan]) -> Iterator[str]:
    """What all members of a panel take together, in each layout that all of them have."""
    for layout in dict.fromkeys(e.layout for plan in plans for e in plan.estimates):
        mine = [e for plan in plans for e in plan.estimates if e.layout == layout]
        if len(mine) == len(plans):
            costs = [e.cost for e in mine]
            known = [cost for cost in costs if cost is not None]
            dollars = f"{sum(known):,.2f} USD" if len(known) == len(costs) else "USD not known"
            yield f"  {layout}: {counted(sum(e.calls for e in mine), 'call')}, {dollars}"


_COLUMNS = (
    "layout",
    "questions",
    "calls",
    "tokens in",
    "cached",
    "out",
    "USD",
    "no cache",
    "batch USD",
    "time",
    "batch",
)


def _table(plan: JudgePlan) -> list[str]:
    rows = [list(_COLUMNS), *(_row(estimate) for estimate in plan.estimates)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(_COLUMNS))]
    return [
        "  "
        + "  ".join(
            f"{cell:<{w}}" if n == 0 else f"{cell:>{w}}" for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _row(e: Estimate) -> list[str]:
    dollars = ["?" if value is None else f"{value:,.2f}" for value in (e.cost, e.cost_without_cache)]
    batch = "-" if e.batch_hours is None else "?" if e.batch_cost is None else f"{e.batch_cost:,.2f}"
    counts = (e.questions, e.calls, e.input_tokens, e.cached_tokens, e.output_tokens)
    hours = "-" if e.batch_hours is None else f"<= {e.batch_hours} h"
    return [e.layout, *(f"{count:,}" for count in counts), *dollars, batch, _duration(e.seconds), hours]


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _notes(plan: JudgePlan) -> list[str]:
    """What the numbers of one judge rest on."""
    from ..judging.clients import KEY_VARIABLES

    price, lengths = plan.price, plan.lengths
    notes = [f"price: {plan.price_from}"]
    if price is not None:
        cached = "cached as other input" if price.cached is None else f"{price.cached:g} cached"
        told = f"{price.input:g} in, {cached}, {price.output:g} out, USD for a million tokens"
        saved = [(e.layout, (e.cost_without_cache or 0) - (e.cost or 0)) for e in plan.estimates]
        shown = ", ".join(f"{layout} {dollars:,.2f}" for layout, dollars in saved)
        notes = [f"price: {told} ({plan.price_from})", f"saved by the provider's cache of prompts, USD: {shown}"]
    tokens = ", ".join(f"{kind} {value:.0f}" for kind, value in lengths.tokens.items())
    timed = f"median of {lengths.timed} recorded" if lengths.timed else lengths.untimed
    notes.append(f"tokens of an answer: {tokens} ({lengths.source})")
    if plan.judge.kind in KEY_VARIABLES:
        notes.append(f"seconds of a call: {lengths.seconds:.1f} ({timed})")
    waiting = max((e.waiting for e in plan.estimates), default=0)
    if waiting:
        notes.append(
            f"{waiting} of the questions wait for answers about the run: code may then decide them; reckoned without "
            "the facts that will be shown"
        )
    return notes


def _how() -> list[str]:
    """What is estimated, and how: nothing in the tables is counted by a provider."""
    from ..judging.estimate import CACHE_FLOOR
    from ..judging.quota import BYTES_PER_TOKEN, IMAGE_TOKENS

    return [
        "How this is estimated:",
        f"  tokens in: the bytes of the prompts / {BYTES_PER_TOKEN:g}; no call is refused, cut short or repeated",
        f"  an image: {IMAGE_TOKENS:,} tokens",
        f"  cached: what prompts of one finding share, from the second call on, from {CACHE_FLOOR:,} tokens on",
        "  left out: what some providers ask for putting a prompt into their cache",
        "  batch: half the price of live calls, none of it cached; the questions about runs come a batch earlier",
    ]


def json_of(cases: Sequence[Case], rubrics: Sequence[Rubric], plans: Sequence[JudgePlan], pace: Pace) -> dict[str, Any]:
    """The plans as JSON, with all digits that are worth keeping."""
    from ..judging.quota import BYTES_PER_TOKEN

    return {
        "schema": SCHEMA,
        "runs": [case.run.label for case in cases],
        "findings": sum(len(case.report.findings) for case in cases),
        "rubrics": [{"id": r.id, "version": r.version, "digest": r.digest} for r in rubrics],
        "pace": asdict(pace),
        "bytes_per_token": BYTES_PER_TOKEN,
        "judges": [
            {
                "judge": plan.judge.as_json(),
                "panel": plan.panel,
                "price": None if plan.price is None else asdict(plan.price),
                "price_from": plan.price_from,
                "answer_tokens": {kind: round(value, 1) for kind, value in plan.lengths.tokens.items()},
                "answer_tokens_from": plan.lengths.source,
                "answers_recorded": plan.lengths.recorded,
                "call_seconds": round(plan.lengths.seconds, 3),
                "calls_timed": plan.lengths.timed,
                "layouts": [_rounded(asdict(estimate)) for estimate in plan.estimates],
            }
            for plan in plans
        ],
    }


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}
