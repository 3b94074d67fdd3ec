"""HTML reports as tests look at them: parsed strictly, and in Debian's Chromium where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parent.parent
VOID = "{http://www.w3.org/1999/xhtml}"


def parse(path: Path) -> ElementTree.Element:
    """The page at `path`.

    Raises:
        html5lib.html5parser.ParseError: it is not valid as the parser's specification goes.
    """
    import html5lib

    parser = html5lib.HTMLParser(strict=True, tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    root: ElementTree.Element = parser.parse(path.read_text("utf-8"))
    return root


def words(element: ElementTree.Element) -> str:
    """All its text, white space folded."""
    return " ".join("".join(element.itertext()).split())


def by_class(element: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    """Elements below it that have the class `name`."""
    return (one for one in element.iter() if isinstance(one.tag, str) and name in one.get("class", "").split())


def items_of(page: ElementTree.Element) -> dict[str, ElementTree.Element]:
    """The criteria of a page by their anchors, in order."""
    return {item.get("id", ""): item for item in by_class(page, "item")}


def shipped_report(folder: Path, *options: str) -> Path:
    """The report of a session over the shipped runs of one task, with its JSON file beside it."""
    report = folder / "report.html"
    runs = [f"--sciagent-run=runs/{system}/astronomy_activity_cycle" for system in ("guided", "plain")]
    command = [sys.executable, "-m", "pytest", *runs, "-q", "--tb=no", "-r", "N", "-p", "no:cacheprovider"]
    command += [f"--sciagent-html={report}", f"--sciagent-json={folder / 'results.json'}", *options]
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_ADDOPTS"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode in (0, 1, 10), done.stdout[-2000:] + done.stderr[-2000:]
    assert f"HTML report: {report}" in done.stdout
    return report


@dataclass
class Tab:
    """A tab of Chromium, and everything in it that should not have happened."""

    page: Page
    faults: list[str] = field(default_factory=list)

    def open(self, path: Path, fragment: str = "") -> Page:
        """Load the page at `path`."""
        self.page.goto(path.as_uri() + fragment)
        return self.page


def start_browser() -> Iterator[Browser]:
    """Chromium as Debian packages it. Skips where it, or what drives it, is not installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra: dev)")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


def new_tab(browser: Browser, **context: Any) -> Tab:
    """A fresh tab that notes errors, dialogs, further windows, and requests for anything but local files."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}, **context).new_page()
    tab = Tab(page)
    page.on("console", lambda message: tab.faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: tab.faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (tab.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("popup", lambda popup: tab.faults.append(f"window: {popup.url}"))
    page.on("request", lambda request: _note_request(tab, request.url))
    return tab


def _note_request(tab: Tab, url: str) -> None:
    if not url.startswith("file:"):
        tab.faults.append(f"request: {url}")
