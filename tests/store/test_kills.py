"""A writer killed at random moments loses nothing that was committed; a damaged file is named or gives the same rows."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from rubriclab.model.text import LabError
from rubriclab.store.store import Store

pytestmark = pytest.mark.integration

WRITING = textwrap.dedent(
    """
    import sys, time
    sys.path.insert(0, {tests!r})
    from test_store import Store, judgment, new_run
    store = Store.open({path!r})
    run = new_run(store)
    done = store.final_keys(run)
    writer = store.writer(run)
    told = -1
    for key in range(100_000):
        if f"{{key:064x}}" not in done:
            writer.add(judgment(key))
            time.sleep(0.002)
        if writer.committed != told:
            told = writer.committed
            print(len(done) + told, flush=True)
    """
)


def test_twenty_kills_lose_nothing_that_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    code = WRITING.format(tests=str(Path(__file__).parent), path=str(path))
    rng = random.Random(0)
    kept: set[str] = set()
    for _ in range(20):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()  # it has begun
        time.sleep(rng.uniform(0.1, 1.0))
        process.send_signal(signal.SIGKILL)
        told = [int(line) for line in process.stdout.read().split()]
        process.wait()
        process.stdout.close()
        with Store.open(path) as store:
            (run,) = store.runs()
            rows, keys = store.table(run.id).rows, store.final_keys(run.id)
            assert kept <= keys  # nothing that was there before is gone
            assert len(keys) >= max(told, default=0)  # nor what the writer said is committed
            assert len(rows) == len(keys) == run.done  # each once
            assert sorted(keys) == [f"{k:064x}" for k in range(len(keys))]  # without gaps
            kept = keys
    assert len(kept) > 100


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
