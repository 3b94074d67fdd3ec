"""One function decides, and every output says so: terminal, JSON, JUnit, summary, HTML, exit code, in 1,000 cohorts.

A further output is one line in `RENDERED` (what is written of results in this process) and one in `WRITTEN` (what a
session leaves in a file): each gives what it says of all gates together, and of each.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import html5lib
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_results import DIMENSIONS, IDS, Lines, baseline_of, results_of, run_of
from sample import LEVELS, Cohort, write_task

from pytest_sciagent.gates import Gate, decide_all, exit_code, failures_that_count
from pytest_sciagent.gates.baseline import Baseline
from pytest_sciagent.gates.limits import MaxJudgeErrors, MaxNotAssessed, MaxRunCost
from pytest_sciagent.gates.no_fall import NoFall
from pytest_sciagent.gates.noninferiority import NotWorse
from pytest_sciagent.gates.thresholds import MinCriterion, MinDimension, MinLayer, MinScore, MinTaskScore
from pytest_sciagent.reporting.html.pages import write_html
from pytest_sciagent.reporting.html.runs import Material
from pytest_sciagent.reporting.json_file import results_as_json
from pytest_sciagent.reporting.junit import tell_junit
from pytest_sciagent.reporting.results import Results, RunResult
from pytest_sciagent.reporting.summary import summary
from pytest_sciagent.reporting.terminal import write_summary
from pytest_sciagent.reporting.words import Words

Said = tuple[str | None, list[str]]
"""`outcome: sentence` of all gates together (None without a gate), and of each gate."""
CODES = {"met": 0, "not met": 1, "inconclusive": 10}


def from_lines(lines: Sequence[str]) -> Said:
    """Where there is one gate, its line is that of all of them."""
    each = [line.removeprefix("gate ") for line in lines if line.startswith("gate ")]
    together = [line.removeprefix("gates ") for line in lines if line.startswith("gates ")]
    assert len(together) == (len(each) > 1)
    return (*together, *each, None)[0], each


def from_json(found: dict[str, Any]) -> Said:
    gate = found["gate"]
    if gate is None:
        return None, []
    return f"{gate['outcome']}: {gate['sentence']}", [f"{g['outcome']}: {g['sentence']}" for g in gate["gates"]]


def from_properties(properties: Mapping[str, str]) -> Said:
    each = {name: told for name, told in properties.items() if re.fullmatch(r"sciagent_gate_\d+", name)}
    return properties.get("sciagent_gate"), [each[f"sciagent_gate_{n}"] for n in range(1, len(each) + 1)]


def from_markdown(text: str) -> Said:
    head = re.search(r"^## sciagent: \S+ gate (.+)$", text, re.MULTILINE)
    if head is None:
        return None, []
    decided = text[head.start() :].split("\n\n|", 1)[0]
    each = [
        f"{outcome}: {sentence}"
        for outcome, sentence in re.findall(r"^- \S+ \*\*(.+?)\*\*: `(.*)`$", decided, re.MULTILINE)
    ]
    together = re.search(r"^`(.*)`$", decided, re.MULTILINE)
    return f"{head[1]}: {together[1]}" if together is not None else each[0], each


def from_page(text: str) -> Said:
    page = html5lib.parse(text, namespaceHTMLElements=False)
    shown = [p for p in page.iter("p") if "gate" in (p.get("class") or "").split()]
    said = [": ".join("".join(part.itertext()) for part in p.findall("span")) for p in shown]
    together = next((s for s, p in zip(said, shown, strict=True) if "big" in (p.get("class") or "").split()), None)
    return together, said[1:] if len(said) > 1 else said


# ---- in this process


def terminal(results: Results) -> Said:
    lines = Lines()
    write_summary(lines, results, -1)  # type: ignore[arg-type]
    return from_lines(lines.lines)


def json_file(results: Results) -> Said:
    return from_json(json.loads(json.dumps(results_as_json(results), allow_nan=False)))


def junit(results: Results) -> Said:
    class Writer:
        def __init__(self) -> None:
            self.properties: dict[str, str] = {}

        def add_global_property(self, name: str, value: str) -> None:
            self.properties[name] = value

    writer = Writer()
    tell_junit([object(), writer], results)
    return from_properties(writer.properties)


def markdown(results: Results) -> Said:
    return from_markdown(summary(results, Words()))


def page(results: Results) -> Said:
    """The overview alone: no run has a file to show."""
    material = Material({}, frozenset(), (), None, lambda run: None, lambda run: None, Words(), "")
    with tempfile.TemporaryDirectory() as folder:
        (written,) = write_html(Path(folder) / "page.html", replace(results, runs=()), material, None, None)
        return from_page(written.read_text())


RENDERED: Mapping[str, Callable[[Results], Said]] = {
    "terminal": terminal,
    "json": json_file,
    "junit": junit,
    "summary": markdown,
    "html": page,
}


class Draw(random.Random):
    """Cohorts and gates at random: quick, and the same for the same seed."""

    def cohort(self, systems: Sequence[str], place: str = "runs") -> list[RunResult]:
        return [
            run_of(system, task, self.findings(), repeat, self.choice(((), (0.0,), (0.1, 0.25), (0.1, None))), place)
            for system in systems
            for task in self.sample(("t1", "t2", "t3"), self.randint(1, 3))
            for repeat in range(1, self.randint(1, 2) + 1)
        ]

    def findings(self) -> list[list[Any]]:
        usual = self.choice(((1, 0.5, 0), (1, 0.5, 0, None), (1,), (1, 1, 0, "error")))
        return [[self.choice(usual) for _ in IDS] for _ in range(self.choice((0, 1, 1, 2)))]

    def gates(self, baseline: Baseline) -> list[Gate]:
        percent = self.choice((0.0, 12.5, 33.3, 50.0, 61.25, 87.5, 100.0))
        every: list[Gate] = [
            MinScore(percent),
            MinTaskScore(percent),
            MinLayer("tested", percent),
            MinLayer("executed", percent),
            MinDimension(self.choice(DIMENSIONS), percent),
            MinCriterion(self.choice(IDS), self.choice((0.0, 0.25, 0.5, 1.0))),
            NotWorse(baseline, self.choice((0.0, 4.0, 30.0, 100.0))),
            NoFall(baseline),
            MaxNotAssessed(percent),
            MaxJudgeErrors(percent),
            MaxRunCost(self.choice((0.0, 0.2, 0.35, 10.0))),
        ]
        return self.sample(every, self.randint(0, 4))


@settings(max_examples=1_000, deadline=None)
@given(st.integers(0, 2**32 - 1))
@example(0)
def test_every_output_agrees_with_the_exit_code(seed: int) -> None:
    drawn = Draw(seed)
    baseline = baseline_of(drawn.cohort(drawn.choice((["gamma"], ["alpha", "beta"])), "old"))
    runs = drawn.cohort(drawn.choice((["alpha"], ["alpha", "beta"])))
    gates = drawn.gates(baseline)
    incomplete = drawn.choice(
        (None, None, None, "1 of 9 criteria were not tested", "beta/t1 can't be scored: tampered")
    )
    results = results_of(runs, incomplete)
    decision, decisions = decide_all(gates, results)
    results = replace(results, decision=decision, decisions=decisions)

    said = {name: render(results) for name, render in RENDERED.items()}
    expected = None if decision is None else f"{decision.outcome}: {decision.sentence}"
    assert said == dict.fromkeys(RENDERED, (expected, [f"{d.outcome}: {d.sentence}" for d in decisions]))

    failing = sum(v.level == 0 or v.is_error for run in runs for f in run.findings for v in f.verdicts)
    others = drawn.choice((0, 0, 1))
    failures = failures_that_count(failing + others, failing, decision, strict=False)
    code = exit_code(1 if failures else 0, decision)
    if decision is None:
        assert (gates, code) == ([], 1 if failing + others else 0)
        return
    outcomes = {d.outcome for d in decisions}
    worst = next(outcome for outcome in ("not met", "inconclusive", "met") if outcome in outcomes)
    assert decision.outcome == worst
    assert incomplete is None or outcomes == {"inconclusive"}
    assert code == (1 if others else CODES[worst])
    strict = failures_that_count(failing + others, failing, decision, strict=True)
    assert (strict == 0) == (failing + others == 0 and worst != "not met")
    assert [exit_code(lowest, decision) for lowest in (1, 2, 3, 4, 5, 7)] == [1, 2, 3, 4, 5, 7]


# ---- in sessions


def junit_properties(path: Path) -> Said:
    found = ElementTree.parse(path).getroot().findall("testsuite/properties/property")
    return from_properties({str(p.get("name")): str(p.get("value")) for p in found})


WRITTEN: Mapping[str, tuple[str, Callable[[Path], Said]]] = {
    # what: the option that asks for the file, and what the file says
    "json": ("--sciagent-json", lambda path: from_json(json.loads(path.read_text()))),
    "junit": ("--junitxml", junit_properties),
    "summary": ("--sciagent-summary", lambda path: from_markdown(path.read_text())),
    "html": ("--sciagent-html", lambda path: from_page(path.read_text())),
}
TASKS = ("t1", "t2", "t3")


@pytest.mark.parametrize("seed", range(6))
def test_sessions_agree_with_what_they_write(cohort: Cohort, seed: int) -> None:
    drawn = random.Random(seed)
    for task in TASKS[1:]:
        write_task(cohort.root / "tasks" / task)
    for task in TASKS:
        cohort.run("alpha", task, findings=1)
        cohort.run("base", task, findings=1, place=f"old/{task}")
    (cohort.root / "old" / "verdicts").mkdir()
    for runs in ("runs", "old"):
        levels = {(task, c): drawn.choice([1, 1, 0.5, 0, None]) for task in TASKS for c in (*LEVELS, "rob.open")}
        cohort.record(lambda run, finding, criterion, of=levels: of[run.split("/")[1], criterion], runs=runs)  # type: ignore[misc]
    if seed == 5:
        (cohort.root / "runs" / "alpha" / "t1" / "output" / "Result.md").write_text("changed")
    gates = [
        f"--sciagent-min-score={drawn.choice([0, 40, 100])}",
        f"--sciagent-min-task-score={drawn.choice([0, 30, 100])}",
        f"--sciagent-min-tested={drawn.choice([0, 30, 100])}",
        f"--sciagent-min-criterion=ev.full={drawn.choice([0, 0.5, 1])}",
        f"--sciagent-max-not-assessed={drawn.choice([0, 20, 100])}",
    ]
    chosen = drawn.sample(gates, drawn.randint(1, 4)) + drawn.choice(
        [[], ["--sciagent-baseline=old", "--sciagent-no-fall"]]
    )
    files = [f"{option}={cohort.root / name}" for name, (option, _) in WRITTEN.items()]
    result = cohort.pytest("--sciagent-run=runs", *chosen, *files)
    said = {name: read(cohort.root / name) for name, (_, read) in WRITTEN.items()}
    shown = from_lines(result.outlines)
    assert said == dict.fromkeys(WRITTEN, shown)
    assert shown[0] is not None
    assert result.ret == CODES[shown[0].split(":")[0]]
    assert seed != 5 or result.ret == 10
