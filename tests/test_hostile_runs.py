"""The whole job over hostile runs: freeze, verify, a session with a judge that flatters, and every report.

Whatever the run holds: nothing of it is executed, nothing outside is read or reached, nothing hangs, grows or crashes,
no other run is touched, and the promised outcome comes.
"""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_jobs import Jobs, Outcome
from hostile_place import CANARY, REPORTS, Flatterer, Place, write_many_files, write_output, write_repository
from hostile_runs import CORPUS, Hostile, Trap
from loopback import Loopback

MAX_CPU_S = 60
"""Far above what any run takes on an idle machine: a loaded machine is slower, a hang is endless."""
MAX_MEMORY = 1 << 30


class Listener:
    """Whoever connects to this port was led there by a run."""

    def __init__(self) -> None:
        self.callers: list[Any] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/"
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                self.callers.append(self._socket.accept()[1])
            except OSError:
                return

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def jobs() -> Iterator[Jobs]:
    with Jobs() as server:
        yield server


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


@pytest.fixture(scope="module")
def flatterer() -> Flatterer:
    return Flatterer()


@pytest.fixture(scope="module")
def server(flatterer: Flatterer) -> Iterator[Loopback]:
    with Loopback(flatterer) as found:
        yield found


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    write_repository(root)
    return root


@pytest.fixture
def place(tmp_path: Path, template: Path, jobs: Jobs, server: Loopback, flatterer: Flatterer) -> Place:
    root = tmp_path / "repository"
    shutil.copytree(template, root)
    flatterer.shown.clear()
    flatterer.cite = Flatterer().cite
    return Place(root, jobs, server)


@pytest.fixture(scope="module")
def good_alone(template: Path, tmp_path_factory: pytest.TempPathFactory, jobs: Jobs, server: Loopback) -> Any:
    """What the good run comes to where no other is there."""
    root = tmp_path_factory.mktemp("alone") / "repository"
    shutil.copytree(template, root)
    place = Place(root, jobs, server)
    jobs.run(root, place.session(), warm=True)
    return place.results()["good/t1"]


def check(outcome: Outcome, place: Place, trap: Trap, listener: Listener, flatterer: Flatterer) -> None:
    """What holds for every run."""
    assert "Traceback (most recent" not in outcome.text, outcome.text
    assert "INTERNALERROR" not in outcome.text, outcome.text
    assert not any(character in outcome.text for character in "\x1b\0\u202e"), "control characters in the terminal"
    assert not trap.mark.exists(), "something of the run was executed"
    assert not listener.callers, "something was fetched"
    written = [(place.root / name).read_bytes() for name in REPORTS if (place.root / name).exists()]
    shown = [outcome.text.encode(), *written, *(text.encode() for text in flatterer.shown)]
    assert not any(CANARY.encode() in text for text in shown), "something outside of the run was read"
    assert outcome.cpu_s < MAX_CPU_S, f"{outcome.cpu_s:.1f} s of CPU time"
    assert outcome.memory < MAX_MEMORY, f"{outcome.memory:,} bytes"


@pytest.mark.parametrize("hostile", CORPUS, ids=lambda hostile: hostile.name)
def test_a_hostile_run_gets_its_promised_outcome_and_nothing_else(
    hostile: Hostile, place: Place, listener: Listener, flatterer: Flatterer, good_alone: Any
) -> None:
    trap = Trap(place.root / "mark", place.root / "secret.txt", listener.url)
    workspace = place.root / "work"
    write_output(workspace, hostile.files(trap))
    hostile.prepare(workspace / "output", trap)
    if hostile.refused is not None:
        refusal = place.jobs.run(place.root, place.freeze(workspace))
        check(refusal, place, trap, listener, flatterer)
        assert refusal.codes == [4], refusal.text
        assert hostile.refused in refusal.text
        assert not (place.root / "runs" / "evil" / "t1").exists()
        return
    flatterer.cite = hostile.cite or flatterer.cite
    outcome = place.jobs.run(place.root, place.freeze(workspace))
    assert outcome.codes == [0], outcome.text
    assert hostile.told in outcome.text
    hostile.plant(place.root / "runs" / "evil" / "t1", trap)
    outcome = place.jobs.run(place.root, ["sciagent", "verify", "runs"], place.session())
    check(outcome, place, trap, listener, flatterer)
    assert outcome.codes[1] == 1, outcome.text
    runs = place.results()
    if not hostile.cite:
        assert runs["good/t1"] == good_alone
    if hostile.problem:
        assert outcome.codes[0] == 1
        assert all(hostile.problem in text for text in outcome.outputs), outcome.text
        evil = next((run for label, run in runs.items() if label != "good/t1"), None)
        assert evil is None or (evil["state"] == "tampered" and evil["score"] is None), evil
        assert "1 error" in outcome.outputs[1]
        return
    assert outcome.codes[0] == 0, outcome.text
    evil = runs["evil/t1"]
    assert evil["state"] == hostile.state
    verdicts = [verdict for finding in evil["findings"] for verdict in finding["criteria"]]
    assert len(verdicts) == hostile.findings * len(good_alone["findings"][0]["criteria"])
    if hostile.cite:
        assert not [v for v in verdicts if v["level"] and "flattery" in str(v)], (
            "words that are not there earned a level"
        )
        assert [v for v in verdicts if v["status"] == "unverified"]


def test_very_many_files_are_frozen_verified_and_judged(place: Place, listener: Listener, flatterer: Flatterer) -> None:
    """A tenth of what `benchmarks/hostile.py` measures: what does not grow with the files alone would hang there."""
    workspace = place.root / "work"
    write_many_files(workspace, 10_000)
    outcome = place.jobs.run(place.root, place.freeze(workspace), ["sciagent", "verify", "runs"], place.session())
    check(outcome, place, Trap(place.root / "mark", place.root / "secret.txt", ""), listener, flatterer)
    assert outcome.codes == [0, 0, 1], outcome.text
    assert place.results()["evil/t1"]["state"] == "sound"
