"""One way to fetch: bounded, with retries that keep what the server asks for, a rate for each host, and a cache.

The cache makes a search repeatable, and is the fixture of a test: offline, nothing else is read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...digest import sha256_json
from ...extras import need
from ...ledger.store import write_atomically
from .base import SearchFailed

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 8_000_000
MAX_WAIT_S = 60.0
TRIES = 4
AGENT = "pytest-sciagent (literature for a rubric)"


class _TurnedAway(Exception):
    """An attempt that may be made again. seconds: how long the server asks to wait."""

    def __init__(self, status: str, seconds: float | None = None) -> None:
        self.status = status
        self.seconds = seconds
        super().__init__(status)


@dataclass
class Http:
    """Fetches texts. cache: folder of what was fetched (None: none is kept). offline: the cache alone is read.

    pause_s: at least so long between two requests to one host. wait_s: the first wait before a retry.
    """

    cache: Path | None = None
    offline: bool = False
    pause_s: float = 1.0
    wait_s: float = 1.0
    timeout_s: float = 30.0
    _last: dict[str, float] = field(default_factory=dict)

    def get(self, url: str, params: Mapping[str, str], headers: Mapping[str, str] | None = None) -> bytes:
        """The body of the answer; raises `SearchFailed`."""
        return self._cached("GET", url, dict(params), None, headers or {})

    def post(self, url: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> bytes:
        """The body of the answer to a JSON body; raises `SearchFailed`."""
        return self._cached("POST", url, {}, dict(body), headers or {})

    def _cached(
        self, method: str, url: str, params: dict[str, str], body: dict[str, Any] | None, headers: Mapping[str, str]
    ) -> bytes:
        # Headers hold keys: they are in no cache.
        path = self.cache / f"{sha256_json([method, url, params, body])}.body" if self.cache is not None else None
        if path is not None and path.is_file():
            return path.read_bytes()
        if self.offline:
            raise SearchFailed("offline, and not in the cache")
        found = self._fetch(method, url, params, body, headers)
        if path is not None:
            write_atomically(path, found)
        return found

    def _fetch(
        self, method: str, url: str, params: dict[str, str], body: dict[str, Any] | None, headers: Mapping[str, str]
    ) -> bytes:
        need("literature", "searching the literature")
        import httpx2
        import tenacity

        def wait(state: Any) -> float:
            error = state.outcome.exception()
            asked = error.seconds if isinstance(error, _TurnedAway) else None
            seconds = asked if asked is not None else self.wait_s * 2 ** (state.attempt_number - 1)
            return float(min(seconds, MAX_WAIT_S))

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_TurnedAway),
            stop=tenacity.stop_after_attempt(TRIES),
            wait=wait,
            reraise=True,
        )
        with httpx2.Client(
            timeout=self.timeout_s, headers={"User-Agent": AGENT, **headers}, follow_redirects=False
        ) as client:
            try:
                found: bytes = retrying(self._once, client, method, url, params, body)
            except _TurnedAway as error:
                raise SearchFailed(error.status) from None
        return found

    def _once(
        self, client: httpx2.Client, method: str, url: str, params: dict[str, str], body: dict[str, Any] | None
    ) -> bytes:
        import httpx2

        host = urlsplit(url).netloc
        time.sleep(max(0.0, self._last.get(host, 0.0) + self.pause_s - time.monotonic()))
        self._last[host] = time.monotonic()
        try:
            with client.stream(method, url, params=params, json=body) as response:
                status = response.status_code
                if status == 429 or status >= 500:
                    raise _TurnedAway(f"http {status}", _retry_after(response.headers.get("retry-after")))
                if status != 200:
                    raise SearchFailed(f"http {status}")
                return _bounded(response)
        except httpx2.TimeoutException:
            raise _TurnedAway("timeout") from None
        except httpx2.HTTPError as error:
            raise _TurnedAway(f"connection: {type(error).__name__}") from None


def _bounded(response: httpx2.Response) -> bytes:
    found = bytearray()
    for piece in response.iter_bytes():
        found += piece
        if len(found) > MAX_BYTES:
            raise SearchFailed(f"an answer of more than {MAX_BYTES:,} bytes")
    return bytes(found)


def _retry_after(told: str | None) -> float | None:
    try:
        return max(0.0, float(told)) if told is not None else None
    except ValueError:
        return None


def read_json(body: bytes) -> Any:
    """The JSON in `body`; raises `SearchFailed`."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise SearchFailed("not JSON") from None


def items_of(data: Any, name: str) -> list[Any]:
    """The list `name` of a JSON object; raises `SearchFailed`."""
    found = data.get(name) if isinstance(data, dict) else None
    if not isinstance(found, list):
        raise SearchFailed(f"an answer without {name}")
    return [item for item in found if isinstance(item, dict)]
