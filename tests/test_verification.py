"""A task's verification scripts run apart: what they print is checked, what they do is limited, answers are kept."""

from __future__ import annotations

import hmac
from pathlib import Path

import pytest

from pytest_sciagent.digest import sha256_bytes
from pytest_sciagent.ledger.trusted_files import KeptFiles
from pytest_sciagent.tasks import Task
from pytest_sciagent.tasks.verification import Verification, VerificationFailed

DATA = "x\n1\n2\n3\n"
GOOD = """
import json, sys
from pathlib import Path
numbers = [float(v) for v in Path(sys.argv[1], "points.csv").read_text().split()[1:]]
print(json.dumps({"values": {"mean": sum(numbers) / len(numbers)}}))
"""


def make_task(folder: Path, script: str) -> Task:
    (folder / "data").mkdir(parents=True)
    (folder / "hidden" / "verify").mkdir(parents=True)
    (folder / "data" / "points.csv").write_text(DATA)
    (folder / "hidden" / "verify" / "recompute.py").write_text(script)
    digest = sha256_bytes(DATA.encode())
    (folder / "task.yaml").write_text(
        f"schema: sciagent-task/1\nid: {folder.name}\ntitle: t\ndomain: d\nt0: '2020-01-01'\nanalysis_unit: u\n"
        f"licence: CC0\nfiles:\n- {{path: data/points.csv, bytes: {len(DATA)}, sha256: {digest}}}\n"
    )
    return Task.load(folder)


def test_values_are_read_and_kept(tmp_path: Path) -> None:
    task = make_task(tmp_path / "t", GOOD)
    cache = KeptFiles(tmp_path / "cache", b"mine")
    assert Verification(task, cache).values() == {"mean": 2.0}
    (kept,) = (tmp_path / "cache").iterdir()
    before = kept.stat().st_mtime_ns
    assert Verification(task, cache).values() == {"mean": 2.0}  # a second look takes what was kept ...
    assert kept.stat().st_mtime_ns == before
    (task.path / "hidden" / "verify" / "recompute.py").write_text(GOOD.replace("sum(numbers)", "7 * sum(numbers)"))
    assert Verification(task, cache).values() == {"mean": 14.0}  # ... for these very scripts only


@pytest.mark.parametrize("written", ["{", '{"values": {"mean": 7.0}}'], ids=["broken", "forged"])
def test_what_somebody_else_has_left_is_not_taken(tmp_path: Path, written: str) -> None:
    task = make_task(tmp_path / "t", GOOD)
    cache = KeptFiles(tmp_path / "cache", b"mine")
    Verification(task, cache).values()
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_bytes(hmac.digest(b"theirs", written.encode(), "sha256") + written.encode())
    assert Verification(task, cache).values() == {"mean": 2.0}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("raise SystemExit('no data')", "failed: no data"),
        ("print('hello')", "not readable as JSON"),
        ("print('[1]')", "must print one JSON object"),
        ('print(\'{"values": {"a": NaN}}\')', "NaN is not a JSON number"),
        ('print(\'{"values": {"a": true}}\')', "must print"),
        ("print('{}')", "must print"),
    ],
)
def test_a_script_that_gives_no_answer_says_why(tmp_path: Path, script: str, reason: str) -> None:
    with pytest.raises(VerificationFailed, match=reason):
        Verification(make_task(tmp_path / "t", script)).values()


def test_a_task_without_scripts_has_no_values(tmp_path: Path) -> None:
    task = make_task(tmp_path / "t", GOOD)
    (task.path / "hidden" / "verify" / "recompute.py").unlink()
    assert Verification(task).values() == {}
    assert Verification(task).perturbations("A") == []
