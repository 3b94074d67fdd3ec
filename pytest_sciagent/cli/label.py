"""The command with which people label: a page on this machine alone."""

from __future__ import annotations

import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import click

from ..errors import SciagentError
from ..text import clean
from .common import PATH, cases_of, read_session_rubric, sources_of, tasks_option, templates_option

if TYPE_CHECKING:
    from ..evaluation.labelling import Given, Labelling

HOST = "127.0.0.1"
MOST_BYTES = 200_000
LEVELS = {"1": 1.0, "0.5": 0.5, "0": 0.0}


class LabelServer(ThreadingHTTPServer):
    """Serves one person's questions below a path that nobody can guess; on the loopback address only."""

    daemon_threads = True

    def __init__(self, labelling: Labelling, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.labelling = labelling
        self.lock = threading.Lock()
        self.secret = secrets.token_urlsafe(16)

    @property
    def host(self) -> str:
        return f"{HOST}:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/{self.secret}/"


class _Handler(BaseHTTPRequestHandler):
    server: LabelServer

    def do_GET(self) -> None:
        if self._is_ours(""):
            with self.server.lock:
                self._page()

    def do_POST(self) -> None:
        if not self._is_ours("answer"):
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        fields = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"), keep_blank_values=True)
        with self.server.lock:
            self._take({name: values[0] for name, values in fields.items()})

    def _is_ours(self, name: str) -> bool:
        """Whether the page asked for is there, and asked for under the address that we gave (no other site's)."""
        origin = self.headers.get("Origin")
        if self.headers.get("Host") != self.server.host or origin not in (None, f"http://{self.server.host}"):
            self.send_error(HTTPStatus.FORBIDDEN)
            return False
        if not secrets.compare_digest(self.path.encode(), f"/{self.server.secret}/{name}".encode()):
            self.send_error(HTTPStatus.NOT_FOUND)
            return False
        return True

    def _take(self, fields: dict[str, str]) -> None:
        from ..evaluation.labelling import Given

        labelling, key = self.server.labelling, fields.get("key", "")
        if key not in labelling.questions:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        if fields.get("do") == "skip":
            labelling.skipped = [k for k in labelling.skipped if k != key] + [key]
            self._back()
            return
        if fields.get("level") not in LEVELS:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        words = {name: fields.get(name, "").replace("\r\n", "\n") for name in ("reason", "file", "quote")}
        given = Given(LEVELS[fields["level"]], **words)
        try:
            entry = labelling.take(key, given)
        except SciagentError as error:
            self._page(key, given, str(error))
            return
        if entry.settles:
            self._back()
        else:
            self._page(key, given, clean(f"not taken: {entry.reason}", 400))

    def _back(self) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", f"/{self.server.secret}/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _page(self, key: str | None = None, given: Given | None = None, problem: str = "") -> None:
        from ..reporting.label_page import POLICY, State, label_page

        labelling, nonce = self.server.labelling, secrets.token_urlsafe(16)
        key = key or labelling.next()
        state = State(labelling.answered, len(labelling.questions), labelling.rater.model)
        question = labelling.questions[key] if key is not None else None
        body = label_page(state, nonce, key or "", question, given, problem).encode("utf-8", "replace")
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", POLICY.format(nonce=nonce))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the path of the page is a secret."""


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--as", "name", required=True, metavar="NAME", help="Who labels, as it will be recorded.")
@click.option(
    "--labels",
    "folder",
    type=PATH,
    default=Path("labels"),
    show_default=True,
    help="Folder that takes the labels: a ledger of its own, so that no session mistakes people for its judge.",
)
@click.option(
    "--adjudicate",
    default=None,
    metavar="A,B",
    help="Ask only what these two raters judged differently, with what each said.",
)
@click.option("--rubric", "rubric_name", default=None, help="Rubric by name or file (default: truthinsight).")
@click.option("--judge", default=None, metavar="KIND:MODEL", help="Whose answers about runs say which facts are shown.")
@tasks_option
@click.option("--ledger", type=PATH, default=None, help="Ledger folder of judges (default: verdicts/ beside the runs).")
@templates_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port (default: any that is free).")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the order among equals.")
def label(
    runs: tuple[Path, ...],
    name: str,
    folder: Path,
    adjudicate: str | None,
    rubric_name: str | None,
    judge: str | None,
    tasks: tuple[Path, ...],
    ledger: Path | None,
    templates: Path | None,
    port: int,
    seed: int,
) -> None:
    """Serve a page on which a person judges the criteria of RUNS, with the words and evidence that judges are shown.

    Blind: no verdict and no system's name is shown. First comes what tells most: where recorded judges or draws
    disagree, then what they call half. A level above 0 needs a passage, which is looked up as a judge's is. Each answer
    is written at once; end with Ctrl-C, and go on later. The page is for this machine only (127.0.0.1).

    \b
    Then:
        sciagent calibrate labels/ --judge openai:MODEL --runs runs/

    \b
    Example:
        sciagent label runs/ --as ann
    """
    from ..evaluation.labelling import Labelling
    from ..evaluation.recorded import recorded_judge
    from ..judging.identity import parse_judges

    rubric = read_session_rubric(rubric_name)
    cases = cases_of(runs, sources_of(tasks, ledger, templates))
    named = parse_judges(judge) if judge is not None else ()
    lead = recorded_judge((case.ledger for case in cases), named, "--judge KIND:MODEL").identity
    labelling = Labelling(cases, rubric, name, folder.absolute(), lead=lead, between=_two(adjudicate), seed=seed)
    if not labelling.questions:
        raise SciagentError("there is nothing to label" if adjudicate is None else "the two differ in nothing")
    try:
        server = LabelServer(labelling, port)
    except OSError as error:
        raise SciagentError(f"port {port} can't be used: {error.strerror}") from None
    try:
        click.echo(f"{labelling.answered} of {len(labelling.questions)} answered; end with Ctrl-C")
        click.echo(server.url)
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo(f"{labelling.answered} of {len(labelling.questions)} answered, in {folder}")
    finally:
        server.server_close()


def _two(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise SciagentError(f"--adjudicate {text}: name two raters, with a comma between them")
    return names[0], names[1]
