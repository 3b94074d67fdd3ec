"""The figures of a run that a judge with eyes is shown for a finding: which, under which caption, and which not.

An image is hostile input: it is decoded once, in a child process with limits, to see that it is what it says. Its bytes
are sent as they were frozen; SVG is drawn, in such a process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ..digest import sha256_bytes
from ..extras import need
from ..findings.mentions import mentions_in
from ..findings.run_files import RunFiles
from ..models import Finding
from ..runs import Run, UnsafeFile
from ..text import one_line
from .artifacts import Artifacts
from .readers import Unreadable

MAX_FIGURES = 8
MAX_IMAGE_BYTES = 3_500_000
MAX_TOTAL_BYTES = 12_000_000
MAX_SIDE = 8_000
MAX_PIXELS = 25_000_000
"""Providers take no more than about 5 MB an image in the form in which it is sent, and 8,000 pixels a side."""
MAX_CAPTION = 500
MAX_EMBEDDED = 200
NOT_NAMED = "a figure that the finding does not name"
NOT_ABOUT = "a figure that is not among those recorded for this criterion"
_TYPES = {".png": ("PNG", "image/png"), ".jpg": ("JPEG", "image/jpeg"), ".jpeg": ("JPEG", "image/jpeg")}
_EMBEDDED = re.compile(  # possessive throughout: a hostile report must not make it go back and forth
    r"!\[([^\[\]\n]{0,500}+)\]\(\s{0,3}+<?+[^)\s>]{1,300}+>?+[^)\n]{0,300}+\)"
    r"(?=[ \t]{0,9}+\n?+[ \t]{0,9}+\n?+([^\n]{0,500}+))"
)
_LABEL = re.compile(r"\bfig(?:ure|\.)?\s{0,3}(\d{1,3}[a-z]?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Figure:
    """One image as it is sent: the file it is, and the caption that the report gives it.

    drawn_from: the hash of the SVG that it was drawn from.
    """

    path: str
    caption: str
    media_type: str
    data: bytes = field(repr=False)
    drawn_from: str | None = None

    @property
    def identity(self) -> list[str]:
        """What tells this figure from others, for digests: on every machine the same, however it draws."""
        if self.drawn_from is not None:
            return [self.path, self.caption, "drawn", self.drawn_from]
        return [self.path, self.caption, self.media_type, sha256_bytes(self.data)]


@dataclass(frozen=True)
class ChosenFigures:
    """The figures for one finding, and for every other figure of the run why it is not sent."""

    sent: tuple[Figure, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)


class Figures:
    """The figures of one run; each is read and decoded once."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts
        self._run = artifacts.run
        self._captions = _captions(artifacts.run)
        self._read: dict[str, Figure | str] = {}

    def of(self, finding: Finding, recorded: Sequence[str] | None = None) -> ChosenFigures:
        """The images that `finding` names, then those whose figure number its section speaks of, in the run's order:
        at most `MAX_FIGURES`, together at most `MAX_TOTAL_BYTES`.

        recorded: the figures that are about the criterion in question, best first. These are sent, and no others; None
        where nothing is recorded.
        """
        figures = [entry.path for entry in self._run.with_role("figure")]
        if recorded is None:
            chosen, otherwise = self._spoken_of(finding, figures), NOT_NAMED
        else:
            chosen, otherwise = [path for path in dict.fromkeys(recorded) if path in figures], NOT_ABOUT
        sent: list[Figure] = []
        left_out = dict.fromkeys((path for path in figures if path not in chosen), otherwise)
        for path in chosen:
            figure = self._figure(path)
            if isinstance(figure, str):
                left_out[path] = figure
            elif len(sent) == MAX_FIGURES:
                left_out[path] = f"a figure beyond the {MAX_FIGURES} that are sent"
            elif sum(len(f.data) for f in sent) + len(figure.data) > MAX_TOTAL_BYTES:
                left_out[path] = f"a figure beyond the {MAX_TOTAL_BYTES:,} bytes of figures that are sent"
            else:
                sent.append(figure)
        return ChosenFigures(tuple(sent), left_out)

    def _spoken_of(self, finding: Finding, figures: Sequence[str]) -> list[str]:
        named = [path for path in figures if path in finding.artifacts]
        numbers = _numbers(finding.section.text)
        captioned = [p for p in figures if p not in named and numbers & _numbers(self._captions.get(p, ""))]
        return [*named, *captioned]

    def _figure(self, path: str) -> Figure | str:
        """The image at `path`, or why it is not sent."""
        if path not in self._read:
            try:
                media_type, data = _image(self._artifacts, path)
                drawn_from = self._run.files[path].sha256 if is_drawing(path) else None
                self._read[path] = Figure(path, self._captions.get(path, ""), media_type, data, drawn_from)
            except (Unreadable, UnsafeFile) as error:
                self._read[path] = one_line(f"a figure that is not sent: {error}", 200)
        return self._read[path]


