"""A hash of judgments, whatever the width of their columns; apart, since stores need it and no reader of files."""

from __future__ import annotations

import numpy as np
import pandas as pd

AT_ONCE = 1_000_000
"""Rows that are looked at together where more would be held for nothing."""


def rows_hash(judgments: pd.DataFrame) -> int:
    """The sum of the rows' hashes, modulo 2^64: the same for the same numbers in narrower columns."""
    numbers = {name: kind for name, kind in judgments.dtypes.items() if pd.api.types.is_numeric_dtype(kind)}
    whole = {name: np.int64 if pd.api.types.is_integer_dtype(kind) else np.float64 for name, kind in numbers.items()}
    total = 0
    for start in range(0, len(judgments), AT_ONCE):
        part = judgments.iloc[start : start + AT_ONCE].astype(whole)
        total += int(pd.util.hash_pandas_object(part, index=True).to_numpy().sum(dtype=np.uint64))
    return total % 2**64
