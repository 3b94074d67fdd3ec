"""MLR-Bench: papers as runs; reviews by people and by judges, and labels of invented content, as labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from ..errors import SciagentError
from ..models import Label, Rater, System
from ..runs.freeze import FreezeOptions
from ..text import counted, slug
from .foreign import Folder, Foreign, number_in, regular_files, table
from .gathering import Gathering, staged

DATASET = "mlrbench"
HUMAN, JUDGES, INVENTED, MERGED = "human_review.csv", "llm_judge.csv", "Hallucination Check.csv", "merge_data.csv"
_PAPER = "results/paper.md"
_REVIEW, _INVENTED_REVIEW = "review_", "review_hallucination_"
_ASPECTS = ("Novelty", "Clarity", "Soundness", "Significance", "Overall")
_REVIEWS_OF = "subset_reviews_"
_SCALE = (1.0, 10.0)
_KINDS = {
    "is_Faked_Experimental_Result": "Faked Experimental Results",
    "is_Hallucinated_Methodology": "Hallucinated Methodology",
    "is_Incorrect_Citation": "Nonexistent Citations",
    "is_Mathematical_Error": "Mathematical Errors",
}
"""Kinds of invention, by the column of the people's table and by the judges' word."""


class _Invention(Foreign):
    type: str


class _Inventions(Foreign):
    has_hallucination: bool
    hallucinations: tuple[_Invention, ...] = ()


class _Scored(Foreign):
    score: float = Field(ge=_SCALE[0], le=_SCALE[1])
    justification: str | None = None


def recognises(folders: Sequence[Folder]) -> bool:
    """Whether anything of this format is among `folders`."""
    return any(_tables(f) or _reviews(f) or _is_run(f) for f in folders)


def bring_in(folders: Sequence[Folder], into: Gathering) -> None:
    """Import every paper, table and review among `folders`."""
    labels: list[Label] = []
    reviews: list[Label] = []
    notes: list[str] = []
    for folder in folders:
        if _is_run(folder):
            with into.attempt("run", folder.path.name, folder.path / _PAPER):
                _import_run(folder, into)
        for name in _tables(folder):
            with into.attempt("labels", name, folder.path / name):
                labels += list(_table_labels(folder, name, notes))
        into.notes += [f"{folder.path / MERGED}: passed over, it joins the other tables"] * (MERGED in folder.files)
        if folder.path.name in ("paper", "experiments") and _workshop_above(folder):
            into.notes.append(f"{folder.path}: passed over: {counted(len(folder.files), 'review')} of a single stage")
        for name in _reviews(folder):
            with into.attempt("labels", f"{folder.path.name}/{name}", folder.path / name):
                reviews += list(_review_labels(folder, name))
    for name, found in ((DATASET, labels), (f"{DATASET}-reviews", reviews)):
        if found:
            with into.attempt("labels", name, folders[0].path):
                into.write_labels(DATASET, found, *(notes if found is labels else ()), name=name)


def _tables(folder: Folder) -> list[str]:
    if HUMAN not in folder.files and INVENTED not in folder.files:
        return []
    return [name for name in (HUMAN, JUDGES, INVENTED) if name in folder.files]


def _reviews(folder: Folder) -> list[str]:
    return [n for n in folder.files if n.startswith(_REVIEW) and n.endswith(".json") and _workshop(folder) is not None]


def _workshop(folder: Folder) -> tuple[str, str] | None:
    """The folder above, `subset_reviews_<judge>` or `<kind>_<agent>`, and the workshop's name."""
    above, name = folder.path.parent.name, folder.path.name
    return (above, name) if above.startswith((_REVIEWS_OF, "end2end_")) else None


def _workshop_above(folder: Folder) -> bool:
    return folder.path.parent.parent.name.startswith(_REVIEWS_OF)


def _is_run(folder: Folder) -> bool:
    return {"idea.md", "proposal.md"} <= set(folder.files) and folder.first(_PAPER) is not None


def _import_run(folder: Folder, into: Gathering) -> None:
    """Freeze the folder of a paper: all of it is what the agent delivered."""
    agent = into.system or folder.path.parent.name.removeprefix("end2end_")
    options = FreezeOptions(
        task_id=slug(folder.path.name), system=System(name=slug(agent)), report=f"output/{_PAPER}", unit="report"
    )
    files = ((f"output/{path}", data, mtime) for path, data, mtime in regular_files(folder))
    with staged(files) as workspace:
        into.freeze(workspace, options)


def _table_labels(folder: Folder, name: str, notes: list[str]) -> Iterator[Label]:
    place = folder.path / name
    rows = table(folder, name)
    if name == INVENTED:
        unsure = 0
        for row in rows:
            for column in _KINDS:
                answer = row.get(column, "").strip().lower()
                if answer not in ("yes", "no", "not sure"):
                    raise SciagentError(f"column {column!r} holds {answer!r}, not Yes, No or Not Sure", path=place)
                unsure += answer == "not sure"
                if answer != "not sure":
                    run = f"{row['LLM']}/{row['Workshop_name']}"
                    yield _label(run, column, Rater(kind="human", name=name), float(answer == "yes"), (0.0, 1.0))
        notes.append(f"no label of {counted(unsure, 'answer')} that says Not Sure")
        return
    for row in rows:
        rater = Rater(kind="judge", name=f"{name} (mean of its judges)")
        if name == HUMAN:
            rater = Rater(kind="human", name=f"reviewer {row.get('reviewer_id', '?')}")
        for aspect in _ASPECTS:
            run = f"{row.get('model_name')}/{row.get('workshop_name')}"
            yield _label(run, aspect, rater, number_in(row, aspect, place), _SCALE)


def _review_labels(folder: Folder, name: str) -> Iterator[Label]:
    found = _workshop(folder)
    assert found is not None  # `_reviews` has looked
    above, workshop = found
    if name.startswith(_INVENTED_REVIEW):
        review = folder.document(name, _Inventions)
        rater = Rater(kind="judge", name=name.removeprefix(_INVENTED_REVIEW).removesuffix(".json"))
        kinds = {invention.type for invention in review.hallucinations}
        for criterion, kind in _KINDS.items():
            yield _label(f"{above}/{workshop}", criterion, rater, float(kind in kinds), (0.0, 1.0))
        yield _label(f"{above}/{workshop}", "has_hallucination", rater, float(review.has_hallucination), (0.0, 1.0))
        return
    rater = Rater(kind="judge", name=above.removeprefix(_REVIEWS_OF))
    run = f"{name.removeprefix(_REVIEW).removesuffix('.json')}/{workshop}"
    plain: Any = folder.json(name)
    for aspect in _ASPECTS:
        part = plain.get(aspect) if isinstance(plain, dict) else None
        if part is None:
            raise SciagentError(f"there is no {aspect} in it", path=folder.path / name)
        scored = _Scored.model_validate(part)
        yield _label(run, aspect, rater, scored.score, _SCALE, scored.justification)


def _label(
    run: str, criterion: str, rater: Rater, score: float, scale: tuple[float, float], text: str | None = None
) -> Label:
    return Label(dataset=DATASET, run=run, criterion=criterion, rater=rater, score=score, scale=scale, text=text)
