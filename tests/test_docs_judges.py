"""The formats that docs/handoff.md gives are those that the program takes, and the options of docs/judges.md exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sample import QUOTE, Cohort, outcomes

from pytest_sciagent.cli.settings import known_names
from pytest_sciagent.judging.openai_client import OpenAIParameters

PAGES = Path(__file__).parent.parent / "docs"
DOCS = (PAGES / "judges.md").read_text()
HANDOFF = (PAGES / "handoff.md").read_text()
SINGLE, GROUPED = (json.loads(block) for block in re.findall(r"```json\n(.*?)\n```", HANDOFF))


def prompts(cohort: Cohort, layout: str) -> list[dict[str, Any]]:
    where = ["runs", "--as=me", "--rubric=small", f"--layout={layout}"]
    code, _, err = cohort.sciagent("ledger", "export", *where, "-o", "prompts.jsonl")
    assert code == 0, err
    return [json.loads(line) for line in (cohort.root / "prompts.jsonl").read_text().splitlines()]


def take(cohort: Cohort, layout: str, answers: list[dict[str, Any]]) -> dict[str, Any]:
    (cohort.root / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in answers))
    where = ["answers.jsonl", "runs", "--as=me", "--rubric=small", f"--layout={layout}"]
    code, out, err = cohort.sciagent("ledger", "import", *where, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_an_answer_to_one_question_is_taken_as_written(cohort: Cohort) -> None:
    cohort.run(findings=1)
    asked = [p for p in prompts(cohort, "item") if p["kind"] == "criterion"]
    fields = {
        name for row in re.findall(r"^\| (`.*?) \|", HANDOFF, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert fields == asked[0].keys() - {"schema"} | {"keys"}
    SINGLE["answer"]["citations"][0]["quote"] = QUOTE
    assert take(cohort, "item", [SINGLE | {"id": p["id"]} for p in asked])["assessed"] == 4
    as_text = [{"id": p["id"], "answer": json.dumps(SINGLE["answer"])} for p in asked]
    assert take(cohort, "item", as_text)["assessed"] == 4
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"passed": 4}


def test_answers_to_a_finding_are_taken_as_written(cohort: Cohort) -> None:
    cohort.run(findings=1)
    (asked,) = [p for p in prompts(cohort, "finding") if p["kind"] == "criteria"]
    answers = dict.fromkeys(asked["keys"], GROUPED["answers"]["CRITERION"])
    assert take(cohort, "finding", [GROUPED | {"keys": asked["keys"], "answers": answers}])["assessed"] == 4
    assert outcomes(cohort.pytest("--sciagent-run=runs")) == {"failed": 4}


def test_every_option_and_parameter_named_exists() -> None:
    names, options = known_names()
    assert set(re.findall(r"--sciagent-[a-z-]+", DOCS)) <= options
    assert set(re.findall(r"\bsciagent_images\b", DOCS)) <= names
    told = re.search(r"Parameters of both kinds: (.*?)\. `openai` also knows (.*?), `anthropic`", DOCS, re.DOTALL)
    assert told is not None
    assert set(re.findall(r"`(\w+)`", told[0])) - {"openai", "anthropic"} == set(OpenAIParameters.model_fields)


def test_the_links_within_the_page_lead_somewhere() -> None:
    headings = {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^## (.*)$", DOCS, re.MULTILINE)
    }
    links = set(re.findall(r"\(#([a-z0-9-]+)\)", DOCS))
    assert links
    assert links <= headings
