"""Making tasks and checking them: what is wrong is told with file and fix, and a leak of any kind is found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample import sciagent

from pytest_sciagent.tasks import Task
from pytest_sciagent.tasks.check import visible_leaks
from pytest_sciagent.tasks.leaks import Lines, fold

SHIPPED = Path(__file__).parent.parent / "tasks"


SOURCE = """\
schema: sciagent-source/1
title: Slow upward drift of laboratory thermometer readings
authors: [Quillfeather, J. M. Ostrander]
first_public: '2020-02-03'
fingerprints: [Bunker 7]
doi: 10.5555/ABC.123
arxiv: '2002.01234'
"""


@pytest.fixture(scope="session")
def whole_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole, blind task whose scripts answer at once."""
    root = tmp_path_factory.mktemp("tasks")
    data = root / "series.csv"
    data.write_text("year,value\n2000,1.0\n2001,3.5\n2002,6.0\n")
    about = ("--title", "A series", "--domain", "testing", "--t0", "2020-01-01", "--licence", "CC0-1.0")
    code, out, err = sciagent("task", "new", str(root / "drift"), "--data", str(data), *about)
    assert code == 0, err
    assert "task check" in out
    for path in (root / "drift").rglob("*.*"):
        text = path.read_text().replace("REPLACE", "something")
        if path.suffix == ".py":
            text = text.replace("raise SystemExit", "str").replace('"survive": False', '"survive": True')
            text = text.replace('_a": 0.0', '_a": 2.514').replace('_b": 0.0', '_b": 9')
        if path.name == "reference.yaml":
            text = text.replace("a, value: 0.0", "a, value: 2.514").replace("b, value: 0.0", "b, value: 9.0")
        path.write_text(SOURCE if path.name == "source.yaml" else text)
    return root / "drift"


@pytest.fixture
def task(whole_task: Path, tmp_path: Path) -> Path:
    """A copy of `whole_task`, to be spoilt."""
    return Path(shutil.copytree(whole_task, tmp_path / "tasks" / "drift"))


def told(folder: Path) -> tuple[int, str]:
    code, out, err = sciagent("task", "check", str(folder))
    return code, out + err


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_whole_task_passes_and_reports_the_three_conditions(task: Path) -> None:
    code, out = told(task)
    assert code == 0, out
    assert "WRONG" not in out
    for number in (1, 2, 3):
        assert f"selection {number}" in out


def test_a_new_task_is_not_whole_before_its_words_are_there(tmp_path: Path) -> None:
    data = tmp_path / "a.csv"
    data.write_text("x\n1\n")
    folder = tmp_path / "fresh"
    args = ("--title", "T", "--domain", "d", "--t0", "2020-01-01", "--licence", "CC0")
    assert sciagent("task", "new", str(folder), "--data", str(data), *args)[0] == 0
    code, out = told(folder)
    assert code == 1
    assert "objective.md:1: still holds a placeholder" in out
    assert "recompute.py failed" in out


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda t: replace(t / "data/series.csv", "3.5", "3.6"), "data/series.csv is not the file that is registered"),
        (lambda t: (t / "data/extra.csv").write_text("x\n"), "data/extra.csv is not registered"),
        (lambda t: replace(t / "task.yaml", "t0: \"2020-01-01\"", "t0: \"2020-02-03\""), "is not before the source"),
        (lambda t: replace(t / "hidden/source.yaml", "'2020-02-03'", "'2020'"), "source.yaml:4: first_public"),
        (lambda t: replace(t / "hidden/source.yaml", "'2020-02-03'", "'2020-02-31'"), "no day of the calendar"),
        (lambda t: replace(t / "hidden/provenance.yaml", "CC0-1.0", "GPL-3.0"), "hidden/provenance.yaml 'GPL-3.0'"),
        (lambda t: replace(t / "task.yaml", "cross_dataset_gen", "cross_datset_gen"), "did you mean 'cross_dataset_"),
        (lambda t: replace(t / "hidden/verify/recompute.py", "2.514", "3.1"), "quantity_a is 3.1 by recompute.py"),
        (lambda t: (t / "hidden/verify/perturb_B_method.py").unlink(), "perturb_B_method.py is missing"),
        (lambda t: replace(t / "task.yaml", "\"value\": {", "\"valu\": {"), "do not explain column 'value'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(task: Path, change: Callable[[Path], object], expected: str) -> None:
    change(task)
    code, out = told(task)
    assert code == 1
    assert expected in out


def test_hashes_are_registered_anew(task: Path) -> None:
    (task / "data/series.csv").write_text("year,value\n2000,1.0\n")
    assert told(task)[0] == 1
    code, out, _ = sciagent("task", "hash", str(task))
    assert code == 0
    assert "registered: 1 file in" in out
    assert told(task)[0] == 0


def test_a_task_whose_data_were_changed_is_refused_at_evaluation(task: Path) -> None:
    from pytest_sciagent.errors import SciagentError

    Task.load(task).check()
    (task / "data/series.csv").write_text("year,value\n")
    with pytest.raises(SciagentError, match="sciagent task hash"):
        Task.load(task).check()


@pytest.mark.parametrize("name", sorted(p.name for p in SHIPPED.iterdir() if p.is_dir()))
def test_shipped_tasks_are_blind(name: str) -> None:
    assert visible_leaks(Task.load(SHIPPED / name)) == []


LEAKS = {
    "doi": ["see 10.5555/abc.123", "https://doi.org/10.5555%2FABC.123", "doi:10.5555/ABC.123."],
    "arxiv": ["arXiv:2002.01234v3", "2002.01234"],
    "title": [
        "Slow upward drift of laboratory thermometer readings",
        "slow upward drift of labratory thermometer readings",
        "SLOW UPWARD-DRIFT OF LABORATORY\nTHERMOMETER READINGS, 2020",
        "readings of a laboratory thermometer, their slow drift upward",
    ],
    "author": ["collected by Quillfeather", "Ostrander's bench"],
    "fingerprint": ["from bunker_7", "Bunker 7s"],
    "reference value": ["a slope of 2.514 a year", "2.514"],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in LEAKS.items() for text in texts])
