"""A local folder of PDF and Markdown: the task's own visible literature, or the user's."""

from __future__ import annotations

import io
from functools import cached_property
from pathlib import Path

from ...extras import need
from ...runs.files import UnsafeFile, read_file, walk
from ...tasks.leaks import fold
from .base import Publication, publication

MAX_BYTES = 40_000_000
MAX_PAGES = 400
MAX_CHARS = 400_000
MOST_FILES = 500


class LocalFolder:
    """Documents below a folder, read once. Links are not followed; what can't be read is passed over."""

    name = "local"
    local = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def documents(self) -> dict[str, tuple[Publication, str]]:
        """By path: the publication, with the beginning of its text, and the whole text, which is looked through."""
        found = {}
        for entry in list(walk(self.folder))[:MOST_FILES]:
            suffix = Path(entry.path).suffix.lower()
            if entry.problem is not None or suffix not in {".pdf", ".md", ".markdown", ".txt"}:
                continue
            if suffix == ".pdf":
                need("science", f"reading {entry.path}", "pypdf")
            try:
                data = read_file(self.folder, entry.path, MAX_BYTES)
                text = pdf_text(data) if suffix == ".pdf" else data.decode("utf-8", "replace")[:MAX_CHARS]
            except UnsafeFile:
                continue
            made = publication(self.name, _title(text) or Path(entry.path).stem, text, url=entry.path)
            if made is not None:
                found[entry.path] = (made, text)
        return found

    def search(self, query: str, limit: int) -> list[Publication]:
        """The documents that hold most of the words of `query`."""
        words = {word for word in fold(query).split() if len(word) > 2}
        ranked = sorted(
            ((len(words & set(fold(text).split())), made.title, made) for made, text in self.documents.values()),
            key=lambda one: (-one[0], one[1]),
        )
        return [made for shared, _, made in ranked if shared][:limit]

    def whole_text(self, found: Publication) -> str:
        """All of the text of a document that `search` gave."""
        return self.documents[found.url or ""][1]


def pdf_text(data: bytes) -> str:
    """The text of a PDF's first pages; empty where it can't be read."""
    import pypdf

    pieces: list[str] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        title = reader.metadata.title if reader.metadata is not None else None
        if title:
            pieces.append(title)
        for page in list(reader.pages)[:MAX_PAGES]:
            pieces.append(page.extract_text())
            if sum(map(len, pieces)) > MAX_CHARS:
                break
    except Exception:  # a broken PDF raises anything
        return "\n".join(pieces)[:MAX_CHARS]
    return "\n".join(pieces)[:MAX_CHARS]


def _title(text: str) -> str | None:
    for line in text.splitlines()[:40]:
        bare = line.strip().lstrip("#").strip()
        if len(bare) > 8 and bare[0].isalpha():
            return bare
    return None
