"""How a verdict ends: passed, half, failed, not assessed or error, wherever outcomes are shown or kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sample import LEVELS, TESTER, Cohort, Level, outcomes

RUN = "runs/alpha/t1/run.json"
ALL = {"passed": 1, "half": 1, "failed": 1, "not assessed": 1}


@pytest.fixture
def one(cohort: Cohort) -> Cohort:
    """One run with one finding: 1, 0.5, 0 and unrecorded."""
    cohort.run(findings=1)
    cohort.record()
    return cohort


@pytest.mark.parametrize("extra", [[], ["-n0"], ["-n2"], ["-v"], ["--setup-show"]], ids=" ".join)
def test_each_level_has_its_outcome(one: Cohort, extra: list[str]) -> None:
    result = one.pytest("--sciagent-run=runs", *extra)
    assert outcomes(result) == ALL
    assert result.ret == 1


def test_letters_and_words(one: Cohort) -> None:
    one.pytest("--sciagent-run=runs").stdout.fnmatch_lines([f"{RUN} .hFn*"])
    verbose = one.pytest("--sciagent-run=runs", "-v")
    verbose.stdout.fnmatch_lines(
        [
            f"{RUN}::finding_1::ev.full PASSED*",
            f"{RUN}::finding_1::ev.half HALF*",
            f"{RUN}::finding_1::rob.zero FAILED*",
            f"{RUN}::finding_1::rob.open NOT ASSESSED*",
        ]
    )
    parallel = one.pytest("--sciagent-run=runs", "-n2", "-v", "--sciagent-fresh")
    parallel.stdout.fnmatch_lines([f"*HALF*{RUN}::finding_1::ev.half*"])
    very = one.pytest("--sciagent-run=runs", "-vv")
    very.stdout.fnmatch_lines(
        ["*ev.half HALF*", "*NOT ASSESSED (unrecorded: no*", "recorded verdict of handoff:tester)*"]
    )
    assert "<-" not in very.stdout.str()


def test_failures_are_one_line_under_a_heading_that_names_run_and_finding(one: Cohort) -> None:
    lines = one.pytest("--sciagent-run=runs").outlines
    at = lines.index("=================================== FAILURES ===================================")
    assert re.fullmatch("_+ alpha/t1 finding_1 rob.zero _+", lines[at + 1])
    assert lines[at + 2] == "The report speaks for level 0."
    assert lines[at + 3].startswith("====")


def test_report_options(one: Cohort) -> None:
    shown = one.pytest("--sciagent-run=runs", "-rA")
    shown.stdout.fnmatch_lines_random(
        [
            f"PASSED {RUN}::finding_1::ev.full",
            f"HALF {RUN}::finding_1::ev.half - The report speaks for level 0.5.",
            f"FAILED {RUN}::finding_1::rob.zero - The report speaks for le*",
            f"NOT ASSESSED {RUN}::finding_1::rob.open - unrecorded: no recorded verdict of handoff:tester",
        ]
    )
    assert "NOT ASSESSED" not in one.pytest("--sciagent-run=runs").stdout.str()
    both = {"HALF", "NOT ASSESSED"}
    half, gap = {"HALF"}, {"NOT ASSESSED"}
    for option, words in (("-rh", half), ("-rp", half), ("-rn", gap), ("-rs", gap), ("-ra", both)):
        shown = one.pytest("--sciagent-run=runs", option).stdout.str()
        assert {word for word in both if f"\n{word} {RUN}" in shown} == words, option
    parallel = one.pytest("--sciagent-run=runs", "-n1")  # -rfE is pytest's default
    parallel.stdout.fnmatch_lines([f"FAILED {RUN}::finding_1::rob.zero - The report speaks for *"])


@pytest.mark.parametrize(
    ("level", "status"), [("unverified", "unverified"), ("invalid", "invalid")], ids=["unverified", "invalid"]
)
@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_a_failure_of_the_judge_is_an_error_and_no_level(
    cohort: Cohort, level: Level, status: str, extra: list[str]
) -> None:
    cohort.run(findings=1)
    cohort.record(lambda run, finding, criterion: level if criterion == "ev.full" else LEVELS.get(criterion))
    result = cohort.pytest("--sciagent-run=runs", *extra)
    assert outcomes(result) == {"failed": 1, "half": 1, "not assessed": 1, "error": 1}
    result.stdout.fnmatch_lines(["*ERROR at setup of alpha/t1 finding_1 ev.full*", f"{status}: *"])
    assert "Traceback" not in result.stdout.str()
    assert "items.py" not in result.stdout.str()
    (run,) = cohort.results("--sciagent-run=runs", code=1)["runs"]
    assert run["score"] == {"low": 15, "high": 65}
    verdict = run["findings"][0]["criteria"][0]
    assert verdict["status"] == status
    assert verdict["level"] is None


def test_strict_makes_an_unrecorded_verdict_an_error(one: Cohort) -> None:
    result = one.pytest("--sciagent-run=runs", "--sciagent-strict")
    assert outcomes(result) == {"passed": 1, "half": 1, "failed": 1, "error": 1}
    result.stdout.fnmatch_lines(["unrecorded: no recorded verdict of handoff:tester"])


# ---- the cache


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_last_failed_runs_zeros_and_errors_only(cohort: Cohort, extra: list[str]) -> None:
    cohort.run("alpha", findings=1)
    cohort.run("beta", findings=1)
    cohort.record(
        lambda run, finding, criterion: (
            "unverified" if (run, criterion) == ("beta/t1", "ev.half") else LEVELS.get(criterion)
        )
    )
    cohort.pytest("--sciagent-run=runs", *extra, cache=True)
    again = cohort.pytest("--sciagent-run=runs", "--lf", *extra, cache=True)
    assert outcomes(again) | {"deselected": 5} == {"failed": 2, "error": 1, "deselected": 5}
    first = cohort.pytest("--sciagent-run=runs", "--ff", "--collect-only", "-q", cache=True)
    assert [line.rsplit("::", 1)[1] for line in first.outlines[:3]] == ["rob.zero", "ev.half", "rob.zero"]


def test_last_failed_finds_runs_in_odd_folders_beside_own_failing_tests(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    cohort.run("beta", findings=1, place="runs/b e t a/t1")
    cohort.record()
    (cohort.root / "test_a.py").write_text("def test_bad(): assert 0\n\ndef test_good(): pass\n")
    args = ("--sciagent-run=runs", "test_a.py", "--lf")
    cohort.pytest(*args, cache=True)
    assert outcomes(cohort.pytest(*args, cache=True))["failed"] == 3


def test_stepwise(one: Cohort) -> None:
    result = one.pytest("--sciagent-run=runs", "--stepwise", cache=True)
    assert outcomes(result) == {"passed": 1, "half": 1, "failed": 1}
    result = one.pytest("--sciagent-run=runs", "--stepwise", cache=True)
    assert outcomes(result) == {"failed": 1, "deselected": 2}


# ---- stopping early


def test_exitfirst_stops_at_a_zero_not_at_a_half(cohort: Cohort) -> None:
    cohort.run(findings=2)
    cohort.record()
    result = cohort.pytest("--sciagent-run=runs", "-x")
    assert outcomes(result) == {"passed": 1, "half": 1, "failed": 1}
    assert result.ret == 1
    assert outcomes(cohort.pytest("--sciagent-run=runs", "--maxfail=2"))["failed"] == 2


def test_exitfirst_tears_down_what_own_tests_have_set_up(one: Cohort) -> None:
    (one.root / "conftest.py").write_text(
        "import pytest\n\n"
        "@pytest.fixture(scope='session', autouse=True)\ndef held():\n    yield\n    print('RELEASED')\n"
    )
    (one.root / "test_a.py").write_text("def test_good(): pass\n")
    result = one.pytest("test_a.py", "--sciagent-run=runs", "-x", "-s")
    assert outcomes(result) == {"passed": 2, "half": 1, "failed": 1}
    assert "RELEASED" in result.stdout.str()


# ---- JUnit


def junit(path: Path) -> dict[str, ElementTree.Element]:
    root = ElementTree.parse(path).getroot()
    return {f"{case.get('classname')}::{case.get('name')}": case for case in root.iter("testcase")}


@pytest.mark.parametrize("extra", [[], ["-n1"], ["--setup-show"]], ids=["n0", "n1", "full"])
def test_junit_has_levels_as_properties(one: Cohort, extra: list[str]) -> None:
    path = one.root / "junit.xml"
    one.pytest("--sciagent-run=runs", f"--junitxml={path}", *extra)
    cases = junit(path)
    assert len(cases) == 4
    found = {}
    for name, case in cases.items():
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        kind = next((child.tag for child in case if child.tag != "properties" and child.tag != "system-out"), "passed")
        found[name.rsplit("::", 1)[1]] = (kind, properties)
    assert found == {
        "ev.full": (
            "passed",
            {
                "level": "1",
                "status": "assessed",
                "dimension": "evidence",
                "weight": "40",
                "judge": "handoff:tester",
                "score_effect": "0.0",
            },
        ),
        "ev.half": (
            "passed",
            {
                "level": "0.5",
                "status": "assessed",
                "dimension": "evidence",
                "weight": "30",
                "judge": "handoff:tester",
                "score_effect": "-15.0",
            },
        ),
        "rob.zero": (
            "failure",
            {
                "level": "0",
                "status": "assessed",
                "dimension": "robustness",
                "weight": "20",
                "judge": "handoff:tester",
                "score_effect": "-20.0",
            },
        ),
        "rob.open": (
            "skipped",
            {
                "level": "unset",
                "status": "unrecorded",
                "dimension": "robustness",
                "weight": "10",
                "score_effect": "-10.0..0.0",
            },
        ),
    }
    root = ElementTree.parse(path).getroot()
    suite = next(root.iter("testsuite"))
    assert [suite.get(k) for k in ("tests", "failures", "errors", "skipped")] == ["4", "1", "0", "1"]


def test_junit_stays_valid_with_hostile_reasons(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record()
    record = cohort.root / "verdicts" / "alpha" / "t1.json"
    data = json.loads(record.read_text())
    for entry in data["entries"]:
        entry["reason"] = "\x1b[31m]]> <b>&\u202e\x00\ud800 \ufffe" + "long " * 300
    record.write_text(json.dumps(data))
    path = cohort.root / "junit.xml"
    for extra in ([], ["-n1"]):
        result = cohort.pytest("--sciagent-run=runs", f"--junitxml={path}", *extra)
        assert outcomes(result) == ALL
        (zero,) = [case for name, case in junit(path).items() if name.endswith("rob.zero")]
        assert "]]> <b>&" in (next(zero.iter("failure")).get("message") or "")
        assert not re.search("[\x1b\u202e]", result.stdout.str())
        assert path.stat().st_size < 20_000


# ---- pytest-html


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_html_report_holds_no_script_of_a_run(cohort: Cohort, extra: list[str]) -> None:
    evil = "<script>alert('x')</script>"
    cohort.run(findings=1, place=f"runs/{evil.replace('/', '|')}/t1", report=f"# R\n\n## Finding 1: {evil}\n\n{evil}\n")
    cohort.record(lambda run, finding, criterion: 0)
    record = cohort.root / "verdicts" / "alpha" / "t1.json"
    record.write_text(record.read_text().replace("The report speaks", f"{evil} speaks"))
    path = cohort.root / "report.html"
    plugins = [part for name in ("anyio", "hypothesispytest", "cacheprovider") for part in ("-p", f"no:{name}")]
    args = ["--sciagent-run=runs", f"--html={path}", "--self-contained-html", *extra]
    cohort.pytester.runpytest_subprocess(*plugins, *args)
    text = path.read_text("utf-8")
    assert "finding_1::ev.full" in text
    assert "speaks" in text
    assert "<script>alert" not in text
    blob = re.search(r'data-jsonblob="([^"]*)"', text)
    assert blob is not None
    import html

    tests = json.loads(html.unescape(blob[1]))["tests"]
    assert len(tests) == 4
    assert "<script" not in json.dumps(tests)


# ---- other plugins that take part


def test_hooks_of_a_conftest_are_called(one: Cohort) -> None:
    (one.root / "conftest.py").write_text(
        "def pytest_runtest_setup(item): print('SETUP', item.name)\n"
        "def pytest_runtest_call(item): print('CALL', item.name)\n"
        "def pytest_runtest_teardown(item): print('TEARDOWN', item.name)\n"
        "def pytest_runtest_logstart(nodeid): print('START')\n"
        "def pytest_runtest_logfinish(nodeid): print('FINISH')\n"
        "def pytest_exception_interact(node): print('INTERACT', node.name)\n"
    )
    for extra in ([], ["-n1"]):
        result = one.pytest("--sciagent-run=runs", "-s", *extra, "-v")
        assert outcomes(result) == ALL
    text = one.pytest("--sciagent-run=runs", "-s").stdout.str()
    for phase in ("SETUP", "CALL", "TEARDOWN"):
        assert text.count(f"{phase} ") == 4
    assert text.count("INTERACT rob.zero") == 1


def test_short_protocol_calls_the_reporting_hooks(one: Cohort) -> None:
    (one.root / "conftest.py").write_text(
        "def pytest_runtest_logstart(nodeid): print('START')\n"
        "def pytest_runtest_logfinish(nodeid): print('FINISH')\n"
        "def pytest_runtest_makereport(item, call): print('REPORT', call.when)\n"
        "def pytest_exception_interact(node): print('INTERACT', node.name)\n"
    )
    text = one.pytest("--sciagent-run=runs", "-s", "-p", "no:rerunfailures").stdout.str()
    assert (
        text.count("START") == text.count("FINISH") == text.count("REPORT call") == text.count("REPORT teardown") == 4
    )
    assert "REPORT setup" not in text
    assert text.count("INTERACT rob.zero") == 1


def test_setup_show_uses_the_full_protocol(one: Cohort) -> None:
    result = one.pytest("--sciagent-run=runs", "--setup-show")
    result.stdout.fnmatch_lines([f"*{RUN}::finding_1::ev.full*"])


@pytest.mark.parametrize("option", ["--setup-only", "--setup-plan"])
def test_setup_only_and_plan_end_well(one: Cohort, option: str) -> None:
    (one.root / "conftest.py").write_text(
        "import pytest\nfrom pytest_sciagent import criterion\n\n"
        "@pytest.fixture\ndef helper(): return 1\n\n"
        "@criterion('own.one')\ndef own(finding, helper): return helper\n"
    )
    result = one.pytest("--sciagent-run=runs", option)
    assert "Traceback" not in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*SETUP*F*helper*"])


def test_pdb_stops_at_a_zero(one: Cohort) -> None:
    pytest.importorskip("pexpect")
    child = one.pytester.spawn_pytest("--sciagent-run=runs --pdb")
    child.expect("Pdb")
    child.sendline("q")
    child.wait()


def test_pdb_uses_the_full_protocol(one: Cohort) -> None:
    (one.root / "conftest.py").write_text(
        "import pdb\n\n"
        "class Quiet(pdb.Pdb):\n"
        "    def interaction(self, frame, traceback): print('ENTERED PDB')\n"
        "    reset = setup = lambda *a, **k: None\n"
    )
    result = one.pytest("--sciagent-run=runs", "--pdb", "--pdbcls=conftest:Quiet", "-p", "no:terminal", "-s")
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_reruns_count_the_last_attempt(one: Cohort) -> None:
    pytest.importorskip("pytest_rerunfailures", reason="pytest-rerunfailures is not installed")
    result = one.pytest("--sciagent-run=runs", "--reruns=1")
    assert outcomes(result) == ALL | {"rerun": 1}
    (run,) = one.results("--sciagent-run=runs", "--reruns=1", code=1)["runs"]
    assert run["score"] == {"low": 55, "high": 65}


def test_durations_and_other_reporting_options(one: Cohort) -> None:
    result = one.pytest("--sciagent-run=runs", "--durations=5", "--durations-min=0", "-vv", "--tb=short", "-l")
    assert outcomes(result) == ALL
    for style in ("auto", "long", "short", "line", "native", "no"):
        result = one.pytest("--sciagent-run=runs", f"--tb={style}")
        assert outcomes(result) == ALL
        assert ("The report speaks for level 0." in result.stdout.str().split("= sciagent =")[0]) == (style != "no")


def test_the_judge_is_named_by_its_verdicts(one: Cohort) -> None:
    found = one.results("--sciagent-run=runs", code=1)
    assert found["judge"] == TESTER.as_json()


@pytest.mark.parametrize("args", [["-W", "error"], ["-W", "error", "-n1"], ["-p", "no:xdist"]], ids=" ".join)
def test_no_warning_of_our_own_and_no_need_of_xdist(one: Cohort, args: list[str]) -> None:
    assert outcomes(one.pytest("--sciagent-run=runs", *args, fresh=True)) == ALL
