"""From a run's result and its frozen files to its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup

from ...digest import sha256_bytes
from ...models import RunManifest
from ...runs import UnsafeFile
from ...text import slug
from ..words import Words
from .changes import RunChanges
from .costs import about_run
from .facts import more
from .items import ItemMaker, bar, groups, short
from .markdown import MAX_CHARS, render
from .passages import Passages
from .views import BELIEVED, OUTCOMES, FindingView, ItemView, RunHead, RunView

if TYPE_CHECKING:
    from ...evaluation import Case
    from ...models import Criterion, Verdict
    from ...scoring import Interval
    from ..results import FindingResult, RunResult

MAX_NOTES = 12
MAX_LEFT_OUT = 12
MAX_TITLE = 200
MAX_NAME = 150
STATES = {"undelivered": "not delivered: counts as 0", "tampered": "not what was frozen: not scored"}


@dataclass(frozen=True)
class Material:
    """What the pages of one session are made from.

    criteria: of all rubrics and the user's own, by id. counted: ids of those that the score is made of. dimensions: ids
    and titles in the rubric's order. changes: by a run's path; None without a baseline. open_case: the run under
    evaluation, None where it is not sound. open_manifest: what froze it, None where it can't be read. validity: how far
    the judge may be believed, in one sentence.
    """

    criteria: Mapping[str, Criterion]
    counted: frozenset[str]
    dimensions: Sequence[tuple[str, str]]
    changes: Mapping[str, RunChanges] | None
    open_case: Callable[[RunResult], Case | None]
    open_manifest: Callable[[RunResult], RunManifest | None]
    words: Words
    validity: str
    manifests: dict[str, RunManifest | None] = field(default_factory=dict)

    def manifest(self, run: RunResult) -> RunManifest | None:
        """What froze the run; read once."""
        if run.index.path not in self.manifests:
            self.manifests[run.index.path] = self.open_manifest(run)
        return self.manifests[run.index.path]


def anchors(runs: Sequence[RunResult]) -> list[str]:
    """A name for each run that is safe in an address and a file name, each once."""
    seen: Counter[str] = Counter()
    found = []
    for run in runs:
        name = slug(run.index.label.replace("/", "--"))
        if len(name) > MAX_NAME:
            name = f"{name[:MAX_NAME]}-{sha256_bytes(name.encode())[:8]}"
        seen[name.lower()] += 1
        found.append(name if seen[name.lower()] == 1 else f"{name}~{seen[name.lower()]}")
    return found


def run_head(run: RunResult, anchor: str, href: str, items: Sequence[ItemView]) -> RunHead:
    """What the overview says of it."""
    counts = Counter(item.outcome for item in items)
    index = run.index
    return RunHead(
        anchor=anchor,
        system=index.system or index.label.split("/", 1)[0],
        task=index.task_id,
        repeat=index.repeat,
        label=index.label,
        state=STATES.get(index.state, ""),
        score=None if run.total is None else bar(run.total),
        counts={outcome: counts[outcome] for outcome in OUTCOMES},
        href=href,
    )


def run_view(run: RunResult, position: int, anchor: str, href: str, depth: int, material: Material) -> RunView:
    """The page of `run`, the one at `position` of the results. The headings of its report start at `depth`."""
    case = material.open_case(run)
    words = material.words
    report, blocks, name, left = _report(case, anchor, depth, words)
    changes = None if material.changes is None else material.changes.get(run.index.path)
    passages = None if case is None else Passages(case.quotes, words, case.run.manifest.report, _prefix(anchor), blocks)
    pointer = f"runs[{position}]"
    maker = ItemMaker(anchor, run.index.nodeid, pointer, material.criteria, material.counted, passages, changes, words)
    findings = [_finding(f, n, case, maker, material) for n, f in enumerate(run.findings)]
    if run.verdicts:
        items = _items(run.verdicts, None, maker, pointer)
        beside = groups(items, material.dimensions, {})
        findings.append(FindingView(f"{anchor}--run", None, "The run as a whole", None, beside))
    items = [item for finding in findings for item in finding.items]
    shares = run.dimensions
    index = run.index
    return RunView(
        head=run_head(run, anchor, href, items),
        title=_task_title(case, words),
        terms=tuple(_terms(run)),
        about=(
            *about_run(run, material.manifest(run), words),
            (BELIEVED, words.line(material.validity, 400)),
        ),
        notes=bounded([*index.problems, *index.notes, *_gone(run, changes)], MAX_NOTES, words),
        dimensions=tuple((title, bar(shares[id], 100, 0, " %")) for id, title in material.dimensions if id in shares),
        report=report,
        report_name=name,
        report_more=left,
        findings=tuple(findings),
    )


def _finding(
    finding: FindingResult, position: int, case: Case | None, maker: ItemMaker, material: Material
) -> FindingView:
    pointer = f"{maker.pointer}.findings[{position}]"
    items = _items(finding.verdicts, finding.id, maker, pointer)
    known = case.findings.get(finding.id) if case is not None else None
    left = case.questions.left_out(known) if case is not None and known is not None else ()
    return FindingView(
        anchor=f"{maker.anchor}--{finding.id}",
        number=finding.number,
        title=material.words.line(finding.title, MAX_TITLE),
        score=bar(finding.score.score),
        groups=groups(items, material.dimensions, finding.dimensions),
        left_out=tuple(material.words.line(line, 200) for line in left[:MAX_LEFT_OUT]),
        more_left_out=f"{len(left) - MAX_LEFT_OUT} more" if len(left) > MAX_LEFT_OUT else "",
    )


def _items(verdicts: Sequence[Verdict], finding: str | None, maker: ItemMaker, place: str) -> list[ItemView]:
    return [maker.item(verdict, finding, n, place) for n, verdict in enumerate(verdicts)]


def _prefix(anchor: str) -> str:
    return f"{anchor}--L"


def _report(
    case: Case | None, anchor: str, depth: int, words: Words
) -> tuple[Markup | None, tuple[int, ...], str, str]:
    """The report rendered, the lines at which it can be reached, its name, and how much of it is left out."""
    if case is None:
        return None, (), "", ""
    try:
        text = case.run.report_text
    except UnsafeFile:
        text = None
    if text is None:
        return None, (), "", ""
    name = words.line(case.run.manifest.report or "", MAX_TITLE)
    shown = words.text(text)
    rendered, blocks = render(shown, _prefix(anchor), depth)
    left = len(shown) - MAX_CHARS
    return rendered, blocks, name, f"{left:,} more characters in {name} of the frozen run" if left > 0 else ""


def _terms(run: RunResult) -> list[tuple[str, str]]:
    """How the score adds up, in the words of its profile."""
    shown: list[tuple[str, Interval]] = []
    if run.terms is not None:
        t = run.terms
        shown = [("Best finding (S1)", t.s1), ("Second best (S2)", t.s2), ("Yield: findings", t.yield_bonus)]
        shown += [("Target: reference met", t.target), ("Penalty: refuted", t.penalty)]
    if run.feasible is not None:
        shown.append(("Without what the task makes impossible", run.feasible))
    told = [(name, value.show().replace("..", "–")) for name, value in shown]
    if run.findings:
        told.append(("Assessed", f"{short(run.assessed * 100)} %"))
    return told


def _task_title(case: Case | None, words: Words) -> str:
    return words.line(case.task.manifest.title, MAX_TITLE) if case is not None and case.task is not None else ""


def _gone(run: RunResult, changes: RunChanges | None) -> list[str]:
    """How much of the baseline is not there to be compared."""
    if changes is None:
        return []
    present = {(None, v.criterion_id) for v in run.verdicts}
    count = changes.gone({*present, *((f.id, v.criterion_id) for f in run.findings for v in f.verdicts)})
    return [f"{count} criteria of the baseline belong to findings that are not in this run"] if count else []


def bounded(lines: Sequence[str], most: int, words: Words) -> tuple[str, ...]:
    """The first `most` lines made safe, and how many more there are."""
    left = [more(len(lines) - most, "more notes")] if len(lines) > most else []
    return (*(words.line(line, 400) for line in lines[:most]), *left)
