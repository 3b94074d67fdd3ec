"""A seal on a frozen run: a signed statement over its tree digest and its manifest, beside the run (`RUN.seal.json`).

The statement is an in-toto statement (v1) in a DSSE envelope. It needs `securesystemslib` (`pytest-sciagent[signing]`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..digest import sha256_bytes
from ..documents import plain_json, read_text
from ..errors import SciagentError
from ..extras import need
from ..layout import MANIFEST
from .files import read_file
from .run import Run

if TYPE_CHECKING:
    from securesystemslib.signer import Key

PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:pytest-sciagent:frozen-run:1"


def seal_path(run: Path) -> Path:
    """Where the seal of a run lies."""
    return run.parent / f"{run.name}.seal.json"


def new_key(path: Path) -> Path:
    """Make an Ed25519 key pair: the private key at `path` (readable by its owner only), the public one beside it.

    Raises:
        SciagentError: the file exists or can't be written; `securesystemslib` is not installed.
    """
    need("signing", "signing")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    place = path.with_name(f"{path.name}.pub")
    for target, content, mode in ((path, private, 0o600), (place, public, 0o644)):
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except OSError as error:
            raise SciagentError(f"the key can't be written: {error.strerror}", path=target) from None
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
    return place


def seal(run: Run, key: Path) -> Path:
    """Sign `run` with the private key (PEM) in the file `key`; the seal's path. An older seal is replaced.

    Raises:
        SciagentError: the run is not sound, the key can't be used, `securesystemslib` is not installed.
    """
    need("signing", "signing")
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner

    from ..ledger.store import write_atomically

    problems = run.problems()
    if problems:
        raise SciagentError(f"is not what was frozen: {problems[0]}", path=run.path)
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        signer = CryptoSigner(load_pem_private_key(_read_key(key), None))
    except (ValueError, TypeError) as error:
        raise SciagentError(f"is no private key in PEM without a passphrase: {error}", path=key) from None
    payload = json.dumps(_statement(run), sort_keys=True, ensure_ascii=False).encode()
    envelope = Envelope(payload, PAYLOAD, {})
    envelope.sign(signer)
    path = seal_path(run.path)
    write_atomically(path, json.dumps(envelope.to_dict(), indent=2) + "\n")
    return path


def check_seal(run: Run, keys: Sequence[Path]) -> list[str]:
    """What is wrong with the seal of `run`, given the public keys that may have made it; nothing if it holds.

    Raises:
        SciagentError: a key that can't be read, `securesystemslib` is not installed.
    """
    need("signing", "signing")
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError

    known = [_public_key(key) for key in keys]
    path = seal_path(run.path)
    if not path.is_file():
        return ["it has no seal"]
    try:
        envelope = Envelope.from_dict(plain_json(read_text(path), path))
        envelope.verify(known, 1)
        if envelope.payload_type != PAYLOAD:
            return [f"the seal is of another kind: {envelope.payload_type!r}"]
        statement = json.loads(envelope.payload)
    except VerificationError:
        return ["the seal was not made with a key that was given"]
    except (SciagentError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"the seal can't be read: {error}"]
    return _differences(run, statement)


def _differences(run: Run, statement: Any) -> list[str]:
    expected = _statement(run)
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT:
        return ["the seal is of another kind"]
    if statement.get("subject") != expected["subject"] or statement.get("predicateType") != PREDICATE:
        return ["the seal was made for another run than this"]
    return []


def _statement(run: Run) -> dict[str, Any]:
    manifest = run.manifest
    about = {"task_id": manifest.task_id, "system": manifest.system.name, "repeat": manifest.repeat}
    about |= {"status": manifest.status, "files": len(manifest.files)}
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": run.label, "digest": {"sha256": manifest.tree_sha256}},
            {"name": MANIFEST, "digest": {"sha256": sha256_bytes(read_file(run.path, MANIFEST))}},
        ],
        "predicateType": PREDICATE,
        "predicate": {
            **about,
            "sealed_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "program": f"pytest-sciagent {version('pytest-sciagent')}",
        },
    }


def _public_key(path: Path) -> Key:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        return SSlibKey.from_crypto(load_pem_public_key(_read_key(path)))
    except ValueError as error:
        raise SciagentError(f"is no public key in PEM: {error}", path=path) from None


def _read_key(path: Path) -> bytes:
    return read_text(path).encode()
