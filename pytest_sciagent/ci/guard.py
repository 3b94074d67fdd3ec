"""Running a program whose output is not ours: in a job's log, lines that begin with `::` are commands to the runner."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Sequence

from ..errors import SciagentError


def run_guarded(command: Sequence[str], *, on_github: bool) -> int:
    """Run `command` with this process's output; what it prints is no command to GitHub's runner. Returns its exit code.

    Raises:
        SciagentError: it can't be started.
    """
    mark = secrets.token_hex(16)  # nothing that is printed in between can know it
    if on_github:
        _say(f"::stop-commands::{mark}")
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        raise SciagentError(f"{command[0]} can't be started: {error.strerror}") from None
    finally:
        if on_github:
            _say(f"::{mark}::")


def this_program(*arguments: str) -> list[str]:
    """The command line of a `sciagent` command, by this very Python."""
    return [sys.executable, "-c", "from pytest_sciagent.cli import main; main()", *arguments]


def _say(line: str) -> None:
    sys.stdout.write(f"\n{line}\n")
    sys.stdout.flush()
