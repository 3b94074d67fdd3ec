"""What a session leaves to read: the terminal section and the JSON file."""

from __future__ import annotations

import json
import re

import pytest
from sample import LEVELS, Cohort, write_task


@pytest.fixture
def two(cohort: Cohort) -> Cohort:
    cohort.run("alpha")
    cohort.run("beta", findings=1)
    cohort.record()
    return cohort


def section(text: str) -> list[str]:
    """The lines of the section."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.strip("= ") == "sciagent")
    stop = next(n for n, line in enumerate(lines) if n > start and line.startswith("=="))
    return lines[start + 1 : stop]


def test_the_section(two: Cohort) -> None:
    result = two.pytest("--sciagent-run=runs", "--sciagent-profile=truthinsight", "--sciagent-min-score=90")
    lines = section(result.stdout.str())
    pairs = lines.index("PAIRS: differences on shared tasks")
    pairs_end = lines.index("  more: sciagent compare, with the same runs")
    assert "  alpha, beta: no difference is shown at any end; 1 difference can't show one: the smallest p" in lines
    lines[pairs : pairs_end + 1] = ["PAIRS"]
    assert lines == [
        "2 runs, 3 findings; rubric small 1 (truthinsight); judge handoff:tester",
        "scores are points of 0..100; low..high where something is not assessed or in error",
        "",
        "alpha",
        "  task       score          S1         S2     yield     target    penalty  assessed",
        "  t1    23.0..68.0  55.0..65.0  0.0..65.0  0.0..6.0  0.0..10.0  0.0..10.0      90 %",
        "",
        "beta",
        "  task       score          S1   S2     yield     target   penalty  assessed",
        "  t1    28.0..53.0  55.0..65.0  0.0  0.0..4.0  0.0..10.0  0.0..5.0      90 %",
        "",
        "share of points by dimension, mean over findings (= earned, . open)",
        "  evidence    alpha  [===============     ] 79 %",
        "              beta   [===============     ] 79 %",
        "  robustness  alpha  [......              ] 0..33 %",
        "              beta   [......              ] 0..33 %",
        "",
        "share of points by layer: executed and traceable (1.1, 1.3, 1.4), then tested (2, 3, 4 and 6)",
        "  tested  alpha  [......              ] 0..33 %",
        "          beta   [......              ] 0..33 %",
        "",
        "SYSTEMS: mean over tasks",
        "             tasks  mean  95 % t  95 % bootstrap  range  leads  for sure",
        "alpha",
        "  low ends       1  23.0       -               -   23.0      0         0",
        "  high ends      1  68.0       -               -   68.0      1         0",
        "beta",
        "  low ends       1  28.0       -               -   28.0      1         0",
        "  high ends      1  53.0       -               -   53.0      0         0",
        "  leads: of the 1 task that all systems have, those on which a system is first (ties shared); for",
        "    sure: whatever is not assessed turns out to be",
        "  beta ~ alpha (>: ahead for sure; =: tied; ~: open)",
        "  alpha, beta: one task tells nothing about the spread over tasks.",
        "  On the 1 task that all systems have, no system is named as leading: alpha, beta could each be",
        "    first; their intervals overlap, and what is not assessed could turn it.",
        "",
        "PAIRS",
        "",
        "costliest failing criteria (3 of 3)",
        "  -20  alpha/t1 finding_1 rob.zero: The report speaks for level 0.",
        "  -20  alpha/t1 finding_2 rob.zero: The report speaks for level 0.",
        "  -20  beta/t1 finding_1 rob.zero: The report speaks for level 0.",
        "",
        "not assessed, and notes",
        "  3 x rob.open: no recorded verdict of handoff:tester",
        "  to have them answered: name a judge with --sciagent-judge, or see sciagent ledger export",
        "  beta/t1: Only one finding is registered (line 3).",
        "",
        "spent: nothing, no judge was asked",
        "saved: 9 recorded answers replayed, tokens and cost not known",
        "",
        "alpha: 23.0..68.0 (mean of 1 task)",
        "beta: 28.0..53.0 (mean of 1 task)",
        "judge handoff:tester, not calibrated against people: sciagent calibrate",
        "gate not met: minimum score 90: beta has 28.0..53.0, and 1 more below",
        "  asked for by --sciagent-min-score=90 (command line)",
    ]


def test_systems_are_compared_and_none_wins_where_intervals_overlap(cohort: Cohort) -> None:
    """Six tasks: beta is ahead on each by what is known, but what nobody has answered could turn it."""
    tasks = [f"t{n}" for n in range(1, 7)]
    for task in tasks:
        if task != "t1":
            write_task(cohort.root / "tasks" / task)
        cohort.run("alpha", task, findings=1)
        cohort.run("beta", task, findings=1)
    known = {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0}

    def levels(run: str, finding: str, criterion: str) -> float | None:
        better = run.startswith("beta") and criterion == "rob.zero"
        return 0.5 if better else known.get(criterion)

    cohort.record(levels)
    text = " ".join(cohort.pytest("--sciagent-run=runs").stdout.str().split())
    assert "beta ~ alpha" in text
    assert "no system is named as leading: alpha, beta could each be first; their intervals overlap" in text
    assert "significant at some ends only: what is not assessed could turn it, so no winner is named." in text
    cohort.record(lambda run, finding, criterion: 0 if criterion == "rob.open" else levels(run, finding, criterion))
    text = " ".join(cohort.pytest("--sciagent-run=runs").stdout.str().split())
    assert "beta > alpha" in text
    assert "beta scores higher, significant (Holm p at most 0.05)." in text
    assert "SYSTEMS: mean" not in cohort.pytest("--sciagent-run=runs", "-q").stdout.str()
    assert "SYSTEMS: mean" not in cohort.pytest("--sciagent-run=runs/alpha").stdout.str()


def test_many_systems_are_left_to_compare(cohort: Cohort) -> None:
    for n in range(7):
        cohort.run(f"s{n}", findings=1)
    cohort.record()
    text = cohort.pytest("--sciagent-run=runs").stdout.str()
    assert "7 systems: compare them with sciagent compare and the same runs" in text
    assert "PAIRS" not in text


def test_quiet_and_verbose(two: Cohort) -> None:
    quiet = two.pytest("--sciagent-run=runs", "-q")
    assert section(quiet.stdout.str()) == [
        "alpha: 55.0..65.0 (mean of 1 task)",
        "beta: 55.0..65.0 (mean of 1 task)",
        "judge handoff:tester, not calibrated against people: sciagent calibrate",
    ]
    verbose = two.pytest("--sciagent-run=runs", "-v")
    lines = section(verbose.stdout.str())
    assert "      55.0..65.0  finding_2: series 2 rises" in lines
    very_quiet = two.pytest("--sciagent-run=runs", "-qq")
    assert "alpha: 55.0..65.0 (mean of 1 task)" in very_quiet.outlines


@pytest.mark.parametrize(("name", "coloured"), [("NO_COLOR", False), ("FORCE_COLOR", True)])
def test_colours_are_asked_for(two: Cohort, monkeypatch: pytest.MonkeyPatch, name: str, coloured: bool) -> None:
    for variable in ("NO_COLOR", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(name, "1")
    result = two.pytest("--sciagent-run=runs", "--sciagent-min-score=10", "-rA")
    assert ("\x1b[" in result.stdout.str()) == coloured


def test_narrow_terminals_and_odd_titles(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    title = "\x1b[31mred\u202e " + "very " * 60 + "long \u0000 <b>\u2028title"
    cohort.run("alpha", report=f"# R\n\n## Finding 1: {title}\n\nText.\n")
    result = cohort.pytest("--sciagent-run=runs", "-v", "--sciagent-json=r.json")
    shown = section(result.stdout.str())
    assert any("finding_1: \\x1b[31mred\\u202e very" in line and line.endswith("…") for line in shown)
    assert not re.search("[\x1b\u202e\x00\u2028]", result.stdout.str())
    assert not re.search("[\x1b\x00]", (cohort.root / "r.json").read_text("utf-8"))


def test_only_the_costliest_failures_and_the_most_frequent_gaps_are_shown(cohort: Cohort) -> None:
    cohort.run("alpha", findings=5)
    cohort.record(lambda run, finding, criterion: 0)
    lines = section(cohort.pytest("--sciagent-run=runs").stdout.str())
    at = lines.index("costliest failing criteria (5 of 20)")
    assert [line.split()[0] for line in lines[at + 1 : at + 6]] == ["-40"] * 5
    assert lines[at + 6] == ""


# ---- JSON


def test_the_json_file(two: Cohort) -> None:
    found = two.results("--sciagent-run=runs", "--sciagent-profile=truthinsight", "--sciagent-min-score=90", code=1)
    assert list(found) == [
        "schema",
        "plugin_version",
        "complete",
        "incomplete_because",
        "judge",
        "validity",
        "rubrics",
        "gate",
        "baseline",
        "spending",
        "systems",
        "runs",
    ]
    assert found["schema"] == "sciagent-results/1"
    decision = {"outcome": "not met", "sentence": "minimum score 90: beta has 28.0..53.0, and 1 more below"}
    assert found["gate"] == {
        **decision,
        "gates": [{**decision, "details": ["asked for by --sciagent-min-score=90 (command line)"]}],
    }
    assert [s["name"] for s in found["systems"]] == ["alpha", "beta"]
    assert found["systems"][0] == {
        "name": "alpha",
        "score": {"low": 23, "high": 68},
        "tasks": 1,
        "dimensions": {
            "evidence": {"low": 0.785714, "high": 0.785714},
            "robustness": {"low": 0, "high": 0.333333},
        },
        "layers": {"tested": {"low": 0, "high": 0.333333}},
    }
    run = found["runs"][0]
    assert run["id"] == "runs/alpha/t1/run.json"
    assert run["terms"]["s1"] == {"low": 55, "high": 65}
    assert run["groups"] is None
    assert run["refuted"] == {"finding_1": None, "finding_2": None}
    finding = run["findings"][1]
    assert (finding["id"], finding["number"], finding["title"]) == ("finding_2", 2, "series 2 rises")
    assert [c["criterion_id"] for c in finding["criteria"]] == ["ev.full", "ev.half", "rob.zero", "rob.open"]
    assert [c["level"] for c in finding["criteria"]] == [1, 0.5, 0, None]
    assert finding["criteria"][0]["citations"][0]["verified"] is True
    assert finding["criteria"][3]["status"] == "unrecorded"


def test_json_is_the_same_each_time(two: Cohort) -> None:
    path = two.root / "results.json"
    two.results("--sciagent-run=runs")
    first = path.read_bytes()
    two.results("--sciagent-run=runs", fresh=True)
    assert path.read_bytes() == first
    assert b"NaN" not in first


def test_json_follows_the_order_of_runs_not_of_arguments(two: Cohort) -> None:
    both = two.results("--sciagent-run=runs")
    other = two.results("--sciagent-run=runs/beta", "--sciagent-run=runs/alpha")
    assert other == both


def test_json_of_a_subset_says_that_it_is_one(two: Cohort) -> None:
    found = two.results("--sciagent-run=runs", "-k", "alpha and ev")
    assert not found["complete"]
    assert found["incomplete_because"] == "8 of 12 criteria were not tested"
    assert [run["id"] for run in found["runs"]] == ["runs/alpha/t1/run.json"]
    assert found["runs"][0]["score"] == {"low": 55, "high": 85}
    stopped = two.results("--sciagent-run=runs", "-x", code=1)
    assert stopped["incomplete_because"] == "the session was stopped"


def test_json_is_made_with_its_folder_and_replaced_whole(two: Cohort) -> None:
    path = two.root / "new" / "folder" / "r.json"
    two.pytest("--sciagent-run=runs", f"--sciagent-json={path}")
    assert json.loads(path.read_text())["complete"]
    before = path.stat().st_ino
    two.pytest("--sciagent-run=runs/alpha", f"--sciagent-json={path}")
    assert len(json.loads(path.read_text())["runs"]) == 1
    assert path.stat().st_ino != before
    assert [p.name for p in path.parent.iterdir()] == ["r.json"]


def test_a_session_without_results_writes_no_json(two: Cohort) -> None:
    path = two.root / "r.json"
    path.write_text("old")
    for args in (["--collect-only"], ["-k", "nosuchthing"], ["--setup-plan"]):
        two.pytest("--sciagent-run=runs", f"--sciagent-json={path}", *args)
        assert path.read_text() == "old", args


def test_json_that_can_not_be_written_at_the_end_is_told(two: Cohort) -> None:
    (two.root / "conftest.py").write_text(
        "import pathlib\n\n"
        "def pytest_sciagent_scores(config, results):\n    pathlib.Path('there').write_text('a file')\n"
    )
    result = two.pytest("--sciagent-run=runs", "--sciagent-json=there/r.json", "--sciagent-min-score=10")
    assert result.ret == 4
    result.stdout.fnmatch_lines(["ERROR: *there/r.json: can't be written: *"])
    assert "alpha: 55.0..65.0 (mean of 1 task)" in result.outlines


def test_hostile_titles_and_reasons_do_not_break_the_json(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    cohort.record()
    record = cohort.root / "verdicts" / "alpha" / "t1.json"
    data = json.loads(record.read_text())
    for entry in data["entries"]:
        entry["reason"] = "\ud800 \x00 " + "z" * 100_000
    record.write_text(json.dumps(data))
    found = cohort.results("--sciagent-run=runs", code=1)
    reasons = [c["reason"] for c in found["runs"][0]["findings"][0]["criteria"]]
    assert max(map(len, reasons)) <= 2000


def test_errors_and_gaps_widen_the_interval_alike(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    cohort.record(lambda run, finding, criterion: {**LEVELS, "ev.half": "invalid"}.get(criterion))
    found = cohort.results("--sciagent-run=runs", code=1)
    assert found["runs"][0]["score"] == {"low": 40, "high": 80}
    assert found["runs"][0]["assessed"] == 0.6