@pytest.mark.parametrize("where", ["objective.md", "DATA_GUIDE.md", "task.yaml"])
def test_a_leak_in_a_visible_file_is_found(task: Path, kind: str, text: str, where: str) -> None:
    path = task / where
    before = path.read_text()
    path.write_text(before + "".join(f"# {line}\n" for line in text.split("\n")))
    found = visible_leaks(Task.load(task))
    assert kind in {leak.kind for leak in found}
    assert {leak.line for leak in found if leak.kind == kind} == {before.count("\n") + 1}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("doi", "10.5555_abc.123.csv"),
        ("arxiv", "2002.01234.csv"),
        ("title", "slow_upward_drift_of_laboratory_thermometer_readings.csv"),
        ("title", "laboratory-thermometer-drift_slow_upward.csv"),
        ("author", "Quillfeather.csv"),
        ("fingerprint", "bunker-7.csv"),
        ("reference value", "slope 2.514.csv"),
    ],
)
def test_a_leak_in_a_file_name_is_found(task: Path, kind: str, name: str) -> None:
    (task / "data" / name).write_text("x\n1\n")
    found = visible_leaks(Task.load(task))
    assert [(leak.kind, leak.line) for leak in found if leak.kind == kind] == [(kind, None)]


@given(st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=150, deadline=None)
def test_a_needle_is_found_in_any_company(before: str, after: str) -> None:
    lines = Lines.of(f"{before} Wolf-Number {after}")
    expected = f"{before} ".count("\n") + 1
    assert expected in {number for number, _ in lines.places("wolf number")}
    assert fold(fold(before)) == fold(before)


def test_new_refuses_what_it_cannot_make(tmp_path: Path) -> None:
    args = ("--title", "T", "--domain", "d", "--licence", "CC0")
    (tmp_path / "a.csv").write_text("x\n1\n")
    data = ("--data", str(tmp_path / "a.csv"))
    code, _, err = sciagent("task", "new", str(tmp_path / "t"), *data, "--t0", "2020", *args)
    assert (code, "t0" in err, (tmp_path / "t").exists()) == (4, True, False)
    code, _, err = sciagent("task", "new", str(tmp_path), *data, "--t0", "2020-01-01", *args)
    assert (code, "exists already" in err) == (4, True)
    code, _, err = sciagent("task", "new", str(tmp_path / "t"), "--data", "none.csv", "--t0", "2020-01-01", *args)
    assert (code, "none.csv" in err) == (4, True)
    shutil.rmtree(tmp_path / "t", ignore_errors=True)
