"""Put ranks of single orders, and directions on several data sets, in a few lines and a sentence.

As lists of single numbers they are 20 to 40 lines long, and nobody finds the answer in them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rubriclab.core.topic import Findings, Row
from rubriclab.model.passing import PassRate
from rubriclab.model.text import count
from rubriclab.words.phrases import (
    in_order,
    inside,
    number,
    order_name,
    p_value,
    say,
    strategy_name,
)
from rubriclab.words.several import listed, one_a_judge, short

SURE = 0.05
COSTS = ("bias_cost",)
"""The table of sentences about the Bias Cost of orders."""
SAME_COST = 1e-6
"""Percentage points below which two Bias Costs are the same: they differ by rounding alone."""


# ---------------------------------------------------------------- single orders
@dataclass(frozen=True)
class OrderLine:
    """One order with r of its single calls and its rank among the orders of its table.

    order: as rows have it. r: NaN where it is unknown. interval: of r, for all orders of the
    strategy together; empty for an order whose r has none. rank: 1 is best; NaN where r is unknown.
    among: how many were ranked. rate: of two scores, which one passes.
    """

    strategy: str
    order: str
    r: float
    interval: str
    rank: float
    among: int
    rate: PassRate | None = None

    @property
    def name(self) -> str:
        """What a table calls the order."""
        return order_name(self.order, self.rate)

    @property
    def asked(self) -> str:
        """What a sentence says of it: “in order 5 4 3 2 1”."""
        return in_order(self.order, self.rate)


def order_lines(findings: Findings, codes: Sequence[int]) -> list[OrderLine]:
    """Return the orders of these conditions, the best first."""
    lines = []
    for code in codes:
        strategy = findings.conditions[code].strategy
        close = {row.of["order"]: row for row in findings.select("order_pearson", condition=code)}
        ranks = {row.of["order"]: row for row in findings.select("order_rank", condition=code)}
        for order in dict.fromkeys([*close, *ranks]):
            line = _order_line(strategy, str(order), close.get(order), ranks.get(order))
            lines.append(replace(line, rate=findings.pass_rate(code)))
    return sorted(lines, key=lambda line: (math.isnan(line.r), -line.r))


def _order_line(strategy: str, order: str, close: Row | None, rank: Row | None) -> OrderLine:
    among = 0 if rank is None else int(rank.counts["orders"])
    r = math.nan
    if close is not None:
        r = close.value
    elif rank is not None:
        # The only order of its strategy: its rank is among another's orders.
        r = float(rank.counts.get("r", math.nan))
    place = math.nan if rank is None else rank.value
    return OrderLine(strategy, order, r, "" if close is None else inside(close), place, among)


def order_sentence(lines: Sequence[OrderLine]) -> str:
    """Name the best and the worst order, and the rank of every order that stands alone."""
    known = [line for line in lines if math.isfinite(line.r)]
    if len(known) < 2:
        return ""
    best, worst = known[0], known[-1]
    said = (
        f"Agreement is highest {best.asked} (r {number(best.r)}), and lowest {worst.asked} "
        f"(r {number(worst.r)})."
    )
    by_strategy: dict[str, list[OrderLine]] = {}
    for line in known:
        by_strategy.setdefault(line.strategy, []).append(line)
    for strategy, own in by_strategy.items():
        if len(own) == 1 and own[0].among > 1:
            alone = own[0]
            which = strategy_name(strategy)
            said += (
                f" {which[:1].upper()}{which[1:]} ({alone.name}) has rank {alone.rank:.0f} of "
                f"{alone.among}."
            )
    return said


# ---------------------------------------------------------------- Bias Cost
def cost_rows(findings: Findings, condition: int) -> list[Row]:
    """Return the Bias Cost of the orders of a condition, the least first.

    Source: Xu et al. v1, Table 6.
    """
    rows = [
        row for row in findings.select("bias_cost", condition=condition) if math.isfinite(row.value)
    ]
    return sorted(rows, key=lambda row: row.value)


def cost_sentence(findings: Findings, condition: int) -> str:
    """Name the order with the least Bias Cost of all, asked or not; empty where that is unknown.

    Where no order costs less than another, that is said. Of two scores it is always so: of each
    score, one position is chosen as much too often as the other one too rarely.
    """
    rows = cost_rows(findings, condition)
    for least in findings.select("least_bias_cost", condition=condition):
        if not math.isfinite(least.value):
            continue
        every = math.factorial(findings.conditions[condition].positions)
        cost = number(least.value, ".1f")
        if len(rows) > 1 and all(abs(row.value - least.value) < SAME_COST for row in rows):
            key = "same_both" if every == 2 else "same"
            return say(key, COSTS, orders=count(len(rows), "order"), cost=cost)
        order = least.counts["order"]
        sentence = say("least", COSTS, every=f"{every:,}", order=order, cost=cost)
        if order in {row.of["order"] for row in rows}:
            return sentence
        return f"{sentence} {say('not_listed', COSTS)}"
    return ""


# ---------------------------------------------------------------- directions
@dataclass(frozen=True)
class DirectionLine:
    """One judge on several data sets.

    furthest: by data set, the position furthest above even. apart: by two data sets, how far apart
    the leans are, with its p. differs: whether any two surely differ.
    """

    judge: str
    furthest: dict[str, int] = field(default_factory=dict)
    apart: dict[str, str] = field(default_factory=dict)
    differs: bool = False
    tested: bool = False


def direction_lines(findings: Findings) -> list[DirectionLine]:
    """Return a line for each judge whose leans were compared between data sets."""
    furthest: dict[str, dict[str, int]] = {}
    for subject in one_a_judge(findings, "options"):
        about = findings.conditions[subject.condition]
        if subject.leans and all(map(math.isfinite, subject.leans)):
            top = max(range(len(subject.leans)), key=subject.leans.__getitem__)
            furthest.setdefault(about.judge, {})[about.dataset] = top + 1
    rows: dict[str, list[Row]] = {}
    for row in findings.select("direction_difference"):
        rows.setdefault(findings.conditions[row.condition].judge, []).append(row)
    lines = []
    for judge, own in rows.items():
        apart: dict[str, str] = {}
        tests = []
        for row in own:
            first = findings.conditions[row.condition]
            other = findings.conditions[int(row.of["against"])]
            p = row.counts.get("p_holm", row.p)
            name = f"{short(first.dataset, 20)} – {short(other.dataset, 20)}"
            # The first variant is the default form.
            if math.isfinite(p) and name not in apart:
                tests.append(p)
                apart[name] = f"{number(row.value, '.3f')}, {p_value(p)}"
        lines.append(
            DirectionLine(
                judge, furthest.get(judge, {}), apart, any(p < SURE for p in tests), bool(tests)
            )
        )
    return lines


def direction_sentence(lines: Sequence[DirectionLine]) -> str:
    """Say for how many judges the same position leads on all data sets, and whose leans differ."""
    several = [line for line in lines if len(line.furthest) > 1]
    said = ""
    if several:
        same = sum(len(set(line.furthest.values())) == 1 for line in several)
        said = (
            "The same position is furthest above even on all data sets: "
            f"{same} of {count(len(several), 'judge')}."
        )
    tested = [line for line in lines if line.tested]
    if not tested:
        return f"{said} No difference between data sets could be tested.".strip()
    differ = [short(line.judge) for line in tested if line.differs]
    said += f" The leans surely differ between two data sets for {len(differ)} of {len(tested)}"
    if differ:
        said += f" ({listed(differ)})"
    return f"{said}.".strip()


# ---------------------------------------------------------------- hardest comparisons
@dataclass(frozen=True)
class HardLine:
    """One comparison in one order on which judges part.

    shown: the candidates in the order in which they were shown. tally: how many calls chose each.
    differ: how many judges differ from the commonest choice, of how many.
    """

    item: str
    prompt: str
    shown: str
    tally: str
    differ: str


def hard_lines(findings: Findings, dataset: str) -> list[HardLine]:
    """Return the hardest comparisons of a data set, the hardest first."""
    rows = [
        row
        for row in findings.select("hardest")
        if findings.conditions[row.condition].dataset == dataset
    ]
    items = findings.judgments.table.items
    about = {
        str(item): (str(candidate or ""), str(prompt or ""))
        for item, candidate, prompt, own in zip(
            items["item_id"], items["candidate"], items["prompt"], items["dataset"], strict=True
        )
        if own == dataset
    }
    lines = []
    for row in rows:
        candidate, prompt = about.get(str(row.of["item"]), ("", ""))
        shown = _names_in_order(str(row.of["order"]), candidate.split("|"))
        tally = [f"{name} {won}" for name, won in zip(shown, row.counts["wins"], strict=True)]
        for name, times in (("tie", row.counts["ties"]), ("no winner", row.counts["unparsed"])):
            if times:
                tally.append(f"{name} {times}")
        lines.append(
            HardLine(
                str(row.of["item"]),
                prompt,
                ", then ".join(shown),
                " · ".join(tally),
                f"{row.value:g} of {row.counts['judges']:g}",
            )
        )
    return lines


def _names_in_order(order: str, candidates: Sequence[str]) -> list[str]:
    """Return the candidates as an order such as “2 1” shows them; their numbers if unknown."""
    numbers = order.split()
    if len(candidates) != len(numbers):
        return [f"answer {number_of}" for number_of in numbers]
    return [candidates[int(number_of) - 1] for number_of in numbers]


# ---------------------------------------------------------------- win rates
@dataclass(frozen=True)
class WinLine:
    """How often one candidate wins, as shares; ties and flips count as half.

    by_judge: NaN where a judge has no number. mean: over the judges. gap: how far the mean is from
    even, with its sign: the quality gap to the average candidate.
    """

    candidate: str
    mean: float
    gap: float
    by_judge: dict[str, float]


def win_lines(findings: Findings, dataset: str) -> list[WinLine]:
    """Return the win rates of the candidates of a data set, the best first."""
    rates: dict[str, dict[str, float]] = {}
    even = 0.5
    for row in findings.select("win_rate"):
        about = findings.conditions[row.condition]
        if about.dataset == dataset and math.isfinite(row.value):
            even = 1 / max(2, about.positions)
            rates.setdefault(str(row.of["candidate"]), {}).setdefault(about.judge, row.value)
    lines = []
    for candidate, own in rates.items():
        mean = sum(own.values()) / len(own)
        lines.append(WinLine(candidate, mean, mean - even, own))
    return sorted(lines, key=lambda line: -line.mean)
