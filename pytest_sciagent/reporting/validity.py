"""How far the judge behind a score may be believed, as one line: made here for every output that shows a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..documents import load_json
from ..errors import SciagentError
from ..judging.prompts import PACKAGED, Templates
from ..models import JudgeIdentity, Rubric
from ..models.calibration import SCHEMA, Calibration, Measure
from ..text import one_line
from .agreement import who_judged
from .calibration_text import agreement_words

State = Literal["calibrated", "expired", "not calibrated"]
PEOPLE = "people"
FOLDER = "calibration"
"""Where calibrations are found without being named: a folder of this name in the root."""
CODE = "no judge: code alone decides"
_NOT = "not calibrated against people: sciagent calibrate"
_PEEK = 100_000


@dataclass(frozen=True, slots=True)
class Validity:
    """What stands beside every score: which judge it is by, and how far that judge agrees with people.

    name: of the calibration that tells it, or that has expired; None where there is none. whole: what it says over all
    labels, only where it holds.
    """

    judge: str | None
    state: State
    sentence: str
    name: str | None = None
    calibration: Calibration | None = None

    def as_json(self) -> dict[str, Any]:
        """The same as plain data: numbers only where the calibration holds."""
        told: dict[str, Any] = {"judge": self.judge, "state": self.state, "sentence": self.sentence}
        if self.name is not None:
            told["calibration"] = self.name
        if self.state == "calibrated" and self.calibration is not None:
            agreement = self.calibration.whole.agreement
            told |= {
                "measured_on": self.calibration.measured_on,
                "kappa": _plain(agreement.kappa),
                "labels": agreement.n,
                "runs": agreement.runs,
            }
        return told


def _plain(measure: Measure) -> dict[str, float | None]:
    return {"value": measure.value, "low": measure.low, "high": measure.high}


def judge_told(judge: JudgeIdentity | None) -> str:
    """Who judged, as the line of validity begins."""
    return "no judge known" if judge is None else f"judge {one_line(who_judged(judge), 160)}"


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A calibration and the name under which it was found."""

    name: str
    found: Calibration

    def expired(self, judge: JudgeIdentity | None, rubric: Rubric, templates: str) -> str | None:
        """Why it does not hold for what `judge` says under `rubric`, asked by `templates`; None where it does."""
        bound = self.found.bound
        if not self.is_of(judge):
            return f"it holds for {bound.judge}, not for {judge.label if judge is not None else 'a judge unknown'}"
        if bound.rubric_digest != rubric.digest:
            return f"rubric {bound.rubric} has changed since, or is not the one that scores"
        if bound.templates != templates:
            return "the prompt templates have changed since"
        return None

    def is_of(self, judge: JudgeIdentity | None) -> bool:
        """Whether it was measured on this very judge, its parameters included."""
        mine = self.found.bound.identity
        return judge is not None and mine is not None and judge.canonical == mine.canonical

    def is_near(self, judge: JudgeIdentity | None) -> bool:
        """Whether it was measured on a judge of this name."""
        mine = self.found.bound.identity
        return judge is not None and mine is not None and judge.label == mine.label


@dataclass(frozen=True, slots=True)
class Calibrations:
    """All calibrations that are known, and the digest of the words that criteria are asked in here.

    named: whether the user has named one file; then it is told even where it is of another judge.
    """

    known: tuple[Calibrated, ...] = ()
    templates: str = field(default_factory=lambda: PACKAGED.digest("criterion"))
    named: bool = False

    def of(self, judge: JudgeIdentity | None, rubric: Rubric) -> Calibrated | None:
        """That which tells most of what `judge` says under `rubric`: one that holds, the last measured of several;
        else one that has expired for this judge, or was named."""
        ranked = [(self._rank(one, judge, rubric), one.found.measured_on or "", one.name, one) for one in self.known]
        best = max(ranked, key=lambda entry: entry[:3], default=None)
        return best[-1] if best is not None and (best[0] > 0 or self.named) else None

    def _rank(self, one: Calibrated, judge: JudgeIdentity | None, rubric: Rubric) -> int:
        if one.expired(judge, rubric, self.templates) is None:
            return 3
        return 2 if one.is_of(judge) else int(one.is_near(judge))

    def validity(self, judge: JudgeIdentity | None, rubric: Rubric) -> Validity:
        """How far a score of `judge` under `rubric` may be believed."""
        who = judge_told(judge)
        label = None if judge is None else judge.label
        if judge is None and not any(criterion.judge for criterion in rubric.criteria):
            return Validity(None, "not calibrated", CODE)
        best = self.of(judge, rubric)
        if best is None:
            return Validity(label, "not calibrated", f"{who}, {_NOT}")
        expired = best.expired(judge, rubric, self.templates)
        if expired is not None:
            told = f"{who}, calibration {best.name} has expired: {expired}"
            return Validity(label, "expired", told, best.name, best.found)
        on = f" on {best.found.measured_on}" if best.found.measured_on is not None else ""
        if best.found.against != PEOPLE:
            told = f"{who}, measured{on} by a judge: {agreement_words(best.found)}; {_NOT}"
            return Validity(label, "not calibrated", told, best.name, best.found)
        return Validity(
            label, "calibrated", f"{who}, calibrated{on}: {agreement_words(best.found)}", best.name, best.found
        )


def not_calibrated(judge: JudgeIdentity | None) -> Validity:
    """What there is to say where no calibration is known."""
    label = None if judge is None else judge.label
    return Validity(label, "not calibrated", f"{judge_told(judge)}, {_NOT}")


def calibrations_of(named: Path | None, root: Path, templates: Templates) -> Calibrations:
    """The calibration in the file `named`, or those in the folder `named`; without one, those in the folder
    calibration/ of `root`. They are told by their places in `root`.

    Raises:
        SciagentError: what was named holds none, or one that is bound to nothing that a session has; a file that says
            it is a calibration and can't be read.
    """
    words = templates.digest("criterion")
    if named is not None and not named.is_dir():
        return Calibrations((_read(named, _shown(named, root)),), words, named=True)
    known = _in_folder(named or root / FOLDER, root)
    if named is not None and not known:
        raise SciagentError("no calibration of a recorded judge in this folder", path=named)
    return Calibrations(known, words)


def _in_folder(folder: Path, root: Path) -> tuple[Calibrated, ...]:
    """Calibrations of recorded judges. Other people's files may lie there: what does not say that it is one is not."""
    paths = [path for path in sorted(folder.glob("*.json")) if path.is_file() and _claims(path)]
    found = [Calibrated(_shown(path, root), load_json(path, Calibration)) for path in paths]
    return tuple(one for one in found if one.found.bound.identity is not None)


def _claims(path: Path) -> bool:
    try:
        with path.open("rb") as handle:
            return SCHEMA.encode() in handle.read(_PEEK)
    except OSError:
        return False


def _read(path: Path, name: str) -> Calibrated:
    found = load_json(path, Calibration)
    if found.bound.identity is None:
        raise SciagentError(
            f"{found.bound.judge} is known by its labels only: no session can have it as its judge. "
            "Measure a recorded judge with sciagent calibrate --runs",
            path=path,
        )
    return Calibrated(name, found)


def _shown(path: Path, root: Path) -> str:
    return one_line(str(path.relative_to(root) if path.is_relative_to(root) else path), 120)


def told_once(sentences: Sequence[str | None]) -> list[str]:
    """Sentences as they come, each once."""
    return list(dict.fromkeys(sentence for sentence in sentences if sentence))
