"""The docs site builds without a warning, loads nothing from elsewhere, and its reference names everything there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

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


def test_no_link_leads_out_of_the_site(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        for target in re.findall(r'<a [^>]*href="(?!https?:|mailto:|#)([^"#]+)', page.read_text("utf-8")):
            found = (page.parent / target).resolve()
            assert found.exists(), (page, target)
            assert found.is_relative_to(site), (page, target)


def test_the_reference_names_every_option_command_hook_and_format(site: Path) -> None:
    from pytest_sciagent import __all__ as names
    from pytest_sciagent import hookspecs

    told = subprocess.run(
        [sys.executable, "-m", "pytest", "--help", "-p", "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True
    ).stdout
    options = (site / "reference" / "options.html").read_text()
    known = set(re.findall(r"--sciagent-[a-z]+(?:-[a-z]+)*", told))
    assert len(known) > 40
    assert {name for name in known if name not in options} == set()
    settings = set(re.findall(r"^  (sciagent_[a-z_]+)", told, re.MULTILINE))
    assert len(settings) > 20
    assert {name for name in settings if f"<code>{name}</code>" not in options} == set()
    fixtures = (site / "reference" / "fixtures.html").read_text()
    for name in ("run", "task", "finding", "artifacts", "criterion", "judge"):
        assert f"<code>{name}</code>" in fixtures
    assert {hook for hook in dir(hookspecs) if hook.startswith("pytest_") and hook not in fixtures} == set()
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


def test_the_site_is_built_by_make_and_by_a_workflow() -> None:
    told = subprocess.run(["make", "-n", "docs"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "mkdocs build --strict" in told
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "docs.yml").read_text())
    assert {"run": "make docs"} in workflow["jobs"]["build"]["steps"]
