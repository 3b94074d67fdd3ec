"""One run: a workspace is assembled, the harness works in it, and what came out is frozen, whatever came out."""

from __future__ import annotations

import platform
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from ..digest import sha256_bytes
from ..errors import MachineFault, SciagentError
from ..models import Session, System, Usage
from ..models.run import RunStatus
from ..runs.files import walk
from ..runs.freeze import FreezeOptions, Frozen, freeze, hash_inputs
from ..runs.secrets import known_secrets
from ..tasks.delivery import problems
from ..tasks.workspace import HOLDOUT, Workspace, remove_workspace
from ..text import one_line
from .adapters import Adapter, adapter_of
from .agent import MAX_TOLD, Failed, Job, NeverStarted, Tell, Work, masked, note, now, prepare, take_turns
from .leavings import withhold
from .system import base_environment, prompt_texts


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
    state = _begin(job, adapter, environ, tell, folder)
    before = hash_inputs(state.workspace.path)
    started_at, started = now(), time.monotonic()
    state.deadline = None if job.system.limits.wall_s is None else started + job.system.limits.wall_s
    failure, has_started = _work(state)
    finished_at = now()
    if job.take is not None:
        job.take(state.workspace.path)
    session, status = _account(state, before, failure, has_started)
    options = FreezeOptions(
        task_id=job.task.id,
        system=_system(state),
        repeat=job.repeat,
        status=status,
        exit_code=failure.exit_code if failure is not None else 0,
        started_at=job.started_at or started_at,
        finished_at=finished_at,
        usage=state.meter.usage if has_started else Usage(),
        logs=_logs(state),
        inputs_before=before,
        session=session,
        stage=job.stage,
    )
    return _freeze(state, options, {**_known(job, environ), "SCIAGENT_MODEL_KEY": adapter.key or ""})


def _begin(job: Job, adapter: Adapter, environ: Mapping[str, str], tell: Tell, folder: Path) -> Work:
    workspace = job.make(job.task, folder / "workspace")
    home, logs = folder / "home", folder / "workspace-logs"
    for place in (home, logs):
        place.mkdir()
    found = {*known_secrets(_known(job, environ)), *([adapter.key] if adapter.key else ())}
    secrets = sorted(found, key=len, reverse=True)
    state = Work(job, adapter, workspace, home, logs, secrets, tell, prompt_texts(job.system))
    state.environment = base_environment(job.system, home, environ)
    return state


def _known(job: Job, environ: Mapping[str, str]) -> dict[str, str]:
    """Every variable that the harness may have had, so that its secrets are known."""
    return {**environ, **job.system.environment}


def _work(state: Work) -> tuple[Failed | None, bool]:
    """Let the harness work; what kept it from its end, and whether it has started at all."""
    has_started = False
    try:
        prepare(state)
        has_started = True
        take_turns(state)
    except Failed as error:
        return error, has_started and (state.turns > 0 or not isinstance(error, NeverStarted))
    return None, has_started


def _account(
    state: Work, before: dict[str, str] | None, failure: Failed | None, has_started: bool
) -> tuple[Session, RunStatus]:
    """What there is to tell of the session, and how the run ended. Secrets that were left are taken away here."""
    job, workspace, secrets = state.job, state.workspace, state.secrets
    withheld, reasons = withhold(workspace, secrets)
    if before != _inputs(workspace.path):
        reasons.insert(0, "files of data/ were changed")
    strays = workspace.strays()
    reasons += [stray for stray in strays if re.match(rf"(?:changed|removed): {HOLDOUT}/", stray)]
    if failure is None and not reasons and has_no_report(workspace):
        reasons.append("the run delivered no report")
    problem = str(failure) if failure is not None else (reasons[0] if reasons else None)
    session = Session(
        adapter=state.adapter.name,
        command=state.command,
        started=has_started,
        stopped=failure.stopped if failure is not None else None,
        problem=None if problem is None else one_line(masked(problem, secrets), 500),
        fixing_turns=job.system.fixing_turns,
        fixing_turns_used=state.turns,
        limits={name: value for name, value in job.system.limits.as_json().items() if name != "log_bytes"},
        delivery=tuple(one_line(masked(p, secrets), 300) for p in problems(workspace.output)[:MAX_TOLD]),
        strays=tuple(one_line(stray, 300) for stray in strays[:200]),
        withheld=tuple(withheld),
        workspace=str(workspace.path),
        environment={"platform": platform.platform(), "program": f"pytest-sciagent {version('pytest-sciagent')}"},
        system_file=job.system_file,
    )
    if session.stopped == "wall time":
        return session, "timed_out"
    return session, "completed" if problem is None else "failed"


def _freeze(state: Work, options: FreezeOptions, environ: Mapping[str, str]) -> Frozen:
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


def _freeze_nothing(state: Work, options: FreezeOptions, environ: Mapping[str, str]) -> Frozen:
    empty = state.workspace.path.parent / "empty"
    try:
        (empty / "output").mkdir(parents=True, exist_ok=True)
        return freeze(empty, state.job.target, options, environ)
    except (SciagentError, OSError) as error:
        raise _unfrozen(state, error) from None


def _unfrozen(state: Work, error: Exception) -> _Unfrozen:
    kept = f"what the agent left is kept in {state.workspace.path}; freeze it with sciagent freeze"
    return _Unfrozen(f"{error}; {kept}")


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


def _logs(state: Work) -> tuple[Path, ...]:
    """The logs to keep, with the sessions that the harness keeps at home; and those alone."""
    for pattern in state.adapter.sessions:
        for path in sorted(state.home.glob(pattern))[:200]:
            if path.is_file() and not path.is_symlink():
                shutil.copyfile(path, state.logs / f"session-{path.name}")
    found = sorted(path for path in state.logs.iterdir() if path.stat().st_size)
    if not found:
        note(state, {"note": "nothing was logged"})
        found = [state.logs / "turns.jsonl"]
    return tuple(found)


def _system(state: Work) -> System:
    system = state.job.system
    return System(
        name=state.job.system_name or system.name,
        harness=system.harness,
        harness_version=state.version or system.harness_version,
        model=system.model,
        prompts=state.workspace.prompts | {name: sha256_bytes(text) for name, text in state.prompts.items()},
    )
