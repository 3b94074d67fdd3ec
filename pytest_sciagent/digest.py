"""Digests: SHA-256 over bytes, over canonical JSON (RFC 8785) and over a tree of files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any


def sha256_bytes(data: bytes) -> str:
    """The SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: Any) -> bytes:
    """The canonical JSON (RFC 8785) of `value`, which must be plain JSON data.

    Raises:
        rfc8785.CanonicalizationError: a value that JSON can't hold (NaN, bytes, an integer over 2**53).
    """
    import rfc8785

    return rfc8785.dumps(value)


def sha256_json(value: Any) -> str:
    """The SHA-256 of the canonical JSON of `value`; raises as `canonical_json`."""
    return sha256_bytes(canonical_json(value))


def sha256_tree(files: Iterable[tuple[str, int, str]]) -> str:
    """The digest of a tree, given (path, bytes, sha256) of each of its files.

    SHA-256 over the lines `path NUL size NUL sha256 LF`, sorted by path.
    """
    lines = sorted(files)
    return sha256_bytes(b"".join(f"{p}\0{n}\0{h}\n".encode("utf-8", "surrogateescape") for p, n, h in lines))
