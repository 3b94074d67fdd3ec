"""Inducing a rubric: each stage shows only what it may, code checks what comes back, and nothing is asked twice."""

from __future__ import annotations

import copy
import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from induced import ANSWERS, CRITERIA, GOALS, IDS, MEANING, OBJECTIVE, Model, criterion, lines_of, write_task
from loopback import Raw
from sample import Cohort, sciagent

from pytest_sciagent import SciagentError, compare, score
from pytest_sciagent.documents import load_yaml
from pytest_sciagent.induction import prompts, task_questions
from pytest_sciagent.induction.prompts import INDUCTION, InductionTemplates
from pytest_sciagent.induction.skeleton import stands_in
from pytest_sciagent.models import Criterion, Rubric
from pytest_sciagent.rubrics import load_rubric
from pytest_sciagent.rubrics.frozen import FreezeRecord, FrozenVersion, record_text
from pytest_sciagent.scoring import score_best

STATE = Path(".sciagent/induction/levels")
RUBRIC = Path("rubrics/induced/levels.yaml")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path / "tasks" / "levels")


def changed(answer: Any, change: Callable[[Any], None]) -> Any:
    other = copy.deepcopy(answer)
    change(other)
    return other


def load(path: Path = RUBRIC) -> Rubric:
    return load_rubric(str(path), Path.cwd(), Path.cwd())


# ---- the whole way


def test_a_rubric_is_induced_frozen_and_not_asked_for_again() -> None:
    with Model() as model:
        code, out, err = model.induce("levels")
        assert (code, err) == (0, "")
        assert model.kinds == ["goals", "meaning", "criteria"]
        code, again, _ = model.induce("levels")
        assert (code, len(model.kinds)) == (0, 3)
    assert "frozen: rubrics/induced/levels.yaml, version 1" in out
    assert out.splitlines()[-1] == again.splitlines()[-1]  # the same digest: nothing was frozen anew
    rubric = load()
    assert (rubric.kind, rubric.task_id, rubric.version, rubric.profile) == ("induced", "levels", "1", "best-finding")
    assert [c.id for c in rubric.criteria] == [f"levels.{c['id']}" for c in CRITERIA["criteria"]]
    assert {c.priority: c.weight for c in rubric.criteria} == {"high": 3, "medium": 2, "low": 1}
    assert {d.id: d.weight for d in rubric.dimensions} == {"G1": 6, "G2": 4, "G3": 2}
    record = json.loads(Path("rubrics/induced/levels.induction.json").read_text())
    assert [e["kind"] for e in record["entries"]] == ["criteria", "goals", "meaning"]
    assert record["claims_to_avoid"] == ["A cause."]
    assert record["judge"]["model"] == "m-1"
    assert sciagent("rubric", "lint", str(RUBRIC))[0] == 0


