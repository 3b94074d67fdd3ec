"""No score is shown without its judge and how far that judge agrees with people: the same words in every output."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import pytest
from sample import OTHER, Cohort, sciagent
from test_calibrate import RECORDED, RUNS, UNKNOWN, WHOLLY, shop, today, write_labels

KEPT = "calibration/tester.json"
KNOWN = f"judge handoff:tester, calibrated on {today()}: {WHOLLY}"


@pytest.fixture
def cohort(pytester: pytest.Pytester) -> Cohort:
    return Cohort(pytester)


def measure(cohort: Cohort, target: str = KEPT, *args: str) -> Path:
    """Labels on six runs, which the recorded judge has given the same levels; its calibration in `target`."""
    labels = write_labels(cohort, shop(cohort), {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0})
    code, _, err = sciagent("calibrate", labels, *RECORDED, "-o", target, *args)
    assert (code, err) == (0, "")
    return cohort.root / target


def everywhere(cohort: Cohort) -> dict[str, str]:
    """What each output of a session, and each command that shows scores, is made of."""
    files = {
        "json": "--sciagent-json",
        "summary": "--sciagent-summary",
        "page": "--sciagent-html",
        "junit": "--junitxml",
    }
    loud = cohort.pytest(RUNS, *(f"{option}={cohort.root / name}" for name, option in files.items()))
    quiet = cohort.pytest(RUNS, "-q")
    found = {name: (cohort.root / name).read_text("utf-8") for name in files}
    properties = {p.get("name"): p.get("value") for p in ET.fromstring(found["junit"]).iter("property")}
    commands = {
        "compare": ("compare", "runs", "--rubric", "small", "--csv", "cohort.csv", "--json", "compared.json"),
        "of a table": ("compare", "cohort.csv", "--rubric", "small"),
        "stability": ("stability", "runs", "--rubric", "small", "--json", "stable.json"),
        "lines": ("export", "jsonl", "runs", "--rubric", "small", "-o", "lines.jsonl"),
        "log": ("export", "inspect", "runs", "--rubric", "small", "-o", "logs"),
    }
    printed = {}
    for name, args in commands.items():
        code, out, err = sciagent(*args)
        assert (code, err) == (0, ""), name
        printed[name] = " ".join(out.split())
    return {
        "terminal": "\n".join(loud.outlines),
        "quiet": "\n".join(quiet.outlines),
        "json": json.loads(found["json"])["validity"]["sentence"],
        "summary": found["summary"],
        "page": unescape(found["page"]),
        "junit": str(properties["sciagent_validity"]),
        **printed,
        "cohort": Path("cohort.csv").read_text("utf-8").replace('""', '"'),
        "compared": json.loads(Path("compared.json").read_text("utf-8"))["believed"][0],
        "in the log": next(p for p in [*Path().glob("logs/*"), Path("logs")] if p.is_file()).read_text("utf-8"),
        "stable": json.loads(Path("stable.json").read_text("utf-8"))["validity"]["sentence"],
    }


def test_every_output_says_that_a_judge_is_not_calibrated(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    assert [name for name, text in everywhere(cohort).items() if UNKNOWN not in text] == []


def test_a_calibration_in_its_place_is_told_everywhere_without_an_option(cohort: Cohort) -> None:
    measure(cohort)
    found = everywhere(cohort)
    assert [name for name, text in found.items() if KNOWN not in text] == []
    assert found["quiet"].count(KNOWN) == 1
    validity = cohort.results(RUNS)["validity"]
    assert validity["kappa"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert (validity["labels"], validity["runs"], validity["calibration"]) == (36, 6, KEPT)
    assert cohort.results(RUNS, "--sciagent-min-kappa=0.6")["gate"]["outcome"] == "met"


def test_one_that_expired_is_named_everywhere(cohort: Cohort) -> None:
    measure(cohort)
    rubric = cohort.root / "rubrics" / "small.yaml"
    rubric.write_text(rubric.read_text().replace("weight: 40", "weight: 45"), "utf-8")
    told = f"judge handoff:tester, calibration {KEPT} has expired: rubric small 1 has changed since"
    assert [name for name, text in everywhere(cohort).items() if told not in text] == []


def test_of_several_calibrations_that_of_the_judge_is_taken(cohort: Cohort) -> None:
    mine = measure(cohort)
    cohort.record(lambda run, finding, criterion: 1, judge=OTHER)
    other = cohort.results(RUNS, "--sciagent-judge=handoff:other")["validity"]
    assert other["sentence"] == "judge handoff:other, not calibrated against people: sciagent calibrate"
    args = ("--judge", "handoff:other", "--runs", "runs", "--rubric", "small", "-o", "calibration/other.json")
    assert sciagent("calibrate", "labels.jsonl", *args)[0] == 0
    assert cohort.results(RUNS, "--sciagent-judge=handoff:other")["validity"]["calibration"] == "calibration/other.json"
    # an older one of the same judge gives way; files of others in the folder are no concern of ours
    plain = json.loads(mine.read_text("utf-8"))
    mine.with_name("zz-older.json").write_text(json.dumps({**plain, "measured_on": "2020-01-01"}), "utf-8")
    mine.with_name("camera.json").write_text('{"focal_length": 35}', "utf-8")
    mine.with_name("noise.json").write_bytes(b"\x00\xff no JSON at all")
    assert cohort.results(RUNS, "--sciagent-judge=handoff:tester")["validity"]["calibration"] == KEPT
    code, out, _ = sciagent("sensitivity", "runs", "--rubric", "small", "--judge", "handoff:tester,handoff:other")
    assert code == 0
    assert KNOWN in " ".join(out.split())
    assert "judge handoff:other, calibrated on" in " ".join(out.split())
    code, out, _ = sciagent(
        *("compare", "runs", "--rubric", "small", "--judge", "handoff:tester", "--other-judge", "handoff:other")
    )
    assert code == 0
    assert KNOWN in " ".join(out.split())
    assert "judge handoff:other, calibrated on" in " ".join(out.split())


def test_the_configuration_names_one_for_sessions_and_commands(cohort: Cohort) -> None:
    measure(cohort, "kept/cal.json")
    (cohort.root / "pytest.ini").write_text("[pytest]\nsciagent_rubric = small\nsciagent_calibration = kept/cal.json\n")
    assert [name for name, text in everywhere(cohort).items() if KNOWN not in text] == []


def test_agreement_with_another_judge_is_no_calibration(cohort: Cohort) -> None:
    labels = write_labels(cohort, shop(cohort), {"ev.full": 1, "rob.zero": 0}, kind="judge", by="gpt")
    assert sciagent("calibrate", labels, *RECORDED, "--against", "gpt", "-o", KEPT)[0] == 0
    found = cohort.results(RUNS)["validity"]
    assert found["state"] == "not calibrated"
    assert "with gpt, 24 labels of 6 runs; not calibrated against people" in found["sentence"]
    assert cohort.results(RUNS, "--sciagent-min-kappa=0.6")["gate"]["outcome"] == "inconclusive"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"schema": "sciagent-calibration/1"', "calibration/bad.json"),
        ('{"schema": "sciagent-calibration/1", "bound": 3}', "calibration/bad.json"),
    ],
)
def test_a_broken_calibration_is_one_message(cohort: Cohort, content: str, message: str) -> None:
    cohort.run()
    cohort.record()
    (cohort.root / "calibration").mkdir()
    (cohort.root / "calibration" / "bad.json").write_text(content, "utf-8")
    result = cohort.pytest(RUNS)
    assert result.ret == 4
    assert message in result.stderr.str()
    assert "Traceback" not in result.stderr.str()
    code, out, err = sciagent("compare", "runs", "--rubric", "small")
    assert (code, out) == (4, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_folder_without_any_is_told_where_it_was_named(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    (cohort.root / "empty").mkdir()
    result = cohort.pytest(RUNS, "--sciagent-calibration=empty")
    assert result.ret == 4
    assert "no calibration of a recorded judge in this folder" in result.stderr.str()
