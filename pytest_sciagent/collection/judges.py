"""Which judge a session has: the one named, else the one whose answers are recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import SciagentError
from ..judging.clients import KEY_VARIABLES
from ..judging.identity import parse_identity
from ..judging.judge import Judge, RecordedJudge
from ..judging.layouts import ITEM, PARAMETER, with_layout
from ..models import JudgeIdentity

if TYPE_CHECKING:
    from .state import SessionState


def find_judge(state: SessionState) -> Judge:
    """The judge of the session.

    Raises:
        SciagentError: a judge that nobody knows, or several recorded judges and none named.
    """
    options = state.options
    named = parse_identity(options.judge, options.judge_parameters) if options.judge is not None else None
    layout = options.how.layout
    if named is not None:
        own = state.config.hook.pytest_sciagent_judge(config=state.config, kind=named.kind, model=named.model)
        if own is not None:
            if not isinstance(own, Judge) or own.identity is None:
                raise SciagentError("the hook pytest_sciagent_judge must return a Judge that has an identity")
            if layout not in (None, ITEM) or options.how.batch:
                raise SciagentError("a judge of your own is asked one question at a time: no layout and no batch")
            return own
        if options.asks_provider and PARAMETER in named.parameters:
            raise SciagentError("the layout is no parameter of a provider: give it with --sciagent-layout")
        named = with_layout(named, layout) if layout is not None else named
    if state.wire is not None:
        told = state.wire["judge"]
        return RecordedJudge(None if told is None else JudgeIdentity.model_validate_json(told))
    recorded = _recorded_judges(state)
    if named is not None:
        return RecordedJudge(named if options.asks_provider else _recorded_as(named, recorded))
    if len(recorded) > 1:
        raise SciagentError(
            f"the ledger holds verdicts of several judges ({_names(recorded)}), which are never mixed: "
            "choose one with --sciagent-judge KIND:MODEL (and --sciagent-judge-param)"
        )
    return RecordedJudge(recorded[0] if recorded else None)


def _recorded_as(named: JudgeIdentity, recorded: list[JudgeIdentity]) -> JudgeIdentity:
    """The identity that a name stands for: with all its parameters where only one of that name is recorded."""
    if named in recorded:
        return named
    same = [judge for judge in recorded if (judge.kind, judge.model) == (named.kind, named.model)]
    if len(same) == 1 and not named.parameters:
        return same[0]
    told = f"recorded: {_names(recorded)}" if recorded else "no verdict of any judge is recorded"
    raise SciagentError(
        f"nothing is recorded under the judge {_names([named])}; {told}. "
        f"Judges that can be asked: {', '.join(f'{kind}:MODEL' for kind in KEY_VARIABLES)}"
    )


def _recorded_judges(state: SessionState) -> list[JudgeIdentity]:
    found: dict[str, JudgeIdentity] = {}
    for index in state.indexes.values():
        if index.state == "sound":
            found |= state.case_of(index).ledger.judges()
    return [found[key] for key in sorted(found)]


def _names(judges: Iterable[JudgeIdentity]) -> str:
    return ", ".join(f"{j.label} {json.dumps(j.parameters)}" if j.parameters else j.label for j in judges)
