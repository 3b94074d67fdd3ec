"""Why criteria have no level: each reason once, with how many criteria it keeps open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..evidence.citations import QUOTE_RULE
from ..judging.earlier import STALE

if TYPE_CHECKING:
    from ..models import Rubric, Verdict

NAMED = 3
"""How many criteria of one reason are named."""


def names_of(rubrics: Iterable[Rubric]) -> dict[str, str]:
    """How criteria are named to people, by their ids."""
    return {criterion.id: criterion.name for rubric in rubrics for criterion in rubric.criteria}


def why_open(
    verdicts: Iterable[Verdict], show: Callable[[str], str], names: Mapping[str, str]
) -> list[tuple[str, int]]:
    """The reasons, most frequent first, as `show` makes them fit to be shown: each once, with the criteria that it
    keeps open, by their `names`. A change after judging is told alone: it keeps all criteria open alike."""
    found: Counter[str] = Counter()
    whose: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        if verdict.level is None:
            told = _reason(verdict)
            found[told] += 1
            if verdict.reason_code != STALE:
                whose.setdefault(told, {})[names.get(verdict.criterion_id, verdict.criterion_id)] = None
    shown = [(show(_with_names(told, list(whose.get(told, ())))), count) for told, count in found.items()]
    return sorted(shown, key=lambda one: (-one[1], one[0]))


def _reason(verdict: Verdict) -> str:
    """What is told of a gap; of a failure of the judge its word alone, of the user's own code where it went wrong."""
    if not verdict.is_error:
        return verdict.reason
    own = verdict.status == "check_error" or (verdict.status == "unverified" and verdict.judge is None)
    return f"{verdict.status}: {verdict.reason}" if own else verdict.status


def _with_names(told: str, names: Sequence[str]) -> str:
    if not names:
        return told
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}: {told}"


def what_to_do(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What helps against the reasons that are told by a word alone."""
    codes = {verdict.reason_code for verdict in verdicts if verdict.level is None}
    if "unverified" in codes:
        yield f"unverified: {QUOTE_RULE}"
    if any(verdict.status == "unrecorded" and verdict.reason_code != STALE for verdict in verdicts):
        yield "to have them answered: name a judge with --sciagent-judge, or see sciagent ledger export"
    if STALE in codes:
        yield (
            "answers to another prompt stay recorded and count again if the change is undone; ask again with "
            "--sciagent-judge or sciagent ledger export (sciagent ledger prune RUNS lists them)"
        )
