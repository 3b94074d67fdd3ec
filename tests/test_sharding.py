"""Parts of a session: each run in exactly one, nothing decided by a part, and the parts put together are the whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import Cohort

from pytest_sciagent.collection.sharding import Shard, parse_shard

RUNS = "--sciagent-run=runs"


@given(st.text(max_size=60), st.integers(1, 50))
def test_every_run_is_in_exactly_one_part(label: str, count: int) -> None:
    assert sum(Shard(number, count).has(label) for number in range(1, count + 1)) == 1


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3", "1/99999999", "1/20000"])
def test_what_is_no_part(cohort: Cohort, text: str) -> None:
    with pytest.raises(pytest.UsageError, match="write I/N"):
        parse_shard(text)


@pytest.fixture
def many(cohort: Cohort) -> Cohort:
    for system in ("alpha", "beta", "gamma", "delta"):
        cohort.run(system, findings=1)
    cohort.record()
    return cohort


@pytest.mark.parametrize("given", ["option", "argument"])
def test_the_parts_are_the_whole(many: Cohort, given: str) -> None:
    runs = RUNS if given == "option" else "runs"
    whole = many.results(runs, code=1)
    parts = []
    for number in (1, 2, 3):
        path = many.root / "results.json"
        path.unlink(missing_ok=True)
        result = many.pytest(runs, f"--sciagent-shard={number}/3", f"--sciagent-json={path}")
        if not path.exists():
            assert result.ret == 5, result.stdout.str()
            continue
        part = json.loads(path.read_text())
        assert part["incomplete_because"] == f"this is part {number}/3 of the runs"
        parts += part["runs"]
    assert sorted(run["id"] for run in parts) == [run["id"] for run in whole["runs"]]
    assert sorted(parts, key=lambda run: run["id"]) == whole["runs"]


def test_no_part_decides_a_gate_but_one_of_one_does(many: Cohort) -> None:
    assert many.results(RUNS, "--sciagent-shard=1/1", "--sciagent-min-score=0", code=0)["complete"]
    codes = {many.pytest(RUNS, f"--sciagent-shard={n}/2", "--sciagent-min-score=0").ret for n in (1, 2)}
    assert codes <= {5, 10}
    assert 10 in codes


def test_an_empty_part_collects_nothing_of_the_repository(cohort: Cohort) -> None:
    cohort.run(findings=1)
    (cohort.root / "test_own.py").write_text("def test_own(): assert 0\n")
    empty = next(n for n in (1, 2) if not Shard(n, 2).has("alpha/t1"))
    result = cohort.pytest(RUNS, f"--sciagent-shard={empty}/2")
    assert result.ret == 5
    assert "test_own" not in result.stdout.str()


def test_a_tampered_run_is_in_one_part_too(many: Cohort) -> None:
    (many.root / "runs" / "alpha" / "t1" / "run.json").write_text('{"schema": "sciagent-run/1"')
    seen = [many.pytest(RUNS, f"--sciagent-shard={n}/2", "-q").stdout.str().count("integrity") for n in (1, 2)]
    assert sorted(bool(count) for count in seen) == [False, True]


def test_records_of_parts_merged_replay_as_one(many: Cohort, tmp_path: Path) -> None:
    whole = many.results(RUNS, code=1)
    for number in (1, 2):
        records = many.root / "parts" / f"part-{number}" / "records"
        for file in (many.root / "verdicts").glob("*/*.json"):
            if Shard(number, 2).has(f"{file.parent.name}/{file.stem}"):
                records.joinpath(file.parent.name).mkdir(parents=True)
                shutil.copy(file, records / file.parent.name / file.name)
    shutil.rmtree(many.root / "verdicts")
    code, out, _ = many.sciagent("ci", "merge", "parts", "--ledger", "verdicts")
    assert (code, out) == (0, "4 records in verdicts\n")
    assert many.results(RUNS, code=1) == whole
    code, _, err = many.sciagent("ci", "merge", "nowhere")
    assert code == 4
    assert err == "sciagent: nowhere: no folder of a part's records lies in it\n"
