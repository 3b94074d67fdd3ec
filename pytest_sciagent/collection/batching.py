"""A session's batches: answers of earlier ones are taken in, open questions are handed out, and both is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SciagentError
from ..text import counted
from .providers import make_clients, terms_of

if TYPE_CHECKING:
    from ..judging.judge import Judge
    from ..judging.requests import Question
    from .state import SessionState

_SHOWN = 10


def check_batch(state: SessionState) -> None:
    """Check that questions can go out by batch, where the user wants that.

    Raises:
        SciagentError: they can't.
    """
    options = state.options
    if not options.how.batch or options.judge is None:
        return
    from ..judging.batch import can_batch
    from ..judging.panel import identities_of

    if options.mode in ("replay", "live"):
        raise SciagentError(f"--sciagent-batch: with the ledger mode {options.mode} no answer could be taken in")
    asked = [identity for identity in identities_of(state.judge) if options.asks(identity.kind)]
    without = [identity.label for identity in asked if not can_batch(identity)]
    if without or not asked:
        raise SciagentError(
            f"--sciagent-batch: {', '.join(without) or options.judge} has no batch API; judges of kind openai and "
            "anthropic have"
        )


def _folder(state: SessionState) -> Path:
    """Where batches on their way are noted down."""
    return state.options.rootdir / ".sciagent" / "batches"


def take_batches_in(state: SessionState) -> set[tuple[str, str]]:
    """Take in the answers of batches that have ended. Gives run label and key of questions that are still in flight.

    Raises:
        SciagentError: the provider can't be asked, or an answer can't be recorded.
    """
    folder = _folder(state)
    if state.options.mode == "live" or not any(folder.glob("*.json")):
        return set()
    from ..evaluation.batches import collect_batches, forget_what_is_over, questions_in_flight
    from ..judging.panel import identities_of

    sound = [state.case_of(index) for index in state.indexes.values() if index.state == "sound"]
    contexts = {case.run.label: case.answers for case in sound}
    budget = state.options.budget
    in_flight: set[tuple[str, str]] = set()
    for identity in identities_of(state.judge):
        found = collect_batches(
            folder,
            contexts,
            identity,
            base_url=state.options.base_url_of(identity.label),
            price_of=lambda judge: budget.price_of(judge, batch=True),
        )
        forget_what_is_over(folder, found)
        state.notices += [batch.told() for batch in found]
        state.asked += [batch.spent for batch in found if batch.spent.calls]
        in_flight |= questions_in_flight(folder, identity)
    if in_flight and not state.options.how.batch:
        state.notices.append(
            f"{counted(len(in_flight), 'question')} on the way in batches, not asked here; to give a batch up, delete "
            "its file below .sciagent/batches"
        )
    return in_flight


def submit(state: SessionState, questions: Sequence[tuple[Judge, Question]]) -> None:
    """Submit `questions`, each with the judge it is for, to the providers' batch APIs, and tell how to get the answers.

    Raises:
        SciagentError: a provider refuses; what was submitted before is on record.
    """
    for judge, _ in make_clients(state):
        _submit(state, judge, [question for whose, question in questions if whose is judge])


def _submit(state: SessionState, judge: Judge, questions: Sequence[Question]) -> None:
    from ..evaluation.batches import submit_questions

    identity = judge.identity
    assert identity is not None  # there is a provider to ask
    url = state.options.base_url_of(identity.label)
    made = submit_questions(questions, identity, base_url=url, folder=_folder(state), terms=terms_of(state, judge))
    told = state.notices
    asked = sum(len(batch.questions) for batch in made.states)
    if asked:
        names = [batch.batch_id for batch in made.states]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        prompts = sum(len(batch.keys) for batch in made.states)
        told.append(
            f"submitted to {identity.label}: {counted(asked, 'question')} in {counted(prompts, 'prompt')}, batch "
            f"{', '.join(names[:_SHOWN])}{more}. Collect the answers by the same command, or by "
            "'sciagent batch collect RUNS'"
        )
    if made.over_budget:
        told.append(f"{made.over_budget} questions were not submitted: the budget of this session is spent")
    if any(question.request.kind != "criterion" for question in questions):
        told.append("criteria whose facts need answers about the run are submitted once those are collected")
    draws = state.options.panel.draws
    if asked and draws.most > draws.least:
        told.append("further draws of what the first ones differ in are submitted once those are collected")
