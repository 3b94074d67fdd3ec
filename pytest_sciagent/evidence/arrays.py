"""Arrays: NPY, NPZ and HDF5. Sizes come from headers and are checked before anything is allocated; no pickles."""

from __future__ import annotations

import io
import math
import zipfile
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

from .tables import (
    MAX_COLUMNS,
    MAX_TABLES,
    Artifact,
    Table,
    Unreadable,
    kept_rows,
    plain_cell,
    render,
    unique_names,
)

if TYPE_CHECKING:
    import numpy as np

MAX_ARRAY_BYTES = 256 * 1024 * 1024
MAX_MEMBERS = 10_000
MAX_RATIO = 100
RATIO_MATTERS_ABOVE = 16 * 1024 * 1024
MAX_OBJECTS = 2_000
_BAD_HEADER = (
    *(ValueError, KeyError, EOFError, TypeError, OverflowError),
    *(SyntaxError, TokenError, RecursionError, MemoryError),  # a header is a literal of Python
)


def read_npy(data: bytes) -> Artifact:
    """One NumPy array.

    Raises:
        Unreadable: an object array (a pickle), or a header that promises more than is there.
    """
    return _arrays([("array", _array(data))])


def read_npz(data: bytes) -> Artifact:
    """The arrays of an NPZ archive.

    Raises:
        Unreadable: a bomb, a member that is not an array, or as `read_npy`.
    """
    with open_zip(data) as archive:
        arrays = []
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                raise Unreadable(f"the member {info.filename!r} is not an array")
            arrays.append((info.filename.removesuffix(".npy"), _array(_member(archive, info))))
    return _arrays(arrays)


def open_zip(data: bytes, limit: int = MAX_ARRAY_BYTES) -> zipfile.ZipFile:
    """The archive in `data`, once its directory promises at most `limit` bytes.

    Raises:
        Unreadable: no ZIP archive, too many members, too many bytes, or compressed beyond belief.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        raise Unreadable("not a sound ZIP archive") from None
    members = archive.infolist()
    total = sum(info.file_size for info in members)
    if len(members) > MAX_MEMBERS:
        raise Unreadable(f"an archive of more than {MAX_MEMBERS:,} members")
    if total > limit:
        raise Unreadable(f"an archive that unpacks to {total:,} bytes, more than {limit:,}")
    if total > max(RATIO_MATTERS_ABOVE, MAX_RATIO * len(data)):
        raise Unreadable(f"an archive that unpacks to {total // max(len(data), 1):,} times its size")
    if any(info.flag_bits & 1 for info in members):
        raise Unreadable("an encrypted archive")
    return archive


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member; `zipfile` gives no more than the directory promised, and checks their sum."""
    import zlib

    try:
        return archive.read(info)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, RuntimeError):
        raise Unreadable(f"the member {info.filename!r} is damaged") from None


def _array(data: bytes) -> np.ndarray[Any, Any]:
    """The array in NPY `data`, a view of it. NumPy only parses the header, which is a literal and no code."""
    import numpy as np
    from numpy.lib import format as npy

    stream = io.BytesIO(data)
    try:
        version = npy.read_magic(stream)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = read(stream)
    except _BAD_HEADER:
        raise Unreadable("not a sound NPY header") from None
    if dtype.hasobject:
        raise Unreadable("an array of Python objects is a pickle, which is never read")
    count = math.prod(shape)
    if any(length < 0 for length in shape) or count * dtype.itemsize > len(data) - stream.tell():
        raise Unreadable(f"its header promises shape {shape} of {dtype}, more than the file holds")
    flat = np.frombuffer(data, dtype, count, stream.tell()) if count and dtype.itemsize else np.zeros(0, dtype)
    try:
        return flat.reshape(shape, order="F" if fortran else "C")
    except ValueError:
        raise Unreadable(f"an array of shape {shape} holds no values") from None


