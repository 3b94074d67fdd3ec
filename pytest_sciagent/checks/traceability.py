"""Facts for criterion 1.4: which numbers of a finding stand in which cell of the run's artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from ..evidence.artifacts import Artifacts
from ..evidence.directions import SIGNS, falling
from ..evidence.matching import Match, match_numbers
from ..evidence.numbers import Asserted, extract_numbers
from ..models import FileEntry
from .base import CheckContext, CheckResult

QUANTITIES = frozenset({"value", "range_low", "range_high", "uncertainty"})
MAX_SHOWN = 60


@dataclass(frozen=True)
class Trace:
    """The numbers of one finding and where they stand: among the artifacts it names, else among all of the run.

    `opposite`: not stored as written, but with a minus, and the finding says so in words ("falls by").
    """

    named: tuple[Match, ...]
    elsewhere: tuple[Match, ...]
    opposite: tuple[tuple[str, Match], ...]
    missing: tuple[Match, ...]

    @property
    def total(self) -> int:
        return len(self.named) + len(self.elsewhere) + len(self.opposite) + len(self.missing)


def trace_finding(context: CheckContext) -> Trace:
    """Look every quantity that the finding asserts up in the run's stored values."""
    assert context.finding is not None
    text = context.finding.section.text
    numbers = [n for n in extract_numbers(text) if n.role in QUANTITIES]
    stored = ("result", "notebook")
    named = context.artifacts.of(context.finding.artifacts, *stored)
    others = [entry for entry in context.run.with_role(*stored) if entry not in named]
    found, left = _parted(_match(numbers, context.artifacts, named))
    elsewhere, left = _parted(_match(left, context.artifacts, others))
    opposite = _opposite(text, left, context.artifacts, [*named, *others])
    told = [match.number for _, match in opposite]
    return Trace(found, elsewhere, opposite, tuple(Match(n, (), n.weak) for n in left if n not in told))


def _parted(matches: Sequence[Match]) -> tuple[tuple[Match, ...], list[Asserted]]:
    """Those that are found, and the numbers that are not."""
    return tuple(m for m in matches if m.places), [m.number for m in matches if not m.places]


def _opposite(
    text: str, numbers: Sequence[Asserted], artifacts: Artifacts, entries: Sequence[FileEntry]
) -> tuple[tuple[str, Match], ...]:
    """Numbers without a sign, and the words that give them one, that are stored with a minus."""
    said = [(n, words) for n in numbers if n.text[0] not in SIGNS and (words := falling(text, n.start)) is not None]
    matches = _match([replace(n, value=-n.value) for n, _ in said], artifacts, entries) if said else []
    return tuple((words, replace(m, number=n)) for (n, words), m in zip(said, matches, strict=True) if m.places)


def _match(numbers: Sequence[Asserted], artifacts: Artifacts, entries: Sequence[FileEntry]) -> list[Match]:
    read = {entry.path: artifact for entry in entries if (artifact := artifacts.get(entry.path)) is not None}
    tables = {path: artifact.tables for path, artifact in read.items() if artifact.tables and artifact.kind != "json"}
    documents = {path: artifact.data for path, artifact in read.items() if artifact.kind == "json"}
    return match_numbers(numbers, tables, documents)


def artifact_traceability(context: CheckContext) -> CheckResult:
    """1.4: the trace as facts; the judge decides within them."""
    trace = trace_finding(context)
    places: list[JsonValue] = [
        {"number": m.number.text, "file": m.places[0].file, "place": m.places[0].place}
        for m in (*trace.named, *trace.elsewhere)
        if not m.weak
    ]
    facts: dict[str, JsonValue] = {
        "numbers_stated": trace.total,
        "found_in_named_artifacts": len(trace.named),
        "found_in_other_artifacts": len(trace.elsewhere),
        "not_found": [m.number.text for m in trace.missing[:MAX_SHOWN]],
        "places": places[:MAX_SHOWN],
        "note": "a number is found where a stored value rounds to it; numbers of one or two digits are not listed",
    }
    if trace.opposite:
        facts["found_with_the_opposite_sign"] = [
            {
                "number": m.number.text,
                "words": words,
                "stored": m.places[0].stored,
                "file": m.places[0].file,
                "place": m.places[0].place,
            }
            for words, m in trace.opposite[:MAX_SHOWN]
        ]
    reason = f"{len(trace.named) + len(trace.elsewhere)} of {trace.total} stated numbers stand in stored values"
    return CheckResult("facts", reason, "traced", facts=facts)
