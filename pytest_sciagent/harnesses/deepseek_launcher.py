"""Starts DeepSeek Harness by its Python SDK for one turn: the prompt comes on standard input, events go out as JSON.

Run by the interpreter that has `deepseek-harness-sdk` installed. What the SDK of a version does not take is left out.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

SESSION = "sciagent"


def taken(call: Callable[..., Any], wished: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the `wished` arguments that `call` has parameters for."""
    known = inspect.signature(call).parameters
    return {name: value for name, value in wished.items() if name in known and value is not None}


def main() -> int:
    """Run one turn in the working directory; exit code 0 where the SDK gave an answer."""
    if "--version" in sys.argv[1:]:
        from importlib.metadata import version

        print(version("deepseek-harness-sdk"))
        return 0
    from deepseek_harness import DeepSeekHarness  # type: ignore[import-not-found]

    wished = {
        "cwd": os.getcwd(),  # noqa: PTH109
        "dsh_home": os.environ.get("DSH_HOME"),
        "model": os.environ.get("DEEPSEEK_MODEL"),
    }
    with DeepSeekHarness(**taken(DeepSeekHarness, wished)) as harness:
        result = harness.run(sys.stdin.read(), **taken(harness.run, {"session_id": SESSION}))
    usage = getattr(result, "usage", None)
    if usage is not None and not isinstance(usage, dict):
        usage = {name: getattr(usage, name, None) for name in ("input_tokens", "output_tokens")}
    answer = getattr(result, "final_response", None)
    print(json.dumps({"final_response": answer if isinstance(answer, str) else str(result), "usage": usage}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
