"""Judgments of made-up judges, as tables that an import reads: as many as wanted, always the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rubriclab.stats.inference import Floats, Ints

Column = NDArray[Any] | tuple[NDArray[Any], list[str]]
"""A column of numbers, or of texts as (code of each row, the texts)."""

JUDGES = 6
READS = 10
SCORES = 5
PER_PROMPT = 10
CRITERIA = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
LAYOUTS = ("strategies", "shared", "apart")


def generated_scores(rows: int, *, layout: str = "strategies", seed: int = 0) -> pd.DataFrame:
    """Judgments in the form of ``import --kind scores``, ten reads an item, six judges.

    ``strategies``: every judge reads the same rows / 120 items balanced and fixed. ``shared``:
    the same rows / 60 items balanced. ``apart``: each judge has rows / 60 items of its own in a
    data set of its own. Ten candidates answer each prompt and three raters rate each item;
    position 1 draws every judge, more or less.
    """
    rng = np.random.default_rng(seed)
    kinds = ("balanced", "fixed") if layout == "strategies" else ("balanced",)
    n_items = rows // (JUDGES * READS * len(kinds))
    forward = [np.roll(np.arange(SCORES), -k) for k in range(SCORES)]
    shown = np.stack([*forward, *(line[::-1] for line in forward)])
    texts = [" ".join(str(s + 1) for s in line) for line in shown]
    parts = []
    for judge in range(JUDGES):
        data = judge if layout == "apart" else 0
        quality = np.random.default_rng([seed, data]).random(n_items)
        for kind in kinds:
            read = np.tile(np.arange(READS), n_items) * (kind == "balanced")
            score = _picked(rng, np.repeat(quality, READS), shown[read], 0.2 + 0.1 * judge)
            parts.append(_scores_part(judge, data, kind, (read, texts), score, quality))
    return _joined(parts)


def _joined(parts: Sequence[Mapping[str, Column]]) -> pd.DataFrame:
    """Parts one below the other; texts as categories, so that millions of rows are codes."""
    columns: dict[str, Any] = {}
    for name in parts[0]:
        given = [part[name] for part in parts]
        coded = [one for one in given if isinstance(one, tuple)]
        if not coded:
            columns[name] = np.concatenate([one for one in given if isinstance(one, np.ndarray)])
            continue
        texts = list(dict.fromkeys(text for _, known in coded for text in known))
        code = {text: number for number, text in enumerate(texts)}
        codes = np.concatenate([np.array([code[text] for text in known], dtype=np.int32)[at] for at, known in coded])
        columns[name] = pd.Categorical.from_codes(codes, pd.Index(texts))
    return pd.DataFrame(columns)


def _same(text: str, rows: int) -> Column:
    return np.zeros(rows, dtype=np.int8), [text]


def _picked(rng: np.random.Generator, quality: Floats, shown: Ints, first: float) -> Ints:
    """Scores drawn from quality and a preference of ``first`` log-odds for position 1."""
    steps = SCORES - 1
    utility = -((shown - steps * quality[:, None]) ** 2)
    utility[:, 0] += first
    place = (utility + rng.gumbel(size=utility.shape)).argmax(axis=1)
    return np.asarray(shown[np.arange(len(shown)), place] + 1)


def _scores_part(judge: int, data: int, kind: str, ordering: Column, score: Ints, quality: Floats) -> dict[str, Column]:
    item = np.repeat(np.arange(len(quality), dtype=np.int32), READS)
    return {
        "judge": _same(f"judge {judge}", len(item)),
        "dataset": _same(f"set {data}", len(item)),
        "item_id": (item, [f"t{i}" for i in range(len(quality))]),
        "ordering": ordering,
        "score": score.astype(np.int8),
        "prompt": (item // PER_PROMPT, [f"p{i}" for i in range(len(quality) // PER_PROMPT + 1)]),
        "candidate": (item % PER_PROMPT, [f"writer {i}" for i in range(PER_PROMPT)]),
        "strategy": _same(kind, len(item)),
        **_ratings(quality, item, data),
    }


def _ratings(quality: Floats, item: NDArray[Any], data: int) -> dict[str, Column]:
    rng = np.random.default_rng([7, data])
    noisy = 1 + 4 * quality[:, None] + rng.normal(0.0, 0.8, (len(quality), 3))
    rated = np.clip(np.rint(noisy), 1, SCORES).astype(np.int8)
    return {f"human_{k + 1}": rated[item, k] for k in range(3)}


def generated_criteria(rows: int, *, seed: int = 0) -> pd.DataFrame:
    """Judgments in the form of ``import --kind criteria``: six criteria a call, twelve calls a
    text under a balanced and under a fixed order, six judges."""
    rng = np.random.default_rng(seed)
    n = len(CRITERIA)
    n_texts = rows // (JUDGES * 2 * 2 * n * n)
    forward = [np.roll(np.arange(n), -k) for k in range(n)]
    shown = np.stack([*forward, *(line[::-1] for line in forward)])
    names = ["|".join(CRITERIA[c] for c in line) for line in shown]
    text = np.repeat(np.arange(n_texts, dtype=np.int32), 2 * n * n)
    ids = [f"t{i}" for i in range(n_texts)]
    quality = 1 + 4 * rng.random((n_texts, n))
    parts = []
    for judge in range(JUDGES):
        for kind in ("balanced", "fixed"):
            read = np.tile(np.repeat(np.arange(2 * n), n), n_texts)
            ordering = read * (kind == "balanced")
            place = np.tile(np.arange(n), n_texts * 2 * n)
            criterion = shown[ordering, place]
            drift = 0.1 * judge * (2.5 - place) / 5
            score = quality[text, criterion] + drift + rng.normal(0.0, 0.7, len(text))
            part: dict[str, Column] = {
                "judge": _same(f"judge {judge}", len(text)),
                "dataset": _same("texts", len(text)),
                "text_id": (text, ids),
                "ordering": (ordering, names),
                "criterion": (criterion, list(CRITERIA)),
                "score": np.clip(np.rint(score), 1, 5).astype(np.int8),
                "repeat": read.astype(np.int8),
                "strategy": _same(kind, len(text)),
                "human": np.clip(np.rint(quality[text, criterion]), 1, 5).astype(np.int8),
            }
            parts.append(part)
    return _joined(parts)