def _arrays(arrays: list[tuple[str, np.ndarray[Any, Any]]], facts: dict[str, Any] | None = None) -> Artifact:
    """Arrays of one or two dimensions, or of records, as tables; of the others only name, shape and type."""
    tables: list[Table] = []
    listed: dict[str, str] = {}
    cut: list[str] = []
    for name, array in arrays:
        listed[name] = f"{'x'.join(map(str, array.shape)) or 'scalar'} {array.dtype}"
        table = _table(name, array) if len(tables) < MAX_TABLES else None
        if table is not None:
            tables.append(table)
            if array.ndim and len(table.rows) < len(array):
                cut.append(name)
    known = {"arrays": listed, **(facts or {})}
    if cut:
        known["truncated"] = f"only the first rows of {', '.join(cut[:5])} are kept"
    listing = "".join(f"{name}: {text}\n" for name, text in listed.items())
    return Artifact("arrays", listing + render(tables), tuple(tables), known)


def _table(name: str, array: np.ndarray[Any, Any]) -> Table | None:
    fields = array.dtype.names
    if array.ndim > 2 or (fields and array.ndim > 1):
        return None
    if array.ndim == 0:
        array = array.reshape(1)
    width = len(fields) if fields else array.shape[1] if array.ndim == 2 else 1
    if not 1 <= width <= MAX_COLUMNS:
        return None
    columns = fields or (tuple(str(i) for i in range(width)) if array.ndim == 2 else ("value",))
    array = array[: kept_rows(width)]
    if array.dtype.kind in "mM":
        array = array.astype(str)
    listed = array.tolist() if array.ndim == 2 or fields else [(value,) for value in array.tolist()]
    return Table(name, unique_names(columns), tuple(tuple(plain_cell(value) for value in row) for row in listed))


def read_hdf5(data: bytes) -> Artifact:
    """The datasets of an HDF5 file (NetCDF 4 is one).

    Raises:
        Unreadable: links or storage outside the file, soft links, too many objects, a dataset over 256 MB.
    """
    import h5py

    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            found = _datasets(file)
            arrays = [(name, dataset[...]) for name, dataset in found if _is_plain(dataset)]
            skipped = [name for name, dataset in found if not _is_plain(dataset)]
    except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
        raise Unreadable(f"not readable as HDF5: {error}") from None
    return _arrays(arrays, {"not_read": skipped[:MAX_TABLES]} if skipped else None)


def _datasets(file: Any) -> list[tuple[str, Any]]:
    """All datasets of `file`, every link and size checked before anything behind it is touched."""
    import h5py

    found: list[tuple[str, Any]] = []
    groups = [("", file)]
    visited = 0
    while groups:
        prefix, group = groups.pop(0)
        for name in group:
            visited += 1
            if visited > MAX_OBJECTS:
                raise Unreadable(f"more than {MAX_OBJECTS:,} objects, or groups within themselves")
            path = f"{prefix}/{name}"
            link = group.get(name, getlink=True)
            if not isinstance(link, h5py.HardLink):
                raise Unreadable(f"{path} is a link ({type(link).__name__}), which is not followed")
            node = group[name]
            if isinstance(node, h5py.Group):
                groups.append((path, node))
            elif isinstance(node, h5py.Dataset):
                _check_dataset(path, node)
                found.append((path, node))
    if sum(dataset.nbytes for _, dataset in found if _is_plain(dataset)) > MAX_ARRAY_BYTES:
        raise Unreadable(f"datasets of more than {MAX_ARRAY_BYTES:,} bytes")
    return found


def _check_dataset(path: str, dataset: Any) -> None:
    if dataset.external or dataset.is_virtual:
        raise Unreadable(f"{path} keeps its values outside the file, where nothing is read")
    chunk = math.prod(dataset.chunks or (1,)) * dataset.dtype.itemsize
    if max(dataset.nbytes, chunk) > MAX_ARRAY_BYTES:
        raise Unreadable(f"{path} has {max(dataset.nbytes, chunk):,} bytes, more than {MAX_ARRAY_BYTES:,}")
    if dataset.nbytes > max(RATIO_MATTERS_ABOVE, MAX_RATIO * dataset.id.get_storage_size()):
        raise Unreadable(f"{path} unpacks to more than {MAX_RATIO} times what is stored")


def _is_plain(dataset: Any) -> bool:
    """Numbers, fixed text, or records of them: not references, and not text of any length."""
    return dataset.shape is not None and not dataset.dtype.hasobject
