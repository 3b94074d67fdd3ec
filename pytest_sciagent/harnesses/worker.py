"""What a worker of a Dask cluster does: one run, from its workspace to the frozen run, which goes back as bytes."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path

from ..errors import SciagentError
from ..models.system import SystemFile
from ..tasks import Task
from .agent import Job
from .engine import AtWork
from .parcels import Parcel, TooLarge, pack_run
from .session import run_job


@dataclass(frozen=True)
class Order:
    """One run that a worker is to make.

    task: its visible half. system: the system file as JSON; `prompts` are the texts that it names, by file name.
    work: where the worker makes its workspaces; None for its temporary folder. topic: where it tells how it goes.
    """

    task: Parcel
    task_id: str
    system: str
    prompts: tuple[tuple[str, bytes], ...]
    system_file: str | None
    repeat: int
    name: str
    work: str | None
    topic: str
    version: str = field(default_factory=partial(version, "pytest-sciagent"))


@dataclass(frozen=True)
class Outcome:
    """What came of an order: the frozen run with its warnings, or why there is none."""

    run: Parcel | None = None
    warnings: tuple[str, ...] = ()
    refused: str | None = None


def carry_out(order: Order) -> Outcome:
    """Make a run on the worker that this is called on."""
    if order.version != (mine := version("pytest-sciagent")):
        return Outcome(refused=f"a worker has pytest-sciagent {mine}, this command {order.version}")
    host = socket.gethostname()
    at_work = AtWork(order.topic, order.name)
    at_work.begin(f"started on {host}")
    try:
        if order.work is not None:
            Path(order.work).mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="sciagent-order-", dir=order.work))
    except OSError as error:
        return Outcome(refused=f"on {host}: no folder for a workspace: {error}")
    keep = False
    try:
        return _made(order, folder, at_work)
    except TooLarge as error:
        keep = True
        return Outcome(refused=f"{error}; it is kept on {host} in {folder / order.name}")
    except (SciagentError, OSError) as error:
        return Outcome(refused=f"on {host}: {error}")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _made(order: Order, folder: Path, at_work: AtWork) -> Outcome:
    task, prompts = folder / "task" / order.task_id, folder / "prompts"
    order.task.unpack(task)
    Parcel(tuple((name, 0.0, text) for name, text in order.prompts)).unpack(prompts)
    system = SystemFile.model_validate_json(order.system)
    system = system.model_copy(update={"prompts": tuple(str(prompts / name) for name, _ in order.prompts)})
    target = folder / order.name
    job = Job(Task.load(task), system, target, order.repeat, order.system_file, wanted=at_work.check_wanted)
    frozen = run_job(job, os.environ, at_work.tell, Path(order.work) if order.work is not None else None)
    return Outcome(pack_run(target), frozen.warnings)
