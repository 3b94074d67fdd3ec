"""One run: a workspace is assembled, the harness works in it, and what came out is frozen, whatever came out."""

from __future__ import annotations

import json
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from ..digest import sha256_bytes
from ..errors import MachineFault, SciagentError
from ..models import Session, Stage, System, Usage
from ..models.run import RunStatus
from ..models.system import SystemFile
from ..runs.files import walk
from ..runs.freeze import FreezeOptions, Frozen, freeze, hash_inputs
from ..runs.secrets import known_secrets, mask_secrets
from ..tasks import Task
from ..tasks.delivery import problems
from ..tasks.workspace import HOLDOUT, Workspace, assemble, remove_workspace
from ..text import one_line
from .adapters import Adapter, Turn, adapter_of
from .leavings import put_back, withhold
from .process import Ended, NotStarted, Streams, run_command
from .reading import Meter, fill
from .system import base_environment, prompt_texts

Tell = Callable[[str], None]
_VERSION = re.compile(r"\d+(?:\.\d+)+[A-Za-z0-9.+-]*")
_VERSION_S = 60.0
_MAX_TOLD = 16
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
class _Work:
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


class _Unfrozen(SciagentError):
    """Nothing could be frozen; what the agent left stays where it is."""


def run_job(job: Job, environ: Mapping[str, str], tell: Tell, work: Path | None = None) -> Frozen:
    """Run and freeze `job`. A run that goes wrong is frozen as a failed one; `session.problem` says why.

    work: where the folder of the run is made; the system's temporary folder without it.

    Raises:
        SciagentError: bad input (task, system file, target), or nothing at all can be frozen.
        KeyboardInterrupt: as it comes; the harness has been ended, and nothing is frozen.
    """
    adapter = adapter_of(job.system, environ)
    adapter.check()
    if job.target.exists() and any(job.target.iterdir()):
        raise SciagentError("exists and is not empty: choose another, or remove it first", path=job.target)
    folder = Path(tempfile.mkdtemp(prefix="sciagent-", dir=work))
    keep = False
    try:
        return _run_in(job, adapter, environ, tell, folder)
    except _Unfrozen:
        keep = True
        raise
    finally:
        if not keep and not remove_workspace(folder):
            tell(f"{folder} can't be removed whole: files in it belong to another user, as a container's may")


def _run_in(job: Job, adapter: Adapter, environ: Mapping[str, str], tell: Tell, folder: Path) -> Frozen:
    workspace = job.make(job.task, folder / "workspace")
    home, logs = folder / "home", folder / "workspace-logs"
    for place in (home, logs):
        place.mkdir()
    known = {**environ, **job.system.environment}
    secrets = sorted({*known_secrets(known), *([adapter.key] if adapter.key else ())}, key=len, reverse=True)
    state = _Work(job, adapter, workspace, home, logs, secrets, tell, prompt_texts(job.system))
    state.environment = base_environment(job.system, home, environ)
    before = hash_inputs(workspace.path)
    started_at, started = now(), time.monotonic()
    state.deadline = None if job.system.limits.wall_s is None else started + job.system.limits.wall_s
    failure: Failed | None = None
    has_started = False
    try:
        _prepare(state)
        has_started = True
        _turns(state)
    except Failed as error:
        failure = error
        has_started = has_started and (state.turns > 0 or not isinstance(error, NeverStarted))
    finished_at = now()
    if job.take is not None:
        job.take(workspace.path)
    withheld, reasons = withhold(workspace, secrets)
    if before != _inputs(workspace.path):
        reasons.insert(0, "files of data/ were changed")
    strays = workspace.strays()
    reasons += [stray for stray in strays if re.match(rf"(?:changed|removed): {HOLDOUT}/", stray)]
    if failure is None and not reasons and has_no_report(workspace):
        reasons.append("the run delivered no report")
    problem = str(failure) if failure is not None else (reasons[0] if reasons else None)
    status: RunStatus = "completed" if problem is None else "failed"
    if failure is not None and failure.stopped == "wall time":
        status = "timed_out"
    session = Session(
        adapter=adapter.name,
        command=state.command,
        started=has_started,
        stopped=failure.stopped if failure is not None else None,
        problem=None if problem is None else one_line(_masked(problem, secrets), 500),
        fixing_turns=job.system.fixing_turns,
        fixing_turns_used=state.turns,
        limits={name: value for name, value in job.system.limits.as_json().items() if name != "log_bytes"},
        delivery=tuple(one_line(_masked(p, secrets), 300) for p in problems(workspace.output)[:_MAX_TOLD]),
        strays=tuple(one_line(stray, 300) for stray in strays[:200]),
        withheld=tuple(withheld),
        workspace=str(workspace.path),
        environment={"platform": platform.platform(), "program": f"pytest-sciagent {version('pytest-sciagent')}"},
        system_file=job.system_file,
    )
    exit_code = failure.exit_code if failure is not None else 0
    options = FreezeOptions(
        task_id=job.task.id,
        system=_system(state),
        repeat=job.repeat,
        status=status,
        exit_code=exit_code,
        started_at=job.started_at or started_at,
        finished_at=finished_at,
        usage=state.meter.usage if has_started else Usage(),
        logs=_logs(state),
        inputs_before=before,
        session=session,
        stage=job.stage,
    )
    return _freeze(state, options, {**known, "SCIAGENT_MODEL_KEY": adapter.key or ""})


