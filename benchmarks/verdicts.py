"""Verdicts under judges that are not the lab's own: how often an unbiased one is accused, how often a bias is found.

    python -m benchmarks verdicts null power cached criteria unparsed variants accuracy [--studies 300] [--deals 499]

Prints a row a cell as soon as it is done; stop it whenever enough has been seen. A judge is a table
of probabilities P(score | item, order); calls are drawn from it. What was seen so far stands in ``MEASURED``.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special, stats

from rubriclab.core import gate as gates
from rubriclab.core.answers import Answers, cells
from rubriclab.core.variants import by_holm, form_gate
from rubriclab.core.verdict import Verdicts, decide
from rubriclab.model.study import Smallest
from tests.tables import choices

MEASURED = """
300 studies a cell, 499 deals, seed 1; "told": the gate opens, a smallest effect apart. Five options, 40 items, every order twice.
nothing planted: latent .043, skewed .047, mixed logit .067, constant .067, noise differs .037; default order ten times more
.040; 450 items .087, with 1,000 new studies (seed 77) .050. A judge that answers each prompt by one fixed draw: .037, ten
more .047, 450 items .050. Replies lost at random .073, by score .043. Criteria, 40 texts: .037.
first position +1.0 log-odds: 1.000 (ten more 1.000); +0.4 .867; +0.5 ten more .753, each order once .787. turn 0.25 .843,
line 0.4 .810, leans that cancel 0.4 .980. Criteria, first position +0.3 points 1.000 (effect .513: the rest is equivalent).
Question 2 with two named contrasts, and with the vector of order means as a third (told, then question 2): turn 0.35 ten more
.873 / .800, .870 / .797; turn 0.25 .880 / .810, .863 / .803; line 0.55 ten more .647 / .573, .640 / .557; first but never
score 1 by 1.0: 1.000 / 1.000, .440 / .777. The third costs more than .03, so there are two.
Forms of a prompt, four calls each, 20 / 60 items: nothing planted .050 / .047 (one call each .040 / .043; any of four forms by
Holm .003 / .043). All moved by 0.3 of the trait .497 / .933, the mean an effect in .450 / .923; items moved by 0.5 up or down
.357 / .713, the mean falsely in .047 / .037. Three of four forms moved by 0.3: the fourth told in .020 / .040.
"""

FIVE = 5
FORWARD = np.array([np.roll(np.arange(FIVE), -shift) for shift in range(FIVE)])
BALANCED = np.vstack([FORWARD, FORWARD[:, ::-1]])
DESIGNS = {"balanced": np.arange(10), "twice": np.tile(np.arange(10), 2), "ten more": np.r_[np.arange(10), [0] * 10]}
SMALLEST = Smallest()


# ----------------------------------------------------------------------------------------------------- judges of options
def utilities(rng: np.random.Generator, family: str, items: int, moved: np.ndarray) -> np.ndarray:
    """(items, orders, scores): log-probabilities up to a constant; ``moved`` (items, orders): shift of the item's trait."""
    if family == "mixed logit":
        own = rng.normal(0, 1.5, (items, FIVE)) + np.linspace(-1, 1, FIVE)
        return own[:, None] + moved[..., None] * np.linspace(-1, 1, FIVE)
    trait, noise = rng.standard_t(3, items) * 0.8 + 0.3, np.full(items, 0.6)
    if family == "skewed":
        trait = 1.6 - rng.exponential(1, items)
    if family == "noise differs":
        noise = np.exp(rng.normal(-1.5, 1.2, items)).clip(0.02, 3)
    if family == "constant":
        trait, noise = 1 + rng.normal(0, 0.1, items), np.full(items, 0.16)
    cut = (np.array([-1.5, -0.5, 0.5, 1.5]) - (trait[:, None] + moved)[..., None]) / noise[:, None, None]
    below = stats.t.cdf(cut, 4)
    edge = np.ones((*below.shape[:2], 1))
    return np.log(np.diff(np.concatenate([0 * edge, below, edge], axis=2), axis=2) + 1e-9)


def option_judge(rng: np.random.Generator, family: str, kind: str, size: float, items: int) -> np.ndarray:
    """(items, orders, scores): probabilities of a judge with one planted effect."""
    forward = np.where(np.arange(10) < FIVE, 1.0, -1.0)
    ascending = (BALANCED - 2) @ (np.arange(FIVE) - 2) / 10
    direction = forward if kind == "turn" else ascending if kind == "line" else 0 * forward
    log_p = utilities(rng, family, items, np.full((items, 1), size / 2) * direction)
    lean = np.zeros((items, FIVE))
    if kind == "first":
        lean[:, 0] = size
    if kind == "cancel":
        lean = rng.standard_t(5, (items, FIVE)) * size
    return special.softmax(log_p + lean[:, np.argsort(BALANCED, axis=1)], axis=2)


