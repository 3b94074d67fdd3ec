"""An agent's report as HTML that can do nothing: no raw HTML, no images, no links but to http(s)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

MAX_CHARS = 120_000
_DEEPEST = 6
_URL = 300


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def render(text: str, prefix: str, depth: int) -> tuple[Markup, tuple[int, ...]]:
    """`text` (masked and cleaned Markdown) as HTML, and the lines (from 1) of its blocks, whose ids are `prefixN`.

    Only the parser's own tags come out. Headings start at `depth`, pictures become their words, and
    links other than http(s) lose their target.
    """
    parser = _parser()
    tokens = parser.parse(text[:MAX_CHARS])
    lines: list[int] = []
    for token in tokens:
        _tame_block(token, prefix, depth, lines)
        if token.children:
            token.children = _tame_inline(token.children)
    return Markup(parser.renderer.render(tokens, parser.options, {})), tuple(lines)  # noqa: S704 - the parser's own tags only


def _tame_block(token: Token, prefix: str, depth: int, lines: list[int]) -> None:
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(int(token.tag[1:]) + depth - 1, _DEEPEST)}"
    if token.type == "fence":
        token.info = ""  # would become a class
    if token.type == "table_open":
        token.attrSet("class", "md")
    token.attrs.pop("style", None)  # the alignment of columns
    opens = token.nesting == 1 and token.type in ("paragraph_open", "heading_open", "list_item_open", "tr_open")
    if opens and not token.hidden and token.map is not None and token.map[0] + 1 not in lines[-1:]:
        lines.append(token.map[0] + 1)
        token.attrSet("id", f"{prefix}{lines[-1]}")


def _tame_inline(tokens: Sequence[Token]) -> list[Token]:
    tamed: list[Token] = []
    open_links: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            open_links.append(_is_web(str(token.attrGet("href") or "")))
            if open_links[-1]:
                href = str(token.attrGet("href"))
                token.attrs = {"href": href, "title": href[:_URL], "rel": "noopener noreferrer nofollow"}
                tamed.append(token)
        elif token.type == "link_close":
            if open_links.pop():
                tamed.append(token)
        elif token.type == "image":
            tamed.append(Token("text", "", 0, content=f"[picture: {token.content or 'without words'}]"))
        else:
            tamed.append(token)
    return tamed


def _is_web(href: str) -> bool:
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and "@" not in parts.netloc
