"""The runs of a suite made by the workers of a Dask cluster. Only this process writes frozen runs.

Each future is named after what is run: task, system, repeat and place. A key for the model never travels: every worker
takes it from its own environment. Where a worker is lost, its run begins anew on another one, twice at most.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..digest import sha256_bytes, sha256_json
from ..errors import SciagentError
from ..runs import Run
from ..text import one_line
from .agent import Job, Tell
from .engine import RETRIES, Told, connected, handed_out, without_its_log
from .parcels import Parcel, pack_task
from .suite import Result, check_jobs, is_to_repeat, kept_run, move_away
from .system import prompt_texts
from .worker import Order, Outcome, carry_out

_PERIOD_S = 0.1


@dataclass
class _Open:
    """A run that a worker is asked for."""

    job: Job
    label: str
    before: Run | None
    future: Any = None
    began: float = 0.0


def run_on_cluster(
    wanted: Sequence[Job],
    address: str,
    environ: Mapping[str, str],
    tell: Tell,
    *,
    again: bool = False,
    work: Path | None = None,
) -> Iterator[Result]:
    """As `run_suite`, on the cluster at `address`: its scheduler's, or the file in which it has written that.

    Results come in the order in which runs end. `work` is a folder of the workers.

    Raises:
        SciagentError: bad input; the cluster can't be reached; or, after all other runs, that some could not be made.
        KeyboardInterrupt: as it comes; what is finished is frozen, the harnesses of the others are ended.
    """
    names = {job.system.endpoint.key_variable for job in wanted} - {None}
    check_jobs(wanted, {**{str(name): "on the workers" for name in names}, **environ}, again)
    open_runs: list[_Open] = []
    for number, job in enumerate(wanted, 1):
        label = f"[{number}/{len(wanted)}] {job.target.name}"
        kept = kept_run(job, again)
        if kept is not None and not is_to_repeat(kept, again):
            tell(f"{label}: kept, {kept.manifest.status}")
            yield Result(kept, "kept")
        else:
            open_runs.append(_Open(job, label, kept))
    if not open_runs:
        return
    parcels = {job.task.id: pack_task(job.task) for job in {o.job.task.id: o.job for o in open_runs}.values()}
    with without_its_log():
        session = connected(address)
        try:
            cluster = _Cluster(session, parcels, tell, work)
            yield from cluster.runs(open_runs)
        finally:
            session.close()
    if cluster.refused:
        raise SciagentError(
            f"{len(cluster.refused)} of {len(wanted)} runs could not be made: {cluster.refused[0]}; what is "
            "finished is frozen, and the same command makes what is missing"
        )


class _Cluster:
    """One command's runs on a cluster."""

    def __init__(self, session: Any, parcels: Mapping[str, Parcel], tell: Tell, work: Path | None) -> None:
        self._session = session
        self._parcels = parcels
        self._tell = tell
        self._work = None if work is None else str(work)
        self._told = Told(session)
        self.refused: list[str] = []

    def runs(self, waiting: list[_Open]) -> Iterator[Result]:
        """What comes of each, as it comes."""
        most = handed_out(self._session)
        waiting.reverse()
        going: dict[str, _Open] = {}
        try:
            while waiting or going:
                while waiting and len(going) < most:
                    one = waiting.pop()
                    going[one.job.target.name] = self._handed_out(one)
                self._hear(going)
                ended = [name for name, one in going.items() if one.future.done()]
                for name in ended:
                    result = self._taken(going.pop(name))
                    if result is not None:
                        yield result
                if not ended:
                    self._check_connection()
                    time.sleep(_PERIOD_S)
        except KeyboardInterrupt:
            for one in going.values():
                if one.future.status == "finished":
                    self._taken(one)
            raise

    def _handed_out(self, one: _Open) -> _Open:
        job = one.job
        order = Order(
            task=self._parcels[job.task.id],
            task_id=job.task.id,
            system=job.system.model_dump_json(by_alias=True),
            prompts=tuple(prompt_texts(job.system).items()),
            system_file=job.system_file,
            repeat=job.repeat,
            name=job.target.name,
            work=self._work,
            topic=self._told.topic,
        )
        one.began = time.monotonic()
        one.future = self._session.submit(carry_out, order, key=_key(order, one), pure=False)
        return one

    def _hear(self, going: Mapping[str, _Open]) -> None:
        """Tell what workers have told, and give up runs whose workers are lost again and again."""
        for event in self._told.new():
            one = going.get(str(event.get("name")))
            if one is None:
                continue
            if "begun" in event:
                times = self._told.begun[one.job.target.name]
                if times > 1:
                    lost = f"{one.label}: the worker was lost"
                    if times > RETRIES + 1:
                        self._tell(f"{lost} again")
                        one.future.cancel()
                        continue
                    self._tell(f"{lost}; the run begins anew ({times - 1} of {RETRIES})")
            self._tell(f"{one.label}: {one_line(str(event.get('text')), 500)}")

    def _taken(self, one: _Open) -> Result | None:
        """Freeze what a worker has sent; None, and a reason among `refused`, where it has sent none."""
        try:
            outcome: Outcome = one.future.result()
            if outcome.run is None:
                raise SciagentError(outcome.refused or "nothing was sent")
            run = _settled(one, outcome.run)
        except SciagentError as error:
            self._refuse(one, str(error))
            return None
        except Exception as error:  # a worker's, or the cluster's own
            why = f"{type(error).__name__}: {error}"
            if self._session.status != "running":
                why = "the connection to the Dask cluster was lost"
            elif self._told.lost_for_good(one.job.target.name):
                why = f"its workers were lost {RETRIES + 1} times"
            self._refuse(one, why)
            return None
        result = Result(run, "done", outcome.warnings)
        how = "completed" if result.problem is None else f"{run.manifest.status}: {result.problem}"
        self._tell(f"{one.label}: {how} ({time.monotonic() - one.began:.0f} s)")
        return result

    def _refuse(self, one: _Open, why: str) -> None:
        self.refused.append(f"{one.job.target.name}: {one_line(why, 500)}")
        self._tell(f"{one.label}: not run: {one_line(why, 500)}")

    def _check_connection(self) -> None:
        if self._session.status == "closed":
            raise SciagentError("the Dask cluster has gone; the same command makes what is missing on another one")


