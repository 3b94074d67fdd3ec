"""The verdicts as JSON lines: one a line, each to be read alone (schema sciagent-verdict/1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ..ledger.store import write_atomically
from ..models import Citation
from ..models.line import Points, VerdictLine
from ..plain import to_plain
from ..scoring import Interval
from .records import VerdictRecord, verdict_records
from .results import Results
from .words import Words

MAX_CITATIONS = 50
MAX_REASON = 2000
MAX_QUOTE = 2000
MAX_TITLE = 300


def write_lines(path: Path, results: Results, words: Words) -> None:
    """Write the verdicts to `path`.

    Raises:
        SciagentError: the place can't be written to.
    """
    write_atomically(path, "".join(f"{line}\n" for line in verdict_lines(results, words)))


def verdict_lines(results: Results, words: Words) -> Iterator[str]:
    """A line of JSON for each verdict, in the order of the results."""
    for record in verdict_records(results):
        line = _line(record, words)
        yield json.dumps(line.as_json(), ensure_ascii=False, allow_nan=False)


def _line(record: VerdictRecord, words: Words) -> VerdictLine:
    verdict, index = record.verdict, record.run.index
    citations = tuple(_citation(citation, words) for citation in verdict.citations[:MAX_CITATIONS])
    return VerdictLine(
        run=index.label,
        system=index.system,
        task_id=index.task_id,
        repeat=index.repeat,
        node_id=record.place,
        finding=verdict.finding,
        title=words.line(record.finding.title, MAX_TITLE) if record.finding is not None else None,
        criterion_id=verdict.criterion_id,
        dimension=record.criterion.dimension if record.criterion is not None else None,
        weight=record.criterion.weight if record.criterion is not None else None,
        status=verdict.status,
        level=verdict.level,
        effect=_points(record.effect) if record.effect is not None else None,
        reason=words.text(verdict.reason, MAX_REASON),
        reason_code=verdict.reason_code,
        citations=citations,
        more_citations=len(verdict.citations) - len(citations),
        judge=verdict.judge,
        key=verdict.key,
        rubric=f"{record.rubric.id} {record.rubric.version}" if record.rubric is not None else None,
        rubric_digest=record.rubric.digest if record.rubric is not None else None,
    )


def _citation(citation: Citation, words: Words) -> Citation:
    told = {name: words.text(value, MAX_QUOTE) for name, value in citation if isinstance(value, str)}
    return citation.model_copy(update=to_plain(told))


def _points(effect: Interval) -> Points:
    return Points(low=round(float(effect.low), 6), high=round(float(effect.high), 6))
