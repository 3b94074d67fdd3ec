"""What JUnit's file says about the session as a whole, in the properties of its suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..gates.thresholds import verdicts_of
from .spending import spending_as_json

if TYPE_CHECKING:
    from ..models import Verdict
    from .results import Results

COUNTED = ("full", "half", "zero", "not_assessed", "error")
WORDS = dict(zip(COUNTED, ("at level 1", "at 0.5", "at 0", "not assessed", "in error"), strict=True))
"""How these counts are told to people."""
_NAMES = {1.0: "full", 0.5: "half", 0.0: "zero"}


def tell_junit(plugins: Iterable[object], results: Results) -> None:
    """Give scores, counts of levels, the spending and the decisions to those of `plugins` that write such a file.

    JUnit knows no half: a criterion at level 0.5 passes. Its own property `level` and the count here show it.
    """
    for plugin in plugins:
        if tell := getattr(plugin, "add_global_property", None):
            for name, value in _properties(results):
                tell(name, value)


def _properties(results: Results) -> Iterator[tuple[str, str]]:
    if results.decision is not None:
        told = [("sciagent_gate", results.decision)]
        told += [(f"sciagent_gate_{n}", decision) for n, decision in enumerate(results.decisions, 1)]
        for name, decision in told:
            yield name, f"{decision.outcome}: {decision.sentence}"
    for part, amounts in spending_as_json(results.spending).items():
        yield from ((f"sciagent_{part}_{name}", str(amount)) for name, amount in amounts.items())
    for system in results.systems:
        yield f"sciagent_score_{system.name}", system.score.show()
    yield "sciagent_validity", results.believed.sentence
    counts = level_counts(results)
    for name in COUNTED:
        yield f"sciagent_{name}", str(counts[name])


def level_counts(results: Results) -> Counter[str]:
    """How many verdicts there are at each level, without one, and in error (see `COUNTED`)."""
    return Counter(level_name(verdict) for run in results.runs for verdict in verdicts_of(run))


def level_name(verdict: Verdict) -> str:
    """`full`, `half`, `zero`, `not_assessed` or `error`."""
    if verdict.level is not None:
        return _NAMES[verdict.level]
    return "error" if verdict.is_error else "not_assessed"