@pytest.mark.parametrize("kind", ["goals", "meaning", "criteria"])
def test_a_stage_is_done_again_where_the_words_of_its_prompt_are_others(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Model() as model:
        assert model.induce("levels")[0] == 0
    other = InductionTemplates({kind: INDUCTION.source(kind) + "Think twice.\n"})
    for module in (prompts, task_questions):
        monkeypatch.setattr(module, "INDUCTION", other)
    with Model() as model:
        assert model.induce("levels")[0] == 0
        assert model.kinds == [kind], "what follows is shown the same, so its answers hold"
        assert "Think twice." in model.prompts[0]
    with Model() as model:
        assert model.induce("levels")[0] == 0
        assert model.kinds == []


def test_the_skeleton_is_shown_the_instruction_alone() -> None:
    with Model() as model:
        assert model.induce("skeleton", "levels")[0] == 0
    (prompt,) = model.prompts
    assert OBJECTIVE in prompt
    for word in ("levels.csv", "one row a year", "Levels", "testing", "2001-01-01", str(Path.cwd())):
        assert word not in prompt


def test_the_hand_off_goes_on_from_answer_to_answer() -> None:
    command = ("induce", "levels", "--judge=handoff:me")
    given: list[dict[str, Any]] = []
    for kind in ("goals", "meaning", "criteria"):
        code, out, _ = sciagent(*command, *(("--answers=a.jsonl",) if given else ()))
        assert (code, "1 open question in" in out) == (1, True)
        (line,) = lines_of(STATE / "open.jsonl")
        assert line["kind"] == kind
        given.append({"id": line["id"], "answer": ANSWERS[kind], "answered_at": "2026-01-02T03:04:05Z"})
        Path("a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given))
    code, out, err = sciagent(*command, "--answers=a.jsonl")
    assert (code, err) == (0, "")
    assert not (STATE / "open.jsonl").exists()
    with Path("a.jsonl").open("a") as answers:
        answers.write('{"id": 1\n')
    code, out, err = sciagent(*command, "--answers=a.jsonl")
    assert (code, "not taken: a.jsonl:4" in err, "frozen: " in out) == (4, True, True)
    record = json.loads(Path("rubrics/induced/levels.induction.json").read_text())
    assert {e["time"] for e in record["entries"]} == {"2026-01-02T03:04:05Z"}
    assert record["judge"] == {"kind": "handoff", "model": "me", "parameters": {"layout": "item"}}


def test_an_unusable_answer_is_told_and_asked_again() -> None:
    sciagent("induce", "levels", "--judge=handoff:me")
    (line,) = lines_of(STATE / "open.jsonl")
    bad = changed(GOALS, lambda a: a["goals"][0].update(instruction_evidence=["words of my own"]))
    Path("a.jsonl").write_text(json.dumps({"id": line["id"], "answer": bad}))
    code, out, err = sciagent("induce", "levels", "--judge=handoff:me", "--answers=a.jsonl")
    assert (code, "1 open question" in out) == (1, True)
    assert "not taken: goals: invalid: not_in_instruction: G1" in err
    assert lines_of(STATE / "open.jsonl")[0]["id"] == line["id"]


def test_without_a_judge_the_user_is_told_to_name_one() -> None:
    code, _, err = sciagent("induce", "levels")
    assert (code, "--judge KIND:MODEL" in err) == (4, True)


def test_a_model_that_fails_leaves_no_state_and_can_be_asked_again() -> None:
    with Model({"criteria": lambda n: Raw(401, {"error": {"message": "no such key"}})}) as model:
        code, _, err = model.induce("levels")
    assert (code, "no such key" in err) == (4, True)
    assert not (STATE / "criteria.json").exists()
    assert not RUBRIC.exists()
    with Model() as model:
        assert model.induce("levels")[0] == 0
        assert model.kinds == ["criteria"]


def test_a_record_edited_by_hand_earns_nothing() -> None:
    with Model() as model:
        assert model.induce("skeleton", "levels")[0] == 0
        path = STATE / "answers.json"
        path.write_text(path.read_text().replace("Find the level", "Find the gold"))
        (STATE / "skeleton.json").unlink()
        code, _, err = model.induce("skeleton", "levels")
    assert (code, "does not hold" in err) == (4, True)


# ---- what code refuses

RATES = {"kind": "number", "names": ["rate", "slope"], "low": -5, "high": 5, "count": 1, "at_most": "0.5"}
COPY = {"kind": "table", "columns": [["year"], ["lev"]], "rows": 3, "at_most": "0.5"}

WRONG_GOALS: dict[str, tuple[Callable[[Any], None], str]] = {
    "too few": (lambda a: a["goals"].pop(), "wrong_number"),
    "one id twice": (lambda a: a["goals"][1].update(id="g1"), "duplicate_id"),
    "a method": (lambda a: a["goals"][0].update(requirement="The level is found by linear regression."), "prescribes"),
    "a metric": (lambda a: a["goals"][0].update(title="Level with its RMSE"), "prescribes"),
    "a number": (lambda a: a["goals"][0].update(requirement="The level is found for 12 years."), "prescribes"),
    "no words": (lambda a: a["goals"][0].update(instruction_evidence=[]), "wrong_shape"),
    "other words": (lambda a: a["goals"][0].update(instruction_evidence=["Find the treasure"]), "not_in_instruction"),
    "an empty passage": (lambda a: a["goals"][0].update(instruction_evidence=[" "]), "not_in_instruction"),
}
WRONG_CRITERIA: dict[str, tuple[Callable[[Any], None], str]] = {
    "too few": (lambda a: a["criteria"].pop(), "wrong_number"),
    "one id twice": (lambda a: a["criteria"][1].update(id="criterion_0"), "duplicate_id"),
    "no such goal": (lambda a: a["criteria"][0].update(goal_ids=["G9"]), "wrong_ids"),
    "a goal left out": (lambda a: [c.update(goal_ids=["G1"]) for c in a["criteria"]], "goal_without_criterion"),
    "no such file": (lambda a: a["criteria"][0].update(data_sources=["other.csv"]), "wrong_data"),
    "no such column": (lambda a: a["criteria"][0].update(data_sources=["levels.csv:depth"]), "wrong_data"),
    "no such source": (lambda a: a["criteria"][0].update(sources=["L1"]), "wrong_ids"),
    "two equal levels": (lambda a: a["criteria"][0].update(level_half=a["criteria"][0]["level_0"]), "wrong_shape"),
    "no analysis": (lambda a: a["criteria"][0].update(required_analysis=[]), "wrong_shape"),
    "not about the finding": (lambda a: a["criteria"][0].update(level_1="The files hold a rate."), "not_about_finding"),
    "a run that nothing decides": (lambda a: a["criteria"][0].update(scope="run"), "nothing_decides"),
    "a run asked about a finding": (
        lambda a: a["criteria"][0].update(scope="run", requires=[RATES]),
        "not_about_run",
    ),
    "a goal that the run alone serves": (
        lambda a: [
            c.update(scope="run", question="Does the run store a rate?", requires=[RATES])
            for c in a["criteria"]
            if c["goal_ids"] == ["G2"]
        ],
        "goal_without_criterion",
    ),
    "a table that the data are": (lambda a: a["criteria"][0].update(requires=[COPY]), "met_by_inputs"),
    "a number that the data hold": (
        lambda a: a["criteria"][0].update(requires=[RATES | {"names": ["level"]}]),
        "met_by_inputs",
    ),
    "an empty range": (lambda a: a["criteria"][0].update(requires=[RATES | {"low": 2, "high": 1}]), "wrong_shape"),
    "a pattern for a word": (lambda a: a["criteria"][0].update(requires=[RATES | {"names": ["*"]}]), "wrong_shape"),
}
WRONG_MEANING: dict[str, tuple[Callable[[Any], None], str]] = {
    "no such file": (lambda a: a["files"][0].update(file="x.csv"), "wrong_ids"),
    "a goal left out": (lambda a: a["goals"].pop(), "wrong_ids"),
    "no such column": (lambda a: a["goals"][0].update(columns=["levels.csv:depth"]), "wrong_data"),
    "no columns": (lambda a: a["goals"][0].update(columns=[]), "wrong_data"),
}
CASES = [
    pytest.param(kind, change, code, id=f"{kind}: {name}")
    for kind, cases in (("goals", WRONG_GOALS), ("criteria", WRONG_CRITERIA), ("meaning", WRONG_MEANING))
    for name, (change, code) in cases.items()
]


STAGE = {"goals": "skeleton", "meaning": "data", "criteria": "criteria"}


@pytest.mark.parametrize(("kind", "change", "code"), CASES)
def test_an_answer_that_does_not_hold_is_asked_for_once_more(
    kind: str, change: Callable[[Any], None], code: str
) -> None:
    wrong = changed(ANSWERS[kind], change)
    with Model({kind: lambda n: wrong if n == 1 else ANSWERS[kind]}) as model:
        assert model.induce(STAGE[kind], "levels")[0] == 0
        assert model.kinds.count(kind) == 2
        assert code in model.prompts[model.kinds.index(kind) + 1]


def test_an_answer_that_never_holds_ends_it_without_a_state() -> None:
    with Model({"goals": changed(GOALS, WRONG_GOALS["a number"][0])}) as model:
        code, _, err = model.induce("skeleton", "levels")
    assert (code, model.kinds, (STATE / "skeleton.json").exists()) == (4, ["goals", "goals"], False)
    assert "prescribes: G1: the number '12' is not in the instruction" in err


def test_words_of_the_instruction_may_name_methods() -> None:
    write_task(Path("tasks/fit"), objective="Find the level by linear regression over 12 years. Compare. Test it.")
    goals = changed(GOALS, lambda a: [g.update(instruction_evidence=["Compare"]) for g in a["goals"]])
    goals["goals"][0]["requirement"] = "The level is found by linear regression over 12 years."
    with Model({"goals": goals}) as model:
        assert model.induce("skeleton", "fit")[0] == 0


@given(st.text(st.characters(max_codepoint=0x2FF), min_size=1, max_size=60), st.integers(0, 59), st.integers(1, 60))
def test_a_passage_is_found_in_its_own_text_whatever_its_case(text: str, start: int, length: int) -> None:
    passage = text[start : start + length]
    assert stands_in(passage, text) or not passage.strip()


# ---- the data profile


def test_code_finds_what_the_data_are() -> None:
    (Path("tasks/levels/data") / "copy.csv").write_bytes((Path("tasks/levels/data/levels.csv")).read_bytes())
    (Path("tasks/levels/data") / "sites.tsv").write_text(
        "site\topened\tempty\nnorth\t1900-01-02\t\nsouth\t1900-01-02\t\n"
    )
    (Path("tasks/levels/data") / "notes.bin").write_bytes(b"\x00\x01")
    (Path("tasks/levels/data") / "broken.parquet").write_bytes(b"no table")
    with Model() as model:
        assert model.induce("data", "levels")[0] == 0
    state = json.loads((STATE / "data_profile.json").read_text())
    files = {file["path"]: file for file in state["files"]}
    table = files["data/levels.csv"]["table"]
    columns = {column["name"]: column for column in table["columns"]}
    assert (table["rows"], table["order"], table["groups"]) == (40, "row", ["site"])
    assert table["keys"] == ["row"]
    assert columns["row"]["suspicious"] == "counts the rows"
    assert (columns["year"]["unit"], columns["year"]["low"], columns["year"]["high"]) == ("year", 1900, 1919)
    assert (columns["site"]["kind"], columns["site"]["values"]) == ("text", ["north", "south"])
    assert (columns["level"]["kind"], columns["level"]["missing"]) == ("number", 0)
    sites = {column["name"]: column for column in files["data/sites.tsv"]["table"]["columns"]}
    assert sites["opened"]["kind"] == "date"
    assert sites["opened"]["suspicious"] == "the same value in every row"
    assert sites["empty"]["kind"] == "empty"
    assert files["data/notes.bin"]["table"] is None
    assert "not readable as a table" in files["data/broken.parquet"]["problem"]
    assert state["copies"] == [["data/copy.csv", "data/levels.csv"]]
    assert {"column": "site", "first": "sites.tsv", "second": "levels.csv", "share": 1.0} in state["joins"]
    assert "data/levels.csv: column gone is described, but not there" in state["notes"]
    assert "data/levels.csv: column row is not described" in state["notes"]


# ---- switches


def test_ablations_change_what_the_criteria_are_written_from() -> None:
    with Model() as model:
        assert model.induce("levels", "--no-data", "-o", "a.yaml")[0] == 0
        assert model.kinds == ["goals", "criteria"]
        assert "one row a year" not in model.prompts[-1]
        assert model.induce("levels", "--stages=skeleton", "-o", "b.yaml")[0] == 0
        assert len(model.kinds) == 2
    skeleton = load(Path("b.yaml"))
    assert [c.id for c in skeleton.criteria] == ["levels.g1", "levels.g2", "levels.g3"]
    assert "Level and rate is found." in skeleton.criteria[0].question
    switches = json.loads(Path("b.induction.json").read_text())
    assert switches["switches"]["stages"] == "skeleton"
    assert list(switches["states"]) == ["skeleton"]


def test_a_second_skeleton_brings_the_goals_that_the_first_lacks() -> None:
    second = changed(GOALS, lambda a: a["goals"][2].update(title="Sites apart", requirement="Sites are told apart."))
    same = {"rationale": "Two are the same.", "same": [{"first": i, "second": i} for i in IDS[:2]]}
    with Model({"goals": lambda n: [GOALS, second][n - 1], "merge": same}) as model:
        assert model.induce("skeleton", "levels", "--second-skeleton")[0] == 0
        assert sorted(model.kinds) == ["goals", "goals", "merge"]
    state = json.loads((STATE / "skeleton.json").read_text())
    titles = [goal["title"] for goal in state["goals"]]
    assert state["drawn"] == 2
    assert len(titles) == 4
    assert {"Sites apart", "Test on rows kept aside"} <= set(titles)
    assert [goal["id"] for goal in state["goals"]] == ["G1", "G2", "G3", "G4"]


def test_a_critique_has_the_criteria_written_again() -> None:
    gap = {"rationale": "One.", "gaps": [{"quote": "its rate of change", "missing": "the rate over time"}]}
    more = changed(CRITERIA, lambda a: a["criteria"].append(criterion(6, "a rate over time")))
    with Model({"critique": gap, "criteria": lambda n: [CRITERIA, more][n - 1]}) as model:
        assert model.induce("levels", "--critique")[0] == 0
        assert model.kinds == ["goals", "meaning", "criteria", "critique", "criteria"]
        assert "the rate over time" in model.prompts[-1]
    assert len(load().criteria) == 7


def test_what_is_required_compiles_into_the_check_and_the_scope() -> None:
    of_run = {"scope": "run", "question": "Does the run store a rate?", "requires": [RATES]}
    answer = changed(CRITERIA, lambda a: (a["criteria"][0].update(requires=[RATES]), a["criteria"][3].update(of_run)))
    with Model({"criteria": answer}) as model:
        assert model.induce("levels")[0] == 0
    first, _, _, fourth, *rest = load().criteria
    assert (first.scope, first.check, first.judge) == ("finding", "artifacts.required", True)
    assert (fourth.scope, fourth.check, fourth.judge) == ("run", "artifacts.required", False)
    assert first.requires == fourth.requires
    assert {c.check for c in rest} == {None}


# ---- the shipped rubrics

SHIPPED = sorted((Path(__file__).parent.parent / "rubrics/induced").glob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_rubric_is_induced_again_from_its_record(path: Path) -> None:
    state = Path("state")
    state.mkdir()
    shutil.copy(path.with_name(f"{path.stem}.induction.json"), state / "answers.json")
    shutil.copy(path.with_name(f"{path.stem}.frozen.json"), "again.frozen.json")
    code, out, err = sciagent(
        "induce", path.stem, "--judge=handoff:claude", "--critique", "--state=state", "-o", "again.yaml"
    )
    assert (code, err) == (0, ""), out
    assert Path("again.yaml").read_text() == path.read_text()
    assert sciagent("rubric", "lint", str(path))[0] == 0


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_page_shows_the_recorded_marks_of_a_shipped_rubric(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = path.parent / "quality" / path.stem / "answers.json"
    if not recorded.is_file():
        pytest.skip("no model has marked this rubric")
    state = Path.cwd() / "quality"
    state.mkdir()
    shutil.copy(recorded, state)
    root = path.parent.parent.parent
    monkeypatch.chdir(root)
    files = [f"rubrics/induced/{folder}{path.name}" for folder in ("skeletons/", "")]
    code, out, err = sciagent("rubric", "quality", *files, "--judge=handoff:claude", f"--state={state}")
    assert (code, err, len(out.splitlines())) == (0, "", 2)
    page = (root / "docs/induction.md").read_text()
    for line in out.splitlines():
        assert line in page


# ---- lint and freeze


def lint(**values: Any) -> str:
    """What lint says of the induced rubric with its first criterion changed."""
    with Model() as model:
        assert model.induce("levels", "-o", "r.yaml")[0] == 0
    plain = yaml.safe_load(Path("r.yaml").read_text())
    for name, value in values.items():
        if name == "drop":
            del plain["criteria"][0][value]
        elif name == "levels":
            plain["criteria"][0]["levels"].update(value)
        else:
            plain["criteria"][0][name] = value
    Path("r.yaml").write_text(yaml.safe_dump(plain, sort_keys=False))
    code, out, err = sciagent("rubric", "lint", "r.yaml")
    assert (code, err) == (1, ""), out
    head, *problems = out.splitlines()
    assert head == f"r.yaml: {len(problems)} problem{'s' if len(problems) != 1 else ''}"
    assert "(" in problems[0]  # each problem with a suggestion
    return out


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"question": "Is a rate given? Is it right?"}, "compound"),
        ({"question": "Does this finding give a rate as well as a spread?"}, "compound"),
        ({"levels": {"1": "An appropriate rate is given."}}, "vague: 'appropriate'"),
        ({"satisfaction_condition": "The analysis is thorough."}, "vague: 'thorough'"),
        ({"question": "Is the finding insightful?"}, "uncheckable: 'insightful'"),
        ({"required_analysis": [], "expected_artifacts": []}, "uncheckable: nothing says"),
        ({"levels": {"1": "The rate is M_mean ± M_std."}}, "placeholder"),
        ({"boundary": "TODO"}, "placeholder: 'TODO'"),
        ({"levels": {"1": "Same.", "0": "Same."}}, "contradicting: two levels"),
        ({"levels": {"1": "The files hold a rate."}}, "level 1: not about one finding"),
        ({"question": "Do the files hold a rate?"}, "question: not about one finding"),
        (
            {"scope": "run", "judge": False, "check": "artifacts.required", "requires": [RATES]},
            "not about one finding: the question of a whole run",
        ),
        ({"check": "artifacts.required", "requires": [COPY]}, "met by inputs"),
        ({"requires": [RATES]}, "give 'check: artifacts.required'"),
        ({"check": "artifacts.required"}, "list something"),
        ({"data_sources": ["levels.csv:depth"]}, "missing data: the task has no levels.csv:depth"),
        ({"drop": "weight"}, "missing key 'weight'"),
        ({"drop": "levels"}, "missing key 'levels'"),
    ],
)
def test_lint(values: dict[str, Any], told: str) -> None:
    assert told in lint(**values)


