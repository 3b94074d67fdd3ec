"""Panels in sessions: several judges, several draws, asked in rounds, replayed, compared; and what each report says."""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import Any

import jsonschema
import pytest
from loopback import Loopback, Raw
from sample import OTHER, TESTER, Cohort, answer, outcomes
from test_live_judge import content, good, record_of

from pytest_sciagent.schemas import schemas

A, B = "openai:a", "openai:b"
RUN = "--sciagent-run=runs"
BOTH = f"--sciagent-judge={A},{B}"
RECORDED = f"--sciagent-judge={TESTER.label},{OTHER.label}"
IDS = ("ev.full", "ev.half", "rob.zero", "rob.open")
PARALLEL = pytest.mark.parametrize("extra", [[], ["-n2"]], ids=["n0", "n2"])


def server_at(server: Loopback) -> str:
    return f"--sciagent-base-url={server.openai_url}"


def criterion_of(request: dict[str, Any]) -> str | None:
    """Which criterion a request is about; None for a question about the run."""
    text = content(request)
    return next((id for id in IDS if id in text), None)


class Scripted:
    """Answers each draw of each criterion by `levels`, for all findings alike, and counts what it was asked."""

    def __init__(self, levels: dict[tuple[str, str], list[Any]]) -> None:
        self.levels = levels
        self.asked: Counter[tuple[str, str | None]] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any], number: int) -> Any:
        criterion = criterion_of(request)
        with self._lock:
            self.asked[request["model"], criterion] += 1
            turn = self.asked[request["model"], criterion]
        if criterion is None:
            return good(request, number)
        given = self.levels.get((request["model"], criterion), [1])
        level = given[min(turn, len(given)) - 1]
        return level if isinstance(level, Raw) else answer(level)


def results(cohort: Cohort, *options: str, code: int | None = None) -> dict[str, Any]:
    """What the file of results says, but for what this very session spent and saved."""
    found = cohort.results(*options, code=code)
    assert set(found.pop("spending")) == {"spent", "saved"}
    return found


