"""GitHub's API for comments on 127.0.0.1, as far as one comment on a pull request needs it."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "a-token-of-the-job"
BOT = {"login": "github-actions[bot]", "type": "Bot"}


class GitHubApi:
    """Comments of one pull request.

    login: whose token it is; None for that of a job, which may not ask who it is. broken: statuses to answer first.
    refuse: whether writing is refused, as for a token without the permission.
    """

    def __init__(self, login: str | None = None) -> None:
        self.comments: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.login = login
        self.broken: list[int] = []
        self.refuse = False

    def __enter__(self) -> GitHubApi:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer()

            do_POST = do_PATCH = do_GET  # noqa: N815

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                sent = json.loads(self.rfile.read(length)) if length else {}
                status, body = api._reply(self.command, self.path, self.headers.get("Authorization"), sent)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def add(self, body: str, user: dict[str, str]) -> int:
        """Let somebody write a comment."""
        self.comments.append({"id": 100 + len(self.comments), "body": body, "user": user})
        return int(self.comments[-1]["id"])

    def _reply(self, method: str, path: str, authorization: str | None, sent: dict[str, str]) -> tuple[int, Any]:
        self.requests.append(f"{method} {path}")
        if self.broken:
            return self.broken.pop(0), {}
        if authorization != f"Bearer {TOKEN}":
            return 401, {}
        if path == "/user":
            return (200, {"login": self.login}) if self.login is not None else (403, {})
        if method != "GET" and self.refuse:
            return 403, {}
        if match := re.fullmatch(r"/repos/me/lab/issues/7/comments\?per_page=(\d+)&page=(\d+)", path):
            size, page = int(match[1]), int(match[2])
            return 200, self.comments[(page - 1) * size : page * size]
        if method == "POST" and path == "/repos/me/lab/issues/7/comments":
            author = BOT if self.login is None else {"login": self.login, "type": "User"}
            return 201, {"id": self.add(sent["body"], author)}
        if method == "PATCH" and (match := re.fullmatch(r"/repos/me/lab/issues/comments/(\d+)", path)):
            for comment in self.comments:
                if comment["id"] == int(match[1]):
                    comment["body"] = sent["body"]
                    return 200, comment
        return 404, {}