def test_lint_finds_duplicates_contradictions_and_goals_without_a_criterion() -> None:
    with Model() as model:
        assert model.induce("levels", "-o", "r.yaml")[0] == 0
    plain = yaml.safe_load(Path("r.yaml").read_text())
    first, second, third, *_ = plain["criteria"]
    second["question"], second["levels"]["1"] = first["question"], first["levels"]["1"]
    third["question"] = first["question"].replace("give", "not give")
    third["levels"]["1"] = first["levels"]["1"]
    plain["dimensions"].append({"id": "G9", "weight": 1})
    Path("r.yaml").write_text(yaml.safe_dump(plain, sort_keys=False))
    code, out, _ = sciagent("rubric", "lint", "r.yaml")
    assert code == 1
    assert f"{first['id']}, {second['id']}: duplicate" in out
    assert f"{first['id']}, {third['id']}: contradicting" in out
    assert "G9: goal without criterion" in out


def test_lint_finds_what_the_task_hides() -> None:
    hidden = Path("tasks/levels/hidden")
    hidden.mkdir()
    (hidden / "source.yaml").write_text(
        "schema: sciagent-source/1\ntitle: The rising levels of quiet northern basins\nfirst_public: 2001-01-01\n"
        "doi: 10.1/basins\nauthors: ['Waterman, A.']\n"
    )
    with Model() as model:
        assert model.induce("levels", "-o", "r.yaml")[0] == 0
    text = Path("r.yaml").read_text()
    Path("r.yaml").write_text(text.replace("Judges nothing else.", "As in Waterman et al., doi 10.1/basins.", 1))
    code, out, _ = sciagent("rubric", "lint", "r.yaml")
    assert (code, out.count("target leaked")) == (1, 2)
    assert "Waterman" not in out.replace("r.yaml", "")
    assert sciagent("rubric", "freeze", "r.yaml")[0] == 1


