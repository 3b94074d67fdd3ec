from __future__ import annotations
from .base import Check, CheckContext, CheckResult, not_assessed
def _x(c: CheckContext) -> CheckResult: return not_assessed("placeholder","placeholder")
CHECKS: dict[str, Check] = {"stability.uncertainty": _x, "stability.replication": _x, "stability.sample_perturbation": _x, "stability.method_perturbation": _x}
