"""Write ``docs/method-check.md`` and the summary on the page Learn from what was counted.

What misses comes first. No number in them is typed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, get_args

import rubriclab.measures  # noqa: F401 - registers what is measured
from benchmarks.counted import (
    DEALS,
    FULL,
    RESULTS,
    ROOT,
    RULES,
    Counted,
    Results,
    alarms,
    misses,
)
from rubriclab.core.ladder import LadderWord
from rubriclab.core.topic import MEASURES

DOCUMENT = ROOT / "docs" / "method-check.md"
SUMMARY = ROOT / "rubriclab" / "app" / "method_check.toml"
UNITS = (15, 30, 60, 100, 300)
ENOUGH = 100
"""Cells of fewer studies are shown, but not said to miss."""
HEAD = """# How the method was checked
Made by `python -m benchmarks method --write` from `benchmarks/{file}`; no number here is typed.
`python -m benchmarks method` runs more studies and goes on where it was stopped;
`benchmarks/cells.txt` lists the cells. Seeds are fixed: the same studies, the same counts.

{studies} studies of {cells} cells in {hours:.1f} hours of processes on a busy machine. A study
simulates a judge whose truth is known and which is none of the lab's own simulated ones
(`benchmarks/foreign.py`), asks the design, and reads what the lab says, with {deals} random deals
(the lab: 1,999). In brackets: studies. The standard error of a share p of n studies is sqrt(p (1 -
p) / n): of .05 .022 at 100, .013 at 300, .007 at 1,000. Units are what is independent: items,
prompts, questions, texts. Effects of judges are in log-odds, of traits in their standard deviation,
of criteria and answers in points; "options" are five unless named."""
NEVER = """- Judges that remember earlier calls, servers that cache replies, people who saw the
  judge's scores.
- Verdicts of more than 450 units, more than nine options, lists of other lengths than four, more
  than five forms of a prompt.
- Verdicts while a batch of a run still grows: the lab gives them when it is complete.
- Runs that may stop early with more than 300 units, with several variants, with units of very
  unequal size, or with replies lost by the order.