def test_a_rubric_that_lint_refuses_is_left_as_a_draft() -> None:
    vague = changed(CRITERIA, lambda a: a["criteria"][0].update(level_1="The finding gives a good rate."))
    with Model({"criteria": vague}) as model:
        code, out, err = model.induce("levels")
    assert (code, RUBRIC.exists()) == (1, False)
    assert "vague: 'good'" in err
    draft = STATE / "draft.yaml"
    assert str(draft) in out
    draft.write_text(draft.read_text().replace("a good rate", "a rate"))
    assert sciagent("rubric", "freeze", str(draft))[0] == 0


def test_an_edit_is_another_version() -> None:
    with Model() as model:
        assert model.induce("levels")[0] == 0
    before = load()
    RUBRIC.write_text(RUBRIC.read_text().replace("Judges nothing else.", "Judges this alone.", 1))
    with pytest.raises(Exception, match="changed after it was frozen"):
        load()
    code, out, _ = sciagent("rubric", "freeze", str(RUBRIC))
    assert (code, "version 2" in out) == (0, True)
    after = load()
    assert after.digest != before.digest
    versions = json.loads(RUBRIC.with_name("levels.frozen.json").read_text())["versions"]
    assert [v["digest"] for v in versions] == [before.digest, after.digest]
    assert sciagent("rubric", "freeze", str(RUBRIC))[0] == 0
    assert load().digest == after.digest
    RUBRIC.with_name("levels.frozen.json").unlink()
    with pytest.raises(Exception, match="there is no record"):
        load()


