"""What a run's model knew beforehand, from a memory probe: shown beside novelty, where there is one."""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from ..documents import is_there, load_json
from ..models import Receipt, RunManifest, Verdict
from ..models.probe import Probe
from ..text import safe_name

CRITERION = "independent_origin.frozen_search_prior_art"


def probe_path(folder: Path, task_id: str, model: str) -> Path:
    """Where the probe of a model about a task lies in `folder`."""
    return folder / task_id / f"{safe_name(model)}.json"


def memory_of(manifest: RunManifest, folder: Path) -> dict[str, JsonValue] | None:
    """The facts of the probe in `folder` of this run's model about its task; None where there is none.

    Raises:
        SciagentError: a probe that can't be read.
    """
    model = manifest.system.model
    path = probe_path(folder, manifest.task_id, model) if model else None
    if path is None or not is_there(path):
        return None
    probe = load_json(path, Probe)
    return {
        "model": probe.model.label,
        "answers": len(probe.answered),
        "answers_that_name_the_source": probe.names_source,
        "reference_values_named": list(probe.recalled),
        "reference_values": probe.quantities,
    }


def with_memory(verdict: Verdict, memory: dict[str, JsonValue] | None) -> Verdict:
    """`verdict` on novelty with the probe's facts in its receipt; another as it is."""
    if memory is None or verdict.criterion_id != CRITERION:
        return verdict
    receipt = verdict.receipt or Receipt(source="memory probe")
    return verdict.model_copy(
        update={"receipt": receipt.model_copy(update={"facts": {**receipt.facts, "memory_probe": memory}})}
    )
