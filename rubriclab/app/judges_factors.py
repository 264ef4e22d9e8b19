"""Draw what goes along with consistency and with preference, as tables of stepwise AIC."""

import pandas as pd
import streamlit as st

from rubriclab.app.forms import download
from rubriclab.app.frame import safe
from rubriclab.app.judges_view import Several, View
from rubriclab.data.safe_files import csv_text
from rubriclab.exports.table import latex_table
from rubriclab.model.text import count, file_name
from rubriclab.words.factor_table import (
    TOGETHER,
    FactorTable,
    absent_lengths,
    factor_tables,
)
from rubriclab.words.paper_grid import PAPER

OUTCOMES = {"PC": "Position consistency (PC)", "PF": "Preference fairness (PF)"}
ALL = "All data sets together"


def has(several: Several) -> bool:
    """Return whether the stepwise regression was computed."""
    return bool(several.findings.select("aic_removed"))


def draw(several: Several) -> None:
    """Draw the table of each outcome, as Shi et al. print them in Tables 3 to 8."""
    st.markdown("**What goes along with consistency and with preference?** · stepwise by AIC")
    dataset = several.dataset
    if several.findings.select("aic_removed", dataset=TOGETHER):
        chosen = st.segmented_control(
            "Cells of",
            [dataset, ALL],
            default=dataset,
            required=True,
            key=f"{several.key}-factors-{dataset}",
        )
        dataset = TOGETHER if chosen == ALL else dataset
    sources: dict[str, None] = {}
    for outcome, name in OUTCOMES.items():
        tables = factor_tables(several.findings, outcome, dataset, several.papers)
        sources |= dict.fromkeys(table.source for table in tables if table.source)
        st.markdown(name)
        for number, table in enumerate(tables):
            _table(table, outcome, f"{several.key}-factors-{outcome}-{number}")
    notes = [
        "Each line: the kept model without this variable. A variable is kept while leaving it out "
        "raises AIC. Cells share judges and tasks, so AIC overstates certainty."
    ]
    if dataset == TOGETHER:
        notes.append("The data set is a variable too, unless tasks or candidates imply it.")
    notes += absent_lengths(several.findings, dataset)
    if sources:
        notes.append(f"{PAPER}: {'; '.join(sources)}, over the paper's own judges and cells.")
    st.caption(safe(" ".join(notes), 2_000))


def _table(table: FactorTable, outcome: str, key: str) -> None:
    """Draw one table with its downloads, and which variables were dropped."""
    if table.name:
        st.markdown(safe(table.name))
    if not table.lines:
        st.caption(f"{count(table.cells, 'cell')}: too few for a regression.")
        return
    frame = pd.DataFrame(
        [
            {
                "Left out": f"{line.name} {PAPER}" if line.paper else line.name,
                "DF": line.df,
                "Sum of squares": line.sum_sq,
                "RSS": line.rss,
                "AIC": line.aic,
                "AIC rises by": line.rises,
            }
            for line in table.lines
        ]
    )
    decimals = frame.columns[2:]
    shown = frame.style.format("{:.0f}", subset=["DF"], na_rep="")
    shown = shown.format("{:,.2f}", subset=decimals, na_rep="")
    st.dataframe(shown, hide_index=True, width="stretch", key=key, placeholder="")
    dropped = ", ".join(table.dropped) or "none"
    st.caption(f"Tried: {', '.join(table.tried)}. Dropped on the way: {dropped}.")
    with st.container(horizontal=True):
        title = f"stepwise {outcome} {table.name}".strip()
        download("CSV", csv_text(frame), file_name(title, ".csv"), key=f"{key}-csv")
        latex = latex_table(frame.round(2))
        download("LaTeX", latex, file_name(title, ".tex"), key=f"{key}-tex")


VIEW = View("factors", "Factors", has, draw)
