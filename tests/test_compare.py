"""`sciagent compare`: the shipped runs, small frozen cohorts, tables made by hand, and every kind of bad input."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from sample import OTHER, TESTER, Cohort, rubric_text, write_task

from pytest_sciagent.cli import main
from pytest_sciagent.models import Rubric
from pytest_sciagent.reporting.cohort import Row, as_rows, as_table, column_types
from pytest_sciagent.reporting.cohort_files import read_table, write_csv, write_parquet
from pytest_sciagent.reporting.comparison import compare
from pytest_sciagent.reporting.comparison_results import Comparison
from pytest_sciagent.reporting.comparison_text import comparison_text
from pytest_sciagent.rubrics import load_rubric
from pytest_sciagent.scoring import Interval, score_feasible, score_finding
from pytest_sciagent.statistics import certain_leader, compare_pairs, t_interval, task_leads

Sciagent = Callable[..., str]
Scores = Mapping[str, Mapping[str, Any]]
"""By system and task: points, an interval of them, or a list of repeats of either."""

REPOSITORY = Path(__file__).resolve().parent.parent
PUBLISHED = load_rubric("truthinsight", REPOSITORY, REPOSITORY)
JUDGE = "handoff:tester"
BOTH = ("low", "high")


@pytest.fixture
def sciagent(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Sciagent:
    """Run the command; gives what it printed. It must end with `code`; messages of bad input are one line."""

    def run(*args: str | Path, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["sciagent", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert (ended.value.code or 0) == code, printed.out + printed.err
        if code == 0:
            assert printed.err == ""
            assert all(len(line) <= 100 for line in printed.out.splitlines())
        else:
            assert printed.out == ""
        return printed.out if code == 0 else printed.err

    return run


def flat(text: str) -> str:
    """Text without its line ends, as a reader reads it."""
    return " ".join(text.split())


def section(text: str, title: str) -> str:
    """One section of the output."""
    found = re.search(rf"^{title}.*?(?=\n\n[A-Z]|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, text
    return found.group()


# ---- tables made by hand


def row(
    system: str, task: str, points: Any, repeat: int = 1, rubric: Rubric = PUBLISHED, **more: Any
) -> dict[str, Any]:
    """A run with this score, all of it from one finding; an interval as a pair."""
    low, high = points if isinstance(points, tuple) else (points, points)
    made: dict[str, Any] = {
        "system": system,
        "task": task,
        "domain": f"domain of {task}",
        "repeat": repeat,
        "state": "sound",
        "status": "completed",
        "findings": 1,
        "distinct_low": 1,
        "distinct_high": 1,
        "assessed": 1.0,
        "qualities_low": json.dumps([low]),
        "qualities_high": json.dumps([high]),
        "rubric": f"{rubric.id} {rubric.version}",
        "rubric_digest": rubric.digest,
        "profile": rubric.profile,
        "judge": JUDGE,
    }
    for name in ("score", "s1", "main_body", "without_yield", "feasible"):
        made |= {f"{name}_low": low, f"{name}_high": high}
    for name in ("s2", "yield", "target", "penalty"):
        made |= {f"{name}_low": 0.0, f"{name}_high": 0.0}
    for dimension in PUBLISHED.dimensions:
        made |= {
            f"{kind}.{dimension.id}_{end}": v / 100
            for kind in ("dim", "body")
            for end, v in zip(("low", "high"), (low, high), strict=True)
        }
    return made | more


def table_of(scores: Scores) -> Any:
    rows: list[Row] = []
    for system, tasks in scores.items():
        for task, points in tasks.items():
            for repeat, one in enumerate(points if isinstance(points, list) else [points], start=1):
                rows.append(row(system, task, one, repeat))
    return as_table(rows, PUBLISHED)


def text_of(scores: Scores) -> str:
    table = table_of(scores)
    return comparison_text(table, compare(table, PUBLISHED))


@pytest.fixture
def csv_of(tmp_path: Path) -> Callable[[Scores], Path]:
    """Scores as a table on disk."""

    def write(scores: Scores, name: str = "cohort.csv") -> Path:
        write_csv(tmp_path / name, table_of(scores))
        return tmp_path / name

    return write


# ---- the shipped runs


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the installed command prints and writes about the shipped runs."""
    folder = tmp_path_factory.mktemp("shipped")
    command = [str(Path(sys.executable).with_name("sciagent")), "compare", "runs/plain", "runs/guided"]
    for suffix in ("csv", "parquet", "json"):
        command += [f"--{suffix}", str(folder / f"cohort.{suffix}")]
    result = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    assert result.stderr == ""
    return result.stdout, folder


