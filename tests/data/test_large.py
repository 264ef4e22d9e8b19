"""Two million judgments from a file to the store and back; the worker ends with its parent."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rubriclab.data.scores import read_judgments
from rubriclab.data.tables import read_table
from rubriclab.data.worker import WORKER
from rubriclab.model.orders import balanced
from rubriclab.store.store import Store

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]


def test_two_million_judgments(tmp_path: Path) -> None:
    """100,000 items in ten orders, twice: the score is 1 + (item + order) mod 5."""
    orders = [" ".join(map(str, order)) for order in balanced((1, 2, 3, 4, 5))]
    path = tmp_path / "judgments.csv"
    asked = [(k, order, repeat) for repeat in (0, 1) for k, order in enumerate(orders)]
    with path.open("w") as file:
        file.write("judge,dataset,item_id,ordering,score,repeat\n")
        for item in range(100_000):
            file.writelines(f"judge,drafts,item-{item},{o},{1 + (item + k) % 5},{repeat}\n" for k, o, repeat in asked)
    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # the largest child of other tests in this process
    table = read_judgments(read_table(path))
    WORKER.close()
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(others, 2_000_000)  # kB
    assert len(table.rows) == 2_000_000
    assert (table.conditions[0].strategy, table.conditions[0].drawn) == ("balanced", False)
    assert np.bincount(table.rows["score"].astype(int)).tolist() == [0, *[400_000] * 5]
    with Store.open(tmp_path / "lab.duckdb") as store:
        kept = store.table(store.add_table(table))
        assert kept.rows["position"].to_numpy().sum() == table.rows["position"].to_numpy().sum()
        assert len(kept.items) == 100_000
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000


def test_the_worker_ends_with_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n1,2\n")
    code = (
        "import os\nfrom rubriclab.data.tables import read_table\nfrom rubriclab.data.worker import WORKER\n"
        f"read_table({str(path)!r})\nprint(WORKER._process.pid, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    parent = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT, timeout=120)
    child = int(parent.stdout)
    for _ in range(100):
        if not Path(f"/proc/{child}").exists():
            break
        time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
