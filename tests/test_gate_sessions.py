"""Gates in sessions: their options and ini twins, baselines on disk, and what every output says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pytest
from sample import LEVELS, OTHER, RUBRIC, Cohort, rubric_text, write_task

TASKS = ("t1", "t2", "t3")
KNOWN = {**LEVELS, "rob.open": 1}
"""All assessed: 65 points."""
RUNS = "--sciagent-run=runs"
OLD = "--sciagent-baseline=old"
BELOW = "alpha - base is"
SHARED = " over 3 shared tasks, with 95 % confidence"


def suite_gates() -> dict[str | None, str | None]:
    """The decisions in the properties of JUnit's suite."""
    found = ElementTree.parse("j.xml").getroot().findall("testsuite/properties/property")
    return {p.get("name"): p.get("value") for p in found if (p.get("name") or "").startswith("sciagent_gate")}


def gate_lines(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith(("gate ", "gates "))]


@pytest.fixture
def shop(cohort: Cohort) -> Cohort:
    """Three tasks; runs of `alpha`, and in `old` a baseline of the system `base` with verdicts of its own."""
    for task in TASKS[1:]:
        write_task(cohort.root / "tasks" / task)
    for task in TASKS:
        cohort.run("alpha", task, findings=1)
        cohort.run("base", task, findings=1, place=f"old/{task}")
    (cohort.root / "old" / "verdicts").mkdir()
    return cohort


def record(shop: Cohort, new: Mapping[str, Any], old: Mapping[str, Any], **how: Any) -> None:
    """Levels by criterion, the same on every task."""
    shop.record(lambda run, finding, criterion: new.get(criterion))
    shop.record(lambda run, finding, criterion: old.get(criterion), runs="old", **how)


# ---- options


EVERY = {
    "min_score": "65",
    "min_task_score": "66",
    "min_dimension": "robustness=50 evidence=50",
    "min_criterion": "ev.half=0.5",
    "max_not_assessed": "0",
    "max_judge_errors": "10",
    "max_run_cost": "0.5",
}
SAID = [
    "gate met: minimum score 65: the lowest is alpha with 65.0",
    "gate not met: minimum task score 66: alpha/t1 has 65.0",
    "gate not met: minimum of dimension robustness 50 %: alpha has 33.3 %",
    "gate met: minimum of dimension evidence 50 %: the lowest is alpha with 78.6 %",
    "gate met: minimum level of ev.half 0.5: the lowest is alpha with 0.50",
    "gate met: at most 0 % not assessed: alpha has 0.0 % (0 not assessed and 0 in error of 4 criteria)",
    "gate met: at most 10 % judge errors: 0.0 % (0 of 4 criteria judged)",
    "gate inconclusive: at most 0.5 USD to judge a run: the cost of 4 of 4 answers is not recorded; alpha/t1 cost 0.00",
    "gates not met: 2 of 8 not met, 1 inconclusive, 5 met",
]


@pytest.fixture
def one(cohort: Cohort) -> Cohort:
    cohort.run("alpha", findings=1)
    cohort.record(lambda run, finding, criterion: KNOWN[criterion])
    return cohort


def test_every_option(one: Cohort) -> None:
    options = [f"--sciagent-{name.replace('_', '-')}={value}" for name, value in EVERY.items() if " " not in value]
    more = ["--sciagent-min-dimension=robustness=50", "--sciagent-min-dimension=evidence=50"]
    result = one.pytest(RUNS, "-q", *options, *more)
    assert gate_lines(result) == SAID
    assert result.ret == 1
    assert asked_by(result) == [
        "--sciagent-min-task-score=66 (command line)",
        "--sciagent-min-dimension=robustness=50 (command line)",
        "--sciagent-max-run-cost=0.5 (command line)",
    ]


def asked_by(result: pytest.RunResult) -> list[str]:
    """Who asked for each gate that is not met, as it is told below the gate."""
    lead = "  asked for by "
    return [line.removeprefix(lead) for line in result.outlines if line.startswith(lead)]


