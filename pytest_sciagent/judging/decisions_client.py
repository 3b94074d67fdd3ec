"""OpenAI's Decisions API: typed questions about one input, each answered by probabilities."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import JsonValue

from ..models import JudgeIdentity, JudgeUsage, Model
from .clients import Connection, Prompt, Reply, failed
from .decisions import LEVELS
from .sdk_client import SdkClient, answered, dict_or_empty, read_parameters, without
from .usage import usage_of


class DecisionsParameters(Model):
    """What may be set for a judge of kind `decisions`."""

    extra_body: Annotated[dict[str, JsonValue], without("model", "input", "questions")] = {}
    """Further fields of the request."""


class DecisionsClient(SdkClient):
    """A judge behind `POST /decisions`, asked all criteria of a prompt at once. Make it with `make_client`.

    Its reply is an object of `decisions.Likelihoods` by criterion id.

    Raises:
        SciagentError: an unknown or ill-typed parameter.
    """

    path = "/decisions"

    def __init__(self, identity: JudgeIdentity, connection: Connection) -> None:
        import openai

        super().__init__(identity, connection, openai, openai.AsyncOpenAI, connection.base_url)
        self._parameters = read_parameters(identity, DecisionsParameters)

    def body(self, prompt: Prompt) -> dict[str, Any]:
        """See `SdkClient`."""
        levels = [{"label": label} for label in LEVELS]
        return {
            "model": self.identity.model,
            "input": [
                {"type": "message", "role": "system", "content": prompt.system},
                {"type": "message", "role": "user", "content": prompt.shared},
            ],
            "questions": [
                {"type": "score", "name": name, "instructions": text, "levels": levels}
                for name, text in prompt.parts.items()
            ],
            **self._parameters.extra_body,
        }

    def _read(self, body: dict[str, Any]) -> Reply:
        answers = body.get("answers")
        if not isinstance(answers, list):
            return failed("provider_error", "the answer holds no answers")
        # Told as text, pair by pair: an id that is there twice is to be seen, as in a written answer.
        pairs = [
            f"{json.dumps(str(dict_or_empty(answer).get('name')))}: {json.dumps(_likelihoods(answer))}"
            for answer in answers
        ]
        return answered(f"{{{', '.join(pairs)}}}")

    def _usage(self, body: dict[str, Any]) -> JudgeUsage:
        usage = dict_or_empty(body.get("usage"))
        cached = dict_or_empty(usage.get("input_tokens_details")).get("cached_tokens")
        return usage_of(usage.get("input_tokens"), usage.get("output_tokens"), cached)


def _likelihoods(answer: Any) -> dict[str, Any]:
    """One answer, as far as it can be read: what is not a probability of a level stays as it is, to be refused."""
    told = dict_or_empty(answer)
    if told.get("type") == "refusal":
        return {"declined": True}
    listed = told.get("probabilities")
    pairs = [dict_or_empty(pair) for pair in listed] if isinstance(listed, list) else []
    return {"probabilities": {str(pair.get("label")): pair.get("probability") for pair in pairs}}
