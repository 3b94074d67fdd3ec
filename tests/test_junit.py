"""JUnit's file: valid for the family xunit2, levels as properties, failures and errors apart, reasons cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from sample import Cohort

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parent / "xunit2.xsd"))
MANY = {**{f"ev.c{n}": 1 for n in range(20)}, **{f"rob.c{n}": 1 for n in range(20)}}


def read(path: Path) -> Any:
    """The file, which has to meet the schema."""
    tree = etree.parse(path)
    assert SCHEMA.validate(tree), SCHEMA.error_log
    return tree


def cases(tree: Any) -> dict[str, tuple[str, dict[str, str], str]]:
    """What became of each test case, its properties and its message, by the criterion."""
    found = {}
    for case in tree.iter("testcase"):
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        ends = [child for child in case if child.tag in ("failure", "error", "skipped")]
        assert len(ends) <= 1
        kind = ends[0].tag if ends else "passed"
        found[case.get("name")] = (kind, properties, ends[0].get("message") if ends else "")
    return found


def suite_properties(tree: Any) -> dict[str, str]:
    return {p.get("name"): p.get("value") for p in tree.getroot().findall("testsuite/properties/property")}


@pytest.mark.parametrize("extra", [[], ["-n1"], ["--setup-show"]], ids=["n0", "n1", "full"])
def test_every_outcome_is_there_and_the_file_is_valid(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    levels = {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0, "rob.open": "invalid"}
    cohort.record(lambda run, finding, criterion: levels[criterion])
    cohort.pytest("--sciagent-run=runs", "--junitxml=j.xml", *extra)
    tree = read(cohort.root / "j.xml")
    found = cases(tree)
    assert {name: kind for name, (kind, _, _) in found.items()} == {
        "ev.full": "passed",
        "ev.half": "passed",
        "rob.zero": "failure",
        "rob.open": "error",
    }
    assert {name: (p["level"], p["score_effect"], p["judge"]) for name, (_, p, _) in found.items()} == {
        "ev.full": ("1", "0.0", "handoff:tester"),
        "ev.half": ("0.5", "-15.0", "handoff:tester"),
        "rob.zero": ("0", "-20.0", "handoff:tester"),
        "rob.open": ("unset", "-10.0..0.0", "handoff:tester"),
    }
    told = suite_properties(tree)
    assert told["sciagent_score_alpha"] == "55.0..65.0"
    assert {name: told[f"sciagent_{name}"] for name in ("full", "half", "zero", "not_assessed", "error")} == {
        "full": "1",
        "half": "1",
        "zero": "1",
        "not_assessed": "0",
        "error": "1",
    }


def test_runs_that_can_not_be_tested_are_valid_too(cohort: Cohort) -> None:
    cohort.run("alpha", status="failed", exit_code=3)
    broken = cohort.run("beta")
    (broken / "output" / "Result.md").write_text("changed")
    cohort.pytest("--sciagent-run=runs", "--junitxml=j.xml")
    found = cases(read(cohort.root / "j.xml"))
    assert {name: kind for name, (kind, _, _) in found.items()} == {"delivery": "failure", "integrity": "error"}


def test_hostile_long_reasons_are_cut_and_stay_valid(cohort: Cohort) -> None:
    from sample import rubric_text

    (cohort.root / "rubrics" / "small.yaml").write_text(rubric_text(weights=MANY))
    cohort.run(findings=5)
    cohort.record(lambda run, finding, criterion: 0)
    record = cohort.root / "verdicts" / "alpha" / "t1.json"
    data = json.loads(record.read_text())
    for entry in data["entries"]:
        entry["reason"] = "\x1b[31m]]> <b>&\u202e\x00\ud800 \ufffe" + "long & " * 600
    record.write_text(json.dumps(data))
    cohort.pytest("--sciagent-run=runs", "--junitxml=j.xml", "-q")
    path = cohort.root / "j.xml"
    found = cases(read(path))
    assert len(found) == len(MANY)
    assert all(len(message) <= 520 for _, _, message in found.values())
    assert "\\x1b[31m]]> <b>&" in found["ev.c0"][2]
    assert path.stat().st_size < 200 * 2500
