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


# ---- what is looked at: the text itself for what is hidden; for words, a copy in which disguises are undone

_TAG = re.compile("[\U000e0020-\U000e007e]|\\\\U000e00[2-7][0-9a-f]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
    r"|\\u(?:061c|200[b-f]|202[a-e]|206[0-9a-f]|feff)"
)
# Line ends, tabs and controls as `clean`, JSON and code spell them, colours of a terminal included.
_SPELT = re.compile(r"\\(?:[nrt]|x1b\[[0-9;]{0,12}[a-z]|x[018][0-9a-f]|u202[89])")
_JOINTS = str.maketrans({"_": " ", "’": "'", "`": "'", "“": '"', "”": '"'})
# Cyrillic and Greek letters that look like Latin ones.
_LOOKALIKES = str.maketrans("авеёкмнорстухіїјѕԁԛԝһαβεικνορτυχγ", "abeekmhopctyxiijsdqwhabeikvoptuxy")
_FOREIGN = re.compile("[\u0370-\u052f]")


def _plain(text: str) -> str:
    """`text` in small letters as it would be read: tag characters decoded, invisible ones gone, wide forms narrow.

    It has the lines of `text`.
    """
    shown = _INVISIBLE.sub("", _TAG.sub(lambda match: chr(_code(match[0]) & 0x7F), text))
    lowered = unicodedata.normalize("NFKC", shown).lower().translate(_JOINTS)
    return _SPELT.sub(lambda match: " " * len(match[0]), lowered)


def _code(tag: str) -> int:
    return ord(tag) if len(tag) == 1 else int(f"0x{tag[2:]}", base=0)


# ---- the patterns, for small letters. Every repetition is bounded, so that the time is linear in the text's length.

_G = r"\W{1,12}"
"""What stands between two words: spaces, comment signs, the end of a line."""


def _first(words: str) -> str:
    """One of `words`, at the start of a word. That is looked up behind the word: a pattern that begins with plain
    letters is searched for many times faster than one that begins with a condition."""
    return "(?:" + "|".join(rf"{word}(?<=\b{word})" for word in words.split()) + ")"


def _up_to(most: int) -> str:
    """Any words, at most so many."""
    return rf"(?:\w{{1,24}}{_G}){{0,{most}}}?"


_SET_ASIDE = (
    f"(?:{_first('ignore disregard forget override overrule bypass discard')}"
    rf"|(?:do{_G}not|don'?t){_G}(?:follow|obey)|stop{_G}following|set{_G}aside|pay{_G}no{_G}attention{_G}to){_G}"
)
_OFFICE = "(?:judge|grader|evaluator|examiner|assessor|adjudicator)"
_MACHINE = rf"(?:ai|llm|language{_G}model|assistant|chatbot|gpt|claude)"
_READER = rf"(?:{_OFFICE}|{_MACHINE}|reviewer|referee)s?"
_ALL_OF_IT = (
    rf"(?:full{_G}(?:marks?|credit|scores?|points)|perfect{_G}score|top{_G}(?:marks?|scores?|grades?)"
    rf"|maximum{_G}(?:marks?|credit|grade|points)|(?:highest|best){_G}(?:marks?|grade|rating|level)"
    rf"|(?:level|(?:score|grade|rating|mark)(?:{_G}of)?){_G}(?:1(?:\.0)?|one)(?![\w.,/]?\d|\w)"
    rf"|(?:score|grade|rating|mark){_G}(?:of{_G})?(?:10|100)(?![\w.,]?\d|\w)"
    r"|(?<!\d)(?:10/10|100/100|5/5)(?!\d))"
)
_END = r"""\\?["']"""  # of a JSON string, or of one in a JSON string
_HELD = rf"(?:{_END})?\s{{0,4}}[:=]\s{{0,4}}(?:true|false)\b"
_LEVEL_KEY = (
    rf"""["'](?:level|score|grade|verdict|rating){_END}\s{{0,4}}:\s{{0,4}}(?:{_END})?(?:1|0\.5|full|pass|100?)\b"""
)
_ANSWER_KEY = rf"""["'](?:rationale|anchors|citations|reasoning|justification|criterion id){_END}\s{{0,4}}:"""