def _key(order: Order, one: _Open) -> str:
    """The name of a future: the same for the same run in the same place, and for no other."""
    parts = [
        order.version,
        order.task.digest,
        order.system,
        [[name, sha256_bytes(text)] for name, text in order.prompts],
        order.repeat,
        str(one.job.target.absolute()),
        one.before.manifest.tree_sha256 + (one.before.manifest.finished_at or "") if one.before is not None else "",
    ]
    return f"sciagent-run-{sha256_json(parts)}"


def _settled(one: _Open, parcel: Parcel) -> Run:
    """Write a run that a worker has frozen to its place, where it appears complete or not at all.

    Raises:
        SciagentError: what was sent is not the run that was asked for, or can't be written.
    """
    job, target = one.job, one.job.target
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.freezing-") as temporary:
            folder = Path(temporary) / "run"
            folder.mkdir()
            parcel.unpack(folder)
            run = Run.load(folder)
            about = run.manifest
            asked = (job.task.id, job.repeat, job.system.name, job.system_file)
            system_file = about.session.system_file if about.session is not None else None
            if (about.task_id, about.repeat, about.system.name, system_file) != asked:
                raise SciagentError(f"a worker has sent another run, {run.label}")
            problem = next(iter(run.problems()), None)
            if problem is not None:
                raise SciagentError(f"what a worker has sent is not what it froze: {problem}")
            if one.before is not None:
                move_away(one.before)
            folder.rename(target)
    except OSError as error:
        raise SciagentError(f"can't be frozen: {error.strerror or error}", path=error.filename or target) from None
    return Run.load(target)
