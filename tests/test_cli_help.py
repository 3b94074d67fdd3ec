"""Every command of `sciagent`: help that shows how it is called, and examples that the program takes."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator

import click
import pytest

from pytest_sciagent.cli import cli

ROOT = click.Context(cli, info_name="sciagent")


def commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Each command that does something, by the words that call it."""
    for name in group.list_commands(ROOT):
        command = group.get_command(ROOT, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands())


def examples(command: click.Command) -> list[str]:
    """The lines of the help that are commands to type, continued lines joined, without comments."""
    lines = inspect.cleandoc(command.help or "").replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.startswith("    sciagent ") or "$(sciagent " in line]


def parsed(words: list[str]) -> click.Context:
    """The words of a call as the program parses them; nothing is done."""
    context, command = ROOT, cli
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        if found is None:  # a group whose first word may be left out: `sciagent induce TASK`
            words = command.make_context(words[0], list(words), parent=context).protected_args + words
            found = command.get_command(context, words[0])
        assert found is not None, words
        context, command, words = click.Context(found, info_name=words[0], parent=context), found, words[1:]
    return command.make_context(command.name, list(words), parent=context)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_commands_help_says_what_it_does_and_shows_a_call_of_it(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    first = (command.help or "").splitlines()[0]
    assert first.strip()
    assert first[0].isupper()
    mine = f"sciagent {' '.join(path)}"
    assert any(f"{line} ".startswith(f"{mine} ") or f"$({mine} " in line for line in examples(command))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_examples_in_a_commands_help_are_calls_that_it_takes(path: tuple[str, ...]) -> None:
    """Parsed by the program itself: names of options, what they take, and how many arguments there are."""
    for line in examples(COMMANDS[path]):
        within = re.fullmatch(r'eval "\$\((.*?)\)".*', line)
        words = shlex.split(within[1] if within else line, comments=True)
        parsed(words[1 : words.index(">")] if ">" in words else words[1:])


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_that_is_not_plain_by_its_name_has_help(path: tuple[str, ...]) -> None:
    plain = {
        *("--harness-version", "--input-tokens", "--output-tokens", "--cost-usd", "--status", "--layout", "--pause"),
        *("--report", "--ledger", "--judge", "--domain"),
    }
    options = [p for p in COMMANDS[path].params if isinstance(p, click.Option) and not plain & set(p.opts)]
    assert [option.opts[-1] for option in options if not option.help] == []
