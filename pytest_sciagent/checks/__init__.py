"""Deterministic checks by name: code that reads structure, never words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from types import MappingProxyType

from ..errors import SciagentError
from ..models.rubric import REQUIREMENTS_CHECK
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

_WHERE = {
    "evidence.data_identity": "identity.data_identity",
    "evidence.execution_receipt": "identity.execution_receipt",
    "evidence.artifact_traceability": "traceability.artifact_traceability",
    "evidence.directional_recompute": "recalculation.directional_recompute",
    "evidence.other_quantity_recompute": "recalculation.other_quantity_recompute",
    "stability.uncertainty": "stability.uncertainty",
    "stability.replication": "stability.replication",
    "stability.sample_perturbation": "stability.sample_perturbation",
    "stability.method_perturbation": "stability.method_perturbation",
    "separated_validation.provenance": "separation.provenance",
    "separated_validation.execution": "separation.execution",
    "separated_validation.prefrozen_decision": "separation.prefrozen_decision",
    "independent_origin.frozen_search_prior_art": "novelty.frozen_search_prior_art",
    "next_test.prefrozen_executable_rule": "future.prefrozen_executable_rule",
    REQUIREMENTS_CHECK: "requirements.required_artifacts",
}
"""Module and function of each check: a session that replays verdicts asks for names only."""


@cache  # every item looks a check up
def builtin_checks() -> Mapping[str, Check]:
    """The shipped checks, by the name that a criterion's `check` gives. Each is imported when it first runs."""
    return MappingProxyType({name: partial(_run, where) for name, where in _WHERE.items()})


def _run(where: str, context: CheckContext) -> CheckResult:
    module, _, function = where.partition(".")
    check: Check = getattr(import_module(f".{module}", __name__), function)
    return check(context)


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
