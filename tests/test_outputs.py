"""What a session leaves for people and machines beside its JSON: JSON lines, a summary, code quality, events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sample import Cohort

from pytest_sciagent.reporting.markdown import code, fit, table
from pytest_sciagent.reporting.words import Words
from pytest_sciagent.schemas import schemas

RUNS = "--sciagent-run=runs"
KEY = "sk-Zq8Lw2Nc5Vb7Xm1Kd9Rt4"
EVIL = (
    "@octocat see #1 and octo/repo#2, https://evil.example/x www.evil.example me@evil.example "
    "<script>alert(1)</script> <img src=x onerror=alert(2)> [click](javascript:alert(3)) "
    "![](http://evil.example/p.png) | a | b | `tick` ``two`` \\| :tada: <!-- sciagent: default --> "
    "&lt;b&gt; \u202egnp\x1b[31m\r\n\n# Heading\n::error::x"
)


@pytest.fixture
def one(cohort: Cohort) -> Cohort:
    cohort.run(findings=1)
    cohort.record()
    return cohort


def rewrite(cohort: Cohort, reason: str, quote: str | None = None) -> None:
    """Let every recorded answer have this reason (and this quote)."""
    for record in (cohort.root / "verdicts").glob("*/*.json"):
        data = json.loads(record.read_text())
        for entry in data["entries"]:
            entry["reason"] = reason
            if quote is not None:
                entry["citations"][0]["quote"] = quote
        record.write_text(json.dumps(data))


def schema(name: str) -> Any:
    return json.loads(schemas()[f"sciagent-{name}-1.schema.json"])


# ---- JSON and JSON lines


def test_a_verdict_a_line(one: Cohort) -> None:
    one.pytest(RUNS, "--sciagent-jsonl=out/verdicts.jsonl")
    lines = (one.root / "out" / "verdicts.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    for line in found:
        jsonschema.validate(line, schema("verdict"))
    assert [(v["criterion_id"], v["level"], v["effect"]) for v in found] == [
        ("ev.full", 1.0, {"low": 0.0, "high": 0.0}),
        ("ev.half", 0.5, {"low": -15.0, "high": -15.0}),
        ("rob.zero", 0.0, {"low": -20.0, "high": -20.0}),
        ("rob.open", None, {"low": -10.0, "high": 0.0}),
    ]
    first = found[0]
    assert first["node_id"] == "runs/alpha/t1/run.json::finding_1::ev.full"
    assert (first["run"], first["rubric"], first["judge"]["model"]) == ("alpha/t1", "small 1", "tester")
    assert first["citations"][0]["verified"] is True


def test_the_results_file_meets_its_published_schema(one: Cohort) -> None:
    one.run("gamma", status="failed")
    one.run("base", place="old/t1", findings=1)
    one.record(lambda run, finding, criterion: 1, runs="old")
    found = one.results(RUNS, "--sciagent-baseline=old", "--sciagent-min-score=10")
    jsonschema.validate(found, schema("results"))
    assert found["baseline"]["name"] == "old"
    assert found["baseline"]["systems"][0] == {
        "system": "alpha",
        "baseline_system": "base",
        "tasks": 1,
        "before": {"low": 100, "high": 100},
        "after": {"low": 55, "high": 65},
    }
    changes = {(c["system"], c["criterion_id"]): (c["before"], c["after"]) for c in found["baseline"]["changes"]}
    assert changes == {
        ("alpha", "ev.half"): (1, 0.5),
        ("alpha", "rob.zero"): (1, 0),
        **{("gamma", criterion): (1, 0) for criterion in ("ev.full", "ev.half", "rob.zero", "rob.open")},
    }


def test_no_baseline_no_changes(one: Cohort) -> None:
    found = one.results(RUNS)
    assert found["baseline"] is None
    jsonschema.validate(found, schema("results"))


# ---- the summary


def test_the_summary_says_what_the_terminal_says(one: Cohort) -> None:
    one.run("base", place="old/t1", findings=1)
    one.record(lambda run, finding, criterion: 1, runs="old")
    result = one.pytest(RUNS, "--sciagent-summary=s.md", "--sciagent-min-score=90", "--sciagent-baseline=old")
    text = (one.root / "s.md").read_text("utf-8")
    lines = text.splitlines()
    assert lines[0] == "## sciagent: ❌ gate not met"
    for told in (line for line in result.outlines if line.startswith("gate ")):
        outcome, sentence = told.removeprefix("gate ").split(": ", 1)
        assert any(f"**{outcome}**: `{sentence}`" in line for line in lines), sentence
    assert "| `alpha` | 1 | 55.0..65.0 | 1 | 100.0 | 55.0..65.0 | -45.0..-35.0 |" in lines
    fallen = lines[lines.index("### Fallen since the baseline (2; raised: 0)") :]
    assert [line for line in fallen if "→" in line] == [
        "- `alpha/t1 finding_1 rob.zero` 1 → 0: `The report speaks for level 0.`",
        "- `alpha/t1 finding_1 ev.half` 1 → 0.5: `The report speaks for level 0.5.`",
    ]
    assert "- −20.0 `alpha/t1 finding_1 rob.zero`: `The report speaks for level 0.`" in lines
    assert "| `alpha/t1` | 55.0..65.0 | 1 | 1 | 1 | 1 | 1 | 0 |" in lines
    assert "- 1 × `rob.open: no recorded verdict of handoff:tester`" in lines


def test_failed_and_tampered_runs_are_in_the_summary(cohort: Cohort) -> None:
    cohort.run("alpha", status="failed", exit_code=3)
    tampered = cohort.run("beta")
    (tampered / "output" / "Result.md").write_text("changed")
    cohort.pytest(RUNS, "--sciagent-summary=s.md")
    text = (cohort.root / "s.md").read_text("utf-8")
    assert "| `alpha/t1` | 0.0 | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "| `beta/t1` | tampered | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "- `alpha/t1: the run failed, exit code 3`" in text
    assert "- `beta/t1: changed: output/Result.md`" in text


def outside_code(text: str) -> str:
    """The HTML of Markdown without what stands in code spans, as a strict reader of GFM makes it."""
    page = MarkdownIt("gfm-like", {"html": True}).render(text)
    return re.sub(r"<code>.*?</code>", "<code/>", page, flags=re.DOTALL)


ALLOWED = {"h2", "h3", "ul", "li", "p", "strong", "em", "table", "thead", "tbody", "tr", "th", "td", "code"}


def check_inert(text: str) -> None:
    page = outside_code(text)
    assert set(re.findall(r"</?([a-z0-9]+)", page)) <= ALLOWED
    assert not re.search(r"@|#|https?:|www\.|javascript|onerror|evil|:tada:|&lt;|\x1b|\u202e", page), page
    widths = [row.count("<t") for row in re.findall(r"<tr>(.*?)</tr>", page, flags=re.DOTALL)]
    assert set(widths) <= {7, 8, 3}, widths


def test_what_agents_and_judges_say_is_inert(cohort: Cohort) -> None:
    cohort.run(findings=1, report=f"# R\n\n## Finding 1: {EVIL.splitlines()[0]}\n\nText.\n")
    cohort.record(lambda run, finding, criterion: 0)
    rewrite(cohort, EVIL)
    cohort.pytest(RUNS, "--sciagent-summary=s.md", "--sciagent-min-score=10")
    text = (cohort.root / "s.md").read_text("utf-8")
    assert "@octocat" in text
    assert not re.search("[\x1b\u202e\r]", text)
    assert "\n::" not in text
    check_inert(text)


@given(st.text(max_size=300) | st.text(alphabet="`|\\@#<>[]()!*_~&:/ \nwh.", max_size=120))
def test_any_text_is_one_inert_code_span(text: str) -> None:
    shown = code(Words().line(text, 200))
    page = MarkdownIt("gfm-like", {"html": True}).render("\n".join(table(["a", "b"], [[shown, "x"]])))
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page, flags=re.DOTALL)
    assert len(cells) == 2
    assert re.fullmatch(r"<code>[^<]*</code>", cells[0])


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=50)), st.integers(40, 400))
def test_a_cut_text_fits_and_says_so(lines: list[str], limit: int) -> None:
    text = fit(lines, limit, "*cut*")
    assert len(text.encode()) <= limit
    assert text.endswith("*cut*\n") or text == "\n".join(lines) + "\n"


def test_the_summary_of_a_huge_session_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 failing criteria with reasons of 4 kB, 2,000 runs: below 1 MiB, counts kept."""
    from fractions import Fraction

    from pytest_sciagent.collection.index import RunIndex
    from pytest_sciagent.models import Rubric, Verdict
    from pytest_sciagent.reporting.results import FindingResult, Results, RunResult
    from pytest_sciagent.reporting.summary import summary
    from pytest_sciagent.scoring import FindingScore, Interval

    rubric = Rubric.model_validate(
        {
            "schema": "sciagent-rubric/1",
            "id": "r",
            "version": "1",
            "kind": "curated",
            "dimensions": [{"id": "d", "weight": 1}],
            "criteria": [
                {
                    "id": f"c{n}",
                    "dimension": "d",
                    "weight": 1,
                    "question": "?",
                    "levels": {"1": "a", "0.5": "b", "0": "c"},
                    "judge": True,
                }
                for n in range(25)
            ],
        }
    )
    zero = Interval.point(0)
    runs = []
    for n in range(2000):
        verdicts = [
            Verdict(criterion_id=c.id, finding="f", status="assessed", level=0.0, reason="€" * 4000, reason_code="x")
            for c in rubric.criteria
            if n % 10 == 0
        ]
        finding = FindingResult("f", 1, "t" * 4000, tuple(verdicts), FindingScore(zero, Fraction(1)), {})
        index = RunIndex(f"/r{n}", f"r{n}/run.json", f"system-{n}/task", f"system-{n}", "task", 1, "sound")
        runs.append(RunResult(index, (finding,), (), None, None, zero, Fraction(1)))
    text = summary(Results(tuple(runs), (), (rubric,), None, None), Words())
    assert len(text.encode()) < 1_000_000
    assert "### Costliest failing criteria (15 of 5000)" in text
    assert "… and 4985 more (see the JSON file)" in text
    assert "… and 1700 more (see the JSON file)" in text


