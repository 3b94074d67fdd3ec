"""AstaBench End-to-End Discovery: samples with their rubric, answers as runs, and its evaluations as labels."""

from __future__ import annotations

from collections.abc import Sequence

from ...models import Label, Rubric
from ...text import slug
from ..foreign import Folder
from ..gathering import Gathering
from .answers import ANSWER_END, import_answer
from .evaluations import DATASET, EVALUATION_END, import_evaluation
from .samples import import_samples

_SAMPLE_MARKS = (b'"evaluation_rubric"', b'"problem_description"')
_HEAD = 1_000_000


def recognises(folders: Sequence[Folder]) -> bool:
    """Whether anything of this format is among `folders`."""
    return any(_answers(f) or _evaluations(f) or any(_is_sample_file(f, name) for name in f.files) for f in folders)


def bring_in(folders: Sequence[Folder], into: Gathering) -> None:
    """Import every sample, answer and evaluation among `folders`."""
    rubrics: dict[str, Rubric] = {}
    for folder in folders:
        for name in folder.files:
            if _is_sample_file(folder, name):
                with into.attempt("task", name, folder.path / name):
                    rubrics |= import_samples(folder, name, into)
    for folder in folders:
        system = slug(into.system or _system_of(folder))
        for name in _answers(folder):
            with into.attempt("run", name, folder.path / name):
                import_answer(folder, name, system, into)
        labels: list[Label] = []
        for name in _evaluations(folder):
            with into.attempt("result", name, folder.path / name):
                labels += import_evaluation(folder, name, system, rubrics, into)
        if labels:
            with into.attempt("labels", system, folder.path):
                into.write_labels(DATASET, labels, name=f"{DATASET}-{system}")


def _is_sample_file(folder: Folder, name: str) -> bool:
    if not name.endswith(".json") or name.endswith((ANSWER_END, EVALUATION_END)):
        return False
    try:
        with (folder.path / name).open("rb") as handle:
            head = handle.read(_HEAD)
    except OSError:
        return False
    return head.lstrip()[:1] == b"[" and all(mark in head for mark in _SAMPLE_MARKS)


def _answers(folder: Folder) -> list[str]:
    return [name for name in folder.files if name.endswith(ANSWER_END)]


def _evaluations(folder: Folder) -> list[str]:
    return [name for name in folder.files if name.endswith(EVALUATION_END)]


def _system_of(folder: Folder) -> str:
    """The solver's name: that of the folder above `reports/` or `evaluations_json/`, and above a dated one."""
    parts = [p for p in folder.path.parts if p not in ("reports", "evaluations_json", "/")]
    named = [part for part in parts if not any(character.isdigit() for character in part)]
    return (named or parts or ["unnamed"])[-1]
