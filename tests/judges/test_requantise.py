"""Test that Q4_1 weights become the same Q8_0 weights on every processor, and nothing else changes.

The bytes of the real file were compared with those of the ``gguf`` package (0.19.0): all equal.
"""

import hashlib
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from rubriclab.judges.requantise import (
    ALIGNMENT,
    Q4_1,
    Q8_0,
    Head,
    packed,
    q8_0_from_q4_1,
    read_head,
    weights_of,
)
from rubriclab.model.text import LabError
from tests.judges.gguf import (
    F16,
    F32,
    ONE_Q4_1,
    SETTINGS,
    TENSORS,
    UINT32,
    gguf,
    text,
)

MANY_SHA256 = "417e08fd2f19e5854f97ae7bd4ec855ac5f4354b5803c0adc44930c9b3491ba1"


def many() -> bytes:
    """2,000 blocks of random numbers, with steps below 1/8 and lows between -1/8 and 1/8."""
    random = np.frombuffer(hashlib.shake_128(b"weights").digest(20 * 2_000), "<u2").reshape(-1, 10)
    blocks = random.copy()
    blocks[:, 0] &= 0x2FFF
    blocks[:, 1] &= 0xAFFF
    return blocks.tobytes()


def converted(content: bytes, folder: Path) -> bytes:
    source, target = folder / "old.gguf", folder / "new.gguf"
    source.write_bytes(content)
    q8_0_from_q4_1(source, target, lambda *_: None)
    return target.read_bytes()


def head_of(content: bytes) -> tuple[Head, int]:
    """Return the head of a file, and where its tensors begin."""
    file = BytesIO(content)
    head = read_head(file)
    return head, -(-file.tell() // ALIGNMENT) * ALIGNMENT


# ---------------------------------------------------------------- the arithmetic
def test_q4_1_weights_are_low_plus_step_times_nibble() -> None:
    (weights,) = weights_of(ONE_Q4_1)
    assert weights[:16].tolist() == [-4 + 0.5 * nibble for nibble in range(16)]
    assert weights[16:].tolist() == [-4.0] * 16


def test_q8_0_steps_make_the_largest_weight_127_and_halves_go_away_from_zero() -> None:
    weights = np.zeros((2, 32), np.float32)
    weights[0, :6] = [127, -127, 2.5, -2.5, 2.25, -2.75]  # the step is 1; the second block is 0
    blocks = np.frombuffer(packed(weights), [("step", "<f2"), ("numbers", "i1", 32)])
    assert blocks["step"].tolist() == [1.0, 0.0]
    assert blocks["numbers"][0, :7].tolist() == [127, -127, 3, -3, 2, -3, 0]
    assert not blocks["numbers"][1].any()


def test_every_processor_makes_the_same_bytes() -> None:
    content = many()
    assert hashlib.sha256(packed(weights_of(content))).hexdigest() == MANY_SHA256
    features = np.show_config(mode="dicts")["SIMD Extensions"]
    code = (
        "import hashlib, sys; from rubriclab.judges.requantise import packed, weights_of; "
        "content = sys.stdin.buffer.read(); "
        "print(hashlib.sha256(packed(weights_of(content))).hexdigest())"
    )
    plain = {"NPY_DISABLE_CPU_FEATURES": " ".join(features.get("found", []))}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=content,
        env=os.environ | plain,
        capture_output=True,
        check=True,
    )
    assert ended.stdout.decode().strip() == MANY_SHA256


# ---------------------------------------------------------------- the file
def test_only_q4_1_tensors_and_the_type_of_the_file_change(tmp_path: Path) -> None:
    made = converted(gguf(), tmp_path)
    old, _ = head_of(gguf())
    head, begin = head_of(made)
    assert [(each.name, each.shape) for each in head.tensors] == [
        (each.name, each.shape) for each in old.tensors
    ]
    kinds = {each.name: each.type for each in head.tensors}
    assert kinds == {
        b"norm": F32,
        b"first": Q8_0,
        b"half": F16,
        b"embedding": Q8_0,
        b"second": Q8_0,
    }
    assert head.settings == b"".join(SETTINGS).replace(
        struct.pack("<II", UINT32, 3), struct.pack("<II", UINT32, 7)
    )
    block = packed(weights_of(ONE_Q4_1))
    wanted = {name: content for name, _, kind, content in TENSORS if kind != Q4_1}
    wanted |= {b"first": block * 2, b"second": block * 2}
    for each in head.tensors:
        assert each.offset % ALIGNMENT == 0
        content = made[begin + each.offset :][: each.size]
        assert content == wanted[each.name], each.name
    assert len(made) % ALIGNMENT == 0


def test_a_file_without_q4_1_keeps_its_tensors(tmp_path: Path) -> None:
    content = gguf(settings=SETTINGS[:1], tensors=TENSORS[:1])
    assert converted(content, tmp_path) == content


def test_progress_reaches_the_whole_and_may_end_the_work(tmp_path: Path) -> None:
    source, target = tmp_path / "old.gguf", tmp_path / "new.gguf"
    source.write_bytes(gguf())
    seen: list[tuple[int, int]] = []
    q8_0_from_q4_1(source, target, lambda *now: seen.append(now))
    assert len(seen) == len(TENSORS)
    assert seen[-1] == (target.stat().st_size,) * 2

    def stop(*_: int) -> None:
        raise LabError("stopped")

    with pytest.raises(LabError, match="stopped"):
        q8_0_from_q4_1(source, target, stop)


def with_setting(name: bytes, kind: int) -> bytes:
    return gguf(settings=(text(name) + struct.pack("<II", kind, 64),))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: b"no model", "not a GGUF file"),
        (lambda: gguf(version=1), "version 1; expected 2 or 3"),
        (lambda: with_setting(b"general.alignment", UINT32), "an alignment of its own"),
        (lambda: with_setting(b"x", 99), "a setting of type 99"),
        (lambda: gguf(tensors=((b"w", (256,), 12, bytes(144)),)), "tensors of type 12"),
        (lambda: gguf(tensors=((b"w", (1,) * 5, F32, bytes(4)),)), "a tensor of 5 axes"),
        (lambda: gguf()[:40], "ends within its head"),
        (lambda: gguf()[:-64], "ends within a tensor"),
    ],
)
def test_other_files_are_refused(make: Callable[[], bytes], words: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match=words):
        converted(make(), tmp_path)
