"""A system file (schema sciagent-system/1): which harness with which model, how it is started, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from ..errors import SciagentError
from .base import Model, Name, NonEmpty

Harness = Literal["argv", "claude_code", "codex", "openscience", "deepseek_harness", "openclaw", "handoff"]
COUNTS = ("input_tokens", "output_tokens", "cost_usd")


class Endpoint(Model):
    """Where the model answers. The key is never in the file: `key_variable` names the variable that holds it."""

    url: NonEmpty | None = None
    key_variable: NonEmpty | None = None


class Limits(Model):
    """When a run is stopped: seconds from its start, tokens and cost as the harness tells them; None: no limit."""

    wall_s: float | None = Field(3600, gt=0)
    tokens: int | None = Field(None, gt=0)
    cost_usd: float | None = Field(None, gt=0)
    log_bytes: int = Field(200_000_000, gt=0)


class SystemFile(Model):
    """How one system is run. With harness `handoff` nothing is started: a person or a program outside does the work.

    command: of an argv harness, the program and its arguments, with {workspace}, {prompt}, {prompt_file}, {output} and
        {model}; of another, the program to start instead of the usual one.
    continue_command: how an argv harness is told to mend its delivery; {prompt} then holds what to mend. Without one,
        `command` is started again.
    version_command: prints the version on its first line.
    stdin: whether an argv harness reads the prompt there.
    arguments: more arguments for a harness other than argv.
    environment: variables to set; `pass_environment`: variables to hand on as they are.
    usage: of an argv harness, for each of input_tokens, output_tokens, cost_usd the JSON pointer of its number in lines
        of JSON on standard output. `usage_sum`: whether the numbers of all lines add up, or the last one counts.
    container: a command to put before the harness's own, such as docker run.
    prompts: files, counted from this one's folder, whose text the agent is told before the task's prompt. A run records
        their hashes under their names, so that a gate can tell whether it was made with today's prompts.
    """

    schema_: Literal["sciagent-system/1"] = Field(alias="schema")
    name: Name
    harness: Harness
    harness_version: str | None = None
    model: str | None = None
    command: tuple[NonEmpty, ...] = ()
    continue_command: tuple[NonEmpty, ...] = ()
    version_command: tuple[NonEmpty, ...] = ()
    stdin: bool = False
    arguments: tuple[str, ...] = ()
    endpoint: Endpoint = Endpoint()
    environment: dict[str, str] = {}
    pass_environment: tuple[NonEmpty, ...] = ()
    fixing_turns: int = Field(2, ge=0, le=20)
    limits: Limits = Limits()
    usage: dict[str, NonEmpty] = {}
    usage_sum: bool = False
    container: tuple[NonEmpty, ...] = ()
    prompts: tuple[NonEmpty, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> SystemFile:
        if self.harness == "argv" and not self.command:
            raise ValueError("harness argv needs a command")
        if self.harness != "argv" and (self.continue_command or self.stdin or self.usage):
            raise ValueError("continue_command, stdin and usage are for harness argv; the others know their own")
        if self.harness not in ("argv", "deepseek_harness", "handoff") and not self.model:
            raise ValueError(f"harness {self.harness} needs a model")
        if self.harness == "handoff" and self.prompts:
            raise ValueError("with harness handoff nobody is started who could be told the prompts")
        unknown = [key for key in self.usage if key not in COUNTS]
        if unknown:
            raise ValueError(f"usage has no {unknown[0]!r}; it has {', '.join(COUNTS)}")
        return self

    def key(self, environ: Mapping[str, str]) -> str | None:
        """The key of the endpoint; None where none is named.

        Raises:
            SciagentError: the variable is not set.
        """
        name = self.endpoint.key_variable
        if name is None:
            return None
        if not environ.get(name):
            raise SciagentError(f"endpoint: the variable {name} is not set; put the key there")
        return environ[name]
