"""Text in the evidence that speaks to whoever judges it. It is told to people; no prompt and no level depends on it.

The patterns look for the usual forms. Fences, checked quotes and the canary protect a verdict; a run without any flag
may still hold an instruction that nothing here knows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ..text import one_line

MAX_FLAGS = 20
"""As many flags are given of one text at most."""
MAX_EXCERPT = 120
_LEAD = 30  # of an excerpt's characters, as many stand before the match at most

Kind = Literal["override", "address", "award", "verdict", "role", "fence", "hidden"]
"""What a passage does: sets the rules aside, addresses the judge, asks for a level, is a ready-made answer, poses as a
speaker of the conversation, poses as the end of the evidence, or is not visible to a person."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A passage that reads like an instruction to a judge.

    Attributes:
        file: the label of the text, as `find_instructions` was given it.
        line: the line of that text on which the passage starts, from 1.
        kind: what the passage does.
        excerpt: the passage on one line, at most 120 characters, hidden characters made readable.
    """

    file: str
    line: int
    kind: Kind
    excerpt: str


# ---- what is looked at: `text` itself for what is hidden, and for words a copy in which disguises are undone

_TAG = re.compile("[\U000e0020-\U000e007e]|\\\\U000e00[2-7][0-9a-f]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
    r"|\\u(?:061c|200[b-f]|202[a-e]|206[0-9a-f]|feff)"
)
_JOINTS = str.maketrans({"_": " ", "’": "'", "`": "'", "“": '"', "”": '"'})
# Cyrillic and Greek letters that look like Latin ones.
_LOOKALIKES = str.maketrans("авеёкмнорстухіїјѕԁԛԝһαβεικνορτυχγ", "abeekmhopctyxiijsdqwhabeikvoptuxy")
_FOREIGN = re.compile("[\u0370-\u052f]")


def _plain(text: str) -> str:
    """`text` in small letters as it would be read: tag characters decoded, invisible ones gone, wide forms narrow.

    It has the lines of `text`.
    """
    shown = _INVISIBLE.sub("", _TAG.sub(lambda match: chr(_code(match[0]) & 0x7F), text))
    return unicodedata.normalize("NFKC", shown).lower().replace("\\n", "  ").translate(_JOINTS)


def _code(tag: str) -> int:
    return ord(tag) if len(tag) == 1 else int(tag[2:], 16)


# ---- the patterns. Every repetition is bounded, so that the time is linear in the length of the text.

_G = r"\W{1,12}"  # what stands between two words, comment signs and a line's end included


def _words(most: int) -> str:
    return rf"(?:\w{{1,24}}{_G}){{0,{most}}}?"


_SET_ASIDE = (
    rf"\b(?:ignore|disregard|forget|override|overrule|bypass|discard|(?:do{_G}not|don'?t){_G}(?:follow|obey)"
    rf"|stop{_G}following|set{_G}aside|pay{_G}no{_G}attention{_G}to){_G}"
)
_OFFICE = r"(?:judge|grader|evaluator|examiner|assessor|adjudicator)"
_MACHINE = rf"(?:ai|llm|language{_G}model|assistant|chatbot|gpt|claude)"
_READER = rf"(?:{_OFFICE}|{_MACHINE}|reviewer|referee)s?"
_FULL = (
    rf"(?:full{_G}(?:marks?|credit|scores?|points)|perfect{_G}score|top{_G}(?:marks?|scores?|grades?)"
    rf"|maximum{_G}(?:marks?|credit|grade|points)|(?:highest|best){_G}(?:marks?|grade|rating|level)"
    rf"|(?:level|score|grade|rating|mark){_G}(?:of{_G})?(?:1(?:\.0)?|one|10|100)(?![\w.,/]?\d|\w)"
    r"|(?<!\d)(?:10/10|100/100|5/5)(?!\d))"
)
_IS_SAID = r"""\\?["']?\s{0,4}[:=]\s{0,4}(?:true|false)\b"""
_LEVEL_KEY = r"""\\?["'](?:level|score|grade|verdict|rating)\\?["']\s{0,4}:\s{0,4}\\?["']?(?:1|0\.5|full|pass|100?)\b"""
_ANSWER_KEY = r"""\\?["'](?:rationale|anchors|citations|reasoning|justification|criterion id)\\?["']\s{0,4}:"""

_WORDS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.MULTILINE))
    for kind, pattern in (
        (
            "override",
            _SET_ASIDE + _words(5) + r"(?:instructions?|prompts?|rubrics?|guidelines|directives|system messages?)\b",
        ),
        (
            "override",
            _SET_ASIDE
            + _words(3)
            + rf"(?:previous|prior|above|earlier|preceding|foregoing|your|system){_G}"
            + _words(3)
            + r"(?:rules?|criteria|criterion|text|conditions?|messages?|orders?|context|contents?|evidence|material"
            r"|training|constraints?)\b",
        ),
        (
            "override",
            _SET_ASIDE + rf"(?:everything|all|anything|what){_G}" + _words(3) + r"(?:above|before|previous|so far)\b",
        ),
        (
            "override",
            r"\b(?:new|updated|revised|real|actual|hidden|secret|urgent|final)\W{1,4}(?:system\W{1,4})?"
            r"(?:instructions?|prompt|directives?)(?:\W{0,4}[:=]|\W{1,4}(?:follow|for|to)\b)",
        ),
        ("override", r"\bsystem\W{1,4}(?:prompt|message|override|instructions?|notice)\W{0,4}[:=\]]"),
        (
            "override",
            rf"\b(?:rules?|instructions?|criteria|rubric){_G}"
            + _words(2)
            + rf"(?:no{_G}longer{_G}appl(?:y|ies)|(?:is|are){_G}(?:hereby{_G}|now{_G})?"
            r"(?:void|suspended|revoked|superseded|lifted|cancelled|canceled))\b",
        ),
        ("override", rf"\b(?:developer|jailbreak|dan|god|{_OFFICE}){_G}mode{_G}(?:is{_G})?(?:enabled|activated|on)\b"),
        (
            "override",
            r"\b(?:ignorier\w{0,3}|missachte\w{0,2}|vergiss)\W{1,6}"
            + _words(5)
            + r"(?:anweisung|regel|vorgabe|vorschrift)",
        ),
        ("override", r"\b(?:ignore[zr]|oublie[zr]?)\W{1,6}" + _words(5) + r"(?:instruction|consigne|règle)"),
        (
            "override",
            r"\b(?:ignor[ae]|olvid[ae]|esqueç?ca?)\W{1,6}"
            + _words(5)
            + r"(?:instruc|instruç|istruzion|reglas|regras|regole)",
        ),
        ("override", r"\b(?:игнориру\w{1,6}|забуд\w{1,4})\W{1,6}" + _words(5) + r"(?:инструкц|правил|указани)"),
        ("override", r"(?:忽略|无视|無視|忽視)[^。\n]{0,24}(?:指令|指示|说明|說明|规则|規則|提示|标准|標準)"),
        ("override", r"(?:指示|命令|ルール|規則|プロンプト)[^。\n]{0,12}(?:無視|忘れ)"),
        ("override", r"(?:지시|명령|규칙|지침)[^.\n]{0,12}무시"),
        ("override", r"تجاهل[^.\n]{0,40}(?:التعليمات|تعليمات|القواعد)"),
        ("address", rf"\b(?:as|being){_G}(?:the|a|an|your){_G}" + _words(2) + rf"{_OFFICE}\b"),
        (
            "address",
            r"\b(?:dear|attention|attn|hey|hello|hi|(?:note|message|memo|reminder|instructions?|directions?)\W{1,4}(?:to|for))\W{1,6}"
            + _words(3)
            + rf"{_READER}\b",
        ),
        (
            "address",
            rf"\bto{_G}(?:the|any|all|every|whichever){_G}"
            + _words(3)
            + rf"{_READER}(?:\W{{0,3}}[:,]|{_G}(?:reading|evaluating|grading|judging|scoring|reviewing|processing)\b)",
        ),
        (
            "address",
            rf"\byou(?:{_G}are|'re){_G}"
            + _words(4)
            + rf"(?:{_OFFICE}|{_MACHINE}|judging{_G}this|grading|evaluating{_G}this|scoring{_G}this|reading{_G}this)\b",
        ),
        (
            "address",
            rf"\b(?:{_OFFICE}|llm|language{_G}model|ai{_G}(?:model|assistant|system|judge|grader|evaluator|reviewer)s?)s?{_G}"
            rf"(?:must|should|shall|please|needs?{_G}to|ha(?:s|ve){_G}to|(?:is|are){_G}(?:required|instructed|asked|told|ordered))\b",
        ),
        (
            "address",
            rf"\byou{_G}(?:must|should|shall|will|have{_G}to|need{_G}to|are{_G}(?:required|instructed|ordered){_G}to){_G}"
            + _words(2)
            + r"(?:give|award|grant|assign|score|rate|grade|approve|conclude|judge|disregard)\b",
        ),
        (
            "award",
            r"\b(?:give|award|awarded|grant|granted|deserves?|merits?|earns?|assign|rate|score|grade|judge|answer|conclude"
            rf"|mark|return|output|reply){_G}" + _words(6) + _FULL,
        ),
        (
            "award",
            rf"\b(?:rate|grade|judge|award|give|grant){_G}(?:this|my|our|the|every|each|all){_G}"
            + _words(3)
            + rf"(?:findings?|submissions?|report|criteri(?:on|a)){_G}"
            + _words(6)
            + r"(?:highest|maximum|perfect|pass|passed|passes|positively|favou?rably|generously|leniently|full|1|10|100)(?![\w.]\d|\w)",
        ),
        ("award", r"\bbe\W{1,4}(?:very\W{1,4}|as\W{1,4})?(?:lenient|generous)\b"),
        (
            "award",
            rf"\blevel\W{{1,4}}(?:1|one|0\.5){_G}(?:condition{_G})?(?:clearly{_G}|fully{_G}|now{_G})?"
            rf"(?:holds|applies|is{_G}(?:met|satisfied|fulfilled|reached|true|granted|earned|justified|correct|given))\b",
        ),
        ("award", rf"\bconditions?{_G}(?:of|for){_G}(?:the{_G})?level{_G}(?:1|one|0\.5)\b"),
        (
            "verdict",
            rf"\b(?P<first>zero|full|half){_IS_SAID}[^{{}}]{{0,80}}?\b(?!(?P=first))(?:zero|full|half){_IS_SAID}",
        ),
        ("verdict", rf"{_LEVEL_KEY}[^{{}}]{{0,300}}?{_ANSWER_KEY}"),
        ("verdict", rf"{_ANSWER_KEY}[^{{}}]{{0,600}}?{_LEVEL_KEY}"),
        (
            "verdict",
            r"""\b(?:set|answer|return|output|respond|reply|print|write)\W{1,6}"""
            + _words(3)
            + r"""["']?(?:full|zero|half)["']?\W{0,3}(?:to|=|:|is)\W{1,3}(?:true|false)\b""",
        ),
        (
            "role",
            r"<\|(?:im (?:start|end)|system|user|assistant|endoftext|eot id|(?:start|end) header id|end of turn|channel|message)"
            r"[^|>\n]{0,24}\|>",
        ),
        ("role", r"\[/?inst\]|<</?sys>>|<(?:start|end) of turn>"),
        (
            "role",
            r"</?(?:system|assistant|human|instructions?|system[ -](?:prompt|message|reminder)|admin|function calls|tool result)"
            r"(?:\s[^<>\n]{0,80})?>",
        ),
        ("role", r"""\\?["']role\\?["']\s{0,4}:\s{0,4}\\?["'](?:system|assistant|developer)\b"""),
        ("role", r"^\W{0,8}(?:human|assistant)\s?:\s"),
        ("fence", r"<<<\s{0,4}(?:/|end\b)?\s{0,4}data\b|\bdata {1,4}\S{1,64}?>>>"),
        (
            "fence",
            r"[-=#*<>/]{3,12}\s{0,4}(?:end|close)\s{1,4}(?:of\s{1,4})?(?:the\s{1,4})?"
            r"(?:evidence|material|untrusted|fenced|user (?:input|data)|run data|context|documents?)\b",
        ),
        (
            "fence",
            rf"\b(?:evidence|material|fence|data{_G}(?:block|fence)){_G}(?:ends?|closes?|is{_G}(?:over|closed)){_G}here\b",
        ),
    )
)

