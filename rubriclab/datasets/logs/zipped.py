"""The JSON files in a zip, one after the other, with the compression of newer writers (Zstandard) too.

No more than one file is unpacked at a time, and none beyond what a record may hold.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any

from rubriclab.datasets.limits import MB, reading, refuse_bomb
from rubriclab.datasets.logs.source import CHUNK, MAX_RECORD, Source
from rubriclab.datasets.plain import json_value
from rubriclab.model import DataError
from rubriclab.model.language import tr
from rubriclab.model.wording import many

ZSTANDARD = 93
"""The number that the zip format gives it (APPNOTE 6.3.8, 4.4.5); Python reads it from 3.14 on."""
MOST_MEMBERS = 2_000_000
_HEADER = struct.Struct("<4s22xHH")


def members(source: Source) -> list[str]:
    """The names in the zip; none of a file that is no whole zip."""
    try:
        with source.open() as file, zipfile.ZipFile(file) as book:
            return book.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return []


def records_of(source: Source, prefix: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(number from 1, the JSON object) of each ``.json`` file whose name begins so, in the zip's order.

    Raises DataError, naming the file in the zip, for what is cut off, damaged, too large or no object.
    """
    with reading(source.name, tr("is not a whole zip file (is it half written or cut off?)")), source.open() as file:
        with zipfile.ZipFile(file) as book:
            listed = book.infolist()
        if len(listed) > MOST_MEMBERS:
            raise DataError(
                tr(
                    "“{name}” holds {files}; {most:,} are read.",
                    name=source.name,
                    files=many(len(listed), "file"),
                    most=MOST_MEMBERS,
                )
            )
        wanted = [one for one in listed if one.filename.startswith(prefix) and one.filename.endswith(".json")]
        for number, one in enumerate(wanted, start=1):
            where = f"{source.name}, {one.filename[:80]}"
            source.read = max(source.read, one.header_offset)
            yield number, _object(where, _unpacked(file, one, where), source.notes)


def _object(where: str, content: bytes, notes: list[str]) -> Mapping[str, Any]:
    try:
        value = json_value(where, content.decode("utf-8"), notes=notes)
    except json.JSONDecodeError as fault:
        raise DataError(tr("“{where}” is no JSON: {why}. Nothing was imported.", where=where, why=fault.msg)) from fault
    except UnicodeDecodeError as fault:
        raise DataError(
            tr("“{where}” is not UTF-8 (byte {byte:,}). Nothing was imported.", where=where, byte=fault.start)
        ) from fault
    if not isinstance(value, dict):
        raise DataError(
            tr(
                "“{where}” is a {kind}, not a JSON object. Nothing was imported.",
                where=where,
                kind=type(value).__name__,
            )
        )
    return value


def _unpacked(file: IO[bytes], one: zipfile.ZipInfo, where: str) -> bytes:
    """A file's content, counted while it is unpacked: the directory may say less than comes out."""
    file.seek(one.header_offset)
    head = file.read(30)
    if len(head) < 30 or not head.startswith(b"PK\x03\x04"):
        raise DataError(tr("“{where}”: the zip's directory points to no file there. Is it whole?", where=where))
    _, name, extra = _HEADER.unpack(head)
    file.seek(one.header_offset + 30 + name + extra)
    packed = file.read(min(one.compress_size, MAX_RECORD + 1))
    if len(packed) > MAX_RECORD or len(packed) < one.compress_size:
        size = one.compress_size / MB
        if len(packed) > MAX_RECORD:
            raise DataError(
                tr("“{where}” is larger than is read ({size:,.1f} MB). Nothing was imported.", where=where, size=size)
            )
        raise DataError(
            tr("“{where}” ends before its file does ({size:,.1f} MB). Nothing was imported.", where=where, size=size)
        )
    content, size = [], 0
    for part in _parts(packed, one, where):
        size += len(part)
        refuse_bomb(where, len(packed), size, MAX_RECORD)
        content.append(part)
    whole = b"".join(content)
    if zlib.crc32(whole) != one.CRC:
        raise DataError(tr("“{where}” is damaged: its checksum is another one. Nothing was imported.", where=where))
    return whole


def _parts(packed: bytes, one: zipfile.ZipInfo, where: str) -> Iterator[bytes]:
    if one.flag_bits & 1:
        raise DataError(tr("“{where}” is encrypted. Give the log without a password.", where=where))
    if one.compress_type == zipfile.ZIP_STORED:
        yield packed
    elif one.compress_type == zipfile.ZIP_DEFLATED:
        unpack = zlib.decompressobj(-zlib.MAX_WBITS)
        rest = packed
        while rest and (part := unpack.decompress(rest, CHUNK)):
            yield part
            rest = unpack.unconsumed_tail
        yield unpack.flush()
    elif one.compress_type == ZSTANDARD:
        import pyarrow as pa  # here, since every command would wait for it

        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            while part := stream.read(CHUNK):
                yield part
    else:
        raise DataError(
            tr(
                "“{where}” is packed in a way ({way}) that is not read. Save the log as .json.",
                where=where,
                way=one.compress_type,
            )
        )
