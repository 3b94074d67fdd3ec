"""What each harness is told on its command line, and what its output says of tokens and cost.

The command lines are those of the versions in `KNOWN_VERSIONS`; docs/tasks.md says where each comes from.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ..errors import SciagentError
from ..ledger.store import write_atomically
from ..models.system import SystemFile
from .reading import Meter, fill, is_count, json_object, pointed, text_at

KNOWN_VERSIONS = {
    "claude_code": "2.1.220",
    "codex": "0.149.0",
    "openscience": "2.0.1",
    "deepseek_harness": "0.1.0rc7",
    "openclaw": "2026.2.17",
}
_ID = "sciagent"
_LAUNCHER = Path(__file__).parent / "deepseek_launcher.py"


@dataclass(frozen=True)
class Turn:
    """One start of the harness: the first, or one (`number` from 1) that mends the delivery."""

    workspace: Path
    home: Path
    prompt: str
    number: int = 0
    session_id: str | None = None

    @property
    def prompt_file(self) -> Path:
        return self.home / f"prompt-{self.number}.md"


@dataclass(frozen=True)
class Start:
    """A command to start: arguments, what it reads on standard input, and variables on top of the common ones."""

    argv: tuple[str, ...]
    stdin: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


class Adapter:
    """One way to start a harness. Subclasses say how; this one starts the argv of the system file.

    log: the name of the log that standard output becomes. sessions: patterns of files below the home to keep as logs.
    """

    name = "argv"
    log = "stdout.txt"
    sessions: tuple[str, ...] = ()

    def __init__(self, system: SystemFile, key: str | None) -> None:
        self.system = system
        self.key = key

    # ---- to be started

    @property
    def program(self) -> tuple[str, ...]:
        """The program, without arguments that belong to a turn."""
        return self.system.command[:1]

    @property
    def version_argv(self) -> tuple[str, ...]:
        """What prints the version; empty where nobody knows."""
        return self.system.version_command

    def prepare(self, home: Path, workspace: Path) -> list[Start]:
        """Write the harness's own settings below `home`; what is to be run once before the first turn."""
        return []

    def start(self, turn: Turn) -> Start:
        """The command of a turn."""
        command = self.system.command
        if turn.number and self.system.continue_command:
            command = self.system.continue_command
        values = {
            "workspace": str(turn.workspace),
            "output": str(turn.workspace / "output"),
            "prompt": turn.prompt,
            "prompt_file": str(turn.prompt_file),
            "model": self.system.model or "",
        }
        environment = {}
        if self.key is not None and self.system.endpoint.key_variable:
            environment[self.system.endpoint.key_variable] = self.key
        argv = tuple(fill(part, values) for part in command)
        return Start(argv, turn.prompt if self.system.stdin else None, environment)

    def check(self) -> None:
        """See that the commands of all turns can be made, before the first is paid for.

        Raises:
            SciagentError: a name in braces that nobody knows.
        """
        for number in (0, 1):
            self.start(Turn(Path(), Path(), "", number))
        for part in self.system.container:
            fill(part, {"workspace": "", "home": ""})

    # ---- to be read

    def read(self, line: str, meter: Meter) -> None:
        """Take what a line of standard output tells of tokens and cost."""
        if not self.system.usage:
            return
        data = json_object(line)
        told = {name: pointed(data, pointer) for name, pointer in self.system.usage.items()}
        (meter.add if self.system.usage_sum else meter.set)(**told)


class _Packaged(Adapter):
    """A harness that is known by its program: the system file names another command only where it lies elsewhere."""

    usual: ClassVar[tuple[str, ...]]
    log = "transcript.jsonl"

    @property
    def program(self) -> tuple[str, ...]:
        return self.system.command or self.usual

    @property
    def version_argv(self) -> tuple[str, ...]:
        return self.system.version_command or (*self.program, "--version")