# ---- a session


def session(cohort: Cohort, frozen_at: str, *args: str) -> tuple[int, str]:
    """A session by an induced rubric that was frozen at some time."""
    path = Path("rubrics/small.yaml")
    if "frozen_at" not in path.read_text():
        induced = f"kind: induced\ntask_id: t1\nfrozen_at: '{frozen_at}'"
        path.write_text(path.read_text().replace("kind: curated", induced))
    version = FrozenVersion(version="1", digest=load_yaml(path, Rubric).digest, frozen_at=frozen_at)
    path.with_name("small.frozen.json").write_text(record_text(FreezeRecord(rubric="small", versions=(version,))))
    result = cohort.pytester.runpytest("--sciagent-run=runs", "--sciagent-rubric=small", *args)
    return int(result.ret), "\n".join([*result.outlines, *result.errlines])


@pytest.mark.parametrize(
    ("frozen_at", "started_at", "why"),
    [
        ("2026-05-01T00:00:00Z", "2026-05-01T00:00:01Z", None),
        ("2026-05-01T00:30:00Z", "2026-05-01T02:00:00+02:00", "after the run began"),
        ("2026-05-02T00:00:00Z", "2026-05-01T00:00:00Z", "after the run began"),
        ("2026-05-01T00:00:00Z", None, "does not tell when it began"),
    ],
)
def test_a_rubric_frozen_after_the_run_began_is_refused(
    cohort: Cohort, frozen_at: str, started_at: str | None, why: str | None
) -> None:
    cohort.run("alpha")
    manifest = next(Path("runs").rglob("run.json"))
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"started_at": started_at}))
    code, told = session(cohort, frozen_at)
    assert (code == 4) is (why is not None), told
    if why is None:
        assert "outcome in view" not in told
        return
    assert f"{why}" in told
    code, told = session(cohort, frozen_at, "--sciagent-allow-late-rubric")
    assert code in {0, 1}
    assert "it could have been written with the outcome in view" in told


