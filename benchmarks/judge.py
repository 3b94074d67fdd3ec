"""How close the judge comes to what an endpoint can give, and what a call costs in CPU time, beside other tools.

The endpoint answers each call after a fixed time in a process of its own, so that N calls in flight can make
N / seconds calls a second at most. Measured are the pump with either SDK, from questions to recorded verdicts, a bare
HTTP loop as the most that Python does here, and whole sessions: ours, and the same judgements made by DeepEval,
Inspect AI and Autorubric (`judge_peers.py`). `judging.py` makes tables of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cohort import JUDGE
from endpoint import Endpoint, endpoint

METHODS = "Every unit was measured twice, on two days, by two people who did not know of each other's values. " * 200
"""20 kB: with it a prompt is as long as those of real runs."""
CLIENTS = ("openai", "anthropic", "bare HTTP")
PEERS = ("deepeval", "inspect", "autorubric")
WARM_UP = 16
"""Calls before a measurement of the pump begins: templates are compiled and modules imported with the first one."""
SECONDS = 3
"""What a measurement takes at least, at the endpoint's limit."""


@dataclass(frozen=True)
class Measured:
    """One measurement: calls, wall seconds, CPU seconds of the caller's processes, the most calls at one time."""

    calls: int
    seconds: float
    cpu_s: float
    peak: int


# One measurement of the pump, in a process of its own


