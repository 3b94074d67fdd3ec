"""`sciagent stability`, and the gate that decides nothing where the tasks would not show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_results import baseline_of, results_of, scored
from sample import Cohort, sciagent, write_task

from pytest_sciagent.gates.noninferiority import NotWorse, compare
from pytest_sciagent.scoring import Interval
from pytest_sciagent.statistics import smallest_difference

RUBRIC = ("--rubric", "small")
TASKS = ("t1", "t2", "t3")


@pytest.fixture
def cohort(pytester: pytest.Pytester) -> Cohort:
    """Two systems, three tasks, two runs, two draws; the judge changes its mind on `ev.half` in the second runs."""
    cohort = Cohort(pytester)
    for task in TASKS:
        if task != "t1":
            write_task(cohort.root / "tasks" / task)
        for repeat in (1, 2):
            cohort.run("alpha", task, findings=1, repeat=repeat)
            cohort.run("beta", task, findings=1, repeat=repeat)

    def level(run: str, draw: int, criterion: str) -> float:
        if criterion == "ev.half" and run.endswith(".r2"):
            return draw - 1
        if criterion == "ev.full":
            return 1 if run.startswith("alpha") or "t2" in run else 0.5
        return 0.5

    for draw in (1, 2):
        cohort.record(lambda run, finding, criterion, draw=draw: level(run, draw, criterion), draw=draw)
    return cohort


def told(*args: str | Path) -> dict[str, Any]:
    code, out, err = sciagent("stability", "runs", *RUBRIC, "--json", "found.json", *args)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100
    found: dict[str, Any] = json.loads(Path("found.json").read_text("utf-8"))
    return {**found, "text": out}


def test_draws_runs_and_tasks_are_told_apart(cohort: Cohort) -> None:
    found = told()
    assert (found["draws"], found["flips"], found["twice"]) == (2, 6, 48)
    assert found["widest"] == 0
    alpha = found["systems"]["alpha"]
    assert (alpha["tasks"], alpha["runs"], alpha["draws"]) == (3, 2, 2)
    # second runs have 30 points more or less: draws of 0 and 1 on a weight of 30, in one of two runs a task
    assert alpha["judge"]["value"] == pytest.approx(225)
    assert alpha["task"]["value"] == 0
    (pair,) = found["pairs"]
    assert (pair["a"], pair["b"], pair["tasks"]) == ("alpha", "beta", 3)
    assert pair["mean"] == pytest.approx(40 / 3)
    sd = (2 * (20 - 40 / 3) ** 2 + (40 / 3) ** 2) ** 0.5 / 2**0.5
    assert pair["sd"] == pytest.approx(sd)
    assert pair["smallest"] == pytest.approx(smallest_difference(sd / 3**0.5, 2))
    assert "flips: 6 of 48 answers (12 %)" in found["text"]


def test_one_draw_alone_tells_nothing_of_the_judge(cohort: Cohort) -> None:
    found = told("--draws", "1")
    assert found["systems"]["alpha"]["judge"] is None
    assert "one draw: the judge's noise is in the variance of runs" in found["text"]
    assert found["twice"] == 0


def test_bad_input(cohort: Cohort) -> None:
    for args, message in (
        (("--draws", "3"), "--draws 3: of handoff:tester 2 are recorded"),
        (("--margin", "0"), "--margin 0: give points above 0"),
        (("--judge", "handoff:nobody"), "nothing is recorded under the judge handoff:nobody"),
    ):
        code, out, err = sciagent("stability", "runs", *RUBRIC, *args)
        assert (code, out) == (4, "")
        assert message in err


# ---- the gate


OLD = {f"t{n}": score for n, score in enumerate((60, 62, 58, 61, 59, 60))}
NEW = {f"t{n}": score for n, score in enumerate((61, 61, 60, 60, 62, 61))}


def _intervals(scores: dict[str, int]) -> dict[str, list[Interval]]:
    return {task: [Interval.point(score)] for task, score in scores.items()}


def test_the_error_of_a_comparison_is_that_of_the_paired_test() -> None:
    found = compare(_intervals(NEW), _intervals(OLD), 4)
    differences = [NEW[task] - OLD[task] for task in OLD]
    mean = sum(differences) / 6
    error = (sum((d - mean) ** 2 for d in differences) / 5 / 6) ** 0.5
    assert found.error == pytest.approx(error)
    assert found.smallest(0.8) == pytest.approx(smallest_difference(error, 5))


def test_a_gate_decides_nothing_that_its_tasks_would_not_show() -> None:
    baseline, results = baseline_of(scored("base", OLD, place="old")), results_of(scored("alpha", NEW))
    assert NotWorse(baseline, 4).decide(results).outcome == "met"
    assert NotWorse(baseline, 4, 80).decide(results).outcome == "met"
    blind = NotWorse(baseline, 1.5, 80).decide(results)
    assert NotWorse(baseline, 1.5).decide(results).outcome == "met"
    assert blind.outcome == "inconclusive"
    assert "with 80 % power these tasks show 1." in blind.sentence
    worse = results_of(scored("alpha", {task: score - 30 for task, score in NEW.items()}))
    assert NotWorse(baseline, 1.5, 80).decide(worse).outcome == "not met"


def test_the_option_belongs_to_a_baseline(cohort: Cohort) -> None:
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-power=80")
    assert result.ret == 4
    assert "--sciagent-power belongs to a baseline" in result.stderr.str()