def _freeze(state: _Work, options: FreezeOptions, environ: Mapping[str, str]) -> Frozen:
    """Freeze what there is; where that can't be frozen, an empty delivery with the reason. Where this machine is to
    blame, nothing: an agent's work never counts as missing because of a full disk of ours."""
    try:
        return freeze(state.workspace.path, state.job.target, options, environ)
    except MachineFault as error:
        raise _unfrozen(state, error) from None
    except SciagentError as error:
        reason = one_line(f"the delivery can't be frozen: {error}", 500)
        assert options.session is not None
        session = options.session.model_copy(update={"problem": reason})
        failed = replace(options, status="failed", session=session, report=None, inputs_before=None)
        return _freeze_nothing(state, failed, environ)


def _freeze_nothing(state: _Work, options: FreezeOptions, environ: Mapping[str, str]) -> Frozen:
    empty = state.workspace.path.parent / "empty"
    try:
        (empty / "output").mkdir(parents=True, exist_ok=True)
        return freeze(empty, state.job.target, options, environ)
    except (SciagentError, OSError) as error:
        raise _unfrozen(state, error) from None


def _unfrozen(state: _Work, error: Exception) -> _Unfrozen:
    kept = f"what the agent left is kept in {state.workspace.path}; freeze it with sciagent freeze"
    return _Unfrozen(f"{error}; {kept}")


# ---- before the agent works


def _prepare(state: _Work) -> None:
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


def _version(state: _Work) -> str | None:
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
    state: _Work,
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


def _turns(state: _Work) -> None:
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
    lines = "\n".join(f"- {one_line(problem, 300)}" for problem in told[:_MAX_TOLD])
    return (
        "Your delivery can't be taken yet. Mend what is listed here and nothing else: change no result and no claim. "
        f"Then run `python validate.py` again.\n{lines}\n"
    )


def _turn(state: _Work, prompt: str) -> None:
    turn = Turn(state.workspace.path, state.home, prompt, state.turns, state.meter.session_id)
    turn.prompt_file.write_text(prompt, encoding="utf-8")
    start = state.adapter.start(turn)
    if state.turns == 0:
        state.command = tuple(_masked(part.replace(prompt, "{prompt}"), state.secrets) for part in start.argv)
    began = now()
    ended = _start(state, start.argv, start.stdin, start.environment, state.adapter.log, lambda x: _line(state, x))
    _note(state, {"turn": state.turns, "began": began, "ended": now(), **_facts(ended)})
    if ended.stopped is not None:
        raise Failed(f"stopped: {ended.stopped}", ended.stopped)
    if ended.exit_code != 0:
        raise Failed(f"the harness ended with exit code {ended.exit_code}", exit_code=ended.exit_code)


def _facts(ended: Ended) -> dict[str, object]:
    return {"exit_code": ended.exit_code, "stopped": ended.stopped, "left_behind": ended.left_behind}


def _note(state: _Work, event: Mapping[str, object]) -> None:
    with (state.logs / "turns.jsonl").open("a", encoding="utf-8") as handle:
        handle.write(json.dumps(event) + "\n")


def _line(state: _Work, line: str) -> None:
    state.adapter.read(line, state.meter)
    state.lines += 1


def _passed(state: _Work) -> str | None:
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


# ---- after it has worked


def _inputs(workspace: Path) -> dict[str, str] | None:
    try:
        return hash_inputs(workspace)
    except SciagentError:
        return None


def has_no_report(workspace: Workspace) -> bool:
    """Whether `output/` holds no report."""
    from ..runs.roles import find_report

    try:
        return find_report(entry.path for entry in walk(workspace.path, "output")) is None
    except SciagentError:
        return False


def _logs(state: _Work) -> tuple[Path, ...]:
    """The logs to keep, with the sessions that the harness keeps at home; and those alone."""
    for pattern in state.adapter.sessions:
        for path in sorted(state.home.glob(pattern))[:200]:
            if path.is_file() and not path.is_symlink():
                shutil.copyfile(path, state.logs / f"session-{path.name}")
    found = sorted(path for path in state.logs.iterdir() if path.stat().st_size)
    if not found:
        _note(state, {"note": "nothing was logged"})
        found = [state.logs / "turns.jsonl"]
    return tuple(found)


def _system(state: _Work) -> System:
    system = state.job.system
    return System(
        name=state.job.system_name or system.name,
        harness=system.harness,
        harness_version=state.version or system.harness_version,
        model=system.model,
        prompts=state.workspace.prompts | {name: sha256_bytes(text) for name, text in state.prompts.items()},
    )


def _masked(text: str, secrets: list[str]) -> str:
    return mask_secrets(text, secrets)[0]


def now() -> str:
    """The time as runs record it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
