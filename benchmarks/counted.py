"""Read what the method check has counted: shares, their errors, and what is false too often."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("method-check.jsonl")
PORTION, FULL = 20, 1_000
DEALS = 199
RULES = 2
"""Of the verdicts that are checked; 2: criteria that do not cancel, replies lost by the place of
their answer, orders that were asked twice and read once, scales of two scores, single scores in
Compare. Cells of earlier rules stand until they are forgotten, and the document names them.
"""


@dataclass(eq=False)
class Counted:
    """``portions``: numbers of those run; ``sums``: of each event (sum, studies in which it was
    defined, sum of widths); ``rules``: the verdicts' when it was counted.
    """

    portions: list[int] = field(default_factory=list)
    seconds: float = 0.0
    sums: dict[str, list[float]] = field(default_factory=dict)
    rules: int = RULES

    @property
    def studies(self) -> int:
        return PORTION * len(self.portions)

    def add(self, other: Counted) -> None:
        self.portions = sorted([*self.portions, *other.portions])
        self.seconds += other.seconds
        for key, values in other.sums.items():
            own = self.sums.setdefault(key, [0.0] * len(values))
            self.sums[key] = [round(a + b, 6) for a, b in zip(own, values, strict=True)]

    def rate(self, key: str) -> float:
        total, studies = self.sums[key][:2]
        return total / studies

    def error(self, key: str, share: float | None = None) -> float:
        """The standard error of a share: of the one seen, or of ``share`` were it true."""
        p = self.rate(key) if share is None else share
        return math.sqrt(p * (1 - p) / self.sums[key][1])


Results = dict[tuple[str, int], Counted]
"""By the cell's name and 0 of the first 1,000 studies, 1 of the new ones."""


def load(path: Path = RESULTS) -> Results:
    """A line that a kill cut off is left out: its studies are run again. Of two rules the later
    one's studies count.
    """
    made: Results = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        part = Counted(
            [k for a, b in record["portions"] for k in range(a, b)],
            record["seconds"],
            record["sums"],
            record.get("rules", 1),
        )
        key = record["cell"], part.portions[0] * PORTION // FULL
        known = made.get(key)
        if known is None or part.rules > known.rules:
            made[key] = part
        elif part.rules == known.rules and not {*known.portions} & {*part.portions}:
            known.add(part)
    return made


def record_of(name: str, counted: Counted) -> str:
    ranges: list[list[int]] = []
    for k in counted.portions:
        if ranges and ranges[-1][1] == k:
            ranges[-1][1] = k + 1
        else:
            ranges.append([k, k + 1])
    sums = {
        key: [int(v) if v == int(v) else round(v, 3) for v in values]
        for key, values in counted.sums.items()
    }
    made = {
        "cell": name,
        "rules": counted.rules,
        "portions": ranges,
        "seconds": round(counted.seconds, 1),
        "sums": sums,
    }
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False) + "\n"


def save(results: Results, path: Path = RESULTS) -> None:
    """One line for each cell's first and new studies, in one step."""
    beside = path.with_suffix(".new")
    beside.write_text(
        "".join(record_of(name, results[name, new]) for name, new in sorted(results)), "utf-8"
    )
    beside.replace(path)


def alarms(counted: Counted | None) -> list[str]:
    """Events said untruly in more than .05 + 2 standard errors of the studies."""
    sums = counted.sums if counted else {}
    return [
        key
        for key in sums
        if counted
        and key.split()[0] in ("false", "equal")
        and counted.rate(key) > 0.05 + 2 * counted.error(key, 0.05)
    ]


def misses(counted: Counted | None) -> list[str]:
    """Intervals that hold in less than .92 by more than 2 standard errors."""
    sums = counted.sums if counted else {}
    return [
        key
        for key in sums
        if counted
        and key.startswith("holds")
        and counted.rate(key) < 0.92 - 2 * counted.error(key, 0.92)
    ]
