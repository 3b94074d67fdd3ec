"""Votes weighed by people's labels: the arithmetic, simulated judges, sessions that weigh each run without its own."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Loopback
from sample import OTHER, TESTER, Cohort, sciagent
from sklearn.metrics import cohen_kappa_score
from test_calibrate import label
from test_panel import vote as ballot_of
from test_panels import Scripted, by_id, server_at

import pytest_sciagent
from pytest_sciagent.errors import SciagentError
from pytest_sciagent.evaluation.weights import count_votes
from pytest_sciagent.judging.draws import WEIGHTED
from pytest_sciagent.judging.handoff import handoff_identity
from pytest_sciagent.judging.panel import Ballot, Poll, combine, level_of
from pytest_sciagent.judging.prompts import PACKAGED
from pytest_sciagent.judging.reliability import Reliability, weight_of
from pytest_sciagent.models import LEVELS, JudgeIdentity, Label, Rater, Rubric, Verdict, Vote
from pytest_sciagent.models.weights import WeightsFile
from pytest_sciagent.rubrics import load_rubric

TEMPLATES = Path(pytest_sciagent.__file__).parent / "judging" / "templates"
WILD = handoff_identity("wild", "item")
PANEL = f"{TESTER.label},{OTHER.label},{WILD.label}"
RUN = "--sciagent-run=runs"
JUDGES = f"--sciagent-judge={PANEL}"
WEIGHED = (RUN, JUDGES, "--sciagent-combine=weighted", "--sciagent-weights=weights.json")
LEVEL = st.sampled_from(LEVELS)
WEIGHT = st.integers(0, 4).map(lambda tenths: tenths / 10)
VOTES = st.lists(st.tuples(st.one_of(st.none(), LEVEL), WEIGHT), min_size=1, max_size=7)


def cast(given: Sequence[tuple[float | None, float]], draws: int = 1) -> list[Vote]:
    """A vote for each level and weight, each of another judge, in so many like draws; without a level it failed."""
    return [
        Vote(
            judge=f"judge:{n}",
            draw=draw,
            status="refused" if level is None else "assessed",
            level=level,
            reason="x",
            weight=weight,
        )
        for n, (level, weight) in enumerate(given)
        for draw in range(1, draws + 1)
    ]


# ---- the vote


@given(st.lists(st.one_of(st.none(), LEVEL), min_size=1, max_size=7), st.sampled_from([0.1, 0.7, 2.302585]))
def test_equal_weights_are_the_majority(levels: list[float | None], weight: float) -> None:
    votes = cast([(level, weight) for level in levels])
    assert level_of(votes, WEIGHTED) == level_of(votes, "majority")


@given(VOTES, st.integers(1, 4))
def test_a_judge_has_its_weight_once_however_often_it_is_asked(given: list[Any], draws: int) -> None:
    assert level_of(cast(given, draws), WEIGHTED) == level_of(cast(given), WEIGHTED)


@given(LEVEL, WEIGHT, st.integers(1, 5))
def test_one_member_is_itself(level: float, weight: float, draws: int) -> None:
    assert level_of(cast([(level, weight)], draws), WEIGHTED) == level


@given(VOTES, st.randoms())
def test_the_order_of_votes_does_not_matter(given: list[Any], order: random.Random) -> None:
    shuffled = given[:]
    order.shuffle(shuffled)
    assert level_of(cast(shuffled), WEIGHTED) == level_of(cast(given), WEIGHTED)


@given(VOTES)
def test_what_weighs_most_wins_and_of_equals_the_lowest(given: list[Any]) -> None:
    level = level_of(cast(given), WEIGHTED)
    tenths = {x: sum(round(10 * w) for y, w in given if y == x) for x in LEVELS}
    voted = {y for y, _ in given if y is not None}
    failed = sum(y is None for y, _ in given)
    unheard = sum(round(10 * w) for y, w in given if y is None)
    if 2 * failed >= len(given) or (unheard and unheard >= sum(tenths.values())):
        assert level is None
    else:
        most = max(tenths[x] for x in voted)
        assert level == min(x for x in voted if tenths[x] == most)


def test_sums_of_weights_are_exact() -> None:
    # 0.1 + 0.2 is more than 0.3 in floating point; a tie it is all the same, and goes to the lower level
    assert level_of(cast([(1.0, 0.1), (1.0, 0.2), (0.0, 0.3)]), WEIGHTED) == 0


def test_the_heaviest_vote_with_its_level_is_shown_and_failed_evidence_earns_nothing() -> None:
    def weighed(level: float | None, judge: str, weight: float, status: str = "unverified") -> Ballot:
        return Ballot(judge, 1, ballot_of(level, judge, status=status).verdict, weight, "s/t")

    said = combine([weighed(1, "a", 0.2), weighed(1, "b", 3), weighed(0, "c", 1)], WEIGHTED)
    assert (said.level, [v.weight for v in said.votes], said.votes[0].without) == (1, [0.2, 3, 1], "s/t")
    # the heavy judge's evidence was not found: half of the weight and more has no level, whatever the others say
    heavy = combine([weighed(None, "a", 3), weighed(1, "b", 1), weighed(1, "c", 1)], WEIGHTED)
    assert (heavy.level, heavy.status) == (None, "unverified")
    # two of three failed: there is none, however much the third weighs
    lone = combine([weighed(1, "a", 9), weighed(None, "b", 0), weighed(None, "c", 0)], WEIGHTED)
    assert lone.level is None
    # a light one failed: the others decide among themselves, and its level is none of theirs
    light = combine([weighed(None, "a", 1), weighed(0, "b", 3), weighed(0, "c", 1)], WEIGHTED)
    assert (light.level, len(light.votes)) == (0, 3)


def test_weights_and_their_rule_belong_together() -> None:
    with pytest.raises(SciagentError, match="needs a file of weights"):
        Poll(rule=WEIGHTED)


# ---- weights of counts


MEMBERS = tuple(handoff_identity(name, "item") for name in "abcde")
RUBRIC: Rubric = load_rubric("truthinsight", Path.cwd(), Path.cwd())
DIMENSIONS = {criterion.id: criterion.dimension for criterion in RUBRIC.criteria}
EVEN = (1.0, 1.0, 1.0)
CRITERIA = [criterion for criterion in RUBRIC.criteria if criterion.judge][:6]


class Simulated:
    """Runs with known truth, labelled without error, and judges that are right with a probability each."""

    def __init__(self, seed: int, rights: Sequence[float | str], runs: int, shares: Sequence[float] = EVEN) -> None:
        draw = random.Random(seed)
        self.members = MEMBERS[: len(rights)]
        self.labels: list[Label] = []
        self.votes: list[tuple[Vote, ...]] = []
        for run in range(runs):
            for finding in ("finding_1", "finding_2"):
                for criterion in CRITERIA:
                    true = draw.choices(LEVELS, shares)[0]
                    self.labels.append(person(f"s{run}/t", criterion.id, true, finding))
                    self.votes.append(
                        tuple(
                            Vote(judge=m.label, draw=1, status="assessed", level=_said(draw, true, p), reason="x")
                            for m, p in zip(self.members, rights, strict=True)
                        )
                    )

    def count(self) -> WeightsFile:
        things = zip(self.labels, self.votes, strict=True)
        voted = {(one.run, one.finding or "", one.criterion): verdict_of(one.criterion, v) for one, v in things}
        return count_votes(self.labels, voted, self.members, RUBRIC, PACKAGED)


def _said(draw: random.Random, true: float, right: float | str) -> float:
    if isinstance(right, str):
        return float(right)  # says that, whatever is true
    return true if draw.random() < right else draw.choice([level for level in LEVELS if level != true])


def person(run: str, criterion: str, score: float, finding: str) -> Label:
    rater = Rater(kind="human", name="ann")
    return Label(
        dataset="sciagent", run=run, finding=finding, criterion=criterion, rater=rater, score=score, scale=(0, 1)
    )


def verdict_of(criterion: str, votes: tuple[Vote, ...]) -> Verdict:
    return Verdict(criterion_id=criterion, status="assessed", level=0, reason="x", reason_code="x", votes=votes)


def test_a_weight_is_the_log_odds_of_an_accuracy_among_three() -> None:
    found = Reliability(Simulated(3, [0.9, 0.6, 1 / 3], runs=400).count()).overall()
    for name, right in zip(found, (0.9, 0.6, 1 / 3), strict=True):
        assert found[name] == pytest.approx(math.log(2 * right / (1 - right)), abs=0.12)
    assert weight_of(0) == weight_of(-1) == 0  # type: ignore[arg-type]


def test_the_share_beyond_chance_is_kappa_of_an_oracle() -> None:
    one = Simulated(5, [0.7, 0.7], runs=150, shares=(6, 3, 1))
    pairs = [(label.score, votes[0].level) for label, votes in zip(one.labels, one.votes, strict=True)]
    kappa = cohen_kappa_score(*([round(2 * x) for x in side] for side in zip(*pairs, strict=True)))  # type: ignore[arg-type]
    assert Reliability(one.count()).overall()[one.members[0].label] == pytest.approx(
        math.log((1 + 2 * kappa) / (1 - kappa)), abs=0.03
    )


def test_a_judge_that_always_says_the_usual_weighs_nothing() -> None:
    one = Simulated(1, [0.8, "1", "0.5"], runs=40, shares=(8, 1, 1))
    good, usual, middle = Reliability(one.count()).overall().values()
    assert good > 1
    assert usual == middle == 0


@given(st.integers(0, 10_000), st.integers(0, 7))
@settings(max_examples=15, deadline=None)
def test_the_labels_of_a_run_do_not_weigh_it(seed: int, run: int) -> None:
    one = Simulated(seed, [0.9, 0.5], runs=8)
    before = Reliability(one.count())
    name, dimension = f"s{run}/t", CRITERIA[0].dimension
    one.labels = [x.model_copy(update={"score": 1 - x.score}) if x.run == name else x for x in one.labels]
    after = Reliability(one.count())
    assert after.of(name, dimension) == before.of(name, dimension) == after.of(f"{name}.r2", dimension)
    assert after.of(name, dimension).without == name
    assert after.digest != before.digest
    other = f"s{(run + 1) % 8}/t"
    assert after.of(other, dimension).weights != before.of(other, dimension).weights
    unknown = after.of("s9/t", dimension)
    assert (unknown.without, unknown.weights) == (None, after.all_labels(dimension))


def gain(one: Simulated, reliability: Reliability) -> float:
    """How much larger the share of right levels is under the weighted vote than under the majority."""
    right = 0
    for said, votes in zip(one.labels, one.votes, strict=True):
        weights = reliability.of(said.run, DIMENSIONS[said.criterion]).weights
        weighed = [vote.model_copy(update={"weight": weights[vote.judge]}) for vote in votes]
        right += (level_of(weighed, WEIGHTED) == said.score) - (level_of(votes, "majority") == said.score)
    return right / len(one.labels)


@pytest.mark.parametrize(
    ("rights", "shares", "least"),
    [
        ([0.9, 0.5, 0.45, 0.4, 0.4], (1, 1, 1), 0.05),
        ([0.85, 0.8, "1", "1", "1"], (2, 1, 1), 0.2),
        ([0.7, 0.7, 0.7, 0.7, 0.7], (1, 1, 1), -0.01),
    ],
    ids=["unequal", "three say one thing", "alike"],
)
def test_weighing_is_worth_it_on_labels_not_seen(rights: list[Any], shares: tuple[int, ...], least: float) -> None:
    """Over 25 cohorts of 8 labelled runs: out of fold, and on 8 further runs. Where judges are alike, it costs nothing
    to speak of."""
    inside, outside = [], []
    for seed in range(25):
        seen = Simulated(seed, rights, 8, shares)
        reliability = Reliability(seen.count())
        inside.append(gain(seen, reliability))
        fresh = Simulated(1000 + seed, rights, 8, shares)
        fresh.labels = [x.model_copy(update={"run": f"new-{x.run}"}) for x in fresh.labels]
        outside.append(gain(fresh, reliability))
    for gains in (inside, outside):
        assert sum(gains) / len(gains) >= least
        if least > 0:
            assert sum(one >= 0 for one in gains) >= 0.9 * len(gains)


# ---- sessions


def truth(run: str, finding: str, criterion: str) -> float:
    return {"ev.full": 1.0, "ev.half": 0.5, "rob.zero": 0.0, "rob.open": 1.0 if "1" in finding else 0.0}[criterion]


def wrong(run: str, finding: str, criterion: str) -> float:
    return 1.0 - truth(run, finding, criterion) if criterion != "ev.half" else 1.0


def label_lines(cohort: Cohort, runs: Sequence[str], findings: int = 2) -> Path:
    path = cohort.root / "labels.jsonl"
    lines = [
        label(run, criterion, truth(run, f"finding_{n}", criterion), finding=f"finding_{n}")
        for run in runs
        for n in range(1, findings + 1)
        for criterion in ("ev.full", "ev.half", "rob.zero", "rob.open")
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def cohort(pytester: pytest.Pytester) -> Cohort:
    """Five runs, four of them labelled. One judge says what people say; two others both say something else, mostly."""
    cohort = Cohort(pytester)
    for n in range(5):
        cohort.run(f"s{n}")
    cohort.record(truth)
    for judge in (OTHER, WILD):
        cohort.record(wrong, judge=judge)
    label_lines(cohort, [f"s{n}/t1" for n in range(4)])
    return cohort


def weigh(*args: str | Path, code: int = 0) -> str:
    got, out, err = sciagent(
        *("ensemble", "labels.jsonl", "--runs", "runs", "--judge", PANEL, "--rubric", "small", "-o", "weights.json"),
        *args,
    )
    assert got == code, out + err
    assert code or max(map(len, out.splitlines())) <= 100
    return " ".join((out + err).split())


def levels(found: dict[str, Any], run: int = 0) -> dict[str, float]:
    return {c["criterion_id"]: c["level"] for c in found["runs"][run]["findings"][0]["criteria"]}


RIGHT = {"ev.full": 1, "ev.half": 0.5, "rob.zero": 0, "rob.open": 1}


def test_the_reliable_judge_outweighs_two_others(cohort: Cohort) -> None:
    told = weigh("--json", "told.json")
    assert "32 labels of 4 runs" in told
    document = json.loads((cohort.root / "told.json").read_text("utf-8"))
    assert document["weights"]["evidence"][OTHER.label] == 0 < document["weights"]["evidence"][TESTER.label]
    assert document["weighted"]["exact"]["value"] == document["gain"]["after"]["value"] == 1
    assert "majority 32 4 0.0 - " in told
    assert "weighted 32 4 100.0 - 1.00" in told
    plain = cohort.results(RUN, JUDGES)
    assert levels(plain) == {"ev.full": 0, "ev.half": 1, "rob.zero": 1, "rob.open": 0}
    assert plain["runs"][0]["findings"][0]["criteria"][0]["votes"][0]["weight"] is None
    found = cohort.results(*WEIGHED)
    assert [levels(found, run) for run in range(5)] == [RIGHT] * 5
    votes = by_id(found)["ev.full"]["votes"]
    assert [(v["judge"], v["without"]) for v in votes] == [(j.label, "s0/t1") for j in (TESTER, OTHER, WILD)]
    assert votes[0]["weight"] > 1
    assert [v["weight"] for v in votes[1:]] == [0, 0]
    assert found["runs"][4]["findings"][0]["criteria"][0]["votes"][0]["without"] is None
    file = WeightsFile.model_validate_json((cohort.root / "weights.json").read_bytes())
    assert found["judge"]["parameters"]["combine"] == "weighted"
    assert found["judge"]["parameters"]["weights"] == file.digest
    assert f"weighted of votes by weights {file.digest[:8]}" in found["validity"]["sentence"]
    note = (
        "votes are weighed by weights.json: people's labels of 4 runs; 4 of them tested here, without their own labels"
    )
    assert note in found["notes"]
    assert cohort.results(*WEIGHED, "-n2")["runs"] == found["runs"]
    # the panel is another judge to a baseline than the same judges by majority
    cohort.results(RUN, JUDGES)
    (cohort.root / "results.json").rename(cohort.root / "base.json")
    result = cohort.pytest(*WEIGHED, "--sciagent-baseline=base.json")
    assert result.ret == 4
    assert "judge" in result.stderr.str()


def test_commands_configuration_and_python_weigh_alike(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    weigh()
    weighed = ("--rubric", "small", "--judge", PANEL, "--combine", "weighted", "--weights", "weights.json")
    code, out, err = sciagent("compare", "runs", *weighed, "--json", "found.json")
    assert code == 0, out + err
    rows = json.loads(Path("found.json").read_text("utf-8"))["runs"]
    by_hand = cohort.results(*WEIGHED)
    assert [row["score_low"] for row in rows] == [run["score"]["low"] for run in by_hand["runs"]]
    code, out, err = sciagent("calibrate", "labels.jsonl", "--runs", "runs", *weighed, "-o", "calibration/panel.json")
    assert code == 0, out + err
    (cohort.root / "pytest.ini").write_text(
        "[pytest]\nsciagent_rubric = small\nsciagent_combine = weighted\nsciagent_weights = weights.json\n"
        f"sciagent_judge = {PANEL}\n"
    )
    found = cohort.results(RUN)
    assert found["runs"] == by_hand["runs"]
    assert found["validity"]["state"] == "calibrated"
    assert found["validity"]["kappa"]["value"] == 1  # out of fold, as sessions weigh labelled runs
    code, out, err = sciagent("plan", "runs", "--price", "1/1")
    assert (code, err) == (0, "")
    monkeypatch.chdir(cohort.root)
    from pytest_sciagent.api import score

    scores = score("runs", rubric="small", judge=PANEL, combine="weighted", weights="weights.json").as_json()
    assert scores["judge"] == found["judge"]
    assert [run["score"] for run in scores["runs"]] == [run["score"] for run in found["runs"]]


def test_judges_that_are_asked_are_weighed_and_a_failed_citation_earns_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    cohort = Cohort(pytester)
    for n in range(3):
        cohort.run(f"s{n}")
    panel = "--sciagent-judge=openai:a,openai:b,openai:c"
    right = {("a", id): [RIGHT[id]] for id in RIGHT}
    rest = {(m, id): [{1: 0, 0.5: 1, 0: 1}[RIGHT[id]]] for m in "bc" for id in RIGHT}
    with Loopback(Scripted(right | rest)) as server:
        cohort.results(RUN, panel, server_at(server))
        lines = [
            label(f"s{n}/t1", id, level, finding=f"finding_{f}")
            for n in range(3)
            for f in (1, 2)
            for id, level in RIGHT.items()
        ]
        (cohort.root / "labels.jsonl").write_text("\n".join(lines), "utf-8")
        names = "openai:a,openai:b,openai:c"
        code, out, err = sciagent(
            *("ensemble", "labels.jsonl", "--runs", "runs", "--judge", names, "--rubric", "small"),
            *("-o", "weights.json"),
        )
        assert code == 0, out + err
    cohort.run("new", place="more/new/t1")
    faulty = {**right, ("a", "ev.full"): ["unverified"]}
    weighed = ("--sciagent-run=more", panel, "--sciagent-combine=weighted", "--sciagent-weights=weights.json")
    with Loopback(Scripted(faulty | {**rest, ("b", "ev.full"): [1], ("c", "ev.full"): [1]})) as server:
        found = cohort.results(*weighed, server_at(server))
    told = by_id(found)
    assert {id: c["level"] for id, c in told.items()} == {**RIGHT, "ev.full": None}
    assert told["ev.full"]["status"] == "unverified"
    again = cohort.results(*weighed, "--sciagent-ledger-mode=replay")
    assert {id: c["level"] for id, c in by_id(again).items()} == {id: c["level"] for id, c in told.items()}


# ---- what can't be used


def refused(cohort: Cohort, *args: str) -> str:
    result = cohort.pytest(*(args or WEIGHED))
    assert result.ret == 4
    lines = [line for line in (result.stderr.lines + result.outlines) if line.strip()]
    assert not any("Traceback" in line for line in lines)
    return " ".join(lines)


def test_weights_expire(cohort: Cohort, tmp_path: Path) -> None:
    weigh()
    words = cohort.root / "words"
    words.mkdir()
    text = (TEMPLATES / "criterion.j2").read_text("utf-8")
    (words / "criterion.j2").write_text(f"{text}\nBe brief.\n", "utf-8")
    assert "these weights have expired: the prompt templates have changed since. Make them anew" in refused(
        cohort, *WEIGHED, "--sciagent-templates=words"
    )
    plain = json.loads((cohort.root / "weights.json").read_text("utf-8"))
    plain["members"][2]["parameters"] = {"layout": "finding"}
    (cohort.root / "changed.json").write_text(json.dumps(plain), "utf-8")
    assert "the parameters of handoff:wild have changed since" in refused(
        cohort, *WEIGHED[:-1], "--sciagent-weights=changed.json"
    )
    assert f"{OTHER.label} is not a member" not in refused(cohort, *WEIGHED[:-1], "--sciagent-weights=changed.json")
    cohort.record(truth, judge=handoff_identity("new", "item"))
    told = refused(cohort, RUN, f"--sciagent-judge={TESTER.label},handoff:new", *WEIGHED[2:])
    assert f"handoff:new is not a member; members: {PANEL.replace(',', ', ')}" in told
    rubric = cohort.root / "rubrics" / "small.yaml"
    rubric.write_text(rubric.read_text().replace("Is it so?", "Is it really so?"))
    assert "these weights have expired: rubric small 1 has changed since" in refused(cohort)
    planned = ("plan", "runs", "--judge=openai:new", "--layout=item", "--rubric=rubrics/small.yaml")
    code, _, err = sciagent(*planned, "--weights=weights.json")
    assert (code, "a session would stop: " in err, "rubric small 1 has changed since" in err) == (0, True, True)
    code, _, err = sciagent("compare", "runs", "--judge", PANEL, "--combine", "weighted", "--weights", "weights.json")
    assert (code, "rubric small 1 is not truthinsight" in err) == (4, True)


def broken(plain: dict[str, Any], how: str) -> str:
    run = plain["runs"]["s0/t1"]
    if how == "tables":
        run["evidence"].pop()
    elif how == "negative":
        run["evidence"][0][0][0] = -1
    elif how == "huge":
        run["evidence"][0][0][0] = 10**400
    elif how == "twice":
        plain["members"][1] = plain["members"][0]
    elif how == "repeat":
        plain["runs"]["s0/t1.r2"] = run
    elif how == "schema":
        plain["schema"] = "sciagent-calibration/1"
    return "{" if how == "json" else json.dumps(plain)


def test_a_file_that_is_none_is_refused_in_one_message(cohort: Cohort) -> None:
    weigh()
    plain = (cohort.root / "weights.json").read_text("utf-8")
    for how in ("tables", "negative", "huge", "twice", "repeat", "schema", "json"):
        (cohort.root / "weights.json").write_text(broken(json.loads(plain), how), "utf-8")
        code, out, err = sciagent(
            *("compare", "runs", "--rubric", "small", "--judge", PANEL),
            *("--combine", "weighted", "--weights", "weights.json"),
        )
        assert (code, out) == (4, ""), how
        assert err.startswith("sciagent: weights.json"), how
        assert "Traceback" not in err
    assert "weights.json" in refused(cohort)
    (cohort.root / "weights.json").unlink()
    assert "weights.json" in refused(cohort)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (WEIGHED[:-1], "the rule weighted needs a file of weights (--sciagent-weights; --weights of a command)"),
        ((RUN, JUDGES, WEIGHED[-1]), "--sciagent-weights belongs to --sciagent-combine=weighted"),
    ],
)
def test_rule_and_file_are_named_together(cohort: Cohort, args: tuple[str, ...], told: str) -> None:
    assert told in refused(cohort, *args)


def test_labels_that_weigh_nothing_are_refused(cohort: Cohort) -> None:
    lines = (cohort.root / "labels.jsonl").read_text("utf-8").splitlines()

    def told(some: Sequence[str], *args: str) -> str:
        (cohort.root / "labels.jsonl").write_text("\n".join(some) + "\n", "utf-8")
        return weigh(*args, code=4)

    assert "handoff:tester has given a level to 16 of 16 labelled criteria: weights take 20" in told(lines[:16])
    assert "all labels are of one run (s0/t1)" in told([line for line in lines if '"s0/t1"' in line])
    ones = [json.dumps({**json.loads(line), "score": 1}) for line in lines]
    assert "all 32 labels are level 1" in told(ones)
    odd = [json.dumps({**json.loads(line), "score": 0.7}) for line in lines[:1]]
    assert "a label of 0.7 is no level (0, 0.5 or 1)" in told(odd + lines[1:])
    assert "no label is of a criterion that these judges have voted on" in told([label("x/y", "ev.full", 1)])
    assert "no label is a person's" in told([label("s0/t1", "ev.full", 1, kind="judge")])
    turned = [json.dumps({**x, "score": (x["score"] + 0.5) % 1.5}) for x in map(json.loads, lines)]  # nobody says that
    for judge in (TESTER, OTHER, WILD):
        cohort.record(lambda run, finding, criterion: 0.5, judge=judge)
    assert "no judge agrees with people better than chance" in told(turned)
    code, _, err = sciagent("ensemble", "labels.jsonl", "--runs", "runs", "--judge", TESTER.label, "--rubric", "small")
    assert (code, "name two judges or more" in err) == (4, True)
    assert not (cohort.root / "weights.json").exists()


def test_a_judge_that_is_asked_anew_has_its_identity_in_the_file(cohort: Cohort) -> None:
    weigh()
    file = WeightsFile.model_validate_json((cohort.root / "weights.json").read_bytes())
    assert file.members == (TESTER, OTHER, WILD)
    assert file.raters == ("ann",)
    with pytest.raises(SciagentError, match="a judge that nobody knows is not a member"):
        Reliability(file).check_member(None)
    with pytest.raises(SciagentError, match="openai:x is not a member"):
        Reliability(file).check_member(JudgeIdentity(kind="openai", model="x"))
