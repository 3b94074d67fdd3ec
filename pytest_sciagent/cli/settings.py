"""What pytest's configuration says about sciagent, read without starting pytest."""

from __future__ import annotations

import difflib
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from configparser import Error as IniError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PREFIX = "sciagent_"
_SECTIONS = {
    "pytest.toml": ("pytest",),
    ".pytest.toml": ("pytest",),
    "pytest.ini": ("pytest",),
    ".pytest.ini": ("pytest",),
    "pyproject.toml": ("tool.pytest.ini_options", "tool.pytest"),
    "tox.ini": ("pytest",),
    "setup.cfg": ("tool:pytest",),
}
"""Files in which pytest looks, in its order, and the sections that count there."""


@dataclass(frozen=True)
class Settings:
    """The configuration that pytest takes from a folder on: the file, its values, or what is wrong with it."""

    path: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None

    @property
    def folder(self) -> Path | None:
        """What paths in the file start from."""
        return None if self.path is None else self.path.parent

    def words(self, name: str) -> tuple[str, ...]:
        """The value of `name` as a list of words; empty where it is not set."""
        value = self.values.get(name, ())
        try:
            return tuple(shlex.split(value)) if isinstance(value, str) else tuple(map(str, value))
        except (TypeError, ValueError):
            return ()

    def text(self, name: str) -> str | None:
        """The value of `name` as text; None where it is not set."""
        value = self.values.get(name)
        return value.strip() or None if isinstance(value, str) else None

    def mistakes(self) -> Iterator[str]:
        """Names that nobody knows, with the nearest known one: in the file, and in the options it adds."""
        names, options = known_names()
        for name in self.values:
            if name.startswith(PREFIX) and name not in names:
                yield f"{name} is not known{_nearest(name, names)}"
        for word in self.words("addopts"):
            option = word.partition("=")[0]
            if option.startswith("--sciagent-") and not any(known.startswith(option) for known in options):
                yield f"addopts: {option} is not known{_nearest(option, options)}"


def find_settings(folder: Path) -> Settings:
    """The settings that pytest finds from `folder` upwards."""
    for place in (folder, *folder.parents):
        for name, sections in _SECTIONS.items():
            path = place / name
            if path.is_file():
                found = _read(path, sections)
                if found is not None:
                    return found
    return Settings()


def _read(path: Path, sections: tuple[str, ...]) -> Settings | None:
    try:
        parsed = _toml(path) if path.suffix == ".toml" else _ini(path)
    except (OSError, ValueError, IniError) as error:
        return Settings(path, problem=f"can't be read: {error}")
    for section in sections:
        if section in parsed:
            return Settings(path, parsed[section])
    return Settings(path) if path.stem.endswith("pytest") else None


def _toml(path: Path) -> dict[str, Any]:
    """The tables that hold a configuration of pytest, by their dotted names."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    found = {}
    for name in ("pytest", "tool.pytest", "tool.pytest.ini_options"):
        table: Any = data
        for part in name.split("."):
            table = table.get(part) if isinstance(table, dict) else None
        if isinstance(table, dict):
            found[name] = table
    return found


def _ini(path: Path) -> dict[str, Any]:
    from configparser import RawConfigParser

    parser = RawConfigParser(strict=True)
    parser.read_string(path.read_text(encoding="utf-8"), str(path))
    return {section: dict(parser[section]) for section in parser.sections()}


class _Declared:
    """Stands in for pytest's parser, and for its group, and notes the names that the plugin declares."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.options: set[str] = set()

    def getgroup(self, *args: Any, **kwargs: Any) -> _Declared:
        return self

    def addoption(self, *options: str, **kwargs: Any) -> None:
        self.options.update(options)

    def addini(self, name: str, *args: Any, **kwargs: Any) -> None:
        self.names.add(name)


def known_names() -> tuple[frozenset[str], frozenset[str]]:
    """All names for configuration files, and all options, that the plugin declares."""
    from ..collection.options import add_options

    declared: Any = _Declared()
    add_options(declared)
    return frozenset(declared.names), frozenset(declared.options)


def _nearest(name: str, known: frozenset[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


# ---- what is set, as defaults of a command that does without pytest


def text_set(name: str) -> Callable[[], str | None]:
    """What the configuration here says of the session's option `name`, when it is asked for."""
    return lambda: find_settings(Path.cwd()).text(PREFIX + name)


def flag_set(name: str) -> Callable[[], bool]:
    """Whether it is switched on."""
    return lambda: str(find_settings(Path.cwd()).values.get(PREFIX + name, "")).lower() in ("true", "yes", "on", "1")


def words_set(name: str, *, split: bool = True) -> Callable[[], tuple[str, ...]]:
    """Its words; the whole text as one where it is not to be `split`."""

    def words() -> tuple[str, ...]:
        text = text_set(name)()
        return find_settings(Path.cwd()).words(PREFIX + name) if split else (text,) if text else ()

    return words


def paths_set(name: str) -> Callable[[], tuple[str, ...]]:
    """Its words as paths, which start from the folder of the configuration."""

    def paths() -> tuple[str, ...]:
        settings = find_settings(Path.cwd())
        return tuple(str((settings.folder or Path.cwd()) / word) for word in settings.words(PREFIX + name))

    return paths


def path_set(name: str) -> Callable[[], str | None]:
    """As `paths_set`, for one that may hold white space."""

    def path() -> str | None:
        settings = find_settings(Path.cwd())
        text = settings.text(PREFIX + name)
        return str((settings.folder or Path.cwd()) / text) if text else None

    return path
