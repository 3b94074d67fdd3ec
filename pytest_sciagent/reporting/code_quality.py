"""Failing and half criteria as a code quality report, as GitLab reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..digest import sha256_json
from ..documents import json_text
from ..ledger.store import write_atomically
from .places import Places
from .records import VerdictRecord, verdict_records
from .results import Results
from .words import Words

MAX_ENTRIES = 2000
MAX_DESCRIPTION = 400
MAJOR, CRITICAL = 3, 6
"""Points of a finding's score from which on a loss is called major or critical."""


def write_code_quality(path: Path, results: Results, words: Words, places: Places) -> None:
    """Write the report to `path`: the costliest first, at most `MAX_ENTRIES`.

    Raises:
        SciagentError: the place can't be written to.
    """
    below = [record for record in verdict_records(results) if record.verdict.level in (0, 0.5)]
    below.sort(key=lambda record: (-record.lost, record.place))
    entries = [_entry(record, words, places) for record in below[:MAX_ENTRIES]]
    write_atomically(path, json_text(entries))


def _entry(record: VerdictRecord, words: Words, places: Places) -> dict[str, Any]:
    verdict, index = record.verdict, record.run.index
    place = places.of(verdict.criterion_id) or (index.nodeid, 1)
    where = f"{index.label} {verdict.finding or 'run'}"
    text = f"{where}: {verdict.criterion_id} is at level {verdict.level:g}: {verdict.reason}"
    return {
        "description": words.line(text, MAX_DESCRIPTION),
        "check_name": verdict.criterion_id,
        # Over names and level only: the same shortcoming in two branches is one to GitLab, whatever its wording.
        "fingerprint": sha256_json([index.label, verdict.finding, verdict.criterion_id, f"{verdict.level:g}"]),
        "severity": _severity(record),
        "location": {"path": place[0], "lines": {"begin": place[1]}},
    }


def _severity(record: VerdictRecord) -> str:
    if record.effect is None:
        return "info"
    return "critical" if record.lost >= CRITICAL else "major" if record.lost >= MAJOR else "minor"
