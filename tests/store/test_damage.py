"""A damaged file is named, or gives the same rows. (Runs that are killed: tests/integration/test_kill.py.)"""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rubriclab.model.text import LabError
from rubriclab.store.store import Store

pytestmark = pytest.mark.integration


def test_flipped_bytes_are_named_or_without_effect(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    code = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, {tests!r})
        from test_store import Store, judgment, new_run
        with Store.open({path!r}) as store:
            run = new_run(store)
            with store.writer(run) as writer:
                for key in range(2_000):
                    writer.add(judgment(key, item=key % 2, order=key // 2 % 2))
        """
    ).format(tests=str(Path(__file__).parent), path=str(path))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    with Store.open(path) as store:
        whole = store.table(store.runs()[0].id)
    content, rng = path.read_bytes(), random.Random(1)
    for number in range(24):
        changed = bytearray(content)
        changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        copy = tmp_path / f"flipped{number}.duckdb"
        copy.write_bytes(changed)
        try:
            with Store.open(copy, read_only=True) as store:
                table = store.table(store.runs()[0].id)
        except LabError:
            continue
        assert table.rows.equals(whole.rows)
        assert table.items.equals(whole.items)
