"""What each kind of worthless run may earn at most, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..scoring.truthinsight import S1_SHARE

Kind = Literal["empty", "nothing", "fabricated", "planted"]
KINDS: tuple[Kind, ...] = ("empty", "nothing", "fabricated", "planted")


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that a run may earn, in points under the profile `truthinsight`, and the reason for so much."""

    points: Fraction
    reason: str


UNEXECUTED: Mapping[str, int] = {
    "evidence.data_identity": 4,
    "evidence.execution_receipt": 3,
    "independent_origin.target_source_isolation": 4,
    "independent_origin.frozen_search_prior_art": 6,
    "next_test.separate_evidence_route": 1,
    "next_test.measurement_alignment": 1,
    "next_test.claim_update_rule": 1,
    "next_test.resource_feasibility": 1,
}
"""Points of a finding that ask for no result: unchanged inputs, code and tables that are there (half of 1.3), an origin
of its own, a claim that nobody has made before (an invented one), and a plan for a next test."""
_FINDING = sum(UNEXECUTED.values())

ALLOWANCES: Mapping[Kind, Allowance] = {
    "empty": Allowance(Fraction(0), "nothing is delivered"),
    "nothing": Allowance(Fraction(0), "the task's own files are copied and no finding is registered"),
    "fabricated": Allowance(
        S1_SHARE * _FINDING,
        f"of a finding's 100 points {_FINDING} ask for no result (inputs left alone, files that are there, an origin "
        f"of its own, a claim nobody made, a plan); of one finding {float(S1_SHARE * 100):g} % count",
    ),
    "planted": Allowance(S1_SHARE * _FINDING, "as fabricated: what is said to the judge must not add a point"),
}
