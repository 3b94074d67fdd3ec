"""The verification scripts of tasks run by the workers of a Dask cluster. Only this process keeps the answers.

Each future is named after what the answer follows from. Where a worker is lost, its script is run on another one, twice
at most.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..digest import sha256_bytes, sha256_json
from ..documents import plain_json
from ..errors import SciagentError
from ..ledger.trusted_files import KeptFiles
from ..tasks import Task
from ..tasks.verification import KeptAnswers, Scripts
from ..text import one_line
from .engine import RETRIES, Told, connected, handed_out, without_its_log
from .parcels import TASK_BYTES, pack_scripts
from .script_worker import ANSWER_BYTES, Errand, Findings, run_errand

Tell = Callable[[int, int], None]
BYTES_OUT = 4 * TASK_BYTES
"""How much is with the cluster at a time at most, or one script with its data if that is more."""
_PERIOD_S = 0.05


@dataclass(frozen=True)
class _Open:
    """A script that has no answer yet, and what its answer follows from."""

    task: Task
    script: str
    key: str


@dataclass(frozen=True)
class _Going:
    """A script that is with the cluster, and how many bytes went with it."""

    one: _Open
    future: Any
    size: int


def run_scripts(tasks: Iterable[Task], address: str, cache: KeptFiles, tell: Tell) -> None:
    """Run what `cache` holds no answer of on the cluster at `address`: its scheduler's, or the file in which it has
    written that. `tell` is told how many of how many scripts are done. A script that fails has no answer: the session
    runs it itself where one is needed, and tells why.

    Raises:
        SciagentError: the cluster can't be reached or was lost; a script or data can't be read, or are too many bytes;
            a worker can't do it: another version, other packages; three workers were lost with a script. What was
            finished is kept.
        KeyboardInterrupt: as it comes; what was finished is kept, the scripts that workers run are ended.
    """
    kept = KeptAnswers(cache)
    waiting = list({one.key: one for task in tasks for one in _scripts_of(task) if kept.get(one.key) is None}.values())
    if not waiting:
        return
    with without_its_log():
        session = connected(address)
        try:
            _Scripts(session, kept, tell).run(waiting)
        finally:
            session.close()  # which gives up what is going on


def _scripts_of(task: Task) -> list[_Open]:
    scripts = Scripts.of(task)
    try:
        return [_Open(task, name, scripts.key(name)) for name in scripts.names]
    except OSError as error:
        raise SciagentError(f"can't be read: {error.strerror}", path=error.filename or task.path) from None


class _Scripts:
    """One session's scripts on a cluster."""

    def __init__(self, session: Any, kept: KeptAnswers, tell: Tell) -> None:
        self._session = session
        self._kept = kept
        self._tell = tell
        self._told = Told(session)
        self._packed = lru_cache(maxsize=1)(pack_scripts)  # scripts of one task follow one another
        self._going: dict[str, _Going] = {}

    def run(self, waiting: list[_Open]) -> None:
        total, most = len(waiting), handed_out(self._session)
        waiting.reverse()
        try:
            while waiting or self._going:
                while waiting and len(self._going) < most and self._hand_out(waiting[-1]):
                    waiting.pop()
                self._tell(total - len(waiting) - len(self._going), total)
                self._check_losses()
                for key in [key for key, going in self._going.items() if going.future.done()]:
                    self._take(self._going.pop(key))
                if self._session.status == "closed":
                    raise SciagentError("the Dask cluster has gone; what was finished is kept")
                time.sleep(_PERIOD_S)
            self._tell(total, total)
        except BaseException:
            for going in self._going.values():
                if going.future.status == "finished":
                    with contextlib.suppress(SciagentError):  # one reason is told already
                        self._take(going)
            raise

    def _hand_out(self, one: _Open) -> bool:
        """Whether there was room for it."""
        scripts, data = self._packed(one.task)
        size = scripts.size + data.size
        if self._going and size + sum(going.size for going in self._going.values()) > BYTES_OUT:
            return False
        errand = Errand(one.script, one.key, scripts, data, self._told.topic)
        name = f"sciagent-script-{sha256_json([errand.version, errand.key])}"
        self._going[one.key] = _Going(one, self._session.submit(run_errand, errand, key=name, pure=False), size)
        return True

    def _check_losses(self) -> None:
        for event in self._told.new():
            going = self._going.get(str(event.get("name")))
            if going is not None and self._told.begun[going.one.key] > RETRIES + 1:
                raise _lost(going.one)

    def _take(self, going: _Going) -> None:
        """Keep what a worker has found."""
        one = going.one
        try:
            found: Findings = going.future.result()
        except Exception as error:  # a worker's, or the cluster's own
            if self._told.lost_for_good(one.key):
                raise _lost(one) from None
            told = f"{one.script} on the Dask cluster: {type(error).__name__}: {error}"
            raise SciagentError(one_line(told, 300)) from None
        if found.refused is not None:
            raise SciagentError(one_line(f"{one.script}: {found.refused}", 300))
        if found.answer is None:
            return
        content = found.answer.encode()
        if found.key != one.key or found.digest != sha256_bytes(content) or len(content) > ANSWER_BYTES:
            raise SciagentError(f"{one.script}: what has arrived is not what a worker has found")
        answer = plain_json(found.answer, one.script)
        if not isinstance(answer, dict):
            raise SciagentError(f"{one.script}: a worker has sent no JSON object")
        self._kept.keep(one.key, answer)


def _lost(one: _Open) -> SciagentError:
    return SciagentError(f"{one.script} of {one.task.id}: its workers were lost {RETRIES + 1} times")