class ClaudeCode(_Packaged):
    """Claude Code, printing its events. Its session is kept in the run's own home, so that it can be resumed."""

    name = "claude_code"
    usual = ("claude",)

    def __init__(self, system: SystemFile, key: str | None) -> None:
        super().__init__(system, key)
        self._messages: dict[str, dict[str, object]] = {}

    def start(self, turn: Turn) -> Start:
        self._messages = {}
        argv = [*self.program, "--print", "--bare", "--dangerously-skip-permissions", "--model", str(self.system.model)]
        argv += ["--tools", "default", "--output-format", "stream-json", "--verbose"]
        if turn.number:
            argv += ["--resume", turn.session_id] if turn.session_id else ["--continue"]
        environment = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}
        if self.system.endpoint.url:
            environment["ANTHROPIC_BASE_URL"] = self.system.endpoint.url.rstrip("/").removesuffix("/v1")
        if self.key:
            environment |= {"ANTHROPIC_API_KEY": self.key, "ANTHROPIC_AUTH_TOKEN": self.key}
        return Start((*argv, *self.system.arguments, turn.prompt), None, environment)

    def read(self, line: str, meter: Meter) -> None:
        data = json_object(line)
        meter.session_id = text_at(data, "/session_id") or meter.session_id
        if data.get("type") == "assistant":
            # One message comes in several events, each with all that it has used so far.
            self._messages[text_at(data, "/message/id") or ""] = _anthropic(pointed(data, "/message/usage"))
            for name in ("input_tokens", "output_tokens"):
                counts = [count for used in self._messages.values() if is_count(count := used.get(name))]
                meter.set(**{name: sum(counts)})
        if data.get("type") == "result":
            meter.set(**_anthropic(data.get("usage")), cost_usd=data.get("total_cost_usd"))