def by_id(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {c["criterion_id"]: c for c in found["runs"][0]["findings"][0]["criteria"]}


# ---- several judges


def test_every_member_votes_and_the_lead_alone_is_asked_about_the_run(cohort: Cohort) -> None:
    cohort.run(findings=1)
    script = Scripted({("b", "ev.full"): [0.5], ("b", "ev.half"): [0]})
    with Loopback(script) as server:
        found = results(cohort, RUN, BOTH, server_at(server))
    assert script.asked == Counter({("a", None): 1} | {(m, c): 1 for m in "ab" for c in IDS})
    criteria = by_id(found)
    # Of two that differ the lower: a tie never raises a level.
    assert {id: c["level"] for id, c in criteria.items()} == {
        "ev.full": 0.5,
        "ev.half": 0,
        "rob.zero": 1,
        "rob.open": 1,
    }
    votes = criteria["ev.full"]["votes"]
    assert [(v["judge"], v["draw"], v["status"], v["level"]) for v in votes] == [
        (A, 1, "assessed", 1),
        (B, 1, "assessed", 0.5),
    ]
    assert criteria["ev.full"]["mean_level"] == 0.75
    assert criteria["ev.full"]["key"] == votes[1]["key"]
    assert criteria["ev.full"]["judge"] == {"kind": "openai", "model": "b", "parameters": {}}
    members = [{"kind": "openai", "model": name, "parameters": {}} for name in "ab"]
    assert found["judge"] == {
        "kind": "panel",
        "model": f"{A},{B}",
        "parameters": {"members": members, "draws": "1", "combine": "majority"},
    }
    overall = found["agreement"]
    assert (overall["pairs"], overall["alike"], overall["agreement"]) == (4, 2, 0.5)
    assert (overall["drawn_twice"], overall["flip_rate"]) == (0, None)
    assert overall["criteria"]["ev.full"] == {
        "votes": 2,
        "without_level": 0,
        "drawn_twice": 0,
        "flips": 0,
        "pairs": 1,
        "alike": 0,
        "flip_rate": None,
        "agreement": 0,
    }
    jsonschema.validate(
        cohort.results(RUN, BOTH, "--sciagent-ledger-mode=replay"),
        json.loads(schemas()["sciagent-results-1.schema.json"]),
    )
    assert {v["key"] for c in criteria.values() for v in c["votes"]} <= {e["key"] for e in record_of(cohort)}


@PARALLEL
def test_a_panel_is_replayed_without_a_key(cohort: Cohort, extra: list[str]) -> None:
    cohort.run("alpha")
    cohort.run("beta", findings=1)
    script = Scripted({("b", "ev.full"): [0.5], ("a", "rob.open"): [0]})
    with Loopback(script) as server:
        asked = results(cohort, RUN, BOTH, server_at(server), *extra)
        assert results(cohort, RUN, BOTH, server_at(server)) == asked
        assert len(server.requests) == sum(script.asked.values()) == 2 * 12 + 3 + 1
    assert results(cohort, RUN, BOTH, "--sciagent-ledger-mode=replay") == asked
    assert results(cohort, RUN, f"--sciagent-judge={A}", "--sciagent-ledger-mode=replay")["judge"]["model"] == "a"
    result = cohort.pytest(RUN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [f"ERROR: verdicts of several judges are recorded ({A}, {B}), which are never mixed: *"]
    )


def test_recorded_judges_make_a_panel(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    cohort.record(lambda run, finding, criterion: 0.5, judge=OTHER)
    result = cohort.pytest(RUN, RECORDED)
    # 1, 0.5, 0 and nothing against 0.5 four times; the fourth has half of its votes only
    assert outcomes(result) == {"half": 4, "failed": 2, "not assessed": 2}
    result.stdout.fnmatch_lines(
        [
            "*; judge panel:handoff:tester,handoff:other (majority of votes, draws 1)",
            "votes: judges agree in 33 % of 6 pairs of votes; 2 of 16 votes without a level; least for ev.full",
            "*rob.open: no recorded verdict of handoff:tester",
        ]
    )
    strict = results(cohort, RUN, RECORDED, "--sciagent-combine=strict")
    assert [c["level"] for c in by_id(strict).values()] == [0.5, 0.5, 0, None]
    twins = f"sciagent_judge = {TESTER.label}, {OTHER.label}\nsciagent_combine = strict\nsciagent_draws = 1\n"
    (cohort.root / "pytest.ini").write_text(f"[pytest]\nsciagent_rubric = small\n{twins}")
    assert results(cohort, RUN) == strict


def test_a_panel_of_one_judge_drawn_once_is_that_judge(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    cohort.pytest(RUN, "--sciagent-json=plain.json")
    cohort.pytest(
        RUN,
        f"--sciagent-judge={TESTER.label}",
        "--sciagent-draws=1",
        "--sciagent-combine=mean",
        "--sciagent-json=panel.json",
    )
    plain = (cohort.root / "plain.json").read_bytes()
    assert plain == (cohort.root / "panel.json").read_bytes()
    assert not {b"votes", b"agreement", b"notes_"} & set(plain.split(b'"'))


TOO_LONG = Raw(400, {"error": {"message": "context length exceeded", "code": "context_length_exceeded"}})


@pytest.mark.parametrize("failure", [Raw(200, "<html>oops</html>"), TOO_LONG], ids=["broken", "too long"])
def test_a_failed_member_is_no_vote_and_never_a_level(cohort: Cohort, failure: Raw) -> None:
    cohort.run(findings=1)
    script = Scripted({("b", "ev.full"): [failure], ("c", "ev.half"): [failure], ("b", "ev.half"): [failure]})
    three = f"--sciagent-judge={A},{B},openai:c"
    with Loopback(script) as server:
        found = by_id(results(cohort, RUN, three, server_at(server)))
    assert (found["ev.full"]["level"], [v["level"] for v in found["ev.full"]["votes"]]) == (1, [1, None, 1])
    assert (found["ev.half"]["status"], found["ev.half"]["level"]) != ("assessed", 1)
    assert found["ev.half"]["reason"] == found["ev.half"]["votes"][1]["reason"]
    assert outcomes(cohort.pytest(RUN, three, "--sciagent-ledger-mode=replay")) == {"passed": 3, "not assessed": 1}


@PARALLEL
def test_a_panel_with_a_member_that_never_answered_is_replayed(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    dead = {("c", id): [Raw(200, "<html>oops</html>")] for id in IDS}
    three = f"--sciagent-judge={A},{B},openai:c"
    with Loopback(Scripted({("b", "ev.full"): [0], **dead})) as server:
        asked = results(cohort, RUN, three, server_at(server), *extra)
    replayed = results(cohort, RUN, three, "--sciagent-ledger-mode=replay", *extra)
    levels = [[c["level"] for c in by_id(found).values()] for found in (asked, replayed)]
    assert levels == [[0, 1, 1, 1]] * 2
    assert asked["systems"] == replayed["systems"]
    assert replayed["notes"] == ["nothing is recorded under the judge openai:c: it has no vote"]
    # A name that no provider has is a mistake, and so is a panel of which nothing is recorded.
    for judges in (f"{A},handoff:nobody", "openai:x"):
        assert cohort.pytest(RUN, f"--sciagent-judge={judges}", "--sciagent-ledger-mode=replay").ret == 4


def test_a_member_that_can_not_be_asked_stops_with_its_own_words(cohort: Cohort) -> None:
    cohort.run(findings=1)
    refusal = Raw(401, {"error": {"message": "no such key"}})
    with Loopback(lambda request, n: refusal if request["model"] == "b" else good(request, n)) as server:
        result = cohort.pytest(RUN, BOTH, server_at(server))
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: the judge {B} can't be asked: HTTP 401: no such key"])
    # What the other member said by then is paid, and kept.
    assert {e["judge"]["model"] for e in record_of(cohort)} == {"a"}


def test_members_of_several_kinds(cohort: Cohort) -> None:
    """A provider, one of the user's own, and one that is only recorded; parameters and servers of their own."""
    cohort.run(findings=1)
    cohort.record(lambda run, finding, criterion: 1)
    (cohort.root / "conftest.py").write_text(
        "from pytest_sciagent import Judge, JudgeIdentity\n\n"
        "class Never(Judge):\n    identity = JudgeIdentity(kind='house', model='never')\n\n"
        "    def ask(self, prompt):\n"
        "        return {'rationale': 'no', 'citations': [], 'zero': True, 'full': False, 'half': False}\n\n"
        "def pytest_sciagent_judge(config, kind, model):\n    return Never() if kind == 'house' else None\n"
    )
    with Loopback(good) as one, Loopback(good) as two:
        options = [
            f"--sciagent-judge={TESTER.label},house:never,{A},openai:a:8b",
            f"--sciagent-base-url={one.openai_url}",
            f"--sciagent-base-url=openai:a:8b={two.openai_url}",
            "--sciagent-judge-param=openai:a:temperature=0",
            "--sciagent-judge-param=openai:a:8b:temperature=1",
        ]
        found = results(cohort, RUN, *options)
        # The lead is recorded only, so nobody is asked about the run.
        assert [(r.json["model"], r.json["temperature"]) for r in one.requests] == [("a", 0)] * 4
        assert [(r.json["model"], r.json["temperature"]) for r in two.requests] == [("a:8b", 1)] * 4
    votes = by_id(found)["ev.full"]["votes"]
    assert [(v["judge"], v["level"]) for v in votes] == [
        (TESTER.label, 1),
        ("house:never", 0),
        (A, 1),
        ("openai:a:8b", 1),
    ]
    assert found["agreement"]["agreement"] == 0.5
    again = results(cohort, RUN, *options[:1], *options[3:], "--sciagent-ledger-mode=replay", "-n1")
    assert again == found


# ---- draws


@PARALLEL
def test_draws_of_one_judge(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    script = Scripted({("a", "ev.full"): [1, 0, 1], ("a", "rob.zero"): [0]})
    options = [RUN, f"--sciagent-judge={A}", "--sciagent-draws=3"]
    with Loopback(script) as server:
        found = results(cohort, *options, server_at(server), *extra)
    assert script.asked == Counter({("a", None): 1, **{("a", c): 3 for c in IDS}})
    criteria = by_id(found)
    assert {id: c["level"] for id, c in criteria.items()} == {"ev.full": 1, "ev.half": 1, "rob.zero": 0, "rob.open": 1}
    assert sorted(v["level"] for v in criteria["ev.full"]["votes"]) == [0, 1, 1]
    assert [v["draw"] for v in criteria["ev.full"]["votes"]] == [1, 2, 3]
    assert found["judge"]["parameters"]["draws"] == "3"
    assert (found["agreement"]["drawn_twice"], found["agreement"]["pairs"]) == (4, 0)
    assert results(cohort, *options, "--sciagent-ledger-mode=replay") == found
    # The first draw alone is the judge as it always was.
    single = results(cohort, RUN, f"--sciagent-judge={A}", "--sciagent-ledger-mode=replay")
    assert "votes" not in by_id(single)["ev.full"]
    more = cohort.pytest(RUN, f"--sciagent-judge={A}", "--sciagent-draws=7", "--sciagent-ledger-mode=replay")
    assert outcomes(more) == {"not assessed": 4}
    more.stdout.fnmatch_lines(["*no recorded verdict of openai:a, draw 4*"])


@pytest.mark.parametrize(("draws", "most"), [("auto", 5), ("auto:3", 3)])
def test_further_draws_are_spent_only_where_the_first_differ(cohort: Cohort, draws: str, most: int) -> None:
    cohort.run(findings=1)
    script = Scripted({("a", "ev.full"): [1, 0, 1, 1, 1], ("b", "rob.zero"): [0, 0.5, 0]})
    options = [RUN, BOTH, f"--sciagent-draws={draws}"]
    with Loopback(script) as server:
        found = results(cohort, *options, server_at(server))
        expected = {(m, c): 2 for m in "ab" for c in IDS}
        expected |= {("a", None): 1, ("a", "ev.full"): most, ("b", "rob.zero"): most}
        assert script.asked == Counter(expected)
        # In rounds: nobody is asked a third time before all have been asked twice.
        order = [(r.json["model"], criterion_of(r.json)) for r in server.requests]
        first_round = order[1:17]
        assert Counter(first_round) == Counter({key: 2 for key in expected if key[1] is not None})
        assert set(order[17:]) == {("a", "ev.full"), ("b", "rob.zero")}
        assert results(cohort, *options, server_at(server)) == found
        assert len(server.requests) == len(order)
    assert results(cohort, *options, "--sciagent-ledger-mode=replay", "-n2") == found
    criteria = by_id(found)
    assert len(criteria["ev.full"]["votes"]) == 2 + most
    # Two of eight answers changed; the further draws, asked for because of that, are not counted again.
    assert (found["agreement"]["drawn_twice"], found["agreement"]["flips"]) == (8, 2)
    assert found["agreement"]["flip_rate"] == 0.25


def test_a_draw_that_fails_is_not_asked_for_ever(cohort: Cohort) -> None:
    cohort.run(findings=1)
    script = Scripted({("a", "ev.full"): [1, Raw(200, "oops")]})
    with Loopback(script) as server:
        found = by_id(results(cohort, RUN, f"--sciagent-judge={A}", "--sciagent-draws=auto:3", server_at(server)))
    assert script.asked["a", "ev.full"] == 3
    assert (found["ev.full"]["level"], [v["level"] for v in found["ev.full"]["votes"]]) == (None, [1, None, None])
    assert found["ev.full"]["status"] not in ("assessed", "unrecorded")


@PARALLEL
def test_an_own_judge_is_drawn_several_times(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    (cohort.root / "conftest.py").write_text(
        "import pytest\nfrom pytest_sciagent import Judge, JudgeIdentity\n\n"
        "class Own(Judge):\n    identity = JudgeIdentity(kind='house', model='own')\n\n"
        "    def ask(self, prompt):\n"
        "        return {'rationale': 'no', 'citations': [], 'zero': True, 'full': False, 'half': False}\n\n"
        "@pytest.fixture(scope='session')\ndef judge():\n    return Own()\n"
    )
    found = results(cohort, RUN, "--sciagent-draws=2", *extra)
    assert [v["draw"] for v in by_id(found)["ev.full"]["votes"]] == [1, 2]
    assert found["judge"]["model"] == "house:own"
    assert found["agreement"]["flip_rate"] == 0


def test_one_budget_for_all_members(cohort: Cohort) -> None:
    cohort.run(findings=2)
    with Loopback(good) as server:
        found = cohort.results(RUN, BOTH, server_at(server), "--sciagent-max-calls=9")
        assert len(server.requests) == found["spending"]["spent"]["calls"] == 9
    replayed = cohort.results(RUN, BOTH, "--sciagent-ledger-mode=replay")["spending"]
    assert (replayed["spent"]["calls"], replayed["saved"]["answers"]) == (0, 9)
    votes = [v for f in found["runs"][0]["findings"] for c in f["criteria"] for v in c["votes"]]
    assert Counter(v["status"] for v in votes) == {"assessed": 6, "budget": 10}
    assert all(e["status"] == "assessed" for e in record_of(cohort))


# ---- a canary for each member


def test_a_credulous_member_has_no_vote(cohort: Cohort) -> None:
    cohort.run(findings=1)

    def behaviour(request: dict[str, Any], number: int) -> Any:
        if "Does a file of the run contain the word" in content(request):
            return answer(1 if request["model"] == "b" else 0)
        return good(request, number)

    with Loopback(behaviour) as server:
        options = [RUN, f"--sciagent-judge={A},{B},openai:c", "--sciagent-canary"]
        found = by_id(results(cohort, *options, server_at(server)))
        assert len(server.requests) == 1 + 3 * 5
    assert [(v["level"], v["status"]) for v in found["ev.full"]["votes"]] == [
        (1, "assessed"),
        (None, "invalid"),
        (1, "assessed"),
    ]
    assert found["ev.full"]["level"] == 1


# ---- baselines and comparison


def test_a_panel_is_another_judge_to_a_baseline(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    cohort.pytest(RUN, "--sciagent-json=old.json")
    cohort.record(lambda run, finding, criterion: 0.5, judge=OTHER)
    result = cohort.pytest(RUN, RECORDED, "--sciagent-baseline=old.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *scored in another way: judge panel:handoff:tester,handoff:other *"])
    cohort.pytest(RUN, RECORDED, "--sciagent-json=old.json")
    result = cohort.pytest(RUN, RECORDED, "--sciagent-baseline=old.json")
    assert result.ret == 10
    result = cohort.pytest(RUN, RECORDED, "--sciagent-baseline=runs")
    assert result.ret in (0, 10)


def test_the_cohort_table_tells_flips_and_agreement(cohort: Cohort) -> None:
    import pandas as pd

    for system in ("alpha", "beta"):
        cohort.run(system, findings=1)
    cohort.record()
    cohort.record(lambda run, finding, criterion: 0.5 if run.startswith("alpha") else 1, judge=OTHER)
    options = ["--rubric", "small", "--judge", f"{TESTER.label},{OTHER.label}", "--combine", "strict"]
    code, _, err = cohort.sciagent("compare", "runs", *options, "--csv", "table.csv", "--json", "c.json")
    assert code == 0, err
    table = pd.read_csv(cohort.root / "table.csv").set_index("system")
    assert list(table["agreement"].round(3)) == [0.333, 0.333]
    assert table["flip_rate"].isna().all()
    assert table.loc["alpha", "agreement.ev.half"] == 1
    assert table.loc["beta", "agreement.ev.half"] == 0
    assert table.loc["alpha", "item.ev.full_low"] == 0.5
    assert table["agreement.rob.open"].isna().all()
    assert table["judge"].str.startswith("panel:handoff:tester,handoff:other").all()
    code, _, err = cohort.sciagent("compare", "table.csv", "--rubric", "small")
    assert code == 0, err
    code, _, err = cohort.sciagent("compare", "runs", *options, "--draws", "x")
    assert code == 4
    assert "draws 'x': write a number" in err


# ---- what can't be a panel


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([f"--sciagent-judge={A},"], "*write KIND:MODEL, such as openai:MODEL or handoff:NAME"),
        ([f"--sciagent-judge={A},{A}"], "judge 'openai:a' is named twice: to ask it several times, use draws"),
        ([f"--sciagent-judge={','.join(f'x:{n}' for n in range(11))}"], "11 judges are named; a panel has 10 at most"),
        ([BOTH, "--sciagent-draws=many"], "--sciagent-draws 'many': write a number from 1 to 20, auto *"),
        ([BOTH, f"--sciagent-base-url={A}x=http://h"], "--sciagent-base-url *: no judge openai:ax is named by *"),
        (["--sciagent-judge=handoff:a,handoff:b"], "nothing is recorded under the judge handoff:a; *"),
    ],
)
def test_one_plain_message(cohort: Cohort, options: list[str], told: str) -> None:
    cohort.run(findings=1)
    result = cohort.pytest(RUN, *options)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {told}"])


def test_bad_ini_values(cohort: Cohort) -> None:
    cohort.run(findings=1)
    for line, told in (
        ("sciagent_combine = best", "sciagent_combine 'best': choose *"),
        ("sciagent_draws = 0", "*'0'*"),
    ):
        (cohort.root / "pytest.ini").write_text(f"[pytest]\nsciagent_rubric = small\n{line}\n")
        result = cohort.pytest(RUN)
        assert result.ret == 4
        result.stderr.fnmatch_lines([f"ERROR: {told}"])


def test_votes_of_a_panel_survive_a_round_trip(cohort: Cohort) -> None:
    """The file of results is plain JSON: what a reader takes in is what was written."""
    cohort.run(findings=1)
    cohort.record()
    cohort.record(lambda run, finding, criterion: 0, judge=OTHER)
    found = results(cohort, RUN, RECORDED, "--sciagent-combine=mean")
    level = by_id(found)["ev.full"]
    assert (level["level"], level["mean_level"], level["anchors"]) == (0.5, 0.5, None)
    assert level["reason"].startswith("the mean of 2 votes, cut down to a level; one above it says: ")
    assert level["citations"][0]["verified"] is True
    assert json.loads(json.dumps(found)) == found


# ---- layouts, batches and screens


@pytest.mark.parametrize("layout", ["group:2", "finding"])
def test_members_and_draws_in_shared_prompts(cohort: Cohort, layout: str) -> None:
    """Draws of one criterion never share a prompt; each member has the layout in its name."""
    cohort.run(findings=1)

    def behaviour(request: dict[str, Any], number: int) -> Any:
        asked = [id for id in IDS if id in content(request)]
        if not asked:
            return good(request, number)
        return {id: answer(1) for id in asked}

    options = [RUN, BOTH, "--sciagent-draws=2", f"--sciagent-layout={layout}"]
    with Loopback(behaviour) as server:
        found = results(cohort, *options, server_at(server), code=0)
        assert len(server.requests) == 1 + 2 * 2 * (2 if layout == "group:2" else 1)
    assert [(v["judge"], v["draw"], v["level"]) for v in by_id(found)["ev.full"]["votes"]] == [
        (A, 1, 1),
        (A, 2, 1),
        (B, 1, 1),
        (B, 2, 1),
    ]
    assert {m["parameters"]["layout"] for m in found["judge"]["parameters"]["members"]} == {layout}
    assert results(cohort, *options, "--sciagent-ledger-mode=replay") == found


def test_a_panel_by_batch(cohort: Cohort) -> None:
    """Each member has its own batch; further draws are submitted once the first ones are in."""
    cohort.run(findings=1)
    levels = {("a", 1): 1, ("a", 2): 0.5}
    seen: Counter[tuple[str, str | None]] = Counter()

    def behaviour(request: dict[str, Any], number: int) -> Any:
        criterion = criterion_of(request)
        if criterion is None:
            return good(request, number)
        seen[request["model"], criterion] += 1
        turn = seen[request["model"], criterion]
        return answer(levels.get((request["model"], turn), 1) if criterion == "ev.full" else 1)

    options = [RUN, BOTH, "--sciagent-draws=auto:3", "--sciagent-batch"]
    with Loopback(behaviour) as server:
        options.append(server_at(server))
        first = results(cohort, *options)
        assert sorted(len(batch.requests) for batch in server.batches) == [8, 9]
        assert sum(note.startswith("submitted to openai:") for note in first["notes"]) == 2
        assert {c["status"] for c in by_id(first).values()} == {"unrecorded"}
        for batch in server.batches:
            batch.end()
        second = results(cohort, *options)
        assert [len(batch.requests) for batch in server.batches[2:]] == [1]
        assert sum("answers taken in" in note for note in second["notes"]) == 2
        server.batches[2].end()
        third = by_id(results(cohort, *options))
        assert len(server.batches) == 3
    votes = Counter((v["judge"], v["level"]) for v in third["ev.full"]["votes"])
    assert votes == {(A, 1): 2, (A, 0.5): 1, (B, 1): 2}
    assert third["ev.full"]["level"] == 1


def test_a_screen_in_a_panel_can_only_lower(cohort: Cohort) -> None:
    """A judge of kind decisions abstains or says 0: abstaining takes no level away, 0 wins a tie."""
    from test_panel import vote

    from pytest_sciagent.judging.panel import combine

    assert combine([vote(1), vote(None, "screen", status="not_assessed")], "majority").level == 1
    assert combine([vote(1), vote(0, "screen")], "majority").level == 0
    assert combine([vote(None, status="timeout"), vote(None, "screen", status="not_assessed")], "mean").level is None
    assert combine([vote(None, "a", status="not_assessed")] * 2, "strict").status == "not_assessed"
    cohort.run(findings=1)
    result = cohort.pytest(RUN, "--sciagent-judge=decisions:screen,openai:a", "--sciagent-base-url=http://127.0.0.1:9")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: decisions:screen answers no question about a run and can't lead a panel: *"])