- Derived limits of other axes than options; drift between runs of lists, answers in one call and
  decision judges."""


class Line(NamedTuple):
    """The studies of one cell: the first 1,000, or the ``new`` ones."""

    part: str
    judge: str
    planted: str
    asked: str
    units: int
    new: int
    counted: Counted

    @property
    def about(self) -> str:
        return " · ".join(text for text in self[:4] if text)


NOTHING = Counted()


def lines_of(results: Results) -> list[Line]:
    made = []
    for (name, new), counted in results.items():
        *about, units = name.split(" | ")
        made.append(Line(*about, int(units), new, counted))
    return sorted(made, key=lambda line: (*line[:4], line.units, line.new))


def share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def shares(counted: Counted, keys: Sequence[str]) -> str:
    """“.043 / .051 (1,000)”: of the keys, and of how many studies."""
    return (
        f"{' / '.join(share(counted.rate(key)) for key in keys)} ({counted.sums[keys[0]][1]:,.0f})"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def by_units(lines: list[Line], keys: Callable[[Line], list[list[str]]], fewest: int = 0) -> str:
    """A row for each judge and group of events that has three cells, a column for each number of
    units; the first studies. Of fewer cells (but not fewer than ``fewest``) a line for each part.
    """
    rows: dict[tuple[Line, str], dict[int, str]] = defaultdict(dict)
    for line in lines:
        for group in keys(line) if not line.new else ():
            what = " / ".join(key.split(" ", 1)[1] for key in group)
            rows[line._replace(units=0, counted=NOTHING), what][line.units] = shares(
                line.counted, group
            )
    made, few = [], defaultdict(list)
    for (line, what), seen in rows.items():
        others = ", ".join(f"{units}: {text}" for units, text in seen.items() if units not in UNITS)
        if len(seen) > 2:
            made.append((line.about, what, *(seen.get(units, "") for units in UNITS), others))
        elif len(seen) >= fewest:
            text = ", ".join(f"{units} units {text}" for units, text in seen.items())
            few[f"{line.part}, {what}"].append(
                f"{', '.join(part for part in line[1:4] if part)}: {text}"
            )
    whole = table(("Judge, planted, asked", "Said", *(f"{n} units" for n in UNITS), "others"), made)
    return "\n".join(
        [whole, "", *(f"- {about}. {'; '.join(texts)}." for about, texts in few.items())]
    ).rstrip()


# ----------------------------------------------------------------------------------------- sections
def plainest(keys: Iterable[str]) -> list[str]:
    """Where nothing at all is planted "anything" says it; its parts are left out."""
    every = list(keys)
    whole = [key for key in every if key.startswith("false anything")]
    return whole + [
        key for key in every if key not in whole and not (whole and key.startswith("false "))
    ]


def missed(lines: list[Line]) -> str:
    new = {(line.about, line.units): line.counted for line in lines if line.new}
    rows = []
    for line in lines:
        again = new.get((line.about, line.units), Counted())
        for key in plainest([*alarms(line.counted), *misses(line.counted)]) if not line.new else ():
            if line.counted.sums[key][1] >= ENOUGH:
                still = (
                    "open"
                    if key not in again.sums
                    else "yes"
                    if key in alarms(again) + misses(again)
                    else "no"
                )
                repeated = shares(again, [key]) if key in again.sums else "–"
                rows.append(
                    (line.about, str(line.units), key, shares(line.counted, [key]), repeated, still)
                )
    return table(
        ("Judge, planted, asked", "Units", "What", "First studies", "New studies", "Misses"), rows
    )


def untrue(line: Line) -> list[list[str]]:
    keys = plainest(key for key in line.counted.sums if key.startswith("false "))
    return [keys] if keys else []


def pooled(lines: list[Line]) -> str:
    """Of all cells of a part in which nothing is planted."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0])
    for line in lines:
        for key in untrue(line)[:1] if line.planted.startswith("nothing") and not line.new else ():
            if key[0].startswith("false anything"):
                sums[line.part] = [
                    a + b for a, b in zip(sums[line.part], line.counted.sums[key[0]], strict=True)
                ]
    parts = (
        f"{part} {share(told / studies)} ({studies:,.0f})" for part, (told, studies) in sums.items()
    )
    return f"All cells of a part in which nothing is planted together: {', '.join(parts)}."


def any_equal(line: Line) -> list[str]:
    return [key for key in line.counted.sums if key.startswith("equal ")]


def equal(line: Line) -> list[list[str]]:
    keys = [key for key in any_equal(line) if line.counted.rate(key) > 0]
    return [keys] if keys else []


def true_words(line: Line) -> list[list[str]]:
    keys = [key for key in line.counted.sums if key.startswith("says ")]
    same = [key for key in keys if key.endswith(("equivalent", "unchanged"))]
    others = [[key] for key in keys if key not in same and line.counted.rate(key) >= 0.2]
    return (
        ([same] if same else []) + others if line.planted.startswith(("nothing", "derived")) else []
    )


def power(lines: list[Line]) -> str:
    """A row for each judge, its numbers of units after each other."""
    rows: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for line in lines:
        sums, rate = line.counted.sums, line.counted.rate
        told = [key for key in sums if key.startswith("found anything")]
        if line.new or not told:
            continue
        known = "best first position (t)"
        best = max(
            (key for key in sums if key.startswith("best ") and key != known), key=rate, default=""
        )
        own = [
            f"{key[6:]} {share(rate(key))}"
            for key in sums
            if key.startswith("found ") and key not in [*told, "found single"]
        ]
        beside = f"{share(rate(best))} {best[5:]}" if best else "–"
        ratio = f"{rate(told[0]) / rate(best):.2f}" if best and rate(best) else "–"
        first = share(rate(known)) if known in sums and "first" in line.planted else "–"
        rows[line.about].append(
            (str(line.units), shares(line.counted, told), ", ".join(own), beside, ratio, first)
        )
    head = (
        "Judge, planted, asked",
        "Units",
        "Told",
        "Questions",
        "Best single test",
        "Told / best",
        "t of the position, if it were known",
    )
    return table(
        head, [(about, *map("; ".join, zip(*parts, strict=True))) for about, parts in rows.items()]
    )


