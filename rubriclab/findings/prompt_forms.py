"""The forms of the judge's prompt in a run, as counts of scores, and what they are held against.

A *form* is an arm on the axis of score options: a strategy (ascending, descending, random
order) under a variant (score IDs, a reference answer of some score, any other factor).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from rubriclab.findings.frame import count_table, option_rows, score_index, status_counts
from rubriclab.findings.topic import setting
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.perturbation import majority, shares

WORDING = "prompt"
"""The factor whose levels are wordings of the prompt."""
FormName = tuple[str, str, Any]
"""A form's name, its family (baseline, order, ids, reference, ...) and its level there."""
ORDERS = (
    msg("fixed order"),
    msg("descending order"),
    msg("random order"),
    msg("balanced order"),
    msg("williams order"),
    msg("all order"),
    msg("ends order"),
    msg("custom order"),
    msg("min-bias order"),
)
"""Names of forms that differ by their strategy."""
REFERENCE = "reference of score "
NAMES = {"arabic": msg("Arabic numerals"), "letters": msg("letters"), "roman": msg("Roman numerals")}


@dataclass(frozen=True)
class Gold:
    """What scores are held against. ``kind``: human means, or a judge's majority of reads.

    ``form``: the gold judge's prompt. ``tied``: items without one commonest score (the mean
    of the tied ones counts). ``counts``: items by score, means rounded to the nearest score;
    None where the ratings are on another scale.
    """

    kind: Literal["human", "judge"]
    name: str
    form: str
    n_items: int
    tied: int
    counts: tuple[int, ...] | None


@dataclass(frozen=True)
class Form:
    """An arm as counts over all items of the run: (items, n); ``asked``, (items,), its rows."""

    code: int
    arm: Arm
    judgments: dict[str, int]
    counts: Floats
    asked: Ints
    ascending: bool

    @property
    def values(self) -> Floats:
        return np.asarray(self.arm.scores, dtype=np.float64)

    @property
    def reads(self) -> int:
        return int(self.asked.max(initial=0))

    @property
    def standard(self) -> bool:
        """Ascending, Arabic numerals, no reference answer asked for: the paper's baseline."""
        variant = self.arm.variant
        arabic = variant.get("ids", "arabic") == "arabic"
        return self.ascending and arabic and not variant.get("reference")

    def on(self, item: Ints) -> Form:
        """The form on these items alone."""
        return replace(self, counts=self.counts[item], asked=self.asked[item])

    def complete_means(self) -> Floats:
        """Mean score of the items all of whose reads gave a score, NaN for the others."""
        whole = (self.asked == self.reads) & (self.counts.sum(axis=1) == self.reads)
        return np.where(whole, shares(self.counts) @ self.values, np.nan)


def forms_of(data: RunData) -> list[list[Form]]:
    """The forms of each judge, data set and scale; the baseline first."""
    groups: dict[tuple[str, str, tuple[int, ...]], list[Form]] = {}
    for code, arm, judgments in data.by_arm():
        if arm.axis == "options" and len(judgments):
            key = (arm.judge, arm.dataset, arm.scores)
            groups.setdefault(key, []).append(_form(data, code, arm, judgments))
    return [_baseline_first(forms) for forms in groups.values()]


def _form(data: RunData, code: int, arm: Arm, judgments: pd.DataFrame) -> Form:
    rows = option_rows(data, arm, judgments)
    ok, size = rows.ok, len(data.items)
    item = rows.item_code[rows.item]
    return Form(
        code=code,
        arm=arm,
        judgments=status_counts(judgments) | {"off scale": rows.off_scale},
        counts=count_table((item[ok], size), (rows.score[ok], rows.n)),
        asked=np.bincount(item, minlength=size).astype(np.int64),
        ascending=bool((rows.shown == np.arange(rows.n)).all()),
    )


def _baseline_first(forms: list[Form]) -> list[Form]:
    """The first form in ascending order before the others; the first form where there is none."""
    named = [form for form in forms if form.arm.strategy == "fixed"]
    chosen = (named or [form for form in forms if form.ascending] or forms)[0]
    return [chosen, *(form for form in forms if form is not chosen)]


def form_name(base: Arm, arm: Arm) -> FormName:
    """(name, family, level) of a form: what sets it apart from the baseline."""
    if arm == base:
        return msg("Baseline"), "baseline", None
    parts: list[FormName] = []
    if arm.strategy != base.strategy:
        parts.append((f"{arm.strategy} order", "order", arm.strategy))
    factors = dict.fromkeys([*dict(base.variant.levels), *dict(arm.variant.levels)])
    for factor in factors:
        level = arm.variant.get(factor)
        if level != base.variant.get(factor):
            parts.append((_level_name(factor, level), factor, level))
    if len(parts) == 1:
        return parts[0]
    return ", ".join(name for name, _, _ in parts), "several", None


def _level_name(factor: str, level: Any) -> str:
    if factor == "ids":
        return NAMES.get(level, level) if isinstance(level, str) else " / ".join(map(str, level))
    if factor == "reference":
        return f"{REFERENCE}{level}" if level else msg("no reference")
    return f"{factor} {level}"


def form_said(name: str) -> str:
    """A form's name in the reader's language; the name itself, which is compared and exported, is English."""
    return ", ".join(_part_said(part) for part in name.split(", "))


def _part_said(part: str) -> str:
    if part.startswith(REFERENCE):
        return tr("reference of score {level}", level=part.removeprefix(REFERENCE))
    return tr(part)


# ---------------------------------------------------------------- gold


def gold_of(data: RunData, grouped: Sequence[Sequence[Form]], judge: str | None) -> tuple[Floats, Gold | None]:
    """Gold by item of the run, and what it is; (all NaN, None) where there is none."""
    human = data.items["human"].to_numpy().astype(np.float64)
    if judge is None:
        n = int(np.isfinite(human).sum())
        return human, Gold("human", tr("human ratings"), "", n, 0, None) if n else None
    own = [forms for forms in grouped if forms[0].arm.judge == judge]
    if not own:
        known = ", ".join(dict.fromkeys(forms[0].arm.judge for forms in grouped)) or tr("none")
        raise LabError(
            tr("The run has no judge “{judge}” to take as the yardstick. It has: {known}.", judge=judge, known=known)
        )
    gold = np.full(len(data.items), np.nan)
    tied = 0.0
    for forms in own:
        form = _gold_form(forms)
        modal, ties = majority(form.counts, form.values)
        gold = np.where(np.isfinite(modal), modal, gold)
        tied += ties.sum()
    chosen = _gold_form(own[0])
    name = form_name(own[0][0].arm, chosen.arm)[0]
    reads = tr("{name}, {reads} an item", name=form_said(name), reads=many(chosen.reads, "read"))
    return gold, Gold("judge", judge, reads, int(np.isfinite(gold).sum()), int(tied), None)


def _gold_form(forms: Sequence[Form]) -> Form:
    """The paper's gold prompt, with a full-mark reference answer; else the judge's baseline."""
    top = max(forms[0].arm.scores)
    marked = [f for f in forms if f.ascending and f.arm.variant.get("reference") == top]
    return (marked or list(forms))[0]


def gold_counts(gold: Floats, scores: tuple[int, ...]) -> tuple[int, ...] | None:
    """Items by gold score, rounded half up; None where gold is not on this scale."""
    known = gold[np.isfinite(gold)]
    if not len(known) or known.min() < scores[0] or known.max() > scores[-1]:
        return None
    values = np.asarray(scores, dtype=np.float64)
    middle = (values[1:] + values[:-1]) / 2.0
    nearest = values[np.searchsorted(middle, known, side="right")]
    return tuple(np.bincount(score_index(nearest, scores), minlength=len(scores)).tolist())


SINGLE = ("fixed", "descending", "random")
"""Strategies that, read once an item, are forms of one prompt rather than ways to average."""


def varies_form(data: RunData, arms: Sequence[Arm] | None = None) -> bool:
    """Do the ``arms`` (those of the run) vary the prompt's form: IDs, references, single orders?"""
    every = list(enumerate(data.arms))
    mine = [one for one in every if one[1].axis == "options" and (arms is None or one[1] in arms)]
    if any(arm.variant.get(factor) is not None for _, arm in mine for factor in ("ids", "reference")):
        return True
    single: dict[tuple[str, str, str], set[str]] = {}
    for code, arm in mine:
        if arm.strategy in SINGLE and _read_once(data, code):
            single.setdefault(setting(arm), set()).add(arm.strategy)
    return any(len(names) > 1 for names in single.values())


def forms_asked(data: RunData, arms: Sequence[Arm]) -> int:
    """How many forms of one judge are held against its usual one; ``arms``: those that were read."""
    options = [arm for arm in arms if arm.axis == "options"]
    if not options or not varies_form(data, options):
        return 0
    return len(options) - len({(arm.dataset, arm.scores) for arm in options})


def wordings_of(arms: Iterable[tuple[int, Arm]]) -> list[dict[str, list[int]]]:
    """The arms (by code) of each wording of the prompt, first the baseline's, where there are several.

    One group a judge, data set, scale and setting of all other factors; strategies go together.
    """
    found: dict[Hashable, dict[str, list[int]]] = {}
    for code, arm in arms:
        level = arm.variant.get(WORDING)
        if level is not None and arm.scores:
            others = tuple(pair for pair in arm.variant.levels if pair[0] != WORDING)
            key = (arm.judge, arm.dataset, arm.axis, arm.scores, str(others))
            found.setdefault(key, {}).setdefault(str(level), []).append(code)
    return [group for group in found.values() if len(group) > 1]


def wordings_asked(arms: Sequence[Arm]) -> int:
    """How many wordings of one judge's prompt are held against its first one."""
    return sum(len(group) - 1 for group in wordings_of(enumerate(arms)))


def _read_once(data: RunData, code: int) -> bool:
    items = data.judgments["item"].to_numpy()[data.judgments["arm"].to_numpy() == code]
    return len(items) > 0 and int(np.bincount(items).max()) == 1
