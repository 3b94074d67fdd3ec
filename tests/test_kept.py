"""Verdicts that an earlier session worked out: taken while nothing has changed, never from anybody else."""

from __future__ import annotations

import os
import shutil
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import sample
from sample import Cohort, answer, outcomes, report_text

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.ledger import Ledger, write_record
from pytest_sciagent.runs import Run

KEPT = Path(".sciagent/cache/verdicts")
SESSION = ("--sciagent-run=runs", "--sciagent-json=x.json")


@pytest.fixture
def kept(cohort: Cohort) -> Cohort:
    """One run that a session has tested wholly."""
    cohort.run(findings=2)
    cohort.record()
    cohort.pytest(*SESSION)
    return cohort


def _file(root: Path) -> Path:
    (file,) = (root / KEPT).iterdir()
    return file


@pytest.mark.parametrize("more", [(), ("-v",), ("-n2",), ("--junitxml=j.xml",), ("-x",)], ids=" ".join)
def test_the_same_with_and_without(kept: Cohort, pytester: pytest.Pytester, more: tuple[str, ...]) -> None:
    fresh = outcomes(kept.pytest(*SESSION, *more, "--sciagent-fresh"))
    first = (pytester.path / "x.json").read_bytes()
    assert outcomes(kept.pytest(*SESSION, *more)) == fresh
    assert (pytester.path / "x.json").read_bytes() == first


def test_what_is_kept_is_taken(kept: Cohort, pytester: pytest.Pytester) -> None:
    before = _file(pytester.path).stat().st_mtime_ns
    kept.pytest(*SESSION)
    assert _file(pytester.path).stat().st_mtime_ns == before


@pytest.mark.parametrize("at", [0, 200], ids=["code", "content"])
def test_what_somebody_else_wrote_is_not_taken(kept: Cohort, pytester: pytest.Pytester, at: int) -> None:
    first = (pytester.path / "x.json").read_bytes()
    file = _file(pytester.path)
    whole = file.read_bytes()
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    kept.pytest(*SESSION)
    assert (pytester.path / "x.json").read_bytes() == first
    assert file.read_bytes() == whole


