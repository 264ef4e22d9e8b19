"""Do the lab's own methods hold what they promise? Judges with known effects answer that.

Two ways lead here. *Pipeline*: a study is planned, a simulated judge answers every call, its
replies are parsed and the findings worked out, exactly as for a real judge (only the store is
left out). *Arrays*: judges of :mod:`rubriclab.stats.nulls`, whole batches of studies at once,
through the same statistics. Every number is a Monte Carlo estimate and carries its error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.findings.check import (
    CHOICE_TEST,
    DEFINITION,
    LAB_TEST,
    ORDER_TEST,
    PAPERS_TEST,
    Check,
    CheckResult,
    Planted,
    rate_error,
)
from rubriclab.findings.choice import ChoiceModel, choice
from rubriclab.findings.position import position
from rubriclab.findings.position_results import PositionArm
from rubriclab.judges.choice_model import true_probabilities, utilities
from rubriclab.judges.effects import read_effects
from rubriclab.model import LabError
from rubriclab.model.language import tr
from rubriclab.runs.check_arrays import array_checks
from rubriclab.runs.check_pulls import pulls_checks, pulls_settings
from rubriclab.runs.check_rates import About, holds, rejects, summary
from rubriclab.runs.check_verdicts import kept_pulls
from rubriclab.runs.simulated import run_simulated, simulated_study
from rubriclab.stats import position as stat
from rubriclab.stats.inference import Floats
from rubriclab.stats.nulls import NULL_JUDGES, NullJudge
from rubriclab.study.plan import plan

Progress = Callable[[int, int], None]

TRUTH_ITEMS = 8_000


def check_methods(
    *,
    studies: int = 100,
    items: int = 60,
    options: int = 5,
    planted: Planted | None = None,
    array_studies: int = 1_000,
    judges: tuple[NullJudge, ...] = NULL_JUDGES,
    pulls_runs: int = 0,
    pulls_whole: bool = False,
    pulls_kept: Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> CheckResult:
    """Measure type-I error, power, coverage and recovery at one size of study.

    ``studies`` go through the pipeline once with and once without the planted effects;
    ``array_studies`` for each of ``judges`` go through the statistics as arrays (0: none).
    ``pulls_runs`` studies of “What pulls?” a setting (0: none; ``pulls_whole``: all its settings; ``pulls_kept``: a
    file of finished settings, see ``check_verdicts``, whose settings are not worked out again).
    ``progress(done, total)`` is called after every study. Raises LabError for sizes that
    cannot be judged.
    """
    planted = planted or Planted()
    _check_sizes(studies, items, options, planted)
    parts = _array_parts(judges, planted, studies=array_studies, items=items, options=options, seed=seed)
    settings = pulls_settings(whole=pulls_whole) if pulls_runs else []
    parts += kept_pulls(settings, pulls_checks, studies=pulls_runs, seed=seed, kept=pulls_kept)
    step = _counted(2 * studies + len(parts), progress)
    checks: list[Check] = []
    for effects in (planted.without_effects(), planted):
        checks += pipeline_checks(effects, studies=studies, items=items, options=options, seed=seed, step=step)
    for part in parts:
        checks += part()
        step()
    warnings = warnings_of(studies, items, options, planted)
    return CheckResult(tuple(checks), planted, items, options, studies, array_studies, seed, DEFINITION, warnings)


def _array_parts(
    judges: tuple[NullJudge, ...], planted: Planted, *, studies: int, items: int, options: int, seed: int
) -> list[Callable[[], tuple[Check, ...]]]:
    """What is worked out on arrays, a part a judge and an effect; none without studies."""
    batches = _batches(judges, planted) if studies else ()
    arrays = partial(array_checks, studies=studies, unread=planted.unread, items=items, options=options, seed=seed)
    return [partial(arrays, kind, first=first) for kind, first in batches]


def _counted(total: int, progress: Progress | None) -> Callable[[], None]:
    """What tells ``progress`` of one study more each time it is called."""
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return step


def _batches(judges: tuple[NullJudge, ...], planted: Planted) -> list[tuple[NullJudge, float]]:
    """(judge, log-odds planted at position 1) of every batch of studies as arrays."""
    return [
        (kind, first)
        for kind in judges
        for first in (0.0, planted.first or 0.5)
        if not (kind == "constant" and first)  # it would not move for less
    ]


class Checking:
    """A check that goes on in a thread of its own; all methods may be called from any thread.

    ``error`` holds what stopped it, in words, ``result`` what it found; None until then.
    """

    def __init__(self, **options: Any) -> None:
        self.result: CheckResult | None = None
        self.error: str | None = None
        self.progress = (0, 1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, kwargs=options, name="method check", daemon=True)

    def start(self) -> Checking:
        self._thread.start()
        return self

    @property
    def active(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Leave off after the study at hand."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> None:
        self._thread.join(timeout)

    def _work(self, **options: Any) -> None:
        try:
            self.result = check_methods(**options, progress=self._step)
        except LabError as fault:
            self.error = str(fault)
        except Exception as fault:  # a bug of ours must end as words on the page, not in a log
            self.error = f"The lab failed: {type(fault).__name__}: {fault}"

    def _step(self, done: int, total: int) -> None:
        self.progress = (done, total)
        if self._stop.is_set():
            raise LabError(f"Stopped by you after {done} of {total} steps.")


def _check_sizes(studies: int, items: int, options: int, planted: Planted) -> None:
    if studies < 2 or items < 4:
        raise LabError(f"{studies} studies of {items} items are too few: at least 2 of 4 items.")
    if not 2 <= options <= 10:
        raise LabError(f"A rubric has 2 to 10 score options, not {options}.")
    if not 0 <= planted.unread <= 0.9:
        raise LabError(f"The share of unreadable replies is {planted.unread}; use 0 to 0.9.")


def warnings_of(studies: int, items: int, options: int, planted: Planted) -> tuple[str, ...]:
    """What to bear in mind of a check of that size, in words."""
    warnings = []
    if studies < 400:
        warnings.append(
            tr(
                "{studies} studies through the pipeline place a rate of {rate:.2f} to within ±{error:.3f} only; "
                "take more to judge a method by them.",
                studies=studies,
                rate=0.05,
                error=1.96 * rate_error(0.05, studies),
            )
        )
    if items < stat.UNITS_PER_OPTION * options:
        warnings.append(
            tr("Below {items} items the lab tests by sign flips, not by T².", items=stat.UNITS_PER_OPTION * options)
        )
    if planted.item_sd:
        warnings.append(
            tr(
                "Items have leanings of their own: order sensitivity then rightly rejects, and odds "
                "averaged over unlike items lie nearer to 1 than the ones planted."
            )
        )
    return tuple(warnings)


# ---------------------------------------------------------------- through the real pipeline


def pipeline_checks(
    planted: Planted, *, studies: int, items: int, options: int, seed: int, step: Callable[[], None] | None = None
) -> tuple[Check, ...]:
    """What ``studies`` runs of one simulated judge say, against what was planted."""
    truth = _true_shares(planted, options, seed)
    outcomes = []
    for number in range(studies):
        data = run_simulated(simulated_study(planted, items=items, options=options, number=number, seed=seed))
        arm, model = position(data, seed=seed).arms[0], choice(data, seed=seed).arms[0]
        outcomes.append(_outcome(arm, model, planted, truth))
        if step is not None:
            step()
    about = About(_judge_name(planted), "pipeline", items, options, planted.unread)
    null = planted == planted.without_effects()
    return tuple(summary(about, pd.DataFrame(outcomes), null=null, leaning=planted.item_sd > 0))


def _judge_name(planted: Planted) -> str:
    named = {"first": "first", "last": "last", "label": "label 1", "neighbour": "after the highest"}
    parts = [f"{text} {getattr(planted, f):+g}" for f, text in named.items() if getattr(planted, f)]
    lean = f"items lean ±{planted.item_sd:g}" if planted.item_sd else ""
    return ", ".join([*parts, lean] if lean else parts) or "no effect"


def _true_shares(planted: Planted, n: int, seed: int) -> Floats:
    """Selected shares by position in the long run: exact chances, averaged over many items."""
    study = simulated_study(planted, items=2, options=n, seed=seed)
    orders = {call.ordering.shown for call in plan(study).calls()}
    effects, rng = read_effects(planted.options(n, seed)), np.random.default_rng(seed)
    size = TRUTH_ITEMS if planted.item_sd or planted.label else TRUTH_ITEMS // 8
    quality = (np.arange(size) + 0.5) / size
    leaning = rng.normal(0.0, planted.item_sd, (size, n)) if planted.item_sd else None
    names = np.array([str(s) for s in range(1, n + 1)])
    total = np.zeros(n)
    for order in orders:
        labels = rng.permuted(np.tile(names, (size, 1)), axis=1) if planted.label else None
        log_odds = utilities(
            effects,
            shown=np.tile(np.array(order, dtype=float), (size, 1)),
            scores=range(1, n + 1),
            quality=quality,
            labels=None if labels is None else labels.tolist(),
            leaning=leaning,
        )
        total += true_probabilities(log_odds).mean(axis=0)
    return np.asarray(total / len(orders))


def _outcome(arm: PositionArm, model: ChoiceModel, planted: Planted, truth: Floats) -> dict[str, float]:
    """One study's answers: rejections as 0 or 1, shares of intervals that hold, estimates."""
    where, n = arm.position, len(truth)
    shares = np.array(where.share_ci)
    v, v_ci = float(stat.cramers_v(truth)), where.v_ci
    row = {
        f"reject|{LAB_TEST}": rejects(where.test.p),
        f"reject|{PAPERS_TEST}": rejects(where.chi2_p),
        f"reject|{ORDER_TEST}": rejects(where.any_order.p),
        "cover|share of a position": holds(shares, truth),
        "cover|Cramér's V": float(v_ci.low - 1e-9 <= v <= v_ci.high + 1e-9),
    }
    if model.position_test is not None:
        row[f"reject|{CHOICE_TEST}"] = rejects(model.position_test.p)
    for name, levels, true in _planted_levels(model, planted, n):
        estimates = np.array([level.log_odds for level in levels])
        row[f"cover|log-odds of {name}"] = holds(np.array([lv.ci for lv in levels]), true)
        at = int(np.argmax(np.abs(true)))
        row[f"bias|log-odds of {name}"] = float(estimates[at] - true[at])
    return row


def _planted_levels(model: ChoiceModel, planted: Planted, n: int) -> Iterable[tuple[str, tuple[Any, ...], Floats]]:
    """(effect, its fitted levels, its planted log-odds against their mean)."""
    places = np.zeros(n)
    places[0] += planted.first
    places[-1] += planted.last
    if planted.neighbour and model.neighbour:
        # The neighbour's effect is told against the average one; the first place has none.
        places[0] -= planted.neighbour / n
    if model.position:
        yield "position", model.position, places - places.mean()
    if planted.label and model.label:
        label = np.array([planted.label * (level.name == "1") for level in model.label])
        yield "label", model.label, label - label.mean()
    if planted.neighbour and model.neighbour:
        after = np.array([planted.neighbour * (level.name == str(n)) for level in model.neighbour])
        yield "neighbour", model.neighbour, after - after.mean()
