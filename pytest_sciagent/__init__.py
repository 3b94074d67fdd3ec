"""pytest for AI scientists: every rubric criterion is a test of a frozen research run, and the evidence is shown.

Names are imported on first use, so that `import pytest_sciagent` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checks import CheckContext, CheckResult, decided, not_assessed
    from .collection.own import criterion
    from .errors import SciagentError
    from .judging.clients import Prompt
    from .judging.judge import Judge
    from .models import Citation, Finding, JudgeIdentity, Rubric, Verdict
    from .runs import Run

_WHERE = {
    "CheckContext": "checks",
    "CheckResult": "checks",
    "Citation": "models",
    "Finding": "models",
    "Judge": "judging.judge",
    "JudgeIdentity": "models",
    "Prompt": "judging.clients",
    "Rubric": "models",
    "Run": "runs",
    "SciagentError": "errors",
    "Verdict": "models",
    "criterion": "collection.own",
    "decided": "checks",
    "not_assessed": "checks",
}

__all__ = [
    "CheckContext",
    "CheckResult",
    "Citation",
    "Finding",
    "Judge",
    "JudgeIdentity",
    "Prompt",
    "Rubric",
    "Run",
    "SciagentError",
    "Verdict",
    "criterion",
    "decided",
    "not_assessed",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