def test_shipped_runs(shipped: tuple[str, Path], sciagent: Sciagent) -> None:
    """One call prints and writes all of it; tables stand for the runs they were made of, to the last digit."""
    printed, folder = shipped
    csv, parquet, file = (folder / f"cohort.{suffix}" for suffix in ("csv", "parquet", "json"))
    assert printed.startswith("2 systems, 3 tasks, 6 runs\n  rubric truthinsight 1.0, profile truthinsight, judge ")
    for title in ("RUNS", "SYSTEMS", "PAIRS", "TASKS", "MAIN BODY", "REPEATS", "FEASIBILITY", "WEIGHTS", "DOMAINS"):
        assert section(printed, title)
    assert "the smallest p possible is 0.250" in flat(printed)
    again = {suffix: folder / f"again.{suffix}" for suffix in ("csv", "parquet", "json")}
    assert sciagent("compare", csv, "--json", again["json"], "--parquet", again["parquet"]) == printed
    assert sciagent("compare", parquet, "--csv", again["csv"]) == printed
    assert again["json"].read_bytes() == file.read_bytes()
    assert again["csv"].read_bytes() == csv.read_bytes()
    assert_frame_equal(read_table(csv, PUBLISHED), read_table(parquet, PUBLISHED))
    assert_frame_equal(read_table(again["parquet"], PUBLISHED), read_table(csv, PUBLISHED))


def test_a_session_scores_the_same(shipped: tuple[str, Path]) -> None:
    """Runs, terms, systems and dimensions are those that pytest finds."""
    file = shipped[1] / "cohort.json"
    told = json.loads(file.read_text("utf-8"))
    assert told["schema"] == "sciagent-comparison/1"
    assert (told["margin"], told["seed"], told["rubric_digest"]) == (4.0, 0, PUBLISHED.digest)
    session = shipped[1] / "session.json"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--sciagent-run=runs",
        f"--sciagent-json={session}",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True)
    results = json.loads(session.read_text("utf-8"))
    mine = {(run["system"], run["task"]): run for run in told["runs"]}
    for run in results["runs"]:
        found = mine[run["system"], run["task_id"]]
        assert (found["score_low"], found["score_high"]) == (run["score"]["low"], run["score"]["high"])
        for name, term in run["terms"].items():
            assert (found[f"{name}_low"], found[f"{name}_high"]) == (term["low"], term["high"])
        assert found["assessed"] == pytest.approx(run["assessed"], abs=1e-6)
    for system in results["systems"]:
        assert told["means"][system["name"]] == pytest.approx(list(system["score"].values()))
        for name, share in system["dimensions"].items():  # three findings in every run: both means are the same
            assert told["dimensions"][name][system["name"]] == pytest.approx(list(share.values()), abs=1e-6)


def test_terms_of_the_shipped_runs_add_up(shipped: tuple[str, Path]) -> None:
    """Each score is its terms; each main body, the weights times the dimensions' part in it."""
    rows = as_rows(read_table(shipped[1] / "cohort.csv", PUBLISHED))
    assert len(rows) == 6
    for run in rows:
        for end, other in (("low", "high"), ("high", "low")):
            body = run[f"main_body_{end}"]
            assert body == pytest.approx(0.6 * run[f"s1_{end}"] + 0.2 * run[f"s2_{end}"])
            without = body + run[f"target_{end}"] - run[f"penalty_{other}"]
            assert run[f"without_yield_{end}"] == pytest.approx(without)
            assert run[f"score_{end}"] == pytest.approx(without + run[f"yield_{end}"])
            assert body == pytest.approx(sum(d.weight * run[f"body.{d.id}_{end}"] for d in PUBLISHED.dimensions))
            assert sorted(json.loads(run[f"qualities_{end}"]))[-2:] == [run[f"s2_{end}"], run[f"s1_{end}"]]
        levels = sum(c.weight * run[f"item.{c.id}_low"] for c in PUBLISHED.criteria)
        assert levels == pytest.approx(sum(d.weight * run[f"dim.{d.id}_low"] for d in PUBLISHED.dimensions))


# ---- what the table and the statistics are

points = st.integers(0, 200).map(lambda n: n / 2)
intervals = st.tuples(points, points).map(lambda pair: (min(pair), max(pair)))


