"""Clients: one prompt goes to a provider, one reply comes back, and every way it can end has a status.

A failure of a judge is never an exception and never a score: it is a `Reply` without text. Only bad settings raise.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue, ValidationError

from ..errors import SciagentError
from ..models import JudgeIdentity, JudgeUsage, Model, Status
from ..text import one_line

P = TypeVar("P", bound="Parameters")

KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
URL_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
NO_KEY = "none"
MAX_RETRIES = 10
MAX_DEADLINE_S = 600.0
CONNECT_TIMEOUT_S = 10.0
DETAIL_CHARS = 500

# Statuses that every further call would meet too. Some of them may also speak of one prompt, that it is refused or too
# long: those cases are told apart by the provider's code and words.
_FATAL_STATUS = frozenset({400, 401, 402, 403, 404, 422})
_PROMPT_STATUS = frozenset({400, 403, 422})
_REFUSAL_CODES = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
_REFUSAL_WORDS = re.compile(r"content[ _](filter|policy)|usage policy|was flagged", re.IGNORECASE)
_TOO_LONG_WORDS = re.compile(
    r"context.{0,20}(length|window|size)|(prompt|input|request).{0,40}too (long|large)", re.IGNORECASE
)
_KEY = re.compile(r"[!-~]+")
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a judge is sent. `shared` is the same for many prompts and comes before `last`, so that it can be cached.

    Attributes:
        system: the standing instructions.
        shared: the prefix of the user message (task, finding, evidence); may be empty.
        last: the end of the user message (one criterion).
        schema_name: a name for the schema, `[A-Za-z0-9_-]{1,64}`.
        schema: strict JSON schema of the answer.
    """

    system: str
    shared: str
    last: str
    schema_name: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: text, or a failure status; never both.

    Attributes:
        text: the whole answer, or None.
        status: `assessed` where there is text; else refused, truncated, timeout, rate_limited, provider_error, or
            invalid (an empty answer, or a prompt that can't be sent).
        detail: the provider's own words, on one line of at most 500 characters; never a key.
        model_returned: the model that answered, as the provider names it.
        usage: tokens, as far as the provider told.
        latency_s: seconds from the call to the reply, retries included.
        fatal: no further call can succeed (key, permission, model, parameter, quota): stop at once.
    """

    text: str | None
    status: Status
    detail: str
    model_returned: str | None
    usage: JudgeUsage
    latency_s: float
    fatal: bool = False

    def __post_init__(self) -> None:
        if (self.text is None) == (self.status == "assessed"):
            raise ValueError("a reply has text exactly when its status is 'assessed'")


class Client(Protocol):
    """One judge that can be asked. To be used within a single event loop."""

    @property
    def identity(self) -> JudgeIdentity:
        """Who answers."""

    async def ask(self, prompt: Prompt) -> Reply:
        """Send `prompt`; every failure but a cancellation comes back as a status."""

    async def close(self) -> None:
        """Close the connections."""


def make_client(
    identity: JudgeIdentity,
    *,
    base_url: str | None,
    api_key: str | None,
    timeout_s: float = 120.0,
    max_retries: int = 4,
) -> SdkClient:
    """A client for `identity`, whose kind is `openai` (any compatible server) or `anthropic`.

    Args:
        identity: kind, model and the parameters the user set (see `Parameters`); nothing else is sent.
        base_url: another server than the provider's own; without it OPENAI_BASE_URL or ANTHROPIC_BASE_URL counts.
        api_key: the key; without it OPENAI_API_KEY or ANTHROPIC_API_KEY counts. A server on this machine or reached by
            plain http needs none.
        timeout_s: seconds for one attempt. All attempts together, waits included, end after
            `timeout_s * (max_retries + 1)`, at most ten minutes (or one attempt, if that is longer).
        max_retries: further attempts after 408, 409, 429, 5xx and lost connections; at most 10.

    Raises:
        SciagentError: an unknown kind or parameter, a bad URL or timeout, or no key.
    """
    if identity.kind not in KEY_VARIABLES:
        raise SciagentError(f"no client for a judge of kind {identity.kind!r}; kinds: {', '.join(KEY_VARIABLES)}")
    if not timeout_s > 0:
        raise SciagentError(f"a judge's timeout must be above 0 seconds, not {timeout_s:g}")
    base_url = base_url or os.environ.get(URL_VARIABLES[identity.kind]) or None
    local = base_url is not None and _is_local(base_url)
    key_variable = KEY_VARIABLES[identity.kind]
    key = (api_key or os.environ.get(key_variable) or "").strip() or (NO_KEY if local else "")
    if not key:
        raise SciagentError(
            f"the judge {identity.label} needs a key: set the environment variable {key_variable} "
            "(a server on this machine, given by its URL, needs none)"
        )
    if not _KEY.fullmatch(key):
        raise SciagentError(f"the key for {identity.label} ({key_variable}) holds characters that no key has")
    retries = min(max(max_retries, 0), MAX_RETRIES)
    connection = Connection(base_url, key, timeout_s, retries)
    if identity.kind == "openai":
        from .openai_client import OpenAIClient

        return OpenAIClient(identity, connection)
    from .anthropic_client import AnthropicClient

    return AnthropicClient(identity, connection)


def _is_local(base_url: str) -> bool:
    """Whether the server is on this machine, or reached by plain http as no paid service is."""
    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise SciagentError(f"not an http or https URL of a judge: {one_line(base_url, 200)!r}")
    if parts.username or parts.password:
        raise SciagentError("the judge's URL holds a user name or password: give the key by the environment instead")
    return parts.scheme == "http" or parts.hostname in {"localhost", "127.0.0.1", "::1"}


def _no_own_fields(extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
    own = {"model", "messages", "system", "stream", "n", "response_format", "output_config", "tools", "tool_choice"}
    if taken := sorted(own & extra.keys()):
        raise ValueError(f"can't hold {', '.join(taken)}")
    return extra


class Parameters(Model):
    """What a user may set for a judge. Only what is set is sent."""

    format: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    """How the answer's shape is asked for; with the last two, the schema is told in the system prompt."""
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    extra_body: Annotated[dict[str, JsonValue], AfterValidator(_no_own_fields)] = {}
    """Further fields of the request, for servers that know more."""


def read_parameters(identity: JudgeIdentity, model: type[P]) -> P:
    """`identity.parameters` as `model`; null means not set.

    Raises:
        SciagentError: an unknown parameter, or a value of the wrong type.
    """
    given = {name: value for name, value in identity.parameters.items() if value is not None}
    try:
        return model.model_validate(given, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = one_line(str(first["loc"][0]), 60)
        problem = (
            f"unknown parameter {name!r}; known: {', '.join(sorted(model.model_fields))}"
            if first["type"] == "extra_forbidden"
            else f"parameter {name!r}: {one_line(first['msg'], 200)}"
        )
        raise SciagentError(f"judge {identity.label}: {problem}") from None


@dataclass(frozen=True, slots=True)
class Connection:
    """How a provider is reached. `base_url` is None for the provider's own API."""

    base_url: str | None
    api_key: str = field(repr=False)
    timeout_s: float
    max_retries: int

    @property
    def deadline_s(self) -> float:
        """Seconds that one question may take, retries and waits included."""
        return min(self.timeout_s * (self.max_retries + 1), max(self.timeout_s, MAX_DEADLINE_S))


class SdkClient(ABC):
    """What both SDKs share: deadline, errors and reading of the body.

    The body is read as plain JSON: a compatible server may send anything, and the SDKs' own types don't check it.

    Attributes:
        api: the SDK's own client.
        sdk_error: the class of all of the SDK's errors.
    """

    api: Any

    def __init__(self, identity: JudgeIdentity, connection: Connection, sdk: Any) -> None:
        self.identity = identity
        self._connection = connection
        self._sdk = sdk
        self.sdk_error: type[Exception] = sdk.APIError.__base__  # OpenAIError or AnthropicError: all of them
        self._timeout = sdk.Timeout(connection.timeout_s, connect=min(connection.timeout_s, CONNECT_TIMEOUT_S))

    @abstractmethod
    async def _send(self, prompt: Prompt) -> str:
        """The body of the successful response; errors as the SDK raises them."""

    @abstractmethod
    def _request(self, prompt: Prompt) -> dict[str, Any]:
        """The arguments of the SDK's call; fields that it does not know are in `extra_body`."""

    @abstractmethod
    def _read(self, body: dict[str, Any]) -> Reply:
        """The reply in a body that holds no error."""

    async def close(self) -> None:
        """Close the connections."""
        await self.api.close()

    async def ask(self, prompt: Prompt) -> Reply:
        """See `Client`."""
        started = time.monotonic()
        limit = self._connection.deadline_s
        try:
            async with asyncio.timeout(limit):
                text = await self._send(prompt)
        except TimeoutError:
            reply = failed("timeout", f"no answer within {limit:g} s, retries included")
        except UnicodeEncodeError:
            reply = failed("invalid", "the prompt holds text that is not Unicode (a lone surrogate)")
        except self.sdk_error as error:
            reply = _from_error(error, self._sdk)
        else:
            reply = self._from_body(text)
        return replace(reply, detail=self.safe(reply.detail), latency_s=time.monotonic() - started)

    def body(self, prompt: Prompt) -> dict[str, Any]:
        """The JSON of the request that `ask` sends."""
        request = self._request(prompt)
        extra: dict[str, Any] = request.pop("extra_body", {})
        return request | extra

    def read(self, status_code: int, body: Any) -> Reply:
        """The reply in an answer that came by another way than `ask`: its HTTP status and its JSON."""
        if status_code == 200:
            reply = self._from_json(body, str(body))
        else:
            reply = _from_status(status_code, body, f"HTTP {status_code}: {_words(body)}")
        return replace(reply, detail=self.safe(reply.detail))

    def failure(self, error: Exception) -> Reply:
        """The reply that an error of the SDK stands for."""
        reply = _from_error(error, self._sdk)
        return replace(reply, detail=self.safe(reply.detail))

    def _from_body(self, text: str) -> Reply:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        return self._from_json(body, text)

    def _from_json(self, body: Any, text: str) -> Reply:
        if not isinstance(body, dict):
            return failed("provider_error", f"not a JSON answer: {text}")
        if body.get("error"):
            # Routers answer 200 and then meet an error; some tell its HTTP status as the code.
            code = dict_or_empty(body["error"]).get("code")
            return _from_status(code if isinstance(code, int) else 200, body, _words(body))
        return self._read(body)

    def safe(self, detail: str) -> str:
        """`detail` on one line of at most 500 characters, without the key."""
        key = self._connection.api_key
        if key != NO_KEY:
            detail = detail.replace(key, "[key]")
        return one_line(detail, DETAIL_CHARS)


def _from_error(error: Exception, sdk: Any) -> Reply:
    """The failure that an error of an SDK stands for."""
    if isinstance(error, sdk.APITimeoutError):
        return failed("timeout", "the request timed out")
    if isinstance(error, sdk.APIConnectionError):
        return failed("provider_error", f"{error} {error.__cause__ or ''}")
    if not isinstance(error, sdk.APIStatusError):
        return failed("provider_error", str(error))
    words = _words(error.body) or str(error)
    return _from_status(error.status_code, error.body, f"HTTP {error.status_code}: {words}")


def _from_status(status_code: int, body: Any, detail: str) -> Reply:
    code = _code(body)
    if status_code == 429:
        return failed("rate_limited", detail, fatal=code in _QUOTA_CODES)
    if status_code in _PROMPT_STATUS:
        if code in _REFUSAL_CODES or _REFUSAL_WORDS.search(detail):
            return failed("refused", detail)
        if _TOO_LONG_WORDS.search(f"{code} {detail}"):
            return failed("provider_error", detail)
    return failed("provider_error", detail, fatal=status_code in _FATAL_STATUS or code in _QUOTA_CODES)


def _error_of(body: Any) -> Any:
    """The error in a body: with or without the `error` envelope, which one of the SDKs takes off."""
    return body.get("error", body) if isinstance(body, dict) else body


def _words(body: Any) -> str:
    """The provider's own words for an error."""
    error = _error_of(body)
    if isinstance(error, dict):
        message = error.get("message") or error.get("detail")
        return message if isinstance(message, str) else json.dumps(error)
    return "" if error is None else str(error)


def _code(body: Any) -> str | None:
    """The provider's code for an error: `code`, else `type`."""
    error = _error_of(body)
    code = (error.get("code") or error.get("type")) if isinstance(error, dict) else None
    return code if isinstance(code, str) else None


def failed(
    status: Status,
    detail: str,
    *,
    fatal: bool = False,
    model_returned: str | None = None,
    usage: JudgeUsage | None = None,
) -> Reply:
    """A reply without text; `ask` fills in the latency."""
    return Reply(None, status, detail, model_returned, usage or JudgeUsage(), 0.0, fatal)


def answered(text: str, model_returned: str | None, usage: JudgeUsage) -> Reply:
    """A reply with text, or the status `invalid` where the text is blank; `ask` fills in the latency."""
    if not text.strip():
        return failed("invalid", "the answer is empty", model_returned=model_returned, usage=usage)
    return Reply(text, "assessed", "", model_returned, usage, 0.0)


def system_text(prompt: Prompt, *, tell_schema: bool) -> str:
    """The system prompt, with the schema told at its end for a server that can't enforce it."""
    if not tell_schema:
        return prompt.system
    schema = json.dumps(prompt.schema, ensure_ascii=False)
    rule = f"Answer with one JSON object that matches this JSON schema, and with nothing else:\n{schema}"
    return f"{prompt.system}\n\n{rule}".lstrip()


def content_text(content: Any) -> str:
    """The text of a message: plain text, or the text blocks of a list (thinking and other blocks are left out)."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def text_or_none(value: Any) -> str | None:
    """`value` on one line where it is text, at most 200 characters."""
    return one_line(value, 200) if isinstance(value, str) else None


def dict_or_empty(value: Any) -> dict[str, Any]:
    """`value` where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def count_or_none(value: Any) -> int | None:
    """`value` where it is a count of tokens, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
