"""The batch APIs of the providers: how a batch is made, found, looked at and read.

What is asked and what an answer means is the live clients' business; here is only what goes around it.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

from ..errors import SciagentError
from .clients import Prompt, Reply, failed
from .sdk_client import SdkClient, dict_or_empty

Status = Literal["running", "ended", "failed"]

DEADLINE_S = 900.0
"""Seconds that one call of a batch API may take, with the upload or download of its file and all retries."""
LISTED = 100
"""How many of the latest batches are looked through for one whose id was lost."""
CLOCK_SKEW = timedelta(minutes=10)

# What a proxy says when it did not hear from the server behind it: the request may have been carried out.
_UNCLEAR_STATUS = frozenset({408, 502, 504})
# The HTTP status that each type of an error of Anthropic's has where it is not within a batch.
_ANTHROPIC_STATUS = {
    "invalid_request": 400,
    "authentication": 401,
    "billing": 402,
    "permission": 403,
    "not_found": 404,
    "request_too_large": 413,
    "rate_limit": 429,
    "timeout": 504,
    "overloaded": 529,
}


class Refused(SciagentError):
    """The provider said no, or was not reached at all: nothing was made of the request."""


@dataclass(frozen=True)
class Look:
    """What a batch looks like now. `replies` are by custom id, one for each line that came back."""

    status: Status
    detail: str
    replies: dict[str, Reply] = field(default_factory=dict)


class BatchApi(ABC):
    """What both providers' batch APIs are used for.

    Attributes:
        max_requests, max_bytes: what one batch may hold.
    """

    max_requests: ClassVar[int]
    max_bytes: ClassVar[int]

    def __init__(self, client: SdkClient) -> None:
        self.client = client
        self.api = client.api
        # A request that makes a batch is never sent twice: where only the answer was lost, there would be two batches.
        self.once = client.api.with_options(max_retries=0)

    @abstractmethod
    def request(self, custom_id: str, prompt: Prompt) -> dict[str, Any]:
        """One question as it stands in a batch."""

    @abstractmethod
    async def prepare(self, requests: Sequence[dict[str, Any]]) -> Any:
        """Whatever has to be there before a batch can be made; what `create` is given. Asks nothing yet.

        Raises:
            SciagentError: as `create`.
        """

    @abstractmethod
    async def create(self, prepared: Any, name: str) -> str:
        """Make the batch, marked with `name` where the API can do so. Returns its id.

        Raises:
            Refused: there is no batch.
            SciagentError: it did not work, and perhaps there is a batch all the same.
        """

    @abstractmethod
    async def candidates(self, name: str, size: int, submitted_at: datetime) -> list[str]:
        """The ids of the batches that may be the one made as `name`, with `size` questions, at that time.

        Raises:
            SciagentError: the provider can't be asked.
        """

    @abstractmethod
    async def look(self, batch_id: str) -> Look:
        """How the batch is, with everything that came back once it has ended.

        Raises:
            SciagentError: the provider can't be asked, or knows of no such batch.
        """

    @abstractmethod
    def _reply(self, line: dict[str, Any]) -> Reply | None:
        """What a line of a result file says; None where it says nothing."""

    @asynccontextmanager
    async def _telling(self, doing: str) -> AsyncIterator[None]:
        """Errors of the SDK and a call without an end are told in one message."""
        subject = f"judge {self.client.identity.label}: {doing}"
        try:
            async with asyncio.timeout(DEADLINE_S):
                yield
        except TimeoutError:
            raise SciagentError(f"{subject}: no answer within {DEADLINE_S:g} s") from None
        except self.client.sdk_error as error:
            kind = Refused if _nothing_made(error) else SciagentError
            raise kind(f"{subject}: {self.client.failure(error).detail}") from None

    async def _call(self, doing: str, method: Callable[..., Awaitable[Any]], **given: Any) -> dict[str, Any]:
        """The JSON object that a raw method of the SDK gets."""
        async with self._telling(doing):
            text = (await method(**given)).http_response.text
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict) or body.get("error"):
            raise SciagentError(self.client.safe(f"judge {self.client.identity.label}: {doing}: {text}"))
        return body

    async def _made(self, doing: str, method: Callable[..., Awaitable[Any]], **given: Any) -> str:
        """The id of what a raw method of the SDK makes."""
        body = await self._call(doing, method, **given)
        made = body.get("id")
        if not isinstance(made, str) or not made:
            raise SciagentError(f"judge {self.client.identity.label}: {doing}: the answer holds no id")
        return made

    def _replies(self, data: bytes) -> dict[str, Reply]:
        """The replies in a file of JSON lines, by custom id. A line that can't be read is no reply."""
        found: dict[str, Reply] = {}
        for text in data.split(b"\n"):
            try:
                line = dict_or_empty(json.loads(text))
            except (ValueError, RecursionError):
                continue
            reply, custom_id = self._reply(line), line.get("custom_id")
            if reply is not None and isinstance(custom_id, str):
                found[custom_id] = reply
        return found


