"""An agent at work: what is to be run, the harness set up, started, and asked turn by turn until its end."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..models import Stage, Usage
from ..models.system import SystemFile
from ..runs.secrets import mask_secrets
from ..tasks import Task
from ..tasks.delivery import problems
from ..tasks.workspace import Workspace, assemble
from ..text import one_line
from .adapters import Adapter, Turn
from .leavings import put_back
from .process import Ended, NotStarted, Streams, run_command
from .reading import Meter, fill

Tell = Callable[[str], None]
_VERSION = re.compile(r"\d+(?:\.\d+)+[A-Za-z0-9.+-]*")
_VERSION_S = 60.0
MAX_TOLD = 16
_HEARTBEAT_S = 30.0


@dataclass(frozen=True)
class Job:
    """What is to be run. `system_file` is the digest of the file that says how; `stage` is set for a second stage.

    take: is called with the workspace before it is removed, for what is to be kept beside the run. wanted: is called
    again and again while the harness works; what it raises ends the run, and nothing is frozen.
    """

    task: Task
    system: SystemFile
    target: Path
    repeat: int = 1
    system_file: str | None = None
    stage: Stage | None = None
    system_name: str | None = None
    started_at: str | None = None
    make: Callable[[Task, Path], Workspace] = assemble
    take: Callable[[Path], None] | None = None
    wanted: Callable[[], None] | None = None


@dataclass
class Work:
    """The state of one run while it goes on."""

    job: Job
    adapter: Adapter
    workspace: Workspace
    home: Path
    logs: Path
    secrets: list[str]
    tell: Tell
    prompts: dict[str, bytes]
    meter: Meter = field(default_factory=Meter)
    environment: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    version: str | None = None
    turns: int = 0
    deadline: float | None = None
    lines: int = 0
    told_at: float = 0.0


class Failed(Exception):
    """Why a run can't complete; it is frozen as failed with this reason. `stopped`: the limit that ended it."""

    def __init__(self, reason: str, stopped: str | None = None, exit_code: int | None = None) -> None:
        super().__init__(reason)
        self.stopped = stopped
        self.exit_code = exit_code


class NeverStarted(Failed):
    """The command itself could not be started."""


# ---- before the agent works


def prepare(state: Work) -> None:
    """Find out the version, and run what the harness needs once."""
    adapter, wanted = state.adapter, state.job.system.harness_version
    state.command = adapter.program
    program = (state.job.system.container or adapter.program)[0]  # what a container holds, only it knows
    if shutil.which(program, path=state.environment.get("PATH")) is None:
        raise Failed(f"the harness is not installed: no program {program!r} on the search path")
    if adapter.version_argv:
        state.version = _version(state)
    if wanted is not None and state.version != wanted:
        raise Failed(f"the harness has version {state.version or 'unknown'}, the system file asks for {wanted}")
    for start in adapter.prepare(state.home, state.workspace.path):
        ended = _start(state, start.argv, start.stdin, start.environment, "setup", lambda line: None)
        if ended.exit_code != 0:
            raise Failed(f"the harness can't be set up: {start.argv[0]} {start.argv[1]} ended with {_how(ended)}")


def _version(state: Work) -> str | None:
    """The version that the harness prints on its first lines."""
    lines: list[str] = []
    argv = state.adapter.version_argv
    whole = state.deadline
    state.deadline = min(whole, time.monotonic() + _VERSION_S) if whole is not None else time.monotonic() + _VERSION_S
    try:
        ended = _start(state, argv, None, {}, "version", lines.append)
    finally:
        state.deadline = whole
    match = next((m for line in lines[:5] if (m := _VERSION.search(line))), None)
    if ended.exit_code != 0:
        raise Failed(f"the harness does not tell its version: {' '.join(argv[:3])} ended with {_how(ended)}")
    return match[0] if match else None


