"""A run's judgments as tables for other tools: one row a judgment, and the forms that measurement
packages of R and their like read. Nothing is dropped: what has no score is there without one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import numpy as np
import pandas as pd

from rubriclab.datasets.outfiles import csv_bytes
from rubriclab.model import STATUSES, RunData
from rubriclab.model.wording import many

LONG = (
    "run",
    "rater_kind",
    "rater",
    "arm",
    "dataset",
    "item",
    "criterion",
    "candidate",
    "prompt",
    "block",
    "strategy",
    "variant",
    "order",
    "labels",
    "read",
    "repeat",
    "status",
    "score",
    "place",
    "chosen",
    "expected",
)
WAITING = "unasked"
SCRIPTS = ("mixed.R", "erm.R", "tam.R", "mirt.R")
_CODES = ("arm", "read", "repeat", "place")
_TEXTS = tuple(name for name in LONG if name not in (*_CODES, "score", "expected"))


def ratings_long(data: RunData, waiting: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row a judgment of a judge, and one a rating of a person; columns as LONG.

    ``waiting``: calls that have no answer yet (arm, item, ordering as text, labels, read, repeat);
    they are rows without a score, with the status “unasked”.
    """
    parts = [_judged(data), *([_unasked(data, waiting)] if waiting is not None and len(waiting) else []), _rated(data)]
    filled = [part for part in parts if len(part)]
    table = pd.concat(filled, ignore_index=True) if filled else parts[0]
    return table.astype({**dict.fromkeys(_CODES, "Int64"), "score": "Float64", "expected": "Float64"})


def _judged(data: RunData) -> pd.DataFrame:
    rows = data.judgments
    position = rows["position"].to_numpy()
    frame = _about(data, rows["arm"].to_numpy(), rows["item"].to_numpy())
    shown = np.array([str(one) for one in data.orderings] or [""], dtype=object)
    labels = np.array([" ".join(one.labels) for one in data.orderings] or [""], dtype=object)
    ordering = rows["ordering"].to_numpy()
    score = rows["score"].to_numpy(dtype=np.float64)
    frame["order"], frame["labels"] = shown[ordering], labels[ordering]
    frame["read"], frame["repeat"] = rows["read"].to_numpy() + 1, rows["repeat"].to_numpy() + 1
    frame["status"] = np.array(STATUSES, dtype=object)[rows["status"].to_numpy()]
    frame["score"] = pd.array(np.where(np.isfinite(score), score, np.nan), dtype="Float64")
    frame["place"] = pd.array(np.where(position >= 0, position, 0), dtype="Int64")
    frame.loc[position < 0, "place"] = pd.NA
    frame["chosen"] = _chosen(data, ordering, position)
    expected = rows["expected"].to_numpy(dtype=np.float64)
    frame["expected"] = pd.array(expected, dtype="Float64")
    return frame.reindex(columns=LONG)


