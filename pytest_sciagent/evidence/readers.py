"""Artifact readers: bytes in, text and tables out. Every reader is bounded, and says why it refuses.

Tables of separated values, JSON, JSON lines, Parquet, XLSX, NPY, NPZ, HDF5, notebooks, PDF, images (size only), and
any other text. Never read: pickles under any name, archives, executables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

from ..extras import EXTRAS, need
from .arrays import read_hdf5, read_npy, read_npz
from .delimited import read_delimited, read_text
from .json_data import json_values, read_json, read_json_lines
from .media import read_image, read_notebook, read_pdf
from .sheets import read_parquet, read_xlsx
from .tables import MAX_BYTES, Artifact, Cell, Kind, Table, Unreadable

__all__ = [
    "Artifact",
    "Cell",
    "Kind",
    "Table",
    "Unreadable",
    "check_packages",
    "json_values",
    "libraries",
    "needs_isolation",
    "read_artifact",
]

Reader = Callable[[bytes], Artifact]


def _tabs(data: bytes) -> Artifact:
    return read_delimited(data, "\t")


def _reader(reader: Reader, *suffixes: str) -> dict[str, Reader]:
    return dict.fromkeys(suffixes, reader)


_IN_PROCESS: Mapping[str, Reader] = MappingProxyType(
    _reader(read_delimited, ".csv", ".psv", ".ssv")
    | _reader(_tabs, ".tsv", ".tab")
    | _reader(read_json, ".json", ".geojson")
    | _reader(read_json_lines, ".jsonl", ".ndjson")
    | _reader(read_notebook, ".ipynb")
)
# Parsers of binary formats: a hostile file may crash them or exhaust memory, so they belong in a child process.
_ISOLATED: Mapping[str, Reader] = MappingProxyType(
    _reader(read_parquet, ".parquet", ".pq")
    | _reader(read_xlsx, ".xlsx", ".xlsm")
    | _reader(read_npy, ".npy")
    | _reader(read_npz, ".npz")
    | _reader(read_hdf5, ".h5", ".hdf5", ".hdf", ".nc", ".nc4")
    | _reader(read_pdf, ".pdf")
    | _reader(read_image, ".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
)
_LIBRARIES: Mapping[Reader, tuple[str, ...]] = MappingProxyType(
    {
        read_parquet: ("pyarrow.parquet",),
        read_xlsx: ("openpyxl",),
        read_npy: ("numpy",),
        read_npz: ("numpy",),
        read_hdf5: ("h5py",),
        read_pdf: ("pypdf",),
        read_image: ("PIL.Image",),
    }
)
_PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt", ".rds", ".rda", ".rdata", ".mat", ".sav", ".dill")
_ARCHIVES = (".zip", ".gz", ".bz2", ".xz", ".zst", ".tar", ".tgz", ".7z", ".rar", ".whl", ".jar")
_PICKLE_PROTOCOLS = frozenset(range(2, 6))


def read_artifact(path: str, data: bytes) -> Artifact:
    """Read the artifact that `path` names from its bytes. Nothing else is opened, and nothing is executed.

    Raises:
        Unreadable: with the reason.
    """
    suffix = _suffix(path)
    if suffix in _PICKLES:
        raise Unreadable(f"{suffix} files can run code when they are loaded, and are never read")
    if len(data) > 1 and data[0] == 0x80 and data[1] in _PICKLE_PROTOCOLS:
        raise Unreadable("a pickle, which can run code when it is loaded, and is never read")
    if suffix in _ARCHIVES:
        raise Unreadable("an archive, which is not unpacked")
    if len(data) > MAX_BYTES:
        raise Unreadable(f"{len(data):,} bytes, more than {MAX_BYTES:,}")
    reader = _IN_PROCESS.get(suffix) or _ISOLATED.get(suffix) or read_text
    return reader(data)


def check_packages(label: str, paths: Iterable[str]) -> None:
    """Look whether each of `paths`, files of the run `label`, has a reader whose module is installed.

    What a run earns must not depend on what happens to be installed, so nothing is passed over.

    Raises:
        SciagentError: a module is missing; the message names it, the file and the extra.
    """
    first: dict[str, str] = {}
    for path in paths:
        reader = _ISOLATED.get(_suffix(path))
        for library in _LIBRARIES[reader] if reader is not None else ():
            module = library.partition(".")[0]
            if module in EXTRAS["science"]:
                first.setdefault(module, path)
    for module, path in sorted(first.items()):
        need("science", f"{label}: reading {path}", module)


def needs_isolation(path: str) -> bool:
    """Whether the reader for `path` should run in a child process."""
    return _suffix(path) in _ISOLATED


def libraries(path: str) -> tuple[str, ...]:
    """The modules that the reader for `path` in a child process will import."""
    reader = _ISOLATED.get(_suffix(path))
    return _LIBRARIES[reader] if reader is not None else ()


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
