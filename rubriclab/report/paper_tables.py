"""The results of one run as tables of a paper: verdicts, key numbers, and the other numbers by topic.

Every number is one of the run's document or of its estimates; a longer list than a page holds goes on in
``estimates.csv``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rubriclab.findings.topics import TOPICS, Findings, document
from rubriclab.model import STATUSES
from rubriclab.model.wording import UNKNOWN, interval, known, many, number
from rubriclab.report import numbers
from rubriclab.report.paper_text import name, to_latex, to_markdown

MOST_ROWS = 40
NONE_GIVEN = "none given"
MEASURES: Mapping[str, Mapping[str, str]] = {
    "position": {
        "shift.ascending": "ascending less descending, points",
        "shift.extremes": "highest less lowest order, points",
        "shift.single.excess": "single score, the order's part, points",
    },
    "alignment": {"pearson": "Pearson's r", "delta_r": "difference of r of two strategies"},
    "agreement": {
        "one_read.exact": "exact share",
        "one_read.kappa_quadratic": "kappa, quadratic weights",
        "one_read.ac2": "Gwet's AC2",
        "one_read.alpha_ordinal": "Krippendorff's alpha, ordinal",
        "means.icc2_1": "ICC(2,1) of means",
    },
    "choice": {"position": "log-odds of a place"},
    "rasch": {"elements.severity": "severity, logits"},
    "ordinal": {"order.ranks": "dominance of an order"},
    "perturbation": {"shift.effect.estimate": "mean shift of a form, points"},
    "wording": {"shifts.effect.estimate": "mean shift of a wording, points"},
    "generalisability": {"sources.share": "share of the variance"},
    "criteria": {
        "criteria.first_less_last.estimate": "first less last, points",
        "rms": "shift over places less noise, points",
    },
    "ranking": {"top1_flip": "prompts whose winner changes", "kendall_tau": "Kendall's tau-b"},
    "leaderboard": {"candidates.corrected": "win rate under both orders"},
    "replacement": {"single.advantage": "advantage of one read over an annotator"},
    "corrected_means": {"systems.corrected": "corrected mean", "systems.rate.rogan": "corrected pass rate"},
}
"""What a paper's tables show of a topic, with its unit, by the measure's name in ``estimates``."""


class Table(NamedTuple):
    """Cells are text with names marked (see ``report.paper_text``); ``numeric``: columns of numbers."""

    key: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int]
    left_out: int = 0


def tables(findings: Findings, body: Mapping[str, Any] | None = None) -> Iterator[Table]:
    """Those that the run has rows for. ``body``: the run's document, where it is at hand."""
    body = document(findings) if body is None else body
    open_ = bool(body["unanswered"])
    if body["advice"]:
        yield _verdicts(findings, body)
    shown = _without_verdicts(body) if open_ else body
    for key_table in numbers.key_tables(shown):
        yield _of_key(numbers.telling(key_table))
    estimates = findings.estimates()
    for topic, measures in MEASURES.items():
        mine = estimates[(estimates["topic"] == topic) & estimates["measure"].isin(measures)]
        mine = mine[np.isfinite(mine["value"].to_numpy(dtype=float))].drop_duplicates()
        if len(mine):
            yield _of_topic(topic, measures, mine)


# ---------------------------------------------------------------- verdicts


