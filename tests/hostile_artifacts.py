"""Hostile artifacts, made in code and small: bombs, pickles, lying headers, links. For tests only."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping

import h5py
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq


class Trap:
    """An object whose unpickling would touch the file `mark`."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (self.mark, "w")


def pickled(mark: str) -> bytes:
    """A pickle that would create the file `mark` when loaded."""
    return pickle.dumps(Trap(mark))


def object_npy(mark: str) -> bytes:
    """An NPY array of Python objects, which is a pickle."""
    out = io.BytesIO()
    np.save(out, np.array([Trap(mark)], dtype=object), allow_pickle=True)
    return out.getvalue()


def npy_header(header: str, body: bytes = b"") -> bytes:
    """An NPY file with this header."""
    text = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A deflated ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def npz_bomb() -> bytes:
    """40 MB of zeros in 40 kB."""
    out = io.BytesIO()
    np.savez_compressed(out, x=np.zeros(5_000_000))
    return out.getvalue()


def npz_with_lying_directory() -> bytes:
    """An archive whose directory promises fewer bytes than are there."""
    data = bytearray(zipped({"x.npy": npy_header(_SHAPE % "(999,)", b"\0" * 7992)}))
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = struct.pack("<I", 100)
    return bytes(data)


def parquet(table: pa.Table) -> bytes:
    """A Parquet file of `table`."""
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def parquet_bomb() -> bytes:
    """2.1 million rows in a few kB."""
    return parquet(pa.table({"x": pa.array(np.zeros(2_100_000, dtype=np.int8))}))


def parquet_repeating_a_long_text() -> bytes:
    """One text of 1 MB, named 100 times through a dictionary."""
    indexes = pa.array(np.zeros(100, dtype=np.int32))
    return parquet(pa.table({"x": pa.DictionaryArray.from_arrays(indexes, pa.array(["a" * 1_000_000]))}))


def hdf5(build: Callable[[h5py.File], object]) -> bytes:
    """An HDF5 file filled by `build`."""
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        build(file)
    return out.getvalue()


def _external_link(file: h5py.File) -> None:
    file["x"] = h5py.ExternalLink("/etc/hostname", "/")


def _soft_link(file: h5py.File) -> None:
    file["a/y"] = h5py.SoftLink("/nowhere")


def _external_storage(file: h5py.File) -> None:
    file.create_dataset("x", shape=(8,), dtype="u1", external=[("/etc/hostname", 0, 8)])


def _virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=(4,), dtype="f8")
    layout[:] = h5py.VirtualSource("/tmp/other.h5", "x", shape=(4,))
    file.create_virtual_dataset("x", layout)


def _promised(file: h5py.File) -> None:
    file.create_dataset("x", shape=(2**38,), dtype="f8", chunks=(1024,))


def _zeros(file: h5py.File) -> None:
    file.create_dataset("x", data=np.zeros(4_000_000), compression="gzip", compression_opts=9)


def _loop(file: h5py.File) -> None:
    group = file.create_group("a")
    group["b"] = group
    group["c"] = group