_HIDDEN: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:{_TAG.pattern}){{1,2000}}",
        "[\u202a-\u202e\u2066-\u2069]|" + r"\\u(?:202[a-e]|206[6-9])",
        "(?<=[A-Za-z])(?:[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]|"
        + r"\\u(?:200[b-f]|206[0-4]|feff)){1,40}(?=[A-Za-z])",
        r"<!--(?:\s{0,20}[^\s<>]{1,40}){4,12}",
        r"""<[a-z][^<>\n]{0,200}\b(?:display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}hidden|opacity\s{0,4}:\s{0,4}0\b"""
        r"""|font-size\s{0,4}:\s{0,4}[01](?![.\d])|color\s{0,4}:\s{0,4}(?:white|#fff(?:fff)?|transparent)\b)""",
        r"<[a-z]{1,12}\b[^<>\n]{0,200}\shidden(?=[\s>=/])",
    )
)


def find_instructions(label: str, text: str) -> tuple[Flag, ...]:
    """Passages of `text` (called `label`) that read like an instruction to a judge, in the order of their lines.

    At most one flag of a kind for each line, and `MAX_FLAGS` in all. Takes `text` as it stands in a file, or as `clean`
    shows it. Time and memory are linear in its length.
    """
    lines = text.split("\n")
    found: dict[tuple[int, Kind], str] = {}
    for kind, pattern, view in _searches(text):
        for line, start in _first_on_lines(pattern, view):
            if (line, kind) not in found:
                found[line, kind] = _excerpt(lines[line - 1 : line + 2], view, start)
    first = sorted(found.items())[:MAX_FLAGS]
    return tuple(Flag(label, line, kind, excerpt) for (line, kind), excerpt in first)


def _searches(text: str) -> Iterator[tuple[Kind, re.Pattern[str], str]]:
    for pattern in _HIDDEN:
        yield "hidden", pattern, text
    plain = _plain(text)
    views = [plain, plain.translate(_LOOKALIKES)] if _FOREIGN.search(plain) else [plain]
    for view in views:
        for kind, pattern in _WORDS:
            yield kind, pattern, view


def _first_on_lines(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The first match on each of the first `MAX_FLAGS` lines that have one: the line, and where the match starts."""
    line, counted, last, given = 1, 0, 0, 0
    for match in pattern.finditer(text):
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        if line > last:
            yield line, match.start()
            last, given = line, given + 1
        if given == MAX_FLAGS:
            return


def _excerpt(lines: Sequence[str], view: str, start: int) -> str:
    """The passage at `start` of `view`, from the original `lines` where the two run alike."""
    begin = view.rfind("\n", 0, start) + 1
    end = view.find("\n", start)
    shown, column = view[begin : end if end >= 0 else None], start - begin
    source = "\n".join(lines) if len(lines[0]) == len(shown) else shown
    return one_line(source[max(column - _LEAD, 0) :][: 4 * MAX_EXCERPT], MAX_EXCERPT)
