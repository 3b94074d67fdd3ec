"""Command-line options and their ini twins, read once into one frozen object."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from ..profile_names import PROFILES
from .budget_options import BudgetOptions, add_budget_options, read_budget
from .gate_options import GateOptions, add_gates, read_gates
from .judge_options import JudgeOptions, add_judge_options, read_judge_options
from .output_options import Outputs, add_outputs, read_outputs
from .panel_options import PanelOptions, add_panel, read_panel
from .reading_options import add_reading_options, read_reading
from .rerun_options import add_rerun_options, read_rerun
from .sharding import Shard, parse_shard

if TYPE_CHECKING:
    from ..judging.requests import Asking

Mode = Literal["replay", "record", "refresh", "live"]
ASKING: dict[Mode, Asking] = {"replay": "never", "record": "missing", "refresh": "again", "live": "missing"}
MODES: tuple[Mode, ...] = ("replay", "record", "refresh", "live")
PROVIDERS = ("openai", "anthropic", "decisions")
DEFAULT_IN_FLIGHT = 64

_HELP_TAIL = """
Exit codes: 0 all criteria hold (or all gates are met), 1 a criterion fails (or a gate is not met), 2 interrupted,
3 internal error, 4 bad input, 5 nothing collected, 10 a gate can't be decided (inconclusive): something is not
assessed, not tested, or a run is tampered.
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for."""

    runs: tuple[Path, ...]
    tasks: tuple[Path, ...]
    rubrics: tuple[str, ...]
    profile: str | None
    allow_late_rubric: bool
    judge: str | None
    judge_parameters: tuple[str, ...]
    base_urls: tuple[str, ...]
    how: JudgeOptions
    ledger: Path | None
    mode: Mode | None
    panel: PanelOptions
    in_flight: int
    strict: bool
    gates: GateOptions
    outputs: Outputs
    shard: Shard | None
    budget: BudgetOptions
    canary: bool
    images: bool
    rerun_seconds: float | None
    unsafe_rerun: bool
    reading_seconds: float | None
    fresh: bool
    rootdir: Path
    base: Path

    @property
    def asks_provider(self) -> bool:
        """Whether a judge named is a provider's, and may be asked."""
        return any(self.asks(name.strip().split(":", 1)[0]) for name in (self.judge or "").split(","))

    def base_url_of(self, judge: str) -> str | None:
        """The server of the judge `kind:model`: the one given for it alone, else the one given for all."""
        own = [url.removeprefix(f"{judge}=") for url in self.base_urls if url.startswith(f"{judge}=")]
        every = [url for url in self.base_urls if "://" in url.partition("=")[0] or "=" not in url]
        return next(reversed([*every, *own]), None)

    def asks(self, kind: str) -> bool:
        """Whether a judge of this kind that is named is a provider's, and may be asked."""
        return kind in PROVIDERS and self.mode != "replay"

    @property
    def asking(self) -> Asking:
        """What any judge may be asked, one of the user's own included."""
        return ASKING[self.mode or "record"]


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
        "--sciagent-allow-late-rubric",
        action="store_true",
        default=False,
        help="judge runs by an induced rubric that is not frozen, or was frozen after they began; every output says so",
    )
    add(
        "--sciagent-profile", default=None, choices=PROFILES, help="add levels up by this profile, not the rubric's own"
    )
    add(
        "--sciagent-judge",
        default=None,
        metavar="KIND:MODEL",
        help="who answers what is not recorded: openai:MODEL or anthropic:MODEL (asks the provider), decisions:MODEL "
        "(OpenAI's Decisions API: gives level 0 or none), or the name under which answers are recorded, such as "
        "handoff:NAME. Several with commas between them are a panel: all judge the criteria, the first alone answers "
        "what is asked about whole runs. Default: the one judge in the ledger, nobody is asked",
    )
    add(
        "--sciagent-judge-param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the judge (repeatable), such as temperature=0; sent only if given, part of the ledger "
        "key. In a panel it is every judge's; KIND:MODEL:NAME=VALUE is that judge's alone",
    )
    add(
        "--sciagent-base-url",
        action="append",
        default=[],
        metavar="URL",
        help="an OpenAI- or Anthropic-compatible server; in a panel every judge's, KIND:MODEL=URL that judge's alone "
        "(repeatable)",
    )
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
        "that can be asked is named). refresh: ask everything again. live: neither read nor write the ledger. A judge "
        "of your own is asked what is missing, unless this says replay; answers of one that nobody named (a judge "
        "fixture) are recorded only if this says record or refresh",
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
        help="with gates: failing criteria fail the session too; without a recorded verdict a criterion is an error",
    )
    add(
        "--sciagent-shard",
        default=None,
        metavar="I/N",
        help="take only part I of N of the runs, for jobs that record verdicts side by side; no gate is decided by a "
        "part. Afterwards merge the records ('sciagent ci merge') and replay the whole",
    )
    add(
        "--sciagent-fresh",
        action="store_true",
        default=False,
        help="work every verdict out again. Otherwise those that a session of yours has worked out are taken from "
        ".sciagent/cache as long as the run, its task, rubrics, recorded answers and this program are the same",
    )
    add_outputs(group, parser)
    add_panel(group, parser)
    add_gates(group, parser)
    add_judge_options(group, parser)
    add_budget_options(group)
    add_rerun_options(group)
    add_reading_options(group, parser)
    for name, kind, text in _INI:
        parser.addini(name, text, type=kind)


