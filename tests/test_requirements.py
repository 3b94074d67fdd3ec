"""What a criterion requires among a run's artifacts: where it is looked for, and what a lack of it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from check_runs import DATA, make_run, make_task
from hypothesis import given
from hypothesis import strategies as st

from pytest_sciagent.checks import CheckContext, CheckResult, find_check
from pytest_sciagent.checks.requirements import names_match
from pytest_sciagent.evidence import QuoteIndex
from pytest_sciagent.evidence.artifacts import Artifacts
from pytest_sciagent.findings import parse_findings
from pytest_sciagent.models import Criterion, Rubric
from pytest_sciagent.runs import Run
from pytest_sciagent.tasks import Task

LEVELS = {"1": "The finding has all.", "0.5": "The finding has some.", "0": "The finding has none."}
SLOPES = {"kind": "number", "names": ["slope"], "low": -1, "high": 1, "count": 2, "at_most": "0.5"}
TABLE = {"kind": "table", "columns": [["cyc"], ["length", "duration"]], "rows": 3, "at_most": "0.5"}
FILES = {"kind": "file", "role": "result", "suffixes": [".csv"], "count": 1, "at_most": "0"}
CYCLES = "cycle,length_years\n1,10.5\n2,11.5\n3,9.25\n"
FIRST = "The slope is 0.5. Evidence: `results/first.csv`."
DIGEST = "992614e2bfa289d8fc14e835c24822daf9a85be6bd09607b5d55664b2f705e68"


def criterion(*requires: dict[str, Any], judge: bool = True, scope: str = "finding") -> Criterion:
    plain = {"id": "c", "dimension": "d", "weight": 1, "question": "Has this finding all?", "levels": LEVELS}
    return Criterion.model_validate(
        {**plain, "judge": judge, "scope": scope, "check": "artifacts.required", "requires": requires}
    )


def looked_for(run: Run, asked: Criterion, number: int = 1, task: Task | None = None) -> CheckResult:
    report = parse_findings(run)
    of_run = asked.scope == "run"
    finding = None if of_run else next(f for f in report.findings if f.number == number)
    context = CheckContext(run, task, report, finding, Artifacts(run), requires=asked.requires, judged=asked.judge)
    assert asked.check is not None
    return find_check(asked.check)(context)


@pytest.mark.parametrize(
    ("files", "required", "found"),
    [
        ({"results/first.csv": "part,slope\na,0.5\nb,-0.25\n"}, SLOPES, True),
        ({"results/first.csv": "part,slope\na,0.5\nb,7\n"}, SLOPES, False),  # out of the range
        ({"results/first.csv": "part,slope\na,0.5\nb,\n"}, SLOPES, False),  # one number, not two
        ({"results/first.csv": "what,value\nslope of a,0.5\nslope of b,0.25\n"}, SLOPES, True),  # names in rows
        ({"results/first.csv": "part,level\na,0.5\nb,0.25\n"}, SLOPES, False),
        ({"results/first.csv": CYCLES}, TABLE, True),
        ({"results/first.csv": CYCLES.replace("length_years", "height")}, TABLE, False),
        ({"results/first.csv": CYCLES.rsplit("3,", 1)[0]}, TABLE, False),  # two rows, not three
        ({"results/first.csv": "cycle_length\n1\n2\n3\n"}, TABLE, False),  # one column is not two
    ],
)
def test_tables_and_numbers(tmp_path: Path, files: dict[str, str], required: dict[str, Any], found: bool) -> None:
    result = looked_for(make_run(tmp_path, files, FIRST), criterion(required))
    assert (result.outcome, result.at_most) == ("facts", 1.0 if found else 0.5)
    (fact,) = result.facts["requirements"]  # type: ignore[union-attr]
    assert fact["found_in"] == ("output/results/first.csv" if found else None)  # type: ignore[index,call-overload]


def test_json_is_looked_into_by_keys_and_what_leads_to_them(tmp_path: Path) -> None:
    nested = {"results/first.json": '{"slopes": {"a": 0.5, "b": [0.25, 0.75]}, "cycles": [{"n": 1}]}'}
    run = make_run(tmp_path, nested, FIRST.replace(".csv", ".json"))
    assert looked_for(run, criterion(SLOPES | {"count": 3})).at_most == 1
    assert looked_for(run, criterion(SLOPES | {"count": 4})).at_most == 0.5


def test_the_results_of_other_findings_and_copies_of_the_data_do_not_count(tmp_path: Path) -> None:
    files = {"results/first.csv": DATA, "results/second.csv": CYCLES}
    run = make_run(tmp_path, files, FIRST, FIRST.replace("first", "second"))
    task = make_task(tmp_path)
    assert looked_for(run, criterion(TABLE), 1, task).at_most == 0.5
    assert looked_for(run, criterion(TABLE), 2, task).at_most == 1
    lacking = looked_for(run, criterion(FILES), 1, task)
    assert (lacking.outcome, lacking.level, lacking.reason_code) == ("decided", 0, "requirement_not_met")
    assert looked_for(run, criterion(FILES), 1).at_most == 1  # a task that is not known has no data to compare with


def test_the_lowest_of_several_bounds_holds(tmp_path: Path) -> None:
    run = make_run(tmp_path, {"results/first.csv": CYCLES}, FIRST)
    both = criterion(TABLE, SLOPES | {"at_most": "0"})
    assert looked_for(run, both).level == 0
    assert looked_for(run, criterion(TABLE, SLOPES)).at_most == 0.5


@pytest.mark.parametrize(("slopes", "level"), [("0.5\n0.25", 1), ("0.5\n3", 0.5), ("3\n4", 0)])
def test_a_criterion_of_the_run_is_decided_by_code_with_a_passage_that_stands_there(
    tmp_path: Path, slopes: str, level: float
) -> None:
    run = make_run(tmp_path, {"results/other.csv": f"slope\n{slopes}\n"}, "Nothing is named here.")
    asked = criterion(SLOPES, SLOPES | {"count": 1, "at_most": "0"}, judge=False, scope="run")
    result = looked_for(run, asked)
    assert (result.outcome, result.level) == ("decided", level)
    if level:
        quotes = QuoteIndex(Artifacts(run))
        assert any(quotes.verify(citation).verified for citation in result.citations)


def test_a_rubric_without_requirements_keeps_its_digest() -> None:
    """The digest of the shipped rubric as it was before criteria could require anything."""
    path = Path(__file__).parent.parent / "rubrics/truthinsight.yaml"
    rubric = Rubric.model_validate(yaml.safe_load(path.read_text()))
    assert "requires" in rubric.as_json()["criteria"][0]
    assert rubric.digest == DIGEST


@given(st.text("abcxyz", min_size=1, max_size=8), st.text("abcxyz", max_size=4))
def test_a_word_of_three_letters_begins_longer_ones(word: str, rest: str) -> None:
    assert names_match([word], f"mean_{word}")
    assert names_match([word], f"{word}{rest} of 12") is (not rest or len(word) >= 3)
