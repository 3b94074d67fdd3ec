"""A judge as items see it: a recorded answer where there is one, else a question, each answer recorded at once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ..errors import raised
from ..models import CANARY, JudgeIdentity, JudgeUsage, LedgerEntry
from ..text import one_line
from .clients import Prompt, Reply
from .requests import AnswerContext, Request
from .settle import settle


class Judge:
    """Base of every judge. A user's own judge sets `identity` and overrides `ask`.

    identity: who answers; part of the key under which answers are recorded. None: no judge is known.
    """

    identity: JudgeIdentity | None = None

    def ask(self, prompt: Prompt) -> str | dict[str, Any] | Reply | None:
        """Answer one prompt with the JSON text or object that `prompt.schema` asks for. None: this judge does not."""
        return None

    def answer(self, request: Request, context: AnswerContext) -> LedgerEntry | None:
        """The recorded answer to `request`, or a new one, checked and recorded; None where nobody answers.

        An exception in `ask` becomes an entry of status `provider_error`: a failure of the judge is never a score.
        """
        if self.identity is None:
            return None
        key = request.key(self.identity)
        if not context.is_open(key):
            return context.ledger.get(key)
        try:
            reply = _as_reply(self.ask(request.make_prompt()))
        except Exception as error:
            reply = _failed(raised(error))
        if reply is not None:
            context.keep(settle(request, self.identity, reply, context))
        return context.ledger.get(key)


class RecordedJudge(Judge):
    """Answers from the ledger only; needs no network and no key."""

    def __init__(self, identity: JudgeIdentity | None) -> None:
        self.identity = identity

    def answer(self, request: Request, context: AnswerContext) -> LedgerEntry | None:
        """The recorded answer to `request`, or None; no prompt is made."""
        return context.ledger.get(request.key(self.identity)) if self.identity is not None else None


class OneDraw(RecordedJudge):
    """Answers criteria by one draw of a recorded judge; what is asked about runs is answered once for all draws."""

    def __init__(self, identity: JudgeIdentity, draw: int) -> None:
        super().__init__(identity)
        self.draw = draw

    def answer(self, request: Request, context: AnswerContext) -> LedgerEntry | None:
        """The recorded answer of this draw, or None."""
        if request.kind == "criterion" and request.criterion_id != CANARY:
            request = replace(request, draw=self.draw)
        return super().answer(request, context)


def _as_reply(answer: str | dict[str, Any] | Reply | None) -> Reply | None:
    if answer is None or isinstance(answer, Reply):
        return answer
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Reply(text=text, status="assessed", detail="", model_returned=None, usage=JudgeUsage(), latency_s=0.0)


def _failed(detail: str) -> Reply:
    return Reply(
        text=None,
        status="provider_error",
        detail=one_line(detail, 500),
        model_returned=None,
        usage=JudgeUsage(),
        latency_s=0.0,
    )
