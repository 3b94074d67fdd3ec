"""Notebooks, PDF text and the size of images. Nothing is executed, drawn or decoded further than its text."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

from .delimited import decode
from .json_data import MAX_JSON_BYTES, parse_json
from .tables import MAX_TEXT, Artifact, Unreadable, bounded

MAX_PAGES = 200
IMAGE_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


def read_notebook(data: bytes) -> Artifact:
    """A Jupyter notebook: the sources and textual outputs of its cells. HTML, scripts and images are only named.

    Raises:
        Unreadable: not a notebook, or one from before 2015 (format 3).
    """
    import nbformat

    if len(data) > MAX_JSON_BYTES:
        raise Unreadable(f"more than {MAX_JSON_BYTES:,} bytes of JSON")
    plain, _ = parse_json(decode(data)[0])
    try:
        notebook = nbformat.from_dict(plain)  # type: ignore[no-untyped-call]
        if notebook.nbformat != 4:
            raise Unreadable(f"a notebook of format {notebook.nbformat}; format 4 is read")
        parts = [_cell(number, cell) for number, cell in enumerate(notebook.cells, 1)]
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        outputs = [output for cell in code for output in cell.get("outputs", [])]
        counts = [cell.get("execution_count") for cell in code]
        facts = {
            "cells": len(parts),
            "code_cells": len(code),
            "executed_cells": sum(count is not None for count in counts),
            "outputs": len(outputs),
            "errors": sum(output.output_type == "error" for output in outputs),
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Unreadable("not a Jupyter notebook") from None
    return Artifact("notebook", bounded("\n\n".join(parts)), facts=facts)


def _cell(number: int, cell: Any) -> str:
    count = cell.get("execution_count")
    ran = f", executed as {count}" if isinstance(count, int) else ""
    lines = [f"[cell {number}, {cell.cell_type}{ran}]", _joined(cell.source)]
    for output in cell.get("outputs", []):
        lines += ["[output]", _output(output)]
    return "\n".join(lines)


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return _joined(output.text)
    if output.output_type == "error":
        return _joined([*(f"{line}\n" for line in output.get("traceback", [])), f"{output.ename}: {output.evalue}"])
    shown = [f"[{kind} is not shown]" for kind in output.data if kind != "text/plain"]
    if "text/plain" in output.data:
        shown.insert(0, _joined(output.data["text/plain"]))
    return "\n".join(shown)


def _joined(text: Any) -> str:
    """Notebook text, which is stored whole or as lines, without colour codes."""
    return _ANSI.sub("", text if isinstance(text, str) else "".join(map(str, text)))


def read_pdf(data: bytes) -> Artifact:
    """The text of a PDF, page by page.

    Raises:
        Unreadable: not a PDF, encrypted, or with content that unpacks without end.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    parts, size = [], 0
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            raise Unreadable("an encrypted PDF")
        pages = len(reader.pages)
        for number in range(min(pages, MAX_PAGES)):
            parts.append(f"[page {number + 1}]\n{reader.pages[number].extract_text()}")
            size += len(parts[-1])
            if size > MAX_TEXT:
                break
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, RecursionError) as error:
        raise Unreadable(f"not readable as PDF: {error}") from None
    facts: dict[str, Any] = {"pages": pages}
    if len(parts) < pages:
        facts["truncated"] = f"{len(parts)} of {pages} pages are read"
    return Artifact("pdf", bounded("\n".join(parts)), facts=facts)


def read_image(data: bytes) -> Artifact:
    """Format, width and height (pixels) of an image, from its header; no pixel is decoded.

    Raises:
        Unreadable: not an image, or one of more pixels than Pillow holds safe.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=IMAGE_FORMATS) as image:
                facts = {"format": image.format, "width": image.width, "height": image.height, "mode": image.mode}
    except Image.DecompressionBombError:
        raise Unreadable("an image of too many pixels, a decompression bomb") from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, TypeError, OverflowError):
        raise Unreadable("not an image") from None
    return Artifact("image", facts=facts)


def decode_image(data: bytes, max_side: int, max_pixels: int) -> Artifact:
    """As `read_image`, after all pixels were decoded once. For a process that may die.

    Raises:
        Unreadable: not an image, of more pixels than allowed by its header, or with pixels that can't be decoded.
    """
    from PIL import Image

    image = read_image(data)
    width, height = image.facts["width"], image.facts["height"]
    if max(width, height) > max_side or width * height > max_pixels:
        raise Unreadable(f"{width} x {height} pixels, more than {max_side:,} a side or {max_pixels:,} in all")
    try:
        with Image.open(io.BytesIO(data), formats=(image.facts["format"],)) as opened:
            opened.load()
    except Exception as error:  # decoders of a dozen formats raise what they like; the file is no image all the same
        raise Unreadable(f"its pixels can't be decoded: {error}") from None
    return image