def test_a_baseline_is_not_scored_by_a_rubric_that_was_made_after_it(cohort: Cohort) -> None:
    for system, place, day in (("alpha", "runs/alpha/t1", "03"), ("base", "old/t1", "01")):
        cohort.run(system, place=place)
        manifest = Path(place) / "run.json"
        told = json.loads(manifest.read_text()) | {"started_at": f"2026-05-{day}T00:00:00Z"}
        manifest.write_text(json.dumps(told))
    code, told = session(cohort, "2026-05-02T00:00:00Z", "--sciagent-baseline=old")
    assert code == 4
    assert "base/t1: rubric small was frozen at 2026-05-02T00:00:00Z, after the run began" in told


def test_whatever_scores_runs_refuses_a_late_rubric_in_the_same_words(cohort: Cohort, tmp_path: Path) -> None:
    cohort.run("alpha")
    _, told = session(cohort, "2026-05-02T00:00:00Z")
    refusal = next(line for line in told.splitlines() if "outcome in view" in line).removeprefix("ERROR: ")
    words, _, _ = refusal.partition(" with --")
    how = ("--rubric", "small")
    commands = (
        ("compare", "runs", *how),
        ("stability", "runs", *how),
        ("sensitivity", "runs", "--judge", "handoff:a,handoff:b", *how),
        ("export", "jsonl", "runs", "-o", tmp_path / "verdicts.jsonl", *how),
    )
    for command in commands:
        code, _, err = cohort.sciagent(*command)
        assert (code, words in err) == (4, True), err
        assert "take it all the same with --allow-late-rubric" in err
    with pytest.raises(SciagentError) as raised:
        compare("runs", rubric="small")
    assert words in str(raised.value)
    note = "it could have been written with the outcome in view"
    scores = score("runs", rubric="small", allow_late_rubric=True)
    code, out, _ = cohort.sciagent("compare", "runs", *how, "--allow-late-rubric", "--json", tmp_path / "found.json")
    assert code == 0
    assert out == compare(scores).text
    assert note in out.splitlines()[0]
    found = json.loads((tmp_path / "found.json").read_text())
    assert found == compare(scores).as_json()
    assert note in found["notes"][0]
    table = tmp_path / "table.csv"
    cohort.sciagent("compare", "runs", *how, "--allow-late-rubric", "--csv", table)
    (row,) = csv.DictReader(table.open())
    assert note in row["note"] == scores.table()["note"][0]
    assert cohort.sciagent("compare", table, *how)[:2] == (0, out), "a table tells it again"
    Path("pytest.ini").write_text("[pytest]\nsciagent_allow_late_rubric = true\n")
    assert cohort.sciagent("compare", "runs", *how) == (0, out, ""), "what a session allows, the command allows"


