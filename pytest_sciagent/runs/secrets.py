"""Secrets in text: found by their shape, by the name they are assigned to, or because their value is known.

Logs hold ordinary `key=value` lines and file hashes as well; those are left alone, so a value is taken for a secret
only as far as its name is telling: after `password` a letter and a digit are enough, after a mere `key` it takes a long
string of mixed case. Every pattern is linear in the text: each repeat is either bounded or gives nothing back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Literal
from urllib.parse import quote

_Kind = Literal["sure", "token", "key"]

MASK = "[masked]"
MIN_KNOWN = 8
_TESTED = 128  # characters of a value that are looked at to tell whether it is random

# Group 1 is the secret. Patterns start with a letter, so that the engine skips to it, and look back from behind it.
# Each comes with words, one of which stands in whatever it matches (case folded): most texts hold none of them.
_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("sk-",), re.compile(r"(sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{20,}+)")),
    (
        ("gho_", "ghp_", "ghu_", "ghs_", "ghr_", "hf_", "gsk_", "npm_"),
        re.compile(r"((?:gh[opusr]_|hf_|gsk_|npm_)[A-Za-z0-9]{20,}+)"),
    ),
    (
        ("github_pat_", "glpat-", "nvapi-", "xai-", "pplx-"),
        re.compile(r"((?:github_pat_|glpat-|nvapi-|xai-|pplx-)[A-Za-z0-9_-]{20,}+)"),
    ),
    (("xox",), re.compile(r"(xox[a-z]-(?<![A-Za-z0-9]xox[a-z]-)[A-Za-z0-9-]{10,}+)")),
    (("akia", "asia"), re.compile(r"(A(?:KIA|SIA)(?<![A-Za-z0-9]A(?:KIA|SIA))[A-Z0-9]{16})(?![A-Za-z0-9])")),
    (("aiza",), re.compile(r"(AIza(?<![A-Za-z0-9]AIza)[A-Za-z0-9_-]{30,}+)")),
    (
        ("eyj",),
        re.compile(r"(eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+)"),
    ),
    (("bearer",), re.compile(r"[Bb](?i:earer)[ \t]{1,4}([A-Za-z0-9._~+/=-]{12,}+)")),
    (
        ("authorization",),
        re.compile(r"[Aa](?i:uthorization\W{1,4}(?:basic|token))[ \t]{1,4}([A-Za-z0-9._~+/=-]{12,}+)"),
    ),
    (("://",), re.compile(r"://[^\s:/@]{0,100}:([^\s:/@]{3,200})@")),
)
# No group is possessive here: before Python 3.11.5 such a group could miss what it should match.
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]*+(?:-(?!----)[^-]*+)*-{5,}+END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/=]{16,}+)+)"  # cut off: what is there of it
)

# A name is spelled out and then assigned to (`password = `, `"api_key": `) or stands before its value (`--token `). The
# first letter is a class of its own, which the engine skips to.
_AFTER_WORD = (
    r"(?i:s?)(?![a-z])[A-Za-z0-9_-]{0,40}+"
    r"(?:\\?[\"']?\]?[ \t]{0,3}(?P<sign>:=|=>|==?|:)[ \t]{0,3}|[ \t]{1,3})\\?[\"']?"
)
_NAMES: tuple[tuple[_Kind, tuple[str, ...], re.Pattern[str]], ...] = (
    ("sure", ("passw", "passphrase"), re.compile(r"[Pp](?i:assw(?:or)?d|assphrase)" + _AFTER_WORD)),
    ("sure", ("credential",), re.compile(r"[Cc](?i:redential)" + _AFTER_WORD)),
    ("sure", ("secret",), re.compile(r"[Ss](?i:ecret(?![eio]))" + _AFTER_WORD)),  # not secretion
    ("token", ("token",), re.compile(r"[Tt](?i:oken)" + _AFTER_WORD)),
    ("key", ("key",), re.compile(r"[Kk](?i:ey)" + _AFTER_WORD)),
)
_SURE_KEY = re.compile(r"(?i:api|access|account|private|signing|subscription|encryption)[ _-]?$")
_OPTION = re.compile(r"--[A-Za-z0-9_-]*$")
_LOOK_BACK = 40
_VALUE = re.compile(r"[^\s\"'`\\,;<>&]{8,}+")
_NUMBER = re.compile(r"[-+.,:0-9eE]+")
# A change between lower case, upper case and digits; a capital that starts a word is none.
_CHANGE = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[0-9])[A-Za-z]|(?<=[A-Z])[0-9]")


def mask_secrets(text: str, known: Collection[str] = (), keep_lines: bool = False) -> tuple[str, int]:
    """`text` with each secret replaced by `[masked]`, and how many there were.

    `known` values (8 characters or more) are masked wherever they stand, also as written in JSON and in a URL.
    With `keep_lines` a secret of several lines leaves its line ends, so that all other lines keep their numbers.
    """
    parts: list[str] = []
    done = 0
    spans = _merged_spans(text, known)
    for start, end in spans:
        parts += (text[done:start], MASK, "\n" * (text.count("\n", start, end) if keep_lines else 0))
        done = end
    return "".join((*parts, text[done:])), len(spans)


def secret_lines(text: str, known: Collection[str] = ()) -> list[int]:
    """The lines of `text` (counted from 1, ascending) on which a secret starts, as `mask_secrets` would find it."""
    lines: list[int] = []
    line, done = 1, 0
    for start, _ in _merged_spans(text, known):
        line += text.count("\n", done, start)
        done = start
        if lines[-1:] != [line]:
            lines.append(line)
    return lines


def known_secrets(environ: Mapping[str, str]) -> list[str]:
    """The values (8 characters or more, longest first) of variables named like a KEY, TOKEN, SECRET or PASSWORD.

    Variables that say where a secret lies (`..._PATH`, `..._FILE`, `..._DIR`) hold none.
    """
    values = {
        value
        for name, value in environ.items()
        if len(value) >= MIN_KNOWN
        and any(word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSWORD"))
        and not name.upper().endswith(("_PATH", "_FILE", "_DIR"))
    }
    return sorted(values, key=lambda value: (-len(value), value))


def _merged_spans(text: str, known: Collection[str]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(_spans(text, known)):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _spans(text: str, known: Collection[str]) -> Iterator[tuple[int, int]]:
    for value in known:
        if len(value) >= MIN_KNOWN:
            for written in {value, json.dumps(value)[1:-1], quote(value, safe="", errors="surrogateescape")}:
                yield from (match.span() for match in re.finditer(re.escape(written), text))
    folded = text.casefold()  # as (?i:...) reads letters, the long s and the Kelvin sign included
    for words, pattern in _SHAPES:
        if _holds(folded, words):
            yield from (match.span(1) for match in pattern.finditer(text) if not _is_words(match[1]))
    if "private key" in folded:
        yield from (match.span() for match in _KEY_BLOCK.finditer(text))
    for kind, words, pattern in _NAMES:
        if _holds(folded, words):
            yield from _assigned(text, kind, pattern)


def _holds(folded: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110 - a loop, since this is most of the work over text that holds no secret
        if word in folded:
            return True
    return False


def _assigned(text: str, kind: _Kind, names: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Values that look random after a name that says secret. A value that does not is searched for names in turn."""
    done = 0
    for name in names.finditer(text):
        start = name.end()
        value = _VALUE.match(text, start, start + _TESTED) if start >= done else None
        if value is None:
            continue
        before = text[max(0, name.start() - _LOOK_BACK) : name.start()]
        if name["sign"] is None and not _OPTION.search(before):
            continue
        if _looks_random(value[0], _kind_of_key(before, name[0]) if kind == "key" else kind):
            whole = _VALUE.match(text, start)
            done = whole.end() if whole is not None else value.end()
            yield start, done


def _kind_of_key(before: str, name: str) -> _Kind:
    """`api_key` surely holds a secret, a variable such as `AZURE_KEY` as likely as a token, another key hardly ever."""
    if _SURE_KEY.search(before):
        return "sure"
    return "token" if name.startswith("KEY") and before.endswith("_") else "key"


def _looks_random(value: str, kind: _Kind) -> bool:
    lower, upper, digit = (re.search(class_, value) is not None for class_ in ("[a-z]", "[A-Z]", "[0-9]"))
    if kind == "sure":
        return digit and (lower or upper) and not _NUMBER.fullmatch(value)
    changes = len(_CHANGE.findall(value))
    scrambled = len(value) >= 16 and changes >= 4 and changes >= 0.2 * len(value)
    return scrambled and (kind == "token" or (lower and upper and digit))


def _is_words(value: str) -> bool:
    """Whether `value` may be words joined by hyphens: no digit, no run of 20 letters."""
    return re.search(r"[0-9]|[A-Za-z]{20}", value) is None