_OVERRIDE = (
    rf"{_SET_ASIDE}(?:{_up_to(5)}(?:instructions?|prompts?|rubrics?|guidelines|directives|system messages?)\b"
    rf"|{_up_to(3)}(?:previous|prior|above|earlier|preceding|foregoing|your|system){_G}{_up_to(3)}"
    r"(?:rules?|criteria|criterion|text|conditions?|messages?|orders?|context|contents?|evidence|material|constraints?)\b"
    rf"|(?:everything|all|anything|what){_G}{_up_to(3)}(?:above|before|previous|so far)\b)",
    rf"{_first('new updated revised real actual hidden secret urgent final')}{_G}(?:system{_G})?"
    rf"(?:instructions?|prompt|directives?)(?:\W{{0,4}}[:=]|{_G}(?:follow|for|to)\b)",
    rf"{_first('system')}{_G}(?:prompt|message|override|instructions?|notice)\W{{0,4}}[:=\]]",
    rf"(?:rules?|instructions?|criteria|rubric){_G}{_up_to(2)}(?:no{_G}longer{_G}appl(?:y|ies)"
    rf"|(?:is|are){_G}(?:hereby{_G}|now{_G})?(?:void|suspended|revoked|superseded|lifted|cancell?ed))\b",
    rf"(?:developer|jailbreak|{_OFFICE}){_G}mode{_G}(?:is{_G})?(?:enabled|activated|on)\b",
    rf"(?:ignorier\w{{0,3}}|missachte\w{{0,2}}|vergiss){_G}{_up_to(5)}(?:anweisung|regel|vorgabe|vorschrift)",
    rf"(?:ignore[zr]|oublie[zr]?){_G}{_up_to(5)}(?:instruction|consigne|règle)",
    rf"(?:ignor[ae]|olvid[ae]|esque[çc]a){_G}{_up_to(5)}(?:instruc|instruç|istruzion|reglas|regras|regole)",
    rf"(?:игнориру|забуд)\w{{1,6}}{_G}{_up_to(5)}(?:инструкц|правил|указани)",
    r"(?:忽略|无视|無視|忽視)[^。\n]{0,24}(?:指令|指示|说明|說明|规则|規則|提示|标准|標準)",
    r"(?:指示|命令|ルール|規則|プロンプト)[^。\n]{0,12}(?:無視|忘れ)",
    r"(?:지시|명령|규칙|지침)[^.\n]{0,12}무시",
    r"تجاهل[^.\n]{0,40}(?:التعليمات|تعليمات|القواعد)",
)
_ADDRESS = (
    rf"{_first('as being')}{_G}(?:the|a|an|your){_G}{_up_to(2)}{_OFFICE}\b",
    rf"(?:{_first('dear attention attn hey hello hi')}"
    rf"|{_first('note message memo reminder instruction instructions directions')}{_G}(?:to|for)){_G}"
    rf"{_up_to(3)}{_READER}\b",
    rf"{_first('to')}{_G}(?:the|any|all|every|whichever){_G}{_up_to(3)}{_READER}"
    rf"(?:\W{{0,3}}[:,]|{_G}(?:reading|evaluating|grading|judging|scoring|reviewing|processing)\b)",
    rf"{_first('you')}(?:{_G}are|'re){_G}{_up_to(4)}"
    rf"(?:(?:{_OFFICE}|{_MACHINE}|grading)\b|(?:judging|evaluating|scoring|reading){_G}this\b)",
    rf"(?:{_OFFICE}s?|llms?|language{_G}models?|{_first('ai')}{_G}(?:models?|assistants?|systems?|{_READER})){_G}"
    rf"(?:must|should|shall|please|needs?{_G}to|ha(?:s|ve){_G}to|(?:is|are){_G}(?:required|instructed|told|ordered))\b",
    rf"{_first('you')}{_G}(?:must|should|shall|will|have{_G}to|need{_G}to|are{_G}(?:required|instructed|ordered){_G}to)"
    rf"{_G}{_up_to(2)}(?:give|award|grant|assign|score|rate|grade|approve|conclude|judge|disregard)\b",
)
_AWARD = (
    rf"{_first('give award awarded grant granted deserve deserves merit merits earn earns assign answer reply')}"
    rf"{_G}{_up_to(6)}{_ALL_OF_IT}",
    rf"{_first('rate score grade mark judge conclude return output')}{_G}"
    rf"(?:this|it|all|every|each|these|my|our|the|with|a){_G}{_up_to(5)}{_ALL_OF_IT}",
    rf"{_first('rate grade judge award give grant')}{_G}(?:this|my|our|the|every|each|all){_G}{_up_to(3)}"
    rf"(?:findings?|submissions?|report|criteri(?:on|a)){_G}{_up_to(6)}(?:highest|maximum|perfect|pass|passed|passes"
    r"|positively|favou?rably|generously|leniently|full|1|10|100)(?![\w.]\d|\w)",
    rf"{_first('be')}{_G}(?:very{_G}|as{_G})?(?:lenient|generous)\b",
    rf"{_first('level')}{_G}(?:1|one|0\.5){_G}(?:condition{_G})?(?:(?:clearly|fully|now){_G})?"
    rf"(?:holds|applies|is{_G}(?:met|satisfied|fulfilled|reached|true|granted|earned|justified|correct|given))\b",
    rf"conditions?{_G}(?:of|for){_G}(?:the{_G})?level{_G}(?:1|one|0\.5)\b",
)
_VERDICT = (
    rf"(?P<first>zero|full|half)(?<=\b.{{4}}){_HELD}[^{{}}]{{0,80}}?\b(?!(?P=first))(?:zero|full|half){_HELD}",
    rf"{_LEVEL_KEY}[^{{}}]{{0,300}}?{_ANSWER_KEY}",
    rf"{_ANSWER_KEY}[^{{}}]{{0,600}}?{_LEVEL_KEY}",
    rf"{_first('set answer return output respond reply print write')}{_G}{_up_to(3)}(?:zero|full|half)\W{{1,3}}"
    r"(?:(?:to|is)\W{1,3})?(?:true|false)\b",
)
_ROLE = (
    r"<\|(?:im (?:start|end)|system|user|assistant|endoftext|eot id|(?:start|end) header id|end of turn|channel"
    r"|message)[^|>\n]{0,24}\|>",
    r"\[/?inst\]|<</?sys>>|<(?:start|end) of turn>",
    r"<(?<!/<)/?(?:system|assistant|human|instructions?|system[ -](?:prompt|message|reminder)|admin"
    r"|function calls|tool result)(?:\s[^<>\n]{0,80})?>(?![/.])",
    rf"""["']role{_END}\s{{0,4}}:\s{{0,4}}{_END}(?:system|assistant|developer)\b""",
    r"^\W{0,8}(?:human|assistant)\s?:\s",
)
_FENCE = (
    r"<<<\s{0,4}(?:/|end\b)?\s{0,4}data\b|data(?<=\bdata) {1,4}\S{1,64}?>>>",
    r"[-=#*<>/]{3,12}\s{0,4}(?:end|close)\s{1,4}(?:of\s{1,4})?(?:the\s{1,4})?"
    r"(?:evidence|material|untrusted|fenced|user (?:input|data)|run data|context|documents?)\b",
    rf"(?:evidence|material|fence|data{_G}(?:block|fence)){_G}(?:ends?|closes?|is{_G}(?:over|closed)){_G}here\b",
)
_HIDDEN = (
    f"(?:{_TAG.pattern}){{1,2000}}",
    "[\u202a-\u202e\u2066-\u2069]" + r"|\\u(?:202[a-e]|206[6-9])",
    "(?:[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]"
    + r"(?<=[A-Za-z].)|\\u(?:200[b-f]|206[0-4]|feff)(?<=[A-Za-z].{6}))(?=[A-Za-z])",
    r"<!--[\s-]{0,20}\w[^\s<>]{0,40}(?:\s{1,20}\w[^\s<>]{0,40}){3}",
    r"<[A-Za-z][^<>\n]{0,200}\b(?:(?i:display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}hidden"
    r"|opacity\s{0,4}:\s{0,4}0\b|font-size\s{0,4}:\s{0,4}[01](?![.\d])"
    r"|color\s{0,4}:\s{0,4}(?:white|#fff(?:fff)?|transparent)\b))",
    r"<[A-Za-z]{1,12}\b[^<>\n]{0,200}\s(?i:hidden)(?=[\s>=/])",
)
_BY_KIND: dict[Kind, tuple[str, ...]] = {
    "override": _OVERRIDE,
    "address": _ADDRESS,
    "award": _AWARD,
    "verdict": _VERDICT,
    "role": _ROLE,
    "fence": _FENCE,
}
_OF_WORDS = [(kind, re.compile(form, re.MULTILINE)) for kind, forms in _BY_KIND.items() for form in forms]
_OF_CHARACTERS = [re.compile(form) for form in _HIDDEN]


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
    for pattern in _OF_CHARACTERS:
        yield "hidden", pattern, text
    plain = _plain(text)
    views = [plain, plain.translate(_LOOKALIKES)] if _FOREIGN.search(plain) else [plain]
    for view in views:
        for kind, pattern in _OF_WORDS:
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
