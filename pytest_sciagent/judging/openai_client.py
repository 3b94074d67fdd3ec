"""Chat completions: OpenAI's own API and every server that speaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from ..digest import sha256_bytes
from ..models import JudgeIdentity, JudgeUsage
from .clients import Connection, Prompt, Reply, failed
from .sdk_client import (
    Parameters,
    SdkClient,
    answered,
    content_text,
    dict_or_empty,
    read_parameters,
    system_text,
)
from .usage import usage_of


class OpenAIParameters(Parameters):
    """What may be set for a judge of kind `openai`."""

    seed: int | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class OpenAIClient(SdkClient):
    """A judge behind `POST /chat/completions`. Make it with `make_client`.

    Raises:
        SciagentError: an unknown or ill-typed parameter.
    """

    path = "/chat/completions"

    def __init__(self, identity: JudgeIdentity, connection: Connection) -> None:
        import openai

        super().__init__(identity, connection, openai, openai.AsyncOpenAI, connection.base_url)
        self._parameters = read_parameters(identity, OpenAIParameters)

    def body(self, prompt: Prompt) -> dict[str, Any]:
        """See `SdkClient`."""
        given = self._parameters
        # One string rather than parts: providers cache by prefix, and simple servers know only strings.
        user: Any = f"{prompt.shared}\n\n{prompt.last}" if prompt.shared else prompt.last
        if prompt.images:
            user = _parts(prompt)
        request: dict[str, Any] = {
            "model": self.identity.model,
            "messages": [
                {"role": "system", "content": system_text(prompt, tell_schema=given.format != "json_schema")},
                {"role": "user", "content": user},
            ],
            **given.model_dump(
                include={"temperature", "top_p", "seed", "reasoning_effort", "verbosity"}, exclude_none=True
            ),
        }
        if given.format == "json_schema":
            schema = {"name": prompt.schema_name, "strict": True, "schema": prompt.schema}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif given.format == "json_object":
            request["response_format"] = {"type": "json_object"}
        if given.max_output_tokens is not None:
            request["max_completion_tokens"] = given.max_output_tokens * prompt.room
        if self._connection.base_url is None:
            # Keeps the prompts that share a prefix on the machines that hold it.
            prefix = f"{prompt.system}\0{prompt.shared}".encode("utf-8", "surrogatepass")
            request["prompt_cache_key"] = f"sciagent:{sha256_bytes(prefix)[:16]}"
        return request | given.extra_body

    def _read(self, body: dict[str, Any]) -> Reply:
        choices = body.get("choices")
        choice = dict_or_empty(choices[0] if isinstance(choices, list) and choices else None)
        message = dict_or_empty(choice.get("message"))
        end = choice.get("finish_reason")
        if not message:
            return failed("provider_error", "the answer holds no message")
        if end == "length":
            has_cap = self._parameters.max_output_tokens is not None
            return replace(failed("truncated", "cut at the output limit"), cut=has_cap)
        if end == "content_filter":
            return failed("refused", "stopped by the content filter", code="content_filter")
        if refusal := message.get("refusal"):
            return failed("refused", str(refusal))
        if end == "error" or choice.get("error"):
            # A router that lost its provider half way answers 200 and says so in the choice.
            detail = str(dict_or_empty(choice.get("error")).get("message") or "the provider failed while answering")
            return failed("provider_error", detail)
        return answered(content_text(message.get("content")))

    def _usage(self, body: dict[str, Any]) -> JudgeUsage:
        usage = dict_or_empty(body.get("usage"))
        cached = dict_or_empty(usage.get("prompt_tokens_details")).get("cached_tokens")
        return usage_of(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)


def _parts(prompt: Prompt) -> list[dict[str, Any]]:
    """The user message where it holds images: text and images in turn, what is shared first."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": prompt.shared}] if prompt.shared else []
    for image in prompt.images:
        url = f"data:{image.media_type};base64,{image.base64}"
        parts += [{"type": "text", "text": image.label}, {"type": "image_url", "image_url": {"url": url}}]
    return [*parts, {"type": "text", "text": prompt.last}]