def test_every_ini_twin_in_pyproject(one: Cohort) -> None:
    (one.root / "pytest.ini").unlink()
    lines = [f"sciagent_{name} = '{value}'" for name, value in EVERY.items()]
    text = "\n".join(["[tool.pytest.ini_options]", "sciagent_rubric = 'small'", *lines]) + "\n"
    (one.root / "pyproject.toml").write_text(text)
    result = one.pytest(RUNS)
    assert gate_lines(result) == SAID
    assert result.ret == 1
    assert asked_by(result) == [
        "sciagent_min_task_score = 66 (pyproject.toml)",
        "sciagent_min_dimension = robustness=50 (pyproject.toml)",
        "sciagent_max_run_cost = 0.5 (pyproject.toml)",
    ]
    result = one.pytest(RUNS, "--sciagent-min-dimension=evidence=60", "--sciagent-min-task-score=0")
    assert asked_by(result) == ["sciagent_max_run_cost = 0.5 (pyproject.toml)"]
    assert gate_lines(result)[1:4] == [
        "gate met: minimum task score 0: the lowest is alpha/t1 with 65.0",
        "gate met: minimum of dimension evidence 60 %: the lowest is alpha with 78.6 %",
        SAID[4],
    ]
    assert result.ret == 10


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--sciagent-min-task-score=-1"], "--sciagent-min-task-score -1.0: a number from 0 to 100"),
        (["--sciagent-min-dimension=evidence"], "--sciagent-min-dimension 'evidence': write ID=PERCENT"),
        (["--sciagent-min-dimension=evidence=x"], "--sciagent-min-dimension evidence 'x' is not a number"),
        (["--sciagent-min-criterion=ev.full=2"], "--sciagent-min-criterion ev.full 2.0: a number from 0 to 1"),
        (["--sciagent-min-criterion=a=1"] * 2, "--sciagent-min-criterion: 'a' is given twice"),
        (["--sciagent-max-run-cost=inf"], "--sciagent-max-run-cost inf: a number 0 or more"),
        (["--sciagent-margin=3"], "--sciagent-margin belongs to a baseline: name it with --sciagent-baseline"),
        (["--sciagent-no-fall"], "--sciagent-no-fall belongs to a baseline: name it with --sciagent-baseline"),
        (
            ["--sciagent-min-dimension=evidense=5"],
            "--sciagent-min-dimension evidense: this session has no such dimension; did you mean 'evidence'?",
        ),
        (
            ["--sciagent-min-criterion=nothing=1"],
            "--sciagent-min-criterion nothing: this session has no such criterion; choose from ev.full, ev.half, "
            "rob.open, rob.zero (of your own: those of the root's conftest.py and of plugins)",
        ),
        (["--sciagent-baseline=nowhere"], "--sciagent-baseline: *nowhere: there is no such file or folder"),
        (["--sciagent-baseline=tasks"], "--sciagent-baseline: *tasks: there is no frozen run at or below it, and it *"),
        (["--sciagent-baseline=pytest.ini"], "--sciagent-baseline: *pytest.ini:1: not readable as JSON: *"),
        (["-o", "sciagent_max_judge_errors=few"], "sciagent_max_judge_errors 'few' is not a number"),
        (["-o", "sciagent_min_criterion=ev.full=1.5"], "sciagent_min_criterion ev.full 1.5: a number from 0 to 1"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_values(cohort: Cohort, args: list[str], message: str) -> None:
    cohort.run(findings=1)
    result = cohort.pytest(RUNS, *args)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert len([line for line in result.stderr.lines if line.strip()]) == 1


NO_RESULTS: list[tuple[str, Any, str]] = [
    # key, what stands there instead, message
    ("schema", "sciagent-results/9", "schema: input should be 'sciagent-results/1'*"),
    ("runs", [], "none of its runs has a score"),
    ("runs", None, "runs: input should be *"),
    ("runs", lambda runs: runs * 2, "it holds alpha/t1, repeat 1, twice"),
    ("runs", lambda runs: [runs[0] | {"score": {"low": 70, "high": 65}}], "runs*.score: low is above high"),
]


def test_a_results_file_that_is_none(one: Cohort) -> None:
    found = one.results(RUNS)
    for key, instead, message in NO_RESULTS:
        changed = found | {key: instead(found[key]) if callable(instead) else instead}
        (one.root / "old.json").write_text(json.dumps(changed, indent=1))
        result = one.pytest(RUNS, "--sciagent-baseline=old.json")
        assert result.ret == 4
        result.stderr.fnmatch_lines([f"ERROR: --sciagent-baseline: *old.json*: {message}"])


LAYERED = {"evidence.execution_receipt": 40, "evidence.artifact_traceability": 20, "rob.full": 40, "ev.claim": 10}


def test_the_two_layers_of_acceptance(cohort: Cohort) -> None:
    """Executed and traceable by three criteria, tested by four dimensions: each with a gate and an ini twin."""
    text = rubric_text(weights=LAYERED)
    (cohort.root / "rubrics" / "small.yaml").write_text(text)
    cohort.run("alpha", findings=2)
    levels = {"evidence.execution_receipt": 1, "evidence.artifact_traceability": 0, "ev.claim": 0}
    cohort.record(lambda run, finding, criterion: levels.get(criterion, 0.5 if finding == "finding_1" else None))
    options = ["--sciagent-min-executed=66.6", "--sciagent-min-tested=50"]
    result = cohort.pytest(RUNS, *options)
    said = [
        "gate met: minimum executed and traceable 66.6 %: the lowest is alpha with 66.7 %",
        "gate inconclusive: minimum tested 50 %: alpha has 25.0..75.0 %; what is not assessed could turn it",
        "gates inconclusive: 1 of 2 inconclusive, 1 met",
    ]
    assert gate_lines(result) == said
    assert result.ret == 10
    shown = result.outlines[result.outlines.index(next(o for o in result.outlines if "by layer: " in o)) :][1:3]
    assert [" ".join(line.split()) for line in shown] == [
        "executed alpha [============= ] 67 %",
        "tested alpha [=====.......... ] 25..75 %",
    ]
    found = cohort.results(RUNS, *options, code=10)
    assert found["systems"][0]["layers"]["tested"] == {"low": 0.25, "high": 0.75}
    assert [f["layers"]["executed"]["low"] for f in found["runs"][0]["findings"]] == [0.666667] * 2
    ini = cohort.root / "pytest.ini"
    ini.write_text(ini.read_text() + "sciagent_min_executed = 66.6\nsciagent_min_tested = 50\n")
    assert gate_lines(cohort.pytest(RUNS)) == said
    assert gate_lines(cohort.pytest(RUNS, "--sciagent-min-executed=67", "--sciagent-min-tested=0")) == [
        "gate not met: minimum executed and traceable 67 %: alpha has 66.7 %",
        "gate met: minimum tested 0 %: the lowest is alpha with 25.0..75.0 %",
        "gates not met: 1 of 2 not met, 1 met",
    ]


def test_a_rubric_without_the_layer_is_refused(cohort: Cohort) -> None:
    cohort.run(findings=1)
    result = cohort.pytest(RUNS, "--sciagent-min-executed=50")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --sciagent-min-executed: rubric small has no criterion of the layer 'executed and traceable' *"]
    )


