"""The composite action, run step by step on this machine: pass, fail, inconclusive, fork, parts; and its YAML."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from action_runner import ACTION, ROOT, run_action
from github_api import TOKEN, GitHubApi
from sample import Cohort, sciagent
from test_ci import git, pull_request

from pytest_sciagent.cli import Commands

WORKFLOWS = [ROOT / ".github" / "workflows" / "evaluate.yml", *sorted((ROOT / "examples").glob("github-*.yml"))]
ACTIONLINT = Path(sys.executable).parent / "actionlint"
QUIET = "-p no:cacheprovider -p no:anyio -p no:hypothesispytest"
INJECTION = "::error file=x::owned%0A"


class Checkout:
    """A repository in a pull request that changes prompts/agent.md, with a frozen run by that prompt."""

    def __init__(self, cohort: Cohort, api: GitHubApi) -> None:
        self.cohort, self.root, self.api = cohort, cohort.root, api
        (self.root / "prompts").mkdir()
        (self.root / "prompts" / "agent.md").write_text("be quick")
        (self.root / ".gitignore").write_text(".workspaces\nsciagent-report\n.sciagent\n")
        git(self.root, "init", "-q")
        git(self.root, "add", ".")
        git(self.root, "commit", "-qm", "base")
        self.base = git(self.root, "rev-parse", "HEAD")
        (self.root / "prompts" / "agent.md").write_text("be careful")
        git(self.root, "commit", "-qam", "head")

    def make_run(self, system: str, prompt: str = "be careful", place: str | None = None) -> None:
        run = self.cohort.run(system, findings=1, place=place)
        manifest = json.loads((run / "run.json").read_text())
        manifest["system"]["prompts"] = {"agent.md": hashlib.sha256(prompt.encode()).hexdigest()}
        (run / "run.json").write_text(json.dumps(manifest))

    def go(self, source: str | None = "me/lab", token: str | None = TOKEN, **inputs: str) -> Any:
        event = self.root / ".git" / "event.json"
        event.write_text(json.dumps(pull_request(self.base, source)))
        self.summary = self.root / ".git" / "summary.md"
        self.summary.unlink(missing_ok=True)
        environ = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "me/lab",
            "GITHUB_API_URL": self.api.url,
            "GITHUB_SERVER_URL": "https://github.test",
            "GITHUB_RUN_ID": "5",
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        given = {
            "install": "-",
            "cache": "false",
            "prompts": "prompts/**",
            "prompts-from": "prompts",
            "rubric": "small",
            **{name.replace("_", "-"): value for name, value in inputs.items()},
            "pytest-args": f"{QUIET} {inputs.get('pytest_args', '')}",
            "token": token or "",
        }
        return run_action(self.root, given, environ, ref="refs/pull/7/merge", action_path=str(ROOT))


@pytest.fixture
def checkout(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "SCIAGENT_"))]:
        monkeypatch.delenv(name)
    with GitHubApi() as api:
        yield Checkout(cohort, api)


def test_pass_and_the_comment_is_kept_up_to_date(checkout: Checkout) -> None:
    checkout.make_run("alpha")
    checkout.cohort.record(lambda run, finding, criterion: 1)
    done = checkout.go(pytest_args="--sciagent-min-score=90", cache="true")
    assert not done.failed, done.log
    assert done.outputs == {"outcome": "pass", "exit-code": "0", "changed": "true"}
    assert "## sciagent: ✅ gate met" in checkout.summary.read_text()
    report = checkout.root / "sciagent-report"
    assert {p.name for p in report.iterdir()} == {
        "results.json",
        "verdicts.jsonl",
        "summary.md",
        "junit.xml",
        "report.html",
    }
    (comment,) = checkout.api.comments
    assert comment["body"].startswith("<!-- sciagent: default -->\n## sciagent: ✅ gate met")
    assert comment["body"].endswith("[This job](https://github.test/me/lab/actions/runs/5)")
    kept = json.loads((checkout.root / ".sciagent/records-cache/alpha/t1.json").read_text())
    assert len(kept["entries"]) == 4
    assert [name.split("@")[0] for name in done.uses] == [
        "actions/cache/restore",
        "actions/cache/save",
        "actions/upload-artifact",
    ]


def test_fail_shows_what_fell_and_replaces_the_comment(checkout: Checkout) -> None:
    checkout.make_run("alpha")
    checkout.make_run("base", place="old/t1")
    checkout.cohort.record(lambda run, finding, criterion: 0 if criterion == "rob.zero" else 1)
    checkout.cohort.record(lambda run, finding, criterion: 1, runs="old")
    for record in (checkout.root / "verdicts" / "alpha").glob("*.json"):
        record.write_text(record.read_text().replace("The report speaks", f"{INJECTION} The report speaks"))
    checkout.api.add("<!-- sciagent: default -->\nolder", {"login": "github-actions[bot]", "type": "Bot"})
    done = checkout.go(baseline="old", pytest_args="--sciagent-no-fall --tb=short")
    assert done.failed
    assert done.codes["Test the runs"] == 1
    assert done.codes["Report"] == 0
    assert done.outputs["outcome"] == "fail"
    text = checkout.summary.read_text()
    assert "## sciagent: ❌ gate not met" in text
    assert "### Fallen since the baseline (1; raised: 0)" in text
    (comment,) = checkout.api.comments
    assert "❌ gate not met" in comment["body"]
    annotations = [line for line in done.log.splitlines() if line.startswith("::error")]
    log = re.sub(r"^::stop-commands::(\w+)$.*?^::\1::$", "", done.log, flags=re.DOTALL | re.MULTILINE)
    commands = [line for line in log.splitlines() if line.startswith("::")]
    assert len(annotations) == 2, "the judge's words, and our annotation"
    assert len(commands) == 1
    assert commands[0].startswith(
        "::error file=prompts/agent.md,line=1,title=sciagent rob.zero::alpha/t1 finding_1 fell"
    )


def test_a_run_of_another_prompt_is_inconclusive_never_green(checkout: Checkout) -> None:
    checkout.make_run("alpha", "be quick")
    checkout.cohort.record(lambda run, finding, criterion: 1)
    done = checkout.go(pytest_args="--sciagent-min-score=90")
    assert done.failed
    assert done.outputs == {"outcome": "inconclusive", "exit-code": "10", "changed": "true"}
    text = checkout.summary.read_text()
    assert "## sciagent: ⚠️ gate inconclusive" in text
    assert "alpha/t1 is made with another agent.md" in text


def test_a_fork_has_the_summary_only_and_asks_nobody(checkout: Checkout) -> None:
    checkout.make_run("alpha")
    checkout.cohort.record()  # one criterion is open, and a judge is named
    done = checkout.go(source="they/lab", token="", judge="openai:m", system_file="system.yaml", tasks="t1")
    assert done.codes["Run the agent with the prompts of this checkout"] == 0
    assert done.codes["Test the runs"] == 4  # nothing is recorded under that judge: told, and nobody asked
    done = checkout.go(source="they/lab", token="", judge="handoff:tester", system_file="system.yaml", tasks="t1")
    assert done.codes["Test the runs"] == 1
    assert done.codes["Report"] == 0
    assert "## sciagent: no gate" in checkout.summary.read_text()
    assert "since it comes from a fork" in done.log
    assert checkout.api.requests == []


def test_no_token_no_comment_and_no_permission_is_told(checkout: Checkout) -> None:
    checkout.make_run("alpha")
    checkout.cohort.record(lambda run, finding, criterion: 1)
    checkout.api.refuse = True
    done = checkout.go()
    assert not done.failed, done.log
    assert "status 403; give the job 'permissions: pull-requests: write'" in done.log


def test_bad_input_fails_the_job_and_says_so(checkout: Checkout) -> None:
    done = checkout.go(runs="nowhere")
    assert done.codes["Test the runs"] == 4
    assert done.outputs["outcome"] == "error"
    assert "no results" in checkout.summary.read_text()


def test_parts_leave_records_and_the_last_job_decides(checkout: Checkout) -> None:
    for system in ("alpha", "beta", "gamma"):
        checkout.make_run(system)
    checkout.cohort.record(lambda run, finding, criterion: 1)
    parts = checkout.root / ".sciagent" / "parts"
    for number in (1, 2):
        done = checkout.go(shard=f"{number}/2", pytest_args="--sciagent-min-score=90")
        assert not done.failed, done.log
        assert done.codes["Report"] is None
        shutil.move(checkout.root / "sciagent-report", parts / f"sciagent-part-{number}")
    assert checkout.api.requests == []
    shutil.rmtree(checkout.root / "verdicts")
    done = checkout.go(merge_from=".sciagent/parts", pytest_args="--sciagent-min-score=90")
    assert not done.failed, done.log
    assert "3 records in verdicts" in done.log
    assert done.outputs["outcome"] == "pass"
    assert len(checkout.api.comments) == 1


AGENT = """\
import pathlib, sys

