"""A run as an RO-Crate: every file with its hash, the verdicts, who made and who judged it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest
from rocrate.rocrate import ROCrate
from sample import Cohort

from pytest_sciagent.schemas import schemas

BELIEVED = "judge handoff:tester, not calibrated against people: sciagent calibrate"
ARGS = ("export", "ro-crate", "runs/alpha/t1", "--rubric", "small")


def test_the_crate_holds_run_and_verdicts(cohort: Cohort) -> None:
    run = cohort.run(findings=1, files={"a name with spaces & ü.csv": "x\n1\n"})
    cohort.record()
    code, out, err = cohort.sciagent(*ARGS, "-o", "crate")
    assert (code, out, err) == (0, f"6 files in the crate crate\n{BELIEVED}\n", "")
    crate = ROCrate(cohort.root / "crate")
    manifest = json.loads((run / "run.json").read_text())
    by_name = {entity["name"]: entity for entity in crate.data_entities}
    assert set(by_name) == {*(file["path"] for file in manifest["files"]), "run.json", "verdicts.jsonl"}
    for file in manifest["files"]:
        assert by_name[file["path"]]["sha256"] == file["sha256"]
        data = (cohort.root / "crate" / file["path"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == file["sha256"]
    lines = [json.loads(line) for line in (cohort.root / "crate" / "verdicts.jsonl").read_text().splitlines()]
    assert [line["level"] for line in lines] == [1, 0.5, 0, None]
    for line in lines:
        jsonschema.validate(line, json.loads(schemas()["sciagent-verdict-1.schema.json"]))
    made, judged = crate.get("#run"), crate.get("#evaluation")
    assert made["instrument"]["name"] == "alpha"
    assert made["actionStatus"].endswith("CompletedActionStatus")
    assert judged["agent"]["name"] == "handoff:tester"
    score = crate.get("#score")
    assert score["description"] == judged["agent"]["description"] == BELIEVED
    assert (score["minValue"], score["maxValue"]) == (55, 65)
    assert (cohort.root / "crate" / "run.json").read_bytes() == (run / "run.json").read_bytes()


def test_a_failed_run_has_a_crate_and_a_score_of_0(cohort: Cohort) -> None:
    cohort.run(status="failed")
    assert cohort.sciagent(*ARGS, "-o", "crate")[0] == 0
    crate = ROCrate(cohort.root / "crate")
    assert crate.get("#run")["actionStatus"].endswith("FailedActionStatus")
    assert crate.get("#score")["maxValue"] == 0
    assert (cohort.root / "crate" / "verdicts.jsonl").read_text() == ""


@pytest.mark.parametrize("fault", ["there", "tampered", "no run"])
def test_bad_input_is_one_message(cohort: Cohort, fault: str) -> None:
    run = cohort.run(findings=1)
    args = [*ARGS, "-o", "crate"]
    if fault == "there":
        (cohort.root / "crate").mkdir()
        (cohort.root / "crate" / "mine.txt").write_text("mine")
        said = "crate: is there already: name a new folder"
    elif fault == "tampered":
        (run / "output" / "Result.md").write_text("changed")
        said = "no usable run:\nalpha/t1: changed: output/Result.md"
    else:
        args[2] = "tasks"
        said = "tasks: is no frozen run: it has no run.json"
    code, out, err = cohort.sciagent(*args)
    assert (code, out) == (4, "")
    assert err == f"sciagent: {said}\n"
    assert not (cohort.root / "crate" / "ro-crate-metadata.json").exists()
    assert [p.name for p in Path(cohort.root / "crate").glob("*")] == (["mine.txt"] if fault == "there" else [])