def questions_of(root: Path, kind: str, number: int) -> Any:
    """`number` questions about a run's findings, all different to the ledger, and who is asked."""
    from pytest_sciagent.evaluation import Sources, open_case
    from pytest_sciagent.judging.judge import RecordedJudge
    from pytest_sciagent.judging.pump import Question
    from pytest_sciagent.ledger import WorkWriter
    from pytest_sciagent.models import JudgeIdentity
    from pytest_sciagent.rubrics import load_rubric

    writer = WorkWriter(Path(tempfile.mkdtemp(dir=root)), "benchmark")
    case = open_case(root / "runs" / "bench" / "task_000", Sources(root), writer.append)
    judge = JudgeIdentity(kind=kind, model="bench")
    asked = list(case.criterion_questions([load_rubric("truthinsight", root, root)], RecordedJudge(judge)))
    draws = range(1, 2 + number // len(asked))
    questions = [
        Question(replace(request, draw=draw), case.answers, f"{request.finding}-{draw}")
        for draw in draws
        for request in asked
    ]
    return questions[:number], judge


def pump_here(root: Path, kind: str, url: str, in_flight: int, calls: int) -> None:
    """Ask with the pump."""
    from pytest_sciagent.judging.clients import make_client
    from pytest_sciagent.judging.pump import Terms, pump

    questions, judge = questions_of(root, kind, WARM_UP + calls)

    def ask(some: list[Any]) -> None:
        client = make_client(judge, base_url=f"{url}/v1", api_key=None)
        progress = pump(some, client, Terms(in_flight))
        assert (progress.done, progress.failed) == (len(some), 0), progress

    ask(questions[:WARM_UP])
    tell(lambda: ask(questions[WARM_UP:]))


def bare_here(root: Path, url: str, in_flight: int, calls: int) -> None:
    """Post the same prompts with aiohttp and parse the answers as JSON, nothing else."""
    import aiohttp

    from pytest_sciagent.judging.clients import make_client

    questions, judge = questions_of(root, "openai", 16)
    client = make_client(judge, base_url=f"{url}/v1", api_key=None)
    bodies = [json.dumps(client.body(q.request.make_prompt())).encode() for q in questions]

    async def ask() -> None:
        left = iter(range(calls))
        headers = {"Content-Type": "application/json"}
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def work() -> None:
                for n in left:
                    data = bodies[n % len(bodies)]
                    async with session.post(f"{url}/v1/chat/completions", data=data, headers=headers) as response:
                        json.loads(await response.read())

            await asyncio.gather(*(work() for _ in range(in_flight)))

    tell(lambda: asyncio.run(ask()))


def tell(ask: Any) -> None:
    """Print the wall and CPU seconds of `ask`."""
    started, used = time.perf_counter(), time.process_time()
    ask()
    print(json.dumps([time.perf_counter() - started, time.process_time() - used]))


def on_core(core: int | None) -> None:
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def measure_client(name: str, root: Path, at: Endpoint, in_flight: int, latency: float, core: int | None) -> Measured:
    calls = round(in_flight / latency * SECONDS)
    before = at.stats()["calls"]
    what = ["bare"] if name == "bare HTTP" else ["pump", name]
    command = [sys.executable, __file__, "--here", *what, str(root), at.url, str(in_flight), str(calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=lambda: on_core(core))
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    seconds, cpu_s = json.loads(done.stdout.splitlines()[-1])
    assert at.stats()["calls"] - before == calls + (0 if what == ["bare"] else WARM_UP)
    return Measured(calls, seconds, cpu_s, at.stats()["peak"])


# Whole sessions


def measure_session(command: Sequence[str], folder: Path, latency_ms: int, allowed: tuple[int, ...]) -> Measured:
    """A command that makes its judgements at an endpoint of its own, from start to end; `URL` stands for the place."""
    with endpoint(latency_ms, None) as at:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        filled = [part.replace("URL", at.url) for part in command]
        done = subprocess.run(filled, cwd=folder, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in allowed:
            raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        stats = at.stats()
    cpu_s = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return Measured(stats["calls"], seconds, cpu_s, stats["peak"])


def sessions(root: Path, peers: str | None, in_flight: int) -> dict[str, tuple[list[str], tuple[int, ...]]]:
    """Each variant's command and exit codes; every one starts without any recorded answer."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--sciagent-run=runs"]
    pytest += ["--sciagent-ledger-mode=live", f"--sciagent-in-flight={in_flight}"]
    found: dict[str, tuple[list[str], tuple[int, ...]]] = {}
    for kind, path, workers in (("openai", "/v1", 0), ("openai", "/v1", 2), ("anthropic", "", 0)):
        judge = [f"--sciagent-judge={kind}:bench", f"--sciagent-base-url=URL{path}"]
        found[f"pytest -n {workers}, {kind}"] = ([*pytest, f"-n{workers}", *judge], (0, 1))
    if peers is not None:
        script = str(Path(__file__).with_name("judge_peers.py"))
        for name in PEERS:
            tail = [f"URL/peer/{name}/v1", str(root / "material.json"), str(in_flight)]
            found[name] = ([peers, script, name, *tail], (0,))
    return found


def write_material(root: Path, runs: int) -> int:
    """What the peers judge: the evidence and the criteria that our prompts show. Returns the number of judgements."""
    from pytest_sciagent.evaluation import Sources, open_case
    from pytest_sciagent.judging.judge import RecordedJudge
    from pytest_sciagent.rubrics import load_rubric

    rubric = load_rubric("truthinsight", root, root)
    judge = RecordedJudge(JUDGE)
    evidence: dict[tuple[str, str | None], str] = {}
    criteria: dict[str, str] = {}
    for run in sorted((root / "runs" / "bench").iterdir())[:runs]:
        case = open_case(run, Sources(root), lambda label, entry: None)
        for request in case.criterion_questions([rubric], judge):
            prompt = request.make_prompt()
            evidence.setdefault((run.name, request.finding), prompt.shared)
            criteria.setdefault(request.criterion_id, prompt.last)
    material = {"evidence": list(evidence.values()), "criteria": list(criteria.values())}
    (root / "material.json").write_text(json.dumps(material))
    return len(evidence) * len(criteria)


def main() -> None:
    """One measurement of the pump, in this process: `--here pump KIND` or `--here bare`, then where and how much."""
    what, *rest = sys.argv[2:]
    kind = rest.pop(0) if what == "pump" else ""
    root, url, in_flight, calls = Path(rest[0]), rest[1], int(rest[2]), int(rest[3])
    pump_here(root, kind, url, in_flight, calls) if what == "pump" else bare_here(root, url, in_flight, calls)


if __name__ == "__main__":
    main()
