"""Which items a session has, how they are named, and how they are selected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sample import PER_FINDING, WEIGHTS, Cohort, outcomes

ALPHA = "runs/alpha/t1/run.json"
SAFE = re.compile(r"(\.\./)*[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*(::[A-Za-z0-9_.-]+)+")


def nodeids(result: pytest.RunResult) -> list[str]:
    """The node ids that `--collect-only -q` printed."""
    return [line for line in result.outlines if "::" in line and not line.startswith(("ERROR", "E  "))]


def collected(cohort: Cohort, *args: str | Path) -> list[str]:
    return nodeids(cohort.pytest("--collect-only", "-q", *args))


@pytest.fixture
def two(cohort: Cohort) -> Cohort:
    """Two systems, two findings each, all recorded."""
    cohort.run("alpha")
    cohort.run("beta")
    cohort.record()
    return cohort


def test_every_criterion_of_every_finding_is_an_item_in_the_rubrics_order(two: Cohort) -> None:
    assert collected(two, "--sciagent-run=runs") == [
        f"runs/{system}/t1/run.json::{finding}::{criterion}"
        for system in ("alpha", "beta")
        for finding in ("finding_1", "finding_2")
        for criterion in WEIGHTS
    ]


@pytest.mark.parametrize(
    "args",
    [
        ["--sciagent-run=runs/alpha"],
        ["--sciagent-run", "runs/alpha"],
        ["--sciagent-run=runs/alpha/t1"],
        ["--sciagent-run=runs/alpha/t1/run.json"],
        ["--sciagent-run=runs/../runs/alpha/"],
        ["--sciagent-run=runs/alpha", "--sciagent-run=runs/alpha/t1"],
        ["runs/alpha"],
        ["runs/alpha/t1"],
        ["runs/alpha/t1/run.json"],
        ["./runs/beta/../alpha"],
        ["runs/alpha", "--sciagent-run=runs/alpha"],
    ],
    ids=" ".join,
)
def test_every_way_to_name_a_run(two: Cohort, args: list[str]) -> None:
    found = collected(two, *args)
    assert found == [n for n in collected(two, "--sciagent-run=runs") if n.startswith(ALPHA)]


def test_absolute_paths_and_runs_outside_the_rootdir(two: Cohort) -> None:
    absolute = two.root / "runs" / "alpha"
    assert collected(two, f"--sciagent-run={absolute}") == collected(two, str(absolute))
    inner = two.pytester.mkdir("inner")
    (inner / "pytest.ini").write_text("[pytest]\nsciagent_rubric = ../rubrics/small.yaml\n")
    two.pytester.chdir()
    two.pytester._monkeypatch.chdir(inner)
    for args in (["--sciagent-run=../runs/alpha"], ["--sciagent-run=../runs/alpha", "--rootdir=."]):
        found = collected(two, *args)
        assert len(found) == 2 * PER_FINDING
        assert all(n.startswith("../runs/alpha/t1/run.json::") for n in found)
    result = two.pytest("--sciagent-run=../runs/alpha", f"../{ALPHA}::finding_2::ev.half")
    assert outcomes(result) == {"half": 1}


def test_a_subfolder_as_working_folder(two: Cohort) -> None:
    two.pytester._monkeypatch.chdir(two.root / "runs")
    assert collected(two, "--sciagent-run=alpha") == collected(two, "alpha")
    assert len(collected(two, "--sciagent-run=alpha", "--sciagent-run=beta")) == 4 * PER_FINDING


@pytest.mark.parametrize(
    "name",
    [
        "with space",
        "brackets[1]",
        "at@sign",
        "a::b",
        "<script>alert(1)</script>".replace("/", "\u2044"),
        "ünïcode",
        "данные",
        "結果",
        "-dash",
        "tab\tand\nnewline",
        "esc\x1b[31m",
        "rtl\u202eexe",
    ],
    ids=ascii,
)
def test_odd_folder_names(cohort: Cohort, name: str) -> None:
    cohort.run("alpha", place=f"runs/{name}/t1")
    cohort.record()
    found = collected(cohort, "--sciagent-run=runs")
    assert len(found) == 2 * PER_FINDING
    assert all(SAFE.fullmatch(nodeid) for nodeid in found)
    assert collected(cohort, "runs") == found
    chosen = found[1]
    for args in ([chosen], ["--sciagent-run=runs", chosen]):
        result = cohort.pytest("-v", *args)
        assert outcomes(result) == {"half": 1}, args
        result.stdout.fnmatch_lines([f"{chosen} HALF*"])
    rest = cohort.pytest("--sciagent-run=runs", f"--deselect={chosen}")
    assert outcomes(rest)["deselected"] == 1


def test_names_that_differ_only_in_unsafe_characters_stay_apart(cohort: Cohort) -> None:
    for system, place in (("one", "a b"), ("two", "a-b"), ("three", "a@b"), ("four", "ä"), ("five", "ö")):
        cohort.run(system, place=f"runs/{place}/t1", findings=1)
    found = collected(cohort, "--sciagent-run=runs")
    assert len(set(found)) == 5 * PER_FINDING
    assert all(SAFE.fullmatch(nodeid) for nodeid in found)


def test_a_folder_name_that_is_not_unicode(cohort: Cohort) -> None:
    cohort.run("alpha", place="runs/alpha/t1")
    cohort.record()
    (cohort.root / "runs" / "alpha").rename(cohort.root / "runs" / "alp\udce4")
    assert all(SAFE.fullmatch(nodeid) for nodeid in collected(cohort, "--sciagent-run=runs"))
    result = cohort.pytest("--sciagent-run=runs", "-n1", "-v", fresh=True)
    assert outcomes(result) == {"failed": 2, "passed": 2, "half": 2, "not assessed": 2}


# ---- selection


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-k", "robustness"], 8),
        (["-k", "finding_2 and evidence"], 4),
        (["-k", "alpha"], 8),
        (["-k", "beta and not rob.open"], 6),
        (["-k", "t1 and ev.full"], 4),
        (["-m", 'dimension(id="robustness")'], 8),
        (["-m", 'criterion(id="ev.half")'], 4),
        (["-m", "weight(value=40)"], 4),
        (["-m", 'system(name="beta") and not dimension(id="evidence")'], 4),
        (["-m", 'task(id="t1")'], 16),
        (["-m", "sciagent"], 16),
        (["-m", "not sciagent"], 0),
        ([f"--deselect={ALPHA}"], 8),
        ([f"--deselect={ALPHA}::finding_1"], 12),
        ([f"--deselect={ALPHA}::finding_1::ev.full"], 15),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_selection(two: Cohort, args: list[str], expected: int) -> None:
    assert len(collected(two, "--sciagent-run=runs", *args)) == expected


@pytest.mark.parametrize("options", [[], ["--sciagent-run=runs"], ["--sciagent-run", "runs"]], ids=str)
@pytest.mark.parametrize(
    ("node", "expected"), [(ALPHA, 8), (f"{ALPHA}::finding_1", 4), (f"{ALPHA}::finding_1::rob.zero", 1)]
)
def test_selection_by_node_id(two: Cohort, options: list[str], node: str, expected: int) -> None:
    found = collected(two, *options, node)
    if options and "::" not in node:
        expected = 16  # a path is added to what the option names
    assert len(found) == expected


def test_node_ids_of_two_runs(two: Cohort) -> None:
    picked = [f"{ALPHA}::finding_1::ev.full", "runs/beta/t1/run.json::finding_2"]
    assert len(collected(two, *picked)) == 1 + PER_FINDING
    assert len(collected(two, "--sciagent-run=runs", *picked)) == 1 + PER_FINDING


def test_an_unknown_node_id_is_a_usage_error(two: Cohort) -> None:
    result = two.pytest(f"{ALPHA}::finding_9::ev.full")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: not found: *finding_9*"])


def test_parallel_selection(two: Cohort) -> None:
    result = two.pytest("--sciagent-run=runs", "-n2", "-k", "ev.full", f"--deselect={ALPHA}::finding_1")
    assert outcomes(result) == {"passed": 3}
    result = two.pytest(f"{ALPHA}::finding_1::ev.full", "-n1")
    assert outcomes(result) == {"passed": 1}


# ---- the user's own tests


@pytest.fixture
def with_tests(two: Cohort) -> Cohort:
    """A repository with tests of its own."""
    tests = two.root / "tests"
    tests.mkdir()
    (tests / "test_own.py").write_text("def test_one(): pass\n\ndef test_two(): pass\n")
    return two


def test_own_tests_run_only_when_asked(with_tests: Cohort) -> None:
    both = {"passed": 6, "failed": 4, "half": 4, "not assessed": 4}
    only_runs = both | {"passed": 4}
    assert outcomes(with_tests.pytest("--sciagent-run=runs")) == only_runs
    assert outcomes(with_tests.pytest("runs")) == only_runs
    assert outcomes(with_tests.pytest("--sciagent-run=runs", "tests")) == both
    assert outcomes(with_tests.pytest("tests", "runs")) == both
    assert outcomes(with_tests.pytest("--sciagent-run=runs", "tests/test_own.py::test_one", "-n1")) == both | {
        "passed": 5
    }
    assert outcomes(with_tests.pytest("tests")) == {"passed": 2}
    assert outcomes(with_tests.pytest(".")) == both


def test_runs_are_left_alone_where_nobody_names_them(with_tests: Cohort) -> None:
    result = with_tests.pytest()
    assert outcomes(result) == {"passed": 2}
    assert "sciagent" not in result.stdout.str().split("plugins:")[1].split("\n", 1)[1]


def test_testpaths(with_tests: Cohort) -> None:
    ini = with_tests.root / "pytest.ini"
    ini.write_text(ini.read_text() + "testpaths = tests\n")
    assert outcomes(with_tests.pytest()) == {"passed": 2}
    assert outcomes(with_tests.pytest("--sciagent-run=runs/alpha")) == {
        "passed": 2,
        "failed": 2,
        "half": 2,
        "not assessed": 2,
    }
    ini.write_text(ini.read_text().replace("= tests", "= tests runs/alpha"))
    assert outcomes(with_tests.pytest()) == {"passed": 4, "failed": 2, "half": 2, "not assessed": 2}


def test_a_foreign_run_json_is_no_run_of_ours(with_tests: Cohort) -> None:
    foreign = with_tests.root / "tests" / "data"
    foreign.mkdir()
    (foreign / "run.json").write_text('{"name": "something else"}')
    (foreign / "test_more.py").write_text("def test_three(): pass\n")
    assert outcomes(with_tests.pytest("tests")) == {"passed": 3}


def test_a_symbolic_link_to_a_cohort_may_be_named(two: Cohort) -> None:
    (two.root / "link").symlink_to(two.root / "runs")
    assert len(collected(two, "--sciagent-run=link")) == 4 * PER_FINDING
    assert len(collected(two, "link/alpha/t1")) == 2 * PER_FINDING


# ---- what a run without a usable result is


def test_runs_without_a_result_are_one_failing_item(cohort: Cohort) -> None:
    cohort.run("good", findings=1)
    cohort.run("failed", status="failed", exit_code=3)
    cohort.run("late", status="timed_out")
    cohort.run("silent", report=None)
    cohort.run("empty", report="# Report\n\nNothing was found.\n")
    cohort.record()
    result = cohort.pytest("--sciagent-run=runs", "-v")
    assert outcomes(result) == {"passed": 1, "half": 1, "not assessed": 1, "failed": 5}
    result.stdout.fnmatch_lines_random(
        [
            "runs/failed/t1/run.json::run::delivery FAILED*",
            "run failed/t1 counts as 0: the run failed, exit code 3",
            "run late/t1 counts as 0: the run timed out",
            "run silent/t1 counts as 0: the run delivered no report",
            "run empty/t1 counts as 0: the report registers no finding*",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    scores = {s["name"]: s["score"] for s in cohort.results("--sciagent-run=runs", code=1)["systems"]}
    assert scores["failed"] == scores["late"] == scores["silent"] == scores["empty"] == {"low": 0, "high": 0}
    assert scores["good"] == {"low": 55, "high": 65}


def test_a_failed_run_counts_in_the_mean_of_its_system(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    cohort.run("alpha", "t2", status="failed")
    cohort.record()
    (system,) = cohort.results("--sciagent-run=runs", code=1)["systems"]
    assert system["tasks"] == 2
    assert system["score"] == {"low": 27.5, "high": 32.5}


def test_an_unknown_task_is_no_obstacle(cohort: Cohort) -> None:
    cohort.run("alpha", "elsewhere")
    cohort.record()
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": 2, "half": 2, "failed": 2, "not assessed": 2}


def test_repeats_are_told_apart_and_averaged_first(cohort: Cohort) -> None:
    cohort.run("alpha", "t1")
    cohort.run("alpha", "t1", repeat=2)
    cohort.run("alpha", "t2", findings=1)
    cohort.record(lambda run, finding, criterion: 0 if run.endswith(".r2") else 1)
    found = cohort.results("--sciagent-run=runs", code=1)
    assert [(r["id"], r["repeat"]) for r in found["runs"]] == [
        ("runs/alpha/t1.r2/run.json", 2),
        ("runs/alpha/t1/run.json", 1),
        ("runs/alpha/t2/run.json", 1),
    ]
    assert found["systems"][0]["score"] == {"low": 75, "high": 75}
    assert found["systems"][0]["tasks"] == 2


# ---- node marks and fixtures of other plugins


def test_marks_given_by_a_hook_stay_with_their_item(two: Cohort) -> None:
    (two.root / "conftest.py").write_text(
        "import pytest\n\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        if item.nodeid.endswith('alpha/t1/run.json::finding_1::rob.zero'):\n"
        "            item.add_marker(pytest.mark.xfail(reason='known'))\n"
        "        if item.nodeid.endswith('alpha/t1/run.json::finding_2::rob.zero'):\n"
        "            item.add_marker(pytest.mark.skip(reason='not now'))\n"
    )
    result = two.pytest("--sciagent-run=runs/alpha", "-rxs")
    assert outcomes(result) == {"passed": 2, "half": 2, "not assessed": 2, "xfailed": 1, "skipped": 1}


def test_the_tree_shows_runs_findings_and_criteria(two: Cohort) -> None:
    result = two.pytest("--sciagent-run=runs/alpha", "--collect-only")
    result.stdout.fnmatch_lines(
        ["*<RunDir t1>", "*<RunFile run.json>", "*<FindingNode finding_1>", "*<CriterionItem ev.full>"]
    )
