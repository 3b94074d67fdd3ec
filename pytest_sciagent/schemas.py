"""JSON Schemas of every file that the program reads or writes, made from the models."""

from __future__ import annotations

import json

from pydantic import BaseModel

from .models import Label, LedgerFile, Reference, Rubric, RunManifest, Source, TaskManifest
from .models.calibration import Calibration
from .models.examples import ExamplesFile
from .models.handoff import PromptLine
from .models.line import VerdictLine
from .models.prior_art import PriorArt
from .models.probe import Probe
from .models.results import ResultsFile
from .models.revision import ExperimentFile, RevisionRecord
from .models.run import Release
from .models.system import SystemFile
from .models.task import Provenance
from .models.weights import WeightsFile

_MODELS: dict[str, type[BaseModel]] = {
    "run": RunManifest,
    "task": TaskManifest,
    "reference": Reference,
    "source": Source,
    "provenance": Provenance,
    "prior-art": PriorArt,
    "probe": Probe,
    "release": Release,
    "system": SystemFile,
    "rubric": Rubric,
    "verdicts": LedgerFile,
    "results": ResultsFile,
    "verdict": VerdictLine,
    "label": Label,
    "handoff": PromptLine,
    "calibration": Calibration,
    "examples": ExamplesFile,
    "weights": WeightsFile,
    "revision": RevisionRecord,
    "experiment": ExperimentFile,
}


def schemas() -> dict[str, str]:
    """File name and text of each schema."""
    found = {}
    for name, model in _MODELS.items():
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema(by_alias=True)}
        found[f"sciagent-{name}-1.schema.json"] = json.dumps(schema, indent=2, sort_keys=True) + "\n"
    return found