def _verdicts(findings: Findings, body: Mapping[str, Any]) -> Table:
    counts = _items(findings)
    simulated = {(arm.judge, arm.dataset, str(arm.variant)) for arm in findings.data.arms if arm.simulated}
    rows = []
    for line in body["advice"]:
        of = (line["judge"], line["dataset"], line["variant"])
        mark = " (simulated)" if of in simulated else ""
        given = line["verdict"] if not body["unanswered"] or line["verdict"] != "undecided" else NONE_GIVEN
        ends = _ends(line["low"], line["high"], "+.3f")
        level = f"{100 * line['confidence']:.4g} %" if ends else ""
        rows.append(
            (
                f"{name(' · '.join(filter(None, of)))}{mark}",
                line["title"],
                number(line["estimate"], "+.3f"),
                ends,
                level,
                f"{line['sesoi']:g} {line['unit']}",
                f"{counts.get(of, 0):,}",
                given,
            )
        )
    head = ("Judge and data", "Question", "Estimate", "Interval", "Level", "Smallest effect", "n", "Verdict")
    caption = "Answers to the questions about each judge: estimate, interval at its level, smallest effect of interest, items or comparisons with a readable judgment (n), and verdict."
    if body["unanswered"]:
        caption += f" The run is not finished ({many(body['unanswered'], 'call', 'wait')}), so no verdict is given."
    return Table("verdicts", caption + _simulated(body), head, tuple(rows), frozenset({2, 3, 4, 6}))


def _items(findings: Findings) -> dict[tuple[str, str, str], int]:
    """Items (comparisons) with a readable judgment, by judge, data set and setting."""
    data = findings.data
    rows = data.judgments[data.judgments["status"] == STATUSES.index("ok")]
    settings = [(arm.judge, arm.dataset, str(arm.variant)) for arm in data.arms]
    codes = {of: code for code, of in enumerate(dict.fromkeys(settings))}
    which = np.array([codes[of] for of in settings])[rows["arm"].to_numpy()] if len(rows) else np.zeros(0, dtype=int)
    seen = pd.DataFrame({"of": which, "item": rows["item"].to_numpy()}).drop_duplicates()
    found = np.bincount(seen["of"], minlength=len(codes))
    return {of: int(found[code]) for of, code in codes.items()}


def _simulated(body: Mapping[str, Any]) -> str:
    return " Judges marked as simulated are no language models." if body["simulated"] else ""


def _without_verdicts(part: Any) -> Any:
    """The document of an unfinished run with no verdict in it."""
    if isinstance(part, Mapping):
        verdict = {"verdict": UNKNOWN} if part.get("verdict") == "undecided" else {}
        return {key: _without_verdicts(value) for key, value in part.items()} | verdict
    return [_without_verdicts(one) for one in part] if isinstance(part, list) else part


# ---------------------------------------------------------------- numbers


def _of_key(table: numbers.KeyTable) -> Table:
    numeric = frozenset(table.numbers)
    rows = tuple(
        tuple(cell.replace("\n", " ") if at in numeric else name(cell) for at, cell in enumerate(row))
        for row in table.rows
    )
    key = {"Order of the score options": "options", "Order of the criteria": "criteria"}.get(table.title, "comparisons")
    return Table(
        key,
        f"{table.title}: key numbers with 95 % intervals; answers with a verdict have the level of their question.",
        table.head,
        rows[:MOST_ROWS],
        numeric,
        max(0, len(rows) - MOST_ROWS),
    )


def _of_topic(topic: str, measures: Mapping[str, str], mine: pd.DataFrame) -> Table:
    columns = ["judge", "dataset", "strategy", "variant", "level", "measure", "value", "low", "high", "n", "note"]
    rows = [_row(measures, *row) for row in mine[columns].itertuples(index=False, name=None)]
    head = ["Judge and data", "Of", "Measure", "Estimate", "Interval", "n"]
    caption = f"{TOPICS[topic].title}: estimates with their intervals where there are any (95 % unless another level stands behind them), and the units or items they rest on (n)."
    kept = [at for at in range(len(head)) if any(row[at] not in ("", name("")) for row in rows)]
    short = tuple(tuple(row[at] for at in kept) for row in rows[:MOST_ROWS])
    numeric = frozenset(i for i, at in enumerate(kept) if at > 2)
    return Table(topic, caption, tuple(head[at] for at in kept), short, numeric, max(0, len(rows) - MOST_ROWS))


