"""Whatever is wrong in what the user gave: one plain message, exit code 4, no traceback, nothing run."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable

import pytest
from sample import OTHER, RUBRIC, Cohort, outcomes, rubric_text

from pytest_sciagent.documents import parse_yaml
from pytest_sciagent.errors import SciagentError
from pytest_sciagent.models.task import TaskManifest

Prepare = Callable[[Cohort], object]
ONE_RUN = ["--sciagent-run=runs"]


def rubric(text: str) -> Prepare:
    def prepare(cohort: Cohort) -> None:
        cohort.run()
        (cohort.root / "rubrics" / "small.yaml").write_text(text)

    return prepare


def edited(old: str, new: str) -> Prepare:
    return rubric(rubric_text().replace(old, new, 1))


def task(old: str, new: str, name: str = "task.yaml") -> Prepare:
    def prepare(cohort: Cohort) -> None:
        cohort.run()
        path = cohort.root / "tasks" / "t1" / name
        path.write_text(path.read_text().replace(old, new, 1))

    return prepare


def without(name: str) -> Prepare:
    def prepare(cohort: Cohort) -> None:
        cohort.run()
        (cohort.root / "tasks" / "t1" / name).unlink()

    return prepare


def run(cohort: Cohort) -> None:
    cohort.run()


def two_judges(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    cohort.record(judge=OTHER)


def all_tampered(cohort: Cohort) -> None:
    for system in ("alpha", "beta"):
        (cohort.run(system) / "output" / "Result.md").write_text("changed")


def twice(cohort: Cohort) -> None:
    cohort.run("alpha")
    cohort.run("alpha", place="runs/copy")


def broken_work_line(cohort: Cohort) -> None:
    cohort.run()
    work = cohort.root / ".sciagent" / "work"
    work.mkdir(parents=True)
    (work / "a-1-b.jsonl").write_text('\n{"run": "alpha/t1"\n{}\n')


def broken_work_entry(cohort: Cohort) -> None:
    cohort.run()
    work = cohort.root / ".sciagent" / "work"
    work.mkdir(parents=True)
    (work / "a-1-b.jsonl").write_text('{"run": "alpha/t1", "entry": {"kez": 1}}\n')


def record(change: Callable[[dict[str, object]], object]) -> Prepare:
    def prepare(cohort: Cohort) -> None:
        cohort.run()
        cohort.record()
        path = cohort.root / "verdicts" / "alpha" / "t1.json"
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data, indent=1))

    return prepare


def broken_record(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    path = cohort.root / "verdicts" / "alpha" / "t1.json"
    path.write_text(path.read_text()[:-20])


def second_rubric(text: str) -> Prepare:
    def prepare(cohort: Cohort) -> None:
        cohort.run()
        (cohort.root / "rubrics" / "second.yaml").write_text(text)

    return prepare


BOTH = ["--sciagent-rubric=small", "--sciagent-rubric=second"]
OPENAI = "--sciagent-judge=openai:some-model"
SITUATIONS: dict[str, tuple[Prepare, list[str], str]] = {
    # runs
    "no such path": (run, ["--sciagent-run=nowhere"], "*nowhere: there is no such file or folder"),
    "no run below the path": (
        run,
        ["--sciagent-run=tasks"],
        "no frozen run (a folder with run.json) at or below *tasks; freeze one with 'sciagent freeze'",
    ),
    "a file that is no run": (run, ["--sciagent-run=pytest.ini"], "*pytest.ini: is neither a folder nor a run.json"),
    "a path inside a run": (
        run,
        ["--sciagent-run=runs/alpha/t1/output"],
        "*output: lies inside the run *: name the run itself",
    ),
    "all runs tampered": (
        all_tampered,
        ONE_RUN,
        "no usable run:\nalpha/t1: changed: output/Result.md\nbeta/t1: changed: output/Result.md",
    ),
    "two runs of one name": (
        twice,
        ONE_RUN,
        "two runs are both alpha/t1: * and *; freeze one of them with another --repeat or --system",
    ),
    # rubrics
    "unknown rubric": (run, [*ONE_RUN, "--sciagent-rubric=smal"], "no rubric named 'smal'; did you mean 'small'?"),
    "no such rubric file": (run, [*ONE_RUN, "--sciagent-rubric=a/b.yaml"], "*a/b.yaml: no such rubric file"),
    "unknown key": (
        edited("    judge: true\n", "    juge: true\n"),
        ONE_RUN,
        "*small.yaml:15: unknown key 'juge' in criteria[[]ev.full[]]; did you mean 'judge'?*",
    ),
    "unknown key at the top": (
        rubric(rubric_text().replace("profile:", "profil:")),
        ONE_RUN,
        "*small.yaml:5: unknown key 'profil'; did you mean 'profile'?",
    ),
    "duplicate criterion id": (
        edited("id: ev.half", "id: ev.full"),
        ONE_RUN,
        "*small.yaml*: duplicate criterion id 'ev.full'",
    ),
    "duplicate key": (
        edited("weight: 40", "weight: 40\n    weight: 41"),
        ONE_RUN,
        "*small.yaml:13: * duplicate key 'weight'",
    ),
    "weight 0": (
        edited("weight: 40", "weight: 0"),
        ONE_RUN,
        "*small.yaml:12: criteria[[]ev.full[]].weight: weight must not be 0: leave the criterion out instead",
    ),
    "weight NaN": (
        edited("weight: 40", "weight: .nan"),
        ONE_RUN,
        "*small.yaml:12: criteria[[]ev.full[]].weight: *finite number*",
    ),
    "weight infinite": (
        edited("weight: 40", "weight: .inf"),
        ONE_RUN,
        "*small.yaml:12: criteria[[]ev.full[]].weight: *finite number*",
    ),
    "weight as text": (
        edited("weight: 40", "weight: heavy"),
        ONE_RUN,
        "*small.yaml:12: criteria[[]ev.full[]].weight: *number*heavy*",
    ),
    "missing level": (
        edited("0.5: some of it, ", ""),
        ONE_RUN,
        "*small.yaml:14: missing key '0.5' in criteria[[]ev.full[]].levels",
    ),
    "nobody decides": (
        edited("    judge: true\n", ""),
        ONE_RUN,
        "*nothing decides this criterion: give 'check: NAME' or 'judge: true'",
    ),
    "unknown dimension": (
        edited("dimension: evidence", "dimension: evidenc"),
        ONE_RUN,
        "*small.yaml*: criterion 'ev.full' names dimension 'evidenc', which is not among evidence, robustness",
    ),
    "an id with a space": (
        edited("id: ev.full", "id: ev full"),
        ONE_RUN,
        "*small.yaml:10: criteria[[]ev full[]].id: *",
    ),
    "no criteria": (
        rubric(RUBRIC.replace("criteria:\n", "criteria: []\n")),
        ONE_RUN,
        "*small.yaml*: criteria: *at least 1*",
    ),
    "not YAML": (rubric("a: [b\nc: d\n"), ONE_RUN, "*small.yaml:2: *"),
    "an alias": (rubric(rubric_text().replace("{1: all of it", "{1: *x")), ONE_RUN, "*small.yaml:14: *aliases*"),
    "a control character": (rubric(rubric_text() + "#\x00\n"), ONE_RUN, "*small.yaml:*: *U+0000 may not stand in YAML"),
    "a control character first": (rubric("\x07"), ONE_RUN, "*small.yaml:1: *U+0007 may not stand in YAML"),
    "empty file": (rubric(""), ONE_RUN, "*small.yaml*"),
    "not UTF-8": (
        lambda c: (c.run(), (c.root / "rubrics" / "small.yaml").write_bytes(b"\xff\xfe")),
        ONE_RUN,
        "*small.yaml: not UTF-8 (byte 0)",
    ),
    "unknown check": (
        edited("judge: true", "check: evidence.data_identiti"),
        ONE_RUN,
        "no check named 'evidence.data_identiti'; did you mean 'evidence.data_identity'?",
    ),
    "a run's criterion for a judge": (
        edited("judge: true", "judge: true\n    scope: run"),
        ONE_RUN,
        "rubric 'small': criterion 'ev.full' of scope 'run' can't be asked of a judge*",
    ),
    "two rubrics of one id": (second_rubric(rubric_text()), [*ONE_RUN, *BOTH], "two rubrics are called 'small'"),
    "one criterion in two rubrics": (
        second_rubric(rubric_text().replace("id: small", "id: second")),
        [*ONE_RUN, *BOTH],
        "criterion id 'ev.full' stands in two rubrics: small and second",
    ),
    "weights that do not add up": (
        edited("weight: 40", "weight: 41"),
        [*ONE_RUN, "--sciagent-profile=truthinsight"],
        "rubric 'small' with profile 'truthinsight': * needs weights that add up to 100, these give 101*",
    ),
    "weights in the file that do not add up": (
        rubric(rubric_text().replace("weighted", "truthinsight").replace("40", "41")),
        ONE_RUN,
        "*small.yaml*: profile 'truthinsight' needs weights that add up to 100, these give 101*",
    ),
    "negative weight": (
        edited("weight: 40", "weight: -40"),
        [*ONE_RUN, "--sciagent-profile=truthinsight"],
        "rubric 'small' with profile 'truthinsight': criterion 'ev.full': a negative weight needs profile 'weighted'",
    ),
    # tasks
    "unknown key in a task": (
        task("title:", "titel:"),
        ONE_RUN,
        "*task.yaml:3: unknown key 'titel'; did you mean 'title'?*",
    ),
    "a task of another id": (task("id: t1", "id: t2"), ONE_RUN, "*task.yaml*: the task's id is 't2', its folder 't1'"),
    "a date that is none": (task("t0: 2020-01-01", "t0: lately"), ONE_RUN, "*task.yaml:5: t0: *"),
    "no objective": (without("objective.md"), ONE_RUN, "*objective.md: no such file"),
    "no data guide": (without("DATA_GUIDE.md"), ONE_RUN, "*DATA_GUIDE.md: no such file"),
    "no such folder of tasks": (
        run,
        [*ONE_RUN, "--sciagent-tasks=nowhere"],
        "--sciagent-tasks nowhere: no such folder",
    ),
    # the ledger
    "a ledger that is a file": (
        run,
        [*ONE_RUN, "--sciagent-ledger=pytest.ini"],
        "--sciagent-ledger pytest.ini: not a folder",
    ),
    "a broken line": (broken_work_line, ONE_RUN, "*a-1-b.jsonl:1: this ledger line can't be read; delete it to go on"),
    "a broken entry": (broken_work_entry, ONE_RUN, "*a-1-b.jsonl:1: *"),
    "a broken record": (broken_record, ONE_RUN, "*t1.json:*: not readable as JSON: *"),
    "an unknown key in a record": (
        record(lambda d: d["entries"][0].update(levl=1)),
        ONE_RUN,
        "*t1.json:*: unknown key 'levl' in entries*; did you mean 'level'?",
    ),  # type: ignore[index]
    "a level that is none": (
        record(lambda d: d["entries"][0].update(level=0.7)),
        ONE_RUN,
        "*t1.json:*: entries*level: a level is 1, 0.5 or 0",
    ),  # type: ignore[index]
    "a record of another run": (
        record(lambda d: d.update(system="beta")),
        ONE_RUN,
        "*t1.json: this record is of beta/t1, not of this run",
    ),
    "several judges and none named": (
        two_judges,
        ONE_RUN,
        "verdicts of several judges are recorded (handoff:other *, handoff:tester *), which are never mixed: "
        "choose one with --sciagent-judge KIND:MODEL*; several with commas between them are a panel",
    ),
    # the judge
    "a judge without a model": (
        run,
        [*ONE_RUN, "--sciagent-judge=openai"],
        "--sciagent-judge 'openai': write KIND:MODEL, such as openai:MODEL or handoff:NAME",
    ),
    "a judge nobody knows": (
        two_judges,
        [*ONE_RUN, "--sciagent-judge=handof:tester"],
        "nothing is recorded under the judge handof:tester; recorded: handoff:other*, handoff:tester*. "
        "Judges that can be asked: openai:MODEL, anthropic:MODEL, decisions:MODEL",
    ),
    "a judge with other parameters": (
        two_judges,
        [*ONE_RUN, "--sciagent-judge=handoff:tester", "--sciagent-judge-param=layout=finding"],
        'nothing is recorded under the judge handoff:tester {"layout": "finding"}; recorded: *',
    ),
    "parameters of no judge": (
        run,
        [*ONE_RUN, "--sciagent-judge-param=a=1"],
        "--sciagent-judge-param belongs to a judge: name it with --sciagent-judge KIND:MODEL",
    ),
    "a parameter without a value": (
        run,
        [*ONE_RUN, OPENAI, "--sciagent-judge-param=temperature"],
        "judge parameter 'temperature': write NAME=VALUE",
    ),
    "an unknown parameter": (
        run,
        [*ONE_RUN, OPENAI, "--sciagent-base-url=http://127.0.0.1:9", "--sciagent-judge-param=temprature=0"],
        "judge openai:some-model: unknown parameter 'temprature'; known: *",
    ),
    "no key for openai": (
        run,
        [*ONE_RUN, OPENAI],
        "the judge openai:some-model needs a key: set the environment variable OPENAI_API_KEY*",
    ),
    "no key for anthropic": (
        run,
        [*ONE_RUN, "--sciagent-judge=anthropic:some-model"],
        "the judge anthropic:some-model needs a key: set the environment variable ANTHROPIC_API_KEY*",
    ),
    "no URL": (
        run,
        [*ONE_RUN, OPENAI, "--sciagent-base-url=nowhere"],
        "not an http or https URL of a judge: 'nowhere'",
    ),
    # options
    "a score out of range": (
        run,
        [*ONE_RUN, "--sciagent-min-score=101"],
        "--sciagent-min-score 101.0: a number from 0 to 100",
    ),
    "a score that is no number": (
        run,
        [*ONE_RUN, "--sciagent-min-score=nan"],
        "--sciagent-min-score nan: a number from 0 to 100",
    ),
    "nothing in flight": (
        run,
        [*ONE_RUN, "--sciagent-in-flight=0"],
        "--sciagent-in-flight 0: write a whole number, at least 1",
    ),
    "JSON into a folder": (
        run,
        [*ONE_RUN, "--sciagent-json=runs"],
        "--sciagent-json runs: a file can't be written there",
    ),
    "JSON into a run": (
        run,
        [*ONE_RUN, "--sciagent-json=runs/alpha/t1/output/new/x.json"],
        "--sciagent-json runs/alpha/t1/output/new/x.json: lies in the frozen run *alpha/t1, which nothing may be *",
    ),
    "JSON below a file": (
        run,
        [*ONE_RUN, "--sciagent-json=pytest.ini/a/b.json"],
        "--sciagent-json pytest.ini/a/b.json: a file can't be written there",
    ),
}
IN_PARALLEL = {"unknown key", "a broken line", "no key for openai"}
CASES = [
    pytest.param(*situation, extra, id=f"{what}{' '.join(extra)}")
    for what, situation in SITUATIONS.items()
    for extra in ([[], ["-n1"]] if what in IN_PARALLEL else [[]])
]


@pytest.mark.parametrize(("prepare", "args", "message", "extra"), CASES)
def test_one_plain_message(cohort: Cohort, prepare: Prepare, args: list[str], message: str, extra: list[str]) -> None:
    prepare(cohort)
    result = cohort.pytest(*args, *extra)
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == 4, text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    expected = f"ERROR: {message}".split("\n")
    result.stderr.fnmatch_lines([line.replace("[item]", "*") for line in expected], consecutive=True)
    assert len([line for line in result.stderr.lines if line.strip()]) == len(expected)
    assert not any("passed" in line or "failed" in line for line in result.outlines)


@pytest.mark.parametrize(
    "args",
    [
        ["--sciagent-min-score=high"],
        ["--sciagent-profile=best"],
        ["--sciagent-ledger-mode=write"],
        ["--sciagent-in-flight=many"],
        ["--sciagent-nonsense"],
    ],
    ids=" ".join,
)
def test_values_that_the_option_parser_refuses(cohort: Cohort, args: list[str]) -> None:
    cohort.run()
    result = cohort.pytest("--sciagent-run=runs", *args)
    assert result.ret == 4
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert args[0].split("=")[0] in result.stderr.str()


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_a_torn_last_line_of_a_work_file_is_dropped(cohort: Cohort, extra: list[str]) -> None:
    cohort.run(findings=1)
    work = cohort.root / ".sciagent" / "work"
    work.mkdir(parents=True)
    (work / "a-1-b.jsonl").write_text('{"run": "alpha/t1", "en')
    assert outcomes(cohort.pytest("--sciagent-run=runs", *extra)) == {"not assessed": 4}


@pytest.mark.parametrize("extra", [[], ["-n1"]], ids=["n0", "n1"])
def test_a_tampered_run_among_good_ones_is_one_error(cohort: Cohort, extra: list[str]) -> None:
    cohort.run("alpha")
    bad = cohort.run("beta")
    cohort.run("gamma")
    cohort.record()
    (bad / "output" / "results" / "table.csv").write_text("year,value\n2000,9.99\n")
    (bad / "output" / "extra\x1b[31m.txt").write_text("new")
    (bad / "output" / "code" / "fit.py").unlink()
    result = cohort.pytest("--sciagent-run=runs", *extra)
    assert outcomes(result) == {"passed": 4, "half": 4, "failed": 4, "not assessed": 4, "error": 1}
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of beta/t1 run integrity*",
            "run beta/t1 is not what was frozen: extra: output/extra\\x1b*31m.txt; "
            "missing: output/code/fit.py; changed: output/results/table.csv",
        ]
    )
    assert "\x1b" not in result.stdout.str()
    found = cohort.results("--sciagent-run=runs", *extra, code=1)
    assert [s["name"] for s in found["systems"]] == ["alpha", "gamma"]
    assert not found["complete"]
    assert found["incomplete_because"] == "beta/t1 can't be scored: tampered"
    (tampered,) = [run for run in found["runs"] if run["state"] == "tampered"]
    assert tampered["score"] is None
    assert len(tampered["problems"]) == 3


def test_a_manifest_that_can_not_be_read_is_one_error(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    manifest = cohort.run("beta") / "run.json"
    cohort.record()
    manifest.write_text(manifest.read_text().replace('"system"', '"sistem"', 1))
    result = cohort.pytest("runs")
    assert outcomes(result) == {"passed": 1, "half": 1, "failed": 1, "not assessed": 1, "error": 1}
    result.stdout.fnmatch_lines(["run beta/t1 is not what was frozen: *unknown key 'sistem'; did you mean 'system'?*"])


def test_a_manifest_that_is_a_fifo_does_not_block(cohort: Cohort) -> None:
    cohort.run("alpha", findings=1)
    cohort.record()
    manifest = cohort.run("beta") / "run.json"
    manifest.unlink()
    os.mkfifo(manifest)
    counts = outcomes(cohort.pytest("--sciagent-run=runs", fresh=True))
    assert counts == {"passed": 1, "half": 1, "failed": 1, "not assessed": 1, "error": 1}


@pytest.mark.parametrize("text", ["schema: \x08", "\x00", "a: \ud800"])
def test_characters_that_no_yaml_may_have_are_named(text: str) -> None:
    with pytest.raises(SciagentError, match="not readable as YAML"):
        parse_yaml(text, TaskManifest, "task.yaml")


@pytest.mark.parametrize("place", ["verdicts", "tasks/t1/hidden", "rubrics", ".sciagent/work"])
def test_a_place_that_nobody_can_look_into_is_one_message(cohort: Cohort, place: str) -> None:
    """A link that leads to itself stands for all of them: permissions are nothing to whoever is root."""
    cohort.run(findings=1)
    folder = cohort.root / place
    folder.parent.mkdir(exist_ok=True)
    if folder.exists():
        shutil.rmtree(folder)
    folder.symlink_to(folder.name)
    result = cohort.pytest("--sciagent-run=runs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{place}*can't be looked for: *"])
    assert len(result.stderr.str().strip().splitlines()) == 1