print('::error file=x::the agent says so')
if 'broken' in sys.argv:
    sys.exit(3)
for name, text in {
    'code/fit.py': 'print(2.5)\\n',
    'results/table.csv': 'year,value\\n2000,2.50\\n',
    'Result.md': '# R\\n\\n## Finding 1: it rises\\n\\n2.50 from `output/results/table.csv`.\\n',
}.items():
    path = pathlib.Path('output', name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
"""
needs_run = pytest.mark.skipif("run" not in Commands._where, reason="there is no command 'sciagent run' yet")


@needs_run
@pytest.mark.parametrize("how", ["works", "broken"])
def test_the_agent_is_run_first_and_its_runs_are_tested(checkout: Checkout, how: str) -> None:
    checkout.make_run("stale", "be quick", place=".sciagent/head-runs/t9")  # of an earlier job
    agent = checkout.root / "agent.py"
    agent.write_text(AGENT)
    command = [sys.executable, str(agent), "{prompt_file}", how]
    system = {"schema": "sciagent-system/1", "name": "mine", "harness": "argv", "command": command, "fixing_turns": 0}
    system["prompts"] = ["prompts/agent.md"]
    (checkout.root / "system.yaml").write_text(yaml.safe_dump(system))
    done = checkout.go(system_file="system.yaml", tasks="t1", pytest_args="--sciagent-min-score=1")
    assert done.codes["Run the agent with the prompts of this checkout"] == 0, done.log
    results = json.loads((checkout.root / "sciagent-report" / "results.json").read_text())
    assert "prompt" not in (results["incomplete_because"] or ""), "the run is made with the head's prompts"
    (run,) = results["runs"]
    assert (run["system"], run["task_id"]) == ("mine", "t1")
    assert run["state"] == ("sound" if how == "works" else "undelivered")
    assert done.outputs["outcome"] == ("inconclusive" if how == "works" else "fail")  # no judge; a failed run has 0
    log = re.sub(r"^::stop-commands::(\w+)$.*?^::\1::$", "", done.log, flags=re.DOTALL | re.MULTILINE)
    assert "::error file=x" not in log


# ---- the files themselves


def test_every_shell_step_stops_at_the_first_fault_and_takes_inputs_by_its_environment() -> None:
    steps = [step for step in ACTION["runs"]["steps"] if "run" in step]
    assert len(steps) >= 6
    for step in steps:
        assert step["run"].startswith("set -euo pipefail\n"), step["name"]
        assert "${{" not in step["run"]
        subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


def test_every_input_is_used_and_every_use_is_an_input() -> None:
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(ACTION["inputs"])
    assert all(spec["description"] for spec in ACTION["inputs"].values())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_give_the_action_only_what_it_has(path: Path) -> None:
    text = path.read_text()
    for job in yaml.safe_load(text)["jobs"].values():
        for step in job.get("steps", ()):
            if "sciagent" in step.get("uses", ""):
                assert set(step["with"]) <= set(ACTION["inputs"])
    workflow = yaml.safe_load(WORKFLOWS[0].read_text())
    called = workflow[True]["workflow_call"]  # YAML 1.1 reads `on` as true
    for job in yaml.safe_load(text)["jobs"].values():
        if "uses" in job:
            assert set(job["with"]) <= set(called["inputs"])
            assert set(job["secrets"]) <= set(called["secrets"])


def test_actionlint_finds_no_fault(tmp_path: Path) -> None:
    """In this repository's workflows, those to copy, that of `sciagent init`, and the action: called, and its steps."""
    assert sciagent("init", str(tmp_path))[0] == 0
    place = tmp_path / ".github" / "workflows"
    for path in {*WORKFLOWS, *(ROOT / ".github" / "workflows").iterdir()}:
        shutil.copy(path, place)
    shutil.copy(ROOT / "action.yml", tmp_path)
    inputs = {name: {"type": "string"} for name in ACTION["inputs"]}
    call = {"uses": "./", "with": dict.fromkeys(inputs, "x")}
    for name, steps in {"call": [call], "steps": ACTION["runs"]["steps"]}.items():
        job = {"runs-on": "ubuntu-latest", "steps": steps}
        workflow = {"on": {"workflow_call": {"inputs": inputs}}, "jobs": {"job": job}}
        (place / f"{name}.yml").write_text(yaml.safe_dump(workflow), "utf-8")
    git(tmp_path, "init", "-q")
    command = [ACTIONLINT, "-shellcheck=", "-pyflakes="]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