def test_the_help_tells_of_the_gates(cohort: Cohort) -> None:
    text = " ".join(cohort.pytest("--help").stdout.str().split())
    for name in (*EVERY, "min_executed", "min_tested", "baseline", "margin", "no_fall", "allow_mixed"):
        assert f"--sciagent-{name.replace('_', '-')}" in text
        assert f"sciagent_{name}" in text
    assert "1 a criterion fails or errs; with gates: one is not met" in text
    assert "10 a gate is inconclusive" in text


def test_the_cost_of_a_run_is_that_of_the_answers_behind_it(one: Cohort) -> None:
    path = one.root / "verdicts" / "alpha" / "t1.json"
    record = json.loads(path.read_text())
    for entry in record["entries"]:
        entry["cost_usd"] = 0.125
    stale = record["entries"][0] | {"key": "0" * 64, "cost_usd": 100}  # of a question that is no longer asked
    path.write_text(json.dumps(record | {"entries": [*record["entries"], stale]}))
    result = one.pytest(RUNS, "--sciagent-max-run-cost=0.5")
    assert gate_lines(result) == ["gate met: at most 0.5 USD to judge a run: alpha/t1 cost 0.50, the most of 1 run"]
    assert one.pytest(RUNS, "--sciagent-max-run-cost=0.49").ret == 1


