"""One option, its twin in configuration files, and how the value of both is read: all options are made from lists of
these."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

Kind = Literal["flag", "text", "words", "number", "count"]
_TWINS: dict[Kind, Any] = {"flag": "bool", "text": "string", "words": "args", "number": "string", "count": "string"}


@dataclass(frozen=True, slots=True)
class Option:
    """The option `--sciagent-NAME` and its twin `sciagent_NAME`.

    kind: flag; text; words (repeatable; separated by white space in a file); number (above 0); count (1 or more).
    twin: False for what belongs to one session alone, so that no file may say it.
    """

    name: str
    kind: Kind
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    twin: bool = True

    @property
    def flag(self) -> str:
        return f"--sciagent-{self.name.replace('_', '-')}"

    @property
    def key(self) -> str:
        """Its name in configuration files, and among pytest's options."""
        return f"sciagent_{self.name}"


def declare(options: Iterable[Option], group: Any, parser: Any) -> None:
    """Let pytest know the options and their twins."""
    for option in options:
        if option.kind == "flag":
            how: dict[str, Any] = {"action": "store_true", "default": False}
        elif option.kind == "words":
            how = {"action": "append", "default": [], "metavar": option.metavar}
        else:
            how = {"default": None, "metavar": option.metavar}
        if option.choices is not None:
            how = {"default": None, "choices": option.choices}
        group.addoption(option.flag, help=option.help, **how)
        if option.twin:
            parser.addini(option.key, f"as {option.flag}", type=_TWINS[option.kind])


class Values:
    """What the user gave for `options`: on the command line, else in the configuration file."""

    def __init__(self, config: pytest.Config, options: Iterable[Option]) -> None:
        self._config = config
        self._options = {option.name: option for option in options}

    def flag(self, name: str) -> bool:
        """Whether it is given, or set."""
        return bool(self._value(name))

    def words(self, name: str) -> tuple[str, ...]:
        """All that is given, else all that is set."""
        return tuple(self._value(name) or ())

    def text(self, name: str) -> str | None:
        """None where nothing is given nor set.

        Raises:
            pytest.UsageError: a value in the file that is not among the choices.
        """
        text, choices = self._value(name) or None, self._options[name].choices
        if text is not None and choices is not None and text not in choices:
            raise pytest.UsageError(f"{self.spelled(name)} {text!r}: choose from {', '.join(choices)}")
        return text

    def number(self, name: str) -> float | None:
        """None where nothing is given nor set.

        Raises:
            pytest.UsageError: no number, or one that is not above 0.
        """
        return self._positive(name, float, "write a number above 0")

    def count(self, name: str) -> int | None:
        """As `number`, but whole."""
        value = self._positive(name, int, "write a whole number, at least 1")
        return None if value is None else int(value)

    def _positive(self, name: str, kind: type[float], wanted: str) -> float | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            number = kind(text)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise pytest.UsageError(f"{self.spelled(name)} {text}: {wanted}")
        return number

    def path(self, name: str) -> Path | None:
        """The path given, from where pytest was started; else the one set, from the root. Links are kept."""
        text = self.text(name)
        return None if text is None else self.place(name, text)

    def place(self, name: str, path: str) -> Path:
        """Where `path`, a value of `name`, lies."""
        base = self._config.invocation_params.dir if self.is_given(name) else self._config.rootpath
        return Path(os.path.abspath(base / path))  # noqa: PTH100

    def folders(self, name: str) -> tuple[Path, ...]:
        """The words of `name` as folders.

        Raises:
            pytest.UsageError: there is no such folder.
        """
        texts = self.words(name) if self._options[name].kind == "words" else (self.text(name),)
        return tuple(self._folder(name, text) for text in texts if text is not None)

    def folder_to_be(self, name: str) -> Path | None:
        """A folder that may not be there yet.

        Raises:
            pytest.UsageError: something else is in its place.
        """
        folder = self.path(name)
        if folder is not None and folder.exists() and not folder.is_dir():
            raise pytest.UsageError(f"{self.spelled(name)} {self.text(name)}: not a folder")
        return folder

    def _folder(self, name: str, text: str) -> Path:
        folder = self.place(name, text)
        if not folder.is_dir():
            raise pytest.UsageError(f"{self.spelled(name)} {text}: no such folder")
        return folder

    def is_given(self, name: str) -> bool:
        """Whether it stands on the command line."""
        return self._given(self._options[name]) is not None

    def spelled(self, name: str) -> str:
        """As the user wrote its name."""
        option = self._options[name]
        return option.flag if self.is_given(name) or not option.twin else option.key

    def _given(self, option: Option) -> Any:
        value = self._config.getoption(option.key)
        return None if value in (None, False, "", []) else value

    def _value(self, name: str) -> Any:
        option = self._options[name]
        given = self._given(option)
        return self._config.getini(option.key) if given is None and option.twin else given
