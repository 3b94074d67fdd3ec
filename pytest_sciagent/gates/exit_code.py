"""How the decision of the gates becomes the session's exit code. Nothing that pytest tells is ever lowered."""

from __future__ import annotations

from .decision import Decision

EXIT_INCONCLUSIVE = 10


def failures_that_count(failed: int, criteria: int, decision: Decision | None, *, strict: bool) -> int:
    """How many failures a session ends with that had `failed` ones, `criteria` of them failing or erring criteria.

    Runs that are tampered, or delivered nothing, are among these. With a gate they are shown, and the gate counts in
    their place: a tampered run makes it inconclusive. `strict`: both count.
    """
    if decision is None:
        return failed
    return failed - (0 if strict else criteria) + (decision.outcome == "not met")


def exit_code(code: int, decision: Decision | None) -> int:
    """The exit code of a session that would end with `code`."""
    undecided = decision is not None and decision.outcome == "inconclusive"
    return EXIT_INCONCLUSIVE if undecided and code == 0 else code
