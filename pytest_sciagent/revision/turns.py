"""One turn of a harness in a copy of a workspace, frozen as a run; and what the agent wrote about it, kept beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..errors import SciagentError
from ..harnesses import handoff
from ..harnesses.agent import Job, Tell
from ..harnesses.session import run_job
from ..harnesses.suite import move_away
from ..harnesses.system import digest_of, load_system
from ..layout import MANIFEST
from ..ledger.store import write_atomically
from ..models.system import SystemFile
from ..runs import Run, UnsafeFile
from ..runs.files import read_file
from ..runs.secrets import known_secrets, mask_secrets
from ..tasks import Task
from ..tasks.workspace import assemble_again, remove_workspace
from .examiner import Waiting
from .feedback import NOTES, PLAN, SUMMARY

_MAX_NOTE = 200_000


@dataclass(frozen=True)
class Author:
    """The system that revises. `digest` is that of its file."""

    system: SystemFile
    digest: str

    @classmethod
    def load(cls, path: Path) -> Author:
        """The author that the system file `path` describes.

        Raises:
            SciagentError: with file and line.
        """
        system = load_system(path)
        return cls(system, digest_of(path, system))


@dataclass(frozen=True)
class Turn:
    """One turn: from the frozen run `base`, told `texts`, frozen at `target` under `name`; notes go to `beside`.

    started_at: when the work as a whole began: what earlier rounds wrote lies within its time.
    """

    task: Task
    author: Author
    base: Run
    texts: Mapping[str, str]
    target: Path
    name: str
    beside: Path
    started_at: str | None = None


def take_turn(turn: Turn, environ: Mapping[str, str], tell: Tell) -> Run:
    """Do the turn, unless it is done: what is frozen is kept, but for a run whose harness never started.

    Raises:
        Waiting: the work is handed out, and not said to be done.
        SciagentError: bad input; another run in its place; nothing could be frozen.
    """
    kept = _kept(turn) if (turn.target / MANIFEST).is_file() else None
    if kept is not None and (kept.manifest.session is None or kept.manifest.session.started):
        return kept
    if kept is not None:
        tell(f"{turn.name}: the harness had not started; that run is moved to {move_away(kept)}")
    for name, text in turn.texts.items():
        write_atomically(turn.beside / name, text)
    job = Job(
        turn.task,
        turn.author.system,
        turn.target,
        turn.base.manifest.repeat,
        turn.author.digest,
        system_name=turn.name,
        started_at=turn.started_at,
        make=partial(assemble_again, delivered=turn.base.path, texts=turn.texts),
        take=partial(_keep_notes, beside=turn.beside, environ={**environ, **turn.author.system.environment}),
    )
    if turn.author.system.harness != handoff.ADAPTER:
        tell(f"{turn.name}: {turn.author.system.name} works")
        return run_job(job, environ, lambda text: tell(f"{turn.name}: {text}")).run
    folder = turn.beside / "handoff"
    place = handoff.hand_out(job, folder)
    if not handoff.is_done(folder):
        raise Waiting(
            f"the work of {turn.name} is handed out: start in {place} and do what PROMPT.md says. When done, write "
            f'{folder / handoff.DONE} (at least {{}}; {{"model": ..., "usage": {{"input_tokens": ...}}}} where known), '
            "and start this command again"
        )
    run = handoff.take_in(job, folder, environ).run
    remove_workspace(place)
    return run


def _kept(turn: Turn) -> Run:
    run = Run.load(turn.target)
    about = run.manifest
    if (about.system.name, about.task_id, about.repeat) != (turn.name, turn.task.id, turn.base.manifest.repeat):
        raise SciagentError(f"holds another run, {run.label}: choose another place with -o", path=turn.target)
    if about.session is not None and about.session.system_file not in (None, turn.author.digest):
        raise SciagentError("was made with another system file: choose another place with -o", path=turn.target)
    problems = run.problems()
    if problems:
        raise SciagentError(f"is not what was frozen: {problems[0]}", path=turn.target)
    return run


def _keep_notes(workspace: Path, beside: Path, environ: Mapping[str, str]) -> None:
    """Copy what the agent says of its plan and its changes; a link, or what is too large, is passed by."""
    known = known_secrets(environ)
    for name in (PLAN, SUMMARY):
        try:
            data = read_file(workspace, f"{NOTES}/{name}", _MAX_NOTE)
        except (UnsafeFile, OSError):
            continue
        write_atomically(beside / name, mask_secrets(data.decode("utf-8", "replace"), known)[0])
