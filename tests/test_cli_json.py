"""`--json`: every command that prints results has it, and then prints one document with a schema and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from sample import LEVELS, OTHER, TESTER, Cohort, write_task
from test_calibrate import label
from test_cli_help import COMMANDS

JUDGE = "--judge=handoff:tester"
RUBRIC = "--rubric=small"
PLURAL_OF_ONE = re.compile(r"(?<![\d.,-])1 (?!(?:is|was|has)\b)(?:[a-z]+ )?[a-z]+(?<![su])s\b")
TITLE = "series 1 rises"  # of a finding: its author's words
OTHERS = {
    "writes files, or a script": ("init", "completion"),
    "writes runs and records, or serves a page": ("run", "release", "revise", "guide", "probe", "label"),
    "-o writes the same as JSON": ("calibrate", "rubric quality"),
    "leaves its account in a file, or in the ledger": ("import", "task prior-art", "batch collect", "examples"),
    "leaves a state file": tuple(f"induce {name}" for name in ("all", "criteria", "data", "literature", "skeleton")),
    "prints a text for agents": ("task contract",),
    "is a format itself": tuple(f"export {name}" for name in ("inspect", "jsonl", "ro-crate", "truthinsightbench")),
    "tells the job by GITHUB_OUTPUT": tuple(
        f"ci {name}" for name in ("changed", "keep-records", "merge", "report", "restore-records", "run", "test")
    ),
}
"""Commands without --json, by the reason why."""

CALLS: dict[str, tuple[list[str], int]] = {
    "task new": (
        ["made", "--data=tasks/t1/data/series.csv", "--title=T", "--domain=d", "--t0=2020-01-01", "--licence=CC0-1.0"],
        0,
    ),
    "task hash": (["tasks/t1"], 0),
    "task check": (["tasks/t1", RUBRIC], 1),
    "rubric lint": (["rubrics/small.yaml"], 1),
    "rubric freeze": (["rubrics/small.yaml"], 1),
    "assemble": (["t1", "work"], 0),
    "experiment": (["experiment.yaml"], 4),
    "audit": (["runs"], 0),
    "freeze": ([".workspaces/0", "--task=t1", "--system=gamma", "-o", "runs/gamma/t1"], 0),
    "verify": (["runs"], 0),
    "seal": (["runs", "--new-key=lab.pem"], 0),
    "schema": (["schemas"], 0),
    "ledger export": (["runs", RUBRIC, "--as=tester", "-o", "prompts.jsonl"], 0),
    "ledger import": (["answers.jsonl", "runs", RUBRIC, "--as=tester"], 0),
    "ledger show": (["verdicts"], 0),
    "ledger stats": (["verdicts"], 0),
    "ledger merge": (["verdicts", "-o", "merged"], 0),
    "ledger diff": (["verdicts", "verdicts"], 0),
    "ledger prune": (["runs", RUBRIC, "--as=tester"], 0),
    "batch status": ([], 0),
    "compare": (["runs", RUBRIC, JUDGE], 0),
    "sensitivity": (["runs", RUBRIC, "--judge=handoff:tester,handoff:other"], 0),
    "stability": (["runs", RUBRIC, JUDGE], 0),
    "selfcheck": (["life_bill_shape"], 0),
    "plan": (["runs", RUBRIC, "--judge=openai:m"], 0),
    "ensemble": (["labels.jsonl", "--runs=runs", RUBRIC, f"--judge={TESTER.label},{OTHER.label}"], 0),
    "doctor": (["runs", RUBRIC, JUDGE], 0),
}
"""A call of each command that has it, in the repository below, and its exit code."""


@pytest.fixture
def cohort(pytester: pytest.Pytester) -> Cohort:
    made = Cohort(pytester)
    for task in ("t1", "t2"):
        if task != "t1":
            write_task(made.root / "tasks" / task)
        for system in ("alpha", "beta"):
            made.run(system, task)
    made.record(judge=TESTER)
    made.record(judge=OTHER)
    (made.root / "answers.jsonl").write_text("")
    labels = [
        label(f"{system}/{task}", criterion, level, finding=f"finding_{number}")
        for system in ("alpha", "beta")
        for task in ("t1", "t2")
        for number in (1, 2)
        for criterion, level in LEVELS.items()
    ]
    (made.root / "labels.jsonl").write_text("\n".join(labels))
    return made


def test_every_command_has_json_or_a_reason_why_not() -> None:
    have = {
        " ".join(path)
        for path, command in COMMANDS.items()
        if any("--json" in option.opts for option in command.params if isinstance(option, click.Option))
    }
    assert have == set(CALLS)
    assert {" ".join(path) for path in COMMANDS} - have == {name for names in OTHERS.values() for name in names}


def takes_file(name: str) -> bool:
    command = COMMANDS[tuple(name.split())]
    return not any(o.is_flag for o in command.params if isinstance(o, click.Option) and "--json" in o.opts)


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"experiment"}))
def test_json_is_one_document_with_a_schema_and_nothing_else(name: str, cohort: Cohort) -> None:
    args, code = CALLS[name]
    got, out, err = cohort.sciagent(*name.split(), *args, *(["--json", "-"] if takes_file(name) else ["--json"]))
    assert got == code, out + err
    document: dict[str, Any] = json.loads(out)
    assert document["schema"].startswith("sciagent-")
    assert document["schema"].endswith("/1")
    assert len(document) > 1
    assert not Path("-").exists()


def test_bad_input_leaves_standard_output_empty(cohort: Cohort) -> None:
    code, out, err = cohort.sciagent("verify", "nowhere", "--json")
    assert (code, out) == (4, "")
    assert "nowhere" in err


def test_the_document_says_what_the_lines_say(cohort: Cohort) -> None:
    (cohort.root / "runs/alpha/t1/output/Result.md").write_text("changed")
    code, lines, _ = cohort.sciagent("verify", "runs")
    again, out, _ = cohort.sciagent("verify", "runs", "--json")
    assert code == again == 1
    runs = json.loads(out)["runs"]
    states = {run["run"]: run["state"] for run in runs}
    assert states == {"alpha/t1": "tampered", "alpha/t2": "sound", "beta/t1": "sound", "beta/t2": "sound"}
    assert all(f"{run}: {state}" in lines for run, state in states.items())
    assert all(problem in lines for run in runs for problem in run["problems"])


def test_what_agents_wrote_is_plain_ascii_in_a_document(cohort: Cohort) -> None:
    """A terminal obeys nothing of it."""
    cohort.run("gamma", files={"notes.txt": "x"}, report="# R\n\n## Finding 1: \u009b31m\u202ered\n\nIt rises.\n")
    for command in (("audit", "runs"), ("ledger", "show", "verdicts")):
        _, out, _ = cohort.sciagent(*command, "--json")
        assert out.isascii()


def test_one_thing_is_told_in_the_singular(pytester: pytest.Pytester) -> None:
    """Of one run of one finding under a rubric of one criterion, no line counts "1 runs" or "1 findings"."""
    cohort = Cohort(pytester)
    cohort.run(findings=1)
    small = cohort.root / "rubrics" / "small.yaml"
    plain = yaml.safe_load(small.read_text("utf-8"))
    plain["criteria"], plain["dimensions"] = plain["criteria"][:1], plain["dimensions"][:1]
    small.write_text(yaml.safe_dump(plain, sort_keys=False), "utf-8")
    cohort.record(judge=TESTER)
    told = [str(cohort.pytest("--sciagent-run=runs", "--sciagent-min-score=50").stdout)]
    for name in sorted(CALLS.keys() - {"experiment", "selfcheck", "ledger import", "task new", "seal"}):
        args, _ = CALLS[name]
        _, out, err = cohort.sciagent(*name.split(), *args)
        told += [out, err]
    wrong = [line for text in told for line in text.splitlines() if PLURAL_OF_ONE.search(line.replace(TITLE, ""))]
    assert wrong == []
