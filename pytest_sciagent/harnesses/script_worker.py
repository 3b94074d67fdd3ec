"""What a worker of a Dask cluster does: one verification script of a task, in the sandbox, as one machine does."""

from __future__ import annotations

import json
import socket
import tempfile
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path

from ..digest import sha256_bytes
from ..errors import SciagentError
from ..evidence.sandbox import interpreter
from ..tasks.verification import LIMITS, Scripts, VerificationFailed
from .engine import AtWork
from .parcels import Parcel

ANSWER_BYTES = LIMITS.output_bytes
"""How much is sent back. Where a script answers more, the session runs it itself."""


def _interpreter_digest() -> str:
    return sha256_bytes(interpreter().encode())


@dataclass(frozen=True)
class Errand:
    """A script to run. key: what its answer follows from, as the session sees it: scripts, data, Python, packages.
    interpreter: a digest of the last two. topic: where the worker tells that it has begun."""

    script: str
    key: str
    scripts: Parcel
    data: Parcel
    topic: str
    interpreter: str = field(default_factory=_interpreter_digest)
    version: str = field(default_factory=partial(version, "pytest-sciagent"))


@dataclass(frozen=True)
class Findings:
    """What came of an errand: the JSON object that the script printed, nothing where it failed, or why it was not
    run. key: the errand's. digest: of the answer."""

    key: str
    answer: str | None = None
    digest: str | None = None
    refused: str | None = None


def run_errand(errand: Errand) -> Findings:
    """Run a script on the worker that this is called on. Nothing of it stays there."""
    host = socket.gethostname()
    if errand.version != (mine := version("pytest-sciagent")):
        return Findings(errand.key, refused=f"a worker has pytest-sciagent {mine}, this session {errand.version}")
    if errand.interpreter != _interpreter_digest():
        return Findings(errand.key, refused=f"on {host}: another Python, or other packages, than this session's")
    at_work = AtWork(errand.topic, errand.key)
    at_work.begin(f"started on {host}")
    try:
        with tempfile.TemporaryDirectory(prefix="sciagent-errand-", dir=at_work.folder) as temporary:
            scripts = Scripts(Path(temporary) / "verify", Path(temporary) / "data")
            for parcel, folder in ((errand.scripts, scripts.folder), (errand.data, scripts.data)):
                folder.mkdir()
                parcel.unpack(folder)
            if scripts.key(errand.script) != errand.key:
                return Findings(errand.key, refused=f"on {host}: other scripts or data arrived than the session's")
            answer = json.dumps(scripts.run(errand.script, at_work.check_wanted))
            if len(answer) > ANSWER_BYTES:
                return Findings(errand.key)
            return Findings(errand.key, answer, sha256_bytes(answer.encode()))
    except VerificationFailed:
        return Findings(errand.key)
    except (SciagentError, OSError) as error:
        return Findings(errand.key, refused=f"on {host}: {error}")
