"""Simulate judges that pass or fail answers, and labels chosen in three ways (``pass_fail``).

Whether an answer passes and how easy it is are probits, so that the true pass rate, sensitivity and
specificity are exact: Phi(c + s z) of a standard normal z has the mean Phi(c / sqrt(1 + s^2)).
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import special

from rubriclab.core.certification import LIMIT
from rubriclab.core.topic import Row
from rubriclab.measures.pass_fail import Labels, rows_of

EASY = 0.8
"""Standard deviation of how easy an answer is, on the probit scale."""


@dataclass(frozen=True)
class Planned:
    """A cell: “TPR 0.9, TNR 0.7, three to a prompt | pass rate 0.8 | 100 labels by verdict, each
    order twice | 600”.

    turn: how much sensitivity and specificity differ between two orders. labels: how many; 0 for
    all items. labelled: how they are chosen. calls: in each of the two orders; 0 for one call.
    """

    sensitivity: float
    specificity: float
    turn: float
    pass_rate: float
    labels: int
    labelled: str
    calls: int
    size: int
    items: int


def planned(judge: str, planted: str, how: str, units: int) -> Planned:
    """Read a line of ``cells.txt``. Raises ValueError for one that says something else."""
    about = re.fullmatch(r"TPR ([\d.]+), TNR ([\d.]+)(, three to a prompt)?", judge)
    rates = re.fullmatch(r"pass rate ([\d.]+)(?:, orders differ by ([\d.]+))?", planted)
    asked = re.fullmatch(
        r"(\d+|all) labels (at random|by label|by verdict), (one call|each order (?:once|twice))",
        how,
    )
    if about is None or rates is None or asked is None:
        raise ValueError(f"“{judge} | {planted} | {how}” is no cell of labelled answers.")
    calls = {"one call": 0, "each order once": 1, "each order twice": 2}
    return Planned(
        sensitivity=float(about[1]),
        specificity=float(about[2]),
        turn=float(rates[2] or 0),
        pass_rate=float(rates[1]),
        labels=0 if asked[1] == "all" else int(asked[1]),
        labelled=asked[2],
        calls=calls[asked[3]],
        size=3 if about[3] else 1,
        items=units,
    )


def shared(rng: Generator, items: int, size: int) -> np.ndarray:
    """(items,): standard normal; answers to one prompt share half of the variance."""
    own = rng.normal(size=items)
    if size == 1:
        return own
    prompts = rng.normal(size=-(-items // size))
    return np.sqrt(0.5) * (own + np.repeat(prompts, size)[:items])


def world(rng: Generator, about: Planned) -> tuple[np.ndarray, np.ndarray]:
    """Return (items,) whether an answer passes, and (items, calls) whether each call passes it.

    Where labels are of all items and by label, so many pass and so many fail.
    """
    passes = shared(rng, about.items, about.size) < special.ndtri(about.pass_rate)
    if not about.labels and about.labelled == "by label":
        passes = np.arange(about.items) < round(about.items * about.pass_rate)
    order = np.tile([0.5, -0.5], about.calls) if about.calls else np.zeros(1)
    hit = about.sensitivity + about.turn * order
    false_pass = 1 - about.specificity + about.turn * order
    cut = special.ndtri(np.where(passes[:, None], hit, false_pass)) * np.sqrt(1 + EASY**2)
    chance = special.ndtr(cut + EASY * shared(rng, about.items, about.size)[:, None])
    return passes, rng.random(chance.shape) < chance


def choose(rng: Generator, about: Planned, passes: np.ndarray, verdicts: np.ndarray) -> np.ndarray:
    """Return which items get a label; half of them of each kind unless they are drawn at random."""
    if not about.labels:
        return np.arange(about.items)
    if about.labelled == "at random":
        return rng.permutation(about.items)[: about.labels]
    by = passes if about.labelled == "by label" else verdicts.mean(axis=1) > 0.5
    half = about.labels // 2
    return np.concatenate([rng.permutation(np.flatnonzero(by == kind))[:half] for kind in (0, 1)])


def truths(about: Planned) -> dict[str, float]:
    """What very many answers give, by measure; without those that the labels say nothing of."""
    hit, reject, rate = about.sensitivity, about.specificity, about.pass_rate
    if not about.labels and about.labelled == "by label":
        return {"sensitivity": hit, "specificity": reject, "youden": hit + reject - 1}
    made = {"judge_pass": rate * hit + (1 - rate) * (1 - reject)}
    if about.labelled != "by verdict":
        made |= {"sensitivity": hit, "specificity": reject, "youden": hit + reject - 1}
        made["corrected_pass_rates"] = rate
    if about.labelled != "by label":
        made["corrected_pass"] = rate
    if about.labelled == "at random":
        made |= {"people_pass": rate, "labels_chosen": 0.0}
    return made


def labelled_study(rng: Generator, _: Any, *, about: Planned) -> dict[str, Any]:
    """Return which intervals hold, whether the choice of the labels shows, and who is certified."""
    passes, verdicts = world(rng, about)
    label = np.full(about.items, np.nan)
    chosen = choose(rng, about, passes, verdicts)
    label[chosen] = passes[chosen]
    share = verdicts.mean(axis=1)
    by_order = {}
    if about.calls:
        by_order = {name: verdicts[:, k::2].mean(axis=1) for k, name in enumerate(("0 1", "1 0"))}
    prompts, unit = np.unique(np.arange(about.items) // about.size, return_inverse=True)
    labels = Labels(
        label=label,
        verdict=share,
        average=np.where(share == 0.5, 0.5, share > 0.5),
        by_order=by_order,
        unit=unit,
        names=prompts.astype(np.uint64),
        calls=verdicts.shape[1],
        chosen="random" if about.labelled == "at random" else about.labelled,
    )
    rows = [row for row in rows_of(labels, 1.0) if isinstance(row, Row)]
    events = held(rows, truths(about)) | held_by_order(rows, about)
    for row in rows:
        if row.measure == "labels_chosen" and about.labels:
            kind = "false" if about.labelled == "at random" else "found"
            events[f"{kind} labels chosen"] = float(row.p <= 0.05)
    return events | certified(rows, about)


def held(rows: list[Row], truth: dict[str, float]) -> dict[str, Any]:
    """Whether each interval of the whole holds what is true, with its width."""
    made = {}
    for row in rows:
        low, high = row.interval
        whole = not {*row.of} - {"cut"}
        if whole and row.measure in truth and np.isfinite(low):
            holds = low - 1e-9 <= truth[row.measure] <= high + 1e-9
            made[f"holds {row.measure}"] = holds, high - low
    return made


def held_by_order(rows: list[Row], about: Planned) -> dict[str, Any]:
    """Whether the intervals of both orders hold at once, of each measure."""
    made: dict[str, Any] = {}
    if about.labelled == "by verdict":
        return made
    for measure, value, sign in (
        ("sensitivity", about.sensitivity, 1),
        ("specificity", about.specificity, -1),
    ):
        mine = [row for row in rows if row.measure == measure and "order" in row.of]
        true = [value + sign * half * about.turn for half in (0.5, -0.5)]
        ends = [row.interval for row in mine]
        if mine and np.isfinite(ends).all():
            holds = [
                low - 1e-9 <= x <= high + 1e-9 for x, (low, high) in zip(true, ends, strict=True)
            ]
            made[f"holds {measure} by order, all at once"] = all(holds)
    return made


def certified(rows: list[Row], about: Planned) -> dict[str, float]:
    """Whether both intervals lie above LIMIT: of the whole, and in every order."""
    if about.labels:
        return {}
    made = {}
    worst = min(about.sensitivity, about.specificity)
    for name, by_order, least in (
        ("certified", False, worst),
        ("certified in every order", True, worst - about.turn / 2),
    ):
        mine = [
            row
            for row in rows
            if row.measure in ("sensitivity", "specificity")
            and (row.of.keys() == {"order"} if by_order else not row.of)
        ]
        if mine:
            kind = "found" if least > LIMIT else "false"
            made[f"{kind} {name}"] = float(all(row.interval[0] >= LIMIT for row in mine))
    return made