def calls(rng: np.random.Generator, p: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """(items, slots): scores drawn from ``p`` for the orders of ``slots``."""
    return (rng.random((len(p), len(slots), 1)) > p[:, slots].cumsum(axis=2)).sum(axis=2).clip(0, FIVE - 1)


def study(rng: np.random.Generator, family: str, kind: str, size: float, items: int, design: str) -> Answers:
    slots = DESIGNS[design]
    return choices(calls(rng, option_judge(rng, family, kind, size, items), slots), slots, BALANCED)


def cached(rng: np.random.Generator, items: int, design: str) -> Answers:
    """Prefers nothing, but answers each distinct prompt by one fixed draw."""
    slots = DESIGNS[design]
    once = calls(rng, option_judge(rng, "latent", "none", 0.0, items), np.arange(10))
    return choices(once[:, slots], slots, BALANCED)


def lossy(rng: np.random.Generator, size: float, loss: str) -> Answers:
    """Replies unparsed: 10 % at random, or 15 % of the two highest scores. First position favoured by ``size``."""
    answers = study(rng, "latent", "first", size, 40, "twice")
    chance = np.full(len(answers.code), 0.1) if loss == "at random" else np.where(answers.code[:, 0] > 2, 0.15, 0.0)
    return dataclasses.replace(answers, code=np.where(rng.random((len(chance), 1)) < chance[:, None], -1, answers.code))


# ---------------------------------------------------------------------------------------------------- judges of criteria
def criteria_study(rng: np.random.Generator, size: float, texts: int) -> Answers:
    """Four criteria in one call, every balanced order twice; a halo over the text, ratings 1 to 5."""
    orders = np.array([np.roll(np.arange(4), -shift) for shift in range(4)])
    orders, slots = np.vstack([orders, orders[:, ::-1]]), np.tile(np.arange(8), 2)
    trait = rng.normal(0, 0.7, (texts, 1)) + rng.standard_t(4, (texts, 4)) * 0.5 + 0.3
    position = np.argsort(orders, axis=1)[slots]
    call = rng.normal(0, 0.25, (texts, len(slots), 1))
    score = 3 + trait[:, None] + size * (position == 0) + call + rng.normal(0, 0.5, (texts, len(slots), 4))
    return choices(np.rint(score).clip(1, 5) - 1, slots, orders, points=np.arange(1.0, 6.0))


# ------------------------------------------------------------------------------------------------------ forms of a prompt
def forms_study(
    rng: np.random.Generator, kind: str, size: float, items: int, forms: int, calls_of_each: int
) -> Verdicts:
    """``forms`` of a prompt beside the default one, that many calls each; "shift": every form but the last moves the trait
    by ``size``; "cancel": each item's by as much on average, up or down. Of several forms what is said of any."""
    moved = np.zeros((items, forms + 1))
    if kind == "shift":
        moved[:, 1 : max(forms, 2)] = size
    if kind == "cancel":
        moved[:, 1:] = rng.normal(0, size, (items, forms))
    drawn = calls(
        rng,
        special.softmax(utilities(rng, "latent", items, moved), axis=2),
        np.repeat(np.arange(forms + 1), calls_of_each),
    )
    score, order = drawn.reshape(items, forms + 1, calls_of_each), np.repeat([0, 1], calls_of_each)
    orders = np.array([np.arange(FIVE)[::-1], np.arange(FIVE)])
    family = [choices(np.hstack([score[:, 0], score[:, k + 1]]), order, orders) for k in range(forms)]
    found = by_holm([(answers, form_gate(answers, np.arange(items))) for answers in family], SMALLEST)
    if kind == "shift" and forms > 1:
        return found[-1]  # the form that moves nothing
    return min(found, key=lambda one: one.gate.p)


# -------------------------------------------------------------------------------------------------------------- the cells
def options_cell(family: str, kind: str, size: float, items: int, design: str) -> tuple[str, Callable[..., Answers]]:
    name = f"{family}, {kind} {size}, {items} items, {design}"
    return name, lambda rng: study(rng, family, kind, size, items, design)


CELLS: dict[str, list[tuple[str, Callable[..., Answers | Verdicts]]]] = {
    "null": [
        *(
            options_cell(family, "nothing planted", 0, 40, "twice")
            for family in ("latent", "skewed", "mixed logit", "constant", "noise differs")
        ),
        options_cell("latent", "nothing planted", 0, 40, "ten more"),
        options_cell("latent", "nothing planted", 0, 450, "twice"),
    ],
    "power": [
        options_cell("latent", kind, size, 40, design)
        for kind, size, design in (
            ("first", 1.0, "twice"), ("first", 1.0, "ten more"), ("first", 0.4, "twice"), ("first", 0.5, "ten more"),
            ("first", 0.5, "balanced"), ("turn", 0.25, "twice"), ("line", 0.4, "twice"), ("cancel", 0.4, "twice"),
        )
    ],
    "cached": [
        (f"cached, prefers nothing, {items} items, {design}", partial(cached, items=items, design=design))
        for items, design in ((40, "twice"), (40, "ten more"), (450, "twice"))
    ],
    "criteria": [
        (f"criteria, first +{size} points, 40 texts", partial(criteria_study, size=size, texts=40))
        for size in (0, 0.3, 0.4)
    ],
    "unparsed": [
        *(
            (f"first {size}, 40 items, twice, unparsed {loss}", partial(lossy, size=size, loss=loss))
            for size, loss in ((0, "at random"), (0, "by score"), (0.5, "at random"))
        ),
        options_cell("latent", "first", 0.5, 40, "twice"),
    ],
    "variants": [
        (
            f"forms: {kind} {size}, {items} items, {forms} x {calls_of_each} calls",
            partial(forms_study, kind=kind, size=size, items=items, forms=forms, calls_of_each=calls_of_each),
        )
        for items in (20, 60)
        for kind, size, forms, calls_of_each in (
            ("nothing", 0, 1, 4), ("nothing", 0, 1, 1), ("shift", 0.3, 1, 4), ("cancel", 0.5, 1, 4), ("nothing", 0, 4, 4),
            ("shift", 0.3, 4, 4),
        )
    ],
}  # fmt: skip


def run_cell(name: str, make: Callable[..., Answers | Verdicts], studies: int, seed: int) -> None:
    """Shares of studies: told anything ("a lean is there, smaller than matters" with it), any effect, the gate open, the
    unparsed test rejecting; each question an effect (E) or equivalent (=); single scores change, but any prompt may do it."""
    count: Counter[str] = Counter()
    start = time.time()
    for k in range(studies):
        made = make(np.random.default_rng([seed, k]))
        found = made if isinstance(made, Verdicts) else decide(made, SMALLEST)
        count["told"] += any(answer.verdict == "effect" or answer.above_zero for answer in found.questions.values())
        count["effect"] += any(answer.verdict == "effect" for answer in found.questions.values())
        count["gate"] += found.gate.p <= 0.05
        count["unparsed"] += found.unparsed_p <= 0.05
        for question, answer in found.questions.items():
            count[f"{question} E"] += answer.verdict == "effect"
            count[f"{question} ="] += answer.verdict == "equivalent"
            count["any prompt"] += answer.why == "any_prompt"
    rates = "  ".join(f"{key} {count[key] / studies:.3f}" for key in sorted(count, key=lambda key: key != "told"))
    print(f"{name:<55} {rates}  ({studies} studies, {time.time() - start:.0f} s)", flush=True)


def accuracy(studies: int) -> None:
    """p of 240 items by blocks that are dealt 200 and 25 times, against the p of 100,000 plain deals, 0.01 to 0.1."""
    limits = gates.MOST_GROUPS, gates.CARDS_DEALT, gates.DEALS
    differences = []
    for k in range(studies):
        table = cells(study(np.random.default_rng([9, k]), "latent", "first", 0.1, 240, "balanced"))
        if not 0.01 < gates.gate(table).p < 0.1:
            continue
        gates.MOST_GROUPS = 100
        many = gates.gate(table)
        gates.CARDS_DEALT = 0
        few = gates.gate(table)
        gates.MOST_GROUPS, gates.CARDS_DEALT, gates.DEALS = limits[0], limits[1], 100_000
        plain = gates.gate(table)
        gates.DEALS = limits[2]
        differences.append((many.p - plain.p, few.p - plain.p))
        print(f"plain {plain.p:.4f}  blocks dealt 200 times {many.p:.4f}, 25 times {few.p:.4f}", flush=True)
    print(
        "root mean square", np.sqrt(np.mean(np.square(differences), axis=0)), "largest", np.abs(differences).max(axis=0)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=[*CELLS, "accuracy"])
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--deals", type=int, default=499, help="random deals a study; the lab uses 1,999")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    gates.DEALS = chosen.deals
    for part in chosen.parts:
        if part == "accuracy":
            accuracy(chosen.studies)
        else:
            for name, make in CELLS[part]:
                run_cell(name, make, chosen.studies, chosen.seed)


if __name__ == "__main__":
    main()
