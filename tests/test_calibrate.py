"""`sciagent calibrate`: published labels, labels of runs of one's own, and what a session makes of the result."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sample import OTHER, Cohort, sciagent

from pytest_sciagent.models.calibration import Calibration

SHARED = Path(os.environ.get("SCIAGENT_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data/labels"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the published labels are not here")
JUDGES = "llm_judge.csv (mean of its judges)"
RUNS = "--sciagent-run=runs"
ASSESSED = ("ev.full", "ev.half", "rob.zero")


def label(run: str, criterion: str, score: float, *, by: str = "ann", kind: str = "human", **more: Any) -> str:
    """A line of a labels file."""
    rater = {"kind": kind, "name": by}
    plain = {"schema": "sciagent-label/1", "dataset": "sciagent", "run": run, "criterion": criterion, "rater": rater}
    return json.dumps({**plain, "score": score, "scale": [0, 1], **more})


def measured(labels: Path, *args: str | Path) -> dict[str, dict[str, Any]]:
    """The slices of a calibration, by name."""
    target = labels.parent / "found.json"
    code, _, err = sciagent("calibrate", labels, "-o", target, *args)
    assert (code, err) == (0, "")
    found = json.loads(target.read_text("utf-8"))
    assert Calibration.model_validate(found)
    return {part["name"]: part for part in found["slices"]}


# ---- published labels


@needs_shared
def test_the_published_gap_between_people_and_judges(tmp_path: Path) -> None:
    assert sciagent("import", "mlrbench", SHARED, "-o", tmp_path / "in", "-q")[0] == 0
    found = measured(tmp_path / "in/labels/mlrbench.jsonl", "--judge", JUDGES)
    with_judge = {name: round(part["agreement"]["pearson"]["value"], 2) for name, part in found.items()}
    among_people = {name: round(part["ceiling"]["pearson"]["value"], 2) for name, part in found.items()}
    expected = {"Overall": -0.16, "Soundness": -0.12, "Significance": -0.14, "Clarity": -0.05, "Novelty": 0.03}
    assert {name: with_judge[name] for name in expected} == expected
    assert {name: among_people[name] for name in ("Overall", "Soundness", "Clarity")} == {
        "Overall": 0.28,
        "Soundness": 0.42,
        "Clarity": 0.40,
    }
    assert found["Overall"]["agreement"]["n"] == 60
    assert found["Overall"]["agreement"]["runs"] == 30
    assert found["Overall"]["agreement"]["mae"] == pytest.approx(1.65)
    assert found["Overall"]["agreement"]["spearman"]["low"] < 0 < found["Overall"]["agreement"]["spearman"]["high"]


@needs_shared
def test_the_published_gap_between_two_judges(tmp_path: Path) -> None:
    assert sciagent("import", "mlrbench", SHARED, "-o", tmp_path / "in", "-q")[0] == 0
    judges = ("--judge", "claude-3-7-sonnet-20250219", "--against", "gemini-2.5-pro-preview")
    overall = measured(tmp_path / "in/labels/mlrbench-reviews.jsonl", *judges)["Overall"]
    assert overall["agreement"]["n"] == 55
    assert overall["agreement"]["bias"]["value"] == pytest.approx(5.5455 - 2.7273, abs=1e-4)
    assert round(overall["agreement"]["pearson"]["value"], 2) == 0.60
    assert overall["ceiling"] is None


@needs_shared
def test_a_judge_that_draws_by_chance_has_the_published_f1_of_chance(tmp_path: Path) -> None:
    assert sciagent("import", "paperbench", SHARED / "paperbench_judgeeval", "-o", tmp_path / "in", "-q")[0] == 0
    labels = tmp_path / "in/labels/paperbench-judgeeval.jsonl"
    f1 = [measured(labels, "--judge", "coin", "--seed", str(s))["all"]["agreement"]["macro_f1"] for s in range(3)]
    assert 0.46 < sum(f1) / 3 < 0.54


# ---- labels of one's own runs


def shop(cohort: Cohort, runs: int = 6) -> list[str]:
    """Runs with recorded verdicts; their labels."""
    for n in range(runs):
        cohort.run(f"s{n}")
    cohort.record()
    return [f"s{n}/t1" for n in range(runs)]


def write_labels(cohort: Cohort, runs: list[str], scores: Mapping[str, float], **more: Any) -> Path:
    """Labels of a person on all findings of `runs`: the same score for a criterion everywhere."""
    lines = [
        label(run, criterion, score, finding=f"finding_{n}", **more)
        for run in runs
        for n in (1, 2)
        for criterion, score in scores.items()
    ]
    path = cohort.root / "labels.jsonl"
    path.write_text(path.read_text() if path.is_file() else "", "utf-8")
    path.write_text(path.read_text() + "\n".join(lines) + "\n", "utf-8")
    return path


WHOLLY = "weighted kappa 1.00 (1.00..1.00) with people, 36 labels of 6 runs"
UNKNOWN = "judge handoff:tester, not calibrated against people: sciagent calibrate"


def today() -> str:
    return datetime.now(UTC).date().isoformat()


@pytest.fixture
def cohort(pytester: pytest.Pytester) -> Cohort:
    return Cohort(pytester)


RECORDED = ("--judge", "handoff:tester", "--runs", "runs", "--rubric", "small")


def test_recorded_verdicts_are_compared_by_criterion_dimension_and_as_a_whole(cohort: Cohort) -> None:
    runs = shop(cohort)
    path = write_labels(cohort, runs, {"ev.full": 1, "ev.half": 1, "rob.zero": 0, "rob.open": 1})
    write_labels(cohort, runs[:5], {"ev.half": 0.5}, by="ben")
    found = measured(path, *RECORDED)
    assert set(found) == {"ev.full", "ev.half", "rob.zero", "evidence", "robustness", "all"}
    assert found["ev.full"]["agreement"]["exact"]["value"] == 1
    assert found["ev.half"]["agreement"]["n"] == 22
    assert found["ev.half"]["agreement"]["bias"]["value"] == pytest.approx(-0.5 * 12 / 22)
    assert found["ev.half"]["ceiling"]["n"] == 10
    assert found["ev.half"]["ceiling"]["bias"]["value"] == 0
    assert found["robustness"]["unanswered"] == 12  # what the judge left open is no zero
    assert found["all"]["agreement"]["n"] == 46
    assert found["all"]["agreement"]["confusion"] == [[12, 0, 0], [0, 10, 0], [0, 12, 12]]
    text = sciagent("calibrate", path, *RECORDED, "--details")[1]
    assert "12 labels without a level of handoff:tester: left out, not counted as wrong" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_session_tells_how_far_its_judge_agrees_and_a_gate_decides_by_it(cohort: Cohort) -> None:
    runs = shop(cohort)
    path = write_labels(cohort, runs, {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0})
    assert sciagent("calibrate", path, *RECORDED, "-o", "cal.json")[0] == 0
    known = "--sciagent-calibration=cal.json"
    told = f"judge handoff:tester, calibrated on {today()}: {WHOLLY}"
    assert cohort.results(RUNS, known)["validity"]["sentence"] == told
    gates = cohort.results(RUNS, known, "--sciagent-min-kappa=0.6", code=0)["gate"]["gates"]
    assert [gate["outcome"] for gate in gates] == ["met"]
    assert gates[0]["sentence"].startswith("a kappa of at least 0.6 with people: 1.00 (1.00) over 36 labels")


def test_draws_and_panels_are_calibrated_as_they_vote(cohort: Cohort) -> None:
    runs = shop(cohort, 5)
    path = write_labels(cohort, runs, {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0})
    cohort.record(lambda run, finding, criterion: 0 if criterion != "rob.open" else None, draw=2)
    strict = measured(path, *RECORDED, "--draws", "2", "--combine", "strict")
    assert strict["all"]["judge"] == {"0": 1.0}
    assert sciagent("calibrate", path, *RECORDED, "--draws", "2", "-o", "cal.json")[0] == 0
    twice = cohort.results(RUNS, "--sciagent-calibration=cal.json", "--sciagent-draws=2")["validity"]
    assert twice["state"] == "calibrated"
    assert "judge panel:handoff:tester (majority of votes, draws 2), calibrated on " in twice["sentence"]
    once = cohort.results(RUNS, "--sciagent-calibration=cal.json")["validity"]
    assert "calibration cal.json has expired" in once["sentence"]


def test_a_calibration_expires_with_its_judge_and_its_rubric(cohort: Cohort) -> None:
    runs = shop(cohort)
    path = write_labels(cohort, runs, {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0})
    assert sciagent("calibrate", path, *RECORDED, "-o", "cal.json")[0] == 0
    asked = (RUNS, "--sciagent-calibration=cal.json", "--sciagent-min-kappa=0.6")
    cohort.record(judge=OTHER)
    other = cohort.results(*asked, "--sciagent-judge=handoff:other", code=10)
    expired = "calibration cal.json has expired: it holds for handoff:tester, not for handoff:other"
    assert other["validity"]["sentence"] == f"judge handoff:other, {expired}"
    assert other["gate"]["outcome"] == "inconclusive"
    assert expired in other["gate"]["sentence"]
    rubric = cohort.root / "rubrics" / "small.yaml"
    rubric.write_text(rubric.read_text().replace("weight: 40", "weight: 45"), "utf-8")
    changed = cohort.results(*asked, "--sciagent-judge=handoff:tester", code=10)
    assert "rubric small 1 has changed since" in changed["validity"]["sentence"]


@pytest.mark.parametrize(
    ("kappa", "outcome"),
    [
        ((0.7, 0.61, 0.8), "met"),
        ((0.7, 0.5, 0.8), "inconclusive"),
        ((0.4, 0.3, 0.59), "not met"),
        ((0.9, None, None), "inconclusive"),
        ((None, None, None), "inconclusive"),
    ],
)
def test_the_gate_reads_the_whole_interval(
    cohort: Cohort, kappa: tuple[float | None, float | None, float | None], outcome: str
) -> None:
    path = write_labels(cohort, shop(cohort, 1), {"ev.full": 1})
    assert sciagent("calibrate", path, *RECORDED, "-o", "cal.json")[0] == 0
    plain = json.loads((cohort.root / "cal.json").read_text("utf-8"))
    whole = next(part for part in plain["slices"] if part["kind"] == "all")
    whole["agreement"]["kappa"] = dict(zip(("value", "low", "high"), kappa, strict=True))
    (cohort.root / "cal.json").write_text(json.dumps(plain), "utf-8")
    results = cohort.results(RUNS, "--sciagent-calibration=cal.json", "--sciagent-min-kappa=0.6")
    assert results["gate"]["outcome"] == outcome


BAD = label("s0/t1", "ev.full", 1.5)


@pytest.mark.parametrize(
    ("lines", "args", "message"),
    [
        ([label("a", "c", 1)], ("--judge", "x"), "no judge is in these files"),
        ([label("a", "c", 1), label("a", "c", 1, kind="judge", by="y")], ("--judge", "x"), "judges in these files: y"),
        ([label("a", "c", 1, kind="judge", by="y")], ("--judge", "y"), "no label is a person's"),
        ([label("a", "c", 1), label("b", "c", 1, kind="judge", by="y")], ("--judge", "y"), "nothing in common"),
        ([label("a", "c", 1), "", BAD], ("--judge", "y"), "labels.jsonl:3: score 1.5 is not on the scale 0..1"),
        ([""], ("--judge", "y"), "there is no label in"),
        ([label("a", "c", 1)], ("--judge", "coin", "--rubric", "small"), "--rubric belongs to runs"),
        ([label("a", "c", 1)], ("--judge", ""), "--judge: name one"),
        ([label("a", "c", 1)], ("--judge", "coin", "--rater", "ben"), "--rater ben: people in these files: ann"),
        (
            [label(f"r{n}", "c", n / 300) for n in range(300)],
            ("--judge", "coin"),
            "300 different scores of 300 runs, too many for tables of counts",
        ),
        (
            [label("a", "c", 1), label("a", "c", 4, kind="judge", by="y", scale=[0, 5])],
            ("--judge", "y"),
            "a c is scored on two scales: 0..1, and by y 0..5",
        ),
    ],
)
def test_bad_labels_are_one_message(tmp_path: Path, lines: list[str], args: tuple[str, ...], message: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    code, out, err = sciagent("calibrate", path, *args)
    assert (code, out) == (4, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_label_in_two_files_counts_once_and_labels_that_are_all_equal_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    lines = [label(f"r{n}", "c", 1) for n in range(6)]
    path.write_text("\n".join([*lines, *(label(f"r{n}", "c", 1, kind="judge", by="y") for n in range(6))]), "utf-8")
    (tmp_path / "again.jsonl").write_text("\n".join(lines), "utf-8")
    found = measured(path, path, tmp_path / "again.jsonl", "--judge", "y")["all"]
    assert found["agreement"]["n"] == 6
    assert found["agreement"]["exact"]["value"] == 1
    assert found["agreement"]["kappa"]["value"] is None
    assert found["ceiling"] is None


def test_what_one_person_labelled_twice_is_told(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    lines = [label("a", "c", 1), label("a", "c", 0), label("b", "c", 1), label("b", "c", 1), label("c", "c", 0)]
    path.write_text("\n".join(lines), "utf-8")
    code, out, err = sciagent("calibrate", path, "--judge", "coin")
    assert (code, err) == (0, "")
    assert "2 labels of what the same rater had labelled before, 1 with another score: all count" in out


def test_an_empty_folder_of_labels_is_one_message(tmp_path: Path) -> None:
    code, out, err = sciagent("calibrate", tmp_path, "--judge", "coin")
    assert (code, out) == (4, "")
    assert err == f"sciagent: there is no label in {tmp_path}\n"


def test_a_calibration_that_no_session_can_use(cohort: Cohort) -> None:
    shop(cohort, 1)
    path = cohort.root / "labels.jsonl"
    path.write_text(label("a", "c", 1), "utf-8")
    assert sciagent("calibrate", path, "--judge", "coin", "-o", "coin.json")[0] == 0
    result = cohort.pytest(RUNS, "--sciagent-calibration=coin.json")
    assert result.ret == 4
    assert "coin is known by its labels only" in result.stderr.str()
    alone = cohort.pytest(RUNS, "--sciagent-min-kappa=0.5")
    assert alone.ret == 4
    assert "--sciagent-min-kappa: there is no calibration; name one with --sciagent-calibration" in alone.stderr.str()
