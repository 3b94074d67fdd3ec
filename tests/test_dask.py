"""The workers of a Dask cluster ask the judge; what is recorded and told is the same as without one."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Raw
from sample import Cohort, answer
from test_live_judge import good, options, record_of, work_files

distributed = pytest.importorskip("distributed")
WHEN = ("time", "latency_s")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two workers in processes of their own, on this machine, each with a key that the session does not have."""
    folder = str(tmp_path_factory.mktemp("dask"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=4, dashboard_address=None, local_directory=folder
    ) as found:
        with distributed.Client(found.scheduler_address, set_as_default=False) as client:
            client.run(_set_key)
        yield found


def _set_key(dask_worker: Any) -> None:
    os.environ["OPENAI_API_KEY"] = f"key-of-{dask_worker.name}"


def statuses(found: dict[str, Any]) -> set[str]:
    return {verdict["status"] for finding in found["runs"][0]["findings"] for verdict in finding["criteria"]}


def timeless(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in entry.items() if name not in WHEN} for entry in entries]


def test_two_workers_give_what_one_machine_gives(cohort: Cohort, cluster: Any) -> None:
    cohort.run("alpha", findings=3)
    cohort.run("beta", findings=1)
    with Loopback(good) as server:
        args = [*options("openai", server), "-n0"]
        alone = cohort.results(*args)
        asked = len(server.requests)
        records = timeless(record_of(cohort)), timeless(record_of(cohort, "beta"))
        for file in (cohort.root / "verdicts").glob("*/*.json"):
            file.unlink()

        dask = f"--sciagent-dask={cluster.scheduler_address}"
        assert cohort.results(*args, dask) == alone
        by_workers = server.requests[asked:]
        assert len(by_workers) == asked
        assert {r.headers["authorization"] for r in by_workers} == {"Bearer key-of-0", "Bearer key-of-1"}
        assert (timeless(record_of(cohort)), timeless(record_of(cohort, "beta"))) == records
        assert not work_files(cohort)

        cohort.results(*args, dask)
        assert len(server.requests) == 2 * asked  # nothing is open any more


def test_what_a_dead_worker_was_asking_goes_to_the_other(cohort: Cohort, cluster: Any) -> None:
    cohort.run(findings=4)
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        pid = client.run(os.getpid).popitem()[1]
    killed: list[int] = []

    def kills(request: dict[str, Any], number: int) -> dict[str, Any]:
        if number == 8:
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)
        return good(request, number)

    with Loopback(kills) as server:
        found = cohort.results(*options("openai", server), f"--sciagent-dask={cluster.scheduler_address}")
    assert killed
    assert statuses(found) == {"assessed"}


def test_a_session_cut_short_goes_on_where_it_was(cohort: Cohort, cluster: Any) -> None:
    cohort.run(findings=3)
    dask = f"--sciagent-dask={cluster.scheduler_address}"

    def gives_up(request: dict[str, Any], number: int) -> dict[str, Any] | Raw:
        return good(request, number) if number <= 6 else Raw(401, {"error": {"message": "no such key"}})

    with Loopback(gives_up) as server:
        result = cohort.pytest(*options("openai", server), dask, "--sciagent-in-flight=1")
        assert result.ret == 4
        result.stderr.fnmatch_lines(["*the judge openai:some-model can't be asked: HTTP 401: no such key*"])
    with Loopback(good) as server:
        found = cohort.results(*options("openai", server), dask)
        assert len(server.requests) == (3 * 4 + 1 + 3) - 6
    assert statuses(found) == {"assessed"}


def test_a_busy_provider_is_asked_more_slowly(cohort: Cohort, cluster: Any) -> None:
    cohort.run(findings=2)
    turned: list[int] = []

    def busy(request: dict[str, Any], number: int) -> dict[str, Any] | Raw:
        if number == 3:
            turned.append(number)
            return Raw(429, {"error": {"message": "slow down"}}, headers={"retry-after-ms": "50"})
        return good(request, number)

    with Loopback(busy) as server:
        found = cohort.results(*options("openai", server), f"--sciagent-dask={cluster.scheduler_address}")
    assert turned
    assert statuses(found) == {"assessed"}


def test_a_cluster_by_its_file(cohort: Cohort, cluster: Any, tmp_path: Path) -> None:
    cohort.run(findings=1)
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": cluster.scheduler_address}))
    with Loopback(lambda request, number: answer(0) if "groups" not in json.dumps(request) else {}) as server:
        cohort.results(*options("openai", server), f"--sciagent-dask={file}", "-k", "ev.full", code=1)
        assert len(server.requests) == 1


def test_settings_that_workers_refuse_end_the_session(cohort: Cohort, cluster: Any) -> None:
    cohort.run(findings=1)
    args = ["--sciagent-run=runs", "--sciagent-judge=anthropic:m", f"--sciagent-dask={cluster.scheduler_address}"]
    result = cohort.pytest(*args)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*can't be asked: on a worker: the judge anthropic:m needs a key*ANTHROPIC_API_KEY*"])


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--sciagent-dask=tcp://127.0.0.1:1"], "*--sciagent-dask belongs to a judge*"),
        (
            ["--sciagent-judge=openai:m", "--sciagent-dask=nonsense://x"],
            "*the judge openai:m can't be asked: the Dask cluster nonsense://x: *",
        ),
        (
            ["--sciagent-judge=openai:m", "--sciagent-dask=tcp://127.0.0.1:1", "--sciagent-batch"],
            "*--sciagent-dask and --sciagent-batch exclude each other*",
        ),
    ],
)
def test_what_can_not_be_asked_that_way(cohort: Cohort, args: list[str], told: str) -> None:
    cohort.run(findings=1)
    result = cohort.pytest("--sciagent-run=runs", *args)
    assert result.ret == 4
    result.stderr.fnmatch_lines([told])
    assert "Traceback" not in result.stderr.str()
