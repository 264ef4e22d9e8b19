"""Which items a bench judges: few, drawn so that they tell most, by a seed and said in words.

What is chosen because it moved once will move less when it is read again (regression to the mean: Galton
1886), and what is chosen to differ says nothing of how often such items occur. So numbers of such a sample
are about its items; and answers of the run that it was chosen by are not taken over, so that no read
that chose an item counts in a number about it. Differences between versions are fair: both read the
same items, chosen before either was.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rubriclab.model import Dataset, Item, Judge, LabError, RunData
from rubriclab.model.language import SOURCE, speaking, tr
from rubriclab.model.wording import many
from rubriclab.store import RunInfo, Store

PEOPLE = "people"
Scores = Mapping[str, float]
"""A number of an item by its id."""


@dataclass(frozen=True)
class Known:
    """What is known of items before any is judged here, by item id.

    ``scores``: their level, as people rated it or as the run ``scored_by`` did; ``moved``: by how much the
    mean score differs between the orders of the run ``moved_by``, in points.
    """

    scores: Scores = field(default_factory=dict)
    scored_by: str = ""
    moved: Scores = field(default_factory=dict)
    moved_by: str = ""


@dataclass(frozen=True)
class Drawn:
    """``items``: numbers in the data's order; ``words``: how they were drawn, and what follows from that."""

    items: tuple[int, ...]
    words: str


def single_responses(dataset: Dataset, criterion: str | None) -> list[Item]:
    """The responses of the data; of data that name criteria those under ``criterion`` (None: all), without its name.

    Raises LabError for comparisons, and where nothing stands under the criterion.
    """
    texts = [item for item in dataset.items if isinstance(item, Item)]
    if len(texts) < len(dataset.items):
        raise LabError(tr("“{name}” holds comparisons; this works on single responses.", name=dataset.name))
    if criterion is not None and any(item.criterion for item in texts):
        texts = [replace(item, criterion=None) for item in texts if item.criterion == criterion]
    if not texts:
        raise LabError(
            tr("“{name}” has no item under the criterion “{criterion}”.", name=dataset.name, criterion=criterion)
        )
    return texts


def drawn(items: Sequence[Item], n: int, known: Known, *, seed: int = 0) -> Drawn:
    """``n`` of the items: half spread over their scores, the rest those that moved most before.

    Among items of one level those of prompts that have none yet come first, so that as many units as can
    be carry the intervals. What is not known is drawn at random; the same seed draws the same items.
    """
    every = range(len(items))
    if n >= len(items):
        with speaking(SOURCE):  # kept with the bench
            return Drawn(tuple(every), f"All {many(len(items), 'item')} of the data: nothing was left out.")
    rng = random.Random(f"{seed}|bench")
    shuffled = rng.sample(every, len(items))
    levelled = [i for i in shuffled if items[i].item_id in known.scores]
    moved = [i for i in shuffled if known.moved.get(items[i].item_id, 0.0) > 0]
    movers = min(n // 2, len(moved))
    chosen: list[int] = []
    bins = n - movers if len(levelled) >= n - movers else 0
    levelled.sort(key=lambda i: known.scores[items[i].item_id])
    for part in np.array_split(np.array(levelled, dtype=int), bins) if bins else ():
        chosen.append(_of_new_prompt(part.tolist(), chosen, items, rng))
    spread = len(chosen)
    moved.sort(key=lambda i: -known.moved[items[i].item_id])
    chosen += [i for i in moved if i not in chosen][: min(movers, n - len(chosen))]
    by_moves = len(chosen) - spread
    while len(chosen) < n:
        chosen.append(_of_new_prompt([i for i in shuffled if i not in chosen], chosen, items, rng))
    words = _words(n, len(items), spread, by_moves, known, seed)
    return Drawn(tuple(sorted(chosen)), words)


def _of_new_prompt(part: list[int], chosen: list[int], items: Sequence[Item], rng: random.Random) -> int:
    """One of ``part``, from the prompts that were drawn least often so far."""
    used = [items[i].prompt or items[i].item_id for i in chosen]
    times = {i: used.count(items[i].prompt or items[i].item_id) for i in part}
    least = min(times.values())
    return rng.choice([i for i in part if times[i] == least])


def _words(n: int, of: int, spread: int, moved: int, known: Known, seed: int) -> str:
    parts = []
    if spread:
        by = "people gave" if known.scored_by == PEOPLE else f"run {known.scored_by} gave"
        parts.append(f"{spread} spread over the scores that {by}, one at random from each level")
    if moved:
        parts.append(f"the {moved} others whose score moved most with the order in run {known.moved_by}")
    if rest := n - spread - moved:
        parts.append(f"{rest} at random")
    with speaking(SOURCE):  # kept with the bench
        text = f"{n} of {many(of, 'item')}: {', then '.join(parts)} (seed {seed})."
    if not spread and not moved:
        return f"{text} Nothing was known of their scores."
    text += " They were chosen, so numbers here are about these items and not about all."
    if moved:
        text += (
            f" What moved most once moves less when it is read again, so no answer of run {known.moved_by} counts "
            "here; differences between versions are fair, both reading the same items."
        )
    return text


# ---------------------------------------------------------------- what is known


def known_of(store: Store, dataset: Dataset, judge: Judge) -> Known:
    """From people's ratings, and from the newest run of the same data (of the same judge where there is one)."""
    items = [item for item in dataset.items if isinstance(item, Item)]
    rated = {item.item_id: float(np.mean(item.human)) for item in items if item.human}
    earlier = _earlier(store, dataset, judge)
    if earlier is None:
        return Known(rated, PEOPLE if rated else "")
    level, moved = levels_and_moves(store.frame(earlier.run), {item.item_id for item in items})
    if len(set(rated.values())) > 1:
        return Known(rated, PEOPLE, moved, earlier.run if moved else "")
    return Known(level, earlier.run if level else "", moved, earlier.run if moved else "")


def _earlier(store: Store, dataset: Dataset, judge: Judge) -> RunInfo | None:
    """The newest run over data of that name that moved score options; of this judge rather than of others."""
    runs = [
        info
        for info in store.runs()
        if info.axis == "options" and info.dataset == dataset.name and info.done and "workshop" not in info.provenance
    ]
    mine = [
        info
        for info in runs
        if any({**one, "name": ""} == {**judge.identity(), "name": ""} for one in info.provenance.get("judges", []))
    ]
    foreign = [info for info in runs if info.simulated == judge.simulated]
    return next(iter([*mine, *foreign]), None)


def levels_and_moves(data: RunData, wanted: set[str]) -> tuple[dict[str, float], dict[str, float]]:
    """(mean score of each text, by how much its mean score differs between orders), of readable reads.

    Of a text under several criteria the mean over them.
    """
    rows = data.judgments[data.judgments["position"] > 0]
    text = data.items["item_id"].astype("object")
    blocks = data.items["block"].astype("object")
    text = text.where(text.isin(wanted), blocks).where(lambda name: name.isin(wanted))
    read = rows.assign(text=text.to_numpy()[rows["item"].to_numpy()]).dropna(subset=["text"])
    level = read.groupby("text")["score"].mean()
    orders = read.groupby(["text", "item", "ordering"])["score"].mean().groupby(["text", "item"])
    moved = (orders.max() - orders.min()).groupby("text").mean()
    return {str(k): float(v) for k, v in level.items()}, {str(k): float(v) for k, v in moved.items()}
