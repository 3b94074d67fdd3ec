"""Nothing that an agent wrote, or that somebody put into a run, is ever imported or obeyed by pytest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from sample import Cohort, outcomes

RUN = "runs/evil/t1"


def hostile_files(marker: Path) -> dict[str, str]:
    """Files that write their name into `marker` as soon as pytest or Python looks at them."""

    def code(name: str) -> str:
        return f"open({str(marker)!r}, 'a').write({name + chr(10)!r})\n"

    settings = "addopts = -p evil --strict-markers\npythonpath = . output\ntestpaths = .\npython_files = *.py\n"
    toml = (
        '[tool.pytest.ini_options]\naddopts = ["-p", "evil"]\npythonpath = [".", "output"]\npython_files = ["*.py"]\n'
    )
    return {
        "conftest.py": code("conftest.py"),
        "tests/conftest.py": code("tests/conftest.py"),
        "test_dir/conftest.py": code("test_dir/conftest.py"),
        "tests/test_evil.py": code("tests/test_evil.py") + "def test_evil(): pass\n",
        "test_evil.py": code("test_evil.py") + "def test_evil(): pass\n",
        "__init__.py": code("__init__.py"),
        "sitecustomize.py": code("sitecustomize.py"),
        "usercustomize.py": code("usercustomize.py"),
        "evil.py": code("evil.py"),
        "setup.py": code("setup.py"),
        "setup.cfg": f"[tool:pytest]\n{settings}",
        "tox.ini": f"[pytest]\n{settings}",
        "pyproject.toml": toml,
        "pytest.ini": f"[pytest]\n{settings}",
        ".pytest.ini": f"[pytest]\n{settings}",
    }


CONFIGURATION = ("setup.cfg", "tox.ini", "pyproject.toml", "pytest.ini", ".pytest.ini", "setup.py")


def without_configuration(files: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in files.items() if name not in CONFIGURATION}


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "obeyed.txt"


def assert_not_obeyed(marker: Path) -> None:
    assert not marker.exists(), f"executed: {marker.read_text()}"


SPELLINGS = [
    ["--sciagent-run=runs"],
    ["--sciagent-run", "runs"],
    [f"--sciagent-run={RUN}"],
    ["--sciagent-run", RUN],
    ["runs"],
    ["runs/evil"],
    [RUN],
    [f"{RUN}/run.json"],
    ["."],
    ["--doctest-modules", "."],
    ["--import-mode=importlib", "runs"],
]


@pytest.mark.parametrize("args", SPELLINGS, ids=" ".join)
def test_frozen_files_are_judged_and_not_obeyed(cohort: Cohort, marker: Path, args: list[str]) -> None:
    cohort.run("evil", files=hostile_files(marker))
    cohort.record()
    result = cohort.pytest(*args)
    assert_not_obeyed(marker)
    assert outcomes(result) == {"passed": 2, "half": 2, "failed": 2, "not assessed": 2}
    result.stdout.fnmatch_lines(["configfile: pytest.ini"])


def test_parallel_workers_do_not_obey_either(cohort: Cohort, marker: Path) -> None:
    cohort.run("evil", files=hostile_files(marker))
    cohort.record()
    result = cohort.pytest("--sciagent-run", RUN, "-n2", fresh=True)
    assert_not_obeyed(marker)
    assert outcomes(result) == {"passed": 2, "half": 2, "failed": 2, "not assessed": 2}


def test_a_repository_without_a_configuration_of_its_own(cohort: Cohort, marker: Path) -> None:
    cohort.run("evil", files=hostile_files(marker))
    cohort.record()
    (cohort.root / "pytest.ini").unlink()
    for args in (["--sciagent-run", RUN], [f"--sciagent-run={RUN}"], [RUN], ["runs"]):
        result = cohort.pytest(*args, "--sciagent-rubric=small")
        assert_not_obeyed(marker)
        assert outcomes(result) == {"passed": 2, "half": 2, "failed": 2, "not assessed": 2}, args


@pytest.mark.parametrize("args", [[f"{RUN}/output"], [f"{RUN}/output/tests/test_evil.py"], ["link"], ["link/tests"]])
def test_a_path_inside_a_run_is_refused(cohort: Cohort, marker: Path, args: list[str]) -> None:
    # pytest reads the configuration at its arguments before any plugin is loaded; that it names is not obeyed there.
    cohort.run("evil", files=without_configuration(hostile_files(marker)))
    (cohort.root / "link").symlink_to(cohort.root / RUN / "output")
    result = cohort.pytest(*args)
    assert_not_obeyed(marker)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *lies inside the run *: name the run itself"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize("option", [["--sciagent-run"], []], ids=["option", "argument"])
def test_a_configuration_file_inside_a_run_is_refused(cohort: Cohort, marker: Path, option: list[str]) -> None:
    text = "[pytest]\ntestpaths = .\npython_files = *.py\npythonpath = .\n"
    cohort.run("evil", files=without_configuration(hostile_files(marker)) | {"pytest.ini": text})
    result = cohort.pytest(*option, f"{RUN}/output")
    assert_not_obeyed(marker)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: pytest took its rootdir from inside the run *, whose files are never obeyed*"])


@pytest.mark.parametrize(
    "added", ["conftest.py", "tests/conftest.py", "test_dir/conftest.py", "__init__.py", "test_evil.py"]
)
def test_what_is_added_to_a_run_makes_it_tampered_and_is_not_obeyed(cohort: Cohort, marker: Path, added: str) -> None:
    cohort.run("good")
    path = cohort.run("evil")
    cohort.record()
    file = path / added
    file.parent.mkdir(exist_ok=True)
    file.write_text(hostile_files(marker)[added])
    for args in (["--sciagent-run", RUN, "--sciagent-run=runs/good"], ["runs"], [RUN, "runs/good"]):
        result = cohort.pytest(*args)
        assert_not_obeyed(marker)
        assert outcomes(result) == {"passed": 2, "half": 2, "failed": 2, "not assessed": 2, "error": 1}
        result.stdout.fnmatch_lines([f"run evil/t1 is not what was frozen: extra: {added}"])


def test_a_configuration_file_added_to_a_run_is_not_obeyed(cohort: Cohort, marker: Path) -> None:
    path = cohort.run("evil")
    (path / "pytest.ini").write_text("[pytest]\npython_files = *.py\n")
    (path / "conftest.py").write_text(hostile_files(marker)["conftest.py"])
    for args in (["--sciagent-run", RUN], [RUN]):
        result = cohort.pytest(*args)
        assert_not_obeyed(marker)
        assert result.ret == 4
        result.stderr.fnmatch_lines(["ERROR: pytest took its rootdir from inside the run *"])
    result = cohort.pytest(f"--sciagent-run={RUN}")
    assert_not_obeyed(marker)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: no usable run:", "evil/t1: extra: conftest.py; extra: pytest.ini"])


@pytest.mark.parametrize("where", ["", "output", "output/tests"])
def test_pytest_does_not_start_inside_a_run(cohort: Cohort, marker: Path, where: str) -> None:
    path = cohort.run("evil", files=without_configuration(hostile_files(marker)))
    if not where:
        (path / "conftest.py").write_text(hostile_files(marker)["conftest.py"])
    cohort.pytester._monkeypatch.chdir(path / where)
    for args in ([], [f"--sciagent-run={path}"]):
        result = cohort.pytest(*args)
        assert_not_obeyed(marker)
        assert result.ret == 4
        result.stderr.fnmatch_lines(["ERROR: pytest took its working folder from inside the run *"])


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", None])
def test_a_run_whose_manifest_is_lost_is_still_no_folder_of_tests(
    cohort: Cohort, marker: Path, content: bytes | None
) -> None:
    cohort.run("good", findings=1)
    manifest = cohort.run("evil", files=hostile_files(marker)) / "run.json"
    cohort.record()
    manifest.unlink()
    if content is None:
        manifest.symlink_to("nowhere")
        manifest.unlink()
        manifest.mkdir()
    else:
        manifest.write_bytes(content)
    for args in (["runs"], ["--sciagent-run=runs"], ["."]):
        result = cohort.pytest(*args)
        assert_not_obeyed(marker)
        assert outcomes(result) == {"passed": 1, "half": 1, "failed": 1, "not assessed": 1, "error": 1}, args


def test_the_users_own_conftest_above_the_runs_is_obeyed(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    cohort.record()
    (cohort.root / "runs" / "conftest.py").write_text(
        "from pytest_sciagent import criterion\n\n@criterion('own.rule')\ndef rule(finding):\n    return 1, 'fine'\n"
    )
    for extra in ([], ["-n1"]):
        result = cohort.pytest("--sciagent-run=runs", *extra)
        assert outcomes(result) == {"passed": 2, "half": 1, "failed": 1, "not assessed": 1}


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_a_run_in_another_checkout_is_tested_by_the_rules_of_this_one(
    cohort: Cohort, marker: Path, tmp_path_factory: pytest.TempPathFactory, extra: list[str]
) -> None:
    own = "from pytest_sciagent import criterion\n\n@criterion('own.rule')\ndef rule(finding):\n    return 1, 'fine'\n"
    run = cohort.run("alpha", findings=1)
    cohort.record()
    other = tmp_path_factory.mktemp("elsewhere") / "checkout"
    (other / "runs" / "alpha").mkdir(parents=True)
    run.rename(other / "runs" / "alpha" / "t1")
    (cohort.root / "verdicts").rename(other / "verdicts")
    for folder in (other, other / "runs", other / "runs" / "alpha"):
        for name in ("conftest.py", "pytest.ini", "__init__.py"):
            (folder / name).write_text(hostile_files(marker)[name])
        (folder / "conftest.py").write_text(hostile_files(marker)["conftest.py"] + own)
    (cohort.root / "conftest.py").write_text(own)
    (cohort.root / "runs").mkdir(exist_ok=True)
    for path in (other, other / "runs", other / "runs" / "alpha" / "t1"):
        result = cohort.pytest(f"--sciagent-run={path}", *extra)
        assert_not_obeyed(marker)
        assert outcomes(result) == {"passed": 2, "half": 1, "failed": 1, "not assessed": 1}, path