# ---- baselines


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_a_baseline_of_runs(shop: Cohort, extra: list[str]) -> None:
    record(shop, KNOWN | {"ev.full": 0}, KNOWN)
    result = shop.pytest(RUNS, OLD, "--sciagent-no-fall", *extra)
    assert gate_lines(result) == [
        f"gate not met: at most 4 points below old: {BELOW} -40.0{SHARED} below -40.0",
        "gate not met: no fall from 1 to 0 against old: of 6 that held 3 fell",
        "gates not met: 2 of 2 not met",
    ]
    assert [line for line in result.outlines if line.startswith("  fell: ")] == [
        f"  fell: alpha/{task} finding_1 ev.full" for task in TASKS
    ]
    assert result.ret == 1


def test_a_baseline_of_a_results_file_is_the_same(shop: Cohort) -> None:
    record(shop, KNOWN | {"ev.full": 0.5}, KNOWN | {"rob.open": None})
    shop.results("--sciagent-run=old")
    (shop.root / "results.json").rename(shop.root / "old.json")
    told = []
    for place in ("old", "old.json"):
        result = shop.pytest(RUNS, f"--sciagent-baseline={place}", "--sciagent-margin=30.5", "--sciagent-no-fall")
        told.append([line.replace(place, "X") for line in gate_lines(result)])
        assert result.ret == 0
    assert told[0] == told[1]
    assert told[0][0] == f"gate met: at most 30.5 points below X: {BELOW} -20.0..-10.0{SHARED} above -30.3"


def test_a_baseline_beside_the_runs_is_not_compared_with_itself(shop: Cohort) -> None:
    record(shop, KNOWN, KNOWN)
    result = shop.pytest("--sciagent-run=.", OLD)
    assert gate_lines(result) == [f"gate met: at most 4 points below old: {BELOW} +0.0{SHARED} above +0.0"]
    ini = shop.root / "pytest.ini"
    ini.write_text(ini.read_text() + "sciagent_baseline = old\nsciagent_margin = 0\nsciagent_no_fall = true\n")
    result = shop.pytest(RUNS)
    assert [line.split(":")[0] for line in gate_lines(result)] == [
        "gate inconclusive",
        "gate met",
        "gates inconclusive",
    ]
    assert result.ret == 10


def test_another_judge_is_refused_at_once_or_told_everywhere(shop: Cohort) -> None:
    record(shop, KNOWN, KNOWN, judge=OTHER)
    difference = 'judge handoff:tester {"layout": "item"}, but handoff:other {"layout": "item"} in the baseline'
    result = shop.pytest(RUNS, OLD)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [f"ERROR: --sciagent-baseline old was scored in another way: {difference}; score it again, or allow *"]
    )
    assert "passed" not in result.stdout.str()
    mixed = [RUNS, OLD, "--sciagent-allow-mixed", "--junitxml=j.xml", "--sciagent-no-fall"]
    found = shop.results(*mixed, code=0)["gate"]
    assert len(found["gates"]) == 2
    assert all(gate["sentence"].endswith(f"; MIXED: {difference}") for gate in found["gates"])
    lines = gate_lines(shop.pytest(*mixed))
    assert lines[:2] == [f"gate {gate['outcome']}: {gate['sentence']}" for gate in found["gates"]]
    assert list(suite_gates().values()) == [
        "met: 2 of 2 met",
        *(f"{gate['outcome']}: {gate['sentence']}" for gate in found["gates"]),
    ]


