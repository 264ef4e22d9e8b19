"""Data sets, arms, orderings and imported judgments as frames, and back."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.datasets.row_hash import AT_ONCE, rows_hash
from rubriclab.model import Arm, Comparison, Dataset, Item, Ordering, RunData, Study, Variant, fingerprint
from rubriclab.model.data import rater_names
from rubriclab.model.language import tr
from rubriclab.store.faults import DamagedStore
from rubriclab.store.rows import JUDGMENT_TYPES
from rubriclab.store.schema import P_COLUMNS


def run_name(study: Study) -> str:
    """The name of a study's run: readable, and the same for the same calls."""
    return f"{slug(study.name)}-{study.id[:8]}"


def run_name_before(study: Study) -> str:
    """The name that the run had while letters beyond a to z were left out of it."""
    return f"{_dashed(study.name.lower())}-{study.id[:8]}"


def slug(name: str) -> str:
    """A name for files and addresses: “Bürgeramt, Größe 3” is ``buergeramt-groesse-3``.

    Letters of Latin script lose their marks (umlauts are written out); of other scripts are left out.
    """
    spelt = unicodedata.normalize("NFC", name).casefold().translate(_SPELT)
    return _dashed("".join(mark for mark in unicodedata.normalize("NFKD", spelt) if not unicodedata.combining(mark)))


def _dashed(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name).strip("-")[:40] or "run"


_SPELT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "þ": "th"})
"""Letters that have no mark to lose, or are written out."""


ITEM_COLUMNS = (
    "item",
    "name",
    "item_id",
    "instruction",
    "response",
    "criterion",
    "block",
    "prompt",
    "candidate",
    "task",
    "human",
    "n_chars",
    "more",
)
_OF_COMPARISONS = ("turns", "candidates", "responses", "references")


def items_frame(dataset: Dataset) -> pd.DataFrame:
    items: Sequence[Item | Comparison] = dataset.items
    rows = [
        {**dict.fromkeys(ITEM_COLUMNS), "item": number, "name": dataset.name, **_item_row(item)}
        for number, item in enumerate(items)
    ]
    return pd.DataFrame(rows, columns=list(ITEM_COLUMNS)).astype({"item": "int32"})


def _item_row(item: Item | Comparison) -> dict[str, Any]:
    """The columns of an item; what only some have stands as JSON in ``more``."""
    row: dict[str, Any] = {"item_id": item.item_id, "prompt": item.prompt, "task": item.task}
    own: dict[str, Any] = {"columns": item.columns} if item.columns else {}
    if isinstance(item, Comparison):
        return row | {
            "instruction": "\n\n".join(item.turns),
            "n_chars": sum(len(text) for answers in item.responses for text in answers),
            "more": json.dumps({name: getattr(item, name) for name in _OF_COMPARISONS} | own),
        }
    return row | {
        "instruction": item.instruction,
        "response": item.response,
        "criterion": item.criterion,
        "block": item.block,
        "candidate": item.candidate,
        "human": list(item.human) or None,
        "n_chars": len(item.response),
        "more": json.dumps(more) if (more := _of_some(item) | own) else None,
    }


def _of_some(item: Item) -> dict[str, Any]:
    """What only some items have beside columns."""
    return {name: part for name in ("references", "raters") if (part := getattr(item, name))}


def items_of(rows: pd.DataFrame) -> tuple[Item, ...] | tuple[Comparison, ...]:
    """Items as they were saved; a row with candidates is a comparison."""
    items: list[Item] = []
    pairs: list[Comparison] = []
    for row in rows.to_dict("records"):
        more = json.loads(row["more"]) if isinstance(row["more"], str) else {}
        if "candidates" in more:
            pairs.append(
                Comparison(
                    item_id=row["item_id"],
                    turns=tuple(more["turns"]),
                    candidates=tuple(more["candidates"]),
                    responses=tuple(tuple(answers) for answers in more["responses"]),
                    prompt=_text(row["prompt"]),
                    task=_text(row["task"]),
                    references=tuple(more["references"]),
                    columns=more.get("columns", {}),
                )
            )
            continue
        human = tuple(map(float, row["human"])) if isinstance(row["human"], np.ndarray | list) else ()
        items.append(
            Item(
                item_id=row["item_id"],
                instruction=_text(row["instruction"]) or "",
                response=_text(row["response"]) or "",
                criterion=_text(row["criterion"]),
                block=_text(row["block"]),
                prompt=_text(row["prompt"]),
                candidate=_text(row["candidate"]),
                task=_text(row["task"]),
                human=human,
                references={int(k): v for k, v in more.get("references", {}).items()},
                columns=more.get("columns", {}),
                raters=rater_names(more.get("raters"), human),
            )
        )
    return tuple(pairs) if pairs else tuple(items)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def imported_items(items: pd.DataFrame, texts: pd.DataFrame | None) -> pd.DataFrame:
    frame = pd.DataFrame({"item": np.arange(len(items), dtype=np.int32)})
    frame["name"] = items["dataset"].astype("object").to_numpy()
    for name in ("item_id", "criterion", "block", "prompt", "candidate", "task"):
        frame[name] = items[name].astype("object").to_numpy() if name in items else None
    for name in ("instruction", "response"):
        frame[name] = texts[name].to_numpy() if texts is not None and name in texts else None
    raters = items["raters"] if "raters" in items else pd.Series([()] * len(items), dtype=object)
    human = items["human"].to_numpy()
    rated = [
        list(map(float, r))
        if isinstance(r, tuple | list | np.ndarray) and len(r)
        else (None if np.isnan(h) else [float(h)])
        for r, h in zip(raters, human, strict=True)
    ]
    frame["human"] = pd.Series(rated, dtype=object)
    frame["n_chars"] = items["n_chars"].to_numpy() if "n_chars" in items else 0
    listed = items["candidates"] if "candidates" in items else [()] * len(items)
    chars = items["candidate_chars"] if "candidate_chars" in items else [()] * len(items)
    brought = texts["more"] if texts is not None and "more" in texts else [None] * len(items)
    names = items["rater_names"] if "rater_names" in items else [()] * len(items)
    rows = zip(listed, chars, brought, names, strict=True)
    frame["more"] = [
        _more(candidates, lengths, more) if len(candidates) else (json.dumps({"raters": who}) if len(who) else None)
        for candidates, lengths, more, who in rows
    ]
    return frame


