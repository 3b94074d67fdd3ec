"""What a provider says a call took, as far as it can be true: budgets and rates hold whatever it says."""

from __future__ import annotations

from typing import Any

from ..models import JudgeUsage

MOST_TOKENS = 10_000_000
"""No context of a model holds more; a count above it is none."""
MOST_TIMES = 20
"""A prompt may count so many times the tokens that it is reckoned at, not more: images and odd tokenisers lie below."""
SLACK_TOKENS = 2000
"""What a provider may add to any prompt of its own."""


def usage_of(input: Any, output: Any, cached: Any = None) -> JudgeUsage:
    """The tokens that a provider's answer states; what is no count is not known.

    A prompt is never nothing, so an input of 0 is not known either, and what was cached is part of the input.
    """
    sent, stored = count_of(input) or None, count_of(cached)
    if sent is None or stored is None:
        return JudgeUsage(input_tokens=sent, output_tokens=count_of(output))
    return JudgeUsage(input_tokens=sent, output_tokens=count_of(output), cached_tokens=min(stored, sent))


def count_of(value: Any) -> int | None:
    """`value` where it is a count of tokens, else None."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else None


def believed(usage: JudgeUsage, reckoned: int) -> JudgeUsage:
    """`usage`, without the input of a prompt that can't have had so many tokens: it was reckoned at `reckoned`."""
    if (usage.input_tokens or 0) <= MOST_TIMES * reckoned + SLACK_TOKENS:
        return usage
    return usage.model_copy(update={"input_tokens": None, "cached_tokens": None})


def filled(usage: JudgeUsage, reckoned: JudgeUsage) -> JudgeUsage:
    """`usage` with what was reckoned in the place of what is not known: for what it costs."""
    known = usage.input_tokens is not None
    return JudgeUsage(
        input_tokens=usage.input_tokens if known else reckoned.input_tokens,
        output_tokens=usage.output_tokens if usage.output_tokens is not None else reckoned.output_tokens,
        cached_tokens=usage.cached_tokens if known else None,
    )
