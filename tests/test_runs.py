"""A frozen run on disk: what keeps it from being what was frozen, and how runs are found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_sciagent.digest import sha256_tree
from pytest_sciagent.errors import SciagentError
from pytest_sciagent.models import System
from pytest_sciagent.runs import Run, UnsafeFile
from pytest_sciagent.runs.discover import find_runs
from pytest_sciagent.runs.files import check_relative, read_file, walk
from pytest_sciagent.runs.freeze import FreezeOptions, freeze

CONTENT = {
    "output/Result.md": b"\xef\xbb\xbf# Finding 1\r\n\r\nL\xc3\xa4nge\r",
    "output/code/fit.py": b"print(1)\n",
    "output/code/fit 2.py": b"print(2)\n",
    "output/empty.csv": b"",
    "logs/stdout.txt": b"done\n",
}


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    return make_run(tmp_path)


def make_run(root: Path, place: str = "runs/plain/life") -> Path:
    for path, data in CONTENT.items():
        file = root / "workspace" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return freeze(root / "workspace", root / place, FreezeOptions("life", System(name="plain")), {}).run.path


def edit(run_path: Path, change: Callable[[dict[str, Any]], object], *, rehash: bool = False) -> None:
    """Change `run.json`; with `rehash` its tree digest is made to fit, as a careful forger would."""
    manifest = json.loads((run_path / "run.json").read_text("utf-8"))
    change(manifest)
    if rehash:
        manifest["tree_sha256"] = sha256_tree((f["path"], f["bytes"], f["sha256"]) for f in manifest["files"])
    (run_path / "run.json").write_text(json.dumps(manifest, indent=2), "utf-8")


def problems(run_path: Path) -> list[str]:
    return Run.load(run_path).problems()


def test_a_sound_run_has_no_problems(run_path: Path) -> None:
    assert problems(run_path) == []
    assert set(Run.load(run_path).files) == set(CONTENT)


@pytest.mark.parametrize("path", [path for path, data in CONTENT.items() if data])
@pytest.mark.parametrize("at", [0, -1])
def test_one_changed_byte_is_named(run_path: Path, path: str, at: int) -> None:
    data = bytearray(CONTENT[path])
    data[at] ^= 1
    (run_path / path).write_bytes(data)
    assert problems(run_path) == [f"changed: {path}"]


@pytest.mark.parametrize("path", CONTENT)
def test_growth_and_loss_are_named(run_path: Path, path: str) -> None:
    with (run_path / path).open("ab") as handle:
        handle.write(b"\n")
    assert problems(run_path) == [f"changed: {path}"]
    (run_path / path).unlink()
    assert problems(run_path) == [f"missing: {path}"]


@pytest.mark.parametrize("path", ["output/new.csv", "extra.txt", "logs/.hidden", "hidden/answer.yaml"])
def test_an_extra_file_is_named(run_path: Path, path: str) -> None:
    (run_path / path).parent.mkdir(exist_ok=True)
    (run_path / path).write_text("x")
    assert problems(run_path) == [f"extra: {path}"]


def test_several_problems_are_all_named(run_path: Path) -> None:
    (run_path / "output/new.csv").write_text("x")
    (run_path / "output/empty.csv").write_text("x")
    (run_path / "output/code/fit.py").unlink()
    assert sorted(problems(run_path)) == [
        "changed: output/empty.csv",
        "extra: output/new.csv",
        "missing: output/code/fit.py",
    ]


def test_a_link_to_the_same_bytes_is_refused(run_path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.py"
    (run_path / "output/code/fit.py").rename(copy)
    (run_path / "output/code/fit.py").symlink_to(copy)
    assert problems(run_path) == ["refused: output/code/fit.py is a symbolic link"]
    with pytest.raises(UnsafeFile):
        Run.load(run_path).read_bytes("output/code/fit.py")


def test_a_folder_swapped_for_a_link_is_refused(run_path: Path, tmp_path: Path) -> None:
    (run_path / "output/code").rename(tmp_path / "code")
    (run_path / "output/code").symlink_to(tmp_path / "code")
    assert sorted(problems(run_path)) == [
        "missing: output/code/fit 2.py",
        "missing: output/code/fit.py",
        "refused: output/code is a symbolic link",
    ]
    with pytest.raises(UnsafeFile):
        Run.load(run_path).read_bytes("output/code/fit.py")


def test_a_refused_file_hides_no_missing_one_of_a_similar_name(run_path: Path) -> None:
    (run_path / "output/code/fit").symlink_to(run_path)
    for name in ("fit.py", "fit 2.py"):
        (run_path / "output/code" / name).unlink()
    edit(run_path, lambda m: m["files"][-1].update(path="output/code/fit.py is"), rehash=True)
    found = problems(run_path)
    assert "missing: output/code/fit.py" in found
    (run_path / "output/code/fit.py is a trap").symlink_to(run_path)
    assert "missing: output/code/fit.py" in problems(run_path)


def test_a_fifo_is_refused_without_waiting(run_path: Path) -> None:
    path = run_path / "output/code/fit.py"
    path.unlink()
    os.mkfifo(path)
    assert problems(run_path) == ["refused: output/code/fit.py is not a regular file"]
    with pytest.raises(UnsafeFile, match="not a regular file"):
        Run.load(run_path).read_bytes("output/code/fit.py")


def test_a_tree_too_deep_for_a_path_is_a_problem_not_a_crash(run_path: Path) -> None:
    folder = os.open(run_path / "output", os.O_RDONLY)
    name = "d" * 250
    for _ in range(20):  # 5000 characters: longer than a path may be, so only reachable step by step
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    (problem,) = problems(run_path)
    assert problem.startswith(f"refused: output/{name}/")
    assert "unreadable" in problem


# The manifest


@pytest.mark.parametrize("key", ["path", "bytes", "sha256"])
def test_an_edited_file_list_is_named(run_path: Path, key: str) -> None:
    edit(run_path, lambda m: m["files"][0].update({key: {"path": "output/x", "bytes": 1, "sha256": "0" * 64}[key]}))
    assert "changed: run.json (its file list does not match its tree_sha256)" in problems(run_path)


def test_a_file_list_made_to_fit_still_shows_the_changed_file(run_path: Path) -> None:
    edit(run_path, lambda m: m["files"][0].update(sha256="0" * 64), rehash=True)
    assert problems(run_path) == ["changed: logs/stdout.txt"]


def test_a_dropped_entry_is_an_extra_file(run_path: Path) -> None:
    edit(run_path, lambda m: m["files"].pop(0), rehash=True)
    assert problems(run_path) == ["extra: logs/stdout.txt"]


def test_a_duplicate_path_is_named(run_path: Path) -> None:
    edit(run_path, lambda m: m["files"].append(dict(m["files"][0])), rehash=True)
    assert problems(run_path) == ["changed: run.json (it lists a file twice)"]


@pytest.mark.parametrize(
    "path", ["../outside.txt", "/etc/passwd", "hidden/x.txt", "output", "output/../../outside.txt"]
)
def test_a_path_outside_is_named_and_never_read(run_path: Path, path: str) -> None:
    (run_path.parent / "outside.txt").write_text("x")
    edit(run_path, lambda m: m["files"][0].update(path=path), rehash=True)
    found = problems(run_path)
    assert any(path in problem and problem.startswith(("refused", "missing")) for problem in found)
    with pytest.raises(UnsafeFile):
        Run.load(run_path).read_bytes(path)


def test_a_report_that_was_not_frozen_is_named(run_path: Path) -> None:
    edit(run_path, lambda m: m.update(report="output/Other.md"))
    assert problems(run_path) == ["missing: the report output/Other.md is not among the frozen files"]


def test_an_unknown_key_is_named_with_its_line_and_the_nearest(run_path: Path) -> None:
    edit(run_path, lambda m: m.update(task_idd=m.pop("repeat")))
    line = next(n for n, text in enumerate((run_path / "run.json").read_text().splitlines(), 1) if "task_idd" in text)
    with pytest.raises(SciagentError, match=r"unknown key 'task_idd'; did you mean 'task_id'\?") as caught:
        Run.load(run_path)
    assert (caught.value.path, caught.value.line) == (run_path / "run.json", line)


def test_an_unknown_key_of_a_file_names_the_file(run_path: Path) -> None:
    edit(run_path, lambda m: m["files"][1].update(sha265="x"))
    with pytest.raises(SciagentError, match=r"run\.json:\d+: unknown key 'sha265' in files\[output/Result\.md\]"):
        Run.load(run_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("task_id"), "missing key 'task_id'"),
        (lambda m: m.update(schema="sciagent-run/2"), "schema"),
        (lambda m: m.update(status="done"), "status"),
        (lambda m: m["files"][0].update(bytes=-1), "bytes"),
        (lambda m: m["files"][0].update(role="answer"), "role"),
    ],
)
def test_a_bad_value_is_named(run_path: Path, change: Callable[[dict[str, Any]], object], message: str) -> None:
    edit(run_path, change)
    with pytest.raises(SciagentError, match=message):
        Run.load(run_path)


def test_a_manifest_that_is_no_plain_file_is_refused_at_once(run_path: Path) -> None:
    manifest = run_path / "run.json"
    manifest.rename(run_path.parent / "elsewhere.json")
    for kind in ("link", "fifo"):
        if kind == "link":
            manifest.symlink_to(run_path.parent / "elsewhere.json")
        else:
            os.mkfifo(manifest)
        with pytest.raises(SciagentError, match=r"no readable run\.json"):
            Run.load(run_path)
        manifest.unlink()
    with pytest.raises(SciagentError, match="No such file"):
        Run.load(run_path)
    with pytest.raises(SciagentError, match="No such file"):
        Run.load(run_path / "nowhere")


@pytest.mark.parametrize("text", [b"{", b"[]", b"", b"\xff", b'{"repeat": NaN}', b"[" * 100_000])
def test_a_broken_manifest_is_an_error(run_path: Path, text: bytes) -> None:
    (run_path / "run.json").write_bytes(text)
    with pytest.raises(SciagentError, match=r"run\.json"):
        Run.load(run_path)


# Reading


def test_bytes_and_text_are_those_frozen(run_path: Path) -> None:
    run = Run.load(run_path)
    assert {path: run.read_bytes(path) for path in run.files} == CONTENT
    assert run.report_text == "# Finding 1\n\nLänge\n"


def test_a_file_changed_after_loading_is_not_read(run_path: Path) -> None:
    run = Run.load(run_path)
    assert run.read_bytes("output/code/fit.py") == b"print(1)\n"
    (run_path / "output/code/fit.py").write_bytes(b"print(3)\n")
    with pytest.raises(UnsafeFile, match="not what was frozen"):
        run.read_bytes("output/code/fit.py")


def test_only_frozen_files_are_read_and_only_up_to_the_limit(run_path: Path) -> None:
    run = Run.load(run_path)
    for path in ("run.json", "output/none.py", "../x", "output"):
        with pytest.raises(UnsafeFile, match="not a file of this run"):
            run.read_bytes(path)
    with pytest.raises(UnsafeFile, match="more than 3"):
        run.read_bytes("output/code/fit.py", limit=3)


@pytest.mark.parametrize("path", ["", "/x", "../x", "a/../b", "a//b", "./a", "a/", "a\\b", "a\0b", "."])
def test_paths_that_are_not_plain_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(UnsafeFile):
        read_file(tmp_path, path)


@given(st.text(st.sampled_from("ab./\\\0 ü"), max_size=12))
def test_a_plain_path_stays_inside(path: str) -> None:
    try:
        pure = check_relative(path)
    except UnsafeFile:
        return
    assert os.path.normpath(f"/run/{path}") == f"/run/{path}" == f"/run/{pure}"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.sampled_from(sorted(CONTENT)), st.binary(max_size=30))
def test_any_other_content_is_a_change(run_path: Path, path: str, data: bytes) -> None:
    (run_path / path).write_bytes(data)
    found = problems(run_path)
    (run_path / path).write_bytes(CONTENT[path])
    assert found == ([] if data == CONTENT[path] else [f"changed: {path}"])


def test_a_walk_is_in_order_and_names_what_it_refuses(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "b/link").symlink_to(tmp_path)
    assert [(entry.path, entry.size, entry.problem) for entry in walk(tmp_path)] == [
        ("a", 1, None),
        ("c", 1, None),
        ("b/1", 3, None),
        ("b/2", 3, None),
        ("b/link", 0, "a symbolic link"),
    ]


# Finding runs


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    for place in ("plain/life", "plain/life.r2", "guided/life", ".git/x", "node_modules/x", "plain/__pycache__/x"):
        make_run(tmp_path, f"runs/{place}")
    return tmp_path / "runs"


def test_runs_are_found_at_every_level(cohort: Path) -> None:
    everything = [cohort / "guided/life", cohort / "plain/life", cohort / "plain/life.r2"]
    assert find_runs(cohort) == everything
    assert find_runs(cohort / "plain") == everything[1:]
    assert find_runs(cohort / "plain/life") == [cohort / "plain/life"]
    assert find_runs(cohort / "plain/life/run.json") == [cohort / "plain/life"]
    (cohort / "none").mkdir()
    assert find_runs(cohort / "none") == []


def test_nothing_inside_a_run_is_a_run(cohort: Path) -> None:
    (cohort / "plain/life/output/run.json").write_text("{}")
    assert find_runs(cohort / "plain/life") == [cohort / "plain/life"]


def test_links_are_not_followed_but_a_named_one_is(cohort: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/link").symlink_to(cohort)
    assert find_runs(tmp_path / "other") == []
    assert find_runs(tmp_path / "other/link/plain/life") == [tmp_path / "other/link/plain/life"]


def test_a_run_with_a_bad_manifest_is_found_so_that_it_is_not_dropped(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/run.json").symlink_to(tmp_path / "nowhere")
    assert find_runs(tmp_path) == [tmp_path / "a"]


def test_the_search_ends_eight_levels_down(tmp_path: Path) -> None:
    near = make_run(tmp_path, "top/2/3/4/5/6/7/8/run")
    make_run(tmp_path, "top/2/3/4/5/6/7/8/more/run")
    assert find_runs(tmp_path / "top") == [near]


@pytest.mark.parametrize("inside", ["output", "output/code", "output/Result.md", "logs", "output/run.json"])
def test_a_path_inside_a_run_is_an_error_that_names_the_run(
    cohort: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    run = cohort / "plain/life"
    (run / "output/run.json").write_text("{}")
    with pytest.raises(SciagentError, match=f"inside the run {run}:"):
        find_runs(run / inside)
    monkeypatch.chdir(run / "output")
    with pytest.raises(SciagentError, match=f"inside the run {run}:"):
        find_runs(Path())


def test_what_is_not_there_or_no_folder_is_an_error(cohort: Path) -> None:
    with pytest.raises(SciagentError, match="no such file or folder"):
        find_runs(cohort / "nowhere")
    (cohort / "notes.txt").write_text("x")
    with pytest.raises(SciagentError, match=r"neither a folder nor a run\.json"):
        find_runs(cohort / "notes.txt")
