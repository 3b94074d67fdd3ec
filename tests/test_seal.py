"""Seals: made over a frozen run, valid for this run and this key alone."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest
from sample import Cohort, sciagent

from pytest_sciagent.runs.seal import seal_path

pytest.importorskip("securesystemslib")


@pytest.fixture
def cohort(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    cohort = Cohort(pytester)
    monkeypatch.chdir(cohort.root)
    cohort.run("alpha")
    cohort.run("beta")
    code, out, err = sciagent("seal", "runs", "--new-key", "lab.pem")
    assert code == 0, out + err
    assert (cohort.root / "lab.pem").stat().st_mode & 0o077 == 0
    return cohort


def verify(*keys: str) -> tuple[int, str]:
    code, out, err = sciagent("verify", "runs", *(word for key in keys for word in ("--public-key", key)))
    return code, out + err


def run(cohort: Cohort, system: str = "alpha") -> Path:
    return cohort.root / "runs" / system / "t1"


def test_a_sealed_run_verifies_and_is_still_collected(cohort: Cohort) -> None:
    assert verify("lab.pem.pub") == (0, "alpha/t1: sound, sealed\nbeta/t1: sound, sealed\n")
    assert verify()[0] == 0
    envelope = json.loads(seal_path(run(cohort)).read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    manifest = json.loads((run(cohort) / "run.json").read_text())
    assert statement["subject"][0]["digest"]["sha256"] == manifest["tree_sha256"]


def test_a_manifest_changed_beside_its_files_breaks_the_seal(cohort: Cohort) -> None:
    """The tree digest does not cover times and status; the seal does."""
    path = run(cohort) / "run.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "finished_at": "2026-01-01T00:00:00Z"}))
    assert verify()[0] == 0
    code, out = verify("lab.pem.pub")
    assert (code, "alpha/t1: sound, seal not valid" in out, "another run" in out) == (1, True, True)


@pytest.mark.parametrize("change", ["other run", "other key", "none", "broken", "payload"])
def test_what_is_no_valid_seal(cohort: Cohort, change: str) -> None:
    path = seal_path(run(cohort))
    keys = ["lab.pem.pub"]
    if change == "other run":
        shutil.copy(seal_path(run(cohort, "beta")), path)
    if change == "other key":
        assert sciagent("seal", "--new-key", "other.pem")[0] == 0
        keys = ["other.pem.pub"]
    if change == "none":
        path.unlink()
    if change == "broken":
        path.write_text("{}")
    if change == "payload":
        envelope = json.loads(path.read_text())
        payload = base64.b64decode(envelope["payload"]).replace(b"alpha", b"gamma")
        path.write_text(json.dumps({**envelope, "payload": base64.b64encode(payload).decode()}))
    code, out = verify(*keys)
    assert (code, "alpha/t1: sound, seal not valid" in out) == (1, True)


def test_bad_input(cohort: Cohort) -> None:
    (run(cohort) / "output/Result.md").write_text("other\n")
    code, _, err = sciagent("seal", "runs/alpha", "--key", "lab.pem")
    assert (code, "not what was frozen" in err) == (4, True)
    assert sciagent("seal", "runs/beta", "--key", "lab.pem.pub")[0] == 4
    assert sciagent("seal", "runs/beta")[0] == 4
    assert sciagent("seal", "--new-key", "lab.pem")[0] == 4
    assert sciagent("verify", "runs/beta", "--public-key", "lab.pem")[0] == 4
