"""What users of other tools have complained of, tried here; kinds that have a test elsewhere are not repeated."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from sample import QUOTE, Cohort, outcomes

from pytest_sciagent.evidence import QuoteIndex
from pytest_sciagent.evidence.artifacts import Artifacts
from pytest_sciagent.models import Citation
from pytest_sciagent.runs import Run
from pytest_sciagent.statistics import non_inferiority

ODD = """
import datetime, decimal, enum, pathlib
import numpy
from pytest_sciagent.checks import CheckResult

class Colour(enum.Enum):
    RED = 1

def check(context):
    odd = {
        "decimal": decimal.Decimal("1.5"), "path": pathlib.Path("a"), "when": datetime.datetime(2026, 1, 2),
        "colour": Colour.RED, "scalar": numpy.float32(2.5), "nan": float("nan"), "half": "a\\udcb2b", "set": {1},
        "object": object(), "array": numpy.arange(3), "bytes": b"\\xff",
    }
    return CheckResult("decided", "because \\udcb2 \\x1b[31m", "odd", 0.0, odd)

def pytest_sciagent_checks():
    return {"own.odd": check}
"""


@pytest.mark.parametrize("extra", [[], ["-n2"]], ids=["n0", "n2"])
def test_values_that_no_message_between_processes_may_hold_end_as_plain_ones(cohort: Cohort, extra: list[str]) -> None:
    cohort.run()
    cohort.run("beta")
    cohort.record()
    rubric = cohort.root / "rubrics" / "small.yaml"
    rubric.write_text(rubric.read_text().replace("    judge: true\n", "    check: own.odd\n", 1))
    (cohort.root / "conftest.py").write_text(ODD)
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-json=r.json", "--junitxml=j.xml", *extra)
    text = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in text
    assert result.ret == 1
    assert outcomes(result)["failed"] == 8
    assert "\x1b" not in (cohort.root / "r.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("hook", "code"),
    [
        ("def pytest_sessionfinish(session):\n    session.exitstatus = 1\n", 1),
        ("def pytest_runtest_setup(item):\n    pytest.exit('stop', returncode=1)\n", 1),
        ("def pytest_runtest_setup(item):\n    pytest.exit('stop', returncode=7)\n", 7),
        ("def pytest_runtest_setup(item):\n    raise KeyboardInterrupt\n", 2),
        ("def pytest_collection_modifyitems(items):\n    raise pytest.UsageError('no')\n", 4),
    ],
    ids=["said failed", "exit 1", "exit 7", "Ctrl-C", "usage"],
)
def test_a_met_gate_never_improves_an_exit_code_of_another(cohort: Cohort, hook: str, code: int) -> None:
    cohort.run(findings=1)
    cohort.record()
    (cohort.root / "conftest.py").write_text(f"import pytest\n{hook}")
    assert cohort.pytest("--sciagent-run=runs", "--sciagent-min-score=0", fresh=True).ret == code


class _Planted:
    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> Any:
        return Path.touch, (self._marker,)


def test_a_pickle_in_a_ledger_or_cache_is_never_loaded(cohort: Cohort) -> None:
    marker = cohort.root / "loaded"
    cohort.run(findings=1)
    cohort.record()
    planted = pickle.dumps(_Planted(marker))
    for place in ("verdicts/alpha", ".sciagent/cache", ".sciagent/work", ".sciagent/batches", ".sciagent/rates"):
        folder = cohort.root / place
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("verdicts.pkl", "entry.pickle", "x.db", "cache.dat"):
            (folder / name).write_bytes(planted)
    result = cohort.pytest("--sciagent-run=runs")
    assert outcomes(result) == {"passed": 1, "half": 1, "failed": 1, "not assessed": 1}
    assert not marker.exists()
    (cohort.root / "verdicts" / "alpha" / "t1.json").write_bytes(planted)
    result = cohort.pytest("--sciagent-run=runs")
    assert result.ret == 4
    assert not marker.exists()
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("tasks", [2, 3, 10, 40])
def test_a_noisy_judge_alone_makes_no_more_false_alarms_than_stated(tasks: int) -> None:
    """Base and head are alike, 15 % of the levels flip each time they are judged: 500 pull requests, 5 % of them may be
    told to be worse, and that by 0 points already (the least margin)."""
    draw = random.Random(tasks)
    true = {f"t{task}": [draw.choice((0.0, 0.5, 1.0)) for _ in range(87)] for task in range(tasks)}

    def judged() -> dict[str, float]:
        return {
            task: 100 * mean(draw.choice((0.0, 0.5, 1.0)) if draw.random() < 0.225 else level for level in levels)
            for task, levels in true.items()
        }

    outcomes = Counter(non_inferiority(judged(), judged(), margin=0).outcome for _ in range(500))
    assert outcomes["inferior"] <= 0.05 * 500 + 3 * (500 * 0.05 * 0.95) ** 0.5
    assert outcomes["inconclusive"] > 0


@pytest.mark.parametrize("joint", [" … ", "...", " [...] ", "; ", " "])
def test_passages_that_are_joined_to_one_quote_stand_nowhere(cohort: Cohort, joint: str) -> None:
    """Both halves stand in the report, with other words between them."""
    quotes = QuoteIndex(Artifacts(Run.load(cohort.run(findings=1))))
    words = QUOTE.split()
    joined = " ".join(words[:3]) + joint + " ".join(words[4:])
    assert quotes.verify(Citation(file="output/Result.md", quote=QUOTE)).verified
    assert not quotes.verify(Citation(file="output/Result.md", quote=joined)).verified
