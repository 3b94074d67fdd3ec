"""Options about running agents' code again."""

from __future__ import annotations

import pytest

from .declared import Option, Values

DEFAULT_RERUN_S = 600.0
RERUN = (
    Option(
        "rerun",
        "flag",
        "run each run's own scripts again over the task's data, in a sandbox without network; results that come out "
        "the same count as recalculated",
    ),
    Option(
        "rerun_seconds",
        "number",
        f"how long the scripts of one run may take, with --sciagent-rerun (default {DEFAULT_RERUN_S:g})",
        "N",
    ),
    Option(
        "unsafe_rerun",
        "flag",
        "run agents' code even where this machine can't isolate it. It can then do all that you can",
        twin=False,
    ),
)


def read_rerun(given: Values) -> float | None:
    """For how many seconds a run's own scripts may be run again; None where nobody asked for that.

    Raises:
        pytest.UsageError: a time that can't be used, or one given without a rerun.
    """
    seconds = given.number("rerun_seconds")
    if given.flag("rerun"):
        return seconds or DEFAULT_RERUN_S
    if given.is_given("rerun_seconds"):
        raise pytest.UsageError("--sciagent-rerun-seconds belongs to --sciagent-rerun, which runs agents' code again")
    return None
