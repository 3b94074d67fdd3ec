"""pytest for AI scientists: every rubric criterion is a test of a frozen research run, and the evidence is shown.

Names are imported on first use, so that `import pytest_sciagent` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Compared, Scores, compare, judge, load_run, score
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
    "Compared": "api",
    "Finding": "models",
    "Judge": "judging.judge",
    "JudgeIdentity": "models",
    "Prompt": "judging.clients",
    "Rubric": "models",
    "Run": "runs",
    "SciagentError": "errors",
    "Scores": "api",
    "Verdict": "models",
    "compare": "api",
    "criterion": "collection.own",
    "decided": "checks",
    "judge": "api",
    "load_run": "api",
    "not_assessed": "checks",
    "score": "api",
}

__all__ = [
    "CheckContext",
    "CheckResult",
    "Citation",
    "Compared",
    "Finding",
    "Judge",
    "JudgeIdentity",
    "Prompt",
    "Rubric",
    "Run",
    "SciagentError",
    "Scores",
    "Verdict",
    "compare",
    "criterion",
    "decided",
    "judge",
    "load_run",
    "not_assessed",
    "score",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
