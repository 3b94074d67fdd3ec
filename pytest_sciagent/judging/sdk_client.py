"""What the clients of both SDKs share: how a question is sent, and how each end it can come to is read."""

from __future__ import annotations

import asyncio
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, JsonValue, ValidationError

from ..errors import SciagentError
from ..models import JudgeIdentity, JudgeUsage, Model
from ..text import one_line
from .clients import NO_KEY, Connection, Prompt, Reply, failed
from .quota import BYTES_PER_TOKEN, IMAGE_TOKENS, estimate_tokens
from .usage import believed

if TYPE_CHECKING:
    import httpx2

P = TypeVar("P", bound=Model)


CONNECT_TIMEOUT_S = 10.0
DETAIL_CHARS = 500
BUSY_STATUS = frozenset({429, 503, 529})
MAX_BUSY_S = 120.0

# Statuses that every further call would meet too. Some of them may also speak of one prompt, that it is refused or too
# long: those cases are told apart by the provider's code and words.
_FATAL_STATUS = frozenset({400, 401, 402, 403, 404, 422})
_PROMPT_STATUS = frozenset({400, 403, 422})
_REFUSAL_CODES = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
_REFUSAL_WORDS = re.compile(r"content[ _](filter|policy)|usage policy|was flagged", re.IGNORECASE)
_TOO_LONG_WORDS = re.compile(
    r"context.{0,20}(length|window|size)|(prompt|input|request).{0,40}too (long|large)", re.IGNORECASE
)
_SPENDING_WORDS = re.compile(
    r"spend(ing)?[ _-](cap|limit)|(billing|credit|quota|budget).{0,30}(limit|exhausted|exceeded|reached|used up)"
    r"|insufficient.{0,12}(credit|balance|quota|funds)",
    re.IGNORECASE,
)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})


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
    """`identity.parameters` as `model`; null means not set. The layout is no matter of what is sent.

    Raises:
        SciagentError: an unknown parameter, or a value of the wrong type.
    """
    given = {name: value for name, value in identity.parameters.items() if value is not None and name != "layout"}
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


@dataclass
class _Asking:
    """The question that a task asks: when it must end, by how many bytes its images are longer than text of as many
    tokens, and how many attempts were sent and have brought nothing back."""

    deadline: asyncio.Timeout
    excess: int
    lost: int = 0


_asking: ContextVar[_Asking] = ContextVar("asking")


class SdkClient(ABC):
    """What both SDKs share: deadline, gates, errors and reading of the body.

    The body is read as plain JSON: a compatible server may send anything, and the SDKs' own types don't check it.

    Attributes:
        api: the SDK's own client.
        sdk_error: the class of all of the SDK's errors.
    """

    api: Any

    def __init__(self, identity: JudgeIdentity, connection: Connection, sdk: Any) -> None:
        self.identity = identity
        self.on_busy: Callable[[float], None] | None = None
        self._connection = connection
        self._sdk = sdk
        self.sdk_error: type[Exception] = sdk.APIError.__base__  # OpenAIError or AnthropicError: all of them
        hooks: dict[str, list[Any]] = {"request": [self._before_attempt], "response": [self._after_attempt]}
        # Whatever the SDK's two clients have in common.
        self._settings: dict[str, Any] = {
            "api_key": connection.api_key,
            "timeout": sdk.Timeout(connection.timeout_s, connect=min(connection.timeout_s, CONNECT_TIMEOUT_S)),
            "max_retries": connection.max_retries,
            "http_client": _http_client(sdk, hooks),
        }

    @abstractmethod
    async def _send(self, prompt: Prompt) -> httpx2.Response:
        """The successful response; errors as the SDK raises them."""

    @abstractmethod
    def body(self, prompt: Prompt) -> dict[str, Any]:
        """The JSON of the request that `ask` sends."""

    @abstractmethod
    def _read(self, body: dict[str, Any]) -> Reply:
        """The reply in a body that holds no error."""

    async def close(self) -> None:
        """Close the connections."""
        await self.api.close()

    async def models(self) -> tuple[str, ...]:
        """The models that the server lists: whether it can be reached, and takes the key, without paying anything.

        Raises:
            SciagentError: it can't be reached, or refuses; with its own words.
        """
        try:
            page = await self.api.models.list()
            listed = [getattr(model, "id", None) for model in page.data or ()]
        except self.sdk_error as error:
            raise SciagentError(self.failure(error).detail) from None
        except (AttributeError, TypeError, ValueError) as error:
            raise SciagentError(f"it lists no models: {self.safe(str(error))}") from None
        return tuple(name for name in listed if isinstance(name, str))

    async def ask(self, prompt: Prompt) -> Reply:
        """See `Client`."""
        started = time.monotonic()
        limit = self._connection.deadline_s
        asking = _Asking(asyncio.timeout(limit), _image_excess(prompt))
        token = _asking.set(asking)
        try:
            async with asking.deadline:
                response = await self._send(prompt)
                asking.lost -= 1
        except TimeoutError:
            reply = failed("timeout", f"no answer within {limit:g} s, retries included")
        except UnicodeEncodeError:
            reply = failed(
                "invalid", "the prompt holds text that is not Unicode (a lone surrogate)", code="not_unicode"
            )
        except self.sdk_error as error:
            reply = _from_error(error, self._sdk)
        else:
            reply = self._from_body(response.content.decode("utf-8", "replace"))
            sent = _sent_bytes(response.request) - asking.excess
            reply = replace(reply, usage=believed(reply.usage, estimate_tokens(sent)))
            if self._connection.gates is not None:
                self._connection.gates.correct(sent, reply.usage)
        finally:
            _asking.reset(token)
        latency = time.monotonic() - started
        return replace(reply, detail=self.safe(reply.detail), latency_s=latency, lost=asking.lost)

    async def _before_attempt(self, request: httpx2.Request) -> None:
        """Wait for the gates; the deadline moves on by as much."""
        asking = _asking.get(None)
        if self._connection.gates is not None:
            wait = self._connection.gates.reserve(_sent_bytes(request) - (asking.excess if asking else 0))
            if wait > 0:
                if asking is not None and (when := asking.deadline.when()) is not None:
                    asking.deadline.reschedule(when + wait)
                await asyncio.sleep(wait)
        _lose(1)

    async def _after_attempt(self, response: httpx2.Response) -> None:
        """Tell who should know that the provider is busy, and that what it turned away is not billed."""
        if response.status_code >= 400:
            _lose(-1)
        if response.status_code in BUSY_STATUS:
            seconds = _retry_after(response)
            if self._connection.gates is not None:
                self._connection.gates.penalise(seconds)
            if self.on_busy is not None:
                self.on_busy(seconds)

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
            why = "spending_cap" if _SPENDING_WORDS.search(text) else "not_an_answer"
            return failed("provider_error", f"not a JSON answer: {text}", code=why)
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


