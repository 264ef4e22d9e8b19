"""The fuzzed inputs by the thousand, each reader in a process that cannot take the machine.

``RUBRICLAB_FUZZ_AT_LENGTH`` says how many inputs each reader gets (2,000 for the whole).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzzing import READERS

pytestmark = pytest.mark.integration

INPUTS = int(os.environ.get("RUBRICLAB_FUZZ_AT_LENGTH", "60"))
MOST_MB = 16_000
"""Of addresses: reading one small Parquet file reserves 6 GB of them and uses 0.2. Memory itself is
measured inside."""
ROOT = Path(__file__).parents[2]
FUZZ = "tests/test_fuzz.py::test_a_spoiled_file_ends_in_words"
_RUN = f"""
import resource, sys, pytest
resource.setrlimit(resource.RLIMIT_AS, ({MOST_MB} * 2**20,) * 2)
sys.exit(pytest.main(["-n", "0", "-x", "-m", "slow", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("reader", READERS)
def test_thousands_of_spoiled_files_end_in_words(tmp_path: Path, reader: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, f"{FUZZ}[{reader}]", f"--basetemp={tmp_path / 'fuzz'}"],
        cwd=ROOT,
        env={**os.environ, "RUBRICLAB_FUZZ": str(INPUTS)},
        capture_output=True,
        text=True,
        timeout=60 + INPUTS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:]
    assert "1 passed" in done.stdout, done.stdout