def _chosen(data: RunData, ordering: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Of comparisons the candidate that won, “tie” for none; empty for scores."""
    widest = max((len(one.shown) for one in data.orderings), default=0)
    names = np.full((max(len(data.orderings), 1), widest + 1), None, dtype=object)
    for code, one in enumerate(data.orderings):
        if data.arms[0].axis in ("pairwise", "listwise"):
            names[code, 0] = "tie"
            names[code, 1 : len(one.shown) + 1] = [str(part) for part in one.shown]
    found: np.ndarray = names[ordering, np.maximum(position, 0)]
    found[position < 0] = None
    return found


def _about(data: RunData, arm: np.ndarray, item: np.ndarray) -> pd.DataFrame:
    """Who judged what, under which arm, for rows of these codes."""

    def of_arm(field: str) -> np.ndarray:
        names: np.ndarray = np.array([str(getattr(one, field)) for one in data.arms] or [""], dtype=object)
        return names.take(arm)

    frame = pd.DataFrame({"run": data.run, "rater_kind": "judge", "rater": of_arm("judge"), "arm": arm})
    # The item's own, as beside people's ratings: an arm's may say the scale, too.
    frame["dataset"] = data.items["dataset"].to_numpy(dtype=object)[item]
    for column, field in (
        ("item", "item_id"),
        *((name, name) for name in ("criterion", "candidate", "prompt", "block")),
    ):
        frame[column] = data.items[field].to_numpy(dtype=object)[item] if field in data.items else None
    frame["strategy"], frame["variant"] = of_arm("strategy"), of_arm("variant")
    return frame


def _unasked(data: RunData, waiting: pd.DataFrame) -> pd.DataFrame:
    frame = _about(data, waiting["arm"].to_numpy(), waiting["item"].to_numpy())
    for column in ("order", "labels"):
        frame[column] = waiting[column].to_numpy(dtype=object)
    for column in ("read", "repeat"):
        frame[column] = waiting[column].to_numpy() + 1
    frame["status"] = WAITING
    return frame.reindex(columns=LONG)


def _rated(data: RunData) -> pd.DataFrame:
    """People's ratings; a rater without a name is known by their slot."""
    rows = [
        (code, str(names[slot]) if slot < len(names) else f"rating {slot + 1}", float(value))
        for code, (given, names) in enumerate(zip(data.items["raters"], data.items["rater_names"], strict=True))
        for slot, value in enumerate(given if isinstance(given, tuple | list | np.ndarray) else ())
    ]
    if not rows or not data.arms:
        return pd.DataFrame(columns=list(LONG))
    item, rater, value = zip(*rows, strict=True)
    codes = np.array(item)
    frame = _about(data, np.zeros(len(codes), dtype=int), codes)
    frame["rater_kind"], frame["rater"] = "human", np.array(rater, dtype=object)
    frame["status"], frame["score"] = "ok", np.array(value)
    return frame.drop(columns=["arm", "strategy", "variant"]).reindex(columns=LONG)


# ---------------------------------------------------------------- forms that packages read


def facets(long: pd.DataFrame) -> pd.DataFrame:
    """Long with facets: person, item, rater, order and a 0-based category, as TAM reads it.

    Names are codes (p001, …), which are the same in every form; ``codes.csv`` says what they stand for.
    """
    codes = _codes(long)
    table = pd.DataFrame({kind: codes[kind] for kind in ("person", "item", "rater", "order")})
    table["read"] = long["read"].to_numpy()
    table["score"] = _categories(long)
    return table[long["rater_kind"].isin(["judge", "human"]).to_numpy()].reset_index(drop=True)


def wide(long: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Persons × judgments with 0-based categories (missing: NA), and what each column stands for.

    A column is one rater, criterion and setting in one read.
    """
    codes = _codes(long)
    keys = ["criterion", "rater_kind", "rater", "strategy", "variant", "read", "repeat"]
    plain = long[keys].astype(object).where(long[keys].notna(), "")
    column = plain.groupby(keys, sort=False).ngroup().to_numpy()
    what = plain.drop_duplicates().reset_index(drop=True)
    order = pd.Series(long["order"].to_numpy(dtype=object)).groupby(column)
    what["order"] = [one if n == 1 else "" for one, n in zip(order.first(), order.nunique(), strict=True)]
    names = _numbered("v", len(what))
    what.insert(0, "column", names)
    persons, row = np.unique(codes["person"], return_inverse=True)
    cells = np.full((len(persons), len(names)), np.nan)
    values = _categories(long).to_numpy(dtype=np.float64, na_value=np.nan)
    cells[row, column] = values
    table = pd.DataFrame(cells, columns=names).astype("Int64")
    table.insert(0, "person", persons)
    return table, what


def codes_table(long: pd.DataFrame) -> pd.DataFrame:
    """What the codes of persons, items, raters and orders stand for: kind, code, name."""
    codes = _codes(long)
    parts = []
    for kind, named in _named(long).items():
        known = pd.DataFrame({"kind": kind, "code": codes[kind], "name": named.to_numpy(dtype=object)})
        parts.append(known.drop_duplicates("code").sort_values("code"))
    return pd.concat(parts, ignore_index=True)


def _named(long: pd.DataFrame) -> dict[str, pd.Series[str]]:
    """What is a person (the text judged), an item (the criterion), a rater and an order here."""
    block = long["block"].where(long["block"].notna(), long["item"])
    setting = long["variant"].fillna("")
    judge = long["rater"].astype(object) + setting.map(lambda one: f" · {one}" if one else "").astype(object)
    return {
        "person": long["dataset"].astype(object) + " · " + block.astype(object),
        "item": long["criterion"].fillna("score"),
        "rater": judge.where(long["rater_kind"] == "judge", "person " + long["rater"].astype(object)),
        "order": long["order"].fillna("none"),
    }


def _codes(long: pd.DataFrame) -> dict[str, np.ndarray]:
    found = {}
    for kind, named in _named(long).items():
        code, levels = pd.factorize(named.to_numpy(dtype=object))
        found[kind] = np.array(_numbered(kind[0], len(levels)) or [""], dtype=object)[code]
    return found


def _numbered(letter: str, n: int) -> list[str]:
    return [f"{letter}{i + 1:0{len(str(n))}d}" for i in range(n)]


def _categories(long: pd.DataFrame) -> pd.Series[int]:
    """Scores as categories from 0 on, in steps of the scale: between two scores the nearer (a mean of people)."""
    judged = long.loc[(long["rater_kind"] == "judge") & long["score"].notna(), "score"]
    given = judged if len(judged) else long["score"].dropna()
    scores = np.unique(given.to_numpy(dtype=np.float64))
    values = long["score"].to_numpy(dtype=np.float64, na_value=np.nan)
    nearest = (
        np.abs(np.nan_to_num(values)[:, None] - scores[None, :]).argmin(axis=1)
        if len(scores)
        else np.zeros(len(values), dtype=int)
    )
    return pd.Series(pd.array(np.where(np.isfinite(values), nearest, -1), dtype="Int64")).mask(~np.isfinite(values))


# ---------------------------------------------------------------- files


def data_files(data: RunData, waiting: pd.DataFrame | None = None) -> Iterator[tuple[str, bytes]]:
    """The tables, a dictionary of their columns, scripts that read them, and how much is missing."""
    long = ratings_long(data, waiting)
    yield "ratings_long.csv", csv_bytes(long)
    yield (
        "ratings_long.parquet",
        long.astype(dict.fromkeys(_TEXTS, "string")).to_parquet(index=False, compression="zstd"),
    )
    yield "README.txt", _readme(data, long).encode()
    yield "dictionary.csv", _resource("dictionary.csv")
    if not long["score"].notna().any():
        return
    table, what = wide(long)
    yield "facets_long.csv", csv_bytes(facets(long))
    yield "persons_wide.csv", csv_bytes(table)
    yield "persons_wide_columns.csv", csv_bytes(what)
    yield "codes.csv", csv_bytes(codes_table(long))
    for script in SCRIPTS:
        yield script, _resource(script)


def _resource(name: str) -> bytes:
    return (files(__package__) / "paper" / name).read_bytes()


def _readme(data: RunData, long: pd.DataFrame) -> str:
    judged = long[long["rater_kind"] == "judge"]
    counts = judged["status"].value_counts().sort_index()
    lines = [f"  {status}: {count:,}" for status, count in counts.items()]
    scored = (
        ""
        if long["score"].notna().any()
        else "This run has no scores (it compares answers), so there are no forms for TAM or mirt.\n"
    )
    return (
        f"Judgments of run {data.run}\n\n"
        f"{many(len(judged), 'judgment')} of judges, {len(long) - len(judged):,} ratings of people.\n"
        f"By status (all are rows; those that are not ok have no score, NA in the other forms):\n"
        + "\n".join(lines)
        + "\n\ndictionary.csv says what each column of each file means. Persons are the texts judged, items the criteria.\n"
        + scored
        + (
            ""
            if scored
            else "mixed.R (package lme4), erm.R (eRm), tam.R (TAM) and mirt.R (mirt) read them from this folder: Rscript mixed.R\n"
        )
        + ("The judges are simulated: these are no judgments of a language model.\n" if data.simulated else "")
    )
