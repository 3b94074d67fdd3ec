"""What GitHub tells a job about itself: the event, the pull request, and the files to answer in."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SciagentError
from ..text import one_line

SUMMARY_LIMIT = 1_000_000
"""Bytes of a step summary, a little below what GitHub drops as a whole (1 MiB)."""
MAX_EVENT_BYTES = 50_000_000
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class PullRequest:
    """The pull request that started the job. is_fork: its branch lies in another repository, so there is no secret."""

    number: int
    base_sha: str
    is_fork: bool


@dataclass(frozen=True, slots=True)
class Job:
    """A job of GitHub Actions; everything is None or empty elsewhere.

    api, repository, token: to speak with the API. url: of the page of this workflow run.
    """

    on_github: bool
    pull_request: PullRequest | None
    api: str | None
    repository: str | None
    token: str | None
    url: str | None
    output: Path | None
    summary: Path | None

    def tell(self, **outputs: str) -> None:
        """Give outputs to later steps.

        Raises:
            SciagentError: the file can't be written to.
        """
        if self.output is None:
            return
        text = ""
        for name, value in outputs.items():
            mark = f"sciagent_{secrets.token_hex(8)}"  # no value can hold it, so none can end its own block
            text += f"{name.replace('_', '-')}<<{mark}\n{value}\n{mark}\n"
        _append(self.output, text)

    def add_summary(self, text: str) -> bool:
        """Append to the step summary, as far as there is room; False where there is no summary, or none of the room."""
        if self.summary is None:
            return False
        there = self.summary.stat().st_size if self.summary.exists() else 0
        if there + len(text.encode()) > SUMMARY_LIMIT:
            return False
        _append(self.summary, text)
        return True


def read_job(environ: Mapping[str, str]) -> Job:
    """The job that this process runs in.

    Raises:
        SciagentError: the event can't be read.
    """

    def path(name: str) -> Path | None:
        return Path(environ[name]) if environ.get(name) else None

    repository = environ.get("GITHUB_REPOSITORY") or None
    event = path("GITHUB_EVENT_PATH")
    server, run = environ.get("GITHUB_SERVER_URL"), environ.get("GITHUB_RUN_ID")
    return Job(
        on_github=environ.get("GITHUB_ACTIONS") == "true",
        pull_request=_pull_request(_event(event), repository, event) if event is not None else None,
        api=environ.get("GITHUB_API_URL") or None,
        repository=repository,
        token=environ.get("GITHUB_TOKEN") or None,
        url=f"{server}/{repository}/actions/runs/{run}" if server and repository and run else None,
        output=path("GITHUB_OUTPUT"),
        summary=path("GITHUB_STEP_SUMMARY"),
    )


def _event(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_EVENT_BYTES:
            raise SciagentError("the event is too large to be read", path=path)
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise SciagentError(f"the event can't be read: {one_line(str(error), 200)}", path=path) from None


def _pull_request(event: Any, repository: str | None, path: Path) -> PullRequest | None:
    """The event's pull request; None for another kind of event.

    Raises:
        SciagentError: there is one that does not say what is needed. Taken for none, its prompts would count as
            unchanged, and a fork's as our own.
    """
    match event:
        case {"pull_request": {"number": int(number), "base": {"sha": str(base)}, "head": dict(head)}}:
            match head:
                case {"repo": {"full_name": str(source)}}:
                    is_fork = source != repository
                case _:  # the repository of the branch is gone, or hidden
                    is_fork = True
            if _SHA.fullmatch(base):
                return PullRequest(number, base, is_fork)
    if not isinstance(event, dict):
        raise SciagentError("the event is no JSON object", path=path)
    if event.get("pull_request") is not None:
        raise SciagentError("the event's pull_request has no number, base.sha and head in the known form", path=path)
    return None


def _append(path: Path, text: str) -> None:
    try:
        with open(path, "a", encoding="utf-8", errors="replace", newline="\n") as handle:
            handle.write(text)
    except OSError as error:
        raise SciagentError(f"can't be written: {error.strerror}", path=path) from None
