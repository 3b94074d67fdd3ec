"""What a worker of a Dask cluster does: one verification script of a task, in the sandbox, as one machine does."""

from __future__ import annotations

import json
import socket
import tempfile
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import SciagentError
from ..tasks.verification import Scripts, VerificationFailed
from .parcels import Parcel


@dataclass(frozen=True)
class Errand:
    """A script to run. key: what its answer follows from, as the session sees it."""

    script: str
    key: str
    scripts: Parcel
    data: Parcel
    version: str = field(default_factory=partial(version, "pytest-sciagent"))


@dataclass(frozen=True)
class Findings:
    """What came of an errand: the JSON object that the script printed, nothing where it failed, or why it was not
    run."""

    answer: str | None = None
    refused: str | None = None


def run_errand(errand: Errand) -> Findings:
    """Run a script on the worker that this is called on. Nothing of it stays there."""
    if errand.version != (mine := version("pytest-sciagent")):
        return Findings(refused=f"a worker has pytest-sciagent {mine}, this session {errand.version}")
    host = socket.gethostname()
    try:
        with tempfile.TemporaryDirectory(prefix="sciagent-errand-") as temporary:
            scripts = Scripts(Path(temporary) / "verify", Path(temporary) / "data")
            for parcel, folder in ((errand.scripts, scripts.folder), (errand.data, scripts.data)):
                folder.mkdir()
                parcel.unpack(folder)
            if scripts.key(errand.script) != errand.key:
                return Findings(refused=f"on {host}: another Python, or other packages, than this session's")
            answer: dict[str, Any] = scripts.run(errand.script)
            return Findings(answer=json.dumps(answer))
    except VerificationFailed:
        return Findings()
    except (SciagentError, OSError) as error:
        return Findings(refused=f"on {host}: {error}")