def test_an_induced_rubric_that_is_not_frozen_is_refused(cohort: Cohort) -> None:
    cohort.run("alpha")
    path = Path("rubrics/small.yaml")
    path.write_text(path.read_text().replace("kind: curated", "kind: induced\ntask_id: t1"))
    result = cohort.pytester.runpytest("--sciagent-run=runs", "--sciagent-rubric=small")
    assert result.ret == 4
    assert "is induced and not frozen" in "\n".join(result.errlines)


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, None]), min_size=3, max_size=3), min_size=1, max_size=5))
def test_each_criterion_counts_at_its_best_finding(levels: list[list[float | None]]) -> None:
    conditions = {"1": "a", "0.5": "b", "0": "c"}
    criteria = [
        Criterion.model_validate(
            {"id": f"c{n}", "dimension": "d", "weight": n + 1, "question": "q", "levels": conditions, "judge": True}
        )
        for n in range(3)
    ]
    found = score_best((c, level) for finding in levels for c, level in zip(criteria, finding, strict=True))
    columns = list(zip(*levels, strict=True))
    low = sum((n + 1) * max(level or 0.0 for level in column) for n, column in enumerate(columns))
    high = sum((n + 1) * max(1.0 if level is None else level for level in column) for n, column in enumerate(columns))
    assert (float(found.low), float(found.high)) == pytest.approx((low * 100 / 6, high * 100 / 6))


