"""Every command that a page shows is one that the program takes, and is executed where nothing outside is needed.

A word in CAPITALS is for the reader to fill in: a command with one needs a key or a name of theirs. Such a command, and
one whose comment begins with `# needs`, is only parsed by the real command line. Every other command is executed, page
by page, each page in a small repository of its own (`repository`).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from sample import Cohort, outcomes, rubric_text

from pytest_sciagent.cli import cli

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*/README.md"))]
TUTORIAL = ROOT / "docs" / "tutorial.md"
CAPITALS = re.compile(r"(?<![\w.])[A-Z][A-Z_]+(?![\w])(?!\.md)|=[A-Z]+\b|\.\.\.")
TASK = "earth_carbon_record"


@dataclass(frozen=True)
class Command:
    """A command as a page shows it, and its comment."""

    page: Path
    line: str
    comment: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line)

    @property
    def is_executed(self) -> bool:
        return not (CAPITALS.search(self.line) or self.comment.startswith("needs"))


def commands_of(page: Path) -> list[Command]:
    """The commands in the code blocks of a page, lines that are continued put together."""
    text = re.sub(r" \\\n\s+", " ", page.read_text("utf-8"))
    found = []
    for line in re.findall(r"^(?:    |\t)?((?:pytest|sciagent) -?-?[a-z].*)$", _code_of(text), re.MULTILINE):
        command, _, comment = line.partition(" #")
        command = command.partition(" > ")[0]  # what the shell does with it is the shell's
        found.append(Command(page, command.strip(), comment.strip()))
    return found


def _code_of(text: str) -> str:
    """The indented and the fenced code of a page; not the fenced text that programs print."""
    fenced = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    shells = [body for kind, body in fenced.findall(text) if kind in ("sh", "text")]
    indented = [line for line in fenced.sub("", text).splitlines() if line.startswith("    ")]
    return "\n".join([*indented, *shells])


ALL = [command for page in PAGES for command in commands_of(page)]


def _parse(command: Command, pytester: pytest.Pytester) -> None:
    program, *words = command.words
    if program == "pytest":
        pytester.parseconfig(*words)
        return
    context, here = click.Context(cli, info_name="sciagent"), cli
    while isinstance(here, click.Group) and words:
        name, inner, words = here.resolve_command(context, words)
        assert inner is not None
        context, here = inner.make_context(name, list(words), parent=context), inner
        words = [*context._protected_args, *context.args]  # what a group leaves to its commands


def test_the_program_takes_every_command(pytester: pytest.Pytester) -> None:
    assert len(ALL) > 80
    for command in ALL:
        try:
            _parse(command, pytester)
        except (click.ClickException, pytest.UsageError) as error:
            told = error.format_message() if isinstance(error, click.ClickException) else error
            pytest.fail(f"{command.page.name}: {command.line}: {told}")


def repository(folder: Path, page: Path) -> None:
    """What the pages speak of: runs with recorded verdicts, data, an induced rubric, and an agent's workspace."""
    for system in ("plain", "guided"):
        shutil.copytree(ROOT / "runs" / system / TASK, folder / "runs" / system / TASK)
        for ledger in ("verdicts", "verdicts-second"):
            (folder / ledger / f"claude-{system}").mkdir(parents=True)
            shutil.copy(ROOT / ledger / f"claude-{system}" / f"{TASK}.json", folder / ledger / f"claude-{system}")
    shutil.copytree(ROOT / "rubrics" / "induced", folder / "rubrics" / "induced")
    shutil.copy(ROOT / "rubrics" / "induced" / f"{TASK}.yaml", folder / "rubrics" / "induced" / "my_task.yaml")
    shutil.copy(ROOT / "rubrics" / "truthinsight.yaml", folder / "rubrics" / "my_rubric.yaml")
    if "assemble my_task" in page.read_text("utf-8"):
        shutil.copytree(ROOT / "tasks" / TASK, folder / "tasks" / "my_task")
        task = folder / "tasks" / "my_task" / "task.yaml"
        task.write_text(task.read_text("utf-8").replace(f"id: {TASK}", "id: my_task", 1), "utf-8")
    if page == ROOT / "README.md":  # elsewhere a page makes its own
        shutil.copytree(ROOT / "runs" / "plain" / TASK / "output", folder / "work" / "output")
    (folder / "PROMPT.md").write_text("Find what the data say.\n")
    (folder / "levels.csv").write_text("year,level\n2000,1.0\n2001,3.4\n2002,6.0\n")


def _run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTEST_ADDOPTS"] = "-p no:cacheprovider"
    return subprocess.run(
        ["bash", "-e", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if p != TUTORIAL and any(c.is_executed for c in commands_of(p))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_command_of_a_page_goes_through(page: Path, tmp_path: Path) -> None:
    repository(tmp_path, page)
    for command in commands_of(page):
        if command.is_executed:
            done = _run(command.line.replace("-n 8", "-n 2"), tmp_path)
            # 1: what was looked for was found (a failing criterion, a fault); 10: a gate is open
            expected = (0, 1, 10) if command.words[0] == "pytest" else (0, 1)
            assert done.returncode in expected, f"{command.line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_the_tutorial_goes_through_in_an_empty_folder(tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", TUTORIAL.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        # A line that ends otherwise than well says so; each other line must end well.
        script = re.sub(
            r"^(.*\S) +# exit code (\d+)$", r"code=0; \1 || code=$?; [ $code -eq \2 ]", block, flags=re.MULTILINE
        )
        done = _run(script, tmp_path)
        assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("name", ["python.md", "howto.md"])
def test_the_python_of_a_page_runs(name: str, tmp_path: Path) -> None:
    page = ROOT / "docs" / name
    repository(tmp_path, page)
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        done = _run(f"{shlex.quote(sys.executable)} -c {shlex.quote(block)}", tmp_path)
        assert done.returncode == 0, done.stderr[-2000:]


def test_the_criteria_and_checks_of_the_pages_run(cohort: Cohort) -> None:
    """The Python of rubrics.md as one conftest file, with a rubric that names its check."""
    python = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    blocks = python.findall((ROOT / "docs" / "rubrics.md").read_text("utf-8"))
    assert [b for b in python.findall((ROOT / "README.md").read_text("utf-8")) if "@criterion" in b] == blocks[:1]
    cohort.run(findings=1, files={"results/table.csv": "series,slope_low,slope_high\na,2.31,2.69\n"})
    rubric = cohort.root / "rubrics" / "small.yaml"
    rubric.write_text(rubric_text(weights={"ev.interval": 70}).replace("judge: true", "check: house.interval"))
    (cohort.root / "conftest.py").write_text("\n".join(blocks))
    result = cohort.pytest("--sciagent-run=runs", "-v")
    result.stdout.fnmatch_lines_random(["*::ev.interval PASSED*", "*::house.results_have_rows PASSED*"])
    assert outcomes(result) == {"passed": 2}
    cohort.run("beta", findings=1, files={"results/table.csv": "series,slope\n"})
    assert outcomes(cohort.pytest("--sciagent-run=runs/beta")) == {"failed": 2}
