"""Chat completions: OpenAI's own API and every server that speaks it."""

from __future__ import annotations

from typing import Any, Literal

from ..digest import sha256_bytes
from ..models import JudgeIdentity, JudgeUsage
from .clients import (
    Connection,
    Parameters,
    Prompt,
    Reply,
    SdkClient,
    answered,
    content_text,
    count_or_none,
    dict_or_empty,
    failed,
    read_parameters,
    system_text,
    text_or_none,
)


class OpenAIParameters(Parameters):
    """What may be set for a judge of kind `openai`."""

    seed: int | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class OpenAIClient(SdkClient):
    """A judge behind `POST /chat/completions`. Make it with `make_client`.

    Raises:
        SciagentError: an unknown or ill-typed parameter.
    """

    def __init__(self, identity: JudgeIdentity, connection: Connection) -> None:
        import openai

        super().__init__(identity, connection, openai)
        self._parameters = read_parameters(identity, OpenAIParameters)
        self.api = openai.AsyncOpenAI(
            api_key=connection.api_key,
            base_url=connection.base_url,
            timeout=self._timeout,
            max_retries=connection.max_retries,
        )

    async def _send(self, prompt: Prompt) -> str:
        raw = await self.api.chat.completions.with_raw_response.create(**self._request(prompt))
        text: str = raw.http_response.text
        return text

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        given = self._parameters
        # One string rather than parts: providers cache by prefix, and simple servers know only strings.
        user = f"{prompt.shared}\n\n{prompt.last}" if prompt.shared else prompt.last
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
            request["max_completion_tokens"] = given.max_output_tokens
        if self._connection.base_url is None:
            # Keeps the prompts that share a prefix on the machines that hold it.
            prefix = f"{prompt.system}\0{prompt.shared}".encode("utf-8", "surrogatepass")
            request["prompt_cache_key"] = f"sciagent:{sha256_bytes(prefix)[:16]}"
        if given.extra_body:
            request["extra_body"] = given.extra_body
        return request

    def _read(self, body: dict[str, Any]) -> Reply:
        model, usage = text_or_none(body.get("model")), _usage(body)
        choices = body.get("choices")
        choice = dict_or_empty(choices[0] if isinstance(choices, list) and choices else None)
        message = dict_or_empty(choice.get("message"))
        end = choice.get("finish_reason")
        if not message:
            return failed("provider_error", "the answer holds no message", model_returned=model, usage=usage)
        if end == "length":
            return failed("truncated", "cut at the output limit", model_returned=model, usage=usage)
        if end == "content_filter":
            return failed("refused", "stopped by the content filter", model_returned=model, usage=usage)
        if refusal := message.get("refusal"):
            return failed("refused", str(refusal), model_returned=model, usage=usage)
        if end == "error" or choice.get("error"):
            # A router that lost its provider half way answers 200 and says so in the choice.
            detail = str(dict_or_empty(choice.get("error")).get("message") or "the provider failed while answering")
            return failed("provider_error", detail, model_returned=model, usage=usage)
        return answered(content_text(message.get("content")), model, usage)


def _usage(body: dict[str, Any]) -> JudgeUsage:
    usage = dict_or_empty(body.get("usage"))
    return JudgeUsage(
        input_tokens=count_or_none(usage.get("prompt_tokens")),
        output_tokens=count_or_none(usage.get("completion_tokens")),
        cached_tokens=count_or_none(dict_or_empty(usage.get("prompt_tokens_details")).get("cached_tokens")),
    )
