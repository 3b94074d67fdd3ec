"""Judges of kind `decisions`: for each criterion the probability of each level, without reasons and without citations.

Such a judge screens. A level above 0 needs a cited passage, and it cites none: so it gives level 0, or no level. Its
probabilities are kept and shown either way.
"""

from __future__ import annotations

import json
import math
from typing import Any

from ..models import JudgeIdentity, LedgerEntry, Model, Receipt, Status
from .answers import BadAnswer, parse_object

DECISIONS = "decisions"
LEVELS = ("0", "0.5", "1")
SURE = 0.5
"""Level 0 is given where its probability is above this."""
_SLACK = 0.02


class Likelihoods(Model):
    """How likely each level is; nothing where the judge declined the question."""

    declined: bool = False
    probabilities: dict[str, float] = {}


def is_decisions(judge: JudgeIdentity) -> bool:
    """Whether `judge` tells probabilities rather than reasons."""
    return judge.kind == DECISIONS


def read_decision(text: str) -> dict[str, Any]:
    """What an entry holds of the answer to one question.

    Raises:
        BadAnswer: as `parse_object`; or the probabilities are not one for each level, which add up to 1.
    """
    answer = parse_object(text, Likelihoods)
    if answer.declined:
        return {"status": "refused", "reason": "the model declined this question", "reason_code": "refused"}
    status, level, reason, code = judged(answer.probabilities)
    told = {"probabilities": dict(answer.probabilities)}
    return {"status": status, "level": level, "reason": reason, "reason_code": code, "answer": told}


def judged(probabilities: dict[str, float]) -> tuple[Status, float | None, str, str]:
    """Status, level, reason and reason code that the probabilities of the levels come to.

    Raises:
        BadAnswer: they are not one for each level, which add up to 1.
    """
    if set(probabilities) != set(LEVELS) or not all(0 <= p <= 1 for p in probabilities.values()):
        raise BadAnswer("outside_levels", f"expected a probability for each of {', '.join(LEVELS)}")
    if not math.isclose(sum(probabilities.values()), 1.0, abs_tol=_SLACK):
        raise BadAnswer("outside_levels", f"the probabilities add up to {sum(probabilities.values()):.3f}, not 1")
    likely = max(LEVELS, key=lambda name: probabilities[name])  # of equal ones the lowest
    told = f"level {likely} is the likeliest ({probabilities[likely]:.2f})"
    if probabilities["0"] > SURE:
        return "assessed", 0.0, told, "zero"
    if likely == "0":
        return "not_assessed", None, f"{told}, but not likely enough for a level", "uncertain"
    return "not_assessed", None, f"{told}, but a judge that cites nothing gives none above 0", "no_citations"


def decision_values(entry: LedgerEntry, facts: Receipt | None) -> dict[str, Any]:
    """What the verdict of `entry` holds, derived anew from its probabilities; they stand in its receipt."""
    if entry.answer is None:
        status: Status = entry.status if entry.status != "assessed" else "invalid"
        return {"status": status, "reason": entry.reason or status, "reason_code": entry.reason_code or status}
    try:
        found = parse_object(json.dumps(entry.answer), Likelihoods).probabilities
        status, level, reason, code = judged(found)
    except BadAnswer as error:
        return {"status": "invalid", "reason": str(error), "reason_code": error.reason_code}
    known = dict(facts.facts) if facts is not None else {}
    receipt = Receipt(source=facts.source if facts is not None else "judge", facts=known | {"probabilities": {**found}})
    return {"status": status, "level": level, "reason": reason, "reason_code": code, "receipt": receipt}
