"""Command-line options and their ini twins, read once into one frozen object."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

Mode = Literal["replay", "record", "refresh", "live"]
MODES: tuple[Mode, ...] = ("replay", "record", "refresh", "live")
PROFILES = ("truthinsight", "weighted")
DEFAULT_IN_FLIGHT = 64

_HELP_TAIL = """
Exit codes: 0 all criteria hold (or the gate is met), 1 a criterion fails (or the gate is not met), 2 interrupted,
3 internal error, 4 bad input, 5 nothing collected, 10 the gate can't be decided (inconclusive).
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for."""

    runs: tuple[Path, ...]
    tasks: tuple[Path, ...]
    rubrics: tuple[str, ...]
    profile: str | None
    judge: str | None
    judge_parameters: tuple[str, ...]
    base_url: str | None
    ledger: Path | None
    mode: Mode
    in_flight: int
    strict: bool
    min_score: float | None
    json_path: Path | None
    rootdir: Path
    base: Path


def add_options(parser: pytest.Parser) -> None:
    """Declare the options and their ini twins."""
    group = parser.getgroup("sciagent", "sciagent: test frozen runs of research agents, criterion by criterion")
    add = group.addoption
    add(
        "--sciagent-run",
        action="append",
        default=[],
        metavar="PATH",
        help="a frozen run, a system's folder or a cohort: every run.json at or below PATH is tested (repeatable). "
        "Without other arguments only runs are collected, not the tests of this repository." + _HELP_TAIL,
    )
    add(
        "--sciagent-tasks",
        action="append",
        default=[],
        metavar="DIR",
        help="where tasks are looked up first (repeatable); then tasks/ under the rootdir, then the shipped ones",
    )
    add(
        "--sciagent-rubric",
        action="append",
        default=[],
        metavar="NAME|FILE",
        help="rubric by name or file (repeatable; default: truthinsight)",
    )
    add(
        "--sciagent-profile", default=None, choices=PROFILES, help="add levels up by this profile, not the rubric's own"
    )
    add(
        "--sciagent-judge",
        default=None,
        metavar="KIND:MODEL",
        help="who answers what is not recorded: openai:MODEL or anthropic:MODEL (asks the provider), or the name under "
        "which answers are recorded, such as handoff:NAME. Default: the one judge in the ledger, nobody is asked",
    )
    add(
        "--sciagent-judge-param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the judge (repeatable), such as temperature=0; sent only if given, part of the ledger key",
    )
    add("--sciagent-base-url", default=None, metavar="URL", help="an OpenAI- or Anthropic-compatible server")
    add(
        "--sciagent-ledger",
        default=None,
        metavar="DIR",
        help="folder of recorded verdicts (default: verdicts/ beside the runs)",
    )
    add(
        "--sciagent-ledger-mode",
        default=None,
        choices=MODES,
        help="replay: only recorded verdicts, no network (default). record: ask what is missing (default once a judge "
        "that can be asked is named). refresh: ask everything again. live: neither read nor write the ledger",
    )
    add(
        "--sciagent-in-flight",
        type=int,
        default=None,
        metavar="N",
        help=f"questions to the judge at one time (default {DEFAULT_IN_FLIGHT})",
    )
    add(
        "--sciagent-strict",
        action="store_true",
        default=False,
        help="with a gate: failing criteria fail the session too; without a recorded verdict a criterion is an error",
    )
    add(
        "--sciagent-min-score",
        type=float,
        default=None,
        metavar="N",
        help="gate: every system's score must be at least N (0..100). Failing criteria are shown, the score decides: "
        "exit 0 met, 1 not met, 10 inconclusive (something not assessed could turn it)",
    )
    add("--sciagent-json", default=None, metavar="PATH", help="write all scores and verdicts as JSON")
    for name, kind, text in _INI:
        parser.addini(name, text, type=kind)


_INI: tuple[tuple[str, Any, str], ...] = (
    ("sciagent_tasks", "args", "folders of tasks, as --sciagent-tasks"),
    ("sciagent_rubric", "args", "rubrics, as --sciagent-rubric"),
    ("sciagent_profile", "string", "profile, as --sciagent-profile"),
    ("sciagent_judge", "string", "judge, as --sciagent-judge"),
    ("sciagent_ledger", "string", "ledger folder, as --sciagent-ledger"),
    ("sciagent_min_score", "string", "gate, as --sciagent-min-score"),
)


def read_options(config: pytest.Config) -> Options:
    """The options of this session.

    Raises:
        pytest.UsageError: a value that can't be used.
    """
    base = config.invocation_params.dir
    given = config.getoption

    def ini(name: str) -> str | None:
        return str(config.getini(name)) or None

    judge = given("sciagent_judge") or ini("sciagent_judge")
    if judge is not None and (":" not in judge or not all(judge.split(":", 1))):
        raise pytest.UsageError(f"--sciagent-judge {judge!r}: write KIND:MODEL, such as openai:MODEL or handoff:NAME")
    profile = given("sciagent_profile") or ini("sciagent_profile")
    if profile is not None and profile not in PROFILES:
        raise pytest.UsageError(f"sciagent_profile {profile!r}: choose from {', '.join(PROFILES)}")
    asks = judge is not None and judge.split(":", 1)[0] in {"openai", "anthropic"}
    in_flight = given("sciagent_in_flight")
    if in_flight is not None and in_flight < 1:
        raise pytest.UsageError(f"--sciagent-in-flight {in_flight}: at least 1")
    ledger = given("sciagent_ledger")
    ini_ledger = ini("sciagent_ledger")
    return Options(
        runs=tuple((base / r).absolute() for r in given("sciagent_run")),
        tasks=tuple((base / t).absolute() for t in given("sciagent_tasks"))
        or tuple(config.rootpath / t for t in config.getini("sciagent_tasks")),
        rubrics=tuple(given("sciagent_rubric")) or tuple(config.getini("sciagent_rubric")),
        profile=profile,
        judge=judge,
        judge_parameters=tuple(given("sciagent_judge_param")),
        base_url=given("sciagent_base_url"),
        ledger=base / ledger if ledger else config.rootpath / ini_ledger if ini_ledger else None,
        mode=given("sciagent_ledger_mode") or ("record" if asks else "replay"),
        in_flight=in_flight or DEFAULT_IN_FLIGHT,
        strict=given("sciagent_strict"),
        min_score=_min_score(given("sciagent_min_score"), ini("sciagent_min_score")),
        json_path=base / given("sciagent_json") if given("sciagent_json") else None,
        rootdir=config.rootpath,
        base=base,
    )


def _min_score(option: float | None, from_ini: str | None) -> float | None:
    value = option
    if value is None and from_ini is not None:
        try:
            value = float(from_ini)
        except ValueError:
            raise pytest.UsageError(f"sciagent_min_score {from_ini!r} is not a number") from None
    if value is not None and not (math.isfinite(value) and 0 <= value <= 100):
        raise pytest.UsageError(f"--sciagent-min-score {value}: a number from 0 to 100")
    return value