def png_header(width: int, height: int) -> bytes:
    """A PNG that promises this size and holds nothing."""
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", b""), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def pdf(content: bytes, filters: bytes = b"", extra: bytes = b"") -> bytes:
    """A PDF of one page with this content stream."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), filters, content),
    ]
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    out.write(b"trailer\n<< /Size 5 /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (extra, start))
    return out.getvalue()


def pdf_bomb() -> bytes:
    """A page of 80 MB of spaces in 80 kB."""
    return pdf(zlib.compress(b" " * 80_000_000, 9), b"/Filter /FlateDecode")


def xlsx(rows: list[list[object]], title: str = "Sheet1") -> bytes:
    """A workbook of one sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title
    for row in rows:
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def xlsx_with(sheet: bytes) -> bytes:
    """A workbook whose one sheet is this XML."""
    with zipfile.ZipFile(io.BytesIO(xlsx([[1]]))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["xl/worksheets/sheet1.xml"] = sheet
    return zipped(members)


def _sheet_xml(cells: str, head: str = "") -> bytes:
    name = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<?xml version="1.0"?>{head}<worksheet xmlns="{name}"><sheetData>{cells}</sheetData></worksheet>'.encode()


def xlsx_entity_bomb() -> bytes:
    """A sheet whose text would grow to gigabytes through nested entities."""
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    head = f'<!DOCTYPE w [<!ENTITY e0 "{"a" * 1000}">{entities}]>'
    return xlsx_with(_sheet_xml('<row r="1"><c r="A1" t="str"><v>&e9;</v></c></row>', head))


def xlsx_far_cell(cell: str, row: int) -> bytes:
    """A sheet with one number, far out."""
    return xlsx_with(_sheet_xml(f'<row r="{row}"><c r="{cell}"><v>7</v></c></row>'))


_SHAPE = "{'descr': '<f8', 'fortran_order': False, 'shape': %s}"
HOSTILE: dict[str, tuple[str, Callable[[str], bytes], str]] = {
    "pickle": ("out/model.pkl", lambda mark: pickled(mark), "never read"),
    "pickle as csv": ("out/data.csv", lambda mark: pickled(mark), "a pickle"),
    "pickle as npy": ("out/data.npy", lambda mark: pickled(mark), "a pickle"),
    "pickle as text": ("out/notes.txt", lambda mark: pickled(mark), "a pickle"),
    "joblib": ("out/model.joblib", lambda mark: b"", "never read"),
    "matlab": ("out/x.MAT", lambda mark: b"MATLAB 5.0", "never read"),
    "torch": ("out/x.pt", lambda mark: zipped({"data.pkl": pickled(mark)}), "never read"),
    "archive": ("out/data.csv.gz", lambda mark: b"\x1f\x8b", "not unpacked"),
    "npz of pickles": ("out/x.npz", lambda mark: zipped({"data.pkl": pickled(mark)}), "not an array"),
    "npz of object arrays": ("out/x.npz", lambda mark: zipped({"x.npy": object_npy(mark)}), "a pickle"),
    "npz bomb": ("out/x.npz", lambda mark: npz_bomb(), "times its size"),
    "npz lying directory": ("out/x.npz", lambda mark: npz_with_lying_directory(), "damaged"),
    "npz that is none": ("out/x.npz", lambda mark: b"PK nothing", "not a sound ZIP"),
    "object array": ("out/x.npy", lambda mark: object_npy(mark), "a pickle"),
    "npy lying shape": ("out/x.npy", lambda mark: npy_header(_SHAPE % "(1099511627776,)", b"\0" * 8), "promises"),
    "npy negative shape": ("out/x.npy", lambda mark: npy_header(_SHAPE % "(-1, 8)", b"\0" * 8), "promises"),
    "npy code in header": ("out/x.npy", lambda mark: npy_header(f"open({mark!r}, 'w')"), "NPY header"),
    "npy cut": ("out/x.npy", lambda mark: b"\x93NUMPY\x01", "NPY header"),
    "parquet rows": ("out/x.parquet", lambda mark: parquet_bomb(), "rows, more than"),
    "parquet text": ("out/x.parquet", lambda mark: parquet_repeating_a_long_text(), "characters of text"),
    "parquet garbage": ("out/x.parquet", lambda mark: b"PAR1" + b"\0" * 64 + b"PAR1", "not readable as Parquet"),
    "hdf5 external link": ("out/x.h5", lambda mark: hdf5(_external_link), "ExternalLink"),
    "hdf5 soft link": ("out/x.h5", lambda mark: hdf5(_soft_link), "SoftLink"),
    "hdf5 external storage": ("out/x.h5", lambda mark: hdf5(_external_storage), "outside the file"),
    "hdf5 virtual": ("out/x.h5", lambda mark: hdf5(_virtual), "outside the file"),
    "hdf5 promised": ("out/x.h5", lambda mark: hdf5(_promised), "bytes, more than"),
    "hdf5 zeros": ("out/x.h5", lambda mark: hdf5(_zeros), "times what is stored"),
    "hdf5 loop": ("out/x.h5", lambda mark: hdf5(_loop), "within themselves"),
    "hdf5 garbage": ("out/x.h5", lambda mark: b"\x89HDF\r\n\x1a\n" + b"\0" * 200, "not readable as HDF5"),
    "netcdf 3": ("out/x.nc", lambda mark: b"CDF\x01" + b"\0" * 64, "not readable as HDF5"),
    "xlsx bomb": ("out/x.xlsx", lambda mark: zipped({"xl/a.xml": b" " * 40_000_000}), "times its size"),
    "xlsx entities": ("out/x.xlsx", lambda mark: xlsx_entity_bomb(), "not a sound XLSX"),
    "xlsx far column": ("out/x.xlsx", lambda mark: xlsx_far_cell("XFD1", 1), "more than 2,000 columns"),
    "xlsx garbage": ("out/x.xlsx", lambda mark: zipped({"a": b""}), "not a sound XLSX"),
    "png bomb": ("out/x.png", lambda mark: png_header(60_000, 60_000), "decompression bomb"),
    "png that is none": ("out/x.png", lambda mark: b"<svg/>", "not an image"),
    "pdf that is none": ("out/x.pdf", lambda mark: b"%PDF-1.7 nothing", "not readable as PDF"),
    "pdf bomb": ("out/x.pdf", lambda mark: pdf_bomb(), "not readable as PDF"),
    "json deep": ("out/x.json", lambda mark: b"[" * 200_000 + b"]" * 200_000, "nested deeper"),
    "json just too deep": ("out/x.json", lambda mark: b"[" * 202 + b"]" * 202, "nested deeper"),
    "json huge number": ("out/x.json", lambda mark: b"1" * 100_000, "thousands of digits"),
    "json values": ("out/x.json", lambda mark: b"[" + b"1," * 2_000_001 + b"1]", "2,000,000 values"),
    "json duplicate key": ("out/x.json", lambda mark: b'{"p": 0.9, "p": 0.01}', "twice"),
    "json lines": ("out/x.jsonl", lambda mark: b'{"a": 1}\n{"a": }\n', "line 2"),
    "csv line": ("out/x.csv", lambda mark: b"a,b\n" + b"x" * 1_000_001, "1,000,000 characters"),
    "csv field": ("out/x.csv", lambda mark: b'a,b\n"' + b"x\n" * 100_000 + b'",1\n', "field larger"),
    "csv columns": ("out/x.csv", lambda mark: b"a," * 2_001 + b"a\n", "2,000 columns"),
    "csv rows": ("out/x.csv", lambda mark: b"a\n" * 2_000_001, "2,000,000 lines"),
    "csv quote": ("out/x.csv", lambda mark: b'a,b\n"1,2\n3,4\n', "unterminated quote"),
    "csv binary": ("out/x.csv", lambda mark: bytes(range(256)) * 8, "binary data"),
    "text binary": ("out/x.xyz", lambda mark: b"\x7fELF" + bytes(64), "binary data"),
    "utf-16 cut": ("out/x.txt", lambda mark: "ab".encode("utf-16") + b"a", "not utf-16"),
    "notebook that is none": ("out/x.ipynb", lambda mark: b'{"cells": 3}', "not a Jupyter notebook"),
}
"""Artifacts that must be refused: name -> path, bytes (none may create the file `mark`), part of the reason."""
