"""Which prompt files a pull request changes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import SciagentError
from ..text import one_line

TIMEOUT_S = 120


def changed_files(base_sha: str, patterns: Sequence[str], root: Path) -> list[str]:
    """Files that differ between the commit `base_sha` and the working tree's commit, by git's own glob patterns.

    A shallow checkout is deepened by that one commit. Deleted files are among them.

    Raises:
        SciagentError: git can't tell.
    """
    if _git(root, "cat-file", "-e", f"{base_sha}^{{commit}}").returncode:
        fetched = _git(root, "fetch", "--quiet", "--no-tags", "--depth=1", "origin", base_sha)
        if fetched.returncode:
            raise SciagentError(
                f"the base commit {base_sha[:12]} is not in this checkout and can't be fetched "
                f"({one_line(fetched.stderr.decode(errors='replace'), 200)}): check out with 'fetch-depth: 0'"
            )
    specs = [f":(glob){pattern}" for pattern in patterns]
    told = _git(root, "diff", "--name-only", "--no-renames", "-z", base_sha, "HEAD", "--", *specs)
    if told.returncode:
        raise SciagentError(f"git diff failed: {one_line(told.stderr.decode(errors='replace'), 200)}")
    return [name for name in told.stdout.decode("utf-8", "surrogateescape").split("\0") if name]


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *arguments]
    try:
        return subprocess.run(command, cwd=root, capture_output=True, check=False, timeout=TIMEOUT_S)
    except OSError as error:
        raise SciagentError(f"git can't be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise SciagentError(f"git {arguments[0]} did not end within {TIMEOUT_S} s") from None
