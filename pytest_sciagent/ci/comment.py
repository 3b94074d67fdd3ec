"""One comment on a pull request, written the first time and replaced afterwards."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Literal

from ..reporting.markdown import fit
from ..text import one_line, slug

LIMIT = 60_000
"""Bytes of a comment; GitHub takes 65,536 characters."""
CUT = "*Cut here: the comment is too long. The summary of the job has the rest.*"
MAX_PAGES = 30
PER_PAGE = 100
TRIES = 3
TIMEOUT_S = 30
MAX_REPLY_BYTES = 20_000_000
Done = Literal["created", "updated"]


class Refused(Exception):
    """The API did not do what was asked; the text says why. `status` is None where there was no answer."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def body_of(summary: str, key: str, url: str | None) -> str:
    """The comment's text: a mark that finds it again, the summary, and a link to the job."""
    foot = ["", f"[This job]({url})"] if url else []
    room = LIMIT - sum(len(line.encode()) + 1 for line in foot)
    return fit([_mark(key), *summary.splitlines()], room, CUT) + "\n".join(foot)


def _mark(key: str) -> str:
    return f"<!-- sciagent: {slug(key)} -->"


class Comments:
    """The comments of one pull request, through the API at `api` (such as `https://api.github.com`)."""

    def __init__(self, api: str, repository: str, number: int, token: str, wait_s: float = 1.0) -> None:
        self._api = api.rstrip("/")
        self._place = f"/repos/{repository}/issues"
        self._number = number
        self._token = token
        self._wait_s = wait_s
        # A redirect would carry the token to wherever it points.
        self._opener = urllib.request.build_opener(_NoRedirect)

    def upsert(self, body: str, key: str) -> Done:
        """Replace the comment that carries the mark of `key`, or write a new one.

        Raises:
            Refused: no permission, no such pull request, no answer.
        """
        mine = self._mine(_mark(key))
        if mine is None:
            self._ask("POST", f"{self._place}/{self._number}/comments", {"body": body})
            return "created"
        self._ask("PATCH", f"{self._place}/comments/{mine}", {"body": body})
        return "updated"

    def _mine(self, mark: str) -> int | None:
        """The comment with the mark that was written with this token: anybody can write the mark into one of theirs."""
        login = self._login()
        for comment in self._all():
            match comment:
                case {"id": int(id), "body": str(text), "user": {"login": str(author), "type": str(kind)}}:
                    ours = author == login if login is not None else kind == "Bot"
                    if ours and text.startswith(mark):
                        return id
        return None

    def _login(self) -> str | None:
        """Who the token belongs to; None for that of a job, which may not ask."""
        try:
            who = self._ask("GET", "/user")
        except Refused as refused:
            if refused.status in (401, 403, 404):
                return None
            raise
        return who["login"] if isinstance(who, dict) and isinstance(who.get("login"), str) else None

    def _all(self) -> Iterator[Any]:
        for page in range(1, MAX_PAGES + 1):
            found = self._ask("GET", f"{self._place}/{self._number}/comments?per_page={PER_PAGE}&page={page}")
            if not isinstance(found, list):
                raise Refused("the list of comments is none")
            yield from found
            if len(found) < PER_PAGE:
                return

    def _ask(self, method: str, path: str, content: dict[str, str] | None = None) -> Any:
        data = json.dumps(content).encode() if content is not None else None
        request = urllib.request.Request(f"{self._api}{path}", data, method=method)  # noqa: S310 - the workflow's own API
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("Content-Type", "application/json")
        for attempt in range(1, TRIES + 1):
            try:
                with self._opener.open(request, timeout=TIMEOUT_S) as reply:
                    return json.loads(reply.read(MAX_REPLY_BYTES))
            except urllib.error.HTTPError as error:
                refused = Refused(f"{method} {path.split('?')[0]}: status {error.code}", error.code)
                if error.code < 500:
                    raise refused from None
            except (OSError, ValueError) as error:
                refused = Refused(f"{method} {path.split('?')[0]}: {one_line(str(error), 200)}")
                if method == "POST":  # it may have arrived: asked again, there would be two comments
                    raise refused from None
            if attempt < TRIES:
                time.sleep(self._wait_s * attempt)
        raise refused


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None