def check_drawing(run: Run) -> None:
    """Look whether the figures of `run` can be drawn here: what a run earns must not depend on what is installed.

    Raises:
        SciagentError: there is SVG, and the package that draws it is missing; the message names the extra.
    """
    first = next((entry.path for entry in run.with_role("figure") if is_drawing(entry.path)), None)
    if first is not None:
        need("svg", f"{run.label}: drawing {first} for a judge")


def is_drawing(path: str) -> bool:
    """Whether a figure is text that draws: SVG, which is shown as its text as well."""
    return path.lower().endswith(".svg")


def _image(artifacts: Artifacts, path: str) -> tuple[str, bytes]:
    """Media type and bytes of an image, checked.

    Raises:
        Unreadable: not PNG or JPEG, too large, or not what it says.
        UnsafeFile: too many bytes, or not what was frozen.
    """
    suffix = PurePosixPath(path).suffix.lower()
    if suffix not in _TYPES and not is_drawing(path):
        raise Unreadable(f"{suffix or 'no'} format; PNG, JPEG and SVG are sent")
    wanted, media_type = _TYPES.get(suffix, _TYPES[".png"])
    size = artifacts.run.files[path].bytes
    if size > MAX_IMAGE_BYTES:
        raise Unreadable(f"{size:,} bytes, more than {MAX_IMAGE_BYTES:,}")
    data = artifacts.run.read_bytes(path, MAX_IMAGE_BYTES)
    if is_drawing(path):
        data = artifacts.draw(data, MAX_SIDE, MAX_PIXELS)
        if len(data) > MAX_IMAGE_BYTES:
            raise Unreadable(f"{len(data):,} bytes once drawn, more than {MAX_IMAGE_BYTES:,}")
    facts = artifacts.check_image(data, MAX_SIDE, MAX_PIXELS)
    if facts["format"] != wanted:
        raise Unreadable(f"it is named {suffix} and is {facts['format']}")
    return media_type, data


def _captions(run: Run) -> dict[str, str]:
    """What the report says of each image it embeds: the alternative text, and the line below if it is a caption."""
    text = run.report_text or ""
    files = RunFiles([entry.path for entry in run.manifest.files], run.manifest.report or "")
    found: dict[str, str] = {}
    for number, match in enumerate(_EMBEDDED.finditer(text)):
        if number == MAX_EMBEDDED:
            break
        parts = [match[1], *([match[2]] if _LABEL.match(match[2].strip("*_ \t")) else [])]
        caption = one_line(" ".join(part.strip() for part in parts if part.strip()), MAX_CAPTION)
        for mention in mentions_in(match[0].partition("\n")[0][match[0].index("](") :], files):
            for path in mention.paths:
                found.setdefault(path, caption)
    return found


def _numbers(text: str) -> set[str]:
    """The numbers of the figures that a text speaks of."""
    return {number.lower() for number in _LABEL.findall(text)}
