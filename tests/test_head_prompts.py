"""Runs of other prompts than the head's leave everything inconclusive: never green, never red by their scores."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from sample import Cohort

RUNS = "--sciagent-run=runs"
FROM = "--sciagent-prompts-from=prompts"


def record_prompts(run: Path, prompts: dict[str, str]) -> None:
    """Write the prompts (path and text) into the manifest of a frozen run."""
    manifest = json.loads((run / "run.json").read_text())
    manifest["system"]["prompts"] = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in prompts.items()}
    (run / "run.json").write_text(json.dumps(manifest))


@pytest.fixture
def head(cohort: Cohort) -> Cohort:
    """A run made with `agent.md` and `sub/tool.md`, all at level 1, and these files in prompts/."""
    record_prompts(cohort.run(findings=1), {"agent.md": "be careful", "sub/tool.md": "use it"})
    cohort.record(lambda run, finding, criterion: 1)
    (cohort.root / "prompts" / "sub").mkdir(parents=True)
    (cohort.root / "prompts" / "agent.md").write_text("be careful")
    (cohort.root / "prompts" / "sub" / "tool.md").write_text("use it")
    return cohort


def decision(cohort: Cohort, *args: str, code: int) -> tuple[str | None, str]:
    found = cohort.results(RUNS, *args, code=code)
    gate = found["gate"]
    return (gate["outcome"] if gate is not None else None), json.dumps(gate)


def test_runs_of_the_head_are_decided_as_ever(head: Cohort) -> None:
    assert decision(head, FROM, code=0) == (None, "null")
    assert decision(head, FROM, "--sciagent-min-score=90", code=0)[0] == "met"
    assert decision(head, FROM, "--sciagent-changed-prompt=prompts/agent.md", code=0)[0] is None
    head.record(lambda run, finding, criterion: 0)
    (head.root / "verdicts" / "alpha" / "t1.json").unlink()
    head.record(lambda run, finding, criterion: 0)
    assert decision(head, FROM, code=1)[0] is None
    assert decision(head, FROM, "--sciagent-min-score=90", code=1)[0] == "not met"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: (p / "agent.md").write_text("be quick"), "alpha/t1 is made with another agent.md"),
        (lambda p: (p / "agent.md").unlink(), "alpha/t1 is made with agent.md, which can't be read there"),
        (lambda p: (p / "sub" / "tool.md").write_text("don't"), "alpha/t1 is made with another sub/tool.md"),
    ],
    ids=["changed", "gone", "below"],
)
@pytest.mark.parametrize(
    "gates", [[], ["--sciagent-min-score=90"], ["--sciagent-min-score=100", "--sciagent-min-task-score=0"]]
)
def test_other_prompts_are_inconclusive_with_any_gate_and_with_none(
    head: Cohort, change: object, said: str, gates: list[str]
) -> None:
    change(head.root / "prompts")  # type: ignore[operator]
    outcome, told = decision(head, FROM, *gates, code=10)
    assert outcome == "inconclusive"
    assert said in told


def test_other_prompts_are_no_failure_of_a_gate_either(head: Cohort) -> None:
    (head.root / "verdicts" / "alpha" / "t1.json").unlink()
    head.record(lambda run, finding, criterion: 0)
    (head.root / "prompts" / "agent.md").write_text("be quick")
    assert decision(head, FROM, "--sciagent-min-score=90", code=10)[0] == "inconclusive"


def test_a_run_without_prompts_is_not_of_the_head(head: Cohort) -> None:
    head.run("beta", findings=1)
    head.record(lambda run, finding, criterion: 1)
    outcome, told = decision(head, FROM, code=10)
    assert outcome == "inconclusive"
    assert "beta/t1 records no prompt of its system" in told


def test_what_the_program_hands_out_is_no_prompt_of_the_system(head: Cohort) -> None:
    run = head.root / "runs" / "alpha" / "t1"
    assert head.sciagent("assemble", "t1", "work")[0] == 0
    ours = {name: (head.root / "work" / name).read_text() for name in ("PROMPT.md", "CONTRACT.md")}
    record_prompts(run, {**ours, "agent.md": "be careful"})
    assert decision(head, FROM, code=0)[0] is None
    record_prompts(run, {**ours, "PROMPT.md": "another", "agent.md": "be careful"})
    assert "PROMPT.md, which can't be read there" in decision(head, FROM, code=10)[1]
    record_prompts(run, ours)
    assert "alpha/t1 records no prompt of its system" in decision(head, FROM, code=10)[1]


def test_a_changed_prompt_that_no_run_is_made_with(head: Cohort) -> None:
    (head.root / "prompts" / "new.md").write_text("a new part")
    outcome, told = decision(head, FROM, "--sciagent-changed-prompt=prompts/new.md", code=10)
    assert outcome == "inconclusive"
    assert "no run is made with the changed prompt new.md" in told


@pytest.mark.parametrize("path", ["../../secret", "/etc/hostname", "link.md"])
def test_recorded_paths_never_lead_out_of_the_folder(head: Cohort, path: str) -> None:
    (head.root / "secret").write_text("be careful")
    (head.root / "prompts" / "link.md").symlink_to(head.root / "secret")
    record_prompts(head.root / "runs" / "alpha" / "t1", {path: "be careful"})
    outcome, told = decision(head, FROM, code=10)
    assert outcome == "inconclusive"
    assert "can't be read there" in told


def test_the_ini_twin_and_bad_input(head: Cohort) -> None:
    (head.root / "prompts" / "agent.md").write_text("be quick")
    ini = head.root / "pytest.ini"
    ini.write_text(ini.read_text() + "sciagent_prompts_from = prompts\n")
    assert head.pytest(RUNS).ret == 10
    result = head.pytest(RUNS, "--sciagent-prompts-from=nowhere")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --sciagent-prompts-from *nowhere: no such folder"])
    result = head.pytest(RUNS, "--sciagent-changed-prompt=prompts/none.md")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *none.md: the changed prompt can't be read: No such file or directory"])


def test_a_failed_run_of_other_prompts_is_inconclusive_too(cohort: Cohort) -> None:
    record_prompts(cohort.run(status="failed"), {"agent.md": "old"})
    (cohort.root / "prompts").mkdir()
    (cohort.root / "prompts" / "agent.md").write_text("new")
    assert decision(cohort, FROM, "--sciagent-min-score=0", code=10)[0] == "inconclusive"