def test_another_user_takes_nothing(
    kept: Cohort, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = _file(pytester.path).read_bytes()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept.pytest(*SESSION)
    assert _file(pytester.path).read_bytes() != whole


def test_other_answers_give_other_verdicts(kept: Cohort, pytester: pytest.Pytester) -> None:
    before = outcomes(kept.pytest(*SESSION))
    shutil.rmtree(pytester.path / "verdicts")
    assert outcomes(kept.pytest(*SESSION)) != before


def test_another_time_for_reading_takes_nothing(kept: Cohort, pytester: pytest.Pytester) -> None:
    whole = _file(pytester.path).read_bytes()
    kept.pytest(*SESSION, "--sciagent-reading-seconds=1e-9")
    assert _file(pytester.path).read_bytes() != whole


@pytest.mark.parametrize("changed", ["verdicts/alpha/t1.json", "tasks/t1/objective.md"])
def test_what_changes_while_a_session_runs_is_seen_by_the_next(cohort: Cohort, changed: str) -> None:
    cohort.run(findings=2)
    cohort.record()
    swap = f"""
        from pathlib import Path

        def pytest_collection_finish():
            file = Path({changed!r})
            text = file.read_text()
            file.write_text(text.replace("speaks", "cries") if "speaks" in text else f"{{text}} Or not.")
    """
    cohort.pytester.makeconftest(swap)
    cohort.pytest(*SESSION)
    (cohort.root / "conftest.py").unlink()
    cohort.pytest(*SESSION)
    taken = (cohort.root / "x.json").read_bytes()
    cohort.pytest(*SESSION, "--sciagent-fresh")
    assert taken == (cohort.root / "x.json").read_bytes()


def test_a_task_that_links_to_elsewhere_is_not_kept(cohort: Cohort) -> None:
    (cohort.root / "elsewhere").mkdir()
    (cohort.root / "tasks" / "t1" / "hidden").symlink_to(cohort.root / "elsewhere")
    cohort.run(findings=2)
    cohort.record()
    cohort.pytest(*SESSION)
    assert not (cohort.root / KEPT).exists()


def test_a_part_is_not_kept(cohort: Cohort, pytester: pytest.Pytester) -> None:
    cohort.run(findings=2)
    cohort.record()
    cohort.pytest(*SESSION, "-k", "finding_1")
    assert not (pytester.path / KEPT).exists()


def test_marks_and_hooks_of_others_are_heard(kept: Cohort, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.skip(reason="not today"))

        def pytest_runtest_logreport(report):
            if report.when == "call":
                print("HEARD", report.nodeid, dict(report.user_properties).get("level"), "dimension" in report.keywords)
        """
    )
    result = kept.pytest(*SESSION, "-s", "-rs")
    assert outcomes(result)["skipped"] == 1
    result.stdout.fnmatch_lines(["*HEARD runs/alpha/t1/run.json::finding_1::ev.half 0.5 True"])
    result.stdout.fnmatch_lines(["SKIPPED*not today"])


def test_what_workers_work_out_is_kept_and_then_none_is_started(cohort: Cohort) -> None:
    cohort.run(findings=2)
    cohort.run("beta", findings=1)
    cohort.record()
    first = cohort.pytest(*SESSION, "-n3", "-v")
    first.stdout.fnmatch_lines(["sciagent: 2 workers of the 3 asked for: 2 runs to be worked out", "*[[]gw*"])
    written = (cohort.root / "x.json").read_bytes()
    kept = {path: path.read_bytes() for path in (cohort.root / KEPT).iterdir()}
    assert len(kept) == 2
    again = cohort.pytest(*SESSION, "-n3", "-v")
    again.stdout.fnmatch_lines(["sciagent: no worker of the 3 asked for: no run to be worked out"])
    again.stdout.no_fnmatch_line("*[[]gw*")
    assert (cohort.root / "x.json").read_bytes() == written
    cohort.pytest(*SESSION, "-n0", "--sciagent-fresh")
    assert (cohort.root / "x.json").read_bytes() == written
    cohort.pytest(*SESSION, "-n0")
    assert {path: path.read_bytes() for path in (cohort.root / KEPT).iterdir()} == kept


OWN_JUDGE = """
    import pytest
    from pytest_sciagent.judging.judge import RecordedJudge

    @pytest.fixture
    def judge():
        return RecordedJudge(None)
"""
ANOTHER_TASK_IN_WORKERS = """
    from pathlib import Path

    def pytest_configure(config):
        if hasattr(config, "workerinput"):
            Path("tasks/t1/objective.md").write_text(config.workerinput["workerid"])
"""
CRASH = """
    import os

    def pytest_runtest_setup(item):
        if "finding_2" in item.nodeid and item.config.workerinput["workerid"] == "gw0":
            os._exit(1)
"""


@pytest.mark.parametrize("conftest", [OWN_JUDGE, ANOTHER_TASK_IN_WORKERS, CRASH], ids=["judge", "task", "crash"])
def test_what_only_workers_know_keeps_the_controller_from_keeping(cohort: Cohort, conftest: str) -> None:
    cohort.run(findings=2)
    cohort.record()
    cohort.pytester.makeconftest(conftest)
    result = cohort.pytest(*SESSION, "-n1")
    assert outcomes(result).get("passed", 0) + outcomes(result).get("not assessed", 0) >= 2
    assert not (cohort.root / KEPT).exists()


def test_a_criterion_of_ones_own_runs_each_time_beside_what_was_kept(cohort: Cohort) -> None:
    cohort.run(findings=2)
    cohort.record()
    cohort.pytester.makeconftest(
        """
        from pathlib import Path
        from pytest_sciagent import criterion

        @criterion("house.count")
        def count(finding):
            seen = Path("seen.txt")
            seen.write_text(seen.read_text() + "x" if seen.exists() else "x")
            return 1 if len(seen.read_text()) > 2 else 0
        """
    )
    first = outcomes(cohort.pytest(*SESSION))
    kept = _file(cohort.root).read_bytes()
    second = outcomes(cohort.pytest(*SESSION))
    assert _file(cohort.root).read_bytes() == kept
    assert second["passed"] == first["passed"] + 2
    assert second["failed"] == first["failed"] - 2
    taken = (cohort.root / "x.json").read_bytes()
    cohort.pytest(*SESSION, "--sciagent-fresh")
    assert (cohort.root / "x.json").read_bytes() == taken
    result = cohort.pytest(*SESSION, "-n3", "-v")
    result.stdout.fnmatch_lines(["sciagent: 1 worker of the 3 asked for: 1 run to be worked out"])
    assert (cohort.root / "x.json").read_bytes() == taken


def test_another_environment_takes_nothing(
    kept: Cohort, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _file(pytester.path).read_bytes()
    monkeypatch.setenv("SOME_VARIABLE", "1")
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    kept.pytest(*SESSION)
    assert _file(pytester.path).read_bytes() == before
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    kept.pytest(*SESSION)
    assert _file(pytester.path).read_bytes() != before


def test_another_library_takes_nothing(
    kept: Cohort, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Any: a task's scripts may import it."""
    folder = tmp_path / "more"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    kept.pytest(*SESSION, fresh=True)
    before = _file(pytester.path).read_bytes()
    kept.pytest(*SESSION, fresh=True)
    assert _file(pytester.path).read_bytes() == before
    (folder / "newcomer-1.0.dist-info").mkdir()
    kept.pytest(*SESSION, fresh=True)
    assert _file(pytester.path).read_bytes() != before


def test_a_run_whose_reader_was_stopped_is_not_kept_whatever_is_said(
    cohort: Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is that a reader was stopped, not that somebody speaks of it."""
    monkeypatch.setattr(sample, "answer", lambda level: {**answer(level), "rationale": "The reader was stopped."})
    files: dict[str, str | bytes] = {}
    for n in range(3):  # the first is always read
        array = BytesIO()
        np.save(array, np.arange(3.0) + n)
        files[f"results/a{n}.npy"] = array.getvalue()
    cited = ", ".join(f"`output/{name}`" for name in files)
    cohort.run("arrays", findings=1, report=report_text(1).replace("from `", f"from {cited} and `"), files=files)
    cohort.run("words", findings=1)
    cohort.record()
    for seconds, kept in (("1e-9", 1), ("60", 2)):
        cohort.pytest(*SESSION, f"--sciagent-reading-seconds={seconds}")
        assert len(list((cohort.root / KEPT).iterdir())) == kept


def test_answers_that_were_let_go_are_read_again_while_they_are_the_same(cohort: Cohort) -> None:
    manifest = Run.load(cohort.run()).manifest
    cohort.record()
    folder = cohort.root / "verdicts"
    whole = Ledger.load(folder, manifest)
    known = Ledger.load(folder, manifest)
    known.release()
    assert known.count == whole.count > 0
    assert known.entries == whole.entries
    known.release()
    known.add(whole.entries[0].model_copy(update={"key": "0" * 64}))
    known.release()  # what came in is in no record: it stays
    assert known.get("0" * 64) is not None
    whole.release()
    write_record(folder, manifest, known.entries)
    with pytest.raises(SciagentError, match="has changed since it was read"):
        whole.get("0" * 64)
