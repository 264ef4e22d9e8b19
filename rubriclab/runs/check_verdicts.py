"""What a run says, held against the truth: false “effect”, false “equivalent”, coverage.

Judges of families that the lab does not fit (:mod:`rubriclab.judges.families`) are judged study
after study; all advice of a study and every interval it shows are compared with what is true.
True is what was planted, where that decides the answer; for every other number the value that it
takes itself over ``LONG_RUN`` items of the same judge under the same design. What a study learns from
a probe of its own (the one-call debiaser) is another correction in every study, good or bad: true is
what this very correction does on ``ELSEWHERE`` other items.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from rubriclab.findings.check import (
    ANY_ADVICE,
    AT_LEAST,
    AT_LEAST_SINCE,
    CAREFUL,
    COVERAGE_RANGE,
    Check,
    Quantity,
    check_of,
    loose,
    mean_rate,
    standing,
)
from rubriclab.findings.debiasing import debiasing
from rubriclab.findings.debiasing_results import debiasing_advice
from rubriclab.findings.estimates import estimates
from rubriclab.findings.plain import plain
from rubriclab.findings.topic import Advice
from rubriclab.findings.topics import Findings
from rubriclab.judges.families import FAMILIES, Leanings, strength_for
from rubriclab.model import SMALLEST_EFFECT, LabError, RunData
from rubriclab.runs.foreign import CRITERIA, DESIGNS, axis_of, foreign_run

Plant = Literal["nothing", "own leanings", "twice"]
PLANTS: tuple[Plant, ...] = ("nothing", "own leanings", "twice")
ITEMS = (15, 30, 60, 100, 300)
LONG_RUN = 20_000
"""Items that stand for all there are: their own error adds 1.5 % to the variance at 300 items."""
NEARLY_NOTHING = 0.1
"""A true value below this part of the smallest effect of interest counts as none."""
OTHERWISE = "any advice of a run, on what is not moved or in the wrong direction"
AT_MOST = (0.0, 0.05)
KEY = ["topic", "arm", "measure", "level"]
AT_ONCE = (
    "position: shift.pulls",
    "position: table",
    "alignment: ordering_rank",
    "criteria: criteria.shift",
    "criteria: criteria.first_less_last.estimate",
    "comparison: first_place.places",
    "comparison: first_place.places.effect.estimate",
)
"""Intervals that promise to hold all at once: a study holds them, or it does not."""
NO_ESTIMATE = ("alignment: budget.mean_r",)
"""Ranges that are no intervals: of the choices of reads of these items, as the papers draw them."""
LEARNT = "debiasing"
"""The topic whose numbers are about what a study learnt: their true values are that study's own."""
ELSEWHERE = 3_000
"""Items that what a study learnt is tried on: their own error adds a tenth to the variance at 300 items."""
OWN_LESSON = ("replacement: corrected.advantage", "replacement: control.advantage", "replacement: constant.advantage")
"""Of calls corrected by what half of the study taught: true of that half alone, not of the long run."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Cell:
    """One setting: a family of judges under a design, at a size, with something planted.

    ``nothing``: the order moves no score. ``own leanings``: it moves single items, in ways that
    cancel out. ``twice``: a common shift of twice the smallest effect of interest besides these.
    """

    family: str
    design: str
    items: int
    plant: Plant

    @property
    def judge(self) -> str:
        return {
            "nothing": self.family,
            "own leanings": f"{self.family}, items lean",
            "twice": f"{self.family}, true shift {self.shift:g}",
        }[self.plant]

    @property
    def shift(self) -> float:
        """The planted true shift in points (pairs: in shares of wins)."""
        return 2.0 * SMALLEST_EFFECT if self.plant == "twice" else 0.0

    def run(self, seed: int, items: int = 0) -> Findings:
        """One study of this setting (of ``items`` items instead of its own)."""
        leanings: Leanings = "none" if self.plant == "nothing" else "own"
        places = len(CRITERIA) if axis_of(self.design) == "criteria" else 0
        strength = 0.0
        if self.shift:
            strength = strength_for(self.family, axis_of(self.design), self.shift, places=places)
        return Findings(
            foreign_run(
                self.family, self.design, items=items or self.items, strength=strength, leanings=leanings, seed=seed
            )
        )


def cells(
    *,
    families: Sequence[str] = tuple(FAMILIES),
    designs: Sequence[str] = tuple(DESIGNS),
    items: Sequence[int] = ITEMS,
    plants: Sequence[Plant] = PLANTS,
) -> list[Cell]:
    """Every setting that exists: a constant judge has no leanings and cannot be moved."""
    return [
        Cell(family, design, size, plant)
        for size in items
        for family in families
        for design in designs
        for plant in plants
        if plant == "nothing" or not FAMILIES[family].constant
    ]


def check_verdicts(
    wanted: Sequence[Cell],
    *,
    studies: int,
    seed: int = 0,
    kept: Path | None = None,
    coverage: bool = True,
    progress: Progress | None = None,
) -> tuple[Check, ...]:
    """The checks of all ``wanted`` settings, ``studies`` runs each.

    ``kept``: a file of finished settings, one a line; what it holds is not worked out again, so
    that a check that was stopped goes on where it was. Raises LabError where it is no such file.
    """
    known = _kept(kept, studies, seed)
    checks: list[Check] = []
    for done, cell in enumerate(wanted):
        if cell not in known:
            known[cell] = checks_of(cell, studies=studies, seed=seed, coverage=coverage)
            if kept is not None:
                line = {
                    **asdict(cell),
                    "studies": studies,
                    "seed": seed,
                    "checks": [plain(check) for check in known[cell]],
                }
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
        checks += known[cell]
        if progress is not None:
            progress(done + 1, len(wanted))
    return tuple(checks)


def finished(*files: Path) -> tuple[Check, ...]:
    """The checks of every setting in files of :func:`check_verdicts`.

    A setting may stand in several: its verdicts in one, its coverage in another. Of two checks of
    one seed, whose studies are the same, the larger counts; studies of several seeds are put together.
    """
    found: dict[tuple[Cell, str, str], dict[int, tuple[int, Check]]] = {}
    for file in files:
        for cell, (studies, seed), checks in _lines(file):
            for check in map(_promised, checks):
                of_seed = found.setdefault((cell, check.quantity, check.method), {})
                if seed not in of_seed or studies > of_seed[seed][0]:
                    of_seed[seed] = (studies, check)
    return tuple(_together([check for _, check in of_seed.values()]) for of_seed in found.values())


def _promised(check: Check) -> Check:
    """A check under today's promise of its interval, whatever the file was made under."""
    suffix = AT_LEAST if check.method in AT_ONCE else CAREFUL if check.method in AT_LEAST_SINCE else ""
    if check.quantity != "coverage" or not suffix:
        return check
    accepted = (COVERAGE_RANGE[0], 1.0)
    now = standing(check.value, check.se, check.studies, accepted)
    return replace(check, method=check.method + suffix, accepted=accepted, standing=now)


