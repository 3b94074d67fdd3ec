"""The gates by themselves, over results made by hand: what they decide."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import DIMENSIONS, IDS, SMALL, Levels, baseline_of, results_of, run_of, scored
from sample import OTHER

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.gates import Decision, Gate, decide_all
from pytest_sciagent.gates.baseline import Baseline, scored_by
from pytest_sciagent.gates.decision import show
from pytest_sciagent.gates.limits import MaxJudgeErrors, MaxNotAssessed, MaxRunCost
from pytest_sciagent.gates.no_fall import NoFall
from pytest_sciagent.gates.noninferiority import NotWorse, compare
from pytest_sciagent.gates.thresholds import MinCriterion, MinDimension, MinScore, MinTaskScore
from pytest_sciagent.models import Rubric
from pytest_sciagent.reporting.results import RunResult
from pytest_sciagent.scoring import Interval
from pytest_sciagent.statistics import difference_noise, non_inferiority

# ---- random cohorts and gates

LEVELS = (1, 0.5, 0, None, 1, "error", 1)
# One number a finding: many small draws take most of the time.
FINDING = st.integers(0, len(LEVELS) ** 4 - 1).map(
    lambda n: [LEVELS[n // len(LEVELS) ** place % len(LEVELS)] for place in range(4)]
)
FINDINGS = st.lists(FINDING, max_size=2)
COSTS = st.sampled_from([(), (0.0,), (0.1, 0.25), (0.1, None), (None,)])


@st.composite
def cohorts(draw: st.DrawFn, systems: Sequence[str], repeats: int = 2, place: str = "runs") -> list[RunResult]:
    runs = []
    for system in systems:
        for task in draw(st.lists(st.sampled_from(["t1", "t2", "t3"]), min_size=1, unique=True)):
            numbers = range(1, draw(st.integers(1, repeats)) + 1)
            runs += [run_of(system, task, draw(FINDINGS), number, draw(COSTS), place) for number in numbers]
    return runs


OPEN = "inconclusive"
PERCENT = st.sampled_from([0.0, 12.5, 33.3, 50.0, 61.25, 87.5, 100.0])


@st.composite
def value_gates(draw: st.DrawFn, baseline: Baseline) -> list[Gate]:
    """One of each gate on levels and scores: what is not assessed may decide them either way."""
    return [
        MinScore(draw(PERCENT)),
        MinTaskScore(draw(PERCENT)),
        MinDimension(draw(st.sampled_from(DIMENSIONS)), draw(PERCENT)),
        MinCriterion(draw(st.sampled_from(IDS)), draw(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))),
        NotWorse(baseline, draw(st.sampled_from([0.0, 4.0, 30.0, 100.0]))),
        NoFall(baseline),
    ]


SYSTEMS = st.sampled_from([["alpha"], ["alpha", "beta"]])
OLD = st.sampled_from([["gamma"], ["alpha", "beta"]])


def completed(runs: Sequence[RunResult], level: Iterator[float], place: str) -> list[RunResult]:
    """The same runs with a level for all that has none."""
    return [
        run_of(
            run.index.system,
            run.index.task_id,
            [[next(level) if v.level is None else v.level for v in finding.verdicts] for finding in run.findings],
            run.index.repeat,
            place=place,
        )
        for run in runs
    ]


def always(level: float) -> Iterator[float]:
    while True:
        yield level


def any_of(seed: int) -> Iterator[float]:
    drawn = random.Random(seed)
    while True:
        yield drawn.choice([0, 0.5, 1])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_is_not_assessed_never_turns_a_decision(data: st.DataObject) -> None:
    old = data.draw(OLD.flatmap(lambda names: cohorts(names, repeats=1, place="old")))
    runs = data.draw(SYSTEMS.flatmap(lambda names: cohorts(names, repeats=1)))
    gates = data.draw(value_gates(baseline_of(old)))
    decided = [(gate, decision) for gate in gates if (decision := gate.decide(results_of(runs))).outcome != OPEN]
    seed = data.draw(st.integers(0, 1000))
    for mine, yours in [
        (always(0), always(1)),
        (always(1), always(0)),
        (any_of(seed), any_of(seed + 1)),
        (any_of(seed + 2), any_of(seed + 3)),
    ]:
        filled = results_of(completed(runs, mine, "runs"))
        baseline = baseline_of(completed(old, yours, "old"))
        for gate, decision in decided:
            again = replace(gate, baseline=baseline) if isinstance(gate, NotWorse | NoFall) else gate
            assert again.decide(filled).outcome == decision.outcome, decision.sentence


POINTS = st.integers(0, 400).map(lambda n: Fraction(n, 4))
BY_TASK = st.dictionaries(st.sampled_from(["t1", "t2", "t3", "t4"]), st.lists(POINTS, min_size=1, max_size=3))


@settings(max_examples=150, deadline=None)
@given(BY_TASK, BY_TASK, st.sampled_from([0.0, 4.0, 20.0]))
def test_known_scores_are_compared_as_the_statistic_does(
    new: dict[str, list[Fraction]], old: dict[str, list[Fraction]], margin: float
) -> None:
    sides = [{task: [Interval.point(p) for p in points] for task, points in side.items()} for side in (new, old)]
    found = compare(sides[0], sides[1], margin)
    floats = [{task: [float(p) for p in points] for task, points in side.items()} for side in (new, old)]
    means = [{task: float(sum(points) / len(points)) for task, points in side.items()} for side in (new, old)]
    noise = difference_noise(*floats)
    test = non_inferiority(*means, margin=margin, noise=noise if noise.variance is not None else None)
    expected = {"non-inferior": "met", "inferior": "not met"}.get(test.outcome or "", "inconclusive")
    assert found.outcome == expected
    assert (found.n, found.low, found.high) == (test.n, test.low, test.high)


# ---- sentences


SIX = {f"t{n}": 60 for n in range(1, 7)}


def sentence(gate: Gate, runs: Sequence[RunResult]) -> str:
    decision = gate.decide(results_of(runs))
    return f"{decision.outcome}: {decision.sentence}"


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        (MinScore(60), "met: minimum score 60: the lowest is beta with 60.0"),
        (MinScore(60.1), "not met: minimum score 60.1: beta has 60.0"),
        (MinScore(90.5), "not met: minimum score 90.5: beta has 60.0, and 1 more below"),
        (MinTaskScore(50), "met: minimum task score 50: the lowest is beta/t1 with 60.0"),
        (MinTaskScore(80.00001), "not met: minimum task score 80.00001: beta/t1 has 60.0, and 1 more below"),
        (
            MinDimension("evidence", 80),
            "inconclusive: minimum of dimension evidence 80 %: beta has 57.1..100.0 %; what is not assessed could "
            "turn it",
        ),
        (MinDimension("robustness", 0.5), "not met: minimum of dimension robustness 0.5 %: beta has 0.0 %"),
        (MinCriterion("rob.zero", 0.25), "not met: minimum level of rob.zero 0.25: beta has 0.00"),
        (MinCriterion("ev.full", 1), "met: minimum level of ev.full 1: the lowest is alpha with 1.00"),
        (
            MaxNotAssessed(12.5),
            "not met: at most 12.5 % not assessed: beta has 25.0 % (1 not assessed and 0 in error of 4 criteria)",
        ),
        (
            MaxNotAssessed(25),
            "met: at most 25 % not assessed: beta has 25.0 % (1 not assessed and 0 in error of 4 criteria)",
        ),
        (MaxJudgeErrors(9.5), "not met: at most 9.5 % judge errors: 14.3 % (1 of 7 criteria judged)"),
        (MaxJudgeErrors(14.29), "met: at most 14.29 % judge errors: 14.286 % (1 of 7 criteria judged)"),
        (MaxRunCost(0.3), "not met: at most 0.3 USD to judge a run: alpha/t1 cost 0.35"),
        (
            MaxRunCost(0.5),
            "inconclusive: at most 0.5 USD to judge a run: the cost of 1 of 3 answers is not recorded; "
            "alpha/t1 cost 0.35",
        ),
    ],
    ids=str,
)
def test_the_sentence_has_the_numbers_that_decided(gate: Gate, expected: str) -> None:
    alpha = run_of("alpha", "t1", [[1, 1, "error", 0]], costs=[0.1, 0.25])
    beta = run_of("beta", "t1", [[1, None, 0, 0]], costs=[None])
    alpha = replace(alpha, total=Interval.point(80))
    beta = replace(beta, total=Interval.point(60))
    assert sentence(gate, [alpha, beta]) == expected


def test_a_system_that_delivered_nothing_has_nothing() -> None:
    nothing = [run_of("alpha", "t1", [])]
    assert sentence(MinDimension("evidence", 1), nothing).startswith("not met: ")
    assert sentence(MinCriterion("ev.full", 0.1), nothing).startswith("not met: ")
    assert sentence(MaxNotAssessed(0), nothing).startswith("met: ")
    assert sentence(MaxJudgeErrors(5), nothing) == "inconclusive: at most 5 % judge errors: no criterion was judged"
    assert sentence(MaxRunCost(0), nothing).endswith("alpha/t1 cost 0.00, the most of 1 run")


@pytest.mark.parametrize("gate", [MinScore(1), MinTaskScore(1), MaxNotAssessed(1), MaxJudgeErrors(1), MaxRunCost(1)])
def test_without_any_run_nothing_is_decided(gate: Gate) -> None:
    assert gate.decide(results_of([])).outcome == "inconclusive"


@settings(deadline=None)
@given(st.fractions(0, 100, max_denominator=10**6), st.integers(0, 10**6).map(lambda n: Fraction(n, 10**4)))
def test_digits_show_the_side_of_the_bound(value: Fraction, bound: Fraction) -> None:
    shown = Fraction(show(Interval.point(value), bound))
    assert (shown > bound, shown == bound) == (value > bound, value == bound)


# ---- the baseline


SHARED = " over 6 shared tasks, "
BOUNDS = "its one-sided 95 % bounds are"
AGAINST: dict[str, tuple[Mapping[str, Any], Mapping[str, Any], float, str]] = {
    # what: the session's scores, the baseline's, the margin, what is said of alpha - base
    "the same": (SIX, SIX, 4, f"met: is +0.0{SHARED}with 95 % confidence above +0.0"),
    "one task worse": ({**SIX, "t1": 40}, SIX, 4, f"inconclusive: is -3.3{SHARED}{BOUNDS} -10.1 and +3.4"),
    "all worse": (
        {task: 50 + n for n, task in enumerate(SIX)},
        SIX,
        4,
        f"not met: is -7.5{SHARED}with 95 % confidence below -6.0",
    ),
    "one shared task": (
        {"t1": 60, "t9": 3},
        SIX,
        4,
        "inconclusive: is +0.0 over 1 shared task (6 of one side only left out), and one shared task tells nothing "
        "about the spread of the differences",
    ),
    "no shared task": (
        {"t9": 3},
        SIX,
        4,
        "inconclusive: is not known: the two systems share no task (7 of one side only left out)",
    ),
    "hardly open": ({**SIX, "t1": (60, 61)}, SIX, 4, f"met: is +0.0..+0.2{SHARED}with 95 % confidence above -0.4"),
    "wide open": ({**SIX, "t1": (20, 100)}, SIX, 4, f"inconclusive: is -6.7..+6.7{SHARED}{BOUNDS} -21.4 and +21.4"),
    "open, and yet worse": (
        dict.fromkeys(SIX, (20, 30)),
        SIX,
        4,
        f"not met: is -40.0..-30.0{SHARED}with 95 % confidence below -25.5",
    ),
    "one task by its noise": (
        {"t1": [60, 62]},
        {"t1": [60, 62]},
        40,
        "met: is +0.0 over 1 shared task, with 95 % confidence above -4.1",
    ),
    "noise of repeats": ({**SIX, "t1": [50, 70]}, SIX, 4, f"inconclusive: is +0.0{SHARED}{BOUNDS} -50.5 and +50.5"),
}


@pytest.mark.parametrize(("new", "old", "margin", "expected"), AGAINST.values(), ids=AGAINST)
def test_not_worse(new: Mapping[str, Any], old: Mapping[str, Any], margin: float, expected: str) -> None:
    gate = NotWorse(baseline_of(scored("base", old, place="old")), margin)
    outcome, said = expected.split(": ", 1)
    told = f"{outcome}: at most {margin:g} points below old: alpha - base {said}"
    assert sentence(gate, scored("alpha", new)) == told


def test_several_systems_are_compared_by_name_or_all_with_the_only_one() -> None:
    low, high = {t: 40 + n for n, t in enumerate(SIX)}, {t: 80 + n for n, t in enumerate(SIX)}
    session = [*scored("alpha", high), *scored("beta", low)]
    only = NotWorse(baseline_of(scored("base", SIX, place="old")), 4).decide(results_of(session))
    assert only.outcome == "not met"
    assert only.sentence.startswith("at most 4 points below old: beta - base is -17.5 over 6 shared tasks")
    assert [detail.split(" is ")[0] for detail in only.details] == ["met: alpha - base", "not met: beta - base"]
    old = [*scored("alpha", high, place="old"), *scored("beta", low, place="old")]
    assert NotWorse(baseline_of(old), 4).decide(results_of(session)).outcome == "met"
    found = NotWorse(baseline_of(old), 4).decide(results_of([*session, *scored("gamma", high)]))
    assert (found.outcome, found.sentence) == (
        "inconclusive",
        "at most 4 points below old: gamma has no counterpart of its name",
    )


@pytest.mark.parametrize("gate", [lambda b: NotWorse(b, 4), NoFall], ids=["not worse", "no fall"])
def test_nothing_is_compared_with_itself(gate: Any) -> None:
    base = scored("base", SIX)
    found = gate(baseline_of(base)).decide(results_of(base))
    assert found.outcome == "inconclusive"
    assert found.sentence.endswith("no system but the baseline itself was tested")
    found = gate(baseline_of(base)).decide(results_of([*base, *scored("alpha", SIX)]))
    assert found.outcome == "met"


NEW_RUN: dict[str, tuple[Levels, Levels, str, list[str]]] = {
    # what: the baseline's levels, the session's, the decision, its details
    "all kept": ([[1, 1, 0, 0]], [[1, 0.5, 0, 1]], "met: of 2 that held 0 fell", []),
    "one fell": (
        [[1, 1, 0, 1]],
        [[1, 0, 0, 0]],
        "not met: of 3 that held 2 fell",
        ["fell: alpha/t1 finding_1 ev.half", "fell: alpha/t1 finding_1 rob.open"],
    ),
    "one open now": (
        [[1, 1, 0, 0]],
        [[1, None, 0, 0]],
        "inconclusive: of 2 that held 0 fell, 1 may have fallen",
        ["open: alpha/t1 finding_1 ev.half"],
    ),
    "one open then": (
        [[1, None, 0, 0]],
        [[1, 0, 0, 0]],
        "inconclusive: of 2 that held 0 fell, 1 may have fallen",
        ["open: alpha/t1 finding_1 ev.half"],
    ),
    "open then, holds now": ([[1, None, 0, 0]], [[1, 1, 0, 0]], "met: of 1 that held 0 fell", []),
    "a finding less": (
        [[1, 0, 0, 0], [1, 1, 0, 0]],
        [[1, 0, 0, 0]],
        "met: of 1 that held 0 fell; 2 in findings that are not there any more",
        [],
    ),
    "nothing delivered": (
        [[1, 0, 0, 0]],
        [],
        "not met: of 1 that held 1 fell",
        ["fell: alpha/t1 finding_1 ev.full"],
    ),
    "nothing held": ([[0, 0.5, 0, 0]], [[0, 0, 0, 0]], "met: of 0 that held 0 fell", []),
}


@pytest.mark.parametrize(("old", "new", "expected", "details"), NEW_RUN.values(), ids=NEW_RUN)
def test_no_fall(old: Levels, new: Levels, expected: str, details: list[str]) -> None:
    gate = NoFall(baseline_of([run_of("base", "t1", old, place="old")]))
    decision = gate.decide(results_of([run_of("alpha", "t1", new)]))
    outcome, counts = expected.split(": ")
    assert decision == Decision(outcome, f"no fall from 1 to 0 against old: {counts}", tuple(details))  # type: ignore[arg-type]


def test_no_fall_with_repeats_and_without_a_shared_task() -> None:
    old = [run_of("base", "t1", [[1, 1, 0, 0]], place="old"), run_of("base", "t1", [[1, 0.5, 0, 0]], 2, place="old")]
    new = [run_of("alpha", "t1", [[1, 0, 0, 0]]), run_of("alpha", "t1", [[0, 0, 0, 0]], 3)]
    found = NoFall(baseline_of(old)).decide(results_of(new))
    assert found.details == ("fell: alpha/t1.r3 finding_1 ev.full",)
    found = NoFall(baseline_of(old)).decide(results_of([run_of("alpha", "t2", [[1, 1, 1, 1]])]))
    assert (found.outcome, found.sentence) == (
        "inconclusive",
        "no fall from 1 to 0 against old: alpha shares no task with it",
    )


@pytest.mark.parametrize("gate", [lambda b: NotWorse(b, 4), NoFall], ids=["not worse", "no fall"])
def test_another_judge_or_rubric_is_refused_or_told(gate: Any) -> None:
    runs, old = results_of(scored("alpha", SIX)), scored("base", SIX, place="old")
    judges = 'judge handoff:tester {"layout": "item"}, but handoff:other {"layout": "item"} in the baseline'
    with pytest.raises(SciagentError, match="was scored in another way: judge handoff:tester"):
        gate(baseline_of(old, OTHER)).decide(runs)
    assert gate(baseline_of(old, OTHER, allow_mixed=True)).decide(runs).sentence.endswith(f"; MIXED: {judges}")
    heavier = SMALL.model_copy(update={"dimensions": SMALL.dimensions[:1]})
    other = replace(baseline_of(old), rubrics=scored_by([Rubric.model_validate(SMALL.as_json() | {"title": "other"})]))
    with pytest.raises(SciagentError, match=r"rubric small 1: digest [0-9a-f]{12}, but [0-9a-f]{12} in the baseline"):
        gate(other).decide(runs)
    other = replace(other, rubrics=scored_by([heavier.model_copy(update={"version": "2"})]), allow_mixed=True)
    assert "; MIXED: rubric small 1, but small 2 in the baseline" in gate(other).decide(runs).sentence
    other = replace(other, rubrics=(replace(other.rubrics[0], version="\x1b[31m2\n"),))
    assert "but small \\x1b[31m2 in the baseline" in gate(other).decide(runs).sentence
    required = Rubric.model_validate(SMALL.as_json() | {"profile": "required"})
    with pytest.raises(SciagentError, match="rubric small: profile weighted, but required in the baseline"):
        gate(replace(other, rubrics=scored_by([required]), allow_mixed=False)).decide(runs)


def test_runs_of_a_baseline_are_not_scored_for_an_incomplete_session() -> None:
    def score() -> list[Any]:
        raise AssertionError("the baseline was scored")

    baseline = replace(baseline_of([]), find_runs=score)
    results = results_of(scored("alpha", SIX), "the session was stopped")
    decision, decisions = decide_all([NotWorse(baseline, 4), NoFall(baseline)], results)
    assert decision is not None
    assert (decision.outcome, decision.sentence) == ("inconclusive", "2 of 2 inconclusive")
    assert decisions[0].sentence == "at most 4 points below old: not compared; the session was stopped"