def coverage(lines: list[Line]) -> str:
    """Of each measure, or question of a verdict, the lowest, mean and highest share of a cell's
    rows; the low ones with where that is. Of cells of enough studies where there are any: a few
    have a lowest share that many would not have.
    """
    every: dict[str, list[tuple[float, float, str, Line]]] = defaultdict(list)
    for line in lines:
        for key, sums in (
            line.counted.sums.items() if not line.new and "broken" not in line.part else ()
        ):
            if key.startswith("holds "):
                what = key.removeprefix("holds ")
                measure = what if ", " in what and "=" not in what else what.split()[0]
                every[measure].append((line.counted.rate(key), sums[1], key, line))
    rows, rest = [], []
    for measure, parts in sorted(every.items()):
        kept = [part for part in parts if part[1] >= ENOUGH] or parts
        low, studies, key, line = min(kept, key=lambda part: part[:3])
        mean, high = sum(part[0] for part in kept) / len(kept), max(part[0] for part in kept)
        if low >= 0.92 - line.counted.error(key, 0.92):
            rest.append(f"{measure} {share(low)} to {share(high)}")
            continue
        width = []
        for units in (30, 100):
            sums_of = [part[3].counted.sums[part[2]] for part in kept if part[3].units == units]
            total = [sums for sums in sums_of if len(sums) > 2]
            width.append(
                f"{sum(s[2] for s in total) / sum(s[1] for s in total):.2g}" if total else "–"
            )
        about = key.removeprefix(f"holds {measure}").strip(" ,")
        where = f"{about + ': ' if about else ''}{line.about}, {line.units} units ({studies:,.0f})"
        rows.append(
            (low, (measure, share(low), where, share(mean), share(high), " / ".join(width)))
        )
    head = ("Interval of", "Lowest", "Where (studies)", "Mean", "Highest", "Width at 30 / 100")
    return (
        table(head, [row for _, row in sorted(rows)])
        + "\n\nLowest and highest of the others: "
        + ", ".join(rest)
        + "."
    )


def stopping(lines: list[Line]) -> str:
    """A row for each judge and number of units of runs that may stop early."""
    rows = []
    for line in lines:
        sums, rate = line.counted.sums, line.counted.rate
        over = [key for key in sums if re.fullmatch("(false|found) anything told", key)]
        if line.new or not line.part.startswith("looks: ") or not over:
            continue

        def of(key: str, line: Line = line) -> str:
            return share(line.counted.rate(key)) if key in line.counted.sums else "–"

        error = "error of position 1 at the stop"
        answered = "answered position at the stop", "answered position once at the end"
        held = "at the stop", "at all looks", "once at the end"
        rows.append(
            (
                line._replace(part=line.part.removeprefix("looks: ")).about,
                str(line.units),
                f"{line.counted.studies:,}",
                of(f"{over[0]}, once at the end"),
                share(rate(over[0])),
                of("asked until known"),
                of("asked until decided"),
                " / ".join(map(of, answered)),
                f"{rate(error):+.3f}" if error in sums else "–",
                " / ".join(of(f"holds position 1, {when}") for when in held),
                of("withdrawn words"),
            )
        )
    head = (
        "Judge, planted, asked",
        "Units",
        "Studies",
        "Told once at the end",
        "Told at any look",
        "Asked until known",
        "Until decided",
        "Position answered: at the stop / once",
        "Error of position 1",
        "Position 1 held: at the stop / at all looks / once",
        "Words taken back",
    )
    return table(head, rows)


