"""Facts for criterion 1.4: which numbers of a finding stand in which cell of the run's artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from ..evidence.artifacts import Artifacts
from ..evidence.matching import Match, match_numbers
from ..evidence.numbers import Asserted, extract_numbers
from ..models import FileEntry
from .base import Check, CheckContext, CheckResult

QUANTITIES = frozenset({"value", "range_low", "range_high", "uncertainty"})
MAX_SHOWN = 60


@dataclass(frozen=True)
class Trace:
    """The numbers of one finding and where they stand: among the artifacts it names, else among all of the run."""

    named: tuple[Match, ...]
    elsewhere: tuple[Match, ...]
    missing: tuple[Match, ...]

    @property
    def total(self) -> int:
        return len(self.named) + len(self.elsewhere) + len(self.missing)

    @property
    def share(self) -> float:
        """Share of the numbers found in a cell (1 where there is no number)."""
        return (len(self.named) + len(self.elsewhere)) / self.total if self.total else 1.0


def trace_finding(context: CheckContext) -> Trace:
    """Look every quantity that the finding asserts up in the run's stored values."""
    assert context.finding is not None
    numbers = [n for n in extract_numbers(context.finding.section.text) if n.role in QUANTITIES]
    stored = ("result", "notebook")
    named = context.artifacts.of(context.finding.artifacts, *stored)
    others = [entry for entry in context.run.with_role(*stored) if entry not in named]
    first = _match(numbers, context.artifacts, named)
    found = tuple(m for m in first if m.places)
    rest = _match([m.number for m in first if not m.places], context.artifacts, others)
    return Trace(found, tuple(m for m in rest if m.places), tuple(m for m in rest if not m.places))


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
    reason = f"{len(trace.named) + len(trace.elsewhere)} of {trace.total} stated numbers stand in stored values"
    return CheckResult("facts", reason, "traced", facts=facts)


CHECKS: dict[str, Check] = {"evidence.artifact_traceability": artifact_traceability}
