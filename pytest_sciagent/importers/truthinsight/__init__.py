"""TruthInsightBench V1.0: registry, tasks with their hidden half, run roots with receipts, cohorts and results."""

from __future__ import annotations

from collections.abc import Sequence

from ..foreign import Folder
from ..gathering import Gathering
from .results import COHORT, RESULT, import_cohort, import_result
from .runs import RECEIPT, import_run
from .tasks import ANCHORS, MANIFEST, REGISTRY, Material, import_tasks

_MARKS = frozenset({RECEIPT, MANIFEST, ANCHORS, RESULT, COHORT})


def recognises(folders: Sequence[Folder]) -> bool:
    """Whether anything of this format is among `folders`."""
    return any(_MARKS & set(folder.files) for folder in folders)


def bring_in(folders: Sequence[Folder], into: Gathering) -> None:
    """Import every task, run root, cohort and result among `folders`."""
    material = Material.of(folders)
    import_tasks(material, into)
    for folder in folders:
        if RECEIPT in folder.files:
            with into.attempt("run", folder.path.name, folder.path / RECEIPT):
                import_run(folder, material, into)
        if COHORT in folder.files:
            with into.attempt("result", folder.path.name, folder.path / COHORT):
                import_cohort(folder, into)
        if RESULT in folder.files:
            with into.attempt("result", folder.path.name, folder.path / RESULT):
                import_result(folder, into)


__all__ = ["REGISTRY", "bring_in", "recognises"]
