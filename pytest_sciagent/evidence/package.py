"""The evidence package of a finding: what a judge is shown, chosen within a budget, and what was left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from ..digest import sha256_bytes, sha256_json
from ..models import Finding, Section
from ..runs import Run, UnsafeFile
from ..text import clean
from .artifacts import Artifacts
from .excerpt import Cues, excerpt
from .figures import ChosenFigures, Figure, is_drawing

BUDGET = 60_000
"""Characters of evidence in one prompt, about 17,000 tokens."""
OWN_SHARE, WHOLE_SHARE = 0.5, 0.75
"""Of the budget, what a finding's own section gets at most; and a report that is judged as a whole."""
SHARED_SHARE = 0.3
MIN_PIECE = 400
MAX_INVENTORY = 200
_ROLE_ORDER = ("result", "analysis_source", "notebook", "reproduction", "other", "log", "figure", "report")
_TEXTLESS = frozenset({"figure"})


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch of evidence: where it comes from, its text, and whether any of it was cut."""

    label: str
    text: str
    cut: int = 0


@dataclass(frozen=True)
class EvidencePackage:
    """What a judge sees of a run for one finding. `figures` only where images are sent."""

    pieces: tuple[Piece, ...]
    inventory: tuple[str, ...]
    left_out: tuple[str, ...]
    figures: tuple[Figure, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Digest of all that is shown and of what is said to be left out."""
        shown = [[p.label, sha256_bytes(p.text.encode("utf-8", "replace")), p.cut] for p in self.pieces]
        parts = {"pieces": shown, "inventory": list(self.inventory), "left_out": list(self.left_out)}
        # Without figures the digest is what it was before there were any: recorded verdicts hang on it.
        return sha256_json(parts | {"figures": [f.identity for f in self.figures]} if self.figures else parts)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that may be shown, its length, and how to get it: of many texts only few are needed, and none at once."""

    label: str
    length: int
    load: Callable[[], str]

    @classmethod
    def of(cls, label: str, text: str) -> _Text:
        return cls(label, len(text), lambda: text)


def build_package(
    artifacts: Artifacts,
    finding: Finding,
    shared: Sequence[Section],
    budget: int = BUDGET,
    figures: ChosenFigures | None = None,
) -> EvidencePackage:
    """Select the evidence for `finding` of a run: its own section, the report's shared sections, the files it names,
    then the run's other text files, largest share to the named ones. The same run and finding give the same package.

    figures: what is sent as images; None where the judge is sent text alone.
    """
    run = artifacts.run
    report = run.manifest.report or "report"
    cues = Cues.of(finding.section.text)
    own = (f"{report} (the finding's own section)", clean(finding.section.text))
    own_share = WHOLE_SHARE if run.manifest.unit == "report" else OWN_SHARE
    pieces = [Piece(own[0], *excerpt(report, own[1], int(budget * own_share), cues))]
    rest = budget - len(pieces[0].text)
    pieces += _fill(
        [_Text.of(f"{report} (shared section from line {s.start})", clean(s.text)) for s in shared],
        int(rest * SHARED_SHARE),
        cues,
    )
    rest = budget - sum(len(p.text) for p in pieces)
    named = [path for path in finding.artifacts if path in run.files]
    taken = {*named, run.manifest.report}
    others = [path for path in run.files if path not in taken]
    files: list[Piece] = []
    unreadable: dict[str, str] = {}
    for group in (_by_role(run, named), _by_role(run, others)):
        texts = []
        for path in group:
            try:
                if run.files[path].role in _TEXTLESS and not (figures is not None and is_drawing(path)):
                    raise UnsafeFile(_why_no_text(path, figures))
                texts.append(_Text(path, len(artifacts.shown(path)), partial(artifacts.shown, path)))
            except UnsafeFile as error:
                unreadable[path] = f"{path}: {error}"
        filled = _fill(texts, rest, cues)
        rest -= sum(len(p.text) for p in filled)
        files += filled
    pieces += files
    shown = {p.label for p in files}
    left_out = [f"{p.label}: {p.cut:,} characters cut" for p in pieces if p.cut]
    left_out += [
        f"{path}: not shown, no room" for path in [*named, *others] if path not in shown and path not in unreadable
    ]
    sent = {figure.path for figure in figures.sent} if figures is not None else set()
    left_out += [note for path, note in unreadable.items() if path not in sent]
    if figures is not None:
        left_out += [f"{path}: as an image: {why}" for path, why in figures.left_out.items() if is_drawing(path)]
    inventory = [f"{f.path} ({f.role}, {f.bytes:,} bytes)" for f in run.manifest.files]
    sent_figures = figures.sent if figures is not None else ()
    return EvidencePackage(tuple(pieces), _listing(inventory), _listing(left_out), sent_figures)


def _listing(lines: Sequence[str]) -> tuple[str, ...]:
    """`lines` fit to be shown; beyond `MAX_INVENTORY` it is told how many more there are."""
    more = [f"and {len(lines) - MAX_INVENTORY} more files"] if len(lines) > MAX_INVENTORY else []
    return tuple(clean(line, 300) for line in [*lines[:MAX_INVENTORY], *more])


def _why_no_text(path: str, figures: ChosenFigures | None) -> str:
    if figures is None:
        return "a figure: judges of text do not see it"
    return figures.left_out.get(path, "sent as an image")


def _by_role(run: Run, paths: Sequence[str]) -> list[str]:
    return sorted(paths, key=lambda p: (_ROLE_ORDER.index(run.files[p].role), p))


def _fill(texts: Sequence[_Text], room: int, cues: Cues) -> list[Piece]:
    """Share `room` among the texts: small ones whole, the rest an equal share; none smaller than `MIN_PIECE`.

    Where even that does not go round, the texts that speak most of the finding are shown.
    """
    shares: dict[int, int] = {}
    order = sorted(range(len(texts)), key=lambda i: (texts[i].length, i))
    if room < MIN_PIECE * len(texts):
        best = sorted(order, key=lambda i: (-cues.score(texts[i].label + texts[i].load()[:4000]), i))
        kept = set(best[: max(room // MIN_PIECE, 0)])
        order = [i for i in order if i in kept]
    left = room
    for position, index in enumerate(order):
        share = left // (len(order) - position)
        shares[index] = min(texts[index].length, share)
        left -= shares[index]
    pieces = []
    for index, text in enumerate(texts):
        share = shares.get(index, 0)
        if not text.length or (share < text.length and share < MIN_PIECE):
            continue
        pieces.append(Piece(text.label, *excerpt(text.label, text.load(), share, cues)))
    return pieces
