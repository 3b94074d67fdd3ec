"""A small task, a model that answers the stages of its induction, and the answers."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from loopback import Loopback
from sample import sciagent

OBJECTIVE = (
    "Find the level of the rows and its rate of change. Compare explanations of the rate. Test them on rows kept aside."
)
DATA = b"row,year,level,site\n" + b"".join(
    b"%d,%d,%.2f,%s\n" % (n, 1900 + n // 2, n * 0.37 % 5, b"north" if n % 2 else b"south") for n in range(40)
)


def write_task(folder: Path, objective: str = OBJECTIVE) -> None:
    """A task with one table; its first column counts the rows."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "levels.csv").write_bytes(DATA)
    (folder / "objective.md").write_text(objective)
    (folder / "DATA_GUIDE.md").write_text("levels.csv: one row a year and site.\n")
    (folder / "task.yaml").write_text(
        f"""\
schema: sciagent-task/1
id: {folder.name}
title: Levels
domain: testing
t0: '2001-01-01'
analysis_unit: year
licence: CC0-1.0
variables:
  levels.csv:
    year: {{unit: year, meaning: year}}
    level: {{unit: m, meaning: level}}
    gone: {{unit: m, meaning: not there}}
files:
  - {{path: data/levels.csv, bytes: {len(DATA)}, sha256: {hashlib.sha256(DATA).hexdigest()}}}
"""
    )


def goal(number: int, title: str, quote: str) -> dict[str, Any]:
    return {"id": f"G{number}", "title": title, "requirement": f"{title} is found.", "instruction_evidence": [quote]}


GOALS: dict[str, Any] = {
    "rationale": "Three things are asked for.",
    "goals": [
        goal(1, "Level and rate", "Find the level"),
        goal(2, "Comparison of explanations", "Compare explanations"),
        goal(3, "Test on rows kept aside", "rows kept aside"),
    ],
}
IDS = ("G1", "G2", "G3")
MEANING: dict[str, Any] = {
    "rationale": "A table of levels.",
    "files": [{"file": "levels.csv", "meaning": "levels by year and site", "cautions": []}],
    "goals": [
        {"goal_id": i, "feasible": "yes", "why": "there are levels", "columns": ["levels.csv:level"]} for i in IDS
    ],
}
QUERIES: dict[str, Any] = {
    "rationale": "Methods.",
    "goals": [
        {
            "goal_id": i,
            "queries": [f"comparing explanations of rates {i}", "rate of a level", "rows kept aside in tests"],
        }
        for i in IDS
    ],
}
LISTS = ("metrics", "baselines", "controls", "robustness_checks", "evidence_forms", "open_questions")
GROUNDING: dict[str, Any] = {
    "rationale": "They tell methods.",
    "goals": [
        {"goal_id": i, "sources": ["L1"], "methods": ["least squares"], **{name: [] for name in LISTS}} for i in IDS
    ],
}
SUBJECTS = (
    "a rate with its unit",
    "a spread over sites",
    "a constant rival",
    "a curved rival",
    "rows held back",
    "an error measure",
)


def criterion(number: int, subject: str, **other: Any) -> dict[str, Any]:
    return {
        "id": f"criterion_{number}",
        "title": subject,
        "scope": "finding",
        "goal_ids": [IDS[number % 3]],
        "question": f"Does this finding give {subject} from executed analysis?",
        "boundary": "Judges nothing else.",
        "data_sources": ["levels.csv:level"],
        "required_analysis": [f"computing {subject}"],
        "metrics": [],
        "comparisons": [],
        "expected_artifacts": [{"type": "table", "name": "results", "must_show": subject}],
        "satisfaction_condition": f"The frozen files hold {subject}.",
        "level_1": f"The finding gives {subject} and the code that computed it.",
        "level_half": f"The finding gives {subject} without the code that computed it.",
        "level_0": f"The finding lacks {subject}.",
        "requires": [],
        "priority": ("high", "medium", "low")[number % 3],
        "sources": [],
        **other,
    }


CRITERIA: dict[str, Any] = {
    "rationale": "One thing each.",
    "criteria": [criterion(n, subject) for n, subject in enumerate(SUBJECTS)],
    "claims_to_avoid": ["A cause."],
}
AXES = ("operational_specificity", "evidence_grounding", "feasibility", "scientific_coverage")
QUALITY: dict[str, Any] = {"rationale": "Fair."} | {axis: {"reason": "as it says", "score": 4} for axis in AXES}
ANSWERS: dict[str, Any] = {
    "goals": GOALS,
    "meaning": MEANING,
    "queries": QUERIES,
    "grounding": GROUNDING,
    "criteria": CRITERIA,
    "critique": {"rationale": "Nothing is left out.", "gaps": []},
    "merge": {"rationale": "All are the same.", "same": [{"first": i, "second": i} for i in IDS]},
    "quality": QUALITY,
}
Answering = Mapping[str, Any] | Callable[[int], Any]


class Model:
    """A model on 127.0.0.1 that answers each stage. prompts: all that it was shown; kinds: what it was asked.

    other: answers instead of the usual ones, by kind; may be functions of how often this kind was asked.
    """

    def __init__(self, other: Mapping[str, Answering] | None = None) -> None:
        self.answers: dict[str, Any] = {**ANSWERS, **(other or {})}
        self.prompts: list[str] = []
        self.kinds: list[str] = []
        self._turn = threading.Lock()
        self._server = Loopback(self._answer)

    def _answer(self, request: dict[str, Any], n: int) -> Any:
        kind = request["response_format"]["json_schema"]["name"]
        with self._turn:  # several are asked at once
            self.kinds.append(kind)
            self.prompts.append("\n".join(str(message["content"]) for message in request["messages"]))
            answer = self.answers[kind]
            return answer(self.kinds.count(kind)) if callable(answer) else answer

    def __enter__(self) -> Model:
        self._server.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.__exit__(kind, error, at)

    @property
    def url(self) -> str:
        return self._server.openai_url

    def induce(self, *args: str) -> tuple[int, str, str]:
        """`sciagent induce`, with this model."""
        return sciagent("induce", *args, "--pause=0", "--judge=openai:m-1", f"--base-url={self.url}")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
