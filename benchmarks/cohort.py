"""A synthetic cohort for benchmarks: runs of five findings each, every judged criterion with a recorded verdict."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pytest_sciagent.digest import sha256_bytes
from pytest_sciagent.evaluation import Sources, open_case
from pytest_sciagent.judging.clients import Reply
from pytest_sciagent.judging.handoff import handoff_identity
from pytest_sciagent.judging.judge import RecordedJudge
from pytest_sciagent.judging.settle import settle
from pytest_sciagent.ledger import write_record
from pytest_sciagent.models import JudgeUsage, LedgerEntry, System
from pytest_sciagent.rubrics import load_rubric
from pytest_sciagent.runs.freeze import FreezeOptions, freeze

FINDINGS = 5
CRITERIA = 29
JUDGE = handoff_identity("benchmark", "item")


def make_cohort(root: Path, runs: int, methods: str = "", systems: Sequence[str] = ("bench",)) -> None:
    """Write `runs` tasks, a frozen run of each of them by each of `systems`, and the recorded verdicts below `root`.

    `methods` is added to every report, to make the evidence for each finding as long as is wanted.
    """
    make_runs(root, range(runs), methods, systems)
    record_runs(root, range(runs), methods, systems)


def make_runs(root: Path, numbers: Sequence[int], methods: str, systems: Sequence[str]) -> None:
    """The tasks of these numbers and their frozen runs."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "pytest.ini").write_text("[pytest]\n")
    for number in numbers:
        task = f"task_{number:03d}"
        _task(root / "tasks" / task, task, number)
        for system in systems:
            _run(root, system, task, number, methods)


def record_runs(root: Path, numbers: Sequence[int], methods: str, systems: Sequence[str]) -> None:
    """The recorded verdicts on the runs of the tasks of these numbers."""
    sources = Sources(root)
    rubric = load_rubric("truthinsight", root, root)
    for number in numbers:
        for system in systems:
            _record(root, sources, rubric, system, f"task_{number:03d}")


def _task(path: Path, name: str, seed: int) -> None:
    (path / "data").mkdir(parents=True)
    data = "unit,x,y\n" + "".join(f"u{i},{i},{i * 2 + (seed * 7 + i * 3) % 5}\n" for i in range(40))
    (path / "data" / "points.csv").write_text(data)
    (path / "objective.md").write_text("# Points\nFind how y depends on x.\n")
    (path / "DATA_GUIDE.md").write_text("# Data guide\n- `points.csv`: `unit`, `x`, `y`, one unit a row.\n")
    digest = sha256_bytes(data.encode())
    (path / "task.yaml").write_text(
        f"schema: sciagent-task/1\nid: {name}\ntitle: Points\ndomain: benchmark\nt0: '2020-01-01'\n"
        "analysis_unit: one unit\nlicence: CC0\n"
        f"files:\n  - {{path: data/points.csv, bytes: {len(data)}, sha256: {digest}}}\n"
    )


def _run(root: Path, name: str, task: str, seed: int, methods: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        output = workspace / "output"
        (output / "results").mkdir(parents=True)
        parts = [f"# Report\n\nMethods: least squares on all units.\n{methods}"]
        for finding in range(1, FINDINGS + 1):
            slope = 2 + (seed + finding) / 1000
            (output / "results" / f"fit_{finding}.csv").write_text(
                f"quantity,value,ci_low,ci_high\nslope,{slope},{slope - 0.1},{slope + 0.1}\nn,40,,\n"
            )
            parts.append(
                f"\n## Finding {finding}: y rises with x, case {finding}\n\n"
                f"The slope is {slope} (95% CI {slope - 0.1:.3f} "
                f"to {slope + 0.1:.3f}), 40 units. Source `output/fit.py`, result `output/results/fit_{finding}.csv`.\n"
            )
        (output / "Result.md").write_text("".join(parts))
        (output / "fit.py").write_text(
            "import pandas as pd\nimport numpy as np\n\nframe = pd.read_csv('data/points.csv')\n"
            "slope = np.polyfit(frame.x, frame.y, 1)[0]\n"
            "frame.to_csv('output/results/fit_1.csv')\n"
        )
        system = System(name=name)
        freeze(workspace, root / "runs" / name / task, FreezeOptions(task_id=task, system=system), {})


def _record(root: Path, sources: Sources, rubric: object, system: str, task: str) -> None:
    case = open_case(root / "runs" / system / task, sources, lambda label, entry: None)
    judge = RecordedJudge(JUDGE)
    entries: list[LedgerEntry] = []
    answers = {"grouping": {"rationale": "all differ", "groups": []}, "plan": {"rationale": "none", "plans": []}}

    def take(requests: object) -> None:
        for request in requests:  # type: ignore[attr-defined]
            answer = answers.get(request.kind) or {
                "rationale": "the section says so",
                "citations": [{"file": "output/Result.md", "quote": "least squares on all units"}],
                "zero": False,
                "full": True,
                "half": False,
            }
            reply = Reply(json.dumps(answer), "assessed", "", None, JudgeUsage(), 0.0)
            entry = settle(request, JUDGE, reply, case.answers, time="2026-01-01T00:00:00Z")
            case.ledger.add(entry)
            entries.append(entry)

    take(case.questions.about_run())
    take(case.criterion_questions([rubric], judge))  # type: ignore[list-item]
    write_record(root / "verdicts", case.run.manifest, entries)