class OpenAIBatches(BatchApi):
    """A file of requests, a batch over it, and a file of answers beside one of errors."""

    max_requests = 50_000
    max_bytes = 200_000_000
    endpoint = "/v1/chat/completions"

    def request(self, custom_id: str, prompt: Prompt) -> dict[str, Any]:
        return {"custom_id": custom_id, "method": "POST", "url": self.endpoint, "body": self.client.body(prompt)}

    async def prepare(self, requests: Sequence[dict[str, Any]]) -> str:
        data = b"".join(json_bytes(request) + b"\n" for request in requests)
        return await self._made(
            "the questions can't be uploaded",
            self.api.files.with_raw_response.create,
            file=("sciagent.jsonl", data),
            purpose="batch",
        )

    async def create(self, prepared: str, name: str) -> str:
        return await self._made(
            "no batch can be made",
            self.once.batches.with_raw_response.create,
            input_file_id=prepared,
            endpoint=self.endpoint,
            completion_window="24h",
            metadata={"sciagent": name},
        )

    async def candidates(self, name: str, size: int, submitted_at: datetime) -> list[str]:
        body = await self._call("batches can't be listed", self.api.batches.with_raw_response.list, limit=LISTED)
        return [batch["id"] for batch in _objects(body) if dict_or_empty(batch.get("metadata")).get("sciagent") == name]

    async def look(self, batch_id: str) -> Look:
        batch = await self._call(
            f"the batch {batch_id} can't be looked at", self.api.batches.with_raw_response.retrieve, batch_id=batch_id
        )
        status = str(batch.get("status"))
        if status == "failed":
            errors = dict_or_empty(batch.get("errors")).get("data")
            words = [str(dict_or_empty(error).get("message")) for error in errors] if isinstance(errors, list) else []
            return Look("failed", self.client.safe("; ".join(words) or "the provider did not say why"))
        if status not in {"completed", "expired", "cancelled"}:
            counts = dict_or_empty(batch.get("request_counts"))
            far = (
                f", {counts['completed']} of {counts['total']} answered"
                if {"completed", "total"} <= counts.keys()
                else ""
            )
            return Look("running", self.client.safe(f"{status}{far}"))
        found: dict[str, Reply] = {}
        for name in ("error_file_id", "output_file_id"):  # an answer wins over an error
            if file_id := batch.get(name):
                found |= self._replies(await self._file(batch_id, file_id))
        return Look("ended", status, found)

    async def _file(self, batch_id: str, file_id: str) -> bytes:
        async with self._telling(f"the answers of the batch {batch_id} can't be fetched"):
            raw = await self.api.files.with_raw_response.content(file_id)
        content: bytes = raw.http_response.content
        return content

    def _reply(self, line: dict[str, Any]) -> Reply | None:
        response, error = dict_or_empty(line.get("response")), dict_or_empty(line.get("error"))
        if response:
            status = response.get("status_code")
            return self.client.read(status if isinstance(status, int) else 200, response.get("body"))
        if not error:
            return None
        expired = error.get("code") == "batch_expired"
        words = self.client.safe(str(error.get("message") or error.get("code")))
        code = "batch_expired" if expired else "batch_cancelled" if error.get("code") == "batch_cancelled" else None
        return failed("timeout" if expired else "provider_error", words, code=code)


