"""A session's batches: answers of earlier ones are taken in, open questions are handed out, and both is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SciagentError

if TYPE_CHECKING:
    from ..judging.requests import Question
    from .state import SessionState

_SHOWN = 10


def check_batch(state: SessionState) -> None:
    """Check that questions can go out by batch, where the user wants that.

    Raises:
        SciagentError: they can't.
    """
    from ..judging.batch import can_batch

    options, identity = state.options, state.judge.identity
    if not options.how.batch or options.judge is None:
        return
    if options.mode in ("replay", "live"):
        raise SciagentError(f"--sciagent-batch: with the ledger mode {options.mode} no answer could be taken in")
    if identity is None or not can_batch(identity):
        raise SciagentError(
            f"--sciagent-batch: {options.judge} has no batch API; judges of kind openai and anthropic have"
        )


def _folder(state: SessionState) -> Path:
    """Where batches on their way are noted down."""
    return state.options.rootdir / ".sciagent" / "batches"


def take_batches_in(state: SessionState) -> set[tuple[str, str]]:
    """Take in the answers of batches that have ended. Gives run label and key of questions that are still in flight.

    Raises:
        SciagentError: the provider can't be asked, or an answer can't be recorded.
    """
    identity = state.judge.identity
    folder = _folder(state)
    if identity is None or state.options.mode == "live" or not any(folder.glob("*.json")):
        return set()
    from ..evaluation.batches import collect_batches, forget_what_is_over, questions_in_flight

    sound = [state.case_of(index) for index in state.indexes.values() if index.state == "sound"]
    contexts = {case.run.label: case.answers for case in sound}
    spending = state.options.spending
    found = collect_batches(
        folder,
        contexts,
        identity,
        base_url=state.options.base_url,
        price_of=lambda judge: spending.price_of(judge, batch=True),
    )
    forget_what_is_over(folder, found)
    state.notices += [batch.told() for batch in found]
    in_flight = questions_in_flight(folder, identity)
    if in_flight and not state.options.how.batch:
        state.notices.append(
            f"{len(in_flight)} questions are in batches on their way and not asked here; to give a batch up, delete "
            "its file below .sciagent/batches"
        )
    return in_flight


def submit(state: SessionState, questions: Sequence[Question]) -> None:
    """Submit `questions` to the provider's batch API, and tell how to get their answers.

    Raises:
        SciagentError: the provider refuses; what was submitted before is on record.
    """
    from ..evaluation.batches import submit_questions

    identity = state.judge.identity
    assert identity is not None  # there is a provider to ask
    made = submit_questions(
        questions, identity, base_url=state.options.base_url, folder=_folder(state), terms=state.terms
    )
    told = state.notices
    asked = sum(len(batch.questions) for batch in made.states)
    if asked:
        names = [batch.batch_id for batch in made.states]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        prompts = sum(len(batch.keys) for batch in made.states)
        told.append(
            f"submitted to {identity.label}: {asked} questions in {prompts} prompts, batch "
            f"{', '.join(names[:_SHOWN])}{more}. Collect the answers by the same command, or by "
            "'sciagent batch collect RUNS'"
        )
    if made.over_budget:
        told.append(f"{made.over_budget} questions were not submitted: the budget of this session is spent")
    if any(question.request.kind != "criterion" for question in questions):
        told.append("criteria whose facts need answers about the run are submitted once those are collected")
