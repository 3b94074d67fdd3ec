"""SVG figures drawn as PNG, for a process that may die and that can open nothing."""

from __future__ import annotations

import base64
import math
import re
from typing import Any
from xml.parsers import expat

from .tables import Artifact, Unreadable

LIBRARIES = ("resvg_py",)
_LENGTH = re.compile(r"\s*\+?([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})\s*(px|pt|pc|mm|cm|in)?\s*")
_PIXELS = {"": 1.0, "px": 1.0, "pt": 96 / 72, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
_INSIDE = re.compile(r"#|data:image/(?:png|jpeg|jpg|gif|webp)[;,]", re.IGNORECASE)
_OUTSIDE = re.compile(r"@import|url\(\s*+[\"']?+\s*+(?!#|data:)", re.IGNORECASE)


def draw_svg(data: bytes, max_side: int, max_pixels: int) -> Artifact:
    """An SVG as PNG on white, in facts `png` (base64). Text elements are not drawn: there are no fonts.

    Raises:
        Unreadable: not SVG in UTF-8, of no size or a larger one than allowed, with entities, or with a reference to
            anything outside of it.
    """
    import resvg_py

    try:
        text = data.decode("utf-8").removeprefix("\ufeff")  # no other codec: it would have to be loaded here
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8") from None
    width, height = _checked(text)
    if max(width, height) > max_side or width * height > max_pixels:
        raise Unreadable(f"{width:,} x {height:,} pixels, more than {max_side:,} a side or {max_pixels:,} in all")
    try:
        png = resvg_py.svg_to_bytes(
            svg_string=text, width=width, height=height, dpi=96, background="#ffffff", skip_system_fonts=True
        )
    except ValueError as error:
        raise Unreadable(f"it can't be drawn: {error}") from None
    return Artifact("image", facts={"png": base64.b64encode(png).decode()})


def _checked(text: str) -> tuple[int, int]:
    """Width and height in pixels of an SVG that refers to nothing outside of it."""
    sizes: list[tuple[int, int]] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if not sizes:
            if name.rpartition(":")[2] != "svg":
                raise Unreadable("not SVG")
            sizes.append(_size(attributes))
        for key, value in attributes.items():
            if key.rpartition(":")[2].lower() == "href" and not _INSIDE.match(value.strip()):
                raise Unreadable("it refers to something outside of it")
            within(value)

    def within(value: str) -> None:
        if _OUTSIDE.search(value):
            raise Unreadable("it refers to something outside of it")

    def entity(*_: Any) -> None:
        raise Unreadable("it declares entities")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EntityDeclHandler, parser.CharacterDataHandler = start, entity, within
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise Unreadable(f"not readable as XML: {error}") from None
    return sizes[0]


def _size(root: dict[str, str]) -> tuple[int, int]:
    box = re.split(r"[\s,]+", root.get("viewBox", "").strip())
    given = [_pixels(root.get(side, "")) for side in ("width", "height")]
    boxed = [_pixels(box[n]) if len(box) == 4 else None for n in (2, 3)]
    found = given if None not in given else boxed
    if found[0] is None or found[1] is None or 0 in found:
        raise Unreadable("it gives no size")
    return math.ceil(found[0]), math.ceil(found[1])


def _pixels(length: str) -> float | None:
    match = _LENGTH.fullmatch(length)
    return float(match[1]) * _PIXELS[match[2] or ""] if match else None
