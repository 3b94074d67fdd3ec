"""Text from a run is made safe before anything shows it; long text is cut visibly."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata

# Controls (C0, C1 and DEL, except tab and newline), bidirectional and zero-width characters, line and paragraph
# separators, interlinear and tag characters, variation selectors of the supplement, lone surrogates, noncharacters.
_PLANE_ENDS = "".join(chr(plane << 16 | end) for plane in range(17) for end in (0xFFFE, 0xFFFF))
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    f"\U000e0000-\U000e0fff\ud800-\udfff\ufdd0-\ufdef{_PLANE_ENDS}]"
)
_SLUG_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_SPACE = re.compile(r"\s+")
_TYPOGRAPHY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "−": "-", "‐": "-", "‑": "-", "–": "-", "—": "-"})


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean(text: str, limit: int | None = None) -> str:
    """`text` with control, escape, bidirectional and invisible characters made visible (`\\x1b`), cut at `limit`."""
    text = _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))
    return text if limit is None else shorten(text, limit)


def one_line(text: str, limit: int | None = None) -> str:
    """`clean` text on one line, white space folded."""
    folded = clean(_SPACE.sub(" ", text).strip())
    return folded if limit is None else shorten(folded, limit)


def shorten(text: str, limit: int) -> str:
    """`text` in at most `limit` characters; a cut is marked by an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"


def counted(number: int, what: str, many: str | None = None) -> str:
    """`1 run`, `1,200 runs`; `many` where the plural is not made by an s: `counted(2, "criterion", "criteria")`."""
    return f"{number:,} {what if number == 1 else many or f'{what}s'}"


def slug(text: str) -> str:
    """`text` as a name that is safe in a pytest node id: only `[A-Za-z0-9_.-]`, never empty."""
    return _SLUG_UNSAFE.sub("-", text).strip("-") or "unnamed"


def safe_name(name: str) -> str:
    """A file's name for node ids. A name that has to be changed gets a digest, so that two never become one."""
    safe = slug(name)
    return safe if safe == name else f"{safe}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:6]}"


def normalise_quote(text: str) -> str:
    """`text` as quotes are compared: Unicode NFKC, typographic quotes and dashes plain, white space folded."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHY)).strip()