# ---- code quality


def test_code_quality_points_at_the_rubric(one: Cohort) -> None:
    one.pytest(RUNS, "--sciagent-code-quality=q.json", "--sciagent-rubric=small")
    found = json.loads((one.root / "q.json").read_text())
    lines = (one.root / "rubrics" / "small.yaml").read_text().splitlines()
    assert [(entry["check_name"], entry["severity"]) for entry in found] == [
        ("rob.zero", "critical"),
        ("ev.half", "critical"),
    ]
    for entry in found:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        place = entry["location"]
        assert place["path"] == "rubrics/small.yaml"
        assert lines[place["lines"]["begin"] - 1] == f"  - id: {entry['check_name']}"
    before = [entry["fingerprint"] for entry in found]
    assert len(set(before)) == len(before)
    rewrite(one, "said in other words")
    one.pytest(RUNS, "--sciagent-code-quality=q.json", "--sciagent-rubric=small")
    assert [entry["fingerprint"] for entry in json.loads((one.root / "q.json").read_text())] == before


# ---- events


CONFTEST = """\
import json
from opentelemetry import _logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

exporter = InMemoryLogRecordExporter()

def pytest_configure(config):
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    _logs.set_logger_provider(provider)

def pytest_unconfigure(config):
    events = [(log.log_record.event_name, dict(log.log_record.attributes)) for log in exporter.get_finished_logs()]
    open('events.json', 'w').write(json.dumps(events))
"""


