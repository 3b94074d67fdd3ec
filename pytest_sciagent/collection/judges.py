"""Which judge a session has: the one named, or the panel of those named, else the one whose answers are recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import SciagentError
from ..evaluation.recorded import only_recorded, recorded_as, recorded_judges
from ..judging.clients import KEY_VARIABLES
from ..judging.decisions import is_decisions
from ..judging.identity import parse_judges
from ..judging.judge import Judge, RecordedJudge
from ..judging.layouts import ITEM, PARAMETER, has_layouts, with_layout
from ..judging.panel import convene
from ..models import JudgeIdentity
from .hooks import call_hook

if TYPE_CHECKING:
    from .state import SessionState

OPTION = "--sciagent-judge KIND:MODEL (and --sciagent-judge-param)"


def find_judge(state: SessionState) -> Judge:
    """The judge of the session, or its panel.

    Raises:
        SciagentError: a judge that nobody knows, or several recorded judges and none named.
    """
    options = state.options
    named = parse_judges(options.judge, options.judge_parameters) if options.judge is not None else ()
    owns = [_own_judge(state, one) for one in named]
    alone = len(named) == 1
    if state.wire is not None:
        # The controller has found out whose answers are read; judges of the user's own are made anew.
        told = [None if t is None else JudgeIdentity.model_validate_json(t) for t in state.wire["judges"]]
    elif named:
        told = [
            one if own is not None else _known(state, _laid_out(state, one, alone=alone), alone=alone)
            for one, own in zip(named, owns, strict=True)
        ]
    else:
        told = [only_recorded(_recorded(state), OPTION)]
    owns = owns or [None]
    members = [own or RecordedJudge(identity) for own, identity in zip(owns, told, strict=True)]
    labels = [member.identity.label for member in members if member.identity is not None]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise SciagentError(f"two judges of the panel are both {twice}")
    lead = members[0].identity
    if len(members) > 1 and lead is not None and is_decisions(lead):
        raise SciagentError(f"{lead.label} answers no question about a run and can't lead a panel: name it last")
    return convene(members, state.poll)


def _laid_out(state: SessionState, named: JudgeIdentity, *, alone: bool) -> JudgeIdentity:
    """The judge in the layout that the user wants; in a panel, those that have one to choose."""
    layout = state.options.how.layout
    if state.options.asks(named.kind) and PARAMETER in named.parameters:
        raise SciagentError("the layout is no parameter of a provider: give it with --sciagent-layout")
    if layout is None or not (alone or has_layouts(named)):
        return named
    return with_layout(named, layout)


def _own_judge(state: SessionState, named: JudgeIdentity) -> Judge | None:
    """The user's own judge of this name, where a plugin or conftest file has one."""
    own = call_hook(state.config, "pytest_sciagent_judge", kind=named.kind, model=named.model)
    if own is not None and (not isinstance(own, Judge) or own.identity is None):
        raise SciagentError("the hook pytest_sciagent_judge must return a Judge that has an identity")
    if own is not None and (state.options.how.layout not in (None, ITEM) or state.options.how.batch):
        raise SciagentError("a judge of your own is asked one question at a time: no layout and no batch")
    return own


def _known(state: SessionState, named: JudgeIdentity, *, alone: bool) -> JudgeIdentity:
    """The judge that a name stands for: one that can be asked, or one whose answers are recorded. A provider's judge in
    a panel may have answered nothing: replayed, the panel says what it said with all those calls failed."""
    if state.options.asks(named.kind):
        return named
    recorded = _recorded(state)
    is_known = any((judge.kind, judge.model) == (named.kind, named.model) for judge in recorded)
    if recorded and not (alone or is_known) and named.kind in KEY_VARIABLES:
        state.notices.append(f"nothing is recorded under the judge {named.label}: it has no vote")
        return named
    hint = f". Judges that can be asked: {', '.join(f'{kind}:MODEL' for kind in KEY_VARIABLES)}"
    return recorded_as(named, recorded, hint)


def _recorded(state: SessionState) -> list[JudgeIdentity]:
    return recorded_judges(state.case_of(i).ledger for i in state.indexes.values() if i.state == "sound")