def _start(
    state: Work,
    argv: tuple[str, ...],
    stdin: str | None,
    environment: Mapping[str, str],
    log: str,
    on_line: Callable[[str], None],
) -> Ended:
    """Start a command with the run's environment, in its container if it has one, and wait for its end."""
    places = {"workspace": str(state.workspace.path), "home": str(state.home)}
    container = tuple(fill(part, places) for part in state.job.system.container)
    name, _, suffix = log.partition(".")
    streams = Streams(
        stdout=state.logs / (f"{name}.{suffix}" if suffix else f"{name}.txt"),
        stderr=state.logs / ("stderr.txt" if suffix else f"{name}-stderr.txt"),
        secrets=state.secrets,
        on_line=on_line,
        max_bytes=state.job.system.limits.log_bytes,
    )
    try:
        ended = run_command(
            (*container, *argv),
            cwd=state.workspace.path,
            environment={**state.environment, **environment},
            stdin=stdin,
            streams=streams,
            deadline=state.deadline,
            passed=lambda: _passed(state),
        )
    except NotStarted as error:
        raise NeverStarted(str(error)) from None
    lost = put_back((state.workspace.path.parent, state.workspace.path, state.home, state.logs))
    if lost and ended.stopped is None:
        raise Failed(f"the harness took away the folder of the run: {', '.join(path.name for path in lost)}")
    return ended


def _how(ended: Ended) -> str:
    return ended.stopped if ended.stopped is not None else f"exit code {ended.exit_code}"


# ---- while it works


def take_turns(state: Work) -> None:
    """The first turn, then as many as it takes and the system file allows to mend the delivery."""
    texts = [text.decode("utf-8") for text in state.prompts.values()]
    prompt = "\n\n".join([*texts, state.workspace.prompt])
    while True:
        _turn(state, prompt)
        told = problems(state.workspace.output)
        if not told or state.turns >= state.job.system.fixing_turns:
            return
        state.turns += 1
        state.meter.next_turn()
        state.tell(f"turn {state.turns} to mend the delivery: {one_line(told[0], 120)}")
        prompt = mending(told)


def mending(told: list[str]) -> str:
    """What the agent is told where its delivery can't be taken: form only, never science."""
    lines = "\n".join(f"- {one_line(problem, 300)}" for problem in told[:MAX_TOLD])
    return (
        "Your delivery can't be taken yet. Mend what is listed here and nothing else: change no result and no claim. "
        f"Then run `python validate.py` again.\n{lines}\n"
    )


def _turn(state: Work, prompt: str) -> None:
    turn = Turn(state.workspace.path, state.home, prompt, state.turns, state.meter.session_id)
    turn.prompt_file.write_text(prompt, encoding="utf-8")
    start = state.adapter.start(turn)
    if state.turns == 0:
        state.command = tuple(masked(part.replace(prompt, "{prompt}"), state.secrets) for part in start.argv)
    began = now()
    ended = _start(state, start.argv, start.stdin, start.environment, state.adapter.log, lambda x: _line(state, x))
    note(state, {"turn": state.turns, "began": began, "ended": now(), **_facts(ended)})
    if ended.stopped is not None:
        raise Failed(f"stopped: {ended.stopped}", ended.stopped)
    if ended.exit_code != 0:
        raise Failed(f"the harness ended with exit code {ended.exit_code}", exit_code=ended.exit_code)


def _facts(ended: Ended) -> dict[str, object]:
    return {"exit_code": ended.exit_code, "stopped": ended.stopped, "left_behind": ended.left_behind}


def note(state: Work, event: Mapping[str, object]) -> None:
    """Write a line into the log of turns."""
    with (state.logs / "turns.jsonl").open("a", encoding="utf-8") as handle:
        handle.write(json.dumps(event) + "\n")


def _line(state: Work, line: str) -> None:
    state.adapter.read(line, state.meter)
    state.lines += 1


def _passed(state: Work) -> str | None:
    """The limit on tokens or cost that was passed; and from time to time a line about how it goes."""
    if state.job.wanted is not None:
        state.job.wanted()
    now = time.monotonic()
    if now - state.told_at > _HEARTBEAT_S:
        if state.told_at:
            state.tell(f"{state.lines} lines, {_used(state.meter.usage)}")
        state.told_at = now
    limits, usage = state.job.system.limits, state.meter.usage
    if limits.tokens is not None and state.meter.tokens > limits.tokens:
        return "tokens"
    if limits.cost_usd is not None and (usage.cost_usd or 0) > limits.cost_usd:
        return "cost"
    return None


def _used(usage: Usage) -> str:
    if usage.input_tokens is None and usage.output_tokens is None:
        return "tokens not told"
    cost = "" if usage.cost_usd is None else f", {usage.cost_usd:.2f} USD"
    return f"{(usage.input_tokens or 0) + (usage.output_tokens or 0):,} tokens{cost}"


def masked(text: str, secrets: list[str]) -> str:
    """`text` without the secrets."""
    return mask_secrets(text, secrets)[0]


def now() -> str:
    """The time as runs record it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
