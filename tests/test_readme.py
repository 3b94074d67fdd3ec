"""What the README and its pages show is what the program prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click

from pytest_sciagent.cli import cli

ROOT = Path(__file__).parent.parent


def test_the_comparison_is_as_printed() -> None:
    page = (ROOT / "docs" / "comparing.md").read_text()
    block = page.split("    sciagent compare runs/plain runs/guided\n", 1)[1].split("```\n", 2)[1]
    main = "from pytest_sciagent.cli import main; main()"
    command = [sys.executable, "-c", main, "compare", "runs/plain", "runs/guided"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n\n")
    shown = block.removesuffix("\n").split("\n\n")
    assert [part.split(":")[0] for part in shown[1:]] == ["SYSTEMS", "PAIRS", "WEIGHTS", "YIELD"]
    assert [part for part in shown if part not in [p.rstrip("\n") for p in printed]] == []
    block = (
        (ROOT / "README.md")
        .read_text()
        .split("    sciagent compare runs/plain runs/guided\n", 1)[1]
        .split("```\n", 2)[1]
    )
    assert block.removesuffix("\n").split("\n\n") == shown[1:3]


def parts(text: str) -> list[str]:
    """The parts of what a session prints at its end, which blank lines set apart; without pytest's last line."""
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith("====")]
    return "\n".join(lines).strip("\n").split("\n\n")


def test_the_table_of_the_six_runs_is_as_printed() -> None:
    readme = (ROOT / "README.md").read_text()
    block = readme.split("```\n6 runs", 1)[1].split("```", 1)[0]
    command = [sys.executable, "-m", "pytest", "--sciagent-run=runs/", "-q", "--tb=no", "-r", "N", "-v"]
    done = subprocess.run([*command, "-p", "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout[-2000:]
    printed = parts(done.stdout[done.stdout.index("6 runs") :])
    shown = parts(f"6 runs{block}")
    assert [part for part in shown if part not in printed] == []  # each part whole
    assert shown == [part for part in printed if part in shown]  # and in its order
    heads = {part.split("\n")[0].split(" ")[0] for part in shown}
    assert heads == {"6", "claude-guided", "claude-plain", "share", "perturbations", "claude-guided:"}


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*/README.md"))]


def test_every_option_of_a_session_has_a_page_and_every_option_named_exists() -> None:
    command = [sys.executable, "-m", "pytest", "--help", "-p", "no:cacheprovider"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    option = re.compile(r"--sciagent-[a-z]+(?:-[a-z]+)*")
    assert {name for page in PAGES for name in option.findall(page.read_text())} == set(option.findall(told))


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], set[str]]:
    context = click.Context(command)
    found = {path: {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found |= _commands(inner, (*path, name))
    return found


def test_every_command_has_a_page_and_its_options_exist() -> None:
    commands = _commands(cli)
    named = set()
    for page in PAGES:
        for words, rest in re.findall(r"[ `]sciagent ((?:[a-z-]+ ?)+)([^`|\n]*)", page.read_text()):
            *_, path = [p for n in range(len(words.split()) + 1) if (p := tuple(words.split()[:n])) in commands]
            named.add(path)
            known = set().union(*(options for p, options in commands.items() if p[: len(path)] == path))
            unknown = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)) - known - {"--help"}
            assert not (path and unknown), (page.name, path, unknown)
    hooks_for_the_action = {("ci", "keep-records")}
    groups = {path[:1] for path in commands if len(path) > 1}
    assert {path for path in commands if path} - groups - hooks_for_the_action <= named


def test_every_link_leads_somewhere() -> None:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(((?!http)[^)#]*)#?([^)]*)\)", page.read_text()):
            place = page.parent / target if target else page
            assert place.exists(), (page.name, target)
            if anchor:
                heads = re.findall(r"^#+ (.*)$", place.read_text(), re.MULTILINE)
                assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}, anchor
