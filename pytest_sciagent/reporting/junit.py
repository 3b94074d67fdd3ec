"""The decisions of the gates in JUnit's file: properties of the suite."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .results import Results


def tell_junit(plugins: Iterable[object], results: Results) -> None:
    """Put the decisions where those of pytest's `plugins` take properties of the suite that write such a file."""
    if results.decision is None:
        return
    told = {"sciagent_gate": results.decision} | {f"sciagent_gate_{n}": d for n, d in enumerate(results.decisions, 1)}
    for plugin in plugins:
        if tell := getattr(plugin, "add_global_property", None):
            for name, decision in told.items():
                tell(name, f"{decision.outcome}: {decision.sentence}")
