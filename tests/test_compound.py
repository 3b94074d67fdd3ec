"""A registered finding that states several claims is flagged by its form, and scored like any other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import LEVELS, QUOTE, Cohort

from pytest_sciagent.findings import compound_signs, parse_report
from pytest_sciagent.models import Finding


def finding_of(title: str, text: str = "") -> Finding:
    return parse_report(f"## Finding 1: {title}\n\n{text}\n").findings[0]


@pytest.mark.parametrize(
    ("title", "statements"),
    [
        ("The swing of the season grows; its crossing comes earlier", 2),
        ("Cycles rise faster than they fall, and higher cycles rise faster", 2),
        ("Growth rose until 1988, but a constant rate fails later, while the swing keeps growing", 3),
        ("The rise accelerates. Linear trends fail on held-aside years", 2),
    ],
)
def test_a_title_that_joins_statements(title: str, statements: int) -> None:
    (sign,) = compound_signs(finding_of(title))
    assert sign.startswith(f"the title joins {statements} statements: ")
    assert sign.count(" | ") == statements - 1


@pytest.mark.parametrize(
    "title",
    [
        "Bill length and bill depth are related within groups",
        "Length, depth and mass rise together",
        "The record falls below its trend after 1989 (one episode; unresolved)",
        "Growth is 1.5 ppm a year, and stable",
    ],
)
def test_a_title_of_one_claim(title: str) -> None:
    assert compound_signs(finding_of(title)) == ()


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("- **Claim:** it rises.\n- **Claim 2:** it stops.", "more than one claim is labelled: Claim, Claim 2"),
        ("- **Core numbers:** 1.5 and 2.5.", "more than one main number is labelled: Core numbers"),
        ("**Primary statistic:** 1.5\n\n**Primary statistic:** 2.5", "more than one main number is labelled: *"),
        ("- **Main quantities:** a, b", "more than one main number is labelled: Main quantities"),
    ],
)
def test_labels_of_several_claims(text: str, sign: str) -> None:
    (found,) = compound_signs(finding_of("It rises", text))
    assert found == sign or (sign.endswith("*") and found.startswith(sign[:-1]))


def test_labels_of_one_claim() -> None:
    text = "- **Claim:** it rises.\n- **Claim limits:** to 1990.\n- **Core number:** 1.5.\n- **Tests:** many."
    assert compound_signs(finding_of("It rises", text)) == ()


@given(st.text(max_size=300), st.text(max_size=2000))
def test_any_registration_is_read(title: str, text: str) -> None:
    for finding in parse_report(f"## Finding 1: {title}\n\n{text}").findings:
        assert all("\n" not in sign and "\x1b" not in sign for sign in compound_signs(finding))


def test_it_is_told_in_terminal_and_json_and_changes_no_score(cohort: Cohort) -> None:
    """Two runs that differ in one title: the same levels, the same score, one flag."""
    body = f"{QUOTE}, from `output/results/table.csv` by `output/code/fit.py`.\n"
    cohort.run("alpha", report=f"## Finding 1: The series rises; then it falls again\n\n{body}")
    cohort.run("beta", report=f"## Finding 1: It rises and falls\n\n{body}")
    cohort.run("gamma", report=f"## Finding 1: The series rises; and then it \x1b[31mfalls\n\n{body}")
    cohort.record(lambda run, finding, criterion: LEVELS.get(criterion))
    result = cohort.pytest("--sciagent-run=runs")
    lines = [line for line in result.outlines if "may state several claims" in line]
    told = "finding_1 may state several claims (told, not scored; why: --sciagent-json)"
    assert lines == [f"  alpha/t1: {told}", f"  gamma/t1: {told}"]
    runs = {run["system"]: run for run in cohort.results("--sciagent-run=runs")["runs"]}
    flags = {system: run["findings"][0]["compound"] for system, run in runs.items()}
    assert flags["alpha"] == ["the title joins 2 statements: The series rises | then it falls again"]
    assert flags["beta"] == []
    assert runs["alpha"]["score"] == runs["beta"]["score"]
