"""The session of a job: which options of pytest follow from what the job was told, and what its exit code means."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..gates import EXIT_INCONCLUSIVE
from .event import Job

RESULTS, LINES, SUMMARY, JUNIT, PAGE = "results.json", "verdicts.jsonl", "summary.md", "junit.xml", "report.html"
RECORDS = "records"
"""Where a part of a sharded session leaves the verdicts it recorded."""
Outcome = Literal["pass", "fail", "inconclusive", "error"]
_OUTCOMES: dict[int, Outcome] = {0: "pass", 1: "fail", EXIT_INCONCLUSIVE: "inconclusive"}
_FINE_FOR_A_PART = (0, 1, 5, EXIT_INCONCLUSIVE)
"""A part decides nothing, and may hold no run at all: that is the work of the session over all parts."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a job was told: runs to test, where records lie, and what to compare and decide with."""

    runs: tuple[str, ...]
    report: Path
    ledger: Path
    baseline: str | None = None
    judge: str | None = None
    rubrics: tuple[str, ...] = ()
    prompts_from: str | None = None
    changed: tuple[str, ...] = ()
    shard: str | None = None
    more: tuple[str, ...] = ()


def command(wish: Wish, job: Job) -> list[str]:
    """The command line of the session. On a fork nobody is asked: there are no keys, and nothing of it may use one."""
    files = {"json": RESULTS, "jsonl": LINES, "summary": SUMMARY}
    options = [f"--sciagent-run={run}" for run in wish.runs]
    options += [f"--sciagent-rubric={rubric}" for rubric in wish.rubrics]
    options += [f"--sciagent-ledger={wish.ledger}"]
    options += [f"--sciagent-{name}={wish.report / file}" for name, file in files.items()]
    options += [f"--junitxml={wish.report / JUNIT}", f"--sciagent-html={wish.report / PAGE}"]
    for name, value in (("baseline", wish.baseline), ("judge", wish.judge), ("prompts-from", wish.prompts_from)):
        options += [f"--sciagent-{name}={value}"] if value else []
    options += [f"--sciagent-changed-prompt={file}" for file in wish.changed]
    options += [f"--sciagent-shard={wish.shard}"] if wish.shard else []
    options += wish.more
    if job.pull_request is not None and job.pull_request.is_fork:
        options.append("--sciagent-ledger-mode=replay")
    return [sys.executable, "-m", "pytest", *options]


def outcome_of(code: int) -> Outcome:
    """What an exit code of the session says."""
    return _OUTCOMES.get(code, "error")


def exit_code(code: int, shard: str | None) -> int:
    """The exit code of the step that ran the session."""
    return 0 if shard and code in _FINE_FOR_A_PART else code


def leftovers(report: Path) -> Sequence[Path]:
    """Files of an earlier session, which must not be taken for this one's."""
    return [report / name for name in (RESULTS, LINES, SUMMARY, JUNIT, PAGE)]
