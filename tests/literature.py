"""Literature services on 127.0.0.1 that answer in their own formats, and small documents.

with Services({"openalex": [paper, ...]}) as services:
    Http(None); make_provider(f"openalex={services.url}", http)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

Reply = tuple[int, dict[str, str], bytes]
Override = Callable[[str, int], Reply | None]


@dataclass(frozen=True)
class Paper:
    """A publication as a service knows it."""

    title: str
    abstract: str = ""
    date: str = "1990-05-06"
    doi: str | None = None
    arxiv: str | None = None
    authors: tuple[str, ...] = ()
    url: str | None = None


def atom(papers: Sequence[Paper], total: int) -> bytes:
    entries = []
    for number, paper in enumerate(papers):
        names = "".join(f"<author><name>{escape(name)}</name></author>" for name in paper.authors)
        doi = (
            f'<arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">{escape(paper.doi)}</arxiv:doi>'
            if paper.doi
            else ""
        )
        entries.append(
            f"<entry><id>http://arxiv.org/abs/{paper.arxiv or f'8801.0000{number}'}v2</id>"
            f"<title>{escape(paper.title)}</title><summary>{escape(paper.abstract)}</summary>"
            f"<published>{paper.date}T00:00:00Z</published>{names}{doi}</entry>"
        )
    head = (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
        f'<opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{total}</opensearch:totalResults>'
    )
    return f"{head}{''.join(entries)}</feed>".encode()


def inverted(abstract: str) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for place, word in enumerate(abstract.split()):
        index.setdefault(word, []).append(place)
    return index


def work(paper: Paper) -> dict[str, Any]:
    return {
        "id": "https://openalex.org/W1",
        "display_name": paper.title,
        "doi": f"https://doi.org/{paper.doi}" if paper.doi else None,
        "publication_date": paper.date,
        "publication_year": int(paper.date[:4]),
        "abstract_inverted_index": inverted(paper.abstract) or None,
        "authorships": [{"author": {"display_name": name}} for name in paper.authors],
        "primary_location": {
            "landing_page_url": paper.url or (f"https://arxiv.org/abs/{paper.arxiv}" if paper.arxiv else None)
        },
    }


def graph_paper(paper: Paper) -> dict[str, Any]:
    ids = {"DOI": paper.doi, "ArXiv": paper.arxiv}
    return {
        "paperId": "abc",
        "title": paper.title,
        "abstract": paper.abstract or None,
        "year": int(paper.date[:4]),
        "publicationDate": paper.date,
        "externalIds": {name: value for name, value in ids.items() if value},
        "url": paper.url,
        "authors": [{"authorId": "1", "name": name} for name in paper.authors],
    }


@dataclass
class Services:
    """All four services at one address. override: called with the path and the number of the request there; its reply
    comes instead. requests: (path, parameters or JSON body, headers) of each request."""

    papers: Mapping[str, Sequence[Paper]]
    override: Override = lambda path, n: None
    requests: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)

    def answer(self, path: str, given: dict[str, Any]) -> Reply:
        counted = sum(one[0] == path for one in self.requests)
        if (other := self.override(path, counted)) is not None:
            return other
        if path == "/api/query":
            start, size = int(given["start"]), int(given["max_results"])
            mine = self.papers.get("arxiv", ())
            return 200, {"Content-Type": "application/atom+xml"}, atom(mine[start : start + size], len(mine))
        if path == "/works":
            mine, size = self.papers.get("openalex", ()), int(given["per-page"])
            start = 0 if given["cursor"] == "*" else int(given["cursor"])
            following = str(start + size) if start + size < len(mine) else None
            meta = {"count": len(mine), "next_cursor": following}
            return 200, {}, _json({"meta": meta, "results": [work(p) for p in mine[start : start + size]]})
        if path == "/graph/v1/paper/search":
            mine, start, size = self.papers.get("semantic-scholar", ()), int(given["offset"]), int(given["limit"])
            if not mine:
                return 200, {}, _json({"total": 0, "offset": 0})
            more = {"next": start + size} if start + size < len(mine) else {}
            data = [graph_paper(p) for p in mine[start : start + size]]
            return 200, {}, _json({"total": len(mine), "offset": start, "data": data, **more})
        if path == "/search":
            mine = self.papers.get("tavily", ())
            results = [{"title": p.title, "url": p.url, "content": p.abstract, "published_date": p.date} for p in mine]
            return 200, {}, _json({"query": given["query"], "results": results[: given["max_results"]]})
        return 404, {}, b""

    def __enter__(self) -> Services:
        services = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                self.reply(parts.path, {k: v[0] for k, v in parse_qs(parts.query).items()})

            def do_POST(self) -> None:
                self.reply(self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def reply(self, path: str, given: dict[str, Any]) -> None:
                services.requests.append((path, given, dict(self.headers)))
                status, headers, body = services.answer(path, given)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def pdf(lines: Sequence[str]) -> bytes:
    """A PDF of one page with these lines of text."""
    shown = "".join(f"({line.replace('(', '').replace(')', '')}) Tj 0 -14 Td " for line in lines)
    stream = f"BT /F1 10 Tf 40 780 Td {shown}ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
