"""Messages: Anthropic's API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

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
from .usage import count_of, usage_of

DEFAULT_MAX_TOKENS = 8192
"""The API wants a limit. Thinking counts towards it, so it is far above what an answer takes."""


class AnthropicParameters(Parameters):
    """What may be set for a judge of kind `anthropic`; `temperature` and its like only old models accept."""

    format: Literal["json_schema", "prompt"] = "json_schema"
    top_k: int | None = None


class AnthropicClient(SdkClient):
    """A judge behind `POST /v1/messages`. Make it with `make_client`.

    Raises:
        SciagentError: an unknown or ill-typed parameter.
    """

    path = "/v1/messages"

    def __init__(self, identity: JudgeIdentity, connection: Connection) -> None:
        import anthropic

        # The SDK adds /v1 by itself; people know the URL of a compatible server with it.
        base_url = connection.base_url and connection.base_url.rstrip("/").removesuffix("/v1")
        super().__init__(identity, connection, anthropic, anthropic.AsyncAnthropic, base_url)
        self._parameters = read_parameters(identity, AnthropicParameters)

    def body(self, prompt: Prompt) -> dict[str, Any]:
        """See `SdkClient`."""
        given = self._parameters
        shared: list[dict[str, Any]] = [{"type": "text", "text": prompt.shared}] if prompt.shared else []
        for image in prompt.images:
            source = {"type": "base64", "media_type": image.media_type, "data": image.base64}
            shared += [{"type": "text", "text": image.label}, {"type": "image", "source": source}]
        if shared:
            shared[-1]["cache_control"] = {"type": "ephemeral"}
        request: dict[str, Any] = {
            "model": self.identity.model,
            "max_tokens": (given.max_output_tokens or DEFAULT_MAX_TOKENS) * prompt.room,
            # An empty block is refused by the API.
            "messages": [{"role": "user", "content": [*shared, {"type": "text", "text": prompt.last}]}],
        }
        if system := system_text(prompt, tell_schema=given.format == "prompt"):
            request["system"] = system
        output: dict[str, Any] = {}
        if given.format == "json_schema":
            output["format"] = {"type": "json_schema", "schema": prompt.schema}
        if given.reasoning_effort is not None:
            output["effort"] = given.reasoning_effort
        if output:
            request["output_config"] = output
        # Newer models refuse sampling parameters; whoever sets one has a model that knows them.
        sampling = given.model_dump(include={"temperature", "top_p", "top_k"}, exclude_none=True)
        return request | sampling | given.extra_body

    def _read(self, body: dict[str, Any]) -> Reply:
        end = body.get("stop_reason")
        if not isinstance(body.get("content"), list):
            return failed("provider_error", "the answer holds no content")
        if end in {"max_tokens", "model_context_window_exceeded"}:
            return replace(failed("truncated", f"cut short ({end})"), cut=end == "max_tokens")
        if end == "refusal":
            details = dict_or_empty(body.get("stop_details"))
            words = [str(details[name]) for name in ("category", "explanation") if details.get(name)]
            return failed("refused", ": ".join(words) or "the model refused")
        if end == "pause_turn":
            return failed("truncated", "the model paused before its end")
        return answered(content_text(body["content"]))

    def _usage(self, body: dict[str, Any]) -> JudgeUsage:
        """Anthropic counts cached input beside `input_tokens`; here input is all of it."""
        usage = dict_or_empty(body.get("usage"))
        fresh = count_of(usage.get("input_tokens"))
        written = count_of(usage.get("cache_creation_input_tokens"))
        cached = count_of(usage.get("cache_read_input_tokens"))
        sent = None if fresh is None else fresh + (written or 0) + (cached or 0)
        return usage_of(sent, usage.get("output_tokens"), cached)
