"""Which failure a provider's error is: by its HTTP status, its code, and, where these leave it open, its words."""

from __future__ import annotations

import json
import re
from typing import Any

from .clients import Reply, failed

# Statuses that every further call would meet too. Some of them may also speak of one prompt, that it is refused or too
# long: those cases are told apart by the provider's code and words.
_FATAL_STATUS = frozenset({400, 401, 402, 403, 404, 422})
_PROMPT_STATUS = frozenset({400, 403, 422})
_REFUSAL_CODES = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
_REFUSAL_WORDS = re.compile(r"content[ _](filter|policy)|usage policy|was flagged", re.IGNORECASE)
_TOO_LONG_WORDS = re.compile(
    r"context.{0,20}(length|window|size)|(prompt|input|request).{0,40}too (long|large)", re.IGNORECASE
)
SPENDING_WORDS = re.compile(
    r"spend(ing)?[ _-](cap|limit)|(billing|credit|quota|budget).{0,30}(limit|exhausted|exceeded|reached|used up)"
    r"|insufficient.{0,12}(credit|balance|quota|funds)",
    re.IGNORECASE,
)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})


def from_error(error: Exception, sdk: Any) -> Reply:
    """The failure that an error of an SDK stands for."""
    if isinstance(error, sdk.APITimeoutError):
        return failed("timeout", "the request timed out")
    if isinstance(error, sdk.APIConnectionError):
        return failed("provider_error", f"{error} {error.__cause__ or ''}", code="connection")
    if not isinstance(error, sdk.APIStatusError):
        return failed("provider_error", str(error))
    words = words_of(error.body) or str(error)
    return from_status(error.status_code, error.body, f"HTTP {error.status_code}: {words}")


def from_status(status_code: int, body: Any, detail: str) -> Reply:
    """The failure that an HTTP status and the JSON of its body stand for; `detail` are the words to show."""
    code = _code(body)
    spent = code in _QUOTA_CODES
    if status_code == 429:
        return failed("rate_limited", detail, code="spending_cap" if spent else None, fatal=spent)
    if status_code in _PROMPT_STATUS:
        if code in _REFUSAL_CODES or _REFUSAL_WORDS.search(detail):
            return failed("refused", detail, code="refused" if code == "invalid_prompt" else "content_filter")
        if _TOO_LONG_WORDS.search(f"{code} {detail}"):
            return failed("provider_error", detail, code="prompt_too_long")
    if spent or (status_code == 200 and SPENDING_WORDS.search(detail)):
        told = "spending_cap"
    else:
        told = "provider_error" if status_code == 200 else f"http_{status_code}"
    return failed("provider_error", detail, code=told, fatal=status_code in _FATAL_STATUS or spent)


def _error_of(body: Any) -> Any:
    """The error in a body: with or without the `error` envelope, which one of the SDKs takes off."""
    return body.get("error", body) if isinstance(body, dict) else body


def words_of(body: Any) -> str:
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
