"""What an answer costs, by the price tables of `genai-prices` (offline) or by prices the user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import SciagentError
from ..models import JudgeIdentity, JudgeUsage

MILLION = 1_000_000
SAMPLE = 10_000
"""Tokens that a price is read off at: few enough for the price of ordinary prompts, not that of very long ones."""
_PROVIDERS = {"openai": "openai", "anthropic": "anthropic"}


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. cached: input that the provider had in its cache."""

    input: float
    output: float
    cached: float | None = None

    def cost(self, usage: JudgeUsage) -> float:
        """Dollars for the tokens of one answer; tokens that nobody counted cost nothing here."""
        fresh = (usage.input_tokens or 0) - (usage.cached_tokens or 0)
        cached = self.input if self.cached is None else self.cached
        dollars = fresh * self.input + (usage.cached_tokens or 0) * cached + (usage.output_tokens or 0) * self.output
        return dollars / MILLION

    def of_batch(self) -> Price:
        """The same by a batch: the providers' own APIs take half."""
        return Price(self.input / 2, self.output / 2, None if self.cached is None else self.cached / 2)


def parse_price(text: str) -> Price:
    """A price written as `IN/OUT` or `IN/CACHED/OUT`, dollars for a million tokens.

    Raises:
        SciagentError: not of this form.
    """
    try:
        parts = [float(part) for part in text.split("/")]
    except ValueError:
        parts = []
    if len(parts) not in (2, 3) or any(not 0 <= part < 1e6 for part in parts):
        raise SciagentError(f"price {text!r}: write IN/OUT or IN/CACHED/OUT, dollars for a million tokens")
    return Price(parts[0], parts[-1], parts[1] if len(parts) == 3 else None)


def find_price(judge: JudgeIdentity) -> Price | None:
    """The listed price of a judge's model, or None where it is not in the tables."""
    from genai_prices import Usage, calc_price

    provider = _PROVIDERS.get(judge.kind)
    if provider is None:
        return None

    def dollars(**tokens: int) -> float | None:
        try:
            price: Any = calc_price(Usage(**tokens), model_ref=judge.model, provider_id=provider)
        except LookupError:
            return None
        return float(price.total_price) * MILLION / SAMPLE

    fresh, output = dollars(input_tokens=SAMPLE), dollars(output_tokens=SAMPLE)
    if fresh is None or output is None:
        return None
    cached = dollars(input_tokens=SAMPLE, cache_read_tokens=SAMPLE)
    return Price(fresh, output, cached)
