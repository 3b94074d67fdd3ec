"""Signs that one registered finding states several claims. They are told to people; no level or score depends on them.

Only the form of the registration is looked at, so a finding without a sign may still be compound.
"""

from __future__ import annotations

import re

from ..models import Finding
from ..text import one_line

_MAX_CHARS = 20_000
_MIN_WORDS = 3
_SHOWN = 80
# What joins whole statements. A bare "and" is left out: "length and depth" is one object.
_JOINT = re.compile(r";\s|\.\s+(?=[A-Z])|,\s+(?:and|but|while|whereas)\s")
_LABEL = re.compile(r"^[ \t]*(?:[-*+]|\d{1,2}[.)])?[ \t]*\*\*([^*\n]{1,60})\*\*", re.MULTILINE)
_MAIN_NUMBER = re.compile(
    r"(?:core|primary|main|key|headline)\s+(?:number|statistic|quantit|estimate|effect|result|value|outcome)(ies|y|s)?\b",
    re.IGNORECASE,
)
_CLAIM = re.compile(r"(?:claim|conclusion|hypothesis)\b(?!\s+(?:limits?|scope))", re.IGNORECASE)


def compound_signs(finding: Finding) -> tuple[str, ...]:
    """What in the registration says that the finding may state several claims; nothing where nothing does.

    The title joins statements of three words or more; or labelled lines in bold give several claims or main numbers.
    """
    signs = []
    parts = [part for part in _JOINT.split(finding.title) if len(part.split()) >= _MIN_WORDS]
    if len(parts) > 1:
        shown = " | ".join(one_line(part, _SHOWN) for part in parts)
        signs.append(f"the title joins {len(parts)} statements: {shown}")
    labels = [match[1].strip(" :.") for match in _LABEL.finditer(finding.section.text[:_MAX_CHARS])]
    for pattern, what in ((_CLAIM, "claim"), (_MAIN_NUMBER, "main number")):
        found = [label for label in labels if pattern.match(label)]
        if len(found) > 1 or any(_is_plural(pattern, label) for label in found):
            shown = ", ".join(one_line(label, _SHOWN) for label in found[:5])
            signs.append(f"more than one {what} is labelled: {shown}")
    return tuple(signs)


def _is_plural(pattern: re.Pattern[str], label: str) -> bool:
    match = pattern.match(label)
    return match is not None and pattern.groups > 0 and match[1] in ("s", "ies")
