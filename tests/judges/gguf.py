"""Write small GGUF files, as the description of the format says (ggml-org/ggml, docs/gguf.md)."""

import struct

import numpy as np

from rubriclab.judges.requantise import ALIGNMENT, Q4_1, Q8_0

NIBBLES = bytes(range(16))
"""The lower half of byte i holds i, and the upper half 0."""
ONE_Q4_1 = np.array([0.5, -4.0], "<f2").tobytes() + NIBBLES
"""A block with step 0.5 and low -4: the weights -4, -3.5, ..., 3.5, then sixteen times -4."""
F32, F16, TEXT, LIST, UINT32, FLOAT = 0, 1, 8, 9, 4, 6


def text(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


SETTINGS = (
    text(b"general.architecture") + struct.pack("<I", TEXT) + text(b"llama"),
    text(b"general.file_type") + struct.pack("<II", UINT32, 3),
    text(b"tokens") + struct.pack("<IIQ", LIST, TEXT, 2) + text(b"a") + text(b"bc"),
    text(b"scores") + struct.pack("<IIQff", LIST, FLOAT, 2, 0.5, 0.25),
)
TENSORS = (
    (b"norm", (3,), F32, np.array([1, 2, 3], "<f4").tobytes()),
    (b"first", (32, 2), Q4_1, ONE_Q4_1 * 2),
    (b"half", (1,), F16, np.array([7], "<f2").tobytes()),
    (b"embedding", (32,), Q8_0, bytes(range(34))),
    (b"second", (64,), Q4_1, ONE_Q4_1 * 2),
)


def gguf(
    *,
    version: int = 3,
    settings: tuple[bytes, ...] = SETTINGS,
    tensors: tuple[tuple[bytes, tuple[int, ...], int, bytes], ...] = TENSORS,
) -> bytes:
    """Return a small file of the format, written as its description says."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(settings)) + b"".join(settings)
    data = b""
    for name, shape, kind, content in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", kind, len(data))
        data += content + bytes(-len(content) % ALIGNMENT)
    return head + bytes(-len(head) % ALIGNMENT) + data
