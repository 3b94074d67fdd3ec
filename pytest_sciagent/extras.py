"""Packages that only some uses need: the extras of the distribution, and the one message where one is missing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType

from .errors import SciagentError

DISTRIBUTION = "pytest-sciagent"
EXTRAS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dask": ("distributed",),
        "literature": ("tenacity",),
        "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
        "ro-crate": ("rocrate",),
        "science": ("h5py", "openpyxl", "pyarrow", "pypdf"),
        "signing": ("cryptography", "securesystemslib"),
        "svg": ("resvg_py",),
    }
)
"""The modules that each extra brings. `calibration` and `local` bring none: the core has all they take."""


def need(extra: str, purpose: str, *modules: str) -> None:
    """Look whether what `purpose` needs is installed: these `modules` of `extra`, or all that it brings.

    Args:
        purpose: what is being done, as the beginning of a sentence: "signing", "--sciagent-otel".

    Raises:
        SciagentError: a module is missing; the message names it, and the extra to install.
    """
    missing = [module for module in modules or EXTRAS[extra] if not installed(module)]
    if missing:
        raise SciagentError(
            f"{purpose} needs {' and '.join(missing)}, not installed here: pip install '{DISTRIBUTION}[{extra}]'"
        )


def installed(module: str) -> bool:
    """Whether `module` could be imported. Only the packages around it are."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package around it
        return False
