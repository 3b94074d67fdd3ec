"""What a session takes from what earlier ones have worked out, and what it leaves to later ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..evaluation.kept import KeptRun, VerdictKey
    from ..evaluation.recorded import Replayed
    from ..ledger.trusted_files import KeptFiles
    from ..models import Verdict
    from ..scoring import RunFacts
    from .index import RunIndex
    from .state import SessionState

_NONE: Mapping[VerdictKey, Verdict] = {}


class Keeping:
    """One session. Nothing is taken or left where code of the user's own decides, where a judge may be asked, where
    plugins want the full protocol, or where the user says `--sciagent-fresh`."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._runs: dict[str, KeptRun | None] = {}
        self._verdicts: dict[str, Mapping[VerdictKey, Verdict]] = {}
        self._bases: dict[str, str | None] = {}
        self._own: set[str] = set()
        self._heard: dict[str, set[str | None]] = {}
        self._lost = False

    def begin(self, index: RunIndex) -> None:
        """Look at what the verdicts of a run follow from, before any of it is read: it may change meanwhile. Where they
        were kept, nobody needs the recorded answers any more."""
        if self._run(index) is not None:
            self._state.case_of(index).ledger.release()

    def has(self, index: RunIndex) -> bool:
        """Whether the verdicts of a run were kept."""
        return self._run(index) is not None

    def leave_out(self, index: RunIndex) -> None:
        """Keep nothing of a run: a judge fixture of the user's own decides about it."""
        self._own.add(index.nodeid)

    def verdicts_of(self, index: RunIndex) -> Mapping[VerdictKey, Verdict]:
        """The verdicts of a run as an earlier session showed them, by criterion and finding."""
        found = self._verdicts.get(index.nodeid)
        if found is None:
            run = self._run(index)
            found = _NONE if run is None else {(v.criterion_id, v.finding): v for v in run.verdicts}
            self._verdicts[index.nodeid] = found
        return found

    def told(self) -> dict[str, str | None]:
        """Of a worker, for its controller: what the verdicts of the runs it has tested follow from; None where nothing
        of a run may be kept."""
        indexes = [index for index in self._state.indexes.values() if index.nodeid in self._verdicts]
        return {index.nodeid: self._still(index) for index in indexes}

    def hear(self, told: Mapping[str, str | None] | None) -> None:
        """Of the controller: what a worker has `told` at its end; None where it was lost."""
        if told is None:
            self._lost = True
        else:
            for nodeid, basis in told.items():
                self._heard.setdefault(nodeid, set()).add(basis)

    def run_of(self, index: RunIndex, shown: Mapping[VerdictKey, Verdict]) -> KeptRun | None:
        """What was kept of a run whose verdicts in this session are `shown`, if those of its rubrics are the same."""
        run = self._runs.get(index.nodeid)
        return run if run is not None and self.verdicts_of(index) == self._of_rubrics(index, shown) else None

    def keep(
        self,
        index: RunIndex,
        shown: Mapping[VerdictKey, Verdict],
        facts: RunFacts,
        replayed: Replayed,
        again: Iterable[str],
    ) -> None:
        """Leave a run to later sessions, if it was tested wholly, nothing of it failed or has changed meanwhile (see
        `_still`, which holds for the workers that tested it as well), and nobody but the session's judge has judged it.
        """
        from ..evaluation.kept import KeptRun, write_kept
        from ..judging.panel import identities_of
        from .workers import has_workers

        judges = identities_of(self._state.judge)
        if any(verdict.judge is not None and verdict.judge not in judges for verdict in shown.values()):
            return
        basis, mine = self._still(index), self._of_rubrics(index, shown)
        if has_workers(self._state.config) and (self._lost or self._heard.get(index.nodeid) != {basis}):
            return
        if basis is not None and self._files is not None and mine is not None:
            write_kept(self._files, index.label, basis, KeptRun.of(mine.values(), facts, replayed, again))

    def _still(self, index: RunIndex) -> str | None:
        """What the verdicts of a run follow from, if that is what it was when the session began, nothing in its task's
        scripts failed and no reader was stopped."""
        basis, case = self._basis(index), self._state.case_of(index)
        if basis is None or case.artifacts.was_stopped or case.about_run.problems:
            return None
        return basis if basis == self._look(index) else None

    def _of_rubrics(self, index: RunIndex, shown: Mapping[VerdictKey, Verdict]) -> Mapping[VerdictKey, Verdict] | None:
        """The verdicts of the run's rubrics among those `shown`; None where one is missing, or where a criterion of the
        user's own was decided by answers, whose cost is kept nowhere."""
        criteria = [criterion for rubric in self._state.rubrics_of(index) for criterion in rubric.criteria]
        expected: set[VerdictKey] = {(c.id, f) for c in criteria if c.scope == "finding" for f in index.findings}
        expected |= {(c.id, None) for c in criteria if c.scope == "run"}
        others = [verdict for key, verdict in shown.items() if key not in expected]
        if not expected <= shown.keys() or any(verdict.key or verdict.votes for verdict in others):
            return None
        return {key: verdict for key, verdict in shown.items() if key in expected}

    def _run(self, index: RunIndex) -> KeptRun | None:
        if index.nodeid not in self._runs:
            from ..evaluation.kept import read_kept

            basis = self._basis(index)
            files = self._files
            run = None if basis is None or files is None else read_kept(files, index.label, basis)
            self._runs[index.nodeid] = run
        return self._runs[index.nodeid]

    def _basis(self, index: RunIndex) -> str | None:
        """What the verdicts of a run follow from; None where none may be kept."""
        if self._files is None or index.state != "sound" or index.nodeid in self._own:
            return None
        if index.nodeid not in self._bases:
            self._bases[index.nodeid] = self._look(index)
        return self._bases[index.nodeid]

    def _look(self, index: RunIndex) -> str | None:
        from ..evaluation.kept import basis_of

        state = self._state
        case, rubrics = state.case_of(index), state.rubrics_of(index)
        judge = state.judge.identity.text if state.judge.identity is not None else ""
        return basis_of(case, state.sources, rubrics, judge, self._secrets)

    @cached_property
    def _secrets(self) -> str:
        """What is masked in verdicts, as a digest that tells nobody what it is."""
        assert self._files is not None
        return self._files.digest("\0".join(self._state.words.known))

    @cached_property
    def _files(self) -> KeptFiles | None:
        from ..judging.judge import RecordedJudge
        from ..judging.panel import panel_of
        from ..ledger.trusted_files import KeptFiles, user_secret

        state = self._state
        recorded = all(type(member) is RecordedJudge for member in panel_of(state.judge).members)
        if state.options.fresh or state.options.asks_provider or state.has_own_checks or not recorded:
            return None
        secret = user_secret(os.environ)
        return None if secret is None else KeptFiles(state.sources.cache / "verdicts", secret)
