"""Why criteria have no level: each reason once, with how many criteria it keeps open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ..evidence.citations import QUOTE_RULE
from ..judging.earlier import STALE

if TYPE_CHECKING:
    from ..models import Verdict


def why_open(verdicts: Iterable[Verdict], show: Callable[[str], str]) -> list[tuple[str, int]]:
    """The reasons, most frequent first, as `show` makes them fit to be shown. What keeps all criteria open alike, a
    change after judging, is one reason; every other is told criterion by criterion."""
    found: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.level is None:
            told = verdict.status if verdict.is_error else verdict.reason
            if verdict.status == "check_error":  # the user's own code: where it went wrong is what helps
                told = f"{verdict.status}: {verdict.reason}"
            found[show(told if verdict.reason_code == STALE else f"{verdict.criterion_id}: {told}")] += 1
    return sorted(found.items(), key=lambda one: (-one[1], one[0]))


def what_to_do(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """What helps against the reasons that are told by a word alone."""
    codes = {verdict.reason_code for verdict in verdicts if verdict.level is None}
    if "unverified" in codes:
        yield f"unverified: {QUOTE_RULE}"
    if STALE in codes:
        yield (
            "answers to another prompt stay recorded and count again if the change is undone; ask again with "
            "--sciagent-judge or sciagent ledger export (sciagent ledger prune RUNS lists them)"
        )
