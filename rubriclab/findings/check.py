"""What a check of the lab's own methods found: checks, where they should lie, and in words.

The simulation itself is :mod:`rubriclab.runs.check`; nothing here asks a judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

import numpy as np

from rubriclab.findings.check_results import (
    ALL_JUDGES,
    ANY_ADVICE,
    ANY_CHANGE,
    ANY_OF,
    AT_LEAST,
    AT_LEAST_SINCE,
    CAREFUL,
    CHOICE_TEST,
    COVERAGE_RANGE,
    DEFINITION,
    LAB_TEST,
    LEVEL_RANGE,
    ONE_READ,
    ORDER_TEST,
    PAPERS_TEST,
    Check,
    CheckResult,
    Planted,
    Quantity,
    Standing,
    Way,
    called,
    check_of,
    loose,
)
from rubriclab.model.language import Counted, figure, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats import distributions

_TWO_ERRORS = 0.0228
"""The chance of lying two errors or more to one side."""

__all__ = [
    "ALL_JUDGES",
    "ANY_ADVICE",
    "ANY_CHANGE",
    "ANY_OF",
    "AT_LEAST",
    "AT_LEAST_SINCE",
    "CAREFUL",
    "CHOICE_TEST",
    "COVERAGE_RANGE",
    "DEFINITION",
    "LAB_TEST",
    "LEVEL_RANGE",
    "ONE_READ",
    "ORDER_TEST",
    "PAPERS_TEST",
    "Check",
    "CheckResult",
    "Planted",
    "Quantity",
    "Standing",
    "Way",
    "as_text",
    "called",
    "check_of",
    "in_words",
    "loose",
    "mean_rate",
    "pulls_words",
    "rate_error",
    "standing",
    "verdict_words",
]


def in_words(checks: Sequence[Check]) -> tuple[str, ...]:
    """What the checks say, for somebody who has not met these terms; whole runs come first."""
    verdicts = (*verdict_words(checks), *pulls_words(checks))
    tests = [c for c in checks if c.way not in ("runs", "what pulls")]
    return (*verdicts, *_method_words(tests)) if tests or not verdicts else verdicts


def verdict_words(checks: Sequence[Check]) -> tuple[str, ...]:
    """How often whole runs said what is not true; nothing without checks of whole runs."""
    of_runs = [c for c in checks if c.way == "runs"]
    sentences = []
    for quantity, judge, verdict in (
        ("false effect", tr("a judge that the order does not shift"), tr("effect")),
        ("false equivalent", tr("a judge shifted by twice the smallest effect of interest"), tr("equivalent")),
    ):
        rates = [c for c in of_runs if c.quantity == quantity and c.method == ANY_ADVICE]
        if rates:
            over = sum(c.standing == "misses" for c in rates)
            unsure = sum(c.standing == "cannot say" for c in rates)
            studies = sum(c.studies for c in rates)
            sentences.append(
                tr(
                    "Of {judge} some advice said “{verdict}” in {share:.1%} of {studies:,} runs ({settings} "
                    "settings, the worst {worst:.1%}; promised: at most 5 %; clearly over it: {over}, over it by "
                    "less than two errors: {unsure}). {by_size}",
                    judge=judge,
                    verdict=verdict,
                    share=mean_rate(rates),
                    studies=studies,
                    settings=len(rates),
                    worst=max(c.value for c in rates),
                    over=over,
                    unsure=unsure,
                    by_size=_by_size(rates),
                )
            )
    return (*sentences, *_coverage_words(of_runs))


def pulls_words(checks: Sequence[Check]) -> tuple[str, ...]:
    """How often “What pulls?” accused a change that does nothing, and found what was planted."""
    mine = [c for c in checks if c.way == "what pulls"]
    false = [c for c in mine if c.quantity == "false effect"]
    if not false:
        return ()
    still = [c for c in false if c.judge.endswith("nothing pulls")]
    over = sum(c.standing == "misses" for c in false)
    said = [
        tr(
            "“What pulls?” called some change that does nothing an effect in {share:.1%} of {runs} "
            "{what} ({settings}, the worst {worst:.1%})",
            share=mean_rate(of),
            runs=_runs(of),
            what=what,
            settings=many(len(of), "setting"),
            worst=max(c.value for c in of),
        )
        for of, what in (
            (still, tr("of judges that nothing pulls")),
            ([c for c in false if c not in still], tr("with a pull")),
        )
        if of
    ]
    promise = tr("{said}; promised: at most 5 % each, clearly over it: {over}.", said="; ".join(said), over=over)
    return (promise, *_pulls_found([c for c in mine if c.quantity == "power" and c.design == ONE_READ]))


def _pulls_found(power: Sequence[Check]) -> Iterator[str]:
    """A sentence a size: what was planted and how often it was found; of several changes, how often any was."""
    for items in sorted({c.n_items for c in power}):
        by_plant: dict[str, dict[str, list[Check]]] = {}
        for c in (c for c in power if c.n_items == items):
            plant, size = c.judge.split(", ")[1].removesuffix(" points").split(" pulls ")
            several = any(o.judge == c.judge and o.n_items == items and ANY_OF in o.method for o in power)
            if not several or ANY_OF in c.method:
                by_plant.setdefault(plant, {}).setdefault(size, []).append(c)
        parts = (
            tr("{plant} of {sizes}", plant=called(plant), sizes=_sizes(sizes)) for plant, sizes in by_plant.items()
        )
        yield tr(
            "With {items} items “What pulls?” found a planted pull of {parts}.",
            items=items,
            parts=tr("; of ").join(parts),
        )


def _sizes(sizes: Mapping[str, Sequence[Check]]) -> str:
    """How often a pull was found, by its size in points."""
    return ", ".join(
        tr("{size:g} points in {share:.0%} of {runs}", size=float(size), share=mean_rate(of), runs=_runs(of))
        for size, of in sizes.items()
    )


def _runs(checks: Sequence[Check]) -> Counted:
    return many(sum(c.studies for c in checks), "run")


def _by_size(rates: Sequence[Check]) -> str:
    """The rate at each size of run; sizes that were not tried are not named."""
    parts = []
    for items in sorted({c.n_items for c in rates}):
        mine = [c for c in rates if c.n_items == items]
        parts.append(
            tr(
                "{share:.1%} of {runs:,} runs of {items} items",
                share=mean_rate(mine),
                runs=sum(c.studies for c in mine),
                items=items,
            )
        )
    return tr("By size: {parts}.", parts=", ".join(parts))


def _coverage_words(of_runs: Sequence[Check]) -> Iterator[str]:
    """How often intervals held, over all families and where one family alone misses."""
    whole = [c for c in of_runs if c.quantity == "coverage" and c.judge == ALL_JUDGES]
    single = [c for c in of_runs if c.quantity == "coverage" and c.judge != ALL_JUDGES and c.standing == "misses"]
    for items in sorted({c.n_items for c in whole}):
        mine = [c for c in whole if c.n_items == items]
        held = sum(c.standing in ("holds", "cannot say") for c in mine)
        seldom = sum(c.standing == "misses" and c.value < COVERAGE_RANGE[0] for c in mine)
        yield tr(
            "{items} items: of {kinds} kinds of interval, each over all families in {fewest:,} to {most:,} "
            "studies, {held} held the long-run value as often as promised within two errors, {seldom} "
            "clearly too seldom, {often} clearly too often.",
            items=items,
            kinds=len(mine),
            fewest=min(c.studies for c in mine),
            most=max(c.studies for c in mine),
            held=held,
            seldom=seldom,
            often=len(mine) - held - seldom,
        )
    if single:
        seldom = sum(c.value < COVERAGE_RANGE[0] for c in single)
        yield tr(
            "In single settings (a family, a design, a size) {seldom} kinds of interval held the long-run "
            "value clearly too seldom, {often} clearly too often.",
            seldom=seldom,
            often=len(single) - seldom,
        )


def mean_rate(checks: Sequence[Check]) -> float:
    """The rate over all studies of several checks."""
    studies = np.array([c.studies for c in checks], dtype=np.float64)
    return float(np.average([c.value for c in checks], weights=studies))


def _method_words(checks: Sequence[Check]) -> tuple[str, ...]:
    intervals = [c for c in checks if c.quantity == "coverage" and c.judge != "constant"]
    covered = (
        [tr("95 % intervals held the true value in {between} of studies.", between=_between(intervals))]
        if intervals
        else []
    )
    promised = [c for c in checks if c.accepted is not None]
    misses = sum(c.standing == "misses" for c in promised)
    unsure = sum(c.standing == "cannot say" for c in promised)
    ending = tr(
        "{held} of {promised} promises hold; missed: {misses}; outside by less than two Monte Carlo errors: {unsure}.",
        held=len(promised) - misses - unsure,
        promised=len(promised),
        misses=misses,
        unsure=unsure,
    )
    return (*_rejected(checks), *covered, *_recovered(checks), ending)


def _rejected(checks: Sequence[Check]) -> list[str]:
    """How often the tests reject where nothing is planted."""
    sentences = []
    tests = [c for c in checks if c.quantity == "type-I error"]
    lab = [c for c in tests if c.method == LAB_TEST and c.judge != "constant"]
    papers = [c for c in tests if c.method == PAPERS_TEST]
    if lab and papers:
        never = all(c.value == 0 for c in tests if c.method == LAB_TEST and c.judge == "constant")
        sentences.append(
            tr(
                "Where nothing is planted, the lab's test cries wolf in {lab} of studies (it should in 5 %{never}); "
                "the papers' chi² in {papers}.",
                lab=_between(lab),
                never=tr("; at a constant judge it never does") if never else "",
                papers=_between(papers),
            )
        )
        eager = max(papers, key=lambda c: c.value)
        if eager.value > LEVEL_RANGE[1]:
            sentences.append(
                tr(
                    "The chi² is too eager for “{judge}” ({rate:.0%}): it takes the reads of one item for so many "
                    "independent facts.",
                    judge=called(eager.judge),
                    rate=eager.value,
                )
            )
        # Few studies can be at 0 by chance: only what lies clearly below 5 % is called so.
        timid = [c for c in papers if c.judge != "constant" and c.value + 2.0 * rate_error(0.05, c.studies) < 0.05]
        if timid:
            names = ", ".join(dict.fromkeys(tr("“{name}”", name=called(c.judge)) for c in timid))
            sentences.append(
                tr(
                    "For {names} it rejects in {between} instead of the 5 % it claims: it gives away power to see an "
                    "effect.",
                    names=names,
                    between=_between(timid),
                )
            )
    return sentences


def _recovered(checks: Sequence[Check]) -> list[str]:
    """How near the estimates of planted effects came, on average."""
    recovered = [c for c in checks if c.quantity == "recovery" and c.judge != "no effect"]
    if not recovered:
        return []
    parts = [
        f"{called(c.method.removeprefix('log-odds of '))} {number(c.value, '+.3f')} ± {number(c.se, '.3f')}"
        for c in recovered
    ]
    return [tr("Estimated less planted log-odds, on average: ") + ", ".join(parts) + "."]


def as_text(result: CheckResult) -> str:
    """All checks as lines of text, the words first."""
    lines = [*in_words(result.checks), *result.warnings, ""]
    last = ""
    # Of the many intervals of whole runs only those that miss are worth a line.
    lines_of = [
        c for c in result.checks if not (c.way == "runs" and c.quantity == "coverage" and c.standing != "misses")
    ]
    for check in sorted(lines_of, key=lambda c: list(get_args(Quantity)).index(c.quantity)):
        if check.quantity != last:
            lines += ["", check.quantity]
            last = check.quantity
        wanted = "" if check.accepted is None else " [{:.3f} to {:.3f}]".format(*check.accepted)
        lines.append(
            f"  {check.value:7.3f} ± {check.se:.3f}{wanted}  {check.method}; {check.judge} "
            f"({', '.join(_setting(check))}): {check.standing}"
        )
    return "\n".join(lines)


def _setting(check: Check) -> Iterator[str]:
    if check.design:
        yield check.design
    yield f"{check.n_items} items" if check.way in ("runs", "what pulls") else check.way
    yield f"{many(check.studies, 'study')}"


def _between(checks: Sequence[Check]) -> str:
    low, high = min(c.value for c in checks), max(c.value for c in checks)
    return figure(low, ".1%") if f"{low:.1%}" == f"{high:.1%}" else interval((low, high), ".1%")


def standing(value: float, se: float, n: int, accepted: tuple[float, float] | None, *, rate: bool = True) -> Standing:
    """Where ``value`` lies against ``accepted``. ``rate``: it is a share of ``n`` studies.

    What is no rate has its error in its range already: outside is a miss.
    """
    if accepted is None:
        return "not promised"
    low, high = accepted
    if low <= value <= high:
        return "holds"
    if not rate:
        return "misses"
    edge = low if value < low else high
    # A rate of 0 in few studies has no spread of its own: the edge's is the least there is.
    error = max(se if np.isfinite(se) else 0.0, rate_error(edge, n))
    # Of few studies two errors are no measure of chance: how rare so few (so many) of them are is counted.
    met = round(value * n)
    chance = distributions.binom.cdf(met, n, edge) if value < edge else distributions.binom.sf(met - 1, n, edge)
    return "cannot say" if abs(value - edge) < 2.0 * error or chance > _TWO_ERRORS else "misses"


def rate_error(rate: float, n: int) -> float:
    """The Monte Carlo standard error of a rate over ``n`` independent studies."""
    return float(np.sqrt(rate * (1.0 - rate) / max(n, 1)))
