"""Every option has a twin in configuration files that does the same, unless it belongs to one session alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sample import Cohort

from pytest_sciagent.cli.settings import known_names
from pytest_sciagent.collection.options import OPTIONS, Options, read_options

OF_ONE_SESSION = {
    "--sciagent-run",
    "--sciagent-shard",
    "--sciagent-unsafe-rerun",
    "--sciagent-changed-prompt",
    "--sciagent-no-gates",
}
JUDGE = ("judge", "openai:m")
GIVEN: dict[str, str] = {
    "tasks": "tasks",
    "rubric": "small",
    "profile": "weighted",
    "judge": "openai:m",
    "judge_param": "temperature=0.5",
    "base_url": "http://127.0.0.1:9/v1",
    "ledger": "elsewhere",
    "ledger_mode": "refresh",
    "in_flight": "3",
    "draws": "auto:4",
    "combine": "strict",
    "weights": "weights.json",
    "layout": "group:3",
    "templates": "words",
    "timeout": "7.5",
    "dask": "tcp://127.0.0.1:9",
    "dask_scripts": "tcp://127.0.0.1:9",
    "max_cost": "0.25",
    "max_calls": "12",
    "rpm": "90",
    "tpm": "1e5",
    "price": "1/0.1/5",
    "reading_seconds": "12",
    "rerun_seconds": "30",
}


def read(cohort: Cohort, lines: list[str], args: list[str]) -> Options:
    (cohort.root / "pytest.ini").write_text("\n".join(["[pytest]", *lines, ""]))
    return read_options(cohort.pytester.parseconfig("-c", "pytest.ini", *args))


def test_only_what_belongs_to_one_session_has_no_twin() -> None:
    names, options = known_names()
    without = {option for option in options if option.removeprefix("--").replace("-", "_") not in names}
    assert without == OF_ONE_SESSION
    assert {option.name for option in OPTIONS if option.kind != "flag" and option.twin} == GIVEN.keys()


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.twin], ids=lambda option: option.name)
def test_the_twin_does_the_same(cohort: Cohort, option: object) -> None:
    (cohort.root / "words").mkdir()
    assert isinstance(option, type(OPTIONS[0]))
    value = GIVEN.get(option.name)
    others = {"judge": JUDGE[1], "rerun": "true", **({"combine": "weighted"} if option.name == "weights" else {})}
    lines = [f"sciagent_{name} = {text}" for name, text in others.items() if name != option.name]
    plain = read(cohort, lines, [])
    by_option = read(cohort, lines, [option.flag if value is None else f"{option.flag}={value}"])
    by_file = read(cohort, [*lines, f"{option.key} = {value or 'true'}"], [])
    assert by_option == by_file
    assert by_file != plain


def test_what_is_given_wins_over_what_is_set(cohort: Cohort) -> None:
    lines = ["sciagent_judge = openai:m", "sciagent_max_calls = 5", "sciagent_judge_param = temperature=1"]
    found = read(cohort, lines, ["--sciagent-max-calls=7", "--sciagent-judge-param=seed=3"])
    assert found.budget.max_calls == 7
    assert found.judge_parameters == ("seed=3",)


def test_paths_in_a_file_start_at_the_root_and_others_where_pytest_was_started(
    cohort: Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = cohort.root / "below"
    (below / "tasks").mkdir(parents=True)
    (cohort.root / "pytest.ini").write_text("[pytest]\nsciagent_ledger = kept\nsciagent_tasks = tasks\n")
    monkeypatch.chdir(below)
    set_ = read_options(cohort.pytester.parseconfig())
    given = read_options(cohort.pytester.parseconfig("--sciagent-ledger=kept", "--sciagent-tasks=tasks"))
    assert (set_.ledger, set_.tasks) == (cohort.root / "kept", (cohort.root / "tasks",))
    assert (given.ledger, given.tasks) == (below / "kept", (below / "tasks",))
    assert replace(given, ledger=set_.ledger, tasks=set_.tasks) == set_


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sciagent_max_cost = cheap", "sciagent_max_cost cheap: write a number above 0"),
        ("sciagent_max_cost = -1", "sciagent_max_cost -1: write a number above 0"),
        ("sciagent_rpm = inf", "sciagent_rpm inf: write a number above 0"),
        ("sciagent_max_calls = 1.5", "sciagent_max_calls 1.5: write a whole number, at least 1"),
        ("sciagent_in_flight = 0", "sciagent_in_flight 0: write a whole number, at least 1"),
        ("sciagent_ledger_mode = write", "sciagent_ledger_mode 'write': choose from replay, record, refresh, live"),
        ("sciagent_price = cheap", "sciagent_price: *write IN/OUT*"),
        ("sciagent_judge = openai", "sciagent_judge 'openai': write KIND:MODEL, such as openai:MODEL*"),
        ("sciagent_timeout = 0", "sciagent_timeout 0: write a number above 0"),
        ("sciagent_templates = nowhere", "sciagent_templates nowhere: no such folder"),
        ("sciagent_strict = perhaps", "*invalid truth value 'perhaps'*"),
    ],
)
def test_a_bad_value_in_a_file_is_one_message(cohort: Cohort, line: str, message: str) -> None:
    cohort.run(findings=1)
    (cohort.root / "pytest.ini").write_text(f"[pytest]\nsciagent_rubric = small\n{line}\n")
    result = cohort.pytest("--sciagent-run=runs")
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in text
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_a_budget_in_the_file_holds(cohort: Cohort) -> None:
    from loopback import Loopback
    from test_live_judge import good

    cohort.run(findings=1)
    with Loopback(good) as server:
        (cohort.root / "pytest.ini").write_text(
            "[pytest]\nsciagent_rubric = small\nsciagent_judge = openai:some-model\nsciagent_max_calls = 2\n"
            f"sciagent_base_url = {server.openai_url}\n"
        )
        found = cohort.results("--sciagent-run=runs")
        assert len(server.requests) == 2
    assert found["spending"]["spent"]["calls"] == 2
    assert Path(cohort.root / "verdicts").is_dir()
