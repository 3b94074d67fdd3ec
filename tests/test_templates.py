"""Prompt templates of the user's own: tried out before anybody is asked, and part of what answers are recorded by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from loopback import Loopback
from sample import Cohort, outcomes, without_spending
from test_live_judge import good, options, record_of

from pytest_sciagent.judging.prompts import NAMES, packaged_source
from pytest_sciagent.judging.template_check import read_templates

WORDS = packaged_source("criterion")
pytestmark = pytest.mark.usefixtures("no_proxy")


def write(folder: Path, **sources: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, source in sources.items():
        (folder / f"{name}.j2").write_text(source)
    return folder


def test_own_words_are_asked_recorded_and_told(cohort: Cohort) -> None:
    cohort.run(findings=1)
    write(cohort.root / "words", criterion=f"Weigh this with care.\n{WORDS}")
    with Loopback(good) as server:
        args = options("openai", server)
        cohort.pytest(*args)
        before = len(server.requests)
        found = cohort.results(*args, "--sciagent-templates=words", code=0)
        asked = [json.dumps(r.json) for r in server.requests[before:]]
        assert len(asked) == 4, "the criteria again, but not what is asked in the old words"
        assert all("Weigh this with care." in text for text in asked)
        assert without_spending(cohort.results(*args, "--sciagent-templates=words", code=0)) == without_spending(found)
        assert len(server.requests) == before + 4
    assert found["notes"] == ["prompt templates of your own: criterion.j2"]
    assert len({e["template_digest"] for e in record_of(cohort) if e["kind"] == "criterion"}) == 2
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-templates=words")
    result.stdout.fnmatch_lines(["prompt templates of your own: criterion.j2"])
    assert outcomes(result) == {"passed": 4}
    assert cohort.results("--sciagent-run=runs", code=0).get("notes") is None


def test_the_ini_twin_and_workers(cohort: Cohort) -> None:
    cohort.run(findings=1)
    write(cohort.root / "words", system=packaged_source("system") + "\n9. Be brief.\n")
    (cohort.root / "pytest.ini").write_text("[pytest]\nsciagent_rubric = small\nsciagent_templates = words\n")
    with Loopback(good) as server:
        found = cohort.results(*options("openai", server), code=0)
        assert all("9. Be brief." in json.dumps(r.json) for r in server.requests)
    assert found["notes"] == ["prompt templates of your own: system.j2"]
    assert without_spending(cohort.results("--sciagent-run=runs", "-n1", code=0)) == without_spending(found)


def test_the_same_words_give_the_same_keys(cohort: Cohort) -> None:
    cohort.run(findings=1)
    cohort.record()
    write(cohort.root / "words", **{name: packaged_source(name) for name in NAMES})
    before = outcomes(cohort.pytest("--sciagent-run=runs"))
    assert outcomes(cohort.pytest("--sciagent-run=runs", "--sciagent-templates=words")) == before


def test_hand_off_in_own_words(cohort: Cohort) -> None:
    cohort.run(findings=1)
    write(cohort.root / "words", criterion=f"Weigh this with care.\n{WORDS}")
    for more, count in (["--templates", "words"], 4), ([], 0):
        args = ["ledger", "export", "runs", "--as", "me", "--rubric", "small", "-o", "out.jsonl", *more]
        assert cohort.sciagent(*args)[0] == 0
        assert Path("out.jsonl").read_text().count("Weigh this with care.") == count


SHARED = packaged_source("shared")
BAD: dict[str, tuple[dict[str, str], str]] = {
    "no template": ({}, "*words: no prompt template here; names are system.j2, *"),
    "an unknown name": ({"criterium": WORDS}, "*criterium.j2: no prompt has *; did you mean 'criterion.j2'?"),
    "no criterion": ({"criterion": "Judge well."}, "*criterion.j2: it leaves out the criterion's id: *"),
    "no question": (
        {"criterion": WORDS.replace("{{ criterion.question }}", "")},
        "*leaves out the criterion's question*",
    ),
    "no level": ({"criterion": WORDS.replace("{{ criterion.levels.half }}", "")}, "*the condition of level 0.5*"),
    "no facts": ({"criterion": WORDS.replace("{{ facts }}", "")}, "*leaves out the facts that code computed*"),
    "an unknown variable": ({"criterion": WORDS + "{{ system }}"}, "*no such name: system; known: criterion, *"),
    "one in a branch": ({"criterion": WORDS + "{% if facts == 1 %}{{ x }}{% endif %}"}, "*no such name: x; known: *"),
    "an unknown part": (
        {"criterion": WORDS + "{{ criterion.weights }}"},
        "*can't be rendered: *no attribute 'weights'*",
    ),
    "broken": ({"criterion": WORDS + "{% if %}"}, "*criterion.j2:11: Expected *"),
    "another file": ({"criterion": WORDS + "{% include 'system' %}"}, "*can't include or extend another*"),
    "a way out": ({"criterion": WORDS + "{{ criterion.__class__.__mro__ }}"}, "*can't be rendered: *unsafe*"),
    "unfenced": (
        {"shared": SHARED.replace("{{ fence(piece.label, piece.text) }}", "{{ piece.text }}")},
        "*shared.j2: it shows material of the run or the task outside of fence(label, text): *",
    ),
    "no evidence": ({"shared": SHARED.replace("piece.text", "''")}, "*leaves out the evidence*"),
    "needs a task": (
        {"shared": SHARED + "{{ task.manifest.title }}"},
        "*can't be rendered: 'None' has no attribute 'manifest'",
    ),
    "no mark": ({"system": "Judge well."}, "*system.j2: it leaves out the mark of fenced material*"),
    "no columns": ({"plan": packaged_source("plan").replace('columns | join(", ")', "''")}, "*leaves out the columns*"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_template_that_can_not_do_its_work_is_told_before_anybody_is_asked(cohort: Cohort, name: str) -> None:
    cohort.run(findings=1)
    sources, words = BAD[name]
    write(cohort.root / "words", **sources)
    with Loopback(good) as server:
        result = cohort.pytest(*options("openai", server), "--sciagent-templates=words")
        assert not server.requests
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {words}"])
    assert "Traceback" not in result.stderr.str()


def test_no_such_folder(cohort: Cohort) -> None:
    cohort.run(findings=1)
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-templates=nowhere")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --sciagent-templates *nowhere: no such folder"])


@pytest.mark.parametrize("name", NAMES)
def test_the_packages_own_templates_pass(tmp_path: Path, name: str) -> None:
    source = packaged_source(name)
    assert read_templates(write(tmp_path / "words", **{name: source})).own == {name: source}
