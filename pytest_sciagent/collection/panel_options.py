"""Options about panels: how often each judge is asked, and how votes become one level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ..errors import SciagentError
from ..judging.draws import AUTO_MOST, DEFAULT_RULE, RULES, Draws, Rule, parse_draws


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """How often each judge is asked the same question, and the rule by which the votes are combined."""

    draws: Draws
    rule: Rule


def add_panel(group: Any, parser: pytest.Parser) -> None:
    """Declare the options and their ini twins."""
    add = group.addoption
    add(
        "--sciagent-draws",
        default=None,
        metavar="K|auto",
        help="ask every judge each question about a criterion K times (default 1). auto: twice, and up to "
        f"{AUTO_MOST} times (auto:N: up to N times) only where the first two answers differ",
    )
    add(
        "--sciagent-combine",
        default=None,
        choices=RULES,
        help="how the votes of several judges or draws become one level. majority: what most gave, of equally many the "
        "lower (default). median: the middle one, the lower of two. strict: the lowest. mean: the mean, cut down to a "
        "level. A failed answer is no vote; where half of the votes or more failed there is no level",
    )
    parser.addini("sciagent_draws", "draws of each judge, as --sciagent-draws", type="string")
    parser.addini("sciagent_combine", "how votes are combined, as --sciagent-combine", type="string")


def read_panel(config: pytest.Config) -> PanelOptions:
    """The panel options of this session.

    Raises:
        pytest.UsageError: a value that can't be used.
    """
    given = config.getoption("sciagent_draws") or str(config.getini("sciagent_draws")) or "1"
    try:
        draws = parse_draws(given)
    except SciagentError as error:
        raise pytest.UsageError(f"--sciagent-{error}") from None
    name = config.getoption("sciagent_combine") or str(config.getini("sciagent_combine")) or DEFAULT_RULE
    rule = next((rule for rule in RULES if rule == name), None)
    if rule is None:
        raise pytest.UsageError(f"sciagent_combine {name!r}: choose from {', '.join(RULES)}")
    return PanelOptions(draws, rule)
