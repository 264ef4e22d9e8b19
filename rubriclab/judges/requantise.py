"""Store a model's Q4_1 weights as Q8_0, which a processor reads faster than the smaller Q4_1.

Both hold blocks of 32 weights. Each step here is one IEEE 754 operation on single numbers, and a
conversion rounds to the nearest. So every processor and every NumPy make the same bytes, and the
result has a sha256 that can be checked.

The layout is GGUF, versions 2 and 3 (ggml-org/ggml, docs/gguf.md): magic, version, number of
tensors, number of settings, the settings, one entry for each tensor (name, shape, type, offset),
then the tensors, each from a multiple of the alignment on.
"""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from rubriclab.model.text import LabError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
"""Both write the same layout. In version 1, lengths had 32 bits."""
ALIGNMENT = 32
"""Bytes. The default of the format; a file that sets another one is refused."""
BLOCK = 32
"""Weights in a block, of Q4_1 and of Q8_0."""
Q4_1, Q8_0 = 3, 8
"""Numbers of tensor types in a file."""
BLOCK_BYTES = {0: 4 * BLOCK, 1: 2 * BLOCK, Q4_1: 20, Q8_0: 34}
"""Bytes of a block of 32 weights, by tensor type: F32, F16, Q4_1, Q8_0."""
Q4_1_BLOCK = np.dtype([("step", "<f2"), ("low", "<f2"), ("nibbles", "u1", 16)])
Q8_0_BLOCK = np.dtype([("step", "<f2"), ("numbers", "i1", 32)])
FILE_TYPE, ALL_Q8_0 = "general.file_type", 7
"""The setting that says how most tensors are stored, and its value for Q8_0."""
SETTING_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a setting, by its type, where that is a number or a truth value."""
TEXT, LIST, UINT32 = 8, 9, 4
"""The other types of settings, and that of FILE_TYPE."""


@dataclass(frozen=True)
class Tensor:
    """One entry of the file's list of tensors.

    name: UTF-8. shape: numbers of weights, the contiguous axis first. type: see BLOCK_BYTES.
    offset: bytes from where the tensors begin.
    """

    name: bytes
    shape: tuple[int, ...]
    type: int
    offset: int

    @property
    def blocks(self) -> int:
        """The number of blocks. F32 and F16 have none, but are counted like the others."""
        return -(-math.prod(self.shape) // BLOCK)

    @property
    def size(self) -> int:
        """The size in bytes."""
        if self.type < 2:  # F32 or F16
            return math.prod(self.shape) * BLOCK_BYTES[self.type] // BLOCK
        return self.blocks * BLOCK_BYTES[self.type]


@dataclass(frozen=True)
class Head:
    """What stands before the tensors.

    version: of the layout. settings: their bytes, and how many there are.
    file_type: where in those bytes the value of FILE_TYPE begins, or None.
    """

    version: int
    settings: bytes
    count: int
    file_type: int | None
    tensors: tuple[Tensor, ...]


def q8_0_from_q4_1(source: Path, target: Path, report: Callable[[int, int], None]) -> None:
    """Write ``source`` to ``target``, with every Q4_1 tensor as Q8_0 and all others unchanged.

    ``report`` gets the bytes written and the bytes in all after each tensor. It may raise an
    exception to end the work; ``target`` is then incomplete. Raises LabError for a file that is not
    GGUF, and for tensors of further types.
    """
    with source.open("rb") as old, target.open("wb") as new:
        head = read_head(old)
        begin = aligned(old.tell())
        tensors = []
        size = 0
        for tensor in head.tensors:
            kind = Q8_0 if tensor.type == Q4_1 else tensor.type
            tensors.append(replace(tensor, type=kind, offset=size))
            size = aligned(size + tensors[-1].size)
        write_head(new, replace(head, tensors=tuple(tensors)))
        size += new.tell()
        for tensor, stored in zip(head.tensors, tensors, strict=True):
            old.seek(begin + tensor.offset)
            content = old.read(tensor.size)
            if len(content) < tensor.size:
                raise LabError(f"{source.name} ends within a tensor")
            if tensor.type == Q4_1:
                content = packed(weights_of(content))
            new.write(content)
            new.write(bytes(aligned(stored.size) - stored.size))
            report(new.tell(), size)


def weights_of(content: bytes) -> NDArray[np.float32]:
    """Return the weights of Q4_1 blocks, shape (blocks, 32): low + step * nibble.

    A byte holds the nibble of weight i in its lower half, and that of weight i + 16 in its upper.
    """
    blocks = np.frombuffer(content, Q4_1_BLOCK)
    nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
    step = blocks["step"].astype(np.float32)[:, None]
    low = blocks["low"].astype(np.float32)[:, None]
    scaled = step * nibbles.astype(np.float32)
    return scaled + low


def packed(weights: NDArray[np.float32]) -> bytes:
    """Return weights, shape (blocks, 32), as Q8_0 blocks: one step, and 32 multiples of it.

    The largest weight of a block becomes 127 or -127. Halves are rounded away from zero.
    """
    step = np.abs(weights).max(axis=1, keepdims=True) / np.float32(127)
    nonzero = np.where(step == 0, np.float32(1), step)
    inverse = np.where(step == 0, np.float32(0), np.float32(1) / nonzero)
    multiples = weights * inverse
    size = np.abs(multiples)
    whole = np.floor(size)
    whole += np.floor(np.float32(2) * (size - whole))
    blocks = np.empty(len(weights), Q8_0_BLOCK)
    blocks["step"] = step[:, 0].astype(np.float16)
    blocks["numbers"] = np.copysign(whole, multiples).astype(np.int8)
    return blocks.tobytes()


# ---------------------------------------------------------------- the file's head
def read_head(file: BinaryIO) -> Head:
    """Read all that stands before the tensors. Raises LabError for what is not expected."""
    if file.read(4) != MAGIC:
        raise LabError("not a GGUF file")
    (version,) = numbers(file, "<I")
    if version not in VERSIONS:
        raise LabError(f"GGUF of version {version}; expected {' or '.join(map(str, VERSIONS))}")
    tensors, count = numbers(file, "<QQ")
    begin = file.tell()
    file_type = None
    for _ in range(count):
        name = text(file)
        (kind,) = numbers(file, "<I")
        if name == b"general.alignment":
            raise LabError("GGUF with an alignment of its own")
        if name == FILE_TYPE.encode() and kind == UINT32:
            file_type = file.tell() - begin
        skip_setting(file, kind)
    end = file.tell()
    file.seek(begin)
    settings = file.read(end - begin)
    return Head(version, settings, count, file_type, tuple(tensor(file) for _ in range(tensors)))


def write_head(file: BinaryIO, head: Head) -> None:
    """Write all that stands before the tensors, up to where the first one begins."""
    settings = bytearray(head.settings)
    if head.file_type is not None:
        struct.pack_into("<I", settings, head.file_type, ALL_Q8_0)
    file.write(MAGIC + struct.pack("<IQQ", head.version, len(head.tensors), head.count))
    file.write(settings)
    for each in head.tensors:
        axes = len(each.shape)
        file.write(struct.pack("<Q", len(each.name)) + each.name)
        file.write(struct.pack(f"<I{axes}QIQ", axes, *each.shape, each.type, each.offset))
    file.write(bytes(aligned(file.tell()) - file.tell()))


def tensor(file: BinaryIO) -> Tensor:
    """Read one entry of the list of tensors. Raises LabError for a type that we do not know."""
    name = text(file)
    (axes,) = numbers(file, "<I")
    if axes > 4:
        raise LabError(f"GGUF with a tensor of {axes} axes")
    *shape, kind, offset = numbers(file, f"<{axes}QIQ")
    if kind not in BLOCK_BYTES:
        raise LabError(f"GGUF with tensors of type {kind}")
    return Tensor(name, tuple(shape), kind, offset)


def skip_setting(file: BinaryIO, kind: int) -> None:
    """Read past the value of a setting. Raises LabError for a type that we do not know."""
    if kind == TEXT:
        text(file)
    elif kind == LIST:
        inner, length = numbers(file, "<IQ")
        if inner == TEXT:
            for _ in range(length):
                text(file)
        else:
            file.seek(setting_bytes(inner) * length, 1)
    else:
        file.seek(setting_bytes(kind), 1)


def setting_bytes(kind: int) -> int:
    """Return the size of a number of this type. Raises LabError for a type that we do not know."""
    if kind not in SETTING_BYTES:
        raise LabError(f"GGUF with a setting of type {kind}")
    return SETTING_BYTES[kind]


def text(file: BinaryIO) -> bytes:
    """Read a text: its length in bytes, then UTF-8."""
    (length,) = numbers(file, "<Q")
    return file.read(length)


def numbers(file: BinaryIO, layout: str) -> tuple[int, ...]:
    """Read whole numbers. Raises LabError where the file ends within them."""
    content = file.read(struct.calcsize(layout))
    try:
        return struct.unpack(layout, content)
    except struct.error:
        raise LabError("the file ends within its head") from None


def aligned(size: int) -> int:
    """Return the next multiple of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT
