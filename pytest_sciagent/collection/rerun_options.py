"""Options about running agents' code again."""

from __future__ import annotations

import math
from typing import Any

import pytest

DEFAULT_RERUN_S = 600.0


def add_rerun_options(group: Any) -> None:
    """Declare the options."""
    add = group.addoption
    add(
        "--sciagent-rerun",
        action="store_true",
        default=False,
        help="run each run's own scripts again over the task's data, in a sandbox without network; results that come "
        "out the same count as recalculated",
    )
    add(
        "--sciagent-rerun-seconds",
        type=float,
        default=None,
        metavar="N",
        help=f"how long the scripts of one run may take, with --sciagent-rerun (default {DEFAULT_RERUN_S:g})",
    )
    add(
        "--sciagent-unsafe-rerun",
        action="store_true",
        default=False,
        help="run agents' code even where this machine can't isolate it. It can then do all that you can",
    )


def read_rerun(config: pytest.Config) -> float | None:
    """For how many seconds a run's own scripts may be run again; None where nobody asked for that.

    Raises:
        pytest.UsageError: a time that can't be used, or one without a rerun.
    """
    seconds: float | None = config.getoption("sciagent_rerun_seconds")
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise pytest.UsageError(f"--sciagent-rerun-seconds {seconds:g}: a number above 0")
    if config.getoption("sciagent_rerun") or config.getini("sciagent_rerun"):
        return seconds or DEFAULT_RERUN_S
    if seconds is not None:
        raise pytest.UsageError("--sciagent-rerun-seconds belongs to --sciagent-rerun, which runs agents' code again")
    return None