WORDS = get_args(LadderWord)


SHARES = {
    "says promised of the listed": "promised",
    "says kept of the listed": "kept",
    "says true of the listed": "true",
    "says kept of the rest": "others",
}


def promises(lines: list[Line]) -> str:
    """A row for each judge and number of items: what the list of fragile scores promises."""
    rows = [
        (
            line.about.removeprefix("fragile scores · "),
            str(line.units),
            *(f"{line.counted.rate(key):.3f}" for key in SHARES),
            str(line.counted.studies),
        )
        for line in lines
        if line.part == "fragile scores" and not line.new
    ]
    return table(("judge · planted · asked", "items", *SHARES.values(), "studies"), rows)


def ladder(lines: list[Line]) -> str:
    """A row for each judge and number of units: how often each word of the ladder is given."""
    rows = []
    for line in lines:
        keys = [f"word {word}" for word in WORDS]
        if line.new or not line.part.startswith("ladder: "):
            continue
        given = [share(line.counted.rate(key)) for key in keys]
        about = line._replace(part=line.part.removeprefix("ladder: ")).about
        rows.append((about, str(line.units), f"{line.counted.studies:,}", *given))
    return table(("Judge, planted, asked", "Units", "Studies", *WORDS), rows)


def told_at_looks(lines: list[Line]) -> str:
    """Of all runs that may stop early with nothing planted, together."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0])
    keys = "false anything told", "false anything told, once at the end"
    for line in lines:
        for key in keys if line.part.startswith("looks: ") and not line.new else ():
            if key in line.counted.sums:
                sums[key] = [a + b for a, b in zip(sums[key], line.counted.sums[key], strict=True)]
    parts = (f"{key[6:]} {share(told / n)} ({n:,.0f})" for key, (told, n) in sums.items())
    return f"All cells in which nothing is planted together: {', '.join(parts)}."


def earlier(lines: list[Line]) -> str:
    """Which cells stand as they were counted under earlier rules of the verdicts."""
    old: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        if line.counted.rules < RULES:
            old[line.part].add(f"{line.about}, {line.units} units")
    if not old:
        return f"All cells were counted under the present rules of the verdicts ({RULES})."
    cells = sum(map(len, old.values()))
    parts = ", ".join(f"{part} {len(named)}" for part, named in sorted(old.items()))
    return (
        f"{cells} cells were counted under earlier rules of the verdicts than the present ones "
        f"({RULES}), which change nothing "
        f"in them or were not run again: {parts}."
    )


def document(results: Results) -> str:
    lines, every = lines_of(results), results.values()
    head = HEAD.format(
        file=RESULTS.name,
        studies=f"{sum(c.studies for c in every):,}",
        cells=len({name for name, _ in results}),
        hours=sum(c.seconds for c in every) / 3600,
        deals=f"{DEALS:,}",
    )
    seen = {
        key.split()[1].rstrip(",")
        for line in lines
        for key in line.counted.sums
        if key.startswith("holds ")
    }
    unseen = sorted(
        key for key, measure in MEASURES.items() if key not in seen and not measure.question
    )
    sections = {
        "What misses": f"In more than .05 + 2 standard errors of at least {ENOUGH} studies "
        f"something untrue is said (“false”; “equal”: a size"
        " at or above the smallest effect is called equivalent), or an interval holds in less than "
        ".92 by as much. A cell of "
        f"{FULL:,} studies that misses gets as many new ones.\n\n" + missed(lines),
        "Untrue effects": f"Promise: at most .05. {pooled(lines)}\n\n" + by_units(lines, untrue),
        "Untrue “equivalent”": "The true size is at or above the smallest effect. Promise: at most "
        ".05.\n\n" + by_units(lines, equal) + f"\n\nIn none of the studies of "
        f"{sum(bool(any_equal(line)) and not equal(line) for line in lines)} other cells.",
        "Power": "Told: anything is said. Beside it the most powerful, in hindsight, of single "
        "tests that are each valid at .05.\n\n" + power(lines),
        "True words where nothing is planted": by_units(lines, true_words, 4),
        "Intervals": "At 95%; promise: .92 or more. Where a row holds in less, by a standard "
        "error, it stands in the table.\n\n" + coverage(lines),
        "Runs that may stop early": "Looked at when 1/16, 1/8, 1/4, 1/2 and all units are in "
        "(`core/looks.py`). Promise: an unbiased judge is accused at any look in at most .05. "
        "Told: anything is said. Asked: mean share of the planned calls; a run that never stops "
        "asks 1. "
        f"{told_at_looks(lines)}\n\n" + stopping(lines),
        "Words of the ladder": "The five words (`core/ladder.py`) of judges whose bias is known. "
        "Lean: percentage points of the first position above even; 5 matter. “No bias seen yet” "
        "is also given to judges with a bias, so it never stands without the size that is still "
        "possible. “Biased” falls with the units where the bias is smaller than matters, because "
        "it is then known to be.\n\n" + ladder(lines),
        "Fragile scores": "The 20 scores most likely to change in another order, chosen on the "
        "first of two rounds. Promised: their mean probability. Kept: pairs of calls in two orders "
        "of the second round that differ. True: the same of very many calls. Others: kept of the "
        "scores that are not listed.\n\n" + promises(lines),
        "Never simulated": f"{NEVER}\n- Intervals of {', '.join(unseen)}.",
    }
    return (
        "\n\n".join(
            [head, earlier(lines), *(f"## {title}\n{text}" for title, text in sections.items())]
        )
        + "\n"
    )


def summary(results: Results) -> str:
    """A line for each part and promise."""
    groups: dict[tuple[int, str, str], list[tuple[Counted, list[str], bool]]] = defaultdict(list)
    lines = lines_of(results)
    new = {(line.about, line.units): line.counted for line in lines if line.new}
    for line in lines:
        for k, (kind, start) in enumerate(
            {
                "alarm": "false",
                "equal": "equal",
                "cover": "holds",
                "power": "found anything",
            }.items()
        ):
            keys = plainest(key for key in line.counted.sums if key.startswith(start))
            again = new.get((line.about, line.units), line.counted)
            flags = [
                key
                for key in keys
                if key in alarms(again) + misses(again) and again.sums[key][1] >= ENOUGH
            ]
            if keys and not line.new:
                groups[k, kind, line.part.removeprefix("rows: ")].append(
                    (line.counted, keys, bool(flags))
                )
    made = [
        "# Made by `python -m benchmarks method --write`: what, of whom, cells, those of 100 "
        "studies\n# and more; of these (of all, where there is none) the fewest studies, "
        "lowest, highest, and how many miss."
    ]
    made.append("checks = [")
    for (_, kind, part), cells in sorted(groups.items()):
        enough = [each for each in cells if each[0].studies >= ENOUGH]
        rates = [counted.rate(key) for counted, keys, _ in enough or cells for key in keys]
        fewest, flagged = (
            min(counted.studies for counted, *_ in enough or cells),
            sum(flag for *_, flag in enough),
        )
        numbers = (
            f"{len(cells)}, {len(enough)}, {fewest}, {min(rates):.3f}, {max(rates):.3f}, {flagged}"
        )
        made.append(f'  ["{kind}", "{part}", {numbers}],')
    return "\n".join([*made, "]", ""])


def write(results: Results) -> None:
    DOCUMENT.write_text(document(results), "utf-8")
    SUMMARY.write_text(summary(results), "utf-8")
    print(f"{DOCUMENT.relative_to(ROOT)}: {len(document(results).splitlines())} lines")
