"""Command-line options and their ini twins, read once into one frozen object."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from ..profile_names import PROFILES
from .budget_options import BUDGET, BudgetOptions, read_budget
from .declared import Option, Values, declare
from .gate_options import GateOptions, add_gates, read_gates
from .judge_options import HOW, JudgeOptions, read_judge_options
from .output_options import Outputs, add_outputs, read_outputs
from .panel_options import PANEL, PanelOptions, read_panel
from .rerun_options import RERUN, read_rerun
from .sharding import Shard, parse_shard

if TYPE_CHECKING:
    from ..judging.requests import Asking

Mode = Literal["replay", "record", "refresh", "live"]
ALLOW_LATE = "--sciagent-allow-late-rubric"
ASKING: dict[Mode, Asking] = {"replay": "never", "record": "missing", "refresh": "again", "live": "missing"}
MODES: tuple[Mode, ...] = ("replay", "record", "refresh", "live")
PROVIDERS = ("openai", "anthropic", "decisions")
DEFAULT_IN_FLIGHT = 64

EXIT_CODES = {
    0: "all criteria hold; with gates: all are met",
    1: "a criterion fails or errs; with gates: one is not met",
    2: "interrupted; what was answered by then is kept",
    3: "an internal error",
    4: "bad input; one message says what to do",
    5: "nothing was collected",
    10: "a gate is inconclusive: what is not assessed could turn it, a run is tampered, or not all was tested",
}
"""What the exit code of a session means: told here, and so in the help and on the pages."""


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


SESSION = (
    Option(
        "run",
        "words",
        "a frozen run, a system's folder or a cohort: every run.json at or below PATH is tested (repeatable). "
        "Without other arguments only runs are collected, not the tests of this repository. Exit codes: "
        + ". ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()),
        "PATH",
        twin=False,
    ),
    Option(
        "tasks",
        "words",
        "where tasks are looked up first (repeatable); then tasks/ under the rootdir, then the shipped ones",
        "DIR",
    ),
    Option("rubric", "words", "rubric by name or file (repeatable; default: truthinsight)", "NAME|FILE"),
    Option(
        "allow_late_rubric",
        "flag",
        "judge runs by an induced rubric that is not frozen, or was frozen after they began; every output says so",
    ),
    Option("profile", "text", "add levels up by this profile, not the rubric's own", choices=PROFILES),
    Option(
        "judge",
        "text",
        "who answers what is not recorded: openai:MODEL or anthropic:MODEL (asks the provider), decisions:MODEL "
        "(OpenAI's Decisions API: gives level 0 or none), or the name under which answers are recorded, such as "
        "handoff:NAME. Several with commas between them are a panel: all judge the criteria, the first alone answers "
        "what is asked about whole runs. Default: the one judge in the ledger, nobody is asked",
        "KIND:MODEL",
    ),
    Option(
        "judge_param",
        "words",
        "a parameter of the judge (repeatable), such as temperature=0; sent only if given, part of the ledger "
        "key. In a panel it is every judge's; KIND:MODEL:NAME=VALUE is that judge's alone",
        "NAME=VALUE",
    ),
    Option(
        "base_url",
        "words",
        "an OpenAI- or Anthropic-compatible server; in a panel every judge's, KIND:MODEL=URL that judge's alone "
        "(repeatable)",
        "URL",
    ),
    Option("ledger", "text", "folder of recorded verdicts (default: verdicts/ beside the runs)", "DIR"),
    Option(
        "ledger_mode",
        "text",
        "replay: only recorded verdicts, no network (default). record: ask what is missing (default once a judge "
        "that can be asked is named). refresh: ask everything again. live: neither read nor write the ledger. A judge "
        "of your own is asked what is missing, unless this says replay; answers of one that nobody named (a judge "
        "fixture) are recorded only if this says record or refresh",
        choices=MODES,
    ),
    Option("in_flight", "count", f"questions to the judge at one time (default {DEFAULT_IN_FLIGHT})", "N"),
    Option(
        "strict",
        "flag",
        "with gates: failing criteria fail the session too; without a recorded verdict a criterion is an error",
    ),
    Option(
        "shard",
        "text",
        "take only part I of N of the runs, for jobs that record verdicts side by side; no gate is decided by a "
        "part. Afterwards merge the records ('sciagent ci merge') and replay the whole",
        "I/N",
        twin=False,
    ),
)
FRESH = Option(
    "fresh",
    "flag",
    "work every verdict out again. Otherwise those that a session of yours has worked out are taken from "
    ".sciagent/cache as long as the run, its task, rubrics, recorded answers and this program are the same",
)
READING = Option(
    "reading_seconds",
    "number",
    "processor time that the readers of binary formats (workbooks, arrays, PDF, images) may take for one run, all "
    "files together; what is not read by then is told as unreadable (default 300)",
    "N",
)
OPTIONS = (*SESSION, *PANEL, *HOW, *BUDGET, *RERUN, READING, FRESH)
"""All options but those of outputs and gates, which have lists of their own."""


def add_options(parser: pytest.Parser) -> None:
    """Declare the options and their ini twins, in groups of the help: one for each thing that they are about."""
    declare(SESSION, parser.getgroup("sciagent", "sciagent: frozen runs, rubrics, and who judges"), parser)
    asking = parser.getgroup("sciagent-asking", "sciagent: how judges are asked, and what that may cost")
    declare((*HOW, *PANEL, *BUDGET), asking, parser)
    add_gates(parser.getgroup("sciagent-gates", "sciagent: gates, which decide the exit code"), parser)
    add_outputs(parser.getgroup("sciagent-outputs", "sciagent: what a session writes"), parser)
    work = parser.getgroup("sciagent-work", "sciagent: code that is run again, reading, and what is kept")
    declare((*RERUN, READING, FRESH), work, parser)


def read_options(config: pytest.Config) -> Options:
    """The options of this session.

    Raises:
        pytest.UsageError: a value that can't be used.
    """
    base, given = config.invocation_params.dir, Values(config, OPTIONS)
    judge = given.text("judge")
    _check_judge(given, judge)
    mode = given.text("ledger_mode")
    shard = given.text("shard")
    return Options(
        runs=tuple(given.place("run", run) for run in given.words("run")),
        tasks=given.folders("tasks"),
        rubrics=given.words("rubric"),
        profile=given.text("profile"),
        allow_late_rubric=given.flag("allow_late_rubric"),
        judge=judge,
        judge_parameters=given.words("judge_param") if judge is not None else (),
        base_urls=given.words("base_url"),
        how=read_judge_options(given),
        ledger=given.folder_to_be("ledger"),
        mode=next((known for known in MODES if known == mode), None),
        panel=read_panel(given),
        in_flight=given.count("in_flight") or DEFAULT_IN_FLIGHT,
        strict=given.flag("strict"),
        gates=read_gates(config),
        outputs=read_outputs(config),
        shard=parse_shard(shard) if shard else None,
        budget=read_budget(given),
        canary=given.flag("canary"),
        images=given.flag("images"),
        rerun_seconds=read_rerun(given),
        unsafe_rerun=given.flag("unsafe_rerun"),
        reading_seconds=given.number("reading_seconds"),
        fresh=given.flag("fresh"),
        rootdir=config.rootpath,
        base=base,
    )


def _check_judge(given: Values, judge: str | None) -> None:
    """What belongs to a judge needs one, and names those that there are. In a file it may wait for one."""
    if judge is not None and not all(all(name.strip().partition(":")) for name in judge.split(",")):
        raise pytest.UsageError(
            f"{given.spelled('judge')} {judge!r}: write KIND:MODEL, such as openai:MODEL or handoff:NAME"
        )
    for names in (("judge_param",), ("layout", "batch"), ("dask",)):
        if judge is None and any(given.is_given(name) for name in names):
            flags = " and ".join(f"--sciagent-{name.replace('_', '-')}" for name in names)
            belong = "belongs" if len(names) == 1 else "belong"
            raise pytest.UsageError(f"{flags} {belong} to a judge: name it with --sciagent-judge KIND:MODEL")
    known = (judge or "").replace(" ", "").split(",")
    for url in given.words("base_url") if judge is not None or given.is_given("base_url") else ():
        owner = url.partition("=")[0]
        if "=" in url and "://" not in owner and owner not in known:
            raise pytest.UsageError(f"{given.spelled('base_url')} {url}: no judge {owner} is named by --sciagent-judge")
