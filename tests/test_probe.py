"""The memory probe: what a model names without data is compared by code, and stands beside novelty."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Raw
from sample import Cohort, sciagent

ROOT = Path(__file__).parent.parent
TASK = "astronomy_activity_cycle"
KNOWING = {
    "source": "These are sunspot numbers.",
    "findings": ["A period of about 11 years."],
    "numbers": [
        {"what": "mean cycle length", "value": 11.05, "unit": "years"},
        {"what": "mean", "value": 50.0, "unit": "1"},
    ],
}
NOTHING: dict[str, Any] = {"source": "", "findings": [], "numbers": []}


def ask(root: Path, behaviour: Any, *args: str) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch, Loopback(behaviour) as server:
        patch.chdir(root)
        return sciagent("probe", TASK, "--model", "openai:m-1", "--base-url", server.openai_url, *args)


def test_what_is_known_is_recorded(tmp_path: Path) -> None:
    code, out, err = ask(tmp_path, lambda request, n: KNOWING if n < 3 else NOTHING)
    assert code == 0, err
    assert f"{TASK}: 3 of 3 answered; 2 name the source; 2 of 4 reference values named" in out
    record = json.loads((tmp_path / "probes" / TASK / "m-1.json").read_text())
    assert [len(answer["recalled"]) for answer in record["answers"]] == [2, 2, 0]
    assert record["answers"][0]["traces"] == ["fingerprint"]


def test_the_model_gets_no_data_and_nothing_hidden(tmp_path: Path) -> None:
    seen: list[str] = []

    def behaviour(request: Any, n: int) -> dict[str, Any]:
        seen.append(json.dumps(request))
        return NOTHING

    assert ask(tmp_path, behaviour, "-n", "1")[0] == 0
    assert "activity_number" in seen[0]
    for word in ("sunspot", "Hathaway", "mean_cycle_length", "154.6", "1700,"):
        assert word not in seen[0]


def test_a_model_that_cannot_be_asked_leaves_no_record(tmp_path: Path) -> None:
    code, _, err = ask(tmp_path, lambda request, n: Raw(401, {"error": {"message": "no such key"}}))
    assert (code, "can't be asked" in err) == (4, True)
    assert not (tmp_path / "probes").exists()


def test_it_stands_beside_novelty(pytester: pytest.Pytester) -> None:
    cohort = Cohort(pytester)
    (cohort.root / "pytest.ini").write_text("[pytest]\n")
    run = cohort.run("alpha", task=TASK)
    path = run / "run.json"
    manifest = json.loads(path.read_text())
    manifest["system"]["model"] = "m-1"
    path.write_text(json.dumps(manifest))
    assert ask(cohort.root, lambda request, n: KNOWING)[0] == 0
    results = cohort.results("--sciagent-run=runs")
    criteria = {c["criterion_id"]: c for f in results["runs"][0]["findings"] for c in f["criteria"]}
    told = criteria["independent_origin.frozen_search_prior_art"]["receipt"]["facts"]["memory_probe"]
    assert told["answers_that_name_the_source"] == 3
    assert told["reference_values_named"] == ["mean_cycle_length_years", "spectral_period_years"]