# ---- quality


def test_quality_of_skeleton_and_full_and_coverage_of_a_gold_checklist() -> None:
    gold = {
        "schema": "sciagent-rubric/1",
        "id": "gold",
        "version": "1",
        "kind": "curated",
        "dimensions": [{"id": "d", "weight": 1}],
        "criteria": [
            {"id": f"item{n}", "dimension": "d", "weight": n, "question": "Is it so?", "judge": True}
            | {"levels": {"1": "all", "0.5": "some", "0": "none"}}
            for n in (1, 3)
        ],
    }
    Path("gold.yaml").write_text(json.dumps(gold))
    covered = {
        "rationale": "One.",
        "items": [{"item_id": "item1", "criteria": []}, {"item_id": "item3", "criteria": []}],
    }
    full = changed(covered, lambda a: a["items"][1].update(criteria=["levels.criterion_0"]))
    with Model({"coverage": lambda n: full if "criterion_0" in model.prompts[-1] else covered}) as model:
        assert model.induce("levels", "-o", "full.yaml")[0] == 0
        assert model.induce("levels", "--stages=skeleton", "-o", "skeleton.yaml")[0] == 0
        asking = (f"--base-url={model.url}", "--judge=openai:m-1", "--gold=gold.yaml", "-o", "q.json")
        code, out, err = sciagent("rubric", "quality", "skeleton.yaml", "full.yaml", *asking)
    assert (code, err) == (0, "")
    assert "full.yaml: operational specificity 4, evidence grounding 4, feasibility 4, scientific coverage 4" in out
    assert "covers 75% of the gold weight; lost: item1" in out
    shares = [one["coverage"]["share"] for one in json.loads(Path("q.json").read_text())["rubrics"]]
    assert shares == [0.0, 0.75]
    assert MEANING["files"][0]["meaning"] not in model.prompts[-1]
    again = sciagent("rubric", "quality", "skeleton.yaml", "full.yaml", "--judge=openai:m-1", "--gold=gold.yaml")
    assert again == (0, out, "")  # from what is recorded: nobody is there to be asked
