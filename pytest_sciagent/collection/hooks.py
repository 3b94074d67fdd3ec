"""Hooks that users implement: a mistake in one is bad input, told with the exception, its file and its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ..errors import SciagentError, raised

if TYPE_CHECKING:
    from ..checks.base import Check


def call_hook(config: pytest.Config, name: str, **given: Any) -> Any:
    """What the hook `name` returns.

    Raises:
        SciagentError: an implementation has failed.
    """
    try:
        return getattr(config.hook, name)(config=config, **given)
    except (SciagentError, pytest.UsageError, pytest.exit.Exception):
        raise
    except Exception as error:
        raise SciagentError(f"the hook {name} failed: {raised(error)}") from error


def brought_rubrics(config: pytest.Config) -> list[Any]:
    """The rubrics that users bring along: models, files or names.

    Raises:
        SciagentError: see `call_hook`; one gives no list.
    """
    found: list[Any] = []
    for rubrics in call_hook(config, "pytest_sciagent_rubrics"):
        if not isinstance(rubrics, list | tuple | None):
            raise SciagentError(f"the hook pytest_sciagent_rubrics must return a list, not {type(rubrics).__name__}")
        found += rubrics or ()
    return found


def own_checks(config: pytest.Config) -> dict[str, Check]:
    """The users' checks by name.

    Raises:
        SciagentError: see `call_hook`; one gives no functions by name, or a name that is taken.
    """
    from ..checks import builtin_checks

    shipped = builtin_checks()
    own: dict[str, Check] = {}
    for checks in call_hook(config, "pytest_sciagent_checks"):
        if not isinstance(checks, dict | None) or not all(map(callable, (checks or {}).values())):
            raise SciagentError("the hook pytest_sciagent_checks must return a dict of functions by their names")
        for name, check in (checks or {}).items():
            if name in shipped or name in own:
                raise SciagentError(f"a check named {name!r} exists already; give yours another name")
            own[name] = check
    return own
