"""ResearchClawBench: task folders with checklists, workspaces, the site's exported runs, scores and their history."""

from __future__ import annotations

from collections.abc import Sequence

from ..foreign import Folder
from ..gathering import Gathering
from .runs import find_source, import_run
from .scores import HISTORY, import_history, write_scores
from .tasks import find_task, import_task


def recognises(folders: Sequence[Folder]) -> bool:
    """Whether anything of this format is among `folders`."""
    return any(find_task(f) or find_source(f) or _is_history(f) for f in folders)


def bring_in(folders: Sequence[Folder], into: Gathering) -> None:
    """Import every task, run and score among `folders`."""
    checklists = {}
    for folder in folders:
        documents = find_task(folder)
        if documents is not None:
            with into.attempt("task", folder.path.name, folder.path / documents.info):
                checklists[folder.path.name] = import_task(folder, documents, into)
    scored = []
    for folder in folders:
        source = find_source(folder)
        if source is not None:
            with into.attempt("run", folder.path.name, folder.path):
                scored.append(import_run(folder, source, checklists, into))
    scores = [score for score in scored if score is not None]
    if scores:
        with into.attempt("labels", "researchclawbench", folders[0].path):
            write_scores(scores, into)
    for folder in folders:
        if _is_history(folder):
            with into.attempt("labels", HISTORY, folder.path / HISTORY):
                import_history(folder, into)


def _is_history(folder: Folder) -> bool:
    return HISTORY in folder.files
