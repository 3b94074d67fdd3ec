"""Clients: one prompt goes to a provider, one reply comes back, and every way it can end has a status.

A failure of a judge is never an exception and never a score: it is a `Reply` without text. Only bad settings raise.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from ..errors import SciagentError
from ..models import JudgeIdentity, JudgeUsage, Status
from ..text import one_line

if TYPE_CHECKING:
    from .quota import Gates
    from .sdk_client import SdkClient

KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "decisions": "OPENAI_API_KEY"}
URL_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "decisions": "OPENAI_BASE_URL"}
NO_KEY = "none"
MAX_RETRIES = 10
MAX_DEADLINE_S = 600.0
_KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Image:
    """An image for judges that see. `label`: the words before it. `media_type`: image/png or image/jpeg."""

    label: str
    media_type: str
    data: bytes = field(repr=False)

    @property
    def base64(self) -> str:
        """The data as they are sent."""
        return b64encode(self.data).decode("ascii")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a judge is sent. `shared` is the same for many prompts and comes before `last`, so that it can be cached.

    Attributes:
        system: the standing instructions.
        shared: the prefix of the user message (task, finding, evidence); may be empty.
        last: the end of the user message (one criterion).
        schema_name: a name for the schema, `[A-Za-z0-9_-]{1,64}`.
        schema: strict JSON schema of the answer.
        parts: where the prompt asks several criteria, what `last` says of each, by criterion id.
        images: what is shown between `shared` and `last`.
        name: what a call is known by, as the ledger keys of its questions tell; never sent.
        room: how many times the judge's cap of output the answer may take; above 1 where one was cut at the cap.
    """

    system: str
    shared: str
    last: str
    schema_name: str
    schema: dict[str, Any]
    parts: dict[str, str] = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    name: str = ""
    room: int = 1


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
        code: the reason code of a failure, where it tells more than the status (`content_filter`, `http_500`).
        lost: attempts that reached the provider and brought nothing back, so that they may be billed.
        cut: the answer ended at the cap of output that was sent, so a larger one may help.
    """

    text: str | None
    status: Status
    detail: str
    model_returned: str | None
    usage: JudgeUsage
    latency_s: float
    fatal: bool = False
    code: str | None = None
    lost: int = 0
    cut: bool = False

    def __post_init__(self) -> None:
        if (self.text is None) == (self.status == "assessed"):
            raise ValueError("a reply has text exactly when its status is 'assessed'")


class Client(Protocol):
    """One judge that can be asked. To be used within a single event loop.

    on_busy: called with the seconds to wait whenever the provider turns an attempt away because of its load, also where
        a later attempt succeeds.
    """

    on_busy: Callable[[float], None] | None

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
    gates: Gates | None = None,
) -> SdkClient:
    """A client for `identity`: of kind `openai` (any compatible server), `anthropic`, or `decisions` (OpenAI's API).

    Args:
        identity: kind, model and the parameters the user set (see `sdk_client.Parameters`); nothing else is sent.
        base_url: another server than the provider's own; without it OPENAI_BASE_URL or ANTHROPIC_BASE_URL counts.
        api_key: the key; without it OPENAI_API_KEY or ANTHROPIC_API_KEY counts. A server on this machine or reached by
            plain http needs none.
        timeout_s: seconds for one attempt. All attempts together, waits included, end after
            `timeout_s * (max_retries + 1)`, at most ten minutes (or one attempt, if that is longer).
        max_retries: further attempts after 408, 409, 429, 5xx and lost connections; at most 10.
        gates: rates that every attempt keeps, shared with other processes; time spent waiting for them does not count
            towards the limits above.

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
    connection = Connection(base_url, key, timeout_s, retries, gates)
    if identity.kind == "openai":
        from .openai_client import OpenAIClient

        return OpenAIClient(identity, connection)
    if identity.kind == "decisions":
        from .decisions_client import DecisionsClient

        return DecisionsClient(identity, connection)
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


@dataclass(frozen=True, slots=True)
class Connection:
    """How a provider is reached. `base_url` is None for the provider's own API."""

    base_url: str | None
    api_key: str = field(repr=False)
    timeout_s: float
    max_retries: int
    gates: Gates | None = None

    @property
    def deadline_s(self) -> float:
        """Seconds that one question may take, retries and waits included."""
        return min(self.timeout_s * (self.max_retries + 1), max(self.timeout_s, MAX_DEADLINE_S))


def failed(status: Status, detail: str, *, code: str | None = None, fatal: bool = False) -> Reply:
    """A reply without text; the client fills in what else is known of it."""
    return Reply(None, status, detail, None, JudgeUsage(), 0.0, fatal, code)