def _http_client(sdk: Any, hooks: dict[str, list[Any]]) -> httpx2.AsyncClient:
    """The SDK's HTTP client over aiohttp: with many calls in flight, it takes half the CPU time of the default one."""
    import aiohttp
    import httpx2

    class Http(sdk.DefaultAioHttpClient):  # type: ignore[misc]
        """Tells lost connections from timeouts, and leaves no error of aiohttp that the SDK does not know."""

        async def send(self, request: httpx2.Request, **how: Any) -> Any:
            try:
                return await super().send(request, **how)
            except (httpx2.ConnectTimeout, httpx2.ConnectError) as error:
                cause = error.__cause__
                if not isinstance(cause, aiohttp.ClientError) or isinstance(cause, aiohttp.ClientConnectorError):
                    _lose(-1)  # it has not reached the server
                if not isinstance(cause, aiohttp.ClientError) or isinstance(cause, TimeoutError):
                    raise
                # Some of these connections were there, and the server may have read the request.
                kind = httpx2.ConnectError if isinstance(cause, aiohttp.ClientConnectorError) else httpx2.ReadError
                raise kind(str(error), request=request) from cause
            except aiohttp.ClientError as error:
                raise httpx2.ReadError(str(error), request=request) from error

    client: httpx2.AsyncClient = Http(event_hooks=hooks)
    return client


def _sent_bytes(request: httpx2.Request) -> int:
    return int(request.headers.get("content-length", 0))


def _lose(attempts: int) -> None:
    """Note that the running task's question has so many attempts more that were sent and not answered."""
    asking = _asking.get(None)
    if asking is not None:
        asking.lost += attempts


def _image_excess(prompt: Prompt) -> int:
    """Images take far fewer tokens than their bytes would as text."""
    return sum(len(image.base64) - round(IMAGE_TOKENS * BYTES_PER_TOKEN) for image in prompt.images)


def _retry_after(response: httpx2.Response) -> float:
    """Seconds that a busy provider asks to wait, at most two minutes; one where it does not say."""
    seconds = 1.0
    try:
        if (milliseconds := response.headers.get("retry-after-ms")) is not None:
            seconds = float(milliseconds) / 1000
        elif (told := response.headers.get("retry-after")) is not None:
            seconds = float(told) if told[:1].isdigit() else parsedate_to_datetime(told).timestamp() - time.time()
    except (ValueError, OverflowError):
        pass
    return min(max(0.0, seconds), MAX_BUSY_S)  # in this order, NaN is 0


def _from_error(error: Exception, sdk: Any) -> Reply:
    """The failure that an error of an SDK stands for."""
    if isinstance(error, sdk.APITimeoutError):
        return failed("timeout", "the request timed out")
    if isinstance(error, sdk.APIConnectionError):
        return failed("provider_error", f"{error} {error.__cause__ or ''}", code="connection")
    if not isinstance(error, sdk.APIStatusError):
        return failed("provider_error", str(error))
    words = _words(error.body) or str(error)
    return _from_status(error.status_code, error.body, f"HTTP {error.status_code}: {words}")


def _from_status(status_code: int, body: Any, detail: str) -> Reply:
    code = _code(body)
    spent = code in _QUOTA_CODES
    if status_code == 429:
        return failed("rate_limited", detail, code="spending_cap" if spent else None, fatal=spent)
    if status_code in _PROMPT_STATUS:
        if code in _REFUSAL_CODES or _REFUSAL_WORDS.search(detail):
            return failed("refused", detail, code="refused" if code == "invalid_prompt" else "content_filter")
        if _TOO_LONG_WORDS.search(f"{code} {detail}"):
            return failed("provider_error", detail, code="prompt_too_long")
    if spent or (status_code == 200 and _SPENDING_WORDS.search(detail)):
        told = "spending_cap"
    else:
        told = "provider_error" if status_code == 200 else f"http_{status_code}"
    return failed("provider_error", detail, code=told, fatal=status_code in _FATAL_STATUS or spent)


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


def answered(text: str, model_returned: str | None, usage: JudgeUsage) -> Reply:
    """A reply with text, or the status `invalid` where the text is blank; `ask` fills in the latency."""
    if not text.strip():
        return failed("invalid", "the answer is empty", code="empty", model_returned=model_returned, usage=usage)
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