def cohorts(score: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    def of(systems: int, tasks: int) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
        mine = st.fixed_dictionaries({f"t{n}": score for n in range(tasks)})
        return st.fixed_dictionaries({f"s{n}": mine for n in range(systems)})

    return st.tuples(st.integers(1, 3), st.integers(1, 5)).flatmap(lambda size: of(*size))


@settings(max_examples=8, deadline=None)
@given(cohorts(points))
def test_known_scores_are_compared_as_they_are(scores: dict[str, dict[str, float]]) -> None:
    """Where all is assessed, every end is the same, and equals the statistic of the scores themselves."""
    found = compare(table_of(scores), PUBLISHED)
    assert not found.is_open
    for system, mine in scores.items():
        summary = found.systems[system]
        assert summary.t.low == summary.t.high == t_interval(mine)
        assert summary.led.low == summary.led.high == task_leads(scores).leads[system]
        assert summary.bootstrap.low == summary.bootstrap.high
    expected = compare_pairs(scores).pairs
    assert [pair.ends["low"] for pair in found.pairs] == list(expected)
    for pair in found.pairs:
        assert len(set(map(repr, pair.ends.values()))) == 1
    assert found.main_body is not None
    assert found.main_body.before == found.main_body.after == found.means == found.feasible.after
    assert found.weights.low == found.weights.high
    if len(scores) > 1:
        assert found.weights.low.published == found.domains.low.order


@settings(max_examples=15, deadline=None)
@given(cohorts(intervals))
def test_no_winner_where_intervals_overlap(scores: dict[str, dict[str, tuple[float, float]]]) -> None:
    """A leader or the winner of a pair is ahead for any scores within the intervals."""
    table = table_of(scores)
    found = compare(table, PUBLISHED)
    text = flat(comparison_text(table, found))
    means = found.means
    for a in scores:
        ahead = all(means[a][0] > means[b][1] for b in scores if b != a)
        assert (found.leader == a) == (ahead and len(scores) > 1)
    for pair in found.pairs:
        if pair.winner is not None:
            other = pair.b if pair.winner == pair.a else pair.a
            assert means[pair.winner][0] > means[other][1]
            assert all(end.significant for end in pair.ends.values())
        if pair.equivalent:
            assert all(abs(end.difference.mean or 0) < found.margin for end in pair.ends.values())
        assert (f"{pair.a}, {pair.b}: {pair.winner} scores higher" in text) == (pair.winner is not None)
    assert ("has the highest mean" in text) == (found.leader is not None)
    for system, summary in found.systems.items():
        sure = [certain_leader({s: scores[s][task] for s in scores}) for task in scores[system]]
        assert summary.led_for_sure == sure.count(system)
    json.dumps(found.means)


def six(*values: float) -> dict[str, float]:
    return {f"t{n}": value for n, value in enumerate(values)}


def open_by(scores: Mapping[str, float], width: float) -> dict[str, tuple[float, float]]:
    return {task: (score, score + width) for task, score in scores.items()}


def test_what_is_told_of_pairs() -> None:
    """A difference, equivalence, neither, and what the open points leave open."""
    base, above, near = (
        six(50, 52, 54, 56, 58, 60, 62),
        six(60, 63, 65, 64, 69, 71, 73),
        six(51, 51, 55, 55, 59, 59, 63),
    )
    text = flat(text_of({"a": base, "b": above}))
    assert "a, b: b scores higher, significant (Holm p at most 0.05). Equivalence is not shown." in text
    assert "b > a (>: ahead for sure" in text
    text = flat(text_of({"a": base, "c": near}))
    assert "a, c: no difference is shown. Equivalent within 4 points." in text
    text = flat(text_of({"a": open_by(base, 5), "b": above}))
    assert "a, b: b scores higher, significant at every end (Holm p at most 0.05)." in text
    text = flat(text_of({"a": open_by(base, 20), "b": above}))
    assert "a, b: significant at some ends only: what is not assessed could turn it, so no winner is named." in text
    assert "no system is named as leading: a, b could each be first; their intervals overlap" in text
    assert "b ~ a (>: ahead for sure" in text
    assert text.count("names no winner") == 3
    text = flat(text_of({"a": open_by(base, 4), "c": near}))
    assert "Equivalent within 4 points at some ends only, so it is left open." in text


def test_published_intervals_come_out(csv_of: Callable[[Scores], Path], sciagent: Sciagent) -> None:
    """Forty tasks with the published mean and half-width give the published interval, printed to its digits."""
    generator = random.Random(1)
    scores = {}
    for system, mean, half in (("claude-code", 60.27, 1.91), ("openscience", 59.03, 1.945)):
        raw = [generator.gauss(0, 1) for _ in range(40)]
        centre = sum(raw) / 40
        deviation = (sum((value - centre) ** 2 for value in raw) / 39) ** 0.5
        spread = half / 2.0226909 * 40**0.5  # t(39) at 0.975
        scores[system] = {f"t{n:02}": mean + (v - centre) / deviation * spread for n, v in enumerate(raw)}
    printed = sciagent("compare", csv_of(scores))
    assert "60.3  [58.4, 62.2]" in printed
    assert "59.0  [57.1, 61.0]" in printed


def test_repeats_are_averaged_before_anything_else() -> None:
    """Runs of one task are never counted as tasks; their noise is told by itself."""
    table = table_of({"a": {"t1": [40.0, 60.0], "t2": [70.0, 74.0]}, "b": {"t1": 50.0, "t2": 80.0}})
    found = compare(table, PUBLISHED)
    assert found.means == {"a": (61.0, 61.0), "b": (65.0, 65.0)}
    assert found.systems["a"].tasks == 2
    assert found.systems["a"].repeats.low.within == pytest.approx((200 + 8) / 2)
    assert [pair.ends["low"].difference.mean for pair in found.pairs] == [-4.0]
    assert "4 of 2 tasks" in section(comparison_text(table, found), "REPEATS")


def test_order_under_other_weights_and_domains() -> None:
    """A lead that hangs on one dimension falls with its weight; one that hangs on a domain, without it."""
    rows = []
    for task in ("t1", "t2"):
        for system, dimension in (("a", "robustness"), ("b", "control_testing")):
            blank = {f"body.{d.id}_{end}": 0.0 for d in PUBLISHED.dimensions for end in ("low", "high")}
            blank |= {f"body.{dimension}_{end}": 0.8 for end in ("low", "high")}
            rows.append(row(system, task, 12.1 if system == "a" else 12.0, **blank))
    found = compare(as_table(rows, PUBLISHED), PUBLISHED)
    assert found.weights.low.published == (("a",), ("b",))
    assert 0.4 < (found.weights.low.holds or 0) < 0.6
    table = table_of({"a": {"t1": 90.0, "t2": 40.0, "t3": 50.0}, "b": {"t1": 50.0, "t2": 45.0, "t3": 55.0}})
    found = compare(table, PUBLISHED)
    assert found.domains.low.order == (("a",), ("b",))
    assert found.domains.low.holds == Fraction(2, 3)
    assert "The order holds without 2 of 3 domains." in comparison_text(table, found)
    assert compare(table, PUBLISHED, seed=1).weights != found.weights
    assert compare(table, PUBLISHED) == found


def test_main_body_alone_can_turn_the_order() -> None:
    def compared(bodies: Mapping[str, float]) -> Comparison:
        rows = []
        for system, points in (("a", 60.0), ("b", 50.0)):
            body = {f"main_body_{end}": bodies[system] for end in BOTH}
            rows += [row(system, task, points, **body) for task in ("t1", "t2")]
        return compare(as_table(rows, PUBLISHED), PUBLISHED)

    kept, turned = compared({"a": 45.0, "b": 40.0}), compared({"a": 30.0, "b": 40.0})
    assert kept.main_body is not None
    assert turned.main_body is not None
    assert kept.main_body.ends.low.same_order
    assert (turned.main_body.ends.low.same_order, turned.main_body.ends.low.tau) == (False, -1.0)


def test_many_systems_stay_within_the_page() -> None:
    """Eight systems with long names: tables go on below instead of growing wide."""
    names = [f"system-with-a-rather-long-name-{n}" for n in range(8)]
    text = text_of({name: six(*range(40 + n, 46 + n)) for n, name in enumerate(names)})
    assert all(len(line) <= 100 for line in text.splitlines())
    assert all(name in section(text, "DIMENSIONS") for name in names)


# ---- frozen runs


@pytest.fixture
def repository(cohort: Cohort) -> Cohort:
    """A user's repository with three tasks."""
    for task in ("t2", "t3"):
        write_task(cohort.root / "tasks" / task)
    return cohort


def compared(sciagent: Sciagent, repository: Cohort, *args: str | Path) -> tuple[str, dict[str, Any]]:
    file = repository.root / "compared.json"
    printed = sciagent("compare", "runs", "--rubric", "small", "--json", file, *args)
    return printed, json.loads(file.read_text("utf-8"))


def test_failed_tampered_and_missing_runs_are_rows(repository: Cohort, sciagent: Sciagent) -> None:
    """What was not delivered counts as 0; what is tampered or missing has no score, and is told."""
    for system in ("alpha", "beta"):
        repository.run(system, "t1")
    repository.run("alpha", "t2", status="failed", exit_code=3)
    repository.run("beta", "t2", report=None)
    repository.run("alpha", "t3")
    (repository.run("gamma", "t1") / "output" / "Result.md").write_text("changed")
    (repository.root / "runs" / "torn").mkdir()
    (repository.root / "runs" / "torn" / "run.json").write_text("{")
    repository.record(lambda run, finding, criterion: 1, runs="runs/alpha/t1")
    repository.record(lambda run, finding, criterion: 0.5, runs="runs/beta/t1")
    printed, told = compared(sciagent, repository)
    runs = {(run["system"], run["task"]): run for run in told["runs"]}
    assert len(runs) == 10
    assert [runs["alpha", "t1"][f"score_{end}"] for end in ("low", "high")] == [100, 100]
    assert [runs["beta", "t1"][f"score_{end}"] for end in ("low", "high")] == [50, 50]
    assert [runs["alpha", "t3"][f"score_{end}"] for end in ("low", "high")] == [0, 100]
    assert (runs["alpha", "t3"]["assessed"], runs["alpha", "t3"]["findings"]) == (0, 2)
    assert {run["state"] for run in runs.values()} == {"sound", "undelivered", "tampered", "missing"}
    assert (runs["alpha", "t2"]["score_high"], runs["alpha", "t2"]["status"]) == (0, "failed")
    assert (runs["beta", "t2"]["score_high"], runs["beta", "t2"]["status"]) == (0, "completed")
    assert runs["beta", "t3"]["state"] == runs["gamma", "t2"]["state"] == "missing"
    assert runs["gamma", "t1"]["score_low"] is None
    assert told["shared"] == ["t1", "t2"]
    assert told["means"] == {"alpha": [50, 50], "beta": [25, 25]}
    problems = flat(section(printed, "NOT SCORED"))
    assert "alpha/t2: the run failed, exit code 3 (counts as 0)" in problems
    assert "beta/t2: the run delivered no report (counts as 0)" in problems
    assert "beta/t3: the system has no run on this task (no score, left out)" in problems
    assert "gamma/t1: changed: output/Result.md (no score, left out)" in problems
    assert "a run that names no system/torn: " in problems
    assert sciagent("compare", "runs", "--rubric", "small") == printed


def test_nothing_delivered_at_all(csv_of: Callable[[Scores], Path], sciagent: Sciagent) -> None:
    """A cohort of failures is compared as any other: all have 0, and nobody leads."""
    rows = []
    for system in ("a", "b"):
        blank = {f"{kind}.{d.id}_{end}": None for kind in ("dim", "body") for d in PUBLISHED.dimensions for end in BOTH}
        none = {"state": "undelivered", "status": "failed", "findings": 0, "distinct_low": 0, "distinct_high": 0}
        rows += [row(system, task, 0.0, qualities_low="[]", qualities_high="[]", **none, **blank) for task in six(0, 0)]
    path = csv_of({"a": {"t1": 1.0}})
    write_csv(path, as_table(rows, PUBLISHED))
    text = flat(sciagent("compare", path))
    assert "no system is named as leading: a, b have the same mean." in text
    assert "DIMENSIONS" not in text
    assert "a = b in 100.0 %" in text


def test_usage_and_repeats_from_manifests(repository: Cohort, sciagent: Sciagent) -> None:
    """Cost and time are the manifests'; a repeat has a row of its own."""
    for repeat in (1, 2):
        manifest = repository.run("alpha", "t1", repeat=repeat) / "run.json"
        told = json.loads(manifest.read_text())
        told["usage"] = {"input_tokens": 1000, "output_tokens": 500, "cost_usd": 0.5 * repeat}
        told |= {"started_at": "2026-01-01T10:00:00Z", "finished_at": "2026-01-01T10:03:00+00:00"}
        manifest.write_text(json.dumps(told))
    repository.run("beta", "t1")
    repository.record()
    printed, told = compared(sciagent, repository)
    usage = told["usage"]["alpha"]
    assert (usage["runs"], usage["cost_usd"], usage["tokens"], usage["seconds"]) == (2, 1.5, 3000, 360)
    assert told["usage"]["beta"]["with_cost"] == told["usage"]["beta"]["with_time"] == 0
    assert [run["repeat"] for run in told["runs"]] == [1, 2, 1]
    assert "t1.r2" in section(printed, "RUNS")
    assert re.search(r"alpha +2 +3\.0 +2 +0\.75 +2 +1500 +2\n", printed)


def test_feasibility(repository: Cohort, sciagent: Sciagent) -> None:
    """What a task makes impossible is left out there, and the rest scaled to the same 100 points."""
    task = repository.root / "tasks" / "t1" / "task.yaml"
    task.write_text(
        task.read_text()
        + "feasibility:\n  robustness: {feasible: false, why: one sample}\n  elsewhere: {feasible: false, why: x}\n"
    )
    for system, name in (("alpha", "t1"), ("beta", "t1"), ("alpha", "t2"), ("beta", "t2")):
        repository.run(system, name)
    repository.record()
    printed, told = compared(sciagent, repository)
    assert told["infeasible"] == {"t1": "robustness"}
    alpha = {run["task"]: run for run in told["runs"] if run["system"] == "alpha"}
    assert (alpha["t1"]["score_low"], alpha["t1"]["score_high"]) == (55, 65)
    assert alpha["t1"]["feasible_low"] == alpha["t1"]["feasible_high"] == pytest.approx(5500 / 70)
    assert (alpha["t2"]["feasible_low"], alpha["t2"]["feasible_high"]) == (55, 65)
    assert "t1: robustness" in section(printed, "FEASIBILITY")
    assert "66.8..71.8" in section(printed, "FEASIBILITY")


def test_profile_of_the_benchmark(repository: Cohort, sciagent: Sciagent) -> None:
    """Findings before and after de-duplication, the terms, and the feasible score of a run, by hand."""
    text = rubric_text().replace("id: small", "id: ti").replace("profile: weighted", "profile: truthinsight")
    (repository.root / "rubrics" / "ti.yaml").write_text(text)
    task = repository.root / "tasks" / "t2" / "task.yaml"
    task.write_text(task.read_text() + "feasibility:\n  rob.zero: {feasible: false, why: one sample}\n")
    for system in ("alpha", "beta"):
        for name in ("t1", "t2"):
            repository.run(system, name)

    def levels(run: str, finding: str, criterion: str) -> float:
        return 1 if finding.endswith("1") and criterion != "rob.zero" else 0 if criterion == "rob.zero" else 0.5

    repository.record(
        levels, rubrics=("ti",), runs="runs/alpha", about_run={"grouping": {"rationale": "apart", "groups": []}}
    )
    repository.record(levels, rubrics=("ti",), runs="runs/beta")
    sciagent("compare", "runs", "--rubric", "ti", "--json", "c.json")
    told = json.loads(Path("c.json").read_text())
    runs = {(run["system"], run["task"]): run for run in told["runs"]}
    alpha, beta = runs["alpha", "t1"], runs["beta", "t1"]
    assert (alpha["s1_low"], alpha["s1_high"], alpha["s2_low"], alpha["s2_high"]) == (80, 80, 40, 40)
    assert (alpha["distinct_low"], alpha["distinct_high"], alpha["findings"]) == (2, 2, 2)
    assert (beta["distinct_low"], beta["distinct_high"], beta["findings"]) == (1, 2, 2)
    assert (beta["s2_low"], beta["s2_high"]) == (0, 40)
    assert (alpha["qualities_low"], beta["qualities_low"], beta["qualities_high"]) == ([80, 40], [80], [80, 40])
    assert (alpha["main_body_low"], alpha["main_body_high"]) == (56, 56)
    other = runs["alpha", "t2"]
    # Without rob.zero (20 of 100), 80 and 40 points become 100 and 50.
    assert other["feasible_high"] == pytest.approx(other["score_high"] + 0.6 * 20 + 0.2 * 10)
    assert told["yields"]["low"]["systems"]["alpha"]["findings"] == 2


def test_other_judges(repository: Cohort, sciagent: Sciagent) -> None:
    """Whose verdicts count is the user's choice; a second judge may turn the order, and that is told."""
    for system in ("alpha", "beta"):
        repository.run(system, "t1")
    strict = lambda run, finding, criterion: 1 if run.startswith("alpha") else 0  # noqa: E731
    repository.record(strict)
    repository.record(lambda *about: 1 - strict(*about), judge=OTHER)
    message = sciagent("compare", "runs", "--rubric", "small", code=4)
    assert "verdicts of several judges are recorded" in message
    assert "handoff:other" in message
    assert "choose one with --judge KIND:MODEL" in message
    printed, told = compared(sciagent, repository, "--judge", TESTER.label, "--other-judge", OTHER.label)
    assert told["means"] == {"alpha": [100, 100], "beta": [0, 0]}
    assert told["judges"][OTHER.label]["after"] == {"alpha": [0, 0], "beta": [100, 100]}
    assert "The order of the systems changes" in section(printed, "JUDGES")
    assert "nothing is recorded under the judge handoff:nobody; recorded: handoff:other" in sciagent(
        "compare", "runs", "--rubric", "small", "--judge", "handoff:nobody", code=4
    )


def test_nothing_recorded_is_told_as_open(repository: Cohort, sciagent: Sciagent) -> None:
    """Without any judge every score is 0..100, and nobody leads."""
    for system in ("alpha", "beta"):
        repository.run(system, "t1")
    printed, told = compared(sciagent, repository)
    assert told["means"] == {"alpha": [0, 100], "beta": [0, 100]}
    assert told["judge"] is None
    assert told["leader"] is None
    assert "judge none" in printed


# ---- bad input: one plain message and exit code 4, or a text that says what can't be told


def test_disjoint_tasks(csv_of: Callable[[Scores], Path], sciagent: Sciagent) -> None:
    message = sciagent("compare", csv_of({"a": {"t1": 50.0}, "b": {"t2": 60.0}}), code=4)
    assert message == "sciagent: no two systems share a task, so there is nothing to compare: a has t1; b has t2\n"


def test_no_task_that_all_systems_have(csv_of: Callable[[Scores], Path], sciagent: Sciagent) -> None:
    scores = {"a": {"t1": 50.0, "t2": 51.0}, "b": {"t2": 60.0, "t3": 61.0}, "c": {"t1": 40.0, "t3": 30.0}}
    text = flat(sciagent("compare", csv_of(scores)))
    assert "There is no task that every system has a score on, so no order of all systems is given." in text
    assert "a, b: no difference is shown; 1 difference can't show one" in text
    assert "TASKS: difficulty against disagreement Not known" in text


def test_one_task(csv_of: Callable[[Scores], Path], sciagent: Sciagent) -> None:
    text = flat(sciagent("compare", csv_of({"a": {"t1": 50.0}, "b": {"t1": 60.0}})))
    assert "one task tells nothing about the spread over tasks" in text
    assert "one shared task tells nothing about the spread of the differences" in text
    assert "On the 1 task that all systems have, b has the highest mean." in text
    assert "DOMAINS: each left out in turn Not known: there is one group of tasks only." in text


def test_one_system(csv_of: Callable[[Scores], Path], sciagent: Sciagent) -> None:
    text = flat(sciagent("compare", csv_of({"a": {"t1": 50.0, "t2": 60.0}})))
    assert "One system: there is nothing to compare it with." in text
    assert "One system: there is no pair." in text
    assert "has the highest mean" not in text


def test_all_ties(csv_of: Callable[[Scores], Path], sciagent: Sciagent) -> None:
    text = flat(sciagent("compare", csv_of({"a": six(50, 50, 50), "b": six(50, 50, 50)})))
    assert "no system is named as leading: a, b have the same mean." in text
    assert "a = b (>: ahead for sure" in text
    assert "every difference is 0" in text
    assert "a, b: all scores are equal: the interval is a point" in text
    assert len(re.findall(r" 1 1/2 0 ", text)) == 2


def test_runs_scored_in_different_ways(repository: Cohort, sciagent: Sciagent, tmp_path: Path) -> None:
    """Tables of another profile, rubric or judge are refused, and the difference is named."""
    for system in ("alpha", "beta"):
        repository.run(system, "t1")
    repository.record()
    sciagent("compare", "runs", "--rubric", "small", "--csv", "small.csv")
    assert "two runs are both alpha/t1, repeat 1" in sciagent(
        "compare", "runs", "small.csv", "--rubric", "small", code=4
    )

    message = sciagent("compare", "runs", "small.csv", "--rubric", "small", "--profile", "truthinsight", code=4)
    assert "scored in another way: profile weighted, but truthinsight is asked for" in message
    message = sciagent("compare", "small.csv", code=4)
    assert (
        "small.csv: these runs were scored in another way: profile weighted, but truthinsight is asked for" in message
    )

    rubric = repository.root / "rubrics" / "small.yaml"
    text = rubric.read_text()
    rubric.write_text(text.replace("weight: 40", "weight: 41"))
    assert "rubric digest" in sciagent("compare", "runs", "small.csv", "--rubric", "small", code=4)
    rubric.write_text(text)

    shutil.move(repository.root / "runs" / "beta", repository.root / "beta")
    shutil.rmtree(repository.root / "verdicts")
    repository.record(judge=OTHER, runs="beta")
    message = sciagent("compare", "beta", "small.csv", "--rubric", "small", code=4)
    assert "runs that were scored in different ways are not compared: small.csv has judge handoff:tester" in message
    assert "but handoff:other" in message
    assert "--other-judge needs frozen runs" in sciagent(
        "compare", "small.csv", "--rubric", "small", "--other-judge", "handoff:other", code=4
    )


def test_unknown_task_is_told(repository: Cohort, sciagent: Sciagent) -> None:
    for system in ("alpha", "beta"):
        repository.run(system, "elsewhere")
    repository.record()
    printed, told = compared(sciagent, repository)
    assert "alpha/elsewhere: the task is not known here, so what needs it is not assessed" in flat(printed)
    assert all(run["domain"] is None for run in told["runs"])


def test_rubric_of_another_task(repository: Cohort, sciagent: Sciagent) -> None:
    text = rubric_text().replace("id: small", "id: made").replace("kind: curated", "kind: induced\ntask_id: t1")
    (repository.root / "rubrics" / "made.yaml").write_text(text)
    repository.run("alpha", "t1")
    repository.run("alpha", "t2")
    message = sciagent("compare", "runs", "--rubric", "made", code=4)
    assert message == "sciagent: rubric 'made' is made for task 't1', and alpha/t2 is not of it\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "there is no such file or folder"),
        (["tasks"], "no frozen run at or below"),
        (["runs", "--rubric", "smal"], "did you mean 'small'?"),
        (["runs", "--rubric", "small", "--profile", "other"], "profile 'other' is not available; choose from"),
        (["runs", "--rubric", "five", "--profile", "truthinsight"], "needs weights that add up to 100, these give 5"),
        (["runs", "--rubric", "small", "--tasks", "nowhere"], "--tasks: there is no such folder"),
        (["runs", "--rubric", "small", "--margin", "0"], "--margin 0: give points above 0"),
        (["runs", "--rubric", "small", "--margin", "nan"], "--margin nan: give points above 0"),
        (["runs", "--rubric", "small", "--seed", "-1"], "Invalid value for '--seed'"),
        (["runs", "--rubric", "small", "--judge", "tester"], "write KIND:MODEL"),
        (["runs", "--rubric", "small", "--judge-param", "a=1"], "--judge-param belongs to a judge"),
        ([], "Missing argument 'RUNS...'"),
    ],
)
def test_bad_arguments(repository: Cohort, sciagent: Sciagent, args: list[str], message: str) -> None:
    repository.run("alpha", "t1")
    repository.record()
    five = rubric_text(weights={"ev.full": 5}).replace("id: small", "id: five")
    (repository.root / "rubrics" / "five.yaml").write_text(five)
    assert message in sciagent("compare", *args, code=4)