def _together(checks: Sequence[Check]) -> Check:
    """One property of one setting from studies of several seeds."""
    if len(checks) == 1:
        return checks[0]
    n, value = sum(check.studies for check in checks), mean_rate(checks)
    known = [check for check in checks if check.studies > 1]
    # Within the seeds and between them, as one sample of all studies has it.
    square = sum(c.se**2 * c.studies * (c.studies - 1) for c in known)
    square += sum(c.studies * (c.value - value) ** 2 for c in checks)
    se = float(np.sqrt(square / (n - 1) / n))
    first = checks[0]
    return replace(first, studies=n, value=value, se=se, standing=standing(value, se, n, first.accepted))


def _kept(file: Path | None, studies: int, seed: int) -> dict[Cell, tuple[Check, ...]]:
    """The settings that an earlier check of the same size and seed has finished."""
    if file is None or not file.exists():
        return {}
    return {cell: checks for cell, size, checks in _lines(file) if size == (studies, seed)}


def _lines(file: Path) -> Iterator[tuple[Cell, tuple[int, int], tuple[Check, ...]]]:
    """(setting, studies and seed, checks) of every line."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            cell = Cell(row["family"], row["design"], row["items"], row["plant"])
            size = (row["studies"], row["seed"])
            checks = tuple(check_of(check) for check in row["checks"])
        except (ValueError, KeyError, TypeError) as fault:
            raise LabError(
                f"Line {number} of {file} is no finished setting of a method check: remove it, or name another file."
            ) from fault
        yield cell, size, checks


# ---------------------------------------------------------------- one setting


def checks_of(cell: Cell, *, studies: int, seed: int = 0, coverage: bool = True) -> tuple[Check, ...]:
    """What ``studies`` runs of one setting say, against what is true."""
    # Where nothing is planted, what is true of advice is known without a long run.
    known = coverage or cell.plant != "nothing"
    truth = _truth(cell.family, cell.design, cell.plant) if known else Truth({}, pd.DataFrame())
    said, held = [], []
    for number in range(studies):
        # No two settings share a study: their errors are independent.
        findings = cell.run(_seed(cell, seed, number))
        mine = _with_learnt(cell, findings, truth) if known else truth
        said.append(_said(cell, findings.advice(), mine))
        if coverage:
            held.append(_held(findings.estimates(), mine))
    checks = [*_verdict_checks(cell, pd.DataFrame(said))]
    if held:
        checks += _coverage_checks(cell, pd.DataFrame(held))
    return tuple(checks)


def _seed(cell: Cell, seed: int, number: int) -> int:
    place = [list(FAMILIES).index(cell.family), list(DESIGNS).index(cell.design), cell.items, PLANTS.index(cell.plant)]
    drawn = np.random.SeedSequence([seed, number, *place]).generate_state(1)
    return int(drawn[0])


@dataclass(frozen=True)
class Truth:
    """Long-run values: of each answer by its question, and of each estimate by KEY."""

    advice: dict[str, float]
    estimates: pd.DataFrame


@lru_cache(maxsize=128)
def _truth(family: str, design: str, plant: Plant) -> Truth:
    findings = Cell(family, design, LONG_RUN, plant).run(seed=2**31)
    answers = {_name(a): a.effect.estimate for a in findings.advice()}
    return Truth(answers, _values(findings.estimates()))


def _with_learnt(cell: Cell, findings: Findings, truth: Truth) -> Truth:
    """The truth of one study: what it learnt itself is tried on other items."""
    if LEARNT not in findings:
        return truth
    tried = debiasing(findings.data, target=_elsewhere(cell.family, cell.design, cell.plant))
    table = _values(estimates(LEARNT, tried))
    answers = {_name(a): a.effect.estimate for a in debiasing_advice(tried)}
    others = truth.estimates[truth.estimates["topic"] != LEARNT]
    return Truth(truth.advice | answers, pd.concat([others, table], ignore_index=True))


@lru_cache(maxsize=4)
def _elsewhere(family: str, design: str, plant: Plant) -> RunData:
    return Cell(family, design, ELSEWHERE, plant).run(seed=2**31 + 1).data


def _values(table: pd.DataFrame) -> pd.DataFrame:
    """The ``truth`` of each estimate by KEY."""
    known = table[[*KEY, "value"]].drop_duplicates(KEY)
    return known.assign(arm=known["arm"].fillna(-1)).rename(columns={"value": "truth"})


def _name(advice: Advice) -> str:
    """A question with the setting it is asked in: what is the same in every study."""
    return " · ".join(filter(None, (advice.question, advice.of[2])))


def _said(cell: Cell, advice: Sequence[Advice], truth: Truth) -> dict[str, float]:
    """Per question 1 or 0 for each verdict and each wrong one; ``ANY_ADVICE`` over all of the run."""
    some = OTHERWISE if cell.plant == "twice" else ANY_ADVICE
    row: dict[str, float] = {f"false effect|{some}": 0.0, f"false equivalent|{ANY_ADVICE}": 0.0}
    for answer in advice:
        name, effect = _name(answer), answer.effect
        true = truth.advice.get(name, float("nan"))
        nothing = cell.plant == "nothing" or abs(true) <= NEARLY_NOTHING * effect.sesoi
        wrong_way = effect.verdict == "effect" and effect.estimate * true < 0
        if nothing or wrong_way:
            false = float(effect.verdict == "effect")
            row[f"false effect|{name}"] = false
            row[f"false effect|{some}"] = max(row[f"false effect|{some}"], false)
        if nothing:
            row[f"equivalent|{name}"] = float(effect.verdict == "equivalent")
        elif cell.plant == "twice" and abs(true) >= effect.sesoi:
            false = float(effect.verdict == "equivalent")
            row[f"false equivalent|{name}"] = false
            row[f"false equivalent|{ANY_ADVICE}"] = max(row[f"false equivalent|{ANY_ADVICE}"], false)
            row[f"effect|{name}"] = float(effect.verdict == "effect" and not wrong_way)
        if np.isfinite([true, effect.low, effect.high]).all():
            row[f"held|{name}"] = float(effect.low - 1e-9 <= true <= effect.high + 1e-9)
    return row


def _held(shown: pd.DataFrame, truth: Truth) -> dict[str, float]:
    """By topic and measure the share of a study's intervals that hold their long-run value.

    Of what promises to hold at once, the share of arms of which all do. What a verdict rests on
    holds at once with the judge's other answers, each at its own level: marked by AT_LEAST.
    """
    name = shown["topic"] + ": " + shown["measure"]
    known = np.isfinite(shown["low"]) & np.isfinite(shown["high"]) & ~name.isin((*NO_ESTIMATE, *OWN_LESSON))
    shown = shown.assign(name=name, arm=shown["arm"].fillna(-1))[known].drop_duplicates(KEY)
    shown = shown.merge(truth.estimates, on=KEY)
    shown = shown[np.isfinite(shown["truth"])]
    inside = (shown["low"] - 1e-9 <= shown["truth"]) & (shown["truth"] <= shown["high"] + 1e-9)
    at_once = shown["name"].isin(AT_ONCE)
    level = shown["note"].str.extract(r"([0-9.]+) % interval")[0].astype("float64")
    together = at_once | (level > 95.0)
    shown["name"] += np.where(together, AT_LEAST, np.where(shown["name"].isin(AT_LEAST_SINCE), CAREFUL, ""))
    apart = np.where(at_once, shown["arm"], np.arange(len(shown)))
    each = inside.astype(float).groupby([shown["name"], apart]).min()
    return {str(name): float(value) for name, value in each.groupby(level=0).mean().items()}


# ---------------------------------------------------------------- rates


def _verdict_checks(cell: Cell, said: pd.DataFrame) -> Iterator[Check]:
    """Rates over all studies: a question that a run did not answer was not answered wrongly."""
    for column in said:
        kind, name = str(column).split("|", 1)
        values = said[column].fillna(0.0) if kind != "held" else said[column].dropna()
        quantity, accepted = _PROMISES[kind]
        if kind == "false equivalent" and cell.plant != "twice":
            continue
        method = {"effect": f"“effect”: {name}", "equivalent": f"“equivalent”: {name}", "held": f"advice: {name}"}.get(
            kind, name
        )
        yield _rate(cell, quantity, method, values.to_numpy(), accepted)


_PROMISES: dict[str, tuple[Quantity, tuple[float, float] | None]] = {
    "false effect": ("false effect", AT_MOST),
    "false equivalent": ("false equivalent", AT_MOST),
    "effect": ("power", None),
    "equivalent": ("power", None),
    "held": ("coverage", (COVERAGE_RANGE[0], 1.0)),
}


def _coverage_checks(cell: Cell, held: pd.DataFrame) -> Iterator[Check]:
    for column in held:
        values = held[column].dropna().to_numpy()
        wide = cell.family == "constant" or loose(str(column))
        accepted = (COVERAGE_RANGE[0], 1.0) if wide else COVERAGE_RANGE
        yield _rate(cell, "coverage", str(column), values, accepted)


def _rate(
    cell: Cell, quantity: Quantity, method: str, values: np.ndarray, accepted: tuple[float, float] | None
) -> Check:
    n = len(values)
    value = float(values.mean())
    se = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return Check(
        quantity,
        method,
        cell.judge,
        "runs",
        cell.items,
        FAMILIES[cell.family].options,
        0.0,
        n,
        value,
        se,
        accepted,
        standing(value, se, n, accepted),
        cell.design,
    )
