"""The overview: all runs of a session side by side, what the gates decided, and where points were lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...text import counted
from ..agreement import agreement_line, who_judged
from ..words import Words
from .costs import COST_HEAD, system_costs
from .facts import more
from .items import bar
from .runs import MAX_NOTES, Material, bounded
from .views import (
    BELIEVED,
    OUTCOMES,
    CohortView,
    CriterionView,
    GateView,
    ItemHead,
    ItemView,
    Outcome,
    RunHead,
    RunView,
    SystemView,
)

if TYPE_CHECKING:
    from ...gates import Decision
    from ..results import Results

MAX_COSTLIEST = 10
MAX_CHANGES = 30
MAX_DETAILS = 10
MAX_REASONS = 10
MAX_POINTS = 400
SHORT_REASON = 220


class Tally:
    """What the overview needs of the runs, taken in one by one, so that no page has to stay in memory."""

    def __init__(self) -> None:
        self.heads: list[RunHead] = []
        self.items: list[ItemHead] = []
        self.open: Counter[str] = Counter()
        self._counts: dict[tuple[str, str], Counter[Outcome]] = defaultdict(Counter)
        self._names: dict[str, tuple[str, str]] = {}

    def take(self, run: RunView) -> None:
        """Take the page of a run in."""
        self.heads.append(run.head)
        page = run.head.href.split("#", 1)[0]
        for finding in run.findings:
            for item in finding.items:
                self._counts[item.criterion, run.head.system][item.outcome] += 1
                self._names.setdefault(item.criterion, (item.number, item.title))
                self.items.append(_item_head(item, page, run.head.label, finding.number))
                if item.outcome in ("open", "error"):
                    self.open[f"{item.number} {item.title}: {item.word}. {item.reason}".strip()] += 1

    def criteria(self, systems: Sequence[str], order: Sequence[str]) -> tuple[CriterionView, ...]:
        """How often each outcome came up, for each criterion and system; criteria of `order` first, as they stand."""
        names = {id: self._names[id] for id in [*(id for id in order if id in self._names), *self._names]}
        return tuple(
            CriterionView(
                id, number, title, tuple({o: self._counts[id, name][o] for o in OUTCOMES} for name in systems)
            )
            for id, (number, title) in names.items()
        )


def _item_head(item: ItemView, page: str, run: str, finding: int | None) -> ItemHead:
    return ItemHead(
        href=f"{page}#{item.anchor}",
        run=run,
        finding_number=finding,
        criterion=item.criterion,
        number=item.number,
        title=item.title,
        dimension=item.dimension,
        outcome=item.outcome,
        lost=item.lost,
        change=item.change,
        was=item.was,
        reason=item.reason[:SHORT_REASON].rsplit(" ", 1)[0] + "…" if len(item.reason) > SHORT_REASON else item.reason,
    )


def cohort_view(results: Results, tally: Tally, material: Material, baseline: str | None) -> CohortView:
    """The overview of `results`, whose runs `tally` has taken in."""
    names = list(dict.fromkeys(head.system for head in tally.heads))
    tasks = list(dict.fromkeys(head.task for head in tally.heads))
    grid: dict[tuple[str, str], tuple[RunHead, ...]] = {}
    for head in tally.heads:
        grid[head.task, head.system] = (*grid.get((head.task, head.system), ()), head)
    failing = sorted((i for i in tally.items if i.outcome == "zero" and i.lost > 0), key=lambda i: -i.lost)
    changes = {change: [i for i in tally.items if i.change == change] for change in ("fallen", "raised", "new")}
    counts: Counter[Outcome] = Counter(item.outcome for item in tally.items)
    reasons = tally.open.most_common()
    words = material.words
    dimensions = tuple((id, t) for id, t in material.dimensions if any(id in s.dimensions for s in results.systems))
    return CohortView(
        title=_title(results),
        facts=tuple(_facts(results, words)),
        decision=None if results.decision is None else _gate(results.decision, words),
        gates=tuple(_gate(decision, words) for decision in results.decisions),
        incomplete=words.line(results.incomplete or "", 400),
        systems=tuple(_systems(results, names, [id for id, _ in dimensions], tally, material)),
        tasks=tuple(tasks),
        grid=grid,
        dimensions=dimensions,
        criteria=tally.criteria(names, list(material.criteria)),
        costliest=tuple(failing[:MAX_COSTLIEST]),
        failing=counts["zero"],
        baseline=words.line(baseline or "", 200),
        changes={change: tuple(items[:MAX_CHANGES]) for change, items in changes.items()},
        change_counts={change: len(items) for change, items in changes.items()},
        open_reasons=tuple((count, words.line(reason, 240)) for reason, count in reasons[:MAX_REASONS]),
        more_reasons=more(len(reasons) - MAX_REASONS, "more reasons"),
        notes=bounded(results.notes, MAX_NOTES, words),
        cost_head=COST_HEAD,
        runs=tuple(tally.heads),
        counts={outcome: counts[outcome] for outcome in OUTCOMES},
    )


def _title(results: Results) -> str:
    findings = sum(len(run.findings) for run in results.runs)
    criteria = sum(len(run.verdicts) + sum(len(f.verdicts) for f in run.findings) for run in results.runs)
    told = (counted(len(results.runs), "run"), counted(findings, "finding"), counted(criteria, "criterion", "criteria"))
    return ", ".join(told)


def _facts(results: Results, words: Words) -> Iterable[tuple[str, str]]:
    for rubric in results.rubrics:
        yield "Rubric", words.line(f"{rubric.title or rubric.id} ({rubric.id} {rubric.version})", 160)
    yield "Scoring profile", results.rubrics[0].profile
    yield "Judge", "none known" if results.judge is None else words.line(who_judged(results.judge), 240)
    yield BELIEVED, words.line(results.believed.sentence, 400)
    for line in agreement_line(results.verdicts):
        yield "Votes", words.line(line.removeprefix("votes: "), 300)


def _gate(decision: Decision, words: Words) -> GateView:
    details = tuple(words.line(detail, 240) for detail in decision.details[:MAX_DETAILS])
    left = more(len(decision.details) - MAX_DETAILS)
    return GateView(decision.outcome, words.line(decision.sentence, 600), details, left)


def _systems(
    results: Results, names: Sequence[str], dimensions: Sequence[str], tally: Tally, material: Material
) -> Iterable[SystemView]:
    scored = {system.name: system for system in results.systems}
    for name in names:
        system = scored.get(name)
        if system is not None:
            points = [(h.label, h.score, h.href) for h in tally.heads if h.system == name and h.score is not None]
            shares = system.dimensions
            yield SystemView(
                name=name,
                score=bar(system.score),
                tasks=system.tasks,
                points=tuple(points[:MAX_POINTS]),
                dimensions=tuple(bar(shares[id], 100, 0, " %") if id in shares else None for id in dimensions),
                costs=system_costs([run for run in results.runs if run.index.system == name], material),
            )
