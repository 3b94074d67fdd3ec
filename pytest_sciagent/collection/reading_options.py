"""What the reading of one run's files may take."""

from __future__ import annotations

from typing import Any

import pytest


def add_reading_options(group: Any, parser: Any) -> None:
    """Declare the option and its twin for configuration files."""
    group.addoption(
        "--sciagent-reading-seconds",
        default=None,
        metavar="N",
        help="processor time that the readers of binary formats (workbooks, arrays, PDF, images) may take for one run, "
        "all files together; what is not read by then is told as unreadable (default 300)",
    )
    parser.addini("sciagent_reading_seconds", "seconds for binary files, as --sciagent-reading-seconds", type="string")


def read_reading(config: pytest.Config) -> float | None:
    """The seconds that the readers of one run have; None where nobody has set them.

    Raises:
        pytest.UsageError: a time that can't be used.
    """
    from ..evidence.artifacts import parse_seconds

    text = config.getoption("sciagent_reading_seconds") or str(config.getini("sciagent_reading_seconds"))
    try:
        return parse_seconds(text) if text else None
    except ValueError as error:
        raise pytest.UsageError(f"--sciagent-reading-seconds {error}") from None