def test_another_rubric_is_refused_at_once(shop: Cohort) -> None:
    record(shop, KNOWN, KNOWN)
    shop.results("--sciagent-run=old")
    (shop.root / "results.json").rename(shop.root / "old.json")
    file = shop.root / "rubrics" / "small.yaml"
    file.write_text(rubric_text().replace("Is it so?", "Is it really so?"))
    result = shop.pytest(RUNS, "--sciagent-baseline=old.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --sciagent-baseline old.json was scored in another way: rubric small 1: digest ????????????, but *"]
    )
    result = shop.pytest(RUNS, "--sciagent-baseline=old.json", "--sciagent-profile=required")
    result.stderr.fnmatch_lines(["ERROR: *: rubric small: profile required, but weighted in the baseline; *"])


HOUSE_JUDGE = """
import pytest
from pytest_sciagent import Judge
from pytest_sciagent.models import JudgeIdentity

class House(Judge):
    identity = JudgeIdentity(kind="house", model="plain")

    def ask(self, prompt):
        return {"rationale": "none", "citations": [], "zero": True, "full": False, "half": False}

@pytest.fixture
def judge():
    return House()
"""


def test_a_judge_that_is_known_late_is_refused_as_soon_as_it_is(shop: Cohort) -> None:
    shop.record(lambda run, finding, criterion: KNOWN.get(criterion), runs="old")
    (shop.root / "conftest.py").write_text(HOUSE_JUDGE)
    args = [RUNS, OLD, "--sciagent-min-score=0", "--sciagent-ledger-mode=live"]
    result = shop.pytest(*args)
    assert result.ret == 4
    result.stdout.fnmatch_lines(
        [
            "alpha: 0.0 (mean of 3 tasks)",
            "ERROR: --sciagent-baseline old was scored in another way: judge house:plain, *",
        ]
    )
    assert gate_lines(result) == []
    assert shop.pytest(*args, "--sciagent-allow-mixed").ret == 1


def test_an_incomplete_session_is_not_compared(shop: Cohort) -> None:
    record(shop, KNOWN, KNOWN)
    result = shop.pytest(RUNS, OLD, "-k", "ev")
    assert gate_lines(result) == [
        "gate inconclusive: at most 4 points below old: not compared; 6 of 12 criteria were not tested"
    ]
    assert result.ret == 10


def test_a_tampered_run_of_the_baseline_is_left_out(shop: Cohort) -> None:
    record(shop, KNOWN, KNOWN)
    (shop.root / "old" / "t1" / "output" / "Result.md").write_text("changed")
    result = shop.pytest(RUNS, OLD)
    assert gate_lines(result) == [
        f"gate met: at most 4 points below old: {BELOW} +0.0 over 2 shared tasks (1 of one side only left out), "
        "with 95 % confidence above +0.0"
    ]


def test_a_criterion_of_the_users_own_and_a_second_rubric_can_be_gates(shop: Cohort) -> None:
    (shop.root / "conftest.py").write_text(
        "from pytest_sciagent import criterion\n\n@criterion('own.holds')\ndef holds(finding):\n    return 0.5\n"
    )
    more = rubric_text(weights={"ev.more": 1}).replace("id: small", "id: more")
    (shop.root / "rubrics" / "more.yaml").write_text(more)
    both = ("small", "more")
    shop.record(lambda run, finding, criterion: 0 if criterion == "ev.more" else KNOWN[criterion], rubrics=both)
    shop.record(lambda run, finding, criterion: 1, runs="old", rubrics=both)
    gates = [OLD, "--sciagent-no-fall", "--sciagent-margin=100"]
    gates += ["--sciagent-min-criterion=own.holds=0.4", "--sciagent-min-criterion=ev.more=0"]
    result = shop.pytest(RUNS, "--sciagent-rubric=small", "--sciagent-rubric=more", *gates)
    assert gate_lines(result)[:2] == [
        "gate met: minimum level of own.holds 0.4: the lowest is alpha with 0.50",
        "gate met: minimum level of ev.more 0: the lowest is alpha with 0.00",
    ]
    assert "  fell: alpha/t2 finding_1 ev.more" in result.outlines


