"""The tasks' verification scripts, run by a Dask cluster before the items run, which then find the answers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..extras import need

if TYPE_CHECKING:
    from .state import SessionState


def run_scripts_elsewhere(state: SessionState, address: str) -> None:
    """Have what no earlier session has worked out run on the cluster at `address`.

    Raises:
        SciagentError: see `harnesses.script_cluster.run_scripts`.
    """
    need("dask", "--sciagent-dask-scripts")
    from ..harnesses.script_cluster import run_scripts

    sound = [index for index in state.indexes.values() if index.state == "sound"]
    tasks = {task.id: task for index in sound if (task := state.case_of(index).task) is not None}
    is_shown = sys.stderr.isatty()

    def tell(done: int, total: int) -> None:
        if is_shown:
            sys.stderr.write(f"\rverification scripts: {done} of {total} done")
            sys.stderr.write("\n" if done == total else "")
            sys.stderr.flush()

    run_scripts(tasks.values(), address, state.sources.scripts, tell)
