"""Hooks of the docs site (mkdocs.yml): the pages in docs/ as they are, and beside them what is made for the site.

Made are the start page (README.md), the threat model (SECURITY.md), the contract of an agent, the reference
(`docs_reference.py`), and a copy of each file of the repository that a page links to, so that no link of the site leads
out of it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

CONTRACT = "pytest_sciagent/tasks/contract.md"
PLACES = {
    "README.md": "index.md",
    "SECURITY.md": "threat-model.md",
    "schemas": "reference/formats.md",
    CONTRACT: "contract.md",
}
"""Where files and folders of the repository stand on the site, if not below `repository/`."""
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")


def place_of(path: Path) -> str:
    """Where a file of the repository stands on the site."""
    inside = path.relative_to(ROOT).as_posix()
    if inside in PLACES:
        return PLACES[inside]
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return "repository/" + "/".join(part.lstrip(".") for part in PurePosixPath(inside).parts)


def linked(source: Path) -> Iterator[Path]:
    """The files and folders of the repository that a page links to. One that is not there is told by the build."""
    for target, _ in LINK.findall(source.read_text("utf-8")):
        found = (source.parent / target).resolve()
        if found.exists() and found.is_relative_to(ROOT):
            yield found


def relinked(text: str, source: Path) -> str:
    """The page `source` with its links as they lead on the site."""
    here = PurePosixPath(place_of(source)).parent

    def replace(found: re.Match[str]) -> str:
        target = (source.parent / found[1]).resolve()
        if not (target.exists() and target.is_relative_to(ROOT)):
            return found[0]
        return os.path.relpath(place_of(target), here).replace(os.sep, "/") + (found[2] or "")

    return LINK.sub(replace, text)


def outside_pages() -> dict[str, Path]:
    """By place on the site, every file outside of docs/ that the site shows or a page of it links to."""
    found = {place_of(ROOT / name): ROOT / name for name in ("README.md", "SECURITY.md", CONTRACT)}
    waiting = [*DOCS.rglob("*.md"), *found.values()]
    while waiting:
        for path in linked(waiting.pop()):
            place = place_of(path)
            if not path.is_relative_to(DOCS) and path.is_file() and place not in found:
                found[place] = path
                waiting += [path] if path.suffix == ".md" else []
    return found


def _shown(path: Path) -> str:
    """The text of a page; the contract of an agent says where the cut-off of the task would stand."""
    text = path.read_text("utf-8")
    if path != ROOT / CONTRACT:
        return text
    about = "This is the file `CONTRACT.md` of every workspace, which tells an agent what to deliver.\n\n---\n\n"
    return about + text.replace("{t0}", "*the cut-off of the task*")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made."""
    sys.path[:0] = [str(place) for place in (ROOT, ROOT / "tools") if str(place) not in sys.path]
    from docs_reference import pages
    from mkdocs.structure.files import File

    for place, path in outside_pages().items():
        if path.suffix == ".md":
            text = relinked(_shown(path), path)
            files.append(File.generated(config, place, content=text))
        else:
            files.append(File.generated(config, place, abs_src_path=str(path)))
    for place, text in pages().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The links of a page in docs/ as they lead on the site."""
    source = DOCS / page.file.src_uri
    return in_tables(relinked(markdown, source) if source.is_file() else markdown)


def in_tables(text: str) -> str:
    """Bars in code in tables as the site's Markdown takes them: GitHub's has them escaped, which here would show."""
    return re.sub(r"^\|.*$", lambda row: re.sub(r"`[^`]*`", _bars, row[0]), text, flags=re.MULTILINE)


def _bars(code: re.Match[str]) -> str:
    return code[0].replace("\\|", "|")