# ---- a rubric for each task


TWO = ("for_t1", "for_t2")


@pytest.fixture
def two(cohort: Cohort) -> Cohort:
    """Two tasks, each with a rubric of its own: other dimensions, other weights; a baseline in `old`."""
    write_task(cohort.root / "tasks" / "t2")
    own = {"t1": {"ev.one": 70, "rob.one": 30}, "t2": {"ev.two": 90, "evidence.data_identity": 10}}
    for task, weights in own.items():
        head = RUBRIC.replace("id: small", f"id: for_{task}").replace("curated", f"induced\ntask_id: {task}")
        text = rubric_text(head, weights)
        if task == "t2":
            text = text.replace("evidence, weight: 70", "shape, weight: 100").replace(
                "dimension: evidence", "dimension: shape"
            )
            text = text.replace("  - {id: robustness, weight: 30}\n", "")
        (cohort.root / "rubrics" / f"for_{task}.yaml").write_text(text)
        cohort.run("alpha", task, findings=1)
        cohort.run("base", task, findings=1, place=f"old/{task}")
    (cohort.root / "old" / "verdicts").mkdir()
    settings = ("[pytest]", "sciagent_rubric = for_t1 for_t2", "sciagent_allow_late_rubric = true", "")
    (cohort.root / "pytest.ini").write_text("\n".join(settings))
    known = {"ev.one": 1, "rob.one": 0, "ev.two": 0.5, "evidence.data_identity": 1}
    cohort.record(lambda run, finding, criterion: known[criterion], rubrics=TWO)
    cohort.record(lambda run, finding, criterion: known[criterion] and 1, rubrics=TWO, runs="old")
    return cohort


def test_each_task_is_gated_by_the_weights_of_its_own_rubric(two: Cohort) -> None:
    options = ("min-task-score=60", "min-dimension=robustness=1", "min-dimension=shape=55", "min-executed=90")
    result = two.pytest(RUNS, *(f"--sciagent-{option}" for option in options))
    assert gate_lines(result) == [
        "gate not met: minimum task score 60: alpha/t2 has 55.0",
        "gate met: minimum executed and traceable 90 %: the lowest is alpha with 100.0 %",
        "gate not met: minimum of dimension robustness 1 %: alpha has 0.0 %",
        "gate met: minimum of dimension shape 55 %: the lowest is alpha with 55.0 %",
        "gates not met: 2 of 4 not met, 2 met",
    ]
    assert "stand beside them" not in result.stdout.str()


def test_only_what_scores_a_run_of_the_session_can_be_gated(two: Cohort) -> None:
    result = two.pytest("--sciagent-run=runs/alpha/t1", "--sciagent-min-executed=1")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --sciagent-min-executed: rubric for_t1 has no criterion of the layer *"])
    result = two.pytest("--sciagent-run=runs/alpha/t2", "--sciagent-min-dimension=robustness=1")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --sciagent-min-dimension robustness: this session has no such dimension; *"])


def test_a_baseline_of_runs_is_scored_by_the_rubric_of_each_task(two: Cohort) -> None:
    two.results("--sciagent-run=old")
    (two.root / "results.json").rename(two.root / "old.json")
    told = []
    for place in ("old", "old.json"):
        result = two.pytest(RUNS, f"--sciagent-baseline={place}", "--sciagent-no-fall")
        told.append([line.replace(place, "X") for line in gate_lines(result)])
    assert told[0] == told[1]
    assert "-22.5" in told[0][0]  # t1 as in the baseline, t2 45 points below
