"""The exit code: pytest's rule without a gate; with one, the score decides, and nothing is ever lowered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sample import LEVELS, Cohort, outcomes

MET, NOT_MET, OPEN, NONE = "gate met", "gate not met", "gate inconclusive", ""
BREAK = {
    "interrupt": "    raise KeyboardInterrupt\n",
    "exit": "    pytest.exit('enough', returncode=7)\n",
    "crash": "    os._exit(3)\n",
    "nothing": "    return 1\n",
}
OWN = (
    "import os\nimport pytest\nfrom pytest_sciagent import criterion\n\n"
    "@criterion('own.breaks')\ndef breaks(finding):\n%s"
)
INTERNAL = "def pytest_runtest_logreport(report):\n    raise RuntimeError('broken plugin')\n"


def recorded(cohort: Cohort, **levels: object) -> None:
    """One run with two findings; `rob.open` is 1, so that the score is known: 65."""
    cohort.run()
    given = {**LEVELS, "rob.open": 1, **{k.replace("_", "."): v for k, v in levels.items()}}
    cohort.record(lambda run, finding, criterion: given.get(criterion))  # type: ignore[arg-type, return-value]


Prepare = Callable[[Cohort], None]


def known(cohort: Cohort) -> None:
    recorded(cohort)


def all_pass(cohort: Cohort) -> None:
    recorded(cohort, ev_half=1, rob_zero=1)


def open_end(cohort: Cohort) -> None:
    recorded(cohort, rob_open=None)


def in_error(cohort: Cohort) -> None:
    recorded(cohort, rob_open="unverified")


def with_own(kind: str, then: Prepare = known) -> Prepare:
    def prepare(cohort: Cohort) -> None:
        then(cohort)
        (cohort.root / "conftest.py").write_text(OWN % BREAK[kind])

    return prepare


def internal(cohort: Cohort) -> None:
    known(cohort)
    (cohort.root / "conftest.py").write_text(INTERNAL)


def own_test(body: str) -> Prepare:
    def prepare(cohort: Cohort) -> None:
        known(cohort)
        (cohort.root / "test_own.py").write_text(f"def test_own(): {body}\n")

    return prepare


def tampered(cohort: Cohort) -> None:
    known(cohort)
    (cohort.run("beta") / "output" / "Result.md").write_text("changed")


def failed_run(cohort: Cohort) -> None:
    known(cohort)
    cohort.run("beta", status="failed")


BOTH, ALONE = ("0", "1"), ("0",)
SITUATIONS: list[tuple[str, Prepare, list[str], int, str, tuple[str, ...]]] = [
    # what, prepared, options, exit code, what the gate says, for which -n
    ("all pass, no gate", all_pass, [], 0, NONE, ALONE),
    ("some fail, no gate", known, [], 1, NONE, BOTH),
    ("some fail, gate met", known, ["--sciagent-min-score=60"], 0, MET, BOTH),
    ("gate met exactly", known, ["--sciagent-min-score=65"], 0, MET, ALONE),
    ("gate not met", known, ["--sciagent-min-score=90"], 1, NOT_MET, ALONE),
    ("gate missed by a hair", known, ["--sciagent-min-score=65.0000001"], 1, NOT_MET, ALONE),
    ("all pass, gate met at 100", all_pass, ["--sciagent-min-score=100"], 0, MET, ALONE),
    (
        "no criterion fails, gate not met",
        lambda c: recorded(c, rob_zero=0.5),
        ["--sciagent-min-score=90"],
        1,
        NOT_MET,
        ALONE,
    ),
    ("score open, gate met by its lower end", open_end, ["--sciagent-min-score=55"], 0, MET, ALONE),
    ("score open, gate inside", open_end, ["--sciagent-min-score=60"], 10, OPEN, BOTH),
    ("score open, gate out of reach", open_end, ["--sciagent-min-score=66"], 1, NOT_MET, ALONE),
    ("error, gate met by the lower end", in_error, ["--sciagent-min-score=55"], 0, MET, ALONE),
    ("error, gate inside", in_error, ["--sciagent-min-score=60"], 10, OPEN, ALONE),
    ("strict, gate met", known, ["--sciagent-min-score=60", "--sciagent-strict"], 1, MET, BOTH),
    ("strict, all pass, gate met", all_pass, ["--sciagent-min-score=60", "--sciagent-strict"], 0, MET, ALONE),
    (
        "strict, all pass, unrecorded",
        lambda c: recorded(c, ev_half=1, rob_zero=1, rob_open=None),
        ["--sciagent-min-score=60", "--sciagent-strict"],
        1,
        MET,
        ALONE,
    ),
    ("-x", known, ["--sciagent-min-score=10", "-x"], 1, OPEN, ALONE),
    ("-x in parallel", known, ["--sciagent-min-score=10", "-x"], 2, OPEN, ("2",)),
    ("--maxfail", known, ["--sciagent-min-score=10", "--maxfail=1"], 1, OPEN, ALONE),
    ("--maxfail not reached", known, ["--sciagent-min-score=10", "--maxfail=3"], 0, MET, ALONE),
    ("KeyboardInterrupt", with_own("interrupt"), ["--sciagent-min-score=10"], 2, OPEN, BOTH),
    ("KeyboardInterrupt, no gate", with_own("interrupt", all_pass), [], 2, NONE, ALONE),
    ("pytest.exit", with_own("exit"), ["--sciagent-min-score=10"], 7, NONE, ALONE),
    ("crash of a worker", with_own("crash"), ["--sciagent-min-score=10"], 1, OPEN, ("2",)),
    ("internal error", internal, ["--sciagent-min-score=10"], 3, NONE, BOTH),
    ("nothing selected", known, ["--sciagent-min-score=10", "-k", "nosuchthing"], 5, NONE, BOTH),
    ("--collect-only", known, ["--sciagent-min-score=10", "--collect-only"], 0, NONE, BOTH),
    ("usage error", known, ["--sciagent-min-score=101"], 4, NONE, BOTH),
    ("missing run", known, ["--sciagent-min-score=10", "--sciagent-run=nowhere"], 4, NONE, ALONE),
    ("own failing test, gate met", own_test("assert 0"), ["--sciagent-min-score=10", "test_own.py"], 1, MET, BOTH),
    ("own passing test, gate met", own_test("pass"), ["--sciagent-min-score=10", "test_own.py"], 0, MET, ALONE),
    (
        "own test can't be collected",
        own_test("pass"),
        ["--sciagent-min-score=10", "test_own.py", "nowhere.py"],
        4,
        NONE,
        ALONE,
    ),
    ("subset by -k", known, ["--sciagent-min-score=10", "-k", "ev"], 10, OPEN, BOTH),
    ("subset by node id", known, ["--sciagent-min-score=10", "runs/alpha/t1/run.json::finding_1"], 10, OPEN, ALONE),
    (
        "subset by --deselect, failing",
        known,
        ["--sciagent-min-score=90", "--deselect=runs/alpha/t1/run.json::finding_1::ev.full"],
        10,
        OPEN,
        ALONE,
    ),
    ("subset, no gate", known, ["-k", "ev"], 0, NONE, ALONE),
    ("own criterion deselected", with_own("nothing"), ["--sciagent-min-score=10", "-k", "not own"], 10, OPEN, ALONE),
    ("own criterion passes", with_own("nothing"), ["--sciagent-min-score=10"], 0, MET, ALONE),
    ("tampered run beside a good one", tampered, ["--sciagent-min-score=10"], 10, OPEN, BOTH),
    ("tampered run, strict", tampered, ["--sciagent-min-score=10", "--sciagent-strict"], 1, OPEN, ALONE),
    ("tampered run, no gate", tampered, [], 1, NONE, ALONE),
    ("failed run, gate met by the others", failed_run, ["--sciagent-min-score=0"], 0, MET, ALONE),
    ("failed run, gate not met", failed_run, ["--sciagent-min-score=1"], 1, NOT_MET, ALONE),
]
CASES = [
    pytest.param(prepare, options, code, says, workers, id=f"{what}, n={workers}")
    for what, prepare, options, code, says, numbers in SITUATIONS
    for workers in numbers
]


@pytest.mark.parametrize(("prepare", "options", "code", "says", "workers"), CASES)
def test_exit_code(cohort: Cohort, prepare: Prepare, options: list[str], code: int, says: str, workers: str) -> None:
    prepare(cohort)
    interrupted = code in (2, 7)  # which an inner session would raise again in this process
    result = cohort.pytest("--sciagent-run=runs", "-n", workers, *options, fresh=interrupted)
    assert result.ret == code
    told = [line for line in result.outlines if line.startswith("gate ")]
    assert len(told) == (1 if says else 0)
    assert all(line.startswith(f"{says}: ") for line in told)


def test_own_test_that_can_not_be_imported(cohort: Cohort) -> None:
    recorded(cohort)
    (cohort.root / "test_own.py").write_text("import nosuchmodule\n")
    assert cohort.pytest("--sciagent-run=runs", "test_own.py", "--sciagent-min-score=10").ret == 2
    args = ("--sciagent-run=runs", "test_own.py", "--sciagent-min-score=10", "--continue-on-collection-errors")
    assert cohort.pytest(*args).ret == 1


def test_the_gate_says_which_system_and_by_how_much(cohort: Cohort) -> None:
    recorded(cohort)
    cohort.run("beta")
    cohort.record(
        lambda run, finding, criterion: 0 if run.startswith("beta") else {**LEVELS, "rob.open": 1}.get(criterion)
    )
    for score, sentence in (
        ("50", "gate not met: minimum score 50: beta has 0.0"),
        ("0", "gate met: minimum score 0: the lowest is beta with 0.0"),
    ):
        result = cohort.pytest("--sciagent-run=runs", f"--sciagent-min-score={score}")
        result.stdout.fnmatch_lines([sentence])


def test_rounding_never_hides_on_which_side_a_score_lies(cohort: Cohort) -> None:
    (cohort.root / "rubrics" / "small.yaml").write_text(
        (cohort.root / "rubrics" / "small.yaml").read_text().replace("weight: 40", "weight: 49.9999")
    )
    recorded(cohort, ev_half=0, rob_open=0)
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-min-score=45.5")
    result.stdout.fnmatch_lines(["gate not met: minimum score 45.5: alpha has 45.45"])
    assert result.ret == 1


def test_the_ini_twin(cohort: Cohort) -> None:
    recorded(cohort)
    ini = cohort.root / "pytest.ini"
    ini.write_text(ini.read_text() + "sciagent_min_score = 60\n")
    assert cohort.pytest("--sciagent-run=runs").ret == 0
    assert cohort.pytest("--sciagent-run=runs", "--sciagent-min-score=70").ret == 1
    ini.write_text(ini.read_text().replace("60", "sixty"))
    result = cohort.pytest("--sciagent-run=runs")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: sciagent_min_score 'sixty' is not a number"])


def test_a_gate_does_not_hide_failing_criteria(cohort: Cohort) -> None:
    recorded(cohort)
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-min-score=60")
    assert outcomes(result) == {"passed": 4, "half": 2, "failed": 2}
    result.stdout.fnmatch_lines(["FAILED *rob.zero*"])
