"""What contributors are told is true: the map of modules, targets of make, hooks before a commit, the changelog."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from floors import PAGE, ROOT, drawn, floors, parts

GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"


# ---- the map of modules


def test_the_table_of_imports_is_drawn_from_the_code() -> None:
    assert parts(PAGE.read_text("utf-8"))[1] == drawn(), "write it anew: make architecture"


def test_the_table_of_floors_names_every_module_and_no_other() -> None:
    page = PAGE.read_text("utf-8")
    table = page[page.index("| floor | modules |") : page.index("never import each other")]
    cells = [row.split("|")[2] for row in table.splitlines() if row.count("|") > 2]
    named = {name.split(".")[0] for cell in cells for name in re.findall(r"`(\w[\w.]*)`", cell)}
    package = ROOT / "pytest_sciagent"
    there = {path.stem for path in package.glob("*.py")} - {"__init__"}
    there |= {path.parent.name for path in package.glob("*/__init__.py")}
    assert named == there == {name for floor in floors() for name in floor}


def test_the_table_of_modules_names_what_is_there() -> None:
    page = PAGE.read_text("utf-8")
    rows = page[page.index("| package | modules |\n") :].split("\n\n", 1)[0].splitlines()[2:]
    assert len(rows) > 8
    for _, package, modules, _ in (row.split("|", 3) for row in rows):
        folder = ROOT / "pytest_sciagent" / package.split("`")[1]
        for name in re.findall(r"`(\w+)`", modules):
            assert (folder / f"{name}.py").is_file() or (folder / name).is_dir(), f"{package}: {name}"


def test_the_table_of_where_to_look_names_what_is_there() -> None:
    page = PAGE.read_text("utf-8")
    rows = page[page.index("| for | look at |") : page.index("## Floors")].splitlines()[2:]
    named = [re.findall(r"`([a-z_]+\.[\w.]+)`", row) for row in rows if row]
    assert len(named) > 10
    assert all(named)
    for name in (name for row in named for name in row):
        assert pkgutil.resolve_name(f"pytest_sciagent.{name}"), name


# ---- make


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


def test_make_help_lists_every_target() -> None:
    command = ["make", "--no-print-directory", "help"]  # which tests that make itself began would be told of
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    listed = {line.split()[1] for line in done.stdout.splitlines()}
    assert listed == targets()
    assert all(len(line.split()) > 3 for line in done.stdout.splitlines())
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == targets()


def test_the_guide_names_only_what_is_there() -> None:
    assert set(re.findall(r"`make ([a-z-]+)", GUIDE)) <= targets()
    for path in re.findall(r"\]\(([^)#:]+)", GUIDE):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"`((?:pytest_sciagent|tests|docs|rubrics)/[\w./]+)`", GUIDE):
        assert (ROOT / path).exists(), path


# ---- before a commit


def test_the_hooks_before_a_commit_are_those_of_make_lint() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]
    made = [hook["entry"] for repo in hooks for hook in repo["hooks"]]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = makefile[makefile.index("\nlint:") :].split("\n\n")[0]
    wanted = [line.strip().replace("$(BIN)/", "").removesuffix(" .") for line in recipe.splitlines()[2:]]
    assert [entry.replace(".venv/bin/", "") for entry in made] == wanted


# ---- issues and changes


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.yml")), ids=lambda path: path.stem)
def test_issue_forms_are_whole(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    if path.stem == "config":
        assert form["blank_issues_enabled"] is False
        return
    assert set(form) == {"name", "description", "labels", "body"}
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in fields}) == len(fields) > 1
    assert {part["type"] for part in fields} <= {"input", "textarea", "dropdown", "checkboxes"}
    assert all(part["attributes"]["label"] for part in fields)
    assert any(part.get("validations", {}).get("required") for part in fields)


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    assert {path.stem for path in TEMPLATES.glob("*.yml")} == {"config", "bug", "proposal", "verdict"}


def test_the_changelog_has_the_version_that_is_built() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert any(heading.split()[0] == version for heading in headings)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \((\d{4}-\d\d-\d\d|not released)\)", heading) for heading in headings)
