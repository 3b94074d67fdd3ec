"""Options about panels: how often each judge is asked, and how votes become one level."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from ..errors import SciagentError
from ..judging.draws import AUTO_MOST, DEFAULT_RULE, RULES, WEIGHTED, Draws, Rule, parse_draws
from .declared import Option, Values


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """How often each judge is asked the same question, the rule by which the votes are combined, and the file of what
    they weigh, where they are weighed."""

    draws: Draws
    rule: Rule
    weights: Path | None


PANEL = (
    Option(
        "draws",
        "text",
        "ask every judge each question about a criterion K times (default 1). auto: twice, and up to "
        f"{AUTO_MOST} times (auto:N: up to N times) only where the first two answers differ",
        "K|auto",
    ),
    Option(
        "combine",
        "text",
        "how the votes of several judges or draws become one level. majority: what most gave, of equally many the "
        "lower (default). median: the middle one, the lower of two. strict: the lowest. mean: the mean, cut down to a "
        "level. weighted: what has most weight by --sciagent-weights. A failed answer is no vote; where half of the "
        "votes or more failed there is no level",
        choices=RULES,
    ),
    Option(
        "weights",
        "text",
        "what the votes of a panel weigh under --sciagent-combine=weighted: a file that `sciagent ensemble` made of "
        "people's labels. It holds for its judges, the words of the prompts and its rubric only",
        "FILE",
    ),
)


def read_panel(given: Values) -> PanelOptions:
    """The panel options of this session.

    Raises:
        pytest.UsageError: a value that can't be used.
    """
    try:
        draws = parse_draws(given.text("draws") or "1")
    except SciagentError as error:
        raise pytest.UsageError(f"--sciagent-{error}") from None
    name = given.text("combine")
    rule = next((rule for rule in RULES if rule == name), DEFAULT_RULE)
    if rule != WEIGHTED and given.is_given("weights"):
        raise pytest.UsageError(f"--sciagent-weights belongs to --sciagent-combine={WEIGHTED}")
    return PanelOptions(draws, rule, given.path("weights") if rule == WEIGHTED else None)
