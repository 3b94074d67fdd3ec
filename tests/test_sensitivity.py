"""`sciagent sensitivity`: the same runs under several recorded judges, and what turns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from sample import OTHER, Cohort, sciagent

BOTH = ("--judge", "handoff:tester,handoff:other", "--rubric", "small")
REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture
def cohort(pytester: pytest.Pytester) -> Cohort:
    """Two systems; the second judge turns their order, and has not answered `ev.half`."""
    cohort = Cohort(pytester)
    cohort.run("alpha")
    cohort.run("beta")
    cohort.record(lambda run, finding, criterion: 1 if run.startswith("alpha") else 0)
    (cohort.root / "apart").mkdir()
    first = cohort.root / "verdicts"
    kept = first.rename(cohort.root / "first")
    first.mkdir()
    cohort.record(
        lambda run, finding, criterion: None if criterion == "ev.half" else 0.5 if run.startswith("alpha") else 1,
        judge=OTHER,
    )
    (cohort.root / "apart").rmdir()
    first.rename(cohort.root / "apart")
    kept.rename(first)
    return cohort


def told(*args: str | Path) -> dict[str, Any]:
    code, out, err = sciagent("sensitivity", "runs", *BOTH, "--ledger", "verdicts", "--ledger", "apart", *args)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100
    found: dict[str, Any] = json.loads(Path("found.json").read_text("utf-8"))
    return {**found, "text": out}


def test_scores_places_decisions_and_levels_turn(cohort: Cohort) -> None:
    found = told("--json", "found.json", "--min-score", "40")
    lead, other = found["judges"]
    assert lead["systems"]["alpha"] == {"low": 100.0, "high": 100.0, "places": [1, 1]}
    assert other["systems"]["alpha"] == {"low": 35.0, "high": 65.0, "places": [2, 2]}
    assert other["systems"]["beta"] == {"low": 70.0, "high": 100.0, "places": [1, 1]}
    assert [d["outcome"] for d in lead["decisions"]] == ["not met"]
    assert [d["outcome"] for d in other["decisions"]] == ["inconclusive"]
    assert other["turned"] == {
        "levels compared": 12,
        "levels": 12,
        "levels by more than a half": 6,
        "places": 2,
        "leader": 1,
        "decisions": 1,
    }
    assert set(lead["turned"].values()) == {0, 16}
    assert "turned: 12 of 12 levels" in found["text"]
    whole = next(part for part in found["agreements"][0]["slices"] if part["kind"] == "all")
    assert whole["agreement"]["n"] == 12
    assert whole["agreement"]["exact"]["value"] == 0


def test_what_a_judge_left_open_is_filled_only_on_demand_and_told(cohort: Cohort) -> None:
    found = told("--json", "found.json", "--fill")
    assert found["judges"][1]["filled"] == 4
    assert found["judges"][1]["systems"]["alpha"] == {"low": 65.0, "high": 65.0, "places": [2, 2]}
    assert "has not answered 4 questions that the lead has" in found["text"]
    assert found["agreements"][0]["slices"][-1]["agreement"]["n"] == 12  # what is filled agrees with nobody


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--judge", "handoff:tester"), "name two judges or more"),
        (("--judge", "handoff:tester,handoff:nobody"), "nothing is recorded under the judge handoff:nobody"),
        (("--judge", "handoff:tester,handoff:other", "--ledger", "nowhere"), "there is no such folder"),
    ],
)
def test_bad_input(cohort: Cohort, args: tuple[str, ...], message: str) -> None:
    code, out, err = sciagent("sensitivity", "runs", "--rubric", "small", *args)
    assert (code, out) == (4, "")
    assert message in err


def test_the_shipped_runs_under_two_judges_are_as_the_readme_says() -> None:
    runs, ledgers = REPOSITORY / "runs", [REPOSITORY / "verdicts", REPOSITORY / "verdicts-second"]
    args = [part for ledger in ledgers for part in ("--ledger", ledger)]
    judges = "handoff:claude,handoff:claude-second"
    code, out, err = sciagent("sensitivity", runs, "--judge", judges, *args, "--fill", "--min-task-score", "62")
    assert (code, err) == (0, "")
    readme = " ".join((REPOSITORY / "README.md").read_text("utf-8").split())
    page = (REPOSITORY / "docs" / "validity.md").read_text("utf-8")
    levels = {line.split()[0]: line for line in out[out.index("LEVELS") :].splitlines()[2:] if line.strip()}
    slices = [line for name, line in levels.items() if name.startswith("[") or name == "ALL"]
    assert len(slices) == 7
    assert "\n".join(slices) in page  # as printed
    n, same, kappa = levels["ALL"].split()[1:4]
    _, same_within, kappa_within = levels["[evidence_auditability]"].split()[1:4]
    assert f"{n} criteria of one finding a run" in readme
    assert f"the same level to {same} % of these criteria, a weighted kappa of {kappa};" in readme
    assert f"but {same_within} % and {kappa_within} within `evidence_auditability`" in readme
    lows = [re.findall(r"([\d.]+)\.\.", line) for line in out.splitlines() if line.startswith("  claude-")][:2]
    rises = [f"{float(second) - float(first):.1f}" for first, second in lows]
    assert f"the scores rise by {' and '.join(rises)} points" in readme
    assert "the places of 0 of 2 systems" in out
    assert "inconclusive (turned): minimum task score 62" in out
