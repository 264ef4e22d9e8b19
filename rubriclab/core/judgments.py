"""A table of judgments in, its arms and its units out.

A unit is what is independent: all items of a prompt where items share prompts, else a block, else the item. Its name
is a hash of its text, so that the units of two runs can be paired.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.core.arm import Arm, Names, build_arm
from rubriclab.model.judgment import Condition, JudgmentTable, Ordering
from rubriclab.model.text import LabError, storable
from rubriclab.stats.resample import Ints, distinct

COLUMNS = ("item", "ordering", "slot", "repeat", "call", "status", "score", "position", "expected", "mass")


@dataclass(frozen=True, eq=False)
class Judgments:
    """A run's judgments, read with one choice of units: ``auto``, ``item``, ``block`` or ``prompt``.

    Raises LabError where a named choice is missing from the items.
    """

    table: JudgmentTable
    unit: str = "auto"

    def __post_init__(self) -> None:
        if self.unit not in ("auto", "item", "block", "prompt"):
            raise LabError(f"unit is “{self.unit}”; expected auto, item, block or prompt.")
        if self.unit in ("block", "prompt") and not self._named(self.unit):
            raise LabError(
                f"unit is “{self.unit}”, but no item of “{self.table.name}” has one. Use auto or item, or name the "
                f"column that holds the {self.unit} when the data are read."
            )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.table.conditions

    @property
    def items(self) -> pd.DataFrame:
        return self.table.items

    @property
    def orderings(self) -> tuple[Ordering, ...]:
        return self.table.orderings

    @property
    def finished(self) -> bool:
        """Are all planned calls in? Only then a verdict may be given."""
        return self.table.state == "finished"

    @property
    def unit_kind(self) -> str:
        """``prompt``, ``block`` or ``item``."""
        return self._units[0]

    @property
    def unit_of_item(self) -> Ints:
        """(items,): the unit of each item of the run."""
        return self._units[1]

    @property
    def unit_names(self) -> Names:
        """(units,): 64-bit hashes, the same for the same text in another run."""
        return self._units[2]

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """One a condition, in the conditions' order; conditions without a judgment have an empty one."""
        rows, probabilities = self.table.rows, self.table.probabilities
        condition = rows["condition"].to_numpy()
        columns = {name: rows[name].to_numpy() for name in COLUMNS}
        if not bool((condition[1:] >= condition[:-1]).all()):
            ranked = np.argsort(condition, kind="stable")
            condition, columns = condition[ranked], {name: column[ranked] for name, column in columns.items()}
            probabilities = None if probabilities is None else probabilities[ranked]
        cuts = np.searchsorted(condition, np.arange(len(self.conditions) + 1))
        arms = []
        for code, (start, end) in enumerate(itertools.pairwise(cuts)):
            part = {name: column[start:end] for name, column in columns.items()}
            arms.append(build_arm(self, code, part, None if probabilities is None else probabilities[start:end]))
        return tuple(arms)

    @cached_property
    def text_of_item(self) -> Ints:
        """(items,): the first item of what one call scores together: the block, or the call; else the item itself.

        Answers that are scored together are the same ones in every call: a batch.
        """
        text = np.arange(len(self.items), dtype=np.int64)
        joint = [code for code, condition in enumerate(self.conditions) if condition.joint]
        if not joint:
            return text
        criteria = all(self.conditions[code].reorder == "criteria" for code in joint)
        if criteria and bool(self.items["block"].notna().all()):
            code = self._blocks[1]
            return np.unique(code, return_index=True)[1].astype(np.int64)[code]
        rows = self.table.rows[self.table.rows["condition"].isin(joint)]
        item, call = rows["item"].to_numpy(dtype=np.int64), rows["call"].to_numpy(dtype=np.int64)
        calls, rank = distinct(call, int(call.max(initial=-1)) + 1)
        first = np.full(len(calls), len(self.items), dtype=np.int64)
        np.minimum.at(first, rank, item)
        text[item] = first[rank]
        return text

    @cached_property
    def _units(self) -> tuple[str, Ints, Names]:
        for kind in ("prompt", "block") if self.unit == "auto" else (self.unit,):
            if kind == "item" or not self._named(kind):
                continue
            names, code = self._blocks if kind == "block" else self._shared(kind)
            if self.unit == "auto" and not bool((code[self.text_of_item] == code).all()):
                continue  # a batch of answers to several prompts: what is scored together is not independent
            if len(names) < len(self.items) or self.unit == kind:
                return kind, code, names
        names = self._hashes(self.items)
        return "item", self.text_of_item, names

    @cached_property
    def _blocks(self) -> tuple[Names, Ints]:
        return self._shared("block")

    def _named(self, kind: str) -> bool:
        return kind in self.items and bool(self.items[kind].notna().any())

    def _shared(self, kind: str) -> tuple[Names, Ints]:
        """(names, code of each item) by the values of a column within each data set; items without one stand alone."""
        key = self.items["dataset"].astype(str) + "\0" + self.items[kind].astype(str)
        alone = self.items[kind].isna().to_numpy()
        code, texts = pd.factorize(key.to_numpy(dtype=object))
        names = hash_names(texts)
        if alone.any():
            code = np.where(alone, len(texts) + np.arange(len(code)), code)
            names = np.concatenate([names, self._hashes(self.items)])
        present, code = distinct(code.astype(np.int64), len(names))
        return names[present], code

    def _hashes(self, items: pd.DataFrame) -> Names:
        """(items,): a name of each item by itself, from its text where that is known, else from its data set and id."""
        names = items["dataset"].astype(str) + "\0" + items["item_id"].astype(str)
        if "unit_text" in items:
            known = items["unit_text"].notna() & (items["unit_text"].astype(str) != "")
            names = names.where(~known, items["unit_text"].astype(str))
        return hash_names(names.to_numpy(dtype=object))


def hash_names(texts: np.ndarray[Any, Any]) -> Names:
    """64-bit hashes of texts (n,), the same on every machine."""
    try:
        return np.asarray(pd.util.hash_array(texts, categorize=False), dtype=np.uint64)
    except UnicodeEncodeError:  # half a character
        clean = np.array([storable(text) for text in texts], dtype=object)
        return np.asarray(pd.util.hash_array(clean, categorize=False), dtype=np.uint64)