def _anthropic(usage: Any) -> dict[str, object]:
    """Input with what was written to and read from the cache, and output."""
    if not isinstance(usage, dict):
        return {}
    parts = [usage.get(k) for k in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    known = [part for part in parts if is_count(part)]
    return {"input_tokens": sum(known) if known else None, "output_tokens": usage.get("output_tokens")}


class Codex(_Packaged):
    """Codex CLI, printing its events; the endpoint is a provider of its own in a written configuration."""

    name = "codex"
    usual = ("codex",)

    def prepare(self, home: Path, workspace: Path) -> list[Start]:
        lines = ['approval_policy = "never"', 'sandbox_mode = "danger-full-access"']
        if self.system.endpoint.url:
            lines += [f'model_provider = "{_ID}"', "", f"[model_providers.{_ID}]", f'name = "{_ID}"']
            lines += [f"base_url = {json.dumps(self.system.endpoint.url)}", 'wire_api = "responses"']
            lines += ["request_max_retries = 4", "stream_max_retries = 4", "stream_idle_timeout_ms = 300000"]
            if self.key:
                lines.append('env_key = "SCIAGENT_MODEL_KEY"')
        write_atomically(home / ".codex" / "config.toml", "\n".join(lines) + "\n")
        return []

    def start(self, turn: Turn) -> Start:
        common = ["--skip-git-repo-check", "--ignore-rules", "--dangerously-bypass-approvals-and-sandbox", "--json"]
        common += ["-m", str(self.system.model), *self.system.arguments]
        if turn.number:
            which = [turn.session_id] if turn.session_id else ["--last"]
            argv = [*self.program, "exec", "resume", *common, *which, "-"]
        else:
            argv = [*self.program, "exec", *common, "-C", str(turn.workspace), "-"]
        environment = {"CODEX_HOME": str(turn.home / ".codex")}
        if self.key:
            environment |= {"SCIAGENT_MODEL_KEY": self.key, "OPENAI_API_KEY": self.key, "CODEX_API_KEY": self.key}
        return Start(tuple(argv), turn.prompt, environment)

    def read(self, line: str, meter: Meter) -> None:
        data = json_object(line)
        if data.get("type") == "thread.started":
            meter.session_id = text_at(data, "/thread_id") or meter.session_id
        if data.get("type") == "turn.completed" and isinstance(data.get("usage"), dict):
            meter.add(input_tokens=data["usage"].get("input_tokens"), output_tokens=data["usage"].get("output_tokens"))


class OpenScience(_Packaged):
    """OpenScience; its endpoint is registered first, with the key in a variable where the harness reads one."""

    name = "openscience"
    usual = ("openscience",)

    def prepare(self, home: Path, workspace: Path) -> list[Start]:
        if not self.system.endpoint.url:
            return []
        # The harness takes the key on its command line only.
        argv = [*self.program, "local", "add", "--url", self.system.endpoint.url, "--model", str(self.system.model)]
        argv += ["--id", _ID, "--key", self.key or "none", "--default"]
        return [Start(tuple(argv))]

    def start(self, turn: Turn) -> Start:
        model = str(self.system.model)
        model = f"{_ID}/{model}" if self.system.endpoint.url else model
        argv = [*self.program, "run", "--model", model, "--agent", "research", "--format", "json"]
        argv += ["--continue"] if turn.number else []
        return Start((*argv, *self.system.arguments, turn.prompt))

    def read(self, line: str, meter: Meter) -> None:
        data = json_object(line)
        if data.get("type") != "step_finish" or not isinstance(data.get("part"), dict):
            return
        part = data["part"]
        for name in ("/tokens/input", "/tokens/cache/read", "/tokens/cache/write"):
            meter.add(input_tokens=pointed(part, name))
        for name in ("/tokens/output", "/tokens/reasoning"):
            meter.add(output_tokens=pointed(part, name))
        meter.add(cost_usd=part.get("cost"))


class DeepSeekHarness(_Packaged):
    """DeepSeek Harness by its Python SDK, in a process of its own: `deepseek_launcher.py` makes one call a turn."""

    name = "deepseek_harness"
    usual = (sys.executable,)
    sessions = (".dsh/**/*.jsonl",)

    @property
    def version_argv(self) -> tuple[str, ...]:
        return self.system.version_command or (*self.program, str(_LAUNCHER), "--version")

    def start(self, turn: Turn) -> Start:
        argv = (*self.program, str(_LAUNCHER), *self.system.arguments)
        environment = {"DSH_HOME": str(turn.home / ".dsh")}
        if self.system.model:
            environment["DEEPSEEK_MODEL"] = self.system.model
        if self.system.endpoint.url:
            environment["DEEPSEEK_BASE_URL"] = self.system.endpoint.url
        if self.key:
            environment["DEEPSEEK_API_KEY"] = self.key
        return Start(argv, turn.prompt, environment)

    def read(self, line: str, meter: Meter) -> None:
        usage = json_object(line).get("usage")
        if isinstance(usage, dict):
            meter.set(
                input_tokens=usage.get("input_tokens", usage.get("prompt_tokens")),
                output_tokens=usage.get("output_tokens", usage.get("completion_tokens")),
            )


class OpenClaw(_Packaged):
    """OpenClaw's embedded agent, one turn a start; its JSON comes as one document at the end."""

    name = "openclaw"
    usual = ("openclaw",)
    log = "answer.json"
    sessions = (".openclaw/agents/main/sessions/*.jsonl",)
    _MAX = 20_000_000

    def __init__(self, system: SystemFile, key: str | None) -> None:
        super().__init__(system, key)
        self._text: list[str] = []
        self._size = 0

    def prepare(self, home: Path, workspace: Path) -> list[Start]:
        setup = Start((*self.program, "setup", "--workspace", str(workspace)))
        if not self.system.endpoint.url:
            return [setup]
        argv = [*self.program, "onboard", "--non-interactive", "--accept-risk", "--mode", "local"]
        argv += ["--auth-choice", "custom-api-key", "--custom-base-url", self.system.endpoint.url]
        argv += ["--custom-model-id", str(self.system.model), "--custom-api-key", self.key or "none"]
        argv += ["--skip-channels", "--skip-skills", "--skip-health", "--skip-ui", "--skip-daemon", "--json"]
        return [Start(tuple(argv)), setup]

    def start(self, turn: Turn) -> Start:
        self._text, self._size = [], 0
        argv = [*self.program, "agent", "--local", "--agent", "main", "--session-id", _ID]
        argv += ["--message", turn.prompt, "--json", *self.system.arguments]
        if self.system.limits.wall_s is not None:
            argv += ["--timeout", str(max(1, int(self.system.limits.wall_s)))]
        return Start(tuple(argv))

    def read(self, line: str, meter: Meter) -> None:
        if self._size + len(line) > self._MAX:
            return
        self._size += len(line)
        self._text.append(line)
        if line.strip() != "}" and not line.startswith("{"):
            return
        usage = pointed(json_object("\n".join(self._text)), "/meta/agentMeta/usage")
        if isinstance(usage, dict):
            read = [v for k in ("input", "cacheRead", "cacheWrite") if is_count(v := usage.get(k))]
            meter.set(input_tokens=sum(read) if read else None, output_tokens=usage.get("output"))


_ADAPTERS: Sequence[type[Adapter]] = (Adapter, ClaudeCode, Codex, OpenScience, DeepSeekHarness, OpenClaw)


def adapter_of(system: SystemFile, environ: Mapping[str, str]) -> Adapter:
    """The adapter that a system file names.

    Raises:
        SciagentError: the variable that holds its key is not set, or nothing is started by this harness.
    """
    if system.harness == "handoff":
        raise SciagentError(
            "harness handoff starts nothing: use sciagent assemble, then sciagent freeze; or sciagent revise"
        )
    kinds: Mapping[str, type[Adapter]] = {kind.name: kind for kind in _ADAPTERS}
    return kinds[system.harness](system, system.key(environ))
