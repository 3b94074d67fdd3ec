"""What a run's logs and transcripts say that it did: commands, files read and written, pages fetched."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Literal

from .columns import vocabulary
from .times import logged_command

ActionKind = Literal["command", "read", "write", "network"]
MAX_LINES = 200_000
MAX_LINE = 2_000_000
_MAX_NODES = 20_000
_COMMANDS = ("command", "cmd", "script")
_PATHS = ("file_path", "filePath", "filepath", "path", "notebook_path", "filename")
_WEB = vocabulary("webfetch websearch webfetchtool websearchtool browser browse fetch search internet")
_READS = ("read", "view", "open", "cat", "grep", "glob", "search", "list", "ls")
_WRITES = ("write", "edit", "create", "multiedit", "applypatch", "notebookedit", "filechange")
_NOT_LETTER = re.compile(r"[^a-z]")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a log says was done: a command, a path that was read or written, or what was fetched."""

    kind: ActionKind
    line: int
    text: str


def decoded_lines(text: str) -> list[tuple[int, str]]:
    """The lines of a log as people would read them: a line of JSON as the strings in it, one below the other."""
    lines = []
    for number, line in enumerate(text.split("\n")[:MAX_LINES], 1):
        data = _json(line)
        lines.append((number, line if data is None else "\n".join(_strings(data))))
    return lines


def actions(text: str) -> list[Action]:
    """What a log says was done, in its order."""
    found: list[Action] = []
    for number, line in enumerate(text.split("\n")[:MAX_LINES], 1):
        data = _json(line)
        if data is not None:
            found += _of_json(number, data)
        elif (command := logged_command(line)) is not None:
            found.append(Action("command", number, command))
    return list(dict.fromkeys(found))


def _json(line: str) -> Any:
    text = line.strip()
    if not text.startswith(("{", "[")) or len(text) > MAX_LINE:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _strings(data: Any) -> Iterator[str]:
    waiting, count = [data], 0
    while waiting and count < _MAX_NODES:
        node = waiting.pop()
        count += 1
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            for key, value in reversed(node.items()):
                waiting += [value, key]
        elif isinstance(node, list):
            waiting += reversed(node)


def _of_json(number: int, data: Any) -> Iterator[Action]:
    """Tool calls anywhere in a line: a node with the tool's name, and its arguments beside or below it."""
    waiting: list[tuple[Any, str]] = [(data, "")]
    count = 0
    while waiting and count < _MAX_NODES:
        node, tool = waiting.pop()
        count += 1
        if isinstance(node, list):
            waiting += ((inner, tool) for inner in reversed(node))
        elif isinstance(node, dict):
            name = next((node[key] for key in ("name", "tool", "toolName") if isinstance(node.get(key), str)), None)
            kind = node.get("type")
            if name is None and isinstance(kind, str) and _plain(kind) in _WEB:
                name = kind
            tool = _plain(name) if name is not None else tool
            yield from _of_call(number, node, tool)
            for key, value in reversed(node.items()):
                waiting.append((_arguments(value) if key in ("arguments", "input") else value, tool))


def _plain(name: str) -> str:
    return _NOT_LETTER.sub("", name.lower())


def _arguments(value: Any) -> Any:
    """Arguments that a provider gives as JSON in a string."""
    parsed = _json(value) if isinstance(value, str) else None
    return value if parsed is None else parsed


def _of_call(number: int, node: dict[Any, Any], tool: str) -> Iterator[Action]:
    for key in _COMMANDS:
        value = node.get(key)
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            value = value[-1] if len(value) == 3 and value[1] in ("-c", "-lc") else " ".join(value)
        if isinstance(value, str) and value.strip():
            yield Action("command", number, value)
    if tool in _WEB:
        target = next((node[key] for key in ("url", "query", "q") if isinstance(node.get(key), str)), None)
        if target is not None:
            yield Action("network", number, f"{tool} {target}")
    for key in _PATHS:
        path = node.get(key)
        if isinstance(path, str) and tool.startswith(_WRITES):
            yield Action("write", number, path)
        elif isinstance(path, str) and tool.startswith(_READS):
            yield Action("read", number, path)


# ---- commands taken apart

