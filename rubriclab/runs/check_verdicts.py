"""What a run says, held against the truth: false “effect”, false “equivalent”, coverage.

Judges of families that the lab does not fit (:mod:`rubriclab.judges.families`) are judged study
after study; all advice of a study and every interval it shows are compared with what is true.
What is true is said in :mod:`rubriclab.runs.check_truth`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

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
from rubriclab.findings.plain import plain
from rubriclab.findings.topic import Advice
from rubriclab.judges.families import FAMILIES
from rubriclab.model import LabError
from rubriclab.runs.check_rates import About
from rubriclab.runs.check_truth import KEY, PLANTS, Cell, Truth, question_of, truth_of, with_learnt
from rubriclab.runs.foreign import DESIGNS

NEARLY_NOTHING = 0.1
"""A true value below this part of the smallest effect of interest counts as none."""
OTHERWISE = "any advice of a run, on what is not moved or in the wrong direction"
AT_MOST = (0.0, 0.05)
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
TAUGHT = ("corrected", "control", "constant")
NO_ESTIMATE = ("alignment: budget.mean_r", *(f"replacement: {way}.advantage" for way in TAUGHT))
"""Ranges over choices of these items' reads, and what half of a study taught: true of these alone."""
Progress = Callable[[int, int], None]


def kept_pulls(
    settings: Sequence[Mapping[str, Any]],
    work: Callable[..., tuple[Check, ...]],
    *,
    studies: int,
    seed: int,
    kept: Path | None = None,
) -> list[Callable[[], tuple[Check, ...]]]:
    """What gives the checks of each setting of “What pulls?”: ``kept`` where that holds them, else ``work``.

    ``work`` takes a setting's parts, ``studies`` and ``seed``; what it gives is written to ``kept``, so that a check
    that was stopped goes on where it was. Raises LabError where that is no file of finished settings.
    """
    size = {"studies": studies, "seed": seed}
    known = list(_rows(kept)) if kept is not None and kept.exists() else []

    def given(about: Mapping[str, Any], setting: Mapping[str, Any]) -> tuple[Check, ...]:
        for row, checks in known:
            if row == about:
                return checks
        checks = work(**setting, **size)
        if kept is not None:
            _keep(kept, about, checks)
        return checks

    return [partial(given, {"pulls": dict(setting), **size}, setting) for setting in settings]


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
                _keep(kept, {**asdict(cell), "studies": studies, "seed": seed}, known[cell])
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
    return tuple(together([check for _, check in of_seed.values()]) for of_seed in found.values())


def _promised(check: Check) -> Check:
    """A check under today's promise of its interval, whatever the file was made under."""
    suffix = AT_LEAST if check.method in AT_ONCE else CAREFUL if check.method in AT_LEAST_SINCE else ""
    if check.quantity != "coverage" or not suffix:
        return replace(check, standing=standing(check.value, check.se, check.studies, check.accepted))
    accepted = (COVERAGE_RANGE[0], 1.0)
    now = standing(check.value, check.se, check.studies, accepted)
    return replace(check, method=check.method + suffix, accepted=accepted, standing=now)


def together(checks: Sequence[Check]) -> Check:
    """One property of one setting from studies of several seeds, at least one check."""
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


def _keep(file: Path, about: Mapping[str, Any], checks: Sequence[Check]) -> None:
    line = {**about, "checks": [plain(check) for check in checks]}
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def _lines(file: Path) -> Iterator[tuple[Cell, tuple[int, int], tuple[Check, ...]]]:
    """(setting, studies and seed, checks) of every line about whole runs."""
    for row, checks in _rows(file):
        if "pulls" not in row:
            cell = Cell(row["family"], row["design"], row["items"], row["plant"])
            yield cell, (row["studies"], row["seed"]), checks


def _rows(file: Path) -> Iterator[tuple[dict[str, Any], tuple[Check, ...]]]:
    """(what it is about, checks) of every line. Raises LabError for a line that is no finished setting."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            wanted = ("pulls",) if "pulls" in row else ("family", "design", "items", "plant")
            checks = tuple(check_of(check) for check in row["checks"])
            about = {name: row[name] for name in (*wanted, "studies", "seed")}
        except (ValueError, KeyError, TypeError) as fault:
            raise LabError(
                f"Line {number} of {file} is no finished setting of a method check: remove it, or name another file."
            ) from fault
        yield about, checks


# ---------------------------------------------------------------- one setting


def checks_of(cell: Cell, *, studies: int, seed: int = 0, coverage: bool = True) -> tuple[Check, ...]:
    """What ``studies`` runs of one setting say, against what is true."""
    # Where nothing is planted, what is true of advice is known without a long run.
    known = coverage or cell.plant != "nothing"
    truth = truth_of(cell.family, cell.design, cell.plant) if known else Truth({}, pd.DataFrame())
    said, held = [], []
    for number in range(studies):
        # No two settings share a study: their errors are independent.
        findings = cell.run(_seed(cell, seed, number))
        mine = with_learnt(cell, findings, truth) if known else truth
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


def _said(cell: Cell, advice: Sequence[Advice], truth: Truth) -> dict[str, float]:
    """Per question 1 or 0 for each verdict and each wrong one; ``ANY_ADVICE`` over all of the run."""
    some = OTHERWISE if cell.plant == "twice" else ANY_ADVICE
    row: dict[str, float] = {f"false effect|{some}": 0.0, f"false equivalent|{ANY_ADVICE}": 0.0}
    for answer in advice:
        name, effect = question_of(answer), answer.effect
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
    known = np.isfinite(shown["low"]) & np.isfinite(shown["high"]) & ~name.isin(NO_ESTIMATE)
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
    about = About(cell.judge, "runs", cell.items, FAMILIES[cell.family].options, 0.0)
    return about.check(quantity, method, value, se, n, accepted, design=cell.design)
