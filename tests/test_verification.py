"""A task's verification scripts run apart: what they print is checked, what they do is limited, answers are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sciagent.digest import sha256_bytes
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
    cache = tmp_path / "cache"
    assert Verification(task, cache).values() == {"mean": 2.0}
    (kept,) = cache.iterdir()
    kept.write_text('{"values": {"mean": 7.0}}')  # a second look takes what was kept ...
    assert Verification(task, cache).values() == {"mean": 7.0}
    (task.path / "hidden" / "verify" / "recompute.py").write_text(GOOD + "\n# changed\n")
    assert Verification(task, cache).values() == {"mean": 2.0}  # ... for these very scripts only


def test_a_broken_cache_is_made_anew(tmp_path: Path) -> None:
    task = make_task(tmp_path / "t", GOOD)
    Verification(task, tmp_path / "cache").values()
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_text("{")
    assert Verification(task, tmp_path / "cache").values() == {"mean": 2.0}


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
