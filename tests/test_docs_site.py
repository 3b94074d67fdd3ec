"""The docs site builds without a warning, loads nothing from elsewhere, and its reference names everything there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import yaml
from pages import new_tab, start_browser

from pytest_sciagent.collection import options
from pytest_sciagent.models.verdict import GAPS, Status
from pytest_sciagent.schemas import schemas

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a broken link or anchor, or a docstring that can't be read, fails the build."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    assert len(pages) > 40
    loads = re.compile(
        r"""<(?:script|img|iframe)[^>]* src=["']?https?:[^"' >]+"""
        r"""|<link[^>]*rel=["']?(?:stylesheet|preload)[^>]*href=["']?https?:[^"' >]+"""
    )
    for page in pages:
        assert loads.findall(page.read_text("utf-8")) == [], page


def test_the_contract_is_a_page_made_from_the_file_that_agents_get(site: Path) -> None:
    page = (site / "contract.html").read_text("utf-8")
    assert "{t0}" not in page
    contract = (ROOT / "pytest_sciagent" / "tasks" / "contract.md").read_text("utf-8")
    titles = re.findall(r"^## (?!Finding)(.+)$", contract, re.MULTILINE)
    assert len(titles) > 3
    assert all(title.replace("`", "") in re.sub(r"<[^>]+>", "", page) for title in titles)
    assert 'href="contract.html"' in (site / "index.html").read_text("utf-8")
    assert not list(site.glob("repository/pytest_sciagent/tasks/contract*"))


def test_no_link_leads_out_of_the_site(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        for target in re.findall(r'<a [^>]*href="(?!https?:|mailto:|#)([^"#]+)', page.read_text("utf-8")):
            found = (page.parent / target).resolve()
            assert found.exists(), (page, target)
            assert found.is_relative_to(site), (page, target)


@pytest.fixture(scope="module")
def told() -> str:
    """What `pytest --help` says."""
    command = [sys.executable, "-m", "pytest", "--help", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_reference_names_every_option_command_hook_and_format(site: Path, told: str) -> None:
    from pytest_sciagent import __all__ as names
    from pytest_sciagent import hookspecs
    from pytest_sciagent.collection import fixtures

    options = (site / "reference" / "options.html").read_text()
    known = set(re.findall(r"--sciagent-[a-z]+(?:-[a-z]+)*", told))
    assert len(known) > 40
    assert {name for name in known if name not in options} == set()
    settings = set(re.findall(r"^  (sciagent_[a-z_]+)", told, re.MULTILINE))
    assert len(settings) > 20
    assert {name for name in settings if f"<code>{name}</code>" not in options} == set()
    page = (site / "reference" / "fixtures.html").read_text()
    names_of_fixtures = {name for name, value in vars(fixtures).items() if isinstance(value, type(fixtures.run))}
    hooks = {hook for hook in dir(hookspecs) if hook.startswith("pytest_")}
    assert len(names_of_fixtures) > 5
    assert {name for name in names_of_fixtures if f"<code>{name}</code>" not in page} == set()
    assert {hook for hook in hooks if hook not in page} == set()
    guide = (ROOT / "docs" / "rubrics.md").read_text()  # how they are used
    assert {name for name in names_of_fixtures | hooks if f"`{name}" not in guide} == set()
    commands = (site / "reference" / "commands.html").read_text()
    assert "Usage: sciagent ledger export" in commands
    formats = (site / "reference" / "formats.html").read_text()
    for file in schemas():
        name = file.removeprefix("sciagent-").removesuffix("-1.schema.json")
        assert f'href="formats/{name}.html"' in formats
    python = (site / "reference" / "python.html").read_text()
    for name in ("load_run", "score", "judge", "compare", "Scores", "Compared", "Judge"):
        assert name in names
        assert re.search(rf'id="pytest_sciagent[a-z_.]*\.{name}"', python), name


def _table_after(page: str, head: str) -> dict[str, str]:
    """The rows of two cells after a head, as Markdown has them."""
    return dict(re.findall(r"^\| (.+?) \| (.+?) \|$", page.split(head, 1)[1].split("\n\n", 1)[0], re.MULTILINE))


def test_exit_codes_are_told_in_the_same_words_everywhere(told: str) -> None:
    codes = {str(code): meaning for code, meaning in options.EXIT_CODES.items()}
    assert _table_after((ROOT / "docs" / "gates.md").read_text(), "| exit code | meaning |\n|---|---|\n") == codes
    assert all(f"{code} {meaning}" in " ".join(told.split()) for code, meaning in codes.items())


def test_the_page_on_asking_names_every_status_of_a_verdict() -> None:
    page = (ROOT / "docs" / "asking.md").read_text().split("## Why there is no level", 1)[1]
    told = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert {*told, *GAPS, "assessed"} == set(get_args(Status))
    assert all(f"`{gap}`" in page for gap in GAPS)


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    """A cell too many is not shown, neither by GitHub nor on the site."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")]:
        for table in re.findall(r"(?:^\|.*\n)+", page.read_text("utf-8"), re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, (page.name, table)


def test_no_page_is_wider_than_a_phone(site: Path) -> None:
    for browser in start_browser():
        tab = new_tab(browser)
        tab.page.set_viewport_size({"width": 390, "height": 844})
        for page in {*site.glob("*.html"), *site.glob("reference/*.html")} - {site / "404.html"}:
            assert tab.open(page).evaluate("document.documentElement.scrollWidth") == 390, page
        assert tab.faults == []


def test_the_site_is_built_by_make_and_by_a_workflow() -> None:
    told = subprocess.run(["make", "-n", "docs"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "mkdocs build --strict" in told
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "docs.yml").read_text())
    assert {"run": "make docs"} in workflow["jobs"]["build"]["steps"]
