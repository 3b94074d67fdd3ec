"""The HTML report of a pytest session: where its pages find what they show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...gates.setup import baseline_of
from ...runs import Run
from .changes import changes_by_run
from .pages import write_html
from .runs import Material

if TYPE_CHECKING:
    from ...collection.state import SessionState
    from ...evaluation import Case
    from ...gates.decision import Asked
    from ...models import RunManifest
    from ..results import Results, RunResult


def write_session_html(path: Path, state: SessionState, results: Results, gates: Sequence[Asked]) -> list[Path]:
    """Write the report of a session; gives what was written, the page to open first.

    Raises:
        SciagentError: the place can't be written to, or the baseline can't be scored.
    """
    baseline = baseline_of(gates)
    own = {spec.id: spec.criterion for spec in state.own.all}
    material = Material(
        criteria={c.id: c for rubric in results.rubrics for c in rubric.criteria} | own,
        counted=frozenset(c.id for c in results.rubrics[0].criteria),
        dimensions=[(d.id, d.title or d.id) for rubric in results.rubrics for d in rubric.dimensions],
        changes=None if baseline is None else changes_by_run(results, baseline),
        open_case=lambda run: _case(state, run),
        open_manifest=_manifest,
        words=state.words,
        validity=results.believed.sentence,
    )
    return write_html(path, results, material, None if baseline is None else baseline.name, state.options.outputs.json)


def _case(state: SessionState, run: RunResult) -> Case | None:
    return state.case_of(run.index) if run.index.state == "sound" else None


def _manifest(run: RunResult) -> RunManifest | None:
    """What a broken run says of itself is not shown."""
    return None if run.index.state == "tampered" else Run.load(Path(run.index.path)).manifest
