"""The published JSON Schemas are those of the models, and the shipped files meet them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from pytest_sciagent.schemas import schemas

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", sorted(schemas()))
def test_schemas_are_current(name: str) -> None:
    assert (ROOT / "schemas" / name).read_text() == schemas()[name], "run 'make schemas'"


def test_no_schema_is_left_over() -> None:
    assert {p.name for p in (ROOT / "schemas").iterdir()} == set(schemas())


def test_shipped_runs_and_verdicts_meet_their_schemas() -> None:
    for pattern, name in (("runs/*/*/run.json", "run"), ("verdicts/*/*.json", "verdicts")):
        schema = json.loads(schemas()[f"sciagent-{name}-1.schema.json"])
        paths = sorted(ROOT.glob(pattern))
        assert len(paths) == 6
        for path in paths:
            jsonschema.validate(json.loads(path.read_text()), schema)
