"""What is measured of judging: live, at an endpoint of this machine, and replayed, beside other tools; and evidence."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import judge
from cohort import make_cohort
from endpoint import Endpoint, endpoint
from measuring import HERE, SERIAL, Kept, Measured, Step, aim, measure, middle, often, table

LATENCY_MS = 200
IN_FLIGHT = 64
"""Of every session, ours and those of other tools."""
PER_RUN = 90
"""Judgements of one run of the cohort."""
SLOW = ("inspect", "autorubric")
"""Tools of which one replay takes so long that it is measured once."""


class Judged:
    """A cohort with long prompts below `work`, as many runs as `judgements` take."""

    def __init__(self, work: Path, judgements: int, rounds: int, peers: str | None) -> None:
        self.root = work / "judged"
        self._judgements = judgements
        self._rounds = rounds
        self._peers = peers
        self._runs = max(1, round(judgements / PER_RUN))

    def steps(self, sections: Sequence[str]) -> Iterator[Step]:
        """All steps of these sections."""
        if not {"replay", "judging", "evidence"}.isdisjoint(sections):
            yield Step("cohort/judged", 2 + self._runs * 0.3, self._make)
        if "replay" in sections:
            each = 2 + self._judgements * 0.05  # seconds of one replay by the slowest
            yield Step("replay/tools", 25 + 3 * each * (1 if self._peers else 0), self._replay)
        if "judging" in sections:
            yield from self._live()
        if "evidence" in sections:
            yield Step("evidence/rate", 2 + self._runs * self._rounds * 0.1, self._evidence)

    def _make(self) -> None:
        make_cohort(self.root, self._runs, judge.METHODS)
        judge.write_material(self.root, self._runs)

    # Replayed

    def _replay(self) -> dict[str, Any]:
        with endpoint(0, None) as at:
            tools: dict[str, tuple[int, Callable[[], Measured]]] = {
                "pytest-sciagent": (self._rounds, lambda: measure([*SERIAL, "--sciagent-run=runs"], self.root))
            }
            for tool in judge.PEERS if self._peers else ():
                tools[tool] = (1 if tool in SLOW else self._rounds, self._peer(tool, at))
            asked: dict[str, int] = {}
            failed: dict[str, str] = {}
            found: dict[str, list[Measured]] = {tool: [] for tool in tools}
            for turn in range(self._rounds + 1):
                for tool, (rounds, once) in tools.items():
                    if turn > rounds or tool in failed:
                        continue
                    before = at.stats()["calls"]
                    try:
                        measured = once()
                    except SystemExit as error:
                        if tool not in judge.PEERS:
                            raise
                        failed[tool] = last_line(error)
                        continue
                    if turn:  # the first fills the tool's cache
                        asked[tool] = at.stats()["calls"] - before
                        found[tool].append(measured)
        calls = {"asked": asked, "total": self._total, "failed": failed}
        return calls | {"tools": {t: [asdict(one) for one in values] for t, values in found.items() if t not in failed}}

    def _peer(self, tool: str, at: Endpoint) -> Callable[[], Measured]:
        assert self._peers is not None
        keep = self.root.parent / f"kept_{tool}"
        keep.mkdir(exist_ok=True)
        material = str(self.root / "material.json")
        script = [self._peers, str(HERE / "judge_peers.py"), tool, f"{at.url}/peer/{tool}/v1", material]
        return lambda: measure([*script, str(IN_FLIGHT), str(keep)], self.root, (0,))

    @property
    def _total(self) -> int:
        material = json.loads((self.root / "material.json").read_text("utf-8"))
        return len(material["evidence"]) * len(material["criteria"])

    # Live

    def _live(self) -> Iterator[Step]:
        cores = (0, 1) if (os.cpu_count() or 1) > 1 else (None, None)

        def pump(name: str) -> Callable[[], dict[str, float]]:
            def run() -> dict[str, float]:
                with endpoint(LATENCY_MS, cores[1]) as at:
                    client = judge.measure_client(name, self.root, at, IN_FLIGHT, LATENCY_MS / 1000, cores[0])
                return asdict(client)

            return run

        for name in judge.CLIENTS:
            yield Step(f"judging/pump/{name}", judge.SECONDS + 5, pump(name))
        each = 4 + self._judgements * 0.02
        for name, (command, allowed) in judge.sessions(self.root, self._peers, IN_FLIGHT).items():

            def session(
                name: str = name, command: list[str] = command, allowed: tuple[int, ...] = allowed
            ) -> dict[str, float] | str:
                try:
                    return asdict(judge.measure_session(command, self.root, LATENCY_MS, allowed))
                except SystemExit as error:
                    if name not in judge.PEERS:
                        raise
                    return last_line(error)

            yield Step(f"judging/session/{name}", each, session)

    def _evidence(self) -> dict[str, float]:
        """Packages made from frozen runs, every file read anew."""
        from pytest_sciagent.evaluation import Sources, open_case

        rates, made = [], 0
        for _ in range(self._rounds):
            sources, made, started = Sources(self.root), 0, time.perf_counter()
            for run in sorted((self.root / "runs" / "bench").iterdir()):
                case = open_case(run, sources, lambda label, entry: None)
                made += len([case.questions.package(finding) for finding in case.report.findings])
            rates.append(made / (time.perf_counter() - started))
        return {"packages": made, "a second": statistics.median(rates), "rounds": self._rounds}


# Tables


def last_line(error: SystemExit) -> str:
    """What another tool said at last when it failed."""
    lines = str(error).strip().splitlines()
    return lines[-1][:200] if lines else "no message"


def failures(failed: Mapping[str, str]) -> list[str]:
    """A line for each tool that failed: no number is shown of it."""
    return [f"- {tool}: failed, `{words}`" for tool, words in failed.items()]


def replay_table(kept: Kept) -> str:
    """The same recorded judgements replayed by other tools, each from its own cache, start and imports included."""
    found = kept.of("replay")["tools"]
    medians = {tool: middle([Measured(**one) for one in values]) for tool, values in found["tools"].items()}
    ours = medians["pytest-sciagent"].seconds
    rows, notes = [], []
    for tool, one in medians.items():
        times = one.seconds / ours
        numbers = [f"{found['total']}", f"{found['asked'][tool]}", f"{one.seconds:.2f}", f"{one.cpu_s:.2f}"]
        rows.append([tool, *numbers, f"{times:.1f}", often(len(found["tools"][tool]))])
        if tool in judge.PEERS:
            notes.append(f"- {tool}: its time to ours {aim('peers', times, least=True)}")
    head = ["tool", "judgements", "calls made all the same", "s", "CPU s", "to ours", "how"]
    notes += failures(found["failed"])
    return table(head, rows) + "\n" + "\n".join(notes or [_NO_PEERS]) + "\n"


_NO_PEERS = "DeepEval, Inspect AI, Autorubric: not measured (`--peers` named no interpreter that has them)."


def judging_table(kept: Kept) -> str:
    """Live judging: the pump by itself, then whole sessions."""
    pumps, sessions = [], {}
    limit = IN_FLIGHT / LATENCY_MS * 1000
    for key, value in kept.of("judging").items():
        kind, name = key.split("/", 1)
        if kind == "session":
            sessions[name] = value
            continue
        rate, cpu = value["calls"] / value["seconds"], value["cpu_s"] / value["calls"] * 1000
        pumps.append([name, f"{rate:.0f}", f"{limit:.0f}", f"{rate / limit:.2f}", f"{cpu:.2f}"])
    head = ["client", "calls a second", "limit", "share", "CPU ms a call"]
    what = f"Answers come after {LATENCY_MS} ms, {IN_FLIGHT} calls are in flight. Each row is 1 measurement."
    return f"{what}\n\n{table(head, pumps)}\n{_sessions_table(sessions)}"


def _sessions_table(found: dict[str, dict[str, float] | str]) -> str:
    sessions = {name: one for name, one in found.items() if not isinstance(one, str)}
    ours = sessions["pytest -n 0, openai"]
    rows, notes = [], []
    for name, one in sessions.items():
        # Ours also ask about the run as a whole, and how its numbers can be recalculated: more calls.
        a_call = (one["seconds"] / one["calls"]) / (ours["seconds"] / ours["calls"])
        numbers = [
            f"{one['calls']}",
            f"{one['peak']}",
            f"{one['seconds']:.2f}",
            f"{one['seconds'] / ours['seconds']:.2f}",
        ]
        rows.append([name, *numbers, f"{a_call:.2f}", f"{one['cpu_s'] / one['calls'] * 1000:.1f}"])
        if name in judge.PEERS:
            notes.append(
                f"- {name}: its time to that of our session {aim('live', one['seconds'] / ours['seconds'], least=True)}"
            )
    head = ["session, start included", "calls", "most at once", "s", "to ours", "a call, to ours", "CPU ms a call"]
    notes += failures({name: one for name, one in found.items() if isinstance(one, str)})
    return table(head, rows) + "\n" + "\n".join(notes or [_NO_PEERS]) + "\n"


def evidence_table(kept: Kept) -> str:
    """Evidence packages a second."""
    found = kept.of("evidence")["rate"]
    row = [f"{found['packages']}", f"{found['a second']:.0f}", often(found["rounds"])]
    return table(["packages", "a second", "how"], [row])
