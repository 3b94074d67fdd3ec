"""Runs the steps of the composite action as GitHub's runner would, with files of our own in place of GitHub's.

Steps that use other actions are only noted. Of the language of expressions it knows what the action is written in:
inputs, outputs of steps, `github`, text, `==`, `!=`, `&&`, `||`, brackets and `always()`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
_TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>[A-Za-z_][\w.-]*(?:\(\))?)|(?P<sign>==|!=|&&|\|\||[()]))")
_SIGNS = {"&&": "and", "||": "or"}


@dataclass
class Done:
    """What a run of the action did: each step's exit code (None: skipped), its outputs, and what was printed."""

    codes: dict[str, int | None] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""
    uses: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(code for code in self.codes.values())


def run_action(folder: Path, inputs: Mapping[str, str], environ: Mapping[str, str], **github: str) -> Done:
    """Run the action in `folder`. `environ` is added to this process's; GITHUB_OUTPUT and its like are made here."""
    unknown = set(inputs) - set(ACTION["inputs"])
    assert not unknown, unknown
    values = {f"github.{name}": value for name, value in github.items()}
    values |= {f"inputs.{name}": str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()}
    values["inputs.token"] = ""
    values |= {f"inputs.{name}": value for name, value in inputs.items()}
    temporary = folder / ".git" / "runner"
    temporary.mkdir(parents=True, exist_ok=True)
    done = Done()
    for number, step in enumerate(ACTION["runs"]["steps"]):
        condition = str(step.get("if", "success()"))
        wanted = "always()" in condition or not done.failed
        if not wanted or not _value(condition, values):
            done.codes[step["name"]] = None
        elif "uses" in step:
            done.uses.append(step["uses"])
        else:
            output = temporary / f"output-{number}"
            output.write_text("")
            code = _run(
                step, folder, values, {**environ, "RUNNER_TEMP": str(temporary), "GITHUB_OUTPUT": str(output)}, done
            )
            done.codes[step["name"]] = code
            for name, value in read_outputs(output.read_text("utf-8")).items():
                values[f"steps.{step.get('id')}.outputs.{name}"] = value
    for name, spec in ACTION["outputs"].items():
        done.outputs[name] = _filled(spec["value"], values)
    return done


def _run(step: dict[str, Any], folder: Path, values: Mapping[str, str], environ: Mapping[str, str], done: Done) -> int:
    env = {name: _filled(str(value), values) for name, value in step.get("env", {}).items()}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    python = {"PYTHONPATH": str(ROOT), "PATH": path}
    assert step["shell"] == "bash"
    assert "${{" not in step["run"], "what a user gives reaches a shell by its environment only"
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    environment = {**os.environ, **python, **environ, **env}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    done.log += f"--- {step['name']}\n{ran.stdout}{ran.stderr}"
    return ran.returncode


def read_outputs(text: str) -> dict[str, str]:
    """The outputs in a GITHUB_OUTPUT file."""
    lines, found = text.splitlines(), {}
    while lines:
        name, mark = lines.pop(0).split("<<")
        end = lines.index(mark)
        found[name] = "\n".join(lines[:end])
        del lines[: end + 1]
    return found


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{(.*?)\}\}", lambda match: str(_value(match[1], values)), text)


def _value(expression: str, values: Mapping[str, str]) -> Any:
    python, place = [], 0
    expression = expression.strip()
    while place < len(expression):
        token = _TOKEN.match(expression, place)
        assert token is not None, f"not understood: {expression[place:]}"
        place = token.end()
        if token["text"] is not None:
            python.append(repr(token["text"][1:-1].replace("''", "'")))
        elif token["name"] in ("always()", "success()"):
            python.append("True")
        elif token["name"] is not None:
            python.append(repr(values.get(token["name"], "")))
        else:
            python.append(_SIGNS.get(token["sign"], token["sign"]))
    return eval(" ".join(python), {"__builtins__": {}})  # noqa: S307 - words that were tokenised above