def test_places_that_cant_be_written_to(
    repository: Cohort, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is printed all the same."""
    repository.run("alpha", "t1")
    repository.record()
    place = repository.root / "runs" / "alpha" / "t1" / "run.json" / "table"
    for option in ("--csv", "--parquet", "--json"):
        command = ["sciagent", "compare", "runs", "--rubric", "small", option, str(place)]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit, match="4"):
            main()
        printed = capsys.readouterr()
        assert printed.out.startswith("1 system, 1 task, 1 run\n")
        assert printed.err.startswith(f"sciagent: {place}: can't be written")
        assert len(printed.err.splitlines()) == 1


def test_only_tampered_runs(repository: Cohort, sciagent: Sciagent) -> None:
    (repository.run("alpha", "t1") / "output" / "Result.md").write_text("changed")
    assert "no usable run:\nalpha/t1: changed: output/Result.md" in sciagent(
        "compare", "runs", "--rubric", "small", code=4
    )


def test_hostile_tables(tmp_path: Path, sciagent: Sciagent) -> None:
    """A file that is no table of ours, or one with a cell out of place, ends in one message that names it."""
    good = tmp_path / "good.csv"
    table = table_of({"a": {"t1": (50.0, 60.0)}, "b": {"t1": 60.0}})
    write_csv(good, table)
    cases: dict[str, Callable[[Any], Any]] = {
        "no column 'system'": lambda t: t.drop(columns="system"),
        "no column 'yield_low'": lambda t: t.drop(columns="yield_low"),
        "row 1: score from 70.0 to 60.0 is no interval within 0..100": lambda t: t.assign(score_low=70.0),
        "row 1: s1 has one end only": lambda t: t.assign(s1_high=None),
        "row 1: it needs a task": lambda t: t.assign(state="fine"),
        "row 1: a run of state missing has no score": lambda t: t.assign(state="missing"),
        "row 1: the qualities are no JSON list of points": lambda t: t.assign(qualities_low="[1, 101]"),
        "row 1: it has no system": lambda t: t.assign(system=None),
        "two runs are both a/t1": lambda t: t.assign(system="a"),
        "a cell can't be read": lambda t: t.assign(score_low="much"),
    }
    for message, spoil in cases.items():
        for suffix, write in (("csv", write_csv), ("parquet", write_parquet)):
            write(tmp_path / f"bad.{suffix}", spoil(table))
            found = sciagent("compare", tmp_path / f"bad.{suffix}", code=4)
            assert message in found
            assert len(found.splitlines()) == 1
    for name, content in (
        ("torn.csv", b'"a'),
        ("empty.csv", b""),
        ("bytes.csv", b"\xff\xfe\x00"),
        ("torn.parquet", b"PAR1"),
    ):
        (tmp_path / name).write_bytes(content)
        assert sciagent("compare", tmp_path / name, code=4).startswith(f"sciagent: {tmp_path / name}: ")


def test_names_that_look_like_nothing(tmp_path: Path) -> None:
    """Systems called NA or null come back as they are."""
    table = table_of({"NA": {"null": 50.0, "1": 51.5}, "nan": {"null": 1 / 3, "1": 0.1}})
    write_csv(tmp_path / "t.csv", table)
    write_parquet(tmp_path / "t.parquet", table)
    assert list(table.columns) == list(column_types(PUBLISHED))
    assert_frame_equal(read_table(tmp_path / "t.csv", PUBLISHED), table)
    assert_frame_equal(read_table(tmp_path / "t.parquet", PUBLISHED), table)


# ---- the arithmetic of feasible scores


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), min_size=29, max_size=29),
    st.sets(st.sampled_from([*(d.id for d in PUBLISHED.dimensions), *(c.id for c in PUBLISHED.criteria)])),
)
def test_feasible_score_is_the_share_of_what_is_left(levels: list[float | None], infeasible: set[str]) -> None:
    given_levels = {c.id: level for c, level in zip(PUBLISHED.criteria, levels, strict=True)}
    kept = [c for c in PUBLISHED.criteria if not {c.id, c.dimension} & infeasible]
    found = score_feasible(PUBLISHED.criteria, given_levels, infeasible)
    weight = sum(Fraction(str(c.weight)) for c in kept)
    if not kept:
        assert found.score == Interval.point(0)
        return
    low = sum(Fraction(str(c.weight)) * Fraction(str(given_levels[c.id] or 0)) for c in kept)
    high = low + sum(Fraction(str(c.weight)) for c in kept if given_levels[c.id] is None)
    assert found.score == Interval(100 * low / weight, 100 * high / weight)
    if not infeasible:
        assert found == score_finding(PUBLISHED.criteria, given_levels)


def test_a_comparison_is_plain_data() -> None:
    """Equal tables give equal comparisons, whatever the order of their rows."""
    scores = {"b": six(50, 60, 70), "a": {"t2": 45.0, "t0": 55.0, "t1": 20.0}}
    one = compare(table_of(scores), PUBLISHED)
    two = compare(table_of(dict(reversed(scores.items()))), PUBLISHED)
    assert isinstance(one, Comparison)
    assert one == two
