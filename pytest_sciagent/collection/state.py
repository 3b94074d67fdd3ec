"""What one pytest session knows: options, rubrics, runs, the judge. Lives in `config.stash`, made once a process."""

from __future__ import annotations

import asyncio
import functools
import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import SciagentError
from .options import Options

if TYPE_CHECKING:
    from ..checks import Check
    from ..evaluation import Case, Sources
    from ..judging.clients import Client
    from ..judging.judge import Judge
    from ..ledger import WorkWriter
    from ..models import JudgeIdentity, LedgerEntry, Rubric
    from .index import RunIndex

STATE: pytest.StashKey[SessionState] = pytest.StashKey()
WIRE = "sciagent"


class SessionState:
    """One session. Heavy parts are imported and made on first use, so that a session without runs pays nothing."""

    def __init__(self, config: pytest.Config, options: Options, wire: dict[str, Any] | None = None) -> None:
        self.config = config
        self.options = options
        self.is_worker = hasattr(config, "workerinput")
        self.indexes: dict[Path, RunIndex] = {}
        self._cases: dict[Path, Case] = {}
        self._wire = wire
        self._writer: WorkWriter | None = None
        self.session_id = wire["session"] if wire is not None else uuid.uuid4().hex[:12]
        self.extra_args: list[str] = []
        if wire is not None:
            from .index import RunIndex

            self.indexes = {Path(w["path"]): RunIndex.from_wire(w) for w in wire["runs"]}
            self.extra_args = wire["args"]

    def prepare(self) -> None:
        """Read in the controller, before anything runs, all that can be wrong in what the user gave.

        Raises:
            SciagentError: see `rubrics`, `case` and `judge`.
        """
        for index in self.indexes.values():
            if index.state == "sound":
                self.case(Path(index.path))
        self.rubrics  # noqa: B018
        self.judge  # noqa: B018
        client = self.client()
        if client is not None:
            asyncio.run(client.close())

    @functools.cached_property
    def full_protocol(self) -> bool:
        """Whether criteria run under pytest's full protocol (see `protocol.needs_full_protocol`)."""
        from .protocol import needs_full_protocol

        return needs_full_protocol(self.config)

    # ---- runs

    def index(self, path: Path) -> RunIndex:
        """The index of the run in `path`."""
        if path not in self.indexes:
            from .index import index_run

            self.indexes[path] = index_run(path, self.options.rootdir)
        return self.indexes[path]

    def add_runs(self, paths: Iterable[Path]) -> list[RunIndex]:
        """Index the runs in `paths` and check that they can be told apart.

        Raises:
            SciagentError: two runs of one name.
        """
        from .index import check_distinct

        indexes = [self.index(path) for path in paths]
        check_distinct(list(self.indexes.values()))
        return indexes

    def case(self, path: Path) -> Case:
        """The run in `path` under evaluation.

        Raises:
            SciagentError: its task or its ledger can't be read.
        """
        if path not in self._cases:
            from ..evaluation import open_case

            self._cases[path] = open_case(path, self.sources, self.record, self.find_check)
        return self._cases[path]

    @functools.cached_property
    def sources(self) -> Sources:
        """Where tasks and recorded answers are."""
        from ..evaluation import Sources

        options = self.options
        return Sources(options.rootdir, options.tasks, options.ledger, ignore_ledger=options.mode == "live")

    def record(self, run_label: str, entry: LedgerEntry) -> None:
        """Write an answer down at once, whoever gave it."""
        from ..ledger import WorkWriter

        if self.options.mode == "live":
            return
        if self._writer is None:
            self._writer = WorkWriter(self.sources.work, self.session_id)
        self._writer.append(run_label, entry)

    # ---- criteria

    @functools.cached_property
    def rubrics(self) -> tuple[Rubric, ...]:
        """The rubrics of this session, with the profile the user chose.

        Raises:
            SciagentError: unknown or invalid rubric, an unknown check, or one criterion id in two rubrics.
        """
        from ..models import Rubric
        from ..rubrics import DEFAULT_RUBRIC, load_rubric

        if self._wire is not None:
            return tuple(Rubric.model_validate_json(text) for text in self._wire["rubrics"])
        names: list[Any] = list(self.options.rubrics) or [DEFAULT_RUBRIC]
        for more in self.config.hook.pytest_sciagent_rubrics(config=self.config):
            names += more or ()
        rubrics = []
        for name in names:
            rubric = (
                name if isinstance(name, Rubric) else load_rubric(str(name), self.options.rootdir, self.options.base)
            )
            if self.options.profile is not None:
                rubric = rubric.model_copy(update={"profile": self.options.profile})
            rubrics.append(rubric)
        self._check_rubrics(rubrics)
        return tuple(rubrics)

    def _check_rubrics(self, rubrics: Sequence[Rubric]) -> None:
        owner: dict[str, str] = {}
        for rubric in rubrics:
            for criterion in rubric.criteria:
                if criterion.check is not None:
                    self.find_check(criterion.check)
                other = owner.setdefault(criterion.id, rubric.id)
                if other != rubric.id or [r.id for r in rubrics].count(rubric.id) > 1:
                    raise SciagentError(f"criterion id {criterion.id!r} stands in two rubrics: {other} and {rubric.id}")

    @functools.cached_property
    def _own_checks(self) -> dict[str, Check]:
        from ..checks import builtin_checks

        shipped = builtin_checks()
        own: dict[str, Check] = {}
        for checks in self.config.hook.pytest_sciagent_checks(config=self.config):
            for name, check in (checks or {}).items():
                if name in shipped or name in own:
                    raise SciagentError(f"a check named {name!r} exists already; give yours another name")
                own[name] = check
        return own

    def find_check(self, name: str) -> Check:
        """The check called `name`, a user's own or a shipped one.

        Raises:
            SciagentError: there is none.
        """
        from ..checks import find_check

        return self._own_checks.get(name) or find_check(name)

    def expected_items(self) -> set[str]:
        """Node ids of all items that the indexed runs have under this session's criteria."""
        from .own import OWN

        by_scope: dict[str, list[str]] = {"finding": [], "run": []}
        for rubric in self.rubrics:
            for criterion in rubric.criteria:
                by_scope[criterion.scope].append(criterion.id)
        for own in self.config.stash[OWN]:
            by_scope[own.scope].append(own.id)
        expected: set[str] = set()
        for index in self.indexes.values():
            if index.state == "sound":
                expected |= {f"{index.nodeid}::{f}::{c}" for f in index.findings for c in by_scope["finding"]}
                expected |= {f"{index.nodeid}::run::{c}" for c in by_scope["run"]}
        return expected

    # ---- judge

    @functools.cached_property
    def judge(self) -> Judge:
        """The judge of this session: the one named, else the one whose answers are recorded.

        Raises:
            SciagentError: a bad judge, or several recorded judges and none named.
        """
        from ..judging.judge import RecordedJudge
        from ..models import JudgeIdentity

        if self._wire is not None:
            raw = self._wire["judge"]
            identity = JudgeIdentity.model_validate_json(raw) if raw is not None else None
        else:
            identity = self._named_judge() or self._recorded_judge()
        if identity is not None:
            own: Judge | None = self.config.hook.pytest_sciagent_judge(
                config=self.config, kind=identity.kind, model=identity.model
            )
            if own is not None:
                return own
        return RecordedJudge(identity)

    def client(self) -> Client | None:
        """The provider to ask what is not recorded, or None where nobody is to be asked.

        Raises:
            SciagentError: no key, or bad settings.
        """
        from ..judging.clients import make_client

        identity = self.judge.identity
        if identity is None or identity.kind not in {"openai", "anthropic"} or self.options.mode == "replay":
            return None
        return make_client(identity, base_url=self.options.base_url, api_key=None)

    def _named_judge(self) -> JudgeIdentity | None:
        from ..judging.identity import parse_identity

        if self.options.judge is None:
            return None
        named = parse_identity(self.options.judge, self.options.judge_parameters)
        if self.options.judge_parameters or named.kind in {"openai", "anthropic"}:
            return named
        # A name alone stands for the recorded judge of that name, whatever its parameters, if there is just one.
        same = [j for j in self._recorded_judges() if (j.kind, j.model) == (named.kind, named.model)]
        return same[0] if len(same) == 1 else named

    def _recorded_judges(self) -> list[JudgeIdentity]:
        found: dict[str, JudgeIdentity] = {}
        for index in list(self.indexes.values()):
            if index.state == "sound":
                found |= self.case(Path(index.path)).ledger.judges()
        return [found[k] for k in sorted(found)]

    def _recorded_judge(self) -> JudgeIdentity | None:
        judges = self._recorded_judges()
        if len(judges) > 1:
            names = ", ".join(f"{j.label} {json.dumps(j.parameters)}" if j.parameters else j.label for j in judges)
            raise SciagentError(
                f"the ledger holds verdicts of several judges ({names}), which are never mixed: "
                "choose one with --sciagent-judge KIND:MODEL (and --sciagent-judge-param)"
            )
        return judges[0] if judges else None

    # ---- workers

    def to_wire(self) -> dict[str, Any]:
        """What a worker is told, as plain data."""
        judge = self.judge.identity
        return {
            "session": self.session_id,
            "args": self.extra_args,
            "runs": [index.to_wire() for index in self.indexes.values()],
            "rubrics": [rubric.model_dump_json(by_alias=True) for rubric in self.rubrics],
            "judge": None if judge is None else judge.model_dump_json(),
        }

    def save_records(self) -> None:
        """Put what this session (its workers too) wrote to work files into the records of the runs.

        Raises:
            SciagentError: a record can't be written; the work files stay.
        """
        from ..ledger import merge_entries, read_work, work_files, write_record

        self.close()
        mine = work_files(self.sources.work, self.session_id)
        if not mine:
            return
        fresh = read_work(self.sources.work)
        for index in self.indexes.values():
            if index.label in fresh and index.state == "sound":
                case = self.case(Path(index.path))
                entries = merge_entries(case.ledger.entries, fresh[index.label])
                write_record(self.sources.ledger_of(case.run.path), case.run.manifest, entries)
        for path in mine:
            path.unlink()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def usage_errors(function: Callable[..., Any], *args: Any) -> Any:
    """Call `function`; bad input becomes pytest's usage error: one message, exit code 4."""
    try:
        return function(*args)
    except SciagentError as error:
        raise pytest.UsageError(str(error)) from None
