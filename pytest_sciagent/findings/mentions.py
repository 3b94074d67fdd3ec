"""Which files of a run a text names: in back-quotes, in links and images, and as plain file names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from ..models import Mention
from ..runs.roles import role_of
from .run_files import MAX_MATCHES, RunFiles, components, expand_braces, is_pattern

MAX_MENTIONS = 500
MAX_LENGTH = 300
MAX_PATTERNS = 50  # globs tried in one text

_ARTIFACTS = ("analysis_source", "notebook", "result", "figure")

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_WORD = r"""(?:[^\s`"'<>|()\[\]{},;=→⇒“”‘’…]++|\{[^\s`{}]{0,100}\})+"""
_WORDS = re.compile(_WORD)
_TOKENS = re.compile(
    rf"(?<!`)(?P<ticks>`{{1,3}})(?P<code>[^`\n]{{1,{MAX_LENGTH}}})(?P=ticks)(?!`)"
    rf"|\]\(\s{{0,3}}<?(?P<link>[^)\s>]{{1,{MAX_LENGTH}}})"
    r"|[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s`<>]*"  # a URL is no file of the run
    rf"|(?P<word>{_WORD})"
)
_FILE_LIKE = re.compile(r"/|\.[A-Za-z0-9]{1,7}(?:\Z|[:#])|\.[{*?\[]")
_KEY = re.compile(r"(?<=\w)[:#].*", re.DOTALL)  # "fit.json:slope", "run.py#L10"
_NUMBER = re.compile(r"[v±+-]?[0-9][0-9.,:/eE%+-]*")
_ELSEWHERE = re.compile(r"www\.|10\.[0-9]{4,}/|[\w.-]+\.(?:com|org|net|io|gov|edu)/|.*(?:@|://)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_PUNCTUATION = ".:!?"
_ENDED = re.compile(r"\.[A-Za-z0-9]{1,7}\*+\Z")
_PATH_SHAPED = re.compile(r"[\w./\\*?{},\[\]~+-]+")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2,}")


def resolve_mentions(section_text: str, paths: Sequence[str], report_path: str) -> tuple[Mention, ...]:
    """The files of a run that `section_text` names, in the order of the text, each way of naming once.

    `paths` are the run's frozen files, such as `output/results/a.csv`; `report_path` is the report among them, whose
    folder is where relative names start. The report, logs, URLs and the task's inputs are no mentions. A mention
    without paths looks like a file of the run but is none, or could be several. At most `MAX_MENTIONS` are found, each
    of at most `MAX_LENGTH` characters.
    """
    return mentions_in(section_text, RunFiles(paths, report_path))


def mentions_in(text: str, files: RunFiles) -> tuple[Mention, ...]:
    """As `resolve_mentions`, for files that are looked up in many texts."""
    found: dict[Mention, None] = {}
    for mention in _Reading(files).mentions(_COMMENT.sub(" ", text)):
        found[mention] = None
        if len(found) == MAX_MENTIONS:
            break
    return tuple(found)


class _Reading:
    """One pass over one text: it knows which folder was spoken of last and how many globs it has tried."""

    def __init__(self, files: RunFiles) -> None:
        self._files = files
        self._folder = ""
        self._globs = 0
        self._known: dict[tuple[str, str], list[str]] = {}

    def mentions(self, text: str) -> Iterator[Mention]:
        for token in _TOKENS.finditer(text):
            if token["code"]:
                yield from self._code(token["code"])
            elif token["link"]:
                yield from self._word(unquote(token["link"]))
            elif token["word"]:
                yield from self._word(token["word"], is_call=text.startswith("(", token.end()))

    def _code(self, content: str) -> Iterator[Mention]:
        """A file name as a whole, with spaces or without an extension; or a command or expression with names in it."""
        name = content.strip()
        if name.isprintable() and (paths := self._look_up(name)):
            yield from self._mention(name, paths)
            return
        for word in _WORDS.finditer(content):
            yield from self._word(word.group(), is_call=content.startswith("(", word.end()))

    def _word(self, word: str, *, is_call: bool = False) -> Iterator[Mention]:
        if len(word) > MAX_LENGTH:
            return
        name = _bare(word)
        if not name.isprintable() or not _FILE_LIKE.search(name):
            return
        if _NUMBER.fullmatch(name) or _ELSEWHERE.match(name):
            return
        if paths := self._look_up(name) or self._look_up(_KEY.sub("", name)):
            yield from self._mention(name, paths)
        elif not is_call and self._is_missing(_KEY.sub("", name)):
            yield Mention(text=name)

    def _mention(self, name: str, paths: list[str]) -> Iterator[Mention]:
        if paths == [self._files.report]:
            return
        folders = sorted({path.rpartition("/")[0] for path in paths})
        if all(f"{folder}/".startswith(f"{folders[0]}/") for folder in folders):
            self._folder = folders[0]
        yield Mention(text=name, paths=tuple(paths))

    def _look_up(self, name: str) -> list[str]:
        key = (name, self._folder)
        if key not in self._known:
            self._known[key] = self._files.find(name, self._folder) or self._expanded(name)
        return self._known[key]

    def _expanded(self, name: str) -> list[str]:
        """The files that a name with braces or wildcards means."""
        if re.search(r"\s", name) or not ("{" in name or is_pattern(name)):
            return []
        found: dict[str, None] = {}
        for plain in expand_braces(name):
            paths = self._files.find(plain, self._folder)
            if not paths and is_pattern(plain) and self._globs < MAX_PATTERNS:
                self._globs += 1
                paths = self._files.matching(plain)
            found.update(dict.fromkeys(paths))
        found.pop(self._files.report, None)
        return list(found)[:MAX_MATCHES]

    def _is_missing(self, name: str) -> bool:
        """Whether a name that means no file looks like one of the run, by its extension; `stats.norm.pdf` does not."""
        parts, _ = components(name)
        if not parts or not _PATH_SHAPED.fullmatch(name) or role_of(parts[-1], None) not in _ARTIFACTS:
            return False
        if self._files.is_other(parts):
            return False
        stem, _, extension = parts[-1].rpartition(".")
        if not any(character.isalnum() for character in stem):
            return False
        return len(parts) > 1 or ((len(extension) > 1 or len(stem) > 2) and not _DOTTED.fullmatch(name))


def _bare(word: str) -> str:
    """`word` without Markdown's escapes and emphasis and without the punctuation of its sentence."""
    name = _ESCAPE.sub(r"\1", word).rstrip(_PUNCTUATION)
    inner = name.strip("*_")
    if name[:1] == "*" and inner[:1].isalnum():  # "**fit.csv**", or "**fit.csv" of longer emphasis; not "*.csv"
        name = name.lstrip("*").rstrip("*")
    elif name[:1] == name[-1:] == "_":
        name = inner
    elif "/" not in name or name.endswith((":*", ".**")) or _ENDED.search(name):  # "**Files: fit.csv**", "*robust.*"
        name = name.rstrip("*")
    return name.rstrip(_PUNCTUATION)