_OPERATORS = ";|&\n()"
_READERS = vocabulary(
    "cat head tail less more sed awk gawk grep egrep rg cp mv diff cmp sort uniq cut paste wc od xxd strings file"
    " python python3 rscript julia bash sh source jq zcat gunzip tar unzip sha256sum md5sum nl tac column"
)
_PATTERN_FIRST = vocabulary("sed awk gawk grep egrep rg jq")
_SHELLS = vocabulary("bash sh zsh dash")
_BEFORE = vocabulary("sudo time timeout nohup env nice stdbuf exec")
_PATH = re.compile(r"(?:~|/|(?:\./)?\.\./)[^\s'\"`$<>|;&(){}=,\\]*")
_OPENED = re.compile(
    r"(?:open|read_\w+|load\w*|Path|glob|listdir|walk|scandir|genfromtxt|loadtxt|File|Dataset|connect|Image\.open)"
    r"\(\s*[rfbu]{0,2}(['\"])((?:/|~|\.\./)[^'\"\n]{1,400})\1(?!\s*,\s*['\"][wax])"
)
_FETCHES = re.compile(
    r"requests\.(?:get|post|request|Session)|urllib\.request|urlopen\(|urlretrieve\(|httpx\.|aiohttp\.|http\.client"
    r"|load_dataset\(|fetch_openml\(|get_rdataset\(|\bfetch_[a-z0-9_]+\(|pooch\.retrieve|wget\.download|ftplib\."
    r"|read_\w+\(\s*['\"](?:https?|ftp|s3|gs)://|download\.file\(|\burl\(\s*['\"]https?://|socket\.create_connection"
)
_FETCHERS = vocabulary("curl wget aria2c http https lynx w3m links scp rsync sftp ftp ssh gh")
_INSTALLERS = {"pip": "install", "pip3": "install", "conda": "install", "mamba": "install", "npm": "install"}
_INSTALLERS |= {"npx": "", "apt-get": "install", "apt": "install", "uv": "", "git": "clone"}
_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])")


def opened_in_code(code: str) -> Iterator[tuple[int, str]]:
    """Line and path of each file that code opens to read under a path from outside its folder."""
    for number, line in enumerate(code.split("\n"), 1):
        for match in _OPENED.finditer(line[:10_000]):
            yield number, match[2]


def fetched_in_code(code: str) -> Iterator[tuple[int, str]]:
    """Line and call of each place where code fetches something from a network."""
    for number, line in enumerate(code.split("\n"), 1):
        match = _FETCHES.search(line[:10_000])
        if match is not None and not _LOCAL.search(line) and not line.lstrip().startswith("#"):
            yield number, match[0]


def read_by(command: str) -> Iterator[str]:
    """Paths outside the working folder that a command reads: absolute, at home, or further up."""
    for words in _simple_commands(command):
        program = PurePosixPath(words[0]).name.lower()
        if program not in _READERS:
            continue
        into = {at + 1 for at, word in enumerate(words) if re.fullmatch(r"\d?>{1,2}", word)}
        arguments = [word for at, word in enumerate(words) if at and at not in into and not word.startswith("-")]
        for argument in arguments[1:] if program in _PATTERN_FIRST else arguments:
            if _PATH.fullmatch(argument):
                yield argument
    yield from (path for _, path in opened_in_code(command))


def written_by(command: str) -> Iterator[str]:
    """Paths that a command makes: where output is redirected to, and the last argument of cp, mv, tee, mkdir, touch."""
    for match in re.finditer(r">{1,2}\s*([^\s;|&<>'\"]+)", command):
        yield match[1]
    for words in _simple_commands(command):
        if PurePosixPath(words[0]).name in ("cp", "mv", "tee", "mkdir", "touch", "ln", "rm") and len(words) > 1:
            yield from words[-1:]


def fetched_by(command: str) -> Iterator[str]:
    """What a command fetches from a network, or installs from one."""
    for words in _simple_commands(command):
        names = [PurePosixPath(word).name.lower() for word in words[:3]]
        rest = names[2:] if names[1:2] == ["-m"] else names
        program = rest[0] if rest else ""
        whole = " ".join(words)
        if (program in _FETCHERS and len(words) > 1 and not _LOCAL.search(whole)) or (
            program in _INSTALLERS and (not _INSTALLERS[program] or _INSTALLERS[program] in words)
        ):
            yield whole
    for _, call in fetched_in_code(command):
        yield call


@lru_cache(maxsize=64)
def _simple_commands(command: str) -> tuple[list[str], ...]:
    """The words of each command of a line, also of one that a shell is given; without what stands before a program."""
    return tuple(_parted(command))


def _parted(command: str) -> Iterator[list[str]]:
    words: list[str] = []
    for word in [*_words(command[:20_000]), ";"]:
        if not set(word) <= set(_OPERATORS):
            words.append(word)
            continue
        while words and (words[0] in _BEFORE or re.fullmatch(r"\w+=.*|-?\d+[smh]?", words[0], re.DOTALL)):
            words = words[1:]
        if words:
            yield words
        if len(words) > 2 and PurePosixPath(words[0]).name in _SHELLS and re.fullmatch(r"-[a-z]*c", words[1]):
            yield from _parted(words[2])
        words = []


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer)
    except ValueError:  # a quote that is never closed
        return re.findall(r"[;|&\n()]+|[^\s;|&()]+", command)
