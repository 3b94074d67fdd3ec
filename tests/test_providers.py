"""Literature providers: each service's own format, its pages, its refusals, and answers that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from literature import Paper, Reply, Services, pdf

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.induction.providers import Http, Publication, SearchFailed, make_provider

REMOTE = ("arxiv", "openalex", "semantic-scholar", "tavily")
PAPER = Paper(
    "On the shape of cycles & waves",
    "We describe rise and fall.",
    date="1991-02-03",
    doi="10.1000/ABC.12",
    arxiv="9105.01234",
    authors=("Ada Lovelace", "Blaise Pascal"),
    url="https://example.org/paper",
)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tavily-secret")
    monkeypatch.setenv("SEMANTIC_SCHOLAR_API_KEY", "graph-secret")


def search(
    name: str, services: Services, limit: int = 10, cache: Path | None = None, offline: bool = False
) -> list[Publication]:
    http = Http(cache, offline=offline, pause_s=0, wait_s=0.01)
    return make_provider(f"{name}={services.url}", http).search("rise and fall", limit)


@pytest.mark.parametrize("name", REMOTE)
def test_a_publication_is_read_and_normalised(name: str) -> None:
    with Services({name: [PAPER]}) as services:
        (found,) = search(name, services)
    assert (found.title, found.text, found.date) == (PAPER.title, PAPER.abstract, PAPER.date)
    if name != "tavily":
        assert found.doi == "10.1000/abc.12"
        assert found.authors == PAPER.authors
    if name in {"arxiv", "semantic-scholar"}:
        assert found.arxiv == "9105.01234"


@pytest.mark.parametrize("name", REMOTE)
def test_nothing_found(name: str) -> None:
    with Services({}) as services:
        assert search(name, services) == []


@pytest.mark.parametrize("name", ["arxiv", "openalex", "semantic-scholar"])
def test_pages_are_turned(name: str) -> None:
    papers = [Paper(f"Title number {n}") for n in range(120)]
    with Services({name: papers}) as services:
        found = search(name, services, limit=115)
    assert [p.title for p in found] == [p.title for p in papers[:115]]
    assert len(services.requests) == 3


@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_services_are_asked_again(name: str, status: int) -> None:
    def busy(path: str, n: int) -> Reply | None:
        return (status, {"Retry-After": "0"}, b"later") if n <= 2 else None

    with Services({name: [PAPER]}, busy) as services:
        assert len(search(name, services)) == 1
    assert len(services.requests) == 3


@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ((503, {"Retry-After": "0"}, b""), "http 503"),
        ((404, {}, b"gone"), "http 404"),
        ((401, {}, b"{}"), "http 401"),
        ((200, {}, b"<html>hello</html>"), "not"),
        ((200, {}, b"\xff\xfe{"), "not"),
        ((200, {}, b"[]"), ""),
        ((200, {}, b'{"error": "no"}'), ""),
        ((302, {"Location": "http://127.0.0.1:9/"}, b""), "http 302"),
        ((200, {}, b"x" * 8_000_001), "bytes"),
    ],
    ids=["busy", "gone", "no key", "a page", "broken", "a list", "an error", "a redirect", "too long"],
)
def test_what_is_no_answer_is_a_failure_with_a_reason(name: str, reply: Reply, told: str) -> None:
    with Services({}, lambda path, n: reply) as services, pytest.raises(SearchFailed) as failure:
        search(name, services)
    assert told in str(failure.value)
    assert "secret" not in str(failure.value)


def test_xml_with_entities_is_refused() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><feed xmlns="http://www.w3.org/2005/Atom">&a;</feed>'
    with (
        Services({}, lambda path, n: (200, {}, bomb)) as services,
        pytest.raises(SearchFailed, match="not an Atom feed"),
    ):
        search("arxiv", services)


def test_fields_of_other_types_cost_only_themselves() -> None:
    odd = (
        b'{"results": [{"display_name": 5}, 7, {"display_name": "Kept", "doi": 3, "authorships": [1, {"author": 2}],'
        b' "abstract_inverted_index": {"a": "x", "b": [0]}, "publication_date": []}], "meta": []}'
    )
    with Services({}, lambda path, n: (200, {}, odd)) as services:
        (found,) = search("openalex", services)
    assert (found.title, found.text, found.doi, found.date) == ("Kept", "b", None, None)


def test_keys_go_in_headers_and_into_no_cache(tmp_path: Path) -> None:
    papers = {name: [PAPER] for name in REMOTE}
    with Services(papers) as services:
        for name in REMOTE:
            search(name, services, cache=tmp_path)
        sent = {path: headers for path, _, headers in services.requests}
        assert sent["/search"]["Authorization"] == "Bearer tavily-secret"
        assert sent["/graph/v1/paper/search"]["x-api-key"] == "graph-secret"
        count = len(services.requests)
        for name in REMOTE:  # from the cache, also where nothing may be fetched
            assert len(search(name, services, cache=tmp_path, offline=True)) == 1
        assert len(services.requests) == count
        with pytest.raises(SearchFailed, match="offline"):
            search("openalex", services, limit=3, cache=tmp_path, offline=True)
    assert all(b"secret" not in path.read_bytes() for path in tmp_path.iterdir())


def test_unknown_providers_and_missing_keys_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TAVILY_API_KEY")
    for text, told in (
        ("tavily", "TAVILY_API_KEY"),
        ("scholar", "there are"),
        ("openalex=ftp://x", "http"),
        (f"local={tmp_path / 'none'}", "no such folder"),
    ):
        with pytest.raises(SciagentError, match=told):
            make_provider(text, Http())


def test_a_local_folder_of_pdf_and_markdown(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.pdf").write_bytes(pdf(["Waves of rise and fall in water", "Methods are told here."]))
    (tmp_path / "b.md").write_text("# Notes on something else\n\nNothing of that kind.\n")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    (tmp_path / "link.md").symlink_to("/etc/hostname")
    found = make_provider(f"local={tmp_path}", Http()).search("rise and fall", 5)
    assert [p.title for p in found] == ["Waves of rise and fall in water"]
    assert "Methods are told here" in found[0].text
