"""The beginning: the command without a command, `sciagent init`, and what shells complete."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from sample import Cohort, sciagent

PYTHON = Path(sys.executable)
WRITTEN = {".github/workflows/sciagent.yml", "conftest.py", "pytest.ini"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text("utf-8") for p in folder.rglob("*") if p.is_file()}


# ---- without a command


def test_without_a_command_it_teaches(folder: Path) -> None:
    code, out, err = sciagent()
    assert (code, err) == (0, "")
    for step in ("sciagent init", "sciagent freeze", "pytest --sciagent-run=runs/", "sciagent --help"):
        assert step in out


def test_an_unknown_command_names_the_help(folder: Path) -> None:
    code, out, err = sciagent("forge")
    assert (code, out) == (4, "")
    assert "No such command 'forge'" in err
    assert "sciagent --help" in err


# ---- init


def test_init_writes_three_files_and_says_what_is_next(folder: Path) -> None:
    code, out, err = sciagent("init", "--min-score=55")
    assert (code, err) == (0, "")
    assert set(files(folder)) == WRITTEN
    assert all(f"written: {name}" in out for name in WRITTEN)
    assert "sciagent_min_score = 55\n" in files(folder)["pytest.ini"]
    assert "pytest --sciagent-run=runs/" in out


@pytest.mark.parametrize("name", sorted(WRITTEN - {"pytest.ini"}))
def test_init_overwrites_nothing_and_then_writes_nothing(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("mine")
    code, _, err = sciagent("init")
    assert code == 4
    assert err.startswith(f"sciagent: {name}: is there already, and nothing was written")
    assert files(folder) == {name: "mine"}
    advice = err.split("give ")[1].split()
    assert sciagent("init", *advice)[0] == 0  # what the message advises works
    assert set(files(folder)) == WRITTEN
    assert files(folder)[name] == "mine"


def test_init_does_not_overrule_a_configuration_that_is_there(folder: Path) -> None:
    """A pytest.ini would silence the section of another file."""
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = ["-q"]\n')
    code, out, _ = sciagent("init")
    assert code == 0
    assert "pytest.ini" not in files(folder)
    added = [line.strip() for line in out.splitlines() if line.startswith("    sciagent_")]
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n" + "\n".join(added) + "\n")
    code, out, _ = sciagent("doctor")
    assert "pyproject.toml" in out
    assert "is not known" not in out
    assert "truthinsight" in out


def test_what_init_writes_is_tested_by_pytest(pytester: pytest.Pytester) -> None:
    """The example criterion runs beside the rubric, and the gate decides; it is open, since nothing is judged."""
    cohort = Cohort(pytester)
    (cohort.root / "pytest.ini").unlink()
    cohort.run()
    cohort.run("beta", files={"results/table.csv": b"\x80\x04\x95"})  # a pickle under another name
    assert cohort.sciagent("init", "--min-score=60")[0] == 0
    results = cohort.results("--sciagent-run=runs", code=10)
    levels = {
        (run["system"], verdict["criterion_id"]): verdict["level"]
        for run in results["runs"]
        for finding in run["findings"]
        for verdict in finding["criteria"]
    }
    assert levels["alpha", "house.results_are_named"] == 1
    assert levels["beta", "house.results_are_named"] == 0.5
    (gate,) = results["gate"]["gates"]
    assert "60" in gate["sentence"]
    assert gate["details"] == ["asked for by sciagent_min_score = 60 (pytest.ini)"]
    told = [
        (["-o", "sciagent_min_score=70"], "", "sciagent_min_score = 70 (command line)"),
        ([], "addopts = --sciagent-min-score=80\n", "--sciagent-min-score=80 (addopts in pytest.ini)"),
    ]
    for args, line, origin in told:
        with (cohort.root / "pytest.ini").open("a") as file:
            file.write(line)
        result = cohort.pytest("--sciagent-run=runs", *args)
        result.stdout.fnmatch_lines([f"  asked for by {origin}"])
    part = cohort.pytest("--sciagent-run=runs", "-m", "own_criterion")
    assert part.ret == 10
    part.stdout.fnmatch_lines(["a part of the criteria decides no gate: --sciagent-no-gates leaves gates out"])
    part = cohort.pytest("--sciagent-run=runs", "-m", "own_criterion", "--sciagent-no-gates")
    assert part.ret == 0
    part.stdout.no_fnmatch_line("*gate*")


def test_the_workflow_is_sound(folder: Path) -> None:
    """What actionlint asks of it, as far as that can be told without it; its commands are parsed by the programs."""
    sciagent("init")
    text = files(folder)[".github/workflows/sciagent.yml"]
    workflow: dict[Any, Any] = yaml.safe_load(text)
    assert set(workflow) == {"name", True, "permissions", "jobs"}  # YAML 1.1 reads `on` as a truth value
    assert set(workflow[True]) == {"pull_request", "push"}
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert set(job) == {"runs-on", "timeout-minutes", "steps"}
    for step in job["steps"]:
        assert set(step) <= {"name", "uses", "with", "run", "if"}
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            owner, _, version = step["uses"].partition("@")
            assert owner.startswith("actions/")
            assert version.startswith("v")
    assert "${{ github.event" not in text  # words of strangers never reach a shell
    runs = [step["run"] for step in job["steps"] if "run" in step]
    for command in runs:
        assert subprocess.run(["bash", "-n", "-c", command], check=False, timeout=60).returncode == 0
    tested = next(command for command in runs if command.startswith("pytest "))
    assert tested.split()[1:] == [
        "--sciagent-run=runs/",
        "--sciagent-summary=summary.md",
        "--sciagent-json=results.json",
        "--sciagent-html=report.html",
    ]


def test_the_workflows_session_writes_what_its_later_steps_read(pytester: pytest.Pytester) -> None:
    cohort = Cohort(pytester)
    (cohort.root / "pytest.ini").unlink()
    cohort.run()
    cohort.sciagent("init")
    (job,) = yaml.safe_load((cohort.root / ".github/workflows/sciagent.yml").read_text("utf-8"))["jobs"].values()
    command = next(step["run"] for step in job["steps"] if step.get("name") == "Test")
    assert cohort.pytest(*command.split()[1:]).ret == 10
    assert all((cohort.root / name).is_file() for name in job["steps"][-1]["with"]["path"].split())


# ---- completion


def complete(shell: str, words: str) -> Iterator[str]:
    """What the program tells the script of a shell for a line that ends in the last of `words`."""
    parts = words.split(" ")
    environment = {"_SCIAGENT_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(parts) - 1)}
    if shell == "fish":
        environment["COMP_CWORD"] = parts[-1]
    done = subprocess.run(
        [PYTHON.with_name("sciagent")],
        env=environment | _path(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    for line in done.stdout.splitlines():
        yield line.split("\t")[0].rsplit(",", 1)[-1]


def _path() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parent.parent), "PATH": f"{PYTHON.parent}:/usr/bin:/bin"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_commands_and_options(shell: str) -> None:
    told = " ".join(complete(shell, "sciagent ver"))
    assert "verify" in told
    assert "freeze" not in told
    assert "--public-key" in " ".join(complete(shell, "sciagent verify --pub"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_asks_the_program(shell: str, folder: Path) -> None:
    code, out, err = sciagent("completion", shell)
    assert (code, err) == (0, "")
    assert f"_SCIAGENT_COMPLETE={shell}_complete" in out
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    script = folder / f"sciagent.{shell}"
    script.write_text(out)
    assert subprocess.run([program, "-n", str(script)], check=False, timeout=60).returncode == 0


def test_bash_completes(folder: Path) -> None:
    script = (
        'eval "$(sciagent completion bash)"\n'
        "COMP_WORDS=(sciagent ledger e); COMP_CWORD=2\n"
        "_sciagent_completion sciagent\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "-c", script], env=_path(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("export\n", 0), done.stderr


def test_another_shell_is_bad_input(folder: Path) -> None:
    code, out, err = sciagent("completion", "tcsh")
    assert (code, out) == (4, "")
    assert all(shell in err for shell in ("bash", "zsh", "fish"))


def test_init_leaves_a_frozen_run_as_it_is(pytester: pytest.Pytester) -> None:
    run = Cohort(pytester).run()
    before = sorted(run.rglob("*"))
    code, _, err = sciagent("init", run / "output")
    assert (code, err) == (
        4,
        f"sciagent: {run}: is a frozen run, which nothing may be added to: name the repository above it\n",
    )
    assert sorted(run.rglob("*")) == before
