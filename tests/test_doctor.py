"""`sciagent doctor` finds what is missing, says what to do, and shows no key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from loopback import MODEL, Loopback
from sample import OTHER, Cohort
from test_live_judge import good

from pytest_sciagent.cli import checkup
from pytest_sciagent.cli.settings import find_settings, known_names

KEY = "sk-secret-0123456789"


def doctor(cohort: Cohort, *args: str | Path, code: int = 0) -> dict[str, list[dict[str, Any]]]:
    """The lines, by name."""
    found, out, err = cohort.sciagent("doctor", "--json", *args)
    assert found == code, out + err
    told = json.loads(out)
    assert told["faults"] == sum(line["state"] == "fault" for line in told["checks"])
    lines: dict[str, list[dict[str, Any]]] = {}
    for line in told["checks"]:
        lines.setdefault(line["name"], []).append(line)
        assert line["state"] == "ok" or line["fix"]
    return lines


def faults(lines: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [line["text"] for found in lines.values() for line in found if line["state"] == "fault"]


def test_a_sound_place_has_no_fault(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    lines = doctor(cohort, "runs")
    assert lines["runs"][0]["text"] == "1 sound"
    assert lines["tasks"][0]["text"] == "found: t1"
    assert lines["rubric"][0]["text"] == "small 1, 4 criteria, profile weighted"
    assert lines["verdicts"][0]["text"].startswith("6 recorded answers of handoff:tester")
    assert lines["settings"][0]["text"].endswith("pytest.ini: 1 setting of sciagent, all known")
    assert {lines[name][0]["state"] for name in ("python", "packages", "plugin", "work folder", "ledger")} == {"ok"}
    assert {lines[f"judge {kind}"][0]["state"] for kind in ("openai", "anthropic")} == {"warning"}
    code, out, _ = cohort.sciagent("doctor", "runs")
    assert code == 0
    assert "warning  judge openai: OPENAI_API_KEY is not set -> set it to ask openai:MODEL" in out
    assert out.splitlines()[-1].endswith(" 0 fault")


def test_without_runs_the_rest_is_looked_at(cohort: Cohort) -> None:
    assert "runs" not in doctor(cohort)


def test_runs_that_are_not_what_was_frozen_are_faults(cohort: Cohort) -> None:
    cohort.run()
    broken = cohort.run("beta")
    (broken / "output" / "Result.md").write_text("changed")
    (broken / "output" / "more.txt").write_text("new")
    (cohort.run("gamma") / "run.json").write_text("{")
    found = faults(doctor(cohort, "runs", code=4))
    assert any(text.startswith("beta/t1 is not what was frozen: extra: output/more.txt, and 1 more") for text in found)
    assert any("gamma" in text and "run.json" in text for text in found)
    assert len(found) == 2


def test_what_is_not_there_is_told(cohort: Cohort) -> None:
    cohort.run("alpha", "unknown")
    lines = doctor(cohort, "runs", "nosuch", "tasks", "--rubric=nosuch", "--tasks=nowhere", "--judge=me", code=4)
    assert lines["task"][0]["state"] == "warning"
    assert len(faults(lines)) == 5
    assert "there is no such file or folder" in lines["run"][0]["text"]
    assert lines["run"][1]["text"] == "no frozen run at or below tasks"
    assert "write KIND:MODEL" in lines["judge"][0]["text"]


def test_a_broken_task_is_a_fault(cohort: Cohort) -> None:
    cohort.run()
    (cohort.root / "tasks" / "t1" / "objective.md").unlink()
    assert len(faults(doctor(cohort, "runs", code=4))) == 1


def test_several_recorded_judges_are_a_warning(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    cohort.record(judge=OTHER)
    (line,) = doctor(cohort, "runs")["verdicts"]
    assert line["state"] == "warning"
    assert "--sciagent-judge" in line["fix"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nsciagent_min_scor = 60\naddopts = --sciagent-jugde=a:b -q --sciagent-js=x\n"),
        ("tox.ini", "[tox]\n[pytest]\nsciagent_min_scor = 60\naddopts = --sciagent-jugde=a:b -q --sciagent-js=x\n"),
        ("setup.cfg", "[tool:pytest]\nsciagent_min_scor = 60\naddopts = --sciagent-jugde=a:b\n"),
        (
            "pyproject.toml",
            '[tool.pytest.ini_options]\nsciagent_min_scor = "60"\naddopts = ["--sciagent-jugde", "a:b"]\n',
        ),
    ],
)
def test_names_that_nobody_knows_are_faults(cohort: Cohort, name: str, text: str) -> None:
    (cohort.root / "pytest.ini").unlink()
    (cohort.root / name).write_text(text)
    found = [line["text"].partition(": ")[2] for line in doctor(cohort, code=4)["settings"]]
    assert found == [
        "sciagent_min_scor is not known; did you mean sciagent_min_score?",
        "addopts: --sciagent-jugde is not known; did you mean --sciagent-judge?",
    ]


def test_a_configuration_that_cannot_be_read_is_one_line(cohort: Cohort) -> None:
    (cohort.root / "pytest.ini").write_text("no section\n")
    (line,) = doctor(cohort, code=4)["settings"]
    assert "pytest.ini: can't be read" in line["text"]


def test_what_the_configuration_says_is_looked_at(cohort: Cohort) -> None:
    (cohort.root / "rubrics" / "small.yaml").rename(cohort.root / "mine.yaml")
    (cohort.root / "tasks").rename(cohort.root / "jobs")
    cohort.run()
    (cohort.root / "pytest.ini").write_text(
        "[pytest]\nsciagent_rubric = mine.yaml\nsciagent_tasks = jobs\n"
        "sciagent_ledger = kept\nsciagent_judge = openai:m\n"
    )
    lines = doctor(cohort, "runs", code=4)
    assert lines["tasks"][0]["text"] == "found: t1"
    assert lines["rubric"][0]["state"] == "ok"
    assert lines["ledger"][0]["text"] == f"{cohort.root / 'kept'} can be written to (not there yet)"
    assert faults(lines) == [lines["judge openai"][0]["text"]]  # it is named, and has no key


def test_the_names_known_are_those_the_plugin_declares() -> None:
    names, options = known_names()
    assert {"sciagent_rubric", "sciagent_min_score", "sciagent_rerun"} <= names
    assert {"--sciagent-run", "--sciagent-baseline", "--sciagent-max-cost"} <= options


def test_a_subfolder_finds_the_configuration_above(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\nsciagent_judge = 'a:b'\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    found = find_settings(tmp_path / "sub")
    assert (found.folder, found.text("sciagent_judge")) == (tmp_path, "a:b")


def test_a_place_that_cannot_be_written_to_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / ".sciagent").write_text("a file, not a folder")
    states = {line.name: line.state for line in checkup.folders(tmp_path, [tmp_path / "verdicts"])}
    assert states == {"work folder": "fault", "ledger": "ok"}


def test_answers_of_a_killed_session_are_told(tmp_path: Path) -> None:
    (tmp_path / ".sciagent" / "work").mkdir(parents=True)
    (tmp_path / ".sciagent" / "work" / "dead-1-x.jsonl").write_text("")
    *_, line = checkup.folders(tmp_path, [])
    assert (line.state, line.text[:7]) == ("warning", "1 file ")


# ---- keys and servers


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_keys_are_looked_for_and_never_shown(cohort: Cohort, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
    for args in ([], ["--json"]):
        code, out, err = cohort.sciagent("doctor", *args)
        assert code == 0
        assert KEY not in out + err
        assert f"{kind.upper()}_API_KEY is set" in out
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", "two words")
    (text,) = faults(doctor(cohort, code=4))
    assert "holds characters that no key has" in text
    assert "two words" not in text


def test_a_judge_that_is_named_must_be_askable(cohort: Cohort) -> None:
    (text,) = faults(doctor(cohort, "--judge=openai:m", code=4))
    assert "set the environment variable OPENAI_API_KEY" in text
    local = doctor(cohort, "--judge=openai:m", "--base-url=http://localhost:8000/v1")
    assert local["judge openai"][0]["text"] == "no key, and none needed; server: http://localhost:8000/v1"
    (text,) = faults(doctor(cohort, "--judge=openai:m", "--base-url=localhost", code=4))
    assert "not an http or https URL" in text


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_servers_are_asked_online_only(cohort: Cohort, kind: str) -> None:
    with Loopback(good) as server:
        args = [f"--judge={kind}:{MODEL}", f"--base-url={server.url}/v1"]
        assert f"server {kind}" not in doctor(cohort, *args)
        (line,) = doctor(cohort, *args, "--online")[f"server {kind}"]
        assert line["text"].endswith(" 1 model")
        (line,) = doctor(cohort, f"--judge={kind}:other", args[1], "--online")[f"server {kind}"]
        assert (line["state"], line["text"].endswith("1 model, without other")) == ("warning", True)
        assert not server.requests  # nothing that is paid
        (line,) = doctor(cohort, args[0], f"--base-url={server.url}/nosuch", "--online", code=4)[f"server {kind}"]
        assert "no such path" in line["text"]
        gone = server.url
    (line,) = doctor(cohort, args[0], f"--base-url={gone}/v1", "--online", code=4)[f"server {kind}"]
    assert line["state"] == "fault"


def test_each_member_of_a_panel_is_looked_at_and_nobody_else_asked(
    cohort: Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with Loopback(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        (cohort.root / "pytest.ini").write_text(f"[pytest]\nsciagent_judge = openai:{MODEL}, openai:other\n")
        lines = doctor(cohort, "--online")
    assert [line["state"] for line in lines["server openai"]] == ["ok", "warning"]
    assert "server anthropic" not in lines
    (line,) = doctor(cohort, "--judge=openai:a,openai:a", code=4)["judge"]
    assert "named twice" in line["text"]


def test_records_of_several_judges_are_a_warning_where_none_is_named(cohort: Cohort) -> None:
    cohort.run()
    cohort.record()
    cohort.record(judge=OTHER)
    (line,) = doctor(cohort, "runs")["verdicts"]
    assert line["state"] == "warning"
    (line,) = doctor(cohort, "runs", f"--judge={OTHER.label}")["verdicts"]
    assert (line["state"], "handoff:other" in line["text"]) == ("ok", True)


def test_a_panel_is_refused_where_one_judge_is_wanted(cohort: Cohort) -> None:
    cohort.run()
    code, _, err = cohort.sciagent("selfcheck", "--judge", "openai:a,openai:b")
    assert code == 4
    assert "one judge is wanted here" in err


# ---- the machine


@pytest.mark.parametrize(
    ("bwrap", "kernel", "fixes"),
    [
        (None, None, ["apt install bubblewrap", "in a container, allow user namespaces"]),
        ("/usr/bin/bwrap", "0", ["sysctl kernel.unprivileged_userns_clone=1", "user.max_user_namespaces=15000"]),
    ],
)
def test_a_machine_that_isolates_nothing_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, bwrap: str | None, kernel: str | None, fixes: list[str]
) -> None:
    monkeypatch.setattr("pytest_sciagent.evidence.sandbox.isolation_available", lambda: "none")
    monkeypatch.setattr(checkup, "_kernel", lambda name: kernel)
    monkeypatch.setattr("shutil.which", lambda name: bwrap if name == "bwrap" else None)
    lines = {line.name: line for line in checkup.machine()}
    assert lines["sandbox"].state == "warning"
    assert all(fix in (lines["sandbox"].fix or "") for fix in fixes)
    assert ("bubblewrap" in (lines["sandbox"].fix or "")) == (bwrap is None)
    assert lines["browser"].state == "warning"


def test_packages_that_are_missing_or_too_old_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "importlib.metadata.requires", lambda name: ["click>=999", "no-such-package-at-all>=1", "ruff; extra == 'dev'"]
    )
    lines = [line for line in checkup.machine() if line.name == "packages"]
    assert [line.fix for line in lines if line.state == "fault"] == [
        "pip install 'click>=999'",
        "pip install 'no-such-package-at-all>=1'",
    ]