def _more(candidates: Sequence[str], chars: Sequence[float], more: object) -> str:
    """The candidates of an imported comparison, and what each answered where that came with it."""
    with reading_row("items"):
        stored = json.loads(more) if isinstance(more, str) else {}
        answered = [[str(turn) for turn in turns] for turns in stored.get("responses", ())]
        turns = [str(turn) for turn in stored.get("turns", ())]
    own: dict[str, Any] = {"turns": turns, "responses": answered} if len(answered) == len(candidates) else {}
    if len(chars) == len(candidates):
        own["candidate_chars"] = [None if length != length else length for length in chars]
    return json.dumps({"candidates": list(candidates), **own})


def imported_judgments(run_no: int, data: RunData) -> Iterator[pd.DataFrame]:
    """Judgments as rows of the store, in their order, ``AT_ONCE`` of them at a time."""
    for start in range(0, len(data.judgments), AT_ONCE):
        yield _judgment_rows(run_no, data, slice(start, start + AT_ONCE))


def _judgment_rows(run_no: int, data: RunData, part: slice) -> pd.DataFrame:
    rows = data.judgments.iloc[part]
    frame = pd.DataFrame({"run_no": np.full(len(rows), run_no, dtype=np.int32)})
    for name, kind in JUDGMENT_TYPES.items():
        if name in rows:
            frame[name] = rows[name].to_numpy().astype("object" if kind == "string" else kind)
        elif name in ("score", "expected", "mass", *P_COLUMNS):
            frame[name] = np.float32("nan")
    if data.probabilities is not None:
        for i in range(data.probabilities.shape[1]):
            frame[P_COLUMNS[i]] = data.probabilities[part, i].astype(np.float32)
    return frame


def calls_of(data: RunData) -> tuple[np.ndarray, np.ndarray]:
    """The codes of the calls, ascending, and the first row of each."""
    call = data.judgments["call"].to_numpy()
    if not bool((call[1:] >= call[:-1]).all()):
        return np.unique(call, return_index=True)
    first = np.flatnonzero(np.diff(call, prepend=call[:1] - 1))  # nothing is sorted
    return call[first], first


def no_words(data: RunData) -> Iterator[pd.DataFrame]:
    """Replies of judgments that came without the judge's words: one per call, ``AT_ONCE`` at a time."""
    calls, first = calls_of(data)
    arms, statuses = (data.judgments[name].to_numpy() for name in ("arm", "status"))
    for start in range(0, len(calls), AT_ONCE):
        at = first[start : start + AT_ONCE]
        yield pd.DataFrame(
            {
                "call": calls[start : start + AT_ONCE],
                "arm": arms[at],
                "status": statuses[at],
                "retryable": False,
                "attempts": 1,
            }
        )


def data_id(data: RunData) -> str:
    """A hash of imported judgments: arms, orderings, items and every row."""
    return fingerprint(
        {
            "arms": [asdict(arm) for arm in data.arms],
            "orderings": [[o.shown, o.labels] for o in data.orderings],
            "items": str(pd.util.hash_pandas_object(data.items["item_id"], index=False).sum()),
            "rows": str(rows_hash(data.judgments)),
        }
    )


def orderings_frame(run_no: int, codes: Sequence[int], orderings: Sequence[Ordering]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run_no": np.full(len(orderings), run_no, dtype=np.int32),
            "ordering": np.asarray(codes, dtype=np.int32),
            "shown": [json.dumps(o.shown) for o in orderings],
            "labels": [json.dumps(o.labels) for o in orderings],
        }
    )


def ordering_of(shown: str, labels: str) -> Ordering:
    """An ordering from its row. Raises DamagedStore where the row holds no ordering."""
    with reading_row("orderings"):
        return Ordering(shown=tuple(json.loads(shown)), labels=tuple(json.loads(labels)))


def arm_of(body: Mapping[str, Any]) -> Arm:
    levels = tuple(
        (name, tuple(level) if isinstance(level, list) else level) for name, level in body["variant"]["levels"]
    )
    return Arm(**{**body, "scores": tuple(body["scores"]), "variant": Variant(levels)})


def stored_arm(body: str) -> Arm:
    """An arm from its row. Raises DamagedStore where the row holds no arm."""
    with reading_row("arms"):
        arm = arm_of(json.loads(body))
        texts = (arm.judge, arm.dataset, arm.strategy, arm.axis, str(arm.variant))
        if not all(isinstance(text, str) for text in texts) or not all(type(score) is int for score in arm.scores):
            raise ValueError("an arm of another shape")  # its texts name settings, its scores scales
        return arm


@contextmanager
def reading_row(table: str) -> Iterator[None]:
    """What fails while a row of the store is read is the row's damage, and is reported as that.

    JSON that a flipped bit left readable can lack a key or hold another type than was written.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError) as fault:
        raise DamagedStore(
            tr(
                "A row of the store's table “{table}” is damaged ({name}: {fault}), and what it was is gone. Go "
                "back to a backup of the store, or import the run again where it was exported before.",
                table=table,
                name=type(fault).__name__,
                fault=str(fault)[:200],
            )
        ) from fault