def _row(measures: Mapping[str, str], *row: Any) -> tuple[str, ...]:
    judge, dataset, strategy, variant, level, measure, value, low, high, n, note = row
    about = " · ".join(str(part) for part in (judge, dataset, strategy, variant) if isinstance(part, str) and part)
    count = f"{n:,.0f}" if known(n) else ""
    level_of = re.search(r"([\d.]+) % interval", note if isinstance(note, str) else "")
    at = f" ({float(level_of[1]):.4g} %)" if level_of and float(level_of[1]) != 95 and known(low) else ""
    return (name(about), name(level), measures[measure], number(value, ".3f"), _ends(low, high, ".3f") + at, count)


def _ends(low: float | None, high: float | None, form: str) -> str:
    return interval((low, high), form, brackets=True) if known(low) and known(high) else ""


# ---------------------------------------------------------------- in two forms


def frame_table(key: str, caption: str, frame: pd.DataFrame) -> Table:
    """A page's table for a paper: every cell as it stands there, numbers to four significant digits."""
    numeric = frozenset(at for at, column in enumerate(frame) if pd.api.types.is_numeric_dtype(frame[column].dtype))
    rows = tuple(tuple(name(_cell(value)) for value in row) for row in frame.itertuples(index=False, name=None))
    return Table(key, name(caption), tuple(name(column) for column in frame), rows, numeric)


def _cell(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and not known(value)):
        return UNKNOWN
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def table_markdown(table: Table) -> str:
    """A pipe table below its caption."""
    rule = ["---:" if at in table.numeric else "---" for at in range(len(table.head))]
    lines = [to_markdown(cell) for cell in table.head], rule, *([to_markdown(c) for c in row] for row in table.rows)
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"**{to_markdown(table.caption)}{_more(table)}**\n\n{body}\n"


def table_latex(table: Table, label: str) -> str:
    """A float over both columns; needs the packages booktabs and array."""
    rows = "\n".join(f"{_line(row, table.numeric)} \\\\" for row in table.rows)
    return (
        "\\begin{table*}[tp]\n\\centering\\footnotesize\n"
        f"\\caption{{{to_latex(table.caption + _more(table))}}}\\label{{tab:{label}}}\n"
        f"\\begin{{tabular}}{{@{{}}{_columns(table)}@{{}}}}\n\\toprule\n{_line(table.head, frozenset())} \\\\\n\\midrule\n"
        f"{rows}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table*}}\n"
    )


def _more(table: Table) -> str:
    return f" {table.left_out:,} more rows are in estimates.csv." if table.left_out else ""


def _line(cells: Sequence[str], numeric: frozenset[int]) -> str:
    """Cells of a row; a minus before a number is one."""
    signed = (cell.replace("-", "−") if at in numeric else cell for at, cell in enumerate(cells))
    return " & ".join(f"{{{to_latex(cell)}}}" for cell in signed)  # braces: a bracket after \\ is an option


def _columns(table: Table) -> str:
    """All columns broken into lines, as wide as what stands in them needs, of the width of the text."""
    cells = [[row[at] for row in table.rows] for at in range(len(table.head))]
    longest = [max(map(len, column), default=1) for column in cells]
    words = [
        max((len(word) for text in (*column, head) for word in text.split()), default=1)
        for column, head in zip(cells, table.head, strict=True)
    ]
    need = [max(word, min(most, 26)) + 1 for word, most in zip(words, longest, strict=True)]
    # Between two columns there are 2 \tabcolsep.
    gaps = f"{2 * (len(need) - 1)}\\tabcolsep"
    side = ["\\raggedleft" if at in table.numeric else "\\raggedright" for at in range(len(need))]
    widths = [
        f"p{{\\dimexpr {part / sum(need):.3f}\\linewidth-{part / sum(need):.3f}\\dimexpr {gaps}\\relax\\relax}}"
        for part in need
    ]
    return "".join(f">{{{how}\\arraybackslash}}{width}" for how, width in zip(side, widths, strict=True))