class AnthropicBatches(BatchApi):
    """All requests in one call, and a stream of results of four types."""

    max_requests = 100_000
    max_bytes = 255_000_000
    """The limit is 256 MB; the rest is for the envelope."""

    def request(self, custom_id: str, prompt: Prompt) -> dict[str, Any]:
        return {"custom_id": custom_id, "params": self.client.body(prompt)}

    async def prepare(self, requests: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        return requests

    async def create(self, prepared: Sequence[dict[str, Any]], name: str) -> str:
        return await self._made(
            "no batch can be made", self.once.messages.batches.with_raw_response.create, requests=prepared
        )

    async def candidates(self, name: str, size: int, submitted_at: datetime) -> list[str]:
        """The API keeps no marks, so size and time have to do; whose answers they are, their custom ids tell."""
        body = await self._call(
            "batches can't be listed", self.api.messages.batches.with_raw_response.list, limit=LISTED
        )
        first, last = submitted_at - CLOCK_SKEW, submitted_at + CLOCK_SKEW + timedelta(seconds=DEADLINE_S)
        return [
            batch["id"]
            for batch in _objects(body)
            if sum(n for n in dict_or_empty(batch.get("request_counts")).values() if isinstance(n, int)) == size
            and _is_between(first, batch.get("created_at"), last)
        ]

    async def look(self, batch_id: str) -> Look:
        batch = await self._call(
            f"the batch {batch_id} can't be looked at",
            self.api.messages.batches.with_raw_response.retrieve,
            message_batch_id=batch_id,
        )
        status = str(batch.get("processing_status"))
        if status != "ended":
            return Look("running", self.client.safe(status))
        url = batch.get("results_url")
        if not url:
            return Look("failed", "the provider no longer keeps its results")
        # Read whole, not as the SDK's stream of results: so a lost connection is tried again, and a broken line is
        # one answer less rather than the end.
        async with self._telling(f"the answers of the batch {batch_id} can't be fetched"):
            data: bytes = await self.api.get(url, cast_to=bytes)
        return Look("ended", status, self._replies(data))

    def _reply(self, line: dict[str, Any]) -> Reply | None:
        result = dict_or_empty(line.get("result"))
        kind, error = result.get("type"), result.get("error")
        if kind == "succeeded":
            return self.client.read(200, result.get("message"))
        if kind == "errored":
            name = str(dict_or_empty(dict_or_empty(error).get("error")).get("type")).removesuffix("_error")
            return self.client.read(_ANTHROPIC_STATUS.get(name, 500), error)
        if kind == "expired":
            return failed("timeout", "the batch expired before this question was asked", code="batch_expired")
        if kind == "canceled":
            return failed("provider_error", "the batch was cancelled", code="batch_cancelled")
        return None


BATCH_APIS: dict[str, type[BatchApi]] = {"openai": OpenAIBatches, "anthropic": AnthropicBatches}


def json_bytes(value: Any) -> bytes:
    """`value` as one line of JSON.

    Raises:
        UnicodeEncodeError: text that is not Unicode (a lone surrogate).
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _nothing_made(error: Exception) -> bool:
    """Whether an error of an SDK tells that the request was not carried out."""
    import httpx2

    status = getattr(error, "status_code", None)
    if status is None:
        return isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
    return status not in _UNCLEAR_STATUS


def _is_between(first: datetime, time: Any, last: datetime) -> bool:
    """Whether a time as a server tells it lies between two others."""
    try:
        return first <= datetime.fromisoformat(time) <= last
    except (ValueError, TypeError):
        return False


def _objects(page: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects with an id on a page of a list."""
    data = page.get("data")
    return [item for item in data if isinstance(item, dict) and item.get("id")] if isinstance(data, list) else []