def test_events_reach_the_provider_that_is_set(cohort: Cohort) -> None:
    cohort.run(findings=1)
    levels = {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0, "rob.open": "invalid"}
    cohort.record(lambda run, finding, criterion: levels[criterion])
    (cohort.root / "conftest.py").write_text(CONFTEST)
    result = cohort.pytest(RUNS, "--sciagent-otel", fresh=True)
    assert result.ret == 1
    events = json.loads((cohort.root / "events.json").read_text())
    assert {name for name, _ in events} == {"gen_ai.evaluation.result"}
    told = {
        attributes["gen_ai.evaluation.name"]: (
            attributes.get("gen_ai.evaluation.score.value"),
            attributes["gen_ai.evaluation.score.label"],
            attributes.get("error.type"),
        )
        for _, attributes in events
    }
    assert told == {
        "ev.full": (1.0, "full", None),
        "ev.half": (0.5, "half", None),
        "rob.zero": (0.0, "zero", None),
        "rob.open": (None, "error", "invalid"),
    }
    assert events[0][1]["gen_ai.evaluation.explanation"] == "The report speaks for level 1."
    assert events[0][1]["sciagent.run"] == "alpha/t1"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """An OTLP endpoint on 127.0.0.1: its address, and what was sent to it."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    server.server_close()


def test_events_are_sent_by_otlp(
    one: Cohort, monkeypatch: pytest.MonkeyPatch, collector: tuple[str, list[tuple[str, bytes]]]
) -> None:
    address, got = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    one.pytest(RUNS, "--sciagent-otel", fresh=True)
    assert [path for path, _ in got] == ["/v1/logs"]
    assert got[0][1].count(b"gen_ai.evaluation.result") == 4


def test_events_need_their_packages(one: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    (one.root / "hidden.py").write_text(
        "import importlib.util\n\nreal = importlib.util.find_spec\n\n"
        "def find_spec(name, *rest):\n    return None if name.startswith('opentelemetry') else real(name, *rest)\n\n"
        "importlib.util.find_spec = find_spec\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{one.root}:{Path(__file__).parent.parent}")
    result = one.pytest("-p", "hidden", RUNS, "--sciagent-otel", fresh=True)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --sciagent-otel needs opentelemetry.sdk and *'pytest-sciagent*otel*'"])


# ---- secrets, in every output


SINKS = {
    "json": "--sciagent-json=out.json",
    "jsonl": "--sciagent-jsonl=out.jsonl",
    "summary": "--sciagent-summary=out.md",
    "code-quality": "--sciagent-code-quality=out.quality.json",
    "junit": "--junitxml=out.xml",
    "html": "--html=out.html",
}


@pytest.mark.parametrize("workers", ["0", "1"])
def test_no_output_holds_a_secret(cohort: Cohort, monkeypatch: pytest.MonkeyPatch, workers: str) -> None:
    known = "correct horse battery staple"
    monkeypatch.setenv("HOUSE_TOKEN", known)
    monkeypatch.setenv("STATE_TOKEN", "not_assessed")  # no status word is ever masked
    cohort.run(findings=1, report=f"# R\n\n## Finding 1: rises {KEY}\n\nThe key is {KEY}, and {known}.\n")
    cohort.record(lambda run, finding, criterion: 0 if criterion != "rob.open" else None)
    # The cuts of the outputs (140, 200, 220, 300, 400, 500, 2000) fall into a key each.
    keys = " ".join(f"{KEY} {known} {'x' * 20}" for _ in range(40))
    rewrite(cohort, f"status 401 {keys}", f"The key is {KEY}, and {known}.")
    plugins = [part for name in ("anyio", "hypothesispytest", "cacheprovider") for part in ("-p", f"no:{name}")]
    result = cohort.pytester.runpytest_subprocess(*plugins, RUNS, "-n", workers, "-v", "-rA", *SINKS.values())
    texts = {name: (cohort.root / option.split("=")[1]).read_text("utf-8") for name, option in SINKS.items()}
    texts["terminal"] = result.stdout.str() + result.stderr.str()
    for name, text in texts.items():
        assert "[masked]" in text, name
        assert "status 401" in text, name
        for secret in (KEY, known):
            assert not any(secret[:n] in text for n in (10, len(secret))), (name, secret)
    assert '"status": "not_assessed"' in texts["json"] or '"status": "unrecorded"' in texts["json"]
    assert "NOT ASSESSED" in texts["terminal"]


@pytest.mark.parametrize("name", ["jsonl", "summary", "code-quality"])
def test_files_that_can_not_be_written_are_told_first(one: Cohort, name: str) -> None:
    (one.root / "file").write_text("")
    result = one.pytest(RUNS, f"--sciagent-{name}=file/below")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: --sciagent-{name} file/below: a file can't be written there"])
