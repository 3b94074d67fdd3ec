"""What the clients of both SDKs share: how a question is sent, and how each end it can come to is read."""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, Field, JsonValue, ValidationError

from ..errors import SciagentError
from ..models import JudgeIdentity, JudgeUsage, Model
from ..text import one_line
from .clients import NO_KEY, Connection, Prompt, Reply, failed
from .failures import SPENDING_WORDS, from_error, from_status, words_of
from .quota import BYTES_PER_TOKEN, IMAGE_TOKENS, estimate_tokens
from .usage import believed

if TYPE_CHECKING:
    import httpx2

P = TypeVar("P", bound=Model)


CONNECT_TIMEOUT_S = 10.0
DETAIL_CHARS = 500
BUSY_STATUS = frozenset({429, 503, 529})
MAX_BUSY_S = 120.0


def without(*own: str) -> AfterValidator:
    """Refuses further fields of a request that are named as those which the client fills itself."""

    def check(extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if taken := sorted(extra.keys() & own):
            raise ValueError(f"can't hold {', '.join(taken)}")
        return extra

    return AfterValidator(check)


_OWN_FIELDS = without(
    "model", "messages", "system", "stream", "n", "response_format", "output_config", "tools", "tool_choice"
)


class Parameters(Model):
    """What a user may set for a judge. Only what is set is sent."""

    format: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    """How the answer's shape is asked for; with the last two, the schema is told in the system prompt."""
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    extra_body: Annotated[dict[str, JsonValue], _OWN_FIELDS] = {}
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
    """What both SDKs share: how the SDK's client is made, deadline, gates, sending, errors and reading of the body.

    The body is read as plain JSON: a compatible server may send anything, and the SDKs' own types don't check it.

    Args:
        sdk: the module of the SDK.
        make: its client's class.
        base_url: where the server is; None for the provider's own API.

    Attributes:
        path: where questions are posted.
        api: the SDK's own client.
        sdk_error: the class of all of the SDK's errors.
    """

    path: ClassVar[str]

    def __init__(
        self, identity: JudgeIdentity, connection: Connection, sdk: Any, make: Callable[..., Any], base_url: str | None
    ) -> None:
        self.identity = identity
        self.on_busy: Callable[[float], None] | None = None
        self._connection = connection
        self._sdk = sdk
        self.sdk_error: type[Exception] = sdk.APIError.__base__  # OpenAIError or AnthropicError: all of them
        hooks: dict[str, list[Any]] = {"request": [self._before_attempt], "response": [self._after_attempt]}
        self.api = make(
            base_url=base_url,
            api_key=connection.api_key,
            timeout=sdk.Timeout(connection.timeout_s, connect=min(connection.timeout_s, CONNECT_TIMEOUT_S)),
            max_retries=connection.max_retries,
            http_client=_http_client(sdk, hooks),
        )

    @abstractmethod
    def body(self, prompt: Prompt) -> dict[str, Any]:
        """The JSON of the request that `ask` sends."""

    @abstractmethod
    def _read(self, body: dict[str, Any]) -> Reply:
        """The reply in a body that holds no error; model and usage are filled in."""

    @abstractmethod
    def _usage(self, body: dict[str, Any]) -> JudgeUsage:
        """What the body says that the call took."""

    async def _send(self, prompt: Prompt) -> httpx2.Response:
        """The successful response; errors as the SDK raises them."""
        import httpx2

        # The SDKs' methods for their endpoints walk through all of a prompt by its types first, which takes most of
        # their time; and this call older versions of them have too.
        response: httpx2.Response = await self.api.post(self.path, cast_to=httpx2.Response, body=self.body(prompt))
        return response

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
            reply = from_error(error, self._sdk)
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
            reply = from_status(status_code, body, f"HTTP {status_code}: {words_of(body)}")
        return replace(reply, detail=self.safe(reply.detail))

    def failure(self, error: Exception) -> Reply:
        """The reply that an error of the SDK stands for."""
        reply = from_error(error, self._sdk)
        return replace(reply, detail=self.safe(reply.detail))

    def _from_body(self, text: str) -> Reply:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        return self._from_json(body, text)

    def _from_json(self, body: Any, text: str) -> Reply:
        if not isinstance(body, dict):
            why = "spending_cap" if SPENDING_WORDS.search(text) else "not_an_answer"
            return failed("provider_error", f"not a JSON answer: {text}", code=why)
        if body.get("error"):
            # Routers answer 200 and then meet an error; some tell its HTTP status as the code.
            code = dict_or_empty(body["error"]).get("code")
            return from_status(code if isinstance(code, int) else 200, body, words_of(body))
        return replace(self._read(body), model_returned=text_or_none(body.get("model")), usage=self._usage(body))

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


def answered(text: str) -> Reply:
    """A reply with text, or the status `invalid` where the text is blank; the client fills in the rest."""
    if not text.strip():
        return failed("invalid", "the answer is empty", code="empty")
    return Reply(text, "assessed", "", None, JudgeUsage(), 0.0)


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
