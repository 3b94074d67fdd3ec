"""Deterministic checks by name: code that reads structure, never words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from ..errors import SciagentError
from .base import Check, CheckContext, CheckResult, decided, not_assessed, waiting

__all__ = [
    "Check",
    "CheckContext",
    "CheckResult",
    "amendment",
    "builtin_checks",
    "decided",
    "find_check",
    "not_assessed",
    "waiting",
]


@cache  # every item looks a check up
def builtin_checks() -> Mapping[str, Check]:
    """The shipped checks, by the name that a criterion's `check` gives."""
    from . import future, identity, novelty, recalculation, requirements, separation, stability, traceability

    modules = (identity, traceability, recalculation, stability, separation, novelty, future, requirements)
    return MappingProxyType({name: check for module in modules for name, check in module.CHECKS.items()})


def amendment(criterion_id: str) -> Callable[[CheckContext], CheckResult | None] | None:
    """What tells a judge of the criterion `criterion_id` more, where there is something to tell; else nothing.

    A rubric does not name it: where it has nothing to tell, the question is the same as without it, and what is
    recorded stays valid.
    """
    from . import audit, second_stage

    return {
        "independent_origin.target_source_isolation": audit.leak_facts,
        "separated_validation.non_circular_trace": second_stage.stage_facts,
    }.get(criterion_id)


def find_check(name: str) -> Check:
    """The shipped check called `name`.

    Raises:
        SciagentError: there is none.
    """
    checks = builtin_checks()
    if name not in checks:
        near = difflib.get_close_matches(name, checks, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known checks: {', '.join(sorted(checks))}"
        raise SciagentError(f"no check named {name!r}; {hint}")
    return checks[name]
