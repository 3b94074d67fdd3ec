"""The verification scripts of tasks run by the workers of a Dask cluster. Only this process keeps the answers.

Each future is named after what the answer follows from. Where a worker is lost, its script is run on another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from ..digest import sha256_json
from ..documents import plain_json
from ..errors import SciagentError
from ..ledger.trusted_files import KeptFiles
from ..tasks import Task
from ..tasks.verification import KeptAnswers, Scripts
from ..text import one_line
from .cluster import RETRIES, connected, without_its_log
from .parcels import pack_scripts
from .script_worker import Errand, Findings, run_errand

_PERIOD_S = 0.05


def run_scripts(tasks: Iterable[Task], address: str, cache: KeptFiles, tell: Callable[[int, int], None]) -> None:
    """Run what `cache` holds no answer of on the cluster at `address`: its scheduler's, or the file in which it has
    written that. `tell` is told how many of how many scripts are done. A script that fails has no answer: the session
    runs it itself where one is needed, and tells why.

    Raises:
        SciagentError: the cluster can't be reached or was lost; a script or data can't be read, or are too many bytes;
            a worker can't do it: another version, other packages. What was finished is kept.
    """
    kept = KeptAnswers(cache)
    errands = {errand.key: errand for task in tasks for errand in _errands(task, kept)}
    if not errands:
        return
    with without_its_log():
        session = connected(address)
        try:
            going = {
                key: session.submit(run_errand, errand, key=_name(errand), pure=False, retries=RETRIES)
                for key, errand in errands.items()
            }
            while going:
                tell(len(errands) - len(going), len(errands))
                for key in [key for key, future in going.items() if future.done()]:
                    _take(kept, errands[key], going.pop(key))
                if session.status == "closed":
                    raise SciagentError(f"the Dask cluster {address} has gone; what was finished is kept")
                time.sleep(_PERIOD_S)
            tell(len(errands), len(errands))
        finally:
            session.close()


def _errands(task: Task, kept: KeptAnswers) -> list[Errand]:
    scripts = Scripts.of(task)
    try:
        keys = {name: scripts.key(name) for name in scripts.names}
    except OSError as error:
        raise SciagentError(f"can't be read: {error.strerror}", path=error.filename or task.path) from None
    wanted = {name: key for name, key in keys.items() if kept.get(key) is None}
    if not wanted:
        return []
    code, data = pack_scripts(task)
    return [Errand(name, key, code, data) for name, key in wanted.items()]


def _name(errand: Errand) -> str:
    return f"sciagent-script-{sha256_json([errand.version, errand.key])}"


def _take(kept: KeptAnswers, errand: Errand, future: Any) -> None:
    """Keep what a worker has found."""
    try:
        found: Findings = future.result()
    except Exception as error:  # a worker's, or the cluster's own
        told = f"{errand.script} on the Dask cluster: {type(error).__name__}: {error}"
        raise SciagentError(one_line(told, 300)) from None
    if found.refused is not None:
        raise SciagentError(one_line(f"{errand.script}: {found.refused}", 300))
    if found.answer is not None:
        answer = plain_json(found.answer, errand.script)
        if not isinstance(answer, dict):
            raise SciagentError(f"{errand.script}: a worker has sent no JSON object")
        kept.keep(errand.key, answer)