_INI: tuple[tuple[str, Any, str], ...] = (
    ("sciagent_tasks", "args", "folders of tasks, as --sciagent-tasks"),
    ("sciagent_rubric", "args", "rubrics, as --sciagent-rubric"),
    ("sciagent_profile", "string", "profile, as --sciagent-profile"),
    ("sciagent_allow_late_rubric", "bool", "take induced rubrics frozen too late, as --sciagent-allow-late-rubric"),
    ("sciagent_judge", "string", "judge, as --sciagent-judge"),
    ("sciagent_ledger", "string", "ledger folder, as --sciagent-ledger"),
    ("sciagent_images", "bool", "send figures to judges, as --sciagent-images"),
    ("sciagent_fresh", "bool", "work every verdict out again, as --sciagent-fresh"),
    ("sciagent_rerun", "bool", "run agents' scripts again, as --sciagent-rerun"),
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
    if judge is not None and not all(all(name.strip().partition(":")) for name in judge.split(",")):
        raise pytest.UsageError(f"--sciagent-judge {judge!r}: write KIND:MODEL, such as openai:MODEL or handoff:NAME")
    profile = given("sciagent_profile") or ini("sciagent_profile")
    if profile is not None and profile not in PROFILES:
        raise pytest.UsageError(f"sciagent_profile {profile!r}: choose from {', '.join(PROFILES)}")
    parameters = tuple(given("sciagent_judge_param"))
    if parameters and judge is None:
        raise pytest.UsageError("--sciagent-judge-param belongs to a judge: name it with --sciagent-judge KIND:MODEL")
    if judge is None and (given("sciagent_layout") or given("sciagent_batch")):
        raise pytest.UsageError(
            "--sciagent-layout and --sciagent-batch belong to a judge: name it with --sciagent-judge KIND:MODEL"
        )
    if judge is None and given("sciagent_dask"):
        raise pytest.UsageError("--sciagent-dask belongs to a judge: name it with --sciagent-judge KIND:MODEL")
    in_flight = given("sciagent_in_flight")
    if in_flight is not None and in_flight < 1:
        raise pytest.UsageError(f"--sciagent-in-flight {in_flight}: at least 1")
    for url in given("sciagent_base_url"):
        owner = url.partition("=")[0]
        if "=" in url and "://" not in owner and owner not in (judge or "").replace(" ", "").split(","):
            raise pytest.UsageError(f"--sciagent-base-url {url}: no judge {owner} is named by --sciagent-judge")
    ledger = given("sciagent_ledger")
    ini_ledger = ini("sciagent_ledger")
    return Options(
        runs=tuple(_path(base, run) for run in given("sciagent_run")),
        tasks=tuple(_folder(base, t, "--sciagent-tasks") for t in given("sciagent_tasks"))
        or tuple(_folder(config.rootpath, t, "sciagent_tasks") for t in config.getini("sciagent_tasks")),
        rubrics=tuple(given("sciagent_rubric")) or tuple(config.getini("sciagent_rubric")),
        profile=profile,
        allow_late_rubric=given("sciagent_allow_late_rubric") or config.getini("sciagent_allow_late_rubric"),
        judge=judge,
        judge_parameters=parameters,
        base_urls=tuple(given("sciagent_base_url")),
        how=read_judge_options(config, base),
        ledger=_path(base, ledger) if ledger else _path(config.rootpath, ini_ledger) if ini_ledger else None,
        mode=given("sciagent_ledger_mode"),
        panel=read_panel(config),
        in_flight=in_flight or DEFAULT_IN_FLIGHT,
        strict=given("sciagent_strict"),
        gates=read_gates(config),
        outputs=read_outputs(config),
        shard=parse_shard(shard) if (shard := given("sciagent_shard")) else None,
        budget=read_budget(config),
        canary=given("sciagent_canary"),
        images=given("sciagent_images") or config.getini("sciagent_images"),
        rerun_seconds=read_rerun(config),
        unsafe_rerun=given("sciagent_unsafe_rerun"),
        reading_seconds=read_reading(config),
        fresh=given("sciagent_fresh") or config.getini("sciagent_fresh"),
        rootdir=config.rootpath,
        base=base,
    )


def _path(base: Path, path: str) -> Path:
    """`path` from `base` on, without `..`: the same run always has the same path. Links are kept."""
    return Path(os.path.abspath(base / path))  # noqa: PTH100


def _folder(base: Path, path: str, option: str) -> Path:
    folder = _path(base, path)
    if not folder.is_dir():
        raise pytest.UsageError(f"{option} {path}: no such folder")
    return folder
